//! Which host is asked next, for what, and what follows from the answer.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use chrono::{TimeDelta, Utc};
use everytab_commoncrawl::crawl_layout::ArchiveSubset;
use everytab_coordinator::{FetchRow, SlotFence};
use everytab_fetcher::{HostLeft, Outcome};
use everytab_frontier::{Ending, LinkFlags, Turn, TurnedAwayCounts};

use crate::{
    archives::ArchiveCommand,
    crawl::Crawl,
    holder::state::{Event, Fetched, Holder},
    known::{Chain, Request},
    robots::Permission,
    rows::{CRASHED, empty_row, ending_of, may_pass, origin_of, record_of, row_of},
    slot::Written,
    visit::{Answer, Asked, Visited, visit},
};

/// URLs of a host that are answered without a request before another host has its turn.
const ANSWERED_AT_A_TIME: usize = 64;
/// Pause of a host after this machine was in trouble.
const TROUBLE_PAUSE: Duration = Duration::from_secs(15);
/// Pause of a host that may not be asked for another reason than its delay, such as a paused crawl.
pub(super) const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// Records that may wait to be written before asking stops, each with the fetcher's permit for its
/// body.
const MAX_UNWRITTEN: usize = 256;

/// What is to be done for a host.
enum Next {
    /// Ask for this.
    Ask(Asked),
    /// Look again at this time.
    At(Instant),
    /// Look again now: some URLs were answered without asking.
    Again,
    /// Nothing is due.
    Nothing,
}

impl Holder {
    /// Whether hosts are asked now.
    pub(super) fn may_ask(&self) -> bool {
        let state = &self.state;
        let is_full = state.requests.len() >= self.context.fetcher.in_flight().limit;
        !is_full && !state.is_stopping && !self.has_too_many_unwritten()
    }

    /// Whether so many records wait to be written that asking stops.
    pub(super) fn has_too_many_unwritten(&self) -> bool {
        self.state.unwritten.len() >= MAX_UNWRITTEN
    }

    /// Has a host looked at, at a time at the latest.
    pub(super) fn queue(&mut self, host_hash: u64, at: Instant) {
        let Some(host) = self.state.hosts.get_mut(&host_hash) else { return };
        if host.queued_at.is_none_or(|queued| at < queued) {
            host.queued_at = Some(at);
            let is_urgent = host.is_urgent;
            self.state.due.push(is_urgent, at, host_hash);
        }
    }

    /// Has the hosts of some crawls looked at now.
    pub(super) fn queue_hosts_of(&mut self, is_one: impl Fn(i32) -> bool) {
        let hosts = self.state.hosts.iter();
        let hosts: Vec<u64> = hosts
            .filter(|(_, host)| host.crawls.iter().any(|crawl| is_one(*crawl)))
            .map(|(hash, _)| *hash)
            .collect();
        for host in hosts {
            self.queue(host, Instant::now());
        }
    }

    /// Asks the hosts whose time has come.
    pub(super) fn ask_due_hosts(&mut self) {
        let now = Instant::now();
        while self.may_ask() {
            let Some((at, host_hash)) = self.state.due.pop(now) else { return };
            let Some(host) = self.state.hosts.get_mut(&host_hash) else { continue };
            // An entry that an earlier one has overtaken.
            if host.queued_at != Some(at) {
                continue;
            }
            host.queued_at = None;
            self.look_at(host_hash);
        }
    }

    fn look_at(&mut self, host_hash: u64) {
        if let Some(host) = self.state.hosts.get(&host_hash).filter(|host| host.is_urgent) {
            let crawls = host.crawls.iter();
            let is_urgent = crawls.copied().any(|crawl| self.is_urgent_in(crawl, host_hash));
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

    /// Decides what is next of a host.
    fn next_of(&mut self, host_hash: u64) -> Next {
        let Some(host) = self.state.hosts.get(&host_hash) else { return Next::Nothing };
        let Some(turns) = &host.turns else { return Next::Nothing };
        let (slot, left) = (host.slot, turns.delay.left());
        let Some(held) = self.state.slots.get(&slot) else { return Next::Nothing };
        if host.awaits_checkpoint || held.is_leaving {
            return Next::Nothing;
        }
        let is_written = |of: Written| of.host_hash != host_hash || held.recorded_url() != Some(of);
        let waits = held.is_isolated()
            && (held.asking + held.unput > 0 || held.written.is_some_and(is_written));
        if held.is_late() || waits || !self.leases.is_valid(held.lease.fence) {
            return Next::At(Instant::now() + LOOK_AGAIN);
        }
        let is_own = host.is_own;
        let free_at = |crawl: &Crawl| turns.delay.free_at(&crawl.delays(is_own)).map(Instant::from);
        let mut earliest: Option<Instant> = None;
        let mut wait = |at: Instant| earliest = Some(earliest.map_or(at, |before| before.min(at)));
        let mut chosen = None;
        let waited_for = host.crawls.iter().find(|crawl| self.is_urgent_in(**crawl, host_hash));
        let others = host.crawls.iter().filter(|crawl| Some(*crawl) != waited_for);
        for number in waited_for.into_iter().chain(others) {
            let Some((crawl, true)) = self.state.crawls.get(number) else { continue };
            match free_at(crawl) {
                Some(at) if at > Instant::now() && left.is_none() => wait(at),
                _ => match self.due_in(*number, host_hash) {
                    Some(due) if due <= Instant::now() => {
                        chosen = Some(Arc::clone(crawl));
                        break;
                    }
                    Some(due) => wait(due),
                    None => {}
                },
            }
        }
        match (chosen, earliest) {
            (Some(crawl), _) => self.next_of_crawl(host_hash, &crawl, left),
            (None, Some(at)) => Next::At(at),
            (None, None) => Next::Nothing,
        }
    }

    /// Decides what is next of a host that may be asked for a crawl.
    fn next_of_crawl(
        &mut self,
        host_hash: u64,
        crawl: &Arc<Crawl>,
        left: Option<HostLeft>,
    ) -> Next {
        for _ in 0..ANSWERED_AT_A_TIME {
            // Nothing more is due of this crawl; another one may have something.
            let Some((turn, cookies)) = self.take_turn(host_hash, crawl.number) else {
                return Next::Again;
            };
            if self.killed_its_holder(host_hash, &turn) {
                tracing::warn!(url = turn.url, "workers died while this was asked");
                self.answer_unasked(host_hash, crawl, &turn, (Ending::Failed, CRASHED));
                self.found_poison(host_hash);
                continue;
            }
            if let Some(left) = left {
                self.answer_unasked(host_hash, crawl, &turn, (Ending::Left, left.as_str()));
                continue;
            }
            let Some(origin) = origin_of(&turn.url) else {
                let refused = (Ending::Refused, Outcome::UrlUnparsable.as_str());
                self.answer_unasked(host_hash, crawl, &turn, refused);
                continue;
            };
            let now = Utc::now();
            let Some(host) = self.state.hosts.get(&host_hash) else { return Next::Nothing };
            match host.robots.permission(origin, self.settings.robots_patience, now) {
                Permission::AskRobots => {
                    let origin = origin.to_owned();
                    self.postpone(host_hash, crawl.number, &turn, cookies);
                    return Next::Ask(Asked::Robots { crawl: Arc::clone(crawl), origin });
                }
                Permission::Wait(until) => {
                    self.postpone(host_hash, crawl.number, &turn, cookies);
                    return Next::At(Instant::now() + (until - now).to_std().unwrap_or_default());
                }
                Permission::Left => {
                    let left = (Ending::Left, "robots_unreachable");
                    self.answer_unasked(host_hash, crawl, &turn, left);
                }
                Permission::Ends(outcome) => {
                    let ended = (ending_of(outcome), outcome.as_str());
                    self.answer_unasked(host_hash, crawl, &turn, ended);
                }
                Permission::Rules(rules) => {
                    let robot = self.context.fetcher.robot().product();
                    let path = turn.url.get(origin.len()..).unwrap_or("/");
                    if !rules.allowed(robot, path) {
                        let refused = (Ending::Refused, Outcome::RobotsDisallowed.as_str());
                        self.answer_unasked(host_hash, crawl, &turn, refused);
                    } else if !self.reserve(host_hash, crawl, &turn) {
                        self.postpone(host_hash, crawl.number, &turn, cookies);
                        return Next::Nothing;
                    } else if self.write_down(host_hash, crawl, &turn) {
                        return Next::At(Instant::now() + LOOK_AGAIN);
                    } else {
                        return Next::Ask(Asked::Page { crawl: Arc::clone(crawl), turn, cookies });
                    }
                }
            }
        }
        Next::Again
    }

    /// Starts a request.
    fn ask(&mut self, host_hash: u64, asked: Asked) {
        let Some(host) = self.state.hosts.get_mut(&host_hash) else { return };
        let Some(turns) = host.turns.take() else { return };
        // The next turn is another crawl's.
        let number = asked.crawl().number;
        if host.crawls.len() > 1 {
            host.crawls.retain(|of| *of != number);
            host.crawls.push_back(number);
        }
        let Some(slot) = self.state.slots.get_mut(&host.slot) else { return };
        slot.asking += 1;
        self.state.last_request += 1;
        let number = self.state.last_request;
        self.state.requests.insert(number);
        let (delay, settings) = (turns.delay, asked.crawl().delays(host.is_own));
        let of = (slot.lease.fence, host_hash, number);
        let (name, context) = (Arc::clone(&host.name), Arc::clone(&self.context));
        let tell = self.tell.clone();
        let task = tokio::spawn(async move {
            let visited = visit(&context, turns, (asked, settings), of, &name).await;
            tell.send(Event::Visited(Box::new(visited))).ok();
        });
        host.request = Some(Request { number, delay, settings, task: task.abort_handle() });
    }

    /// A request is over.
    pub(super) fn visited(&mut self, visited: Visited) {
        let Visited { fence, host_hash, number, mut turns, asked, result } = visited;
        self.state.requests.remove(&number);
        let Some(host) = self.state.hosts.get_mut(&host_hash) else { return };
        // It was given up, with its slot perhaps.
        if host.request.take_if(|request| request.number == number).is_none() {
            return;
        }
        if let (Asked::Robots { origin, .. }, Ok(answer)) = (&asked, &result) {
            let (outcome, body) = (answer.fetched.outcome, &answer.fetched.body);
            let robot = self.context.fetcher.robot().product();
            let delay = host.robots.answered(origin, outcome, body, robot, Utc::now());
            turns.delay.set_crawl_delay(delay);
        }
        host.turns = Some(turns);
        host.awaits_checkpoint = host.needs_checkpoint();
        let Some(slot) = self.state.slots.get_mut(&fence.slot) else { return };
        slot.asking -= 1;
        slot.written = None;
        slot.changed_hosts.insert(host_hash);
        slot.wants_checkpoint |= host.awaits_checkpoint || host.rests();
        slot.touch();
        let crawl = Arc::clone(asked.crawl());
        let mut next = Instant::now();
        match (asked, result) {
            (Asked::Page { turn, .. }, Ok(answer)) => {
                self.page_answered(fence, host_hash, &crawl, &turn, answer);
            }
            (Asked::Robots { .. }, Ok(answer)) => {
                let (subset, delay) = (ArchiveSubset::RobotsTxt, self.delay_of(host_hash, &crawl));
                let record = record_of(&crawl, (subset, fence.slot), answer, None, delay);
                let command = record.map(|record| ArchiveCommand::Write(Box::new(record), None));
                self.state.unwritten.extend(command);
            }
            (asked, Err(trouble)) => {
                tracing::warn!(%trouble, "this machine cannot ask; asking again");
                if let Asked::Page { turn, cookies, .. } = asked {
                    self.end_use(fence, &crawl, &turn);
                    self.postpone(host_hash, crawl.number, &turn, cookies);
                }
                next += TROUBLE_PAUSE;
            }
        }
        self.queue(host_hash, next);
    }

    fn page_answered(
        &mut self,
        fence: SlotFence,
        host_hash: u64,
        crawl: &Arc<Crawl>,
        turn: &Turn,
        mut answer: Answer,
    ) {
        let outcome = answer.fetched.outcome;
        if may_pass(&answer) {
            let pause = TimeDelta::from_std(self.settings.retry_pause).unwrap_or_default();
            let at = (Utc::now() + pause).timestamp();
            let at = u64::try_from(at).unwrap_or_default();
            let retried =
                self.state_of(crawl.number, host_hash, |state| state.retry(turn.hash, at));
            if retried == Some(true) {
                self.end_use(fence, crawl, turn);
                if let Some(slot) = self.state.slots.get_mut(&fence.slot) {
                    slot.changed(crawl.number, host_hash);
                }
                return;
            }
        }
        let ending = ending_of(outcome);
        let row = row_of(crawl.number, host_hash, turn, &answer);
        let found = std::mem::take(&mut answer.facts.found);
        if let (Outcome::Redirected, Some(link)) = (outcome, found.own_host.first())
            && let Some(host) = self.state.hosts.get_mut(&host_hash)
        {
            let (target, cookies) = (link.url.hash(), std::mem::take(&mut answer.fetched.cookies));
            host.chain = Some(Chain { crawl: crawl.number, target, cookies });
        }
        if !found.own_host.is_empty() {
            self.merge_links(crawl.number, found.own_host);
        }
        let is_page = !turn.attributes.flags.is_no_page();
        let is_urgent = turn.attributes.flags.contains(LinkFlags::URGENT);
        let fetched = Fetched {
            fence,
            row,
            ending,
            is_limited_page: crawl.is_limited && is_page,
            is_urgent,
            links: found.elsewhere,
            turned_away: found.turned_away,
        };
        let is_media = turn.attributes.flags.contains(LinkFlags::REQUISITE);
        let subset = match answer.fetched.status {
            _ if is_media => ArchiveSubset::Media,
            Some(200) => ArchiveSubset::Warc,
            _ => ArchiveSubset::CrawlDiagnostics,
        };
        let delay = self.delay_of(host_hash, crawl);
        match record_of(crawl, (subset, fence.slot), answer, Some(turn.attributes), delay) {
            Some(record) if ending != Ending::Refused => {
                if let Some(slot) = self.state.slots.get_mut(&fence.slot) {
                    slot.unput += 1;
                }
                let command = ArchiveCommand::Write(Box::new(record), Some(fetched));
                self.state.unwritten.push(command);
            }
            _ => self.record_fetch(fetched),
        }
    }

    /// Gives records to the task that writes, as many as it has room for.
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

    /// Answers a URL that is not asked for.
    fn answer_unasked(
        &mut self,
        host_hash: u64,
        crawl: &Crawl,
        turn: &Turn,
        (ending, outcome): (Ending, &str),
    ) {
        let Some(host) = self.state.hosts.get(&host_hash) else { return };
        let Some(slot) = self.state.slots.get(&host.slot) else { return };
        let row =
            FetchRow { outcome: outcome.to_owned(), ..empty_row(crawl.number, host_hash, turn) };
        self.record_fetch(Fetched {
            fence: slot.lease.fence,
            row,
            ending,
            is_limited_page: false,
            is_urgent: turn.attributes.flags.contains(LinkFlags::URGENT),
            links: Vec::new(),
            turned_away: TurnedAwayCounts::default(),
        });
    }
}
