//! The permits that a request holds while it is on the wire.
//!
//! This module does not depend on what is requested.

use std::net::IpAddr;

use tokio::sync::OwnedSemaphorePermit;

use crate::{
    health::clock::Clock,
    local_failure::LocalFailure,
    meter::FetchMeter,
    permits::{keyed_semaphore::KeyedPermit, politeness::Politeness},
};

/// A request's permits for its address and for the wire. Dropping them releases them.
pub(crate) struct WirePermits {
    _address: KeyedPermit<IpAddr>,
    _wire: OwnedSemaphorePermit,
}

impl WirePermits {
    /// Waits for the permits to send one request to `address`. The waiting time does not count in
    /// `clock`.
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

/// All permits of a request: for its hostname, its address, and the wire.
pub(crate) struct RequestPermits {
    pub(crate) host: KeyedPermit<String>,
    pub(crate) wire: WirePermits,
}
