//! The state that all fetches of a worker share.
//!
//! This module does not depend on how each fetch proceeds.

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

/// Maximum number of large bodies that are inspected concurrently. Hashing and measuring take
/// microseconds, and more threads would only take CPU time from sockets.
const CONCURRENT_INSPECTIONS: usize = 4;

/// The state that all fetches of a worker share.
pub(crate) struct Shared {
    pub(crate) settings: FetchSettings,
    pub(crate) guard: Guard,
    pub(crate) resolver: Resolver,
    pub(crate) endpoints: DeadEndpoints,
    pub(crate) politeness: Politeness,
    /// The gates of hosts that crawls request.
    pub(crate) gates: HostGates,
    pub(crate) trust: Trust,
    pub(crate) stalls: StallWatch,
    pub(crate) breaker: Breaker,
    pub(crate) connectivity: Connectivity,
    pub(crate) has_ipv6: bool,
    /// The purpose for icon requests.
    pub(crate) icon: Purpose,
    /// The purpose for requesting the robots.txt of an icon's origin.
    pub(crate) robots_of_icon: Purpose,
    /// The robot for fetches that do not specify their own.
    pub(crate) robot: Robot,
    /// Permits for inspecting large bodies on blocking threads.
    pub(crate) inspections: Semaphore,
    /// Permits for origins in progress, including those that wait for names or permits.
    pub(crate) origins: Arc<Semaphore>,
}

impl Shared {
    /// Creates the shared state. Must be called within a tokio runtime, which is then watched for
    /// stalls. Returns the same errors as [`Fetcher::new`](crate::Fetcher::new).
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
