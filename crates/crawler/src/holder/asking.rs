//! Chooses the next host and starts its next fetch.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use chrono::Utc;
use everytab_coordinator::FetchRow;
use everytab_fetcher::{Cookies, Outcome};
use everytab_frontier::{
    CanonicalUrl, Ending, LinkFlags, Origin, SentLinks, Turn, TurnedAwayCounts,
};

use crate::{
    crawl::Crawl,
    holder::{
        parts::end_of_part,
        ready::{HostStanding, LOOK_AGAIN},
        state::{Event, Fetched, Holder, State},
    },
    known::Request,
    origins::{GivenUp, Permission},
    rows::{CRASHED, CRAWL_DELAY_TOO_LONG, empty_row, ending_of},
    sitemaps::visit_any,
    slot::Written,
    visit::Asked,
};

/// Maximum URLs on a host that are recorded without a request before another host gets its turn.
const ANSWERED_AT_A_TIME: usize = 64;
/// Pause of a host after a local failure.
pub(super) const TROUBLE_PAUSE: Duration = Duration::from_secs(15);
/// Maximum records that wait to be written before no more requests start. Each holds the fetcher's
/// permit for its body.
const MAX_UNWRITTEN: usize = 256;

/// The next action for a host.
enum Next {
    /// Start this fetch.
    Ask(Asked),
    /// Check the host again at this time.
    At(Instant),
    /// Check the host again now, because some URLs were recorded without a request.
    Again,
    /// Do nothing, because nothing is due.
    Nothing,
}

impl Holder {
    /// Returns whether requests may start now.
    pub(super) fn may_ask(&self) -> bool {
        let state = &self.state;
        let has_permits = state.requests.len() < self.context.fetcher.in_flight().limit;
        let rests = state.rests_until.is_some_and(|until| Instant::now() < until);
        let has_room = !self.is_full() && !self.has_too_many_unwritten();
        has_permits && has_room && !rests && !state.is_stopping
    }

    /// Returns whether so many records wait to be written that no more requests may start.
    pub(super) fn has_too_many_unwritten(&self) -> bool {
        self.state.unwritten.len() >= MAX_UNWRITTEN
    }

    /// Schedules a check of the host no later than `at`.
    pub(super) fn queue(&mut self, host_hash: u64, at: Instant) {
        let Some(host) = self.state.hosts.get_mut(&host_hash) else { return };
        if host.queued_at.is_none_or(|queued| at < queued) {
            host.queued_at = Some(at);
            let is_urgent = host.is_urgent;
            self.state.due.push(is_urgent, at, host_hash);
        }
    }

    /// Schedules checks of hosts no later than `at`.
    pub(super) fn queue_all(&mut self, hosts: Vec<u64>, at: Instant) {
        for host in hosts {
            self.queue(host, at);
        }
    }

    /// Schedules checks of some crawls' hosts now.
    pub(super) fn queue_hosts_of(&mut self, is_one: impl Fn(i32) -> bool) {
        let hosts = self.state.hosts.iter();
        let hosts: Vec<u64> = hosts
            .filter(|(_, host)| host.crawls.iter().any(|crawl| is_one(*crawl)))
            .map(|(hash, _)| *hash)
            .collect();
        self.queue_all(hosts, Instant::now());
    }

    /// Returns when the next host is due, taking rate limits into account. `None` if no host is
    /// scheduled.
    pub(super) fn next_look(&self) -> Option<Instant> {
        let now = Instant::now();
        let open_at = |owner: &str, crawl| self.state.gates.open_at(owner, crawl).unwrap_or(now);
        self.state.due.next_at(open_at)
    }

    /// Starts fetches of the hosts whose time has come.
    pub(super) fn ask_due_hosts(&mut self) {
        if !self.may_ask() {
            return;
        }
        let (now, until) = (Instant::now(), end_of_part());
        while Instant::now() < until
            && let Some((at, host_hash)) = self.state.due.come_due(now)
        {
            let Some(host) = self.state.hosts.get_mut(&host_hash) else { continue };
            // Skip stale heap entries: the host has been rescheduled.
            if host.queued_at == Some(at) {
                host.queued_at = None;
                self.came_due(host_hash);
            }
        }
        let until = end_of_part();
        self.state.asking_until = Some(until);
        while self.may_ask() && Instant::now() < until {
            let State { due, gates, .. } = &mut self.state;
            let may_ask =
                |owner: &str, crawl| gates.open_at(owner, crawl).is_none_or(|at| at <= now);
            let Some(host_hash) = due.next(may_ask) else { return };
            self.look_at(host_hash);
        }
    }

    fn look_at(&mut self, host_hash: u64) {
        if let Some(host) = self.state.hosts.get(&host_hash).filter(|host| host.is_urgent) {
            let mut crawls = host.crawls.iter().filter_map(|number| self.state.crawls.get(number));
            let is_urgent = crawls.any(|(crawl, _)| self.is_urgent_in(crawl, host_hash));
            if let Some(host) = self.state.hosts.get_mut(&host_hash) {
                host.is_urgent = is_urgent;
            }
        }
        match self.next_of(host_hash) {
            Next::Ask(asked) => self.ask(host_hash, asked),
            Next::At(at) => self.queue(host_hash, at),
            Next::Again => self.queue(host_hash, Instant::now()),
            Next::Nothing => {}
        }
    }

    /// Decides the next action for a host.
    fn next_of(&mut self, host_hash: u64) -> Next {
        let crawls = match self.standing_of(host_hash) {
            HostStanding::Ready { crawls, .. } => crawls,
            HostStanding::At(at) => return Next::At(at),
            HostStanding::Nothing => return Next::Nothing,
        };
        let mut at: Option<Instant> = None;
        for crawl in &crawls {
            let until = match self.gated_until(crawl) {
                Some(until) => until,
                None if self.has_many_awaiting_robots(host_hash, crawl.number) => {
                    let slot = self.state.hosts.get(&host_hash).map(|host| host.slot);
                    slot.into_iter().for_each(|slot| self.put_robots(crawl.number, slot));
                    Instant::now() + LOOK_AGAIN
                }
                None => return self.next_of_crawl(host_hash, crawl),
            };
            at = Some(at.map_or(until, |before| before.min(until)));
        }
        Next::At(at.unwrap_or_else(Instant::now))
    }

    /// Decides the next action for a host that may get a request for this crawl.
    fn next_of_crawl(&mut self, host_hash: u64, crawl: &Arc<Crawl>) -> Next {
        for _ in 0..ANSWERED_AT_A_TIME {
            if self.state.asking_until.is_some_and(|until| Instant::now() >= until) {
                return Next::Again;
            }
            // Nothing more is due in this crawl; another one may have a URL.
            let Some((turn, cookies)) = self.take_turn(host_hash, crawl) else {
                return Next::Again;
            };
            if self.killed_its_holder(host_hash, &turn)
                && self.is_last_death(host_hash, crawl.number, &turn)
            {
                tracing::warn!(url = turn.url, "workers died while this was asked");
                self.answer_unasked(host_hash, crawl, &turn, (Ending::Failed, CRASHED));
                self.found_poison(host_hash);
                continue;
            }
            let refused = self.refused_unasked(crawl, &turn);
            if let Some(ended) = refused.or_else(|| self.left_as_trap(host_hash, crawl, &turn)) {
                self.answer_unasked(host_hash, crawl, &turn, ended);
                continue;
            }
            let Some(origin) = Origin::of(&turn.url) else {
                let refused = (Ending::Refused, Outcome::UrlUnparsable.as_str());
                self.answer_unasked(host_hash, crawl, &turn, refused);
                continue;
            };
            if let Some(next) = self.next_of_origin((host_hash, origin), crawl, turn, cookies) {
                return next;
            }
        }
        Next::Again
    }

    /// Decides the next action for a URL of an origin. `None` if the URL was recorded without a
    /// request.
    fn next_of_origin(
        &mut self,
        (host_hash, origin): (u64, Origin),
        crawl: &Arc<Crawl>,
        turn: Turn,
        cookies: Cookies,
    ) -> Option<Next> {
        let Some(host) = self.state.hosts.get(&host_hash) else { return Some(Next::Nothing) };
        let name = Arc::clone(&host.name);
        let permission = host.origins.permission(origin, self.patience_of(crawl), Utc::now());
        let turns = host.turns.as_ref();
        let is_too_slow = turns.is_some_and(|turns| turns.delay.is_crawl_delay_too_long());
        // A robots.txt that is a day old is fetched again first, because it may set a shorter delay
        // now.
        if is_too_slow && !matches!(permission, Permission::AskRobots) {
            let left = (Ending::Left, CRAWL_DELAY_TOO_LONG);
            self.answer_unasked(host_hash, crawl, &turn, left);
            return None;
        }
        let ended = match permission {
            Permission::AskRobots => {
                self.put_back(host_hash, crawl.number, &turn);
                return Some(Next::Ask(Asked::Robots { crawl: Arc::clone(crawl), origin }));
            }
            Permission::Probe(url) => {
                self.put_back(host_hash, crawl.number, &turn);
                let flags = LinkFlags::default();
                let is_left_out = self.pattern_refusal(crawl, &url, flags).is_some();
                let url = if is_left_out { turn.url.as_str().into() } else { url };
                return Some(Next::Ask(Asked::Probe { crawl: Arc::clone(crawl), origin, url }));
            }
            // The pause ends within this second.
            Permission::Wait => {
                self.put_back(host_hash, crawl.number, &turn);
                return Some(Next::At(Instant::now() + LOOK_AGAIN));
            }
            Permission::GivenUp(GivenUp::Unresolved(outcome)) | Permission::Ends(outcome) => {
                (ending_of(outcome, false), outcome.as_str())
            }
            Permission::GivenUp(why) => (Ending::Left, why.as_str()),
            Permission::Rules(rules) => {
                let of_host = origin.on(&name);
                self.tell_sitemaps(host_hash, crawl, &turn, (&of_host, &rules));
                let path = path_of(&turn.url);
                if self.robots_allow(&rules, crawl, (host_hash, path)) {
                    return Some(self.ask_page(host_hash, crawl, turn, cookies));
                }
                (Ending::Refused, Outcome::RobotsDisallowed.as_str())
            }
        };
        self.answer_unasked(host_hash, crawl, &turn, ended);
        None
    }

    /// Fetches a page that robots.txt allows, once a page of the crawl's limit is reserved for it
    /// and, in an isolated slot, a checkpoint has recorded it as in progress.
    fn ask_page(
        &mut self,
        host_hash: u64,
        crawl: &Arc<Crawl>,
        turn: Turn,
        cookies: Cookies,
    ) -> Next {
        if !self.reserve(host_hash, crawl, &turn) {
            self.put_back(host_hash, crawl.number, &turn);
            Next::Nothing
        } else if self.write_down(host_hash, crawl, &turn) {
            Next::At(Instant::now() + LOOK_AGAIN)
        } else {
            Next::Ask(Asked::Page { crawl: Arc::clone(crawl), turn, cookies })
        }
    }

    /// Returns the final state of a URL that is not requested whatever its robots.txt says: because
    /// of its port or address, by patterns that changed after the link was merged, or by a filter.
    /// `None` if it may be requested.
    fn refused_unasked(&self, crawl: &Crawl, turn: &Turn) -> Option<(Ending, &'static str)> {
        let refusal = self.context.fetcher.refusal(&turn.url, &crawl.ports);
        let refused = refusal.map(|outcome| (ending_of(outcome, false), outcome.as_str()));
        refused
            .or_else(|| {
                let reason = self.pattern_refusal(crawl, &turn.url, turn.attributes.flags);
                reason.map(|reason| (Ending::Left, reason))
            })
            .or_else(|| self.filtered(crawl, turn).map(|outcome| (Ending::Refused, outcome)))
    }

    /// Runs the URL filters again before the fetch, because a list may not have been loaded when
    /// the link was merged. Returns the outcome if a filter drops the URL.
    fn filtered(&self, crawl: &Crawl, turn: &Turn) -> Option<&'static str> {
        if crawl.filters.is_empty() {
            return None;
        }
        let url = CanonicalUrl::parse(&turn.url, &self.context.parameters).ok()?;
        let flags = turn.attributes.flags;
        let is_exempt = flags.contains(LinkFlags::SEED) || flags.is_no_page();
        let decision = crawl.filters.decide_url(&url, is_exempt)?;
        decision.is_drop().then(|| decision.by.outcome())
    }

    /// Starts a fetch task.
    fn ask(&mut self, host_hash: u64, asked: Asked) {
        let Some(host) = self.state.hosts.get(&host_hash) else { return };
        if host.turns.is_none() {
            return;
        }
        let crawl = Arc::clone(asked.crawl());
        let settings = self.delays_of(host, &crawl);
        self.pass_turn(host_hash, &crawl);
        self.state.gates.took(&crawl.owner, crawl.number, Instant::now());
        let Some(host) = self.state.hosts.get_mut(&host_hash) else { return };
        let Some(turns) = host.turns.take() else { return };
        let Some(slot) = self.state.slots.get_mut(&host.slot) else { return };
        slot.asking += 1;
        self.state.last_request += 1;
        let number = self.state.last_request;
        self.state.requests.insert(number);
        let delay = turns.delay;
        let of = (slot.lease.fence, host_hash, number);
        let (name, context) = (Arc::clone(&host.name), Arc::clone(&self.context));
        let (tell, leases) = (self.tell.clone(), self.leases.clone());
        let turn = asked.turn().cloned();
        let task = tokio::spawn(async move {
            let visit = visit_any(&context, turns, (asked, settings), of, &name);
            leases.while_valid(of.0, visit).await
        });
        let abort = task.abort_handle();
        host.request = Some(Request { number, delay, settings, crawl, turn, task: abort });
        tokio::spawn(async move {
            let event = match task.await {
                Ok(Some(visited)) => Event::Visited(Box::new(visited)),
                Ok(None) => Event::Invalid(of.0, host_hash, number),
                Err(error) if error.is_panic() => Event::Panicked(of.0, host_hash, number),
                // The task was cancelled.
                Err(_) => return,
            };
            tell.send(event).ok();
        });
    }

    /// Passes records to the archive task, as many as it has room for.
    pub(super) fn write_more(&mut self) {
        let mut commands = std::mem::take(&mut self.state.unwritten).into_iter();
        for command in commands.by_ref() {
            if let Err(full) = self.archives.try_send(command) {
                self.state.unwritten.push(full.into_inner());
                break;
            }
        }
        self.state.unwritten.extend(commands);
    }

    /// Records a URL's outcome without sending a request.
    pub(super) fn answer_unasked(
        &mut self,
        host_hash: u64,
        crawl: &Crawl,
        turn: &Turn,
        (ending, outcome): (Ending, &str),
    ) {
        let Some(host) = self.state.hosts.get(&host_hash) else { return };
        let Some(slot) = self.state.slots.get_mut(&host.slot) else { return };
        let is_it = |of: &mut Written| (of.crawl, of.hash) == (crawl.number, turn.hash);
        slot.written.take_if(is_it);
        let fence = slot.lease.fence;
        let row =
            FetchRow { outcome: outcome.to_owned(), ..empty_row(crawl.number, host_hash, turn) };
        self.end_chain(host_hash, crawl.number, turn.hash);
        let fetched = Fetched {
            fence,
            row,
            ending,
            is_limited_page: false,
            is_urgent: turn.attributes.flags.contains(LinkFlags::URGENT),
            links: SentLinks::default(),
            turned_away: TurnedAwayCounts::default(),
        };
        self.record_fetches(vec![fetched]);
    }
}

/// Returns the path of a URL, with its query.
fn path_of(url: &str) -> &str {
    let authority = url.find("://").map_or(0, |at| at + "://".len());
    let rest = url.get(authority..).unwrap_or_default();
    rest.find(['/', '?']).and_then(|at| rest.get(at..)).unwrap_or("/")
}
