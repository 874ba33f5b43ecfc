//! Handles finished fetches: records them, merges their links, and schedules the host again.

use std::{sync::Arc, time::Instant};

use everytab_commoncrawl::crawl_layout::ArchiveSubset;
use everytab_coordinator::SlotFence;
use everytab_fetcher::Outcome;
use everytab_frontier::{Ending, LinkFlags, Turn};

use crate::{
    archives::{ArchiveCommand, CopiesOf, Record},
    crawl::Crawl,
    holder::{
        asking::TROUBLE_PAUSE,
        state::{AfterPut, ChainedFetch, Fetched, Holder, RobotsRecord},
    },
    rows::{CRASHED, ending_of, record_of, row_of},
    visit::{Answer, Asked, Visited},
};

impl Holder {
    /// Handles a panic in a fetch task, which is a bug in EveryTab. The URL is recorded as
    /// `crashed`; a robots.txt is fetched again.
    pub(super) fn panicked(&mut self, fence: SlotFence, host_hash: u64, number: u64) {
        self.state.requests.remove(&number);
        let Some(host) = self.state.hosts.get_mut(&host_hash) else { return };
        let Some(request) = host.request.as_ref().filter(|one| one.number == number) else {
            return;
        };
        let (crawl, turn) = (Arc::clone(&request.crawl), request.turn.clone());
        host.give_up_request(&self.context.fetcher, &self.options);
        host.asked_at.insert(crawl.number, Instant::now());
        if let Some(slot) = self.state.slots.get_mut(&fence.slot) {
            slot.written = None;
            slot.request_ended(host_hash);
        }
        let mut next = Instant::now();
        if let Some(turn) = turn {
            tracing::error!(url = turn.url, "this program panicked at a URL, which has failed");
            self.end_use(fence, &crawl, &turn);
            self.answer_unasked(host_hash, &crawl, &turn, (Ending::Failed, CRASHED));
        } else {
            tracing::error!("this program panicked at a robots.txt; asking again");
            next += TROUBLE_PAUSE;
        }
        self.queue(host_hash, next);
    }

    /// Handles a finished fetch task.
    pub(super) fn visited(&mut self, visited: Visited) {
        let Visited { fence, host_hash, number, turns, asked, result } = visited;
        self.state.requests.remove(&number);
        let Some(host) = self.state.hosts.get_mut(&host_hash) else { return };
        // The request was cancelled, perhaps together with its slot.
        if host.request.take_if(|request| request.number == number).is_none() {
            return;
        }
        host.turns = Some(turns);
        host.asked_at.insert(asked.crawl().number, Instant::now());
        match (&asked, &result) {
            (Asked::Robots { origin, crawl }, Ok(answer)) => {
                self.robots_fetched((host_hash, crawl), *origin, &answer.fetched);
            }
            (Asked::Probe { origin, crawl, .. }, Ok(answer)) => {
                self.probed((host_hash, crawl), *origin, &answer.fetched);
            }
            _ => {}
        }
        let Some(host) = self.state.hosts.get_mut(&host_hash) else { return };
        host.awaits_checkpoint = host.needs_checkpoint();
        let Some(slot) = self.state.slots.get_mut(&fence.slot) else { return };
        slot.written = None;
        slot.wants_checkpoint |= host.awaits_checkpoint || host.rests();
        slot.request_ended(host_hash);
        let crawl = Arc::clone(asked.crawl());
        let mut next = Instant::now();
        match (asked, result) {
            (Asked::Page { turn, .. }, Ok(answer)) => {
                self.page_answered(fence, host_hash, &crawl, &turn, answer);
            }
            (Asked::Robots { origin, .. }, Ok(answer)) => {
                let (subset, delay) = (ArchiveSubset::RobotsTxt, self.delay_of(host_hash, &crawl));
                let record = record_of(&crawl, (subset, fence.slot), answer, None, delay);
                if let Some(record) = record {
                    let crawl = crawl.number;
                    self.robots_record(RobotsRecord { fence, host_hash, crawl, origin }, record);
                }
            }
            (Asked::Probe { .. }, Ok(_)) => {}
            (asked, Err(trouble)) => {
                tracing::warn!(%trouble, "this machine cannot ask; asking again");
                if let Asked::Page { turn, .. } = asked {
                    self.end_use(fence, &crawl, &turn);
                    self.put_back(host_hash, crawl.number, &turn);
                }
                next += TROUBLE_PAUSE;
            }
        }
        self.queue(host_hash, next);
    }

    /// Writes a robots.txt record. The robots.txt is stored with its host once the record is
    /// uploaded.
    fn robots_record(&mut self, robots: RobotsRecord, mut record: Record) {
        // A client that waits for a URL waits for this record, too.
        let crawl = self.state.crawls.get(&robots.crawl);
        record.is_urgent =
            crawl.is_some_and(|(crawl, _)| self.is_urgent_in(crawl, robots.host_hash));
        if let Some(host) = self.state.hosts.get_mut(&robots.host_hash) {
            host.origins.record_begins(robots.crawl, robots.origin);
        }
        self.write(robots.fence, record, AfterPut::Robots(robots));
    }

    pub(super) fn write(&mut self, fence: SlotFence, record: Record, what: AfterPut) {
        if let Some(slot) = self.state.slots.get_mut(&fence.slot) {
            slot.unput += 1;
        }
        self.state.unwritten.push(ArchiveCommand::Write(Box::new(record), what));
    }

    pub(super) fn page_answered(
        &mut self,
        fence: SlotFence,
        host_hash: u64,
        crawl: &Arc<Crawl>,
        turn: &Turn,
        mut answer: Answer,
    ) {
        if Self::is_merged_in_parts(&answer) {
            return self.merge_later((fence, host_hash), crawl, turn, answer);
        }
        if self.is_fetched_again((fence, host_hash), crawl, turn, &answer) {
            return;
        }
        let outcome = answer.fetched.outcome;
        let ending = match answer.refused {
            Some(_) => Ending::Refused,
            None => ending_of(outcome, !answer.fetched.body.is_empty()),
        };
        let row = row_of(crawl.number, host_hash, turn, &answer);
        let found = std::mem::take(&mut answer.facts.found);
        if let Some(said) = answer.facts.said.take() {
            self.note_page((host_hash, crawl), turn, &said, &found.own_host);
        }
        let target = found.own_host.first().filter(|_| outcome == Outcome::Redirected).cloned();
        let cookies = std::mem::take(&mut answer.fetched.cookies);
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
            links: found.elsewhere.iter().collect(),
            turned_away: found.turned_away,
        };
        let subset = match answer.fetched.status {
            // Sitemaps, too: the index of pages, which scans read, must contain only pages.
            // robots.txt is indexed from its archives and has no rows.
            _ if !is_page => ArchiveSubset::Media,
            // A page that is not modified is still a page.
            Some(304) if outcome == Outcome::NotModified => ArchiveSubset::Warc,
            Some(200) => ArchiveSubset::Warc,
            _ => ArchiveSubset::CrawlDiagnostics,
        };
        let delay = self.delay_of(host_hash, crawl);
        let Some(host) = self.state.hosts.get(&host_hash) else { return };
        let copies = CopiesOf { site: host.site_hash, hashes: (host_hash, turn.hash.0) };
        let record = record_of(crawl, (subset, fence.slot), answer, Some((turn, copies)), delay);
        let record = record.filter(|_| ending != Ending::Refused);
        let fetch = ChainedFetch { record, fetched };
        match target {
            Some(target) => {
                let to = (&target, cookies);
                self.chain_redirected(host_hash, crawl.number, turn, fetch, to);
            }
            None => self.chain_answered(host_hash, crawl.number, turn, fetch),
        }
    }
}
