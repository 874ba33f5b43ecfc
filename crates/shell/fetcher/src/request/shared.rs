//! The state that all fetches of a worker share.

use std::sync::Arc;

use everytab_webpage::address::Guard;
use tokio::sync::Semaphore;

use crate::{
    health::{
        breaker::Breaker, connectivity::Connectivity, endpoints::DeadEndpoints, stall::StallWatch,
    },
    host::gates::HostGates,
    names::resolver::Resolver,
    own_networks::own_networks,
    permits::politeness::Politeness,
    purpose::Purpose,
    request::{route::has_ipv6_route, trust::Trust},
    robot::Robot,
    settings::{FetchSettings, SettingsError},
};

/// Maximum number of large bodies that are inspected concurrently. More threads would take CPU time
/// from sockets.
const CONCURRENT_INSPECTIONS: usize = 4;

pub(crate) struct Shared {
    pub(crate) settings: FetchSettings,
    pub(crate) guard: Guard,
    pub(crate) resolver: Resolver,
    pub(crate) endpoints: DeadEndpoints,
    pub(crate) politeness: Politeness,
    pub(crate) gates: HostGates,
    pub(crate) trust: Trust,
    pub(crate) stalls: StallWatch,
    pub(crate) breaker: Breaker,
    pub(crate) connectivity: Connectivity,
    pub(crate) has_ipv6: bool,
    pub(crate) icon: Purpose,
    pub(crate) robots_of_icon: Purpose,
    pub(crate) robot: Robot,
    pub(crate) inspections: Semaphore,
    pub(crate) origins: Arc<Semaphore>,
}

impl Shared {
    /// Must be called within a tokio runtime, which is then watched for stalls.
    pub(crate) fn new(settings: FetchSettings) -> Result<Self, SettingsError> {
        let robot = Robot::new(&settings.user_agent)?;
        let robot = if settings.is_confined { robot.confined() } else { robot };
        let guard = Guard {
            allow: settings.allow_ranges.clone(),
            deny: settings.deny_ranges.clone(),
            own: own_networks().into_iter().chain(settings.own_ranges.iter().copied()).collect(),
        };
        let origins = settings.concurrent_origins.max(settings.in_flight.saturating_mul(4));
        let origins = origins.clamp(1, Semaphore::MAX_PERMITS);
        Ok(Self {
            resolver: Resolver::new(&settings, guard.clone()).map_err(SettingsError::System)?,
            trust: Trust::new(settings.ca_file.as_deref())?,
            endpoints: DeadEndpoints::new(settings.remembers),
            politeness: Politeness::new(&settings),
            gates: HostGates::default(),
            stalls: StallWatch::start(),
            breaker: Breaker::new(&settings),
            connectivity: Connectivity::default(),
            has_ipv6: has_ipv6_route(),
            icon: Purpose::icon(&settings),
            robots_of_icon: Purpose::robots_of_icon(&settings),
            robot,
            inspections: Semaphore::new(CONCURRENT_INSPECTIONS),
            origins: Arc::new(Semaphore::new(origins)),
            guard,
            settings,
        })
    }
}
