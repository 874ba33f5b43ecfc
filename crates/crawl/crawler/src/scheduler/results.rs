//! Handles finished fetches: records them, merges their links, and schedules the host again.

use std::{sync::Arc, time::Instant};

use everytab_commoncrawl::crawl_layout::ArchiveSubset;
use everytab_coordinator::SlotFence;
use everytab_fetcher::Outcome;
use everytab_frontier::{FinalState, LinkFlags, PendingUrl};

use crate::{
    archives::{ArchiveCommand, DedupScope, WarcRecord},
    crawl::Crawl,
    fetch::{FetchOutput, FetchTask, FinishedFetch},
    fetch_rows::{CRASHED, final_state_of, record_of, row_of},
    scheduler::{
        dispatch::LOCAL_FAILURE_PAUSE,
        state::{ChainedFetch, OnUploaded, RobotsRecord, Scheduler, UnrecordedFetch},
    },
};

impl Scheduler {
    /// Handles a panic in a fetch task, which is a bug in EveryTab. The URL is recorded as
    /// `crashed`. A robots.txt or a probe is fetched again.
    pub(super) fn panicked(&mut self, fence: SlotFence, host_hash: u64, number: u64) {
        self.state.requests.remove(&number);
        let Some(host) = self.state.hosts.get_mut(&host_hash) else { return };
        let Some(request) = host.request.as_ref().filter(|one| one.number == number) else {
            return;
        };
        let crawl = Arc::clone(&request.crawl);
        let pending = request.pending.clone();
        host.cancel_request(&self.context.fetcher, &self.options);
        host.last_request_at.insert(crawl.number, Instant::now());
        if let Some(slot) = self.state.slots.get_mut(&fence.slot) {
            slot.isolated_url = None;
            slot.request_ended(host_hash);
        }
        let mut next = Instant::now();
        if let Some(pending) = pending {
            tracing::error!(url = pending.url, "a fetch panicked; its URL fails as crashed");
            self.release_reserved_page(fence, &crawl, &pending);
            self.record_without_request(host_hash, &crawl, &pending, (FinalState::Failed, CRASHED));
        } else {
            tracing::error!("a robots.txt fetch panicked; retrying");
            next += LOCAL_FAILURE_PAUSE;
        }
        self.schedule_host(host_hash, next);
    }

    pub(super) fn fetch_finished(&mut self, finished: FinishedFetch) {
        let FinishedFetch { fence, host_hash, number, client, task, result } = finished;
        self.state.requests.remove(&number);
        let Some(host) = self.state.hosts.get_mut(&host_hash) else { return };
        // The request was cancelled, and its slot may be lost.
        if host.request.take_if(|request| request.number == number).is_none() {
            return;
        }
        host.client = Some(client);
        host.last_request_at.insert(task.crawl().number, Instant::now());
        match (&task, &result) {
            (FetchTask::Robots { origin, crawl }, Ok(output)) => {
                self.robots_fetched((host_hash, crawl), *origin, &output.fetched);
            }
            (FetchTask::Probe { origin, crawl, .. }, Ok(output)) => {
                self.probed((host_hash, crawl), *origin, &output.fetched);
            }
            _ => {}
        }
        let Some(host) = self.state.hosts.get_mut(&host_hash) else { return };
        host.awaits_checkpoint = host.needs_checkpoint();
        let Some(slot) = self.state.slots.get_mut(&fence.slot) else { return };
        slot.isolated_url = None;
        slot.wants_checkpoint |= host.awaits_checkpoint || host.has_long_delay();
        slot.request_ended(host_hash);
        let crawl = Arc::clone(task.crawl());
        let mut next = Instant::now();
        match (task, result) {
            (FetchTask::Page { pending, .. }, Ok(output)) => {
                self.handle_page(fence, host_hash, &crawl, &pending, output);
            }
            (FetchTask::Robots { origin, .. }, Ok(output)) => {
                let subset = ArchiveSubset::RobotsTxt;
                let delay = self.delay_of(host_hash, &crawl);
                let record = record_of(&crawl, (subset, fence.slot), output, None, delay);
                if let Some(record) = record {
                    let crawl = crawl.number;
                    self.robots_record(RobotsRecord { fence, host_hash, crawl, origin }, record);
                }
            }
            (FetchTask::Probe { .. }, Ok(_)) => {}
            (task, Err(trouble)) => {
                tracing::warn!(%trouble, "local failure; retrying");
                if let FetchTask::Page { pending, .. } = task {
                    self.release_reserved_page(fence, &crawl, &pending);
                    self.put_back(host_hash, crawl.number, &pending);
                }
                next += LOCAL_FAILURE_PAUSE;
            }
        }
        self.schedule_host(host_hash, next);
    }

    fn robots_record(&mut self, robots: RobotsRecord, mut record: WarcRecord) {
        // If a client is waiting for a URL on this host, the URL also waits for this record.
        let crawl = self.state.crawls.get(&robots.crawl);
        record.is_urgent =
            crawl.is_some_and(|(crawl, _)| self.is_urgent_in(crawl, robots.host_hash));
        if let Some(host) = self.state.hosts.get_mut(&robots.host_hash) {
            host.origins.record_begins(robots.crawl, robots.origin);
        }
        self.write(robots.fence, record, OnUploaded::Robots(robots));
    }

    pub(super) fn write(&mut self, fence: SlotFence, record: WarcRecord, what: OnUploaded) {
        if let Some(slot) = self.state.slots.get_mut(&fence.slot) {
            slot.pending_uploads += 1;
        }
        self.state.unwritten.push(ArchiveCommand::Write(Box::new(record), what));
    }

    pub(super) fn handle_page(
        &mut self,
        fence: SlotFence,
        host_hash: u64,
        crawl: &Arc<Crawl>,
        pending: &PendingUrl,
        mut output: FetchOutput,
    ) {
        if Self::is_merged_in_batches(&output) {
            return self.queue_merge((fence, host_hash), crawl, pending, output);
        }
        if self.is_fetched_again((fence, host_hash), crawl, pending, &output) {
            return;
        }
        let outcome = output.fetched.outcome;
        let final_state = match output.refused {
            Some(_) => FinalState::Refused,
            None => final_state_of(outcome, !output.fetched.body.is_empty()),
        };
        let row = row_of(crawl.number, host_hash, pending, &output);
        let found = std::mem::take(&mut output.facts.found);
        if let Some(hashes) = output.facts.content_hashes.take() {
            self.note_page((host_hash, crawl), pending, &hashes, &found.own_host);
        }
        let target = found.own_host.first().filter(|_| outcome == Outcome::Redirected).cloned();
        let cookies = std::mem::take(&mut output.fetched.cookies);
        if !found.own_host.is_empty() {
            self.merge_links(crawl.number, found.own_host);
        }
        let is_page = !pending.attributes.flags.is_requisite_or_sitemap();
        let is_urgent = pending.attributes.flags.contains(LinkFlags::URGENT);
        let unrecorded = UnrecordedFetch {
            fence,
            row,
            final_state,
            is_limited_page: crawl.is_limited && is_page,
            is_urgent,
            links: found.elsewhere.iter().collect(),
            rejected: found.rejected,
        };
        let subset = match output.fetched.status {
            // Sitemaps belong here, too, because scans expect only pages in the index of pages.
            _ if !is_page => ArchiveSubset::Media,
            Some(304) if outcome == Outcome::NotModified => ArchiveSubset::Warc,
            Some(200) => ArchiveSubset::Warc,
            _ => ArchiveSubset::CrawlDiagnostics,
        };
        let delay = self.delay_of(host_hash, crawl);
        let Some(host) = self.state.hosts.get(&host_hash) else { return };
        let copies = DedupScope { site: host.site_hash, hashes: (host_hash, pending.hash.0) };
        let record = record_of(crawl, (subset, fence.slot), output, Some((pending, copies)), delay);
        let record = record.filter(|_| final_state != FinalState::Refused);
        let fetch = ChainedFetch { record, unrecorded };
        match target {
            Some(target) => {
                let to = (&target, cookies);
                self.chain_redirected(host_hash, crawl.number, pending, fetch, to);
            }
            None => self.chain_finished(host_hash, crawl.number, pending, fetch),
        }
    }
}
