//! The fetcher's public interface, for fetching single URLs, setting limits, and checking the
//! network.

use std::{net::IpAddr, sync::Arc, time::Duration};

use everytab_webpage::PortList;

use crate::{
    blocklist::Blocklist,
    exclusions::Exclusions,
    fetch_result::FetchResult,
    health::dead_origins::DeadOrigins,
    local_failure::LocalFailure,
    meter::FetchMeter,
    outcome::Outcome,
    page::{options::PageOptions, page_fetch_result::PageFetchResult, page_request::PageRequest},
    permits::politeness::InFlight,
    request::{
        chain, pool::ConnectionPool, robots::RobotsCache, scope::FetchScope, shared::Shared,
        target::Target,
    },
    request_log::RequestLog,
    robot::Robot,
    settings::{FetchSettings, RobotsPolicy, SettingsError},
    signing::{RequestSigner, SigningKey},
};

/// Fetches URLs from the web. Clones share all state.
#[derive(Clone)]
pub struct Fetcher {
    pub(crate) shared: Arc<Shared>,
}

impl Fetcher {
    /// Creates a fetcher. Must be called within a tokio runtime, which the fetcher watches for
    /// stalls.
    ///
    /// # Errors
    /// Returns an error if a certificate file, the resolver settings or the user agent is invalid.
    pub fn new(settings: FetchSettings) -> Result<Self, SettingsError> {
        Ok(Self { shared: Arc::new(Shared::new(settings)?) })
    }

    /// Returns the User-Agent for requests.
    pub fn user_agent(&self) -> &str {
        &self.shared.settings.user_agent
    }

    /// Returns the key that signs requests.
    pub fn signing_key(&self) -> Option<&Arc<SigningKey>> {
        self.shared.settings.signing_key.as_ref()
    }

    /// Returns the robot for shards and crawls without their own robot.
    pub fn robot(&self) -> &Robot {
        &self.shared.robot
    }

    /// Returns the ports for requests without their own ports.
    pub fn ports(&self) -> &PortList {
        &self.shared.settings.ports
    }

    /// Returns the outcome for a crawl's URL that must never be requested, because the URL or its
    /// literal address is not allowed. `None` if a request is allowed.
    pub fn refusal(&self, url: &str, ports: &PortList) -> Option<Outcome> {
        let target = match Target::submitted(url, ports) {
            Ok(target) => target,
            Err(outcome) => return Some(outcome),
        };
        let is_forbidden = |address| !self.shared.guard.allows(address);
        target.literal.is_some_and(is_forbidden).then_some(Outcome::IpBlocked)
    }

    /// Fetches one URL that does not belong to a shard, following its redirects. The requests are
    /// not signed.
    ///
    /// # Errors
    /// Returns a [`LocalFailure`] if local failures voided every attempt, over more than 15
    /// seconds, or if the resolver returned a false result.
    pub async fn fetch_one(
        &self,
        url: &str,
        robots: RobotsPolicy,
    ) -> Result<FetchResult, LocalFailure> {
        self.fetch_one_as(url, robots, None).await
    }

    /// Works like [`fetch_one`](Self::fetch_one), but signs the requests with `signer`.
    ///
    /// # Errors
    /// Returns a [`LocalFailure`] in the same cases as [`fetch_one`](Self::fetch_one).
    pub async fn fetch_one_as(
        &self,
        url: &str,
        robots: RobotsPolicy,
        signer: Option<&RequestSigner>,
    ) -> Result<FetchResult, LocalFailure> {
        let rules = RobotsCache::new();
        let pool = ConnectionPool::default();
        let dead_origins = DeadOrigins::default();
        let meter = FetchMeter::default();
        let blocklist = Blocklist::default();
        let exclusions = Exclusions::default();
        let scope = FetchScope {
            pool: &pool,
            dead_origins: &dead_origins,
            blocklist: &blocklist,
            signer,
            exclusions: &exclusions,
            robot: &self.shared.robot,
            meter: &meter,
            requests: &RequestLog::default(),
            is_later_pass: false,
            is_spaced: false,
            is_sequential: true,
        };
        let rules = (robots == RobotsPolicy::Obey).then_some(&rules);
        chain::fetch(&self.shared, rules, scope, url).await
    }

    /// Sends one crawl request without its host's delay.
    ///
    /// # Errors
    /// Returns a [`LocalFailure`] if local failures voided every attempt, over more than 15
    /// seconds.
    pub async fn fetch_page(
        &self,
        options: &PageOptions,
        request: &PageRequest<'_>,
    ) -> Result<PageFetchResult, LocalFailure> {
        self.fetch_page_in(options, &ConnectionPool::default(), request, Duration::ZERO).await
    }

    /// Works like [`fetch_page`](Self::fetch_page), but with at least `pause` between two requests
    /// to one host.
    pub(crate) async fn fetch_page_in(
        &self,
        options: &PageOptions,
        pool: &ConnectionPool,
        request: &PageRequest<'_>,
        pause: Duration,
    ) -> Result<PageFetchResult, LocalFailure> {
        let scope = FetchScope {
            pool,
            dead_origins: &DeadOrigins::default(),
            blocklist: &options.blocklist,
            signer: options.signer.as_deref(),
            exclusions: &options.exclusions,
            robot: options.robot.as_ref().unwrap_or(&self.shared.robot),
            meter: &FetchMeter::default(),
            requests: &RequestLog::default(),
            is_later_pass: false,
            is_spaced: true,
            // Hold no permit between two requests, because the next one may be a minute later.
            is_sequential: false,
        };
        chain::fetch_page(&self.shared, scope, request, pause).await
    }

    /// Sets the number of live workers, which share the fleet's limits per address equally.
    pub fn share_addresses_with(&self, live_workers: usize) {
        self.shared.politeness.share_with(live_workers);
    }

    /// Caches the addresses of a name that another worker looked up, for at most an hour. If one of
    /// them may not be dialled, all of them are ignored.
    pub fn learn_addresses(&self, host: &str, addresses: Vec<IpAddr>, left: Duration) {
        self.shared.resolver.learn(host, addresses, left);
    }

    /// Returns the cached addresses of a name, and for how long they are valid.
    pub fn known_addresses(&self, host: &str) -> Option<(Arc<[IpAddr]>, Duration)> {
        self.shared.resolver.known(host)
    }

    /// Sets the maximum requests per second, also for waiting requests. `None` removes the limit.
    pub fn set_rate(&self, per_second: Option<f64>) {
        self.shared.politeness.rate_limiter.set(per_second);
    }

    /// Holds back all requests that are not on the wire yet, or lets them start again.
    pub fn hold_back(&self, hold: bool) {
        self.shared.politeness.rate_limiter.hold_back(hold);
    }

    /// Returns the number of requests on the wire, and their limit.
    pub fn in_flight(&self) -> InFlight {
        self.shared.politeness.in_flight()
    }

    /// Returns whether another shard can start. The number of origins counts as well as the
    /// permits, because few requests are on the wire if DNS or the CPU is slow.
    pub fn has_room(&self) -> bool {
        let InFlight { requests, limit } = self.in_flight();
        requests * 32 <= limit * 31 && self.shared.origins.available_permits() > 0
    }

    /// Checks the resolver and an address that was reached before. If both work, closes the circuit
    /// breaker.
    ///
    /// # Errors
    /// Returns an error if a local failure remains.
    pub async fn check_network(&self) -> Result<(), LocalFailure> {
        self.shared.resolver.check().await?;
        self.shared.connectivity.check().await?;
        self.shared.breaker.reset();
        Ok(())
    }

    /// Queries the resolver without using the cache, and returns whether `name` has an address.
    ///
    /// # Errors
    /// Returns an error if a local failure prevented the query.
    pub async fn has_address(&self, name: &str) -> Result<bool, LocalFailure> {
        self.shared.resolver.has_address(name).await
    }

    /// Returns the names for checking the resolver.
    pub fn known_names(&self) -> &[String] {
        &self.shared.settings.known_names
    }

    /// Describes, in one line, the fault that the last check found in the resolver.
    pub fn resolver_fault(&self) -> Option<String> {
        self.shared.resolver.fault()
    }

    /// Describes a local failure, and the resolver's fault if it is the cause, in one line.
    pub fn describe(&self, failure: LocalFailure) -> String {
        match self.resolver_fault().filter(|_| failure.is_of_resolver()) {
            // `scan_status.sql` searches for this phrase.
            Some(fault) => format!("waiting for the resolver: {fault}"),
            None => failure.to_string(),
        }
    }
}
