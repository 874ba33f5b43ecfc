//! Chooses the next host and starts its next fetch.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use chrono::Utc;
use everytab_coordinator::FetchRow;
use everytab_fetcher::{Cookies, Outcome};
use everytab_frontier::{
    CanonicalUrl, FinalState, LinkFlags, Origin, OutgoingLinks, PendingUrl, RejectCounts,
};

use crate::{
    crawl::Crawl,
    fetch::FetchTask,
    fetch_rows::{CRASHED, CRAWL_DELAY_TOO_LONG, empty_row, final_state_of},
    host::Request,
    origins::{GivenUp, Permission},
    scheduler::{
        ready::{HostReadiness, RECHECK_DELAY},
        slices::end_of_slice,
        state::{Event, Scheduler, State, UnrecordedFetch},
    },
    sitemaps::run_fetch_task,
    slot::IsolatedUrl,
};

/// Maximum URLs on a host that are recorded without a request before another host is checked.
const MAX_RECORDED_AT_ONCE: usize = 64;
/// How long a host pauses after a local failure, and the whole worker after a disk failure.
pub(super) const LOCAL_FAILURE_PAUSE: Duration = Duration::from_secs(15);
/// Maximum records that wait for the archive task. Above it no requests start, because each record
/// holds its body in memory.
const MAX_UNWRITTEN: usize = 256;

enum NextAction {
    Fetch(FetchTask),
    At(Instant),
    /// Check the host again now: URLs were recorded without a request, another crawl may have a due
    /// URL, or the time slice is over.
    Again,
    Nothing,
}

impl Scheduler {
    pub(super) fn can_start_fetch(&self) -> bool {
        let state = &self.state;
        let has_permits = state.requests.len() < self.context.fetcher.in_flight().limit;
        let is_paused =
            state.paused_until_disk_recovers.is_some_and(|until| Instant::now() < until);
        let has_room = !self.is_full() && !self.has_too_many_unwritten();
        has_permits && has_room && !is_paused && !state.is_stopping
    }

    pub(super) fn has_too_many_unwritten(&self) -> bool {
        self.state.unwritten.len() >= MAX_UNWRITTEN
    }

    pub(super) fn schedule_host(&mut self, host_hash: u64, at: Instant) {
        let Some(host) = self.state.hosts.get_mut(&host_hash) else { return };
        if host.scheduled_at.is_none_or(|scheduled| at < scheduled) {
            host.scheduled_at = Some(at);
            let is_urgent = host.is_urgent;
            self.state.due.push(is_urgent, at, host_hash);
        }
    }

    pub(super) fn schedule_hosts(&mut self, hosts: Vec<u64>, at: Instant) {
        for host in hosts {
            self.schedule_host(host, at);
        }
    }

    pub(super) fn schedule_hosts_of(&mut self, is_one: impl Fn(i32) -> bool) {
        let hosts = self.state.hosts.iter();
        let hosts: Vec<u64> = hosts
            .filter(|(_, host)| host.crawls.iter().any(|crawl| is_one(*crawl)))
            .map(|(hash, _)| *hash)
            .collect();
        self.schedule_hosts(hosts, Instant::now());
    }

    /// Returns when the next host is due under the rate limits.
    pub(super) fn next_wakeup(&self) -> Option<Instant> {
        let now = Instant::now();
        let open_at = |owner: &str, crawl| self.state.gates.open_at(owner, crawl).unwrap_or(now);
        self.state.due.next_at(open_at)
    }

    pub(super) fn start_due_fetches(&mut self) {
        if !self.can_start_fetch() {
            return;
        }
        let now = Instant::now();
        let until = end_of_slice();
        while Instant::now() < until
            && let Some((at, host_hash)) = self.state.due.come_due(now)
        {
            let Some(host) = self.state.hosts.get_mut(&host_hash) else { continue };
            // Skip stale heap entries: the host has been rescheduled.
            if host.scheduled_at == Some(at) {
                host.scheduled_at = None;
                self.enqueue_ready(host_hash);
            }
        }
        let until = end_of_slice();
        self.state.dispatch_until = Some(until);
        while self.can_start_fetch() && Instant::now() < until {
            let State { due, gates, .. } = &mut self.state;
            let is_allowed =
                |owner: &str, crawl| gates.open_at(owner, crawl).is_none_or(|at| at <= now);
            let Some(host_hash) = due.next(is_allowed) else { return };
            self.process_host(host_hash);
        }
    }

    fn process_host(&mut self, host_hash: u64) {
        if let Some(host) = self.state.hosts.get(&host_hash).filter(|host| host.is_urgent) {
            let mut crawls = host.crawls.iter().filter_map(|number| self.state.crawls.get(number));
            let is_urgent = crawls.any(|(crawl, _)| self.is_urgent_in(crawl, host_hash));
            if let Some(host) = self.state.hosts.get_mut(&host_hash) {
                host.is_urgent = is_urgent;
            }
        }
        match self.next_action(host_hash) {
            NextAction::Fetch(task) => self.start_fetch(host_hash, task),
            NextAction::At(at) => self.schedule_host(host_hash, at),
            NextAction::Again => self.schedule_host(host_hash, Instant::now()),
            NextAction::Nothing => {}
        }
    }

    fn next_action(&mut self, host_hash: u64) -> NextAction {
        let crawls = match self.readiness(host_hash) {
            HostReadiness::Ready { crawls, .. } => crawls,
            HostReadiness::At(at) => return NextAction::At(at),
            HostReadiness::Nothing => return NextAction::Nothing,
        };
        let mut at: Option<Instant> = None;
        for crawl in &crawls {
            let until = match self.gated_until(crawl) {
                Some(until) => until,
                None if self.has_many_awaiting_robots(host_hash, crawl.number) => {
                    let slot = self.state.hosts.get(&host_hash).map(|host| host.slot);
                    slot.into_iter().for_each(|slot| self.upload_robots(crawl.number, slot));
                    Instant::now() + RECHECK_DELAY
                }
                None => return self.next_action_in(host_hash, crawl),
            };
            at = Some(at.map_or(until, |before| before.min(until)));
        }
        NextAction::At(at.unwrap_or_else(Instant::now))
    }

    fn next_action_in(&mut self, host_hash: u64, crawl: &Arc<Crawl>) -> NextAction {
        for _ in 0..MAX_RECORDED_AT_ONCE {
            if self.state.dispatch_until.is_some_and(|until| Instant::now() >= until) {
                return NextAction::Again;
            }
            // Nothing more is due in this crawl, but another crawl may have a due URL.
            let Some((pending, cookies)) = self.next_url(host_hash, crawl) else {
                return NextAction::Again;
            };
            if self.killed_its_holder(host_hash, &pending)
                && self.count_death(host_hash, crawl.number, &pending)
            {
                tracing::warn!(
                    url = pending.url,
                    "workers died while they fetched this URL; it fails as crashed"
                );
                self.record_without_request(
                    host_hash,
                    crawl,
                    &pending,
                    (FinalState::Failed, CRASHED),
                );
                self.end_isolation(host_hash);
                continue;
            }
            let refused = self.refused_without_request(crawl, &pending);
            if let Some(ended) = refused.or_else(|| self.left_as_trap(host_hash, crawl, &pending)) {
                self.record_without_request(host_hash, crawl, &pending, ended);
                continue;
            }
            let Some(origin) = Origin::of(&pending.url) else {
                let refused = (FinalState::Refused, Outcome::UrlUnparsable.as_str());
                self.record_without_request(host_hash, crawl, &pending, refused);
                continue;
            };
            if let Some(next) = self.next_action_for((host_hash, origin), crawl, pending, cookies) {
                return next;
            }
        }
        NextAction::Again
    }

    /// `None` if the URL was recorded without a request.
    fn next_action_for(
        &mut self,
        (host_hash, origin): (u64, Origin),
        crawl: &Arc<Crawl>,
        pending: PendingUrl,
        cookies: Cookies,
    ) -> Option<NextAction> {
        let Some(host) = self.state.hosts.get(&host_hash) else { return Some(NextAction::Nothing) };
        let name = Arc::clone(&host.name);
        let permission = host.origins.permission(origin, self.patience_of(crawl), Utc::now());
        let client = host.client.as_ref();
        let is_too_slow = client.is_some_and(|client| client.delay.is_crawl_delay_too_long());
        // If the robots.txt has expired, fetch it again first, because it may set a shorter delay
        // now.
        if is_too_slow && !matches!(permission, Permission::FetchRobots) {
            let left = (FinalState::Left, CRAWL_DELAY_TOO_LONG);
            self.record_without_request(host_hash, crawl, &pending, left);
            return None;
        }
        let ended = match permission {
            Permission::FetchRobots => {
                self.put_back(host_hash, crawl.number, &pending);
                return Some(NextAction::Fetch(FetchTask::Robots {
                    crawl: Arc::clone(crawl),
                    origin,
                }));
            }
            Permission::Probe(url) => {
                self.put_back(host_hash, crawl.number, &pending);
                let flags = LinkFlags::default();
                let is_left_out = self.pattern_refusal(crawl, &url, flags).is_some();
                let url = if is_left_out { pending.url.as_str().into() } else { url };
                return Some(NextAction::Fetch(FetchTask::Probe {
                    crawl: Arc::clone(crawl),
                    origin,
                    url,
                }));
            }
            // The pause ends within this second.
            Permission::Wait => {
                self.put_back(host_hash, crawl.number, &pending);
                return Some(NextAction::At(Instant::now() + RECHECK_DELAY));
            }
            Permission::GivenUp(GivenUp::Unresolved(outcome)) | Permission::Ends(outcome) => {
                (final_state_of(outcome, false), outcome.as_str())
            }
            Permission::GivenUp(why) => (FinalState::Left, why.as_str()),
            Permission::Rules(rules) => {
                let of_host = origin.on(&name);
                self.add_sitemaps(host_hash, crawl, &pending, (&of_host, &rules));
                let path = path_of(&pending.url);
                if self.robots_allow(&rules, crawl, (host_hash, path)) {
                    return Some(self.page_action(host_hash, crawl, pending, cookies));
                }
                (FinalState::Refused, Outcome::RobotsDisallowed.as_str())
            }
        };
        self.record_without_request(host_hash, crawl, &pending, ended);
        None
    }

    /// In a crawl with a page limit, a page must be reserved first. In an isolated slot, a
    /// checkpoint must record the URL as in progress first.
    fn page_action(
        &mut self,
        host_hash: u64,
        crawl: &Arc<Crawl>,
        pending: PendingUrl,
        cookies: Cookies,
    ) -> NextAction {
        if !self.reserve(host_hash, crawl, &pending) {
            self.put_back(host_hash, crawl.number, &pending);
            NextAction::Nothing
        } else if self.mark_in_progress(host_hash, crawl, &pending) {
            NextAction::At(Instant::now() + RECHECK_DELAY)
        } else {
            NextAction::Fetch(FetchTask::Page { crawl: Arc::clone(crawl), pending, cookies })
        }
    }

    /// Returns the final state of a URL that must not be requested, whatever robots.txt says.
    fn refused_without_request(
        &self,
        crawl: &Crawl,
        pending: &PendingUrl,
    ) -> Option<(FinalState, &'static str)> {
        let refusal = self.context.fetcher.refusal(&pending.url, &crawl.ports);
        let refused = refusal.map(|outcome| (final_state_of(outcome, false), outcome.as_str()));
        refused
            .or_else(|| {
                let reason = self.pattern_refusal(crawl, &pending.url, pending.attributes.flags);
                reason.map(|reason| (FinalState::Left, reason))
            })
            .or_else(|| self.filtered(crawl, pending).map(|outcome| (FinalState::Refused, outcome)))
    }

    /// Filters the URL again, because a list may not have been loaded when the link was merged.
    fn filtered(&self, crawl: &Crawl, pending: &PendingUrl) -> Option<&'static str> {
        if crawl.filters.is_empty() {
            return None;
        }
        let url = CanonicalUrl::parse(&pending.url, &self.context.parameters).ok()?;
        let flags = pending.attributes.flags;
        let is_exempt = flags.contains(LinkFlags::SEED) || flags.is_requisite_or_sitemap();
        let decision = crawl.filters.decide_url(&url, is_exempt)?;
        decision.is_drop().then(|| decision.by.outcome())
    }

    fn start_fetch(&mut self, host_hash: u64, task: FetchTask) {
        let Some(host) = self.state.hosts.get(&host_hash) else { return };
        if host.client.is_none() {
            return;
        }
        let crawl = Arc::clone(task.crawl());
        let settings = self.delays_of(host, &crawl);
        self.rotate_crawls(host_hash, &crawl);
        self.state.gates.took(&crawl.owner, crawl.number, Instant::now());
        let Some(host) = self.state.hosts.get_mut(&host_hash) else { return };
        let Some(client) = host.client.take() else { return };
        let Some(slot) = self.state.slots.get_mut(&host.slot) else { return };
        slot.in_flight += 1;
        self.state.last_request += 1;
        let number = self.state.last_request;
        self.state.requests.insert(number);
        let delay = client.delay;
        let of = (slot.lease.fence, host_hash, number);
        let (name, context) = (Arc::clone(&host.name), Arc::clone(&self.context));
        let (sender, leases) = (self.event_sender.clone(), self.leases.clone());
        let pending = task.pending().cloned();
        let task = tokio::spawn(async move {
            let fetch = run_fetch_task(&context, client, (task, settings), of, &name);
            leases.while_valid(of.0, fetch).await
        });
        let abort = task.abort_handle();
        host.request = Some(Request { number, delay, settings, crawl, pending, task: abort });
        tokio::spawn(async move {
            let event = match task.await {
                Ok(Some(finished)) => Event::FetchFinished(Box::new(finished)),
                Ok(None) => Event::Cancelled(of.0, host_hash, number),
                Err(error) if error.is_panic() => Event::Panicked(of.0, host_hash, number),
                Err(_) => return,
            };
            sender.send(event).ok();
        });
    }

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

    pub(super) fn record_without_request(
        &mut self,
        host_hash: u64,
        crawl: &Crawl,
        pending: &PendingUrl,
        (final_state, outcome): (FinalState, &str),
    ) {
        let Some(host) = self.state.hosts.get(&host_hash) else { return };
        let Some(slot) = self.state.slots.get_mut(&host.slot) else { return };
        let is_it = |of: &mut IsolatedUrl| (of.crawl, of.hash) == (crawl.number, pending.hash);
        slot.isolated_url.take_if(is_it);
        let fence = slot.lease.fence;
        let row =
            FetchRow { outcome: outcome.to_owned(), ..empty_row(crawl.number, host_hash, pending) };
        self.end_chain(host_hash, crawl.number, pending.hash);
        let fetch = UnrecordedFetch {
            fence,
            row,
            final_state,
            is_limited_page: false,
            is_urgent: pending.attributes.flags.contains(LinkFlags::URGENT),
            links: OutgoingLinks::default(),
            rejected: RejectCounts::default(),
        };
        self.record_fetches(vec![fetch]);
    }
}

fn path_of(url: &str) -> &str {
    let authority = url.find("://").map_or(0, |at| at + "://".len());
    let rest = url.get(authority..).unwrap_or_default();
    rest.find(['/', '?']).and_then(|at| rest.get(at..)).unwrap_or("/")
}
