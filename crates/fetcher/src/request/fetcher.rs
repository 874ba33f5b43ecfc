//! The fetcher: one URL, its redirects by hand, every hop vetted, to exactly one outcome.
//!
//! Nothing is dialled that the guard did not allow, on any hop. What the process itself is to
//! blame for (no descriptors, no route, standing still) voids a fetch; it runs again a few times,
//! then the trouble is the caller's to handle.
//! Must not know: hosts' candidates, images, jobs.

use std::{
    collections::HashSet,
    sync::Arc,
    time::{Duration, Instant},
};

use everytab_webpage::address::Guard;
use tokio::sync::Semaphore;

use crate::{
    blocklist::Blocklist,
    fetched::{Fetched, Hop},
    health::{
        breaker::Breaker, clock::Clock, connectivity::Uplink, dead_origins::DeadOrigins,
        endpoints::DeadEndpoints, stall::StallWatch,
    },
    meter::Meter,
    metrics::{instruments, label},
    names::resolver::Resolver,
    outcome::{Outcome, Stop, Trouble},
    permits::politeness::Politeness,
    request::{
        certificate::Trust,
        connection::Pool,
        cookies::Cookies,
        dial::has_ipv6_route,
        hop::{Answer, Trip},
        message::Purpose,
        robots::RobotsCache,
        target::Target,
    },
    settings::{FetchSettings, RobotsPolicy},
};

/// How often a void fetch runs again before its trouble is handed on, and the first pause.
const RUNS_OF_A_VOID_FETCH: u32 = 6;
/// Hashing and measuring take microseconds; more threads would only take them from sockets.
const HANDS: usize = 4;
const PAUSE_AFTER_TROUBLE: Duration = Duration::from_millis(250);

/// What all fetches of a worker share.
pub(crate) struct Shared {
    pub(crate) settings: FetchSettings,
    pub(crate) guard: Guard,
    pub(crate) resolver: Resolver,
    pub(crate) endpoints: DeadEndpoints,
    pub(crate) politeness: Politeness,
    pub(crate) trust: Trust,
    pub(crate) stalls: StallWatch,
    pub(crate) breaker: Breaker,
    pub(crate) uplink: Uplink,
    pub(crate) has_ipv6: bool,
    pub(crate) robots_agent: String,
    /// Threads that may look at bodies at once.
    pub(crate) hands: Semaphore,
    /// Origins that may be begun at once, on the wire or waiting for names and for their turn.
    pub(crate) groups: Arc<Semaphore>,
}

/// Fetches strangers' URLs. Clones share everything; one is enough for a worker.
#[derive(Clone)]
pub struct Fetcher {
    pub(crate) shared: Arc<Shared>,
}

/// A setting that the fetcher cannot work with, in one line.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SettingsError(String);

impl Fetcher {
    /// How it calls itself.
    pub fn user_agent(&self) -> &str {
        &self.shared.settings.user_agent
    }

    /// Makes a fetcher. To be called within a tokio runtime, which it then watches for stalls.
    ///
    /// # Errors
    /// A certificate file that cannot be read, resolver settings that make no sense, a user agent
    /// that no header can carry.
    pub fn new(settings: FetchSettings) -> Result<Fetcher, SettingsError> {
        http::HeaderValue::from_str(&settings.user_agent)
            .map_err(|_| SettingsError("the user agent holds control characters".to_owned()))?;
        let guard =
            Guard { allow: settings.allow_ranges.clone(), deny: settings.deny_ranges.clone() };
        let token = |c: char| c.is_ascii_alphabetic() || c == '-' || c == '_';
        let agent = &settings.user_agent;
        let robots_agent = agent[..agent.find(|c| !token(c)).unwrap_or(agent.len())].to_owned();
        let groups_at_once = settings.origins_at_once.max(settings.in_flight.saturating_mul(4));
        let groups_at_once = groups_at_once.clamp(1, Semaphore::MAX_PERMITS);
        let shared = Shared {
            resolver: Resolver::new(&settings, guard.clone()).map_err(SettingsError)?,
            trust: Trust::new(settings.ca_file.as_deref()).map_err(SettingsError)?,
            endpoints: DeadEndpoints::new(settings.remembers),
            politeness: Politeness::new(&settings),
            stalls: StallWatch::start(),
            breaker: Breaker::new(&settings),
            uplink: Uplink::default(),
            has_ipv6: has_ipv6_route(),
            robots_agent,
            hands: Semaphore::new(HANDS),
            groups: Arc::new(Semaphore::new(groups_at_once)),
            guard,
            settings,
        };
        Ok(Fetcher { shared: Arc::new(shared) })
    }

    /// Fetches one URL for itself: redirects, robots.txt if it counts, one outcome.
    ///
    /// # Errors
    /// [`Trouble`] of our own that did not pass.
    pub async fn fetch_one(&self, url: &str) -> Result<Fetched, Trouble> {
        let (robots, pool) = (RobotsCache::new(), Pool::default());
        let (known, meter) = (DeadOrigins::default(), Meter::default());
        let blocklist = Blocklist::default();
        let round = Round {
            pool: &pool,
            known: &known,
            blocklist: &blocklist,
            meter: &meter,
            is_later_pass: false,
            is_sequential: true,
        };
        self.shared.fetch(&robots, round, url).await
    }

    /// The limit per address is the fleet's; so many workers are alive.
    pub fn share_addresses_with(&self, live_workers: usize) {
        self.shared.politeness.share_with(live_workers);
    }

    /// So many requests a second from now on, also for those that wait; none takes the limit away.
    pub fn set_pace(&self, per_second: Option<f64>) {
        self.shared.politeness.pace.set(per_second);
    }

    /// Requests on the wire, and how many there may be: when the first is well below the second,
    /// the next shard can be leased.
    pub fn slots(&self) -> (usize, usize) {
        self.shared.politeness.slots()
    }

    /// Whether so few requests are on the wire that another shard's would find room, and so few
    /// origins begun: where names are slow or the processor is, slots alone look empty.
    pub fn has_room(&self) -> bool {
        let (taken, all) = self.slots();
        taken * 32 <= all * 31 && self.shared.groups.available_permits() > 0
    }

    /// Asks whether the network is there again: what could be reached before can be reached, and
    /// the resolver answers for at least one of `names` with an address. If so, the circuit is
    /// closed.
    ///
    /// # Errors
    /// What is still wrong.
    pub async fn canaries(&self, names: &[String]) -> Result<(), Trouble> {
        self.shared.resolver.canary().await?;
        self.shared.uplink.check().await?;
        for name in names {
            if self.shared.resolver.has_address(name).await? {
                self.shared.breaker.reset();
                return Ok(());
            }
        }
        Err(Trouble::MostOriginsFail)
    }
}

impl Shared {
    /// One URL, again if our own trouble voided it.
    pub(crate) async fn fetch(
        &self,
        robots: &RobotsCache,
        round: Round<'_>,
        url: &str,
    ) -> Result<Fetched, Trouble> {
        let robots = (self.settings.robots == RobotsPolicy::Obey).then_some(robots);
        let mut run = 1;
        loop {
            match travel(self, robots, round, Purpose::Icon, url).await {
                Err(trouble) if run < RUNS_OF_A_VOID_FETCH => {
                    instruments().troubles.add(1, &[label("trouble", trouble.as_str())]);
                    tracing::debug!(url, trouble = trouble.as_str(), run, "void fetch runs again");
                    round.pool.give_back();
                    tokio::time::sleep(PAUSE_AFTER_TROUBLE * (1 << run)).await;
                    run += 1;
                }
                done => return done,
            }
        }
    }
}

/// What the fetches of one origin's icons share, in one pass.
#[derive(Clone, Copy)]
pub(crate) struct Round<'a> {
    pub(crate) pool: &'a Pool,
    /// What earlier icons found dead.
    pub(crate) known: &'a DeadOrigins,
    pub(crate) blocklist: &'a Blocklist,
    pub(crate) meter: &'a Meter,
    /// Whether silent endpoints are asked once more.
    pub(crate) is_later_pass: bool,
    /// Whether each of them begins when the one before has ended.
    pub(crate) is_sequential: bool,
}

/// Follows one URL to its end. Without `robots` nobody is asked for permission.
pub(crate) async fn travel(
    shared: &Shared,
    robots: Option<&RobotsCache>,
    round: Round<'_>,
    purpose: Purpose,
    url: &str,
) -> Result<Fetched, Trouble> {
    let began = Instant::now();
    let clock = Clock::start(shared.settings.total_timeout);
    let fetched = Fetched::new(url);
    let mut trip = Trip { shared, round, purpose, clock, cookies: Cookies::default(), fetched };
    let ended = follow(&mut trip, robots).await;
    let mut fetched = trip.fetched;
    fetched.timings.sum();
    match ended {
        Ok(()) if fetched.body.is_empty() => fetched.outcome = Outcome::EmptyBody,
        Ok(()) => fetched.outcome = Outcome::Ok,
        Err(Stop::Trouble(trouble)) => return Err(trouble),
        Err(Stop::Outcome(outcome)) => {
            // Deadlines that passed while this process stood still say nothing about the peer.
            if outcome.is_a_matter_of_time() && shared.stalls.since(began) {
                return Err(Trouble::Stalled);
            }
            if outcome.is_silence() {
                shared.uplink.check().await?;
            }
            fetched.outcome = outcome;
        }
    }
    if let Some(address) = fetched.hops.last().and_then(|hop| hop.address)
        && asks_for_less(&fetched)
    {
        shared.politeness.slow_down(address.ip());
        round.meter.slowed_down();
    }
    round.meter.fetched(purpose, &fetched);
    Ok(fetched)
}

/// Whether an answer is what an address gives that is asked too much.
fn asks_for_less(fetched: &Fetched) -> bool {
    match fetched.outcome {
        Outcome::Http429 | Outcome::ConnectReset | Outcome::BodyReset => true,
        Outcome::Http5xx => fetched.status == Some(503),
        _ => false,
    }
}

async fn follow(trip: &mut Trip<'_>, robots: Option<&RobotsCache>) -> Result<(), Stop> {
    let mut target = Target::first(&trip.fetched.url)?;
    let mut seen = HashSet::new();
    let mut redirects = 0;
    loop {
        let cookie = trip.cookies.header(&target.url);
        if !seen.insert((target.url.to_string(), cookie)) {
            return Err(Outcome::RedirectLoop.into());
        }
        target.url.as_str().clone_into(&mut trip.fetched.final_url);
        let hop = Hop { url: target.url.to_string(), address: None, status: None };
        trip.fetched.hops.push(hop);
        let answer = match visit(trip, robots, &target).await {
            Err(Stop::Outcome(Outcome::IpBlocked)) if redirects > 0 => {
                return Err(Outcome::RedirectBlocked.into());
            }
            other => other?,
        };
        let Answer::Redirect(location) = answer else { return Ok(()) };
        if redirects >= trip.shared.settings.max_redirects {
            return Err(Outcome::RedirectLimit.into());
        }
        redirects += 1;
        let next = target.redirected(&location)?;
        trip.fetched.was_downgraded |= target.is_https && !next.is_https;
        target = next;
    }
}

/// One hop, unless it is known or forbidden. The blocklist and the literal address come before
/// anything else is asked of the host, its robots.txt included.
async fn visit(
    trip: &mut Trip<'_>,
    robots: Option<&RobotsCache>,
    target: &Target,
) -> Result<Answer, Stop> {
    if trip.round.blocklist.blocks(target.host.trim_end_matches('.')) {
        return Err(Outcome::OptedOut.into());
    }
    if target.literal.is_some_and(|address| !trip.shared.guard.allows(address)) {
        return Err(Outcome::IpBlocked.into());
    }
    let asked = match trip.round.known.verdict(&target.origin) {
        Some(outcome) => Err(outcome.into()),
        None => match robots {
            Some(robots) => {
                if !robots.knows(&target.origin) {
                    // Others may be asking, and wait for their turn.
                    trip.round.pool.give_back();
                }
                match trip.clock.wait(robots.check(trip.shared, trip.round, target)).await? {
                    Ok(()) => trip.ask(target).await,
                    Err(outcome) => Err(outcome.into()),
                }
            }
            None => trip.ask(target).await,
        },
    };
    if let Err(Stop::Outcome(outcome)) = &asked
        && outcome.kills_origin()
    {
        trip.fetched.dead_origin = Some((target.origin.clone(), *outcome));
    }
    asked
}
