//! The icons of one origin in canonical order: the first alone, the others one after the other over
//! its connection, or two at a time where they are many.
//!
//! The first says whether there is anybody; so a dead origin costs one deadline a pass. Any other
//! candidate sees what the first and all before n - 1 found dead, no more and no less: its outcome
//! does not depend on timing. The group's connections end with it.
//! Must not know: hosts, other origins.

use std::{
    collections::{HashMap, VecDeque},
    panic::AssertUnwindSafe,
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use chrono::Utc;
use futures_util::{FutureExt, StreamExt, stream::FuturesOrdered};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use crate::{
    blocklist::Blocklist,
    fetched::Fetched,
    health::dead_origins::DeadOrigins,
    meter::Meter,
    outcome::{Outcome, Trouble},
    request::{
        connection::Pool,
        content::{ImageFacts, judge},
        fetcher::{Round, Shared},
        robots::RobotsCache,
        spool::{Payload, Spool},
        target::Target,
    },
    shard::{fetch_shard::Ended, hand::Hand},
};

/// Up to so many icons of an origin go over one connection: a second one costs more than it saves.
const ONE_AFTER_THE_OTHER: usize = 4;

/// Such a body is hashed and measured in less time than another thread takes to wake up.
const LOOKED_AT_ONCE_BYTES: usize = 32 * 1024;

/// What the groups of a shard share.
pub(crate) struct Work {
    pub(crate) shared: Arc<Shared>,
    pub(crate) robots: RobotsCache,
    pub(crate) urls: Vec<String>,
    pub(crate) spool: Arc<Spool>,
    pub(crate) has_later_pass: bool,
    pub(crate) blocklist: Arc<Blocklist>,
    pub(crate) hand: Arc<dyn Hand>,
    pub(crate) meter: Meter,
}

/// The URLs of one origin, in canonical order.
pub(crate) struct Group {
    origin: String,
    pub(crate) url_nos: Vec<usize>,
    not_before: Option<Instant>,
    is_later_pass: bool,
}

impl Group {
    pub(crate) fn new(origin: String) -> Group {
        Group { origin, url_nos: Vec::new(), not_before: None, is_later_pass: false }
    }

    /// Whether a run died with one of these in hand.
    pub(crate) fn holds_suspect(&self, hand: &dyn Hand) -> bool {
        self.url_nos.iter().any(|url_no| hand.is_suspect(*url_no))
    }

    /// Groups of what is worth trying again. Where an origin seemed dead, an icon that was not
    /// tried itself goes first: a second opinion. An origin that asked us to wait is left alone
    /// until the longest of its waits is over.
    pub(crate) fn for_later_pass(work: &Work, ended: &[Option<Ended>]) -> Vec<Group> {
        let longest = work.shared.settings.retry_after_max;
        let mut groups: Vec<Group> = Vec::new();
        let mut group_nos: HashMap<String, usize> = HashMap::new();
        for (url_no, end) in ended.iter().enumerate() {
            let Some(end) = end.as_ref().filter(|end| end.is_worth_a_retry(longest)) else {
                continue;
            };
            let Ok(target) = Target::first(&work.urls[url_no]) else { continue };
            let group_no = *group_nos.entry(target.origin.clone()).or_insert_with(|| {
                let group = Group::new(target.origin);
                groups.push(Group { is_later_pass: true, ..group });
                groups.len() - 1
            });
            let group = &mut groups[group_no];
            group.url_nos.push(url_no);
            if let Some(wait) = end.retry_after {
                let since = (Utc::now() - end.ended_at).to_std().unwrap_or_default();
                let until = Instant::now() + wait.saturating_sub(since);
                group.not_before = group.not_before.max(Some(until));
            }
        }
        let seemed_dead = |url_no: &usize| {
            let end = ended.get(*url_no).and_then(Option::as_ref);
            end.is_some_and(|end| end.was_tried && end.outcome.kills_origin())
        };
        for group in &mut groups {
            // Stable: canonical order among equals.
            group.url_nos.sort_by_key(seemed_dead);
        }
        groups
    }

    /// Fetches them all. Gives each URL's number and end.
    pub(crate) async fn run(self, work: Arc<Work>) -> Result<Vec<(usize, Ended)>, Trouble> {
        if let Some(not_before) = self.not_before {
            tokio::time::sleep_until(not_before).await;
        }
        let window = work.shared.settings.per_host.max(1);
        let is_small = self.url_nos.len() <= ONE_AFTER_THE_OTHER;
        let is_sequential = is_small || work.hand.is_careful() || window == 1;
        let pool = Pool::default();
        let known = DeadOrigins::default();
        let is_later_pass = self.is_later_pass;
        let (pool, blocklist, meter) = (&pool, &*work.blocklist, &work.meter);
        let round = Round { pool, known: &known, blocklist, meter, is_later_pass, is_sequential };
        let ends = Vec::with_capacity(self.url_nos.len());
        let mut walk = Walk { group: &self, work: &work, known: Known::default(), ends };
        let mut waiting = self.url_nos.iter().copied().enumerate();
        // The first alone; without a neighbour a future needs no place in a set of them.
        let alone = if is_sequential { self.url_nos.len() } else { 1 };
        for (place, url_no) in waiting.by_ref().take(alone) {
            let (dead, told) = walk.sees(place);
            walk.note(settle(&work, round, url_no, dead, told).await?);
        }
        let mut under_way = FuturesOrdered::new();
        loop {
            while under_way.len() < window {
                let Some((place, url_no)) = waiting.next() else { break };
                let (dead, told) = walk.sees(place);
                under_way.push_back(settle(&work, round, url_no, dead, told));
            }
            let Some(settled) = under_way.next().await else { return Ok(walk.ends) };
            walk.note(settled?);
        }
    }
}

/// A group on its way: what is known, and what has ended.
struct Walk<'a> {
    group: &'a Group,
    work: &'a Work,
    known: Known,
    ends: Vec<(usize, Ended)>,
}

impl Walk<'_> {
    /// What the candidate at a place is to know.
    fn sees(&mut self, place: usize) -> (DeadOrigins, Option<Ended>) {
        self.known.see_up_to(place, self.work.shared.settings.per_host.max(1));
        (self.known.dead.clone(), self.known.told_to_wait.clone())
    }

    /// The next in canonical order has ended.
    fn note(&mut self, (url_no, end): (usize, Ended)) {
        self.work.hand.ended();
        let may_defer = self.work.has_later_pass && !self.group.is_later_pass;
        let longest = self.work.shared.settings.retry_after_max;
        let is_told = end.retry_after.is_some_and(|wait| wait > Duration::ZERO);
        let defers = may_defer && is_told && end.is_worth_a_retry(longest);
        self.known.note(self.ends.len(), &end, defers);
        // What was only remembered says nothing new, and comes before what has yet to be tried.
        let is_news = end.was_tried || end.outcome != Outcome::ConnectTimeout;
        if self.ends.is_empty() && is_news && !self.group.is_later_pass {
            self.work.shared.breaker.note(&self.group.origin, end.outcome);
        }
        self.ends.push((url_no, end));
    }
}

/// What earlier candidates of an origin found: candidate n sees what the first and those up to
/// n - window did, however many are really under way.
#[derive(Default)]
struct Known {
    dead: DeadOrigins,
    told_to_wait: Option<Ended>,
    /// What is not to be seen yet, in canonical order.
    fresh: VecDeque<Found>,
}

/// What the candidate at a place found.
struct Found {
    place: usize,
    dead_origin: Option<(String, Outcome)>,
    told_to_wait: Option<Ended>,
}

impl Known {
    fn note(&mut self, place: usize, end: &Ended, defers: bool) {
        let told_to_wait = defers.then(|| end.clone());
        self.fresh.push_back(Found { place, dead_origin: end.dead_origin.clone(), told_to_wait });
    }

    fn see_up_to(&mut self, place: usize, window: usize) {
        let seen = (place + 1).saturating_sub(window).max(1);
        while self.fresh.front().is_some_and(|found| found.place < seen) {
            let Some(found) = self.fresh.pop_front() else { return };
            if let Some((origin, outcome)) = found.dead_origin {
                self.dead.add(&origin, outcome);
            }
            self.told_to_wait = self.told_to_wait.take().or(found.told_to_wait);
        }
    }
}

/// One URL to its end. An origin that has just asked us to wait is not asked again in this pass:
/// its URLs go to the later pass with the answer that the first of them got.
async fn settle(
    work: &Arc<Work>,
    round: Round<'_>,
    url_no: usize,
    known: DeadOrigins,
    told_to_wait: Option<Ended>,
) -> Result<(usize, Ended), Trouble> {
    if let Some(told) = told_to_wait {
        return Ok((url_no, Ended { was_tried: false, bytes: 0, duration_ms: 0, ..told }));
    }
    if work.hand.has_crashed(url_no) {
        return Ok((url_no, Ended::untried(Outcome::Crashed)));
    }
    work.hand.take(url_no).await;
    let round = Round { known: &known, ..round };
    // What panics on this answer panics on it everywhere: only this icon is lost.
    let fetched =
        AssertUnwindSafe(work.shared.fetch(&work.robots, round, &work.urls[url_no])).catch_unwind();
    let Ok(fetched) = fetched.await else {
        tracing::error!(url = work.urls[url_no], "fetching it panicked");
        return Ok((url_no, Ended::untried(Outcome::Crashed)));
    };
    let mut fetched = fetched?;
    let end = of_fetched(&mut fetched);
    if end.outcome != Outcome::Ok {
        return Ok((url_no, end));
    }
    let (head, body) = (std::mem::take(&mut fetched.http_head), fetched.body.clone());
    let kept = keep(work, end, head, body).await;
    // Only now does the body's room go back.
    drop(fetched);
    Ok((url_no, kept?))
}

fn of_fetched(fetched: &mut Fetched) -> Ended {
    let last = fetched.hops.last();
    Ended {
        outcome: fetched.outcome,
        bytes: u32::try_from(fetched.body.len()).unwrap_or(u32::MAX),
        duration_ms: fetched.timings.total,
        status: fetched.status,
        final_url: (fetched.final_url != fetched.url).then(|| fetched.final_url.clone()),
        address: last.and_then(|hop| hop.address),
        certificate: fetched.certificate,
        was_tried: fetched.hops.iter().any(|hop| hop.address.is_some()),
        retry_after: fetched.retry_after,
        dead_origin: fetched.dead_origin.take(),
        ..Ended::untried(fetched.outcome)
    }
}

/// Looks at a body and keeps it if it is an image; a large one away from the threads that serve
/// sockets.
pub(crate) async fn keep(
    work: &Arc<Work>,
    mut end: Ended,
    head: Vec<u8>,
    body: Bytes,
) -> Result<Ended, Trouble> {
    end.bytes = u32::try_from(body.len()).unwrap_or(u32::MAX);
    let spool = Arc::clone(&work.spool);
    let is_small = head.len() + body.len() <= LOOKED_AT_ONCE_BYTES;
    let look = move || look(&spool, &head, &body);
    let looked = if is_small {
        std::panic::catch_unwind(AssertUnwindSafe(look)).ok()
    } else {
        let _hand = work.shared.hands.acquire().await.map_err(|_closed| Trouble::Memory)?;
        tokio::task::spawn_blocking(look).await.ok()
    };
    match looked {
        Some(Ok(Looked { outcome, facts, kept })) => {
            end.outcome = outcome;
            end.facts = facts;
            end.sha256 = kept.map(|(sha256, _)| sha256);
            end.payload = kept.map(|(_, payload)| payload);
        }
        Some(Err(error)) => return Err(of_spool_error(&error)),
        // What panics on this answer panics on it everywhere: only this icon is lost.
        None => end.outcome = Outcome::Crashed,
    }
    if work.spool.wants_to_write() {
        let spool = Arc::clone(&work.spool);
        let written = tokio::task::spawn_blocking(move || spool.write_pending()).await;
        written.map_err(|_| Trouble::Spool)?.map_err(|error| of_spool_error(&error))?;
    }
    Ok(end)
}

/// What a body is, and where it was put.
struct Looked {
    outcome: Outcome,
    facts: Option<ImageFacts>,
    kept: Option<([u8; 32], Payload)>,
}

fn look(spool: &Spool, head: &[u8], body: &[u8]) -> std::io::Result<Looked> {
    let (outcome, facts) = judge(body);
    if outcome != Outcome::Ok {
        return Ok(Looked { outcome, facts, kept: None });
    }
    let sha256: [u8; 32] = Sha256::digest(body).into();
    let payload = spool.add(head, body, sha256)?;
    Ok(Looked { outcome, facts, kept: Some((sha256, payload)) })
}

fn of_spool_error(error: &std::io::Error) -> Trouble {
    tracing::warn!(%error, "the spool of icon bodies");
    Trouble::Spool
}
