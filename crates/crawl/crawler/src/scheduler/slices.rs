//! Splits work into time slices if users and sites control its size, so that each iteration of the
//! loop stays short.
//!
//! A page stays pending until its last link is merged, so that the slot's next holder fetches it
//! again if this holder dies. Pages are merged in rotation, so that a small page does not wait for
//! a large one.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use everytab_coordinator::SlotFence;
use everytab_frontier::{LinkFlags, PendingUrl};

use crate::{
    archives::UploadedArchive,
    crawl::Crawl,
    fetch::FetchOutput,
    host::Site,
    load::PassKind,
    scheduler::state::{OnUploaded, Scheduler, UnmergedOutput, UploadedPart},
};

/// Time slice for one kind of work in an iteration of the loop.
const SLICE: Duration = Duration::from_millis(5);
/// Maximum links that are merged from a page before the next page's, so that one batch takes at
/// most about as long as a time slice.
const MAX_MERGED_AT_ONCE: usize = 64;

pub(super) fn end_of_slice() -> Instant {
    Instant::now() + SLICE
}

impl Scheduler {
    pub(super) fn has_sliced_work(&self) -> bool {
        let state = &self.state;
        let passes = [&state.urgent_pass, &state.ordinary_pass, &state.newer_pass];
        let goes_on = passes.into_iter().flatten().any(|pass| pass.has_more);
        let waits = !state.uploaded_parts.is_empty() || !state.loaded.is_empty();
        goes_on || waits || !state.unmerged.is_empty() || state.has_more_to_record
    }

    pub(super) fn run_slices(&mut self) {
        self.record_uploaded_parts();
        self.merge_pages();
        self.install_sites();
        for kind in PassKind::ALL {
            if self.state.pass(kind).as_ref().is_some_and(|pass| pass.has_more) {
                self.merge_or_load(kind);
            }
        }
        if self.state.has_more_to_record {
            self.record();
        }
    }

    pub(super) fn archive_uploaded(&mut self, archive: UploadedArchive<OnUploaded>) {
        let UploadedArchive { crawl, bytes, is_lost, records } = archive;
        let records = records.into_iter();
        self.state.uploaded_parts.push_back(UploadedPart {
            crawl,
            bytes,
            is_lost,
            records,
            first: None,
        });
    }

    fn record_uploaded_parts(&mut self) {
        let until = end_of_slice();
        while let Some(mut part) = self.state.uploaded_parts.pop_front() {
            for record in part.records.by_ref() {
                let fence = self.record_uploaded(record, part.is_lost);
                part.first = part.first.or(fence);
                if Instant::now() >= until {
                    self.state.uploaded_parts.push_front(part);
                    return;
                }
            }
            let slot = part.first.and_then(|fence| self.state.slots.get_mut(&fence.slot));
            if let Some(slot) = slot {
                slot.stored(part.crawl, part.bytes);
            }
        }
    }

    pub(super) fn is_merged_in_batches(output: &FetchOutput) -> bool {
        output.facts.found.own_host.len() > MAX_MERGED_AT_ONCE
    }

    pub(super) fn queue_merge(
        &mut self,
        (fence, host_hash): (SlotFence, u64),
        crawl: &Arc<Crawl>,
        pending: &PendingUrl,
        mut output: FetchOutput,
    ) {
        let crawl = Arc::clone(crawl);
        let pending = pending.clone();
        let links = std::mem::take(&mut output.facts.found.own_host).into_iter();
        let unmerged = UnmergedOutput { fence, host_hash, crawl, pending, output, links };
        self.state.unmerged.push_back(unmerged);
        if let Some(slot) = self.state.slots.get_mut(&fence.slot) {
            slot.merging += 1;
        }
    }

    fn merge_pages(&mut self) {
        let until = end_of_slice();
        while Instant::now() < until {
            let is_urgent =
                |one: &UnmergedOutput| one.pending.attributes.flags.contains(LinkFlags::URGENT);
            let first = self.state.unmerged.iter().position(is_urgent).unwrap_or_default();
            let Some(mut one) = self.state.unmerged.remove(first) else { return };
            // If the slot is lost, the next holder fetches the page again. If the crawl has ended,
            // the page is dropped.
            if !self.holds(one.fence) || !self.state.crawls.contains_key(&one.crawl.number) {
                self.merged(one.fence);
                continue;
            }
            let host = one.links.as_slice().first().map(|link| link.url.host().to_owned());
            let mut left = MAX_MERGED_AT_ONCE;
            let part = std::iter::from_fn(|| {
                let is_over = left < MAX_MERGED_AT_ONCE && Instant::now() >= until;
                left = left.checked_sub(1).filter(|_| !is_over)?;
                one.links.next()
            });
            self.merge_links_of(one.crawl.number, &host.unwrap_or_default(), part);
            if !one.links.as_slice().is_empty() {
                self.state.unmerged.push_back(one);
                continue;
            }
            self.merged(one.fence);
            let UnmergedOutput { fence, host_hash, crawl, pending, output, .. } = one;
            self.handle_page(fence, host_hash, &crawl, &pending, output);
        }
    }

    fn merged(&mut self, fence: SlotFence) {
        if self.holds(fence)
            && let Some(slot) = self.state.slots.get_mut(&fence.slot)
        {
            slot.merging = slot.merging.saturating_sub(1);
        }
    }

    fn install_sites(&mut self) {
        if self.state.loaded.is_empty() {
            return;
        }
        let until = end_of_slice();
        while Instant::now() < until {
            let Some((fence, site)) = self.state.loaded.pop_front() else { break };
            self.install_loaded(fence, site);
        }
        self.continue_passes();
    }
}

/// Drops sites in a separate thread, because a site may have a million pending URLs.
pub(super) fn drop_sites(sites: Vec<Site>) {
    if !sites.is_empty() {
        drop(tokio::task::spawn_blocking(move || drop(sites)));
    }
}
