//! The permits that a request holds while it is on the wire.

use std::net::IpAddr;

use tokio::sync::OwnedSemaphorePermit;

use crate::{
    health::clock::Clock,
    local_failure::LocalFailure,
    meter::FetchMeter,
    permits::{keyed_semaphore::KeyedPermit, politeness::Politeness},
};

pub(crate) struct WirePermits {
    _address: KeyedPermit<IpAddr>,
    _wire: OwnedSemaphorePermit,
}

impl WirePermits {
    pub(crate) async fn acquire(
        politeness: &Politeness,
        meter: &FetchMeter,
        address: IpAddr,
        clock: &mut Clock,
    ) -> Result<Self, LocalFailure> {
        let address = clock.wait(politeness.acquire_address(address)).await;
        meter.concurrent_per_address(address.concurrent());
        let wire = clock.wait(politeness.acquire_wire()).await?;
        Ok(Self { _address: address, _wire: wire })
    }
}

pub(crate) struct RequestPermits {
    pub(crate) host: KeyedPermit<String>,
    pub(crate) wire: WirePermits,
}
