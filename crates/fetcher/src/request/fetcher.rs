//! The fetcher as its callers see it: one URL, the limits, and whether the network works.
//!
//! Must not know: shards, images, jobs.

use std::{net::IpAddr, sync::Arc, time::Duration};

use everytab_webpage::PortList;

use crate::{
    blocklist::Blocklist,
    exclusions::Exclusions,
    fetched::Fetched,
    health::dead_origins::DeadOrigins,
    meter::FetchMeter,
    outcome::Outcome,
    page::{options::PageOptions, page_fetched::PageFetched, page_request::PageRequest},
    permits::politeness::InFlight,
    request::{
        chain, pool::ConnectionPool, robots::RobotsCache, scope::FetchScope, shared::Shared,
        target::Target,
    },
    request_log::RequestLog,
    robot::Robot,
    settings::{FetchSettings, RobotsPolicy, SettingsError},
    signing::{RequestSigner, SigningKey},
    trouble::Trouble,
};

/// Fetches URLs from the web. Clones share everything; a worker needs one.
#[derive(Clone)]
pub struct Fetcher {
    pub(crate) shared: Arc<Shared>,
}

impl Fetcher {
    /// Makes a fetcher. Must be called within a tokio runtime, which it then watches for stalls.
    ///
    /// # Errors
    /// A certificate file that cannot be read, resolver settings that make no sense, a user agent
    /// that no header can carry.
    pub fn new(settings: FetchSettings) -> Result<Self, SettingsError> {
        Ok(Self { shared: Arc::new(Shared::new(settings)?) })
    }

    /// The user agent that requests carry.
    pub fn user_agent(&self) -> &str {
        &self.shared.settings.user_agent
    }

    /// The key that signs requests, if there is one.
    pub fn signing_key(&self) -> Option<&Arc<SigningKey>> {
        self.shared.settings.signing_key.as_ref()
    }

    /// The robot that asks where a shard names no other.
    pub fn robot(&self) -> &Robot {
        &self.shared.robot
    }

    /// The ports of URLs that may be requested, unless a request has others.
    pub fn ports(&self) -> &PortList {
        &self.shared.settings.ports
    }

    /// Returns the outcome of a URL of a crawl that no request is ever sent for, because of its
    /// scheme, its port, its user name or the address that it names. `None` if it may be requested,
    /// as far as the URL alone says.
    pub fn refusal(&self, url: &str, ports: &PortList) -> Option<Outcome> {
        let target = match Target::submitted(url, ports) {
            Ok(target) => target,
            Err(outcome) => return Some(outcome),
        };
        let is_forbidden = |address| !self.shared.guard.allows(address);
        target.literal.is_some_and(is_forbidden).then_some(Outcome::IpBlocked)
    }

    /// Fetches one URL outside of any shard: its redirects, and each origin's robots.txt if the
    /// policy says so, to one outcome. The requests are not signed.
    ///
    /// # Errors
    /// [`Trouble`] of this machine that did not pass within 15 seconds.
    pub async fn fetch_one(&self, url: &str, robots: RobotsPolicy) -> Result<Fetched, Trouble> {
        self.fetch_one_as(url, robots, None).await
    }

    /// As [`fetch_one`](Self::fetch_one); the requests are signed by `signer`, if there is one.
    ///
    /// # Errors
    /// [`Trouble`] of this machine that did not pass within 15 seconds.
    pub async fn fetch_one_as(
        &self,
        url: &str,
        robots: RobotsPolicy,
        signer: Option<&RequestSigner>,
    ) -> Result<Fetched, Trouble> {
        let (rules, pool) = (RobotsCache::new(), ConnectionPool::default());
        let (dead_origins, meter) = (DeadOrigins::default(), FetchMeter::default());
        let (blocklist, exclusions) = (Blocklist::default(), Exclusions::default());
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

    /// Makes one request of a crawl, outside of the turns of any host: for a look at one URL. A
    /// redirect that is followed on the same host is asked for immediately.
    ///
    /// # Errors
    /// [`Trouble`] of this machine that did not pass within 15 seconds.
    pub async fn fetch_page(
        &self,
        options: &PageOptions,
        request: &PageRequest<'_>,
    ) -> Result<PageFetched, Trouble> {
        self.fetch_page_in(options, &ConnectionPool::default(), request, Duration::ZERO).await
    }

    /// As [`fetch_page`](Self::fetch_page), over the connections of `pool`; two requests to one
    /// host are at least `pause` apart.
    pub(crate) async fn fetch_page_in(
        &self,
        options: &PageOptions,
        pool: &ConnectionPool,
        request: &PageRequest<'_>,
        pause: Duration,
    ) -> Result<PageFetched, Trouble> {
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
            // No permit is held from one request to the next, which may be a minute later.
            is_sequential: false,
        };
        chain::fetch_page(&self.shared, scope, request, pause).await
    }

    /// Sets the number of live workers of the fleet. The limits per address are the fleet's, and
    /// each live worker takes its share of them.
    pub fn share_addresses_with(&self, live_workers: usize) {
        self.shared.politeness.share_with(live_workers);
    }

    /// Takes up the addresses of a name that another worker looked up, for `left` and an hour at
    /// most, so that it need not be asked for again. They are checked as an answer of the resolver
    /// is, and nothing is taken up of a name that has one that may not be dialled.
    pub fn learn_addresses(&self, host: &str, addresses: Vec<IpAddr>, left: Duration) {
        self.shared.resolver.learn(host, addresses, left);
    }

    /// The addresses of a name that were looked up or learnt, and for how long they hold; none if
    /// the name has to be looked up.
    pub fn known_addresses(&self, host: &str) -> Option<(Arc<[IpAddr]>, Duration)> {
        self.shared.resolver.known(host)
    }

    /// Sets the requests a second that may begin from now on, also for requests that wait already.
    /// None takes the limit away.
    pub fn set_rate(&self, per_second: Option<f64>) {
        self.shared.politeness.rate_limiter.set(per_second);
    }

    /// Holds back all requests that are not on the wire yet, or lets them go.
    pub fn hold_back(&self, hold: bool) {
        self.shared.politeness.rate_limiter.hold_back(hold);
    }

    /// The requests on the wire, and how many there may be.
    pub fn in_flight(&self) -> InFlight {
        self.shared.politeness.in_flight()
    }

    /// Whether another shard can begin: at most 31 of 32 requests that may be on the wire are, and
    /// another origin may begin. Where names or the processor are slow, few requests are on the
    /// wire although there is no room.
    pub fn has_room(&self) -> bool {
        let InFlight { requests, limit } = self.in_flight();
        requests * 32 <= limit * 31 && self.shared.origins.available_permits() > 0
    }

    /// Checks whether the network works again: addresses that were reached before can be reached,
    /// and the resolver gives an address for at least one of `names`. If so, it closes the circuit
    /// breaker.
    ///
    /// # Errors
    /// What still fails.
    pub async fn check_network(&self, names: &[String]) -> Result<(), Trouble> {
        self.shared.resolver.canary().await?;
        self.shared.connectivity.check().await?;
        for name in names {
            if self.shared.resolver.has_address(name).await? {
                self.shared.breaker.reset();
                return Ok(());
            }
        }
        Err(Trouble::MostOriginsFail)
    }
}
