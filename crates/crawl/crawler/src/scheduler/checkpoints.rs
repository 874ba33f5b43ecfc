//! Records results in Postgres with slot checkpoints. A checkpoint contains a fetch only after the
//! fetch's archive is uploaded.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use chrono::{DateTime, Utc};
use everytab_coordinator::{
    Checkpoint, CheckpointResult, ChunkRow, Coordinator, Error, FrontierHostRow, SlotFence,
};
use everytab_frontier::{
    ChunkKind, FinalState, FinishEffect, HostState, Origin, OutgoingLinks, Packed, PendingUrl,
    StateChanges, UrlHash,
};

use crate::{
    archives::{ArchiveCommand, UploadedRecord},
    crawl::Crawl,
    fetch_rows::{name_body, named_via},
    host::SiteKey,
    metrics,
    outcomes::{NO_RECORD, outcomes_of},
    redirect_chain::{RecordedTogether, Uploaded},
    scheduler::{
        dispatch::LOCAL_FAILURE_PAUSE,
        slices::end_of_slice,
        state::{ChunkSize, Event, OnUploaded, RobotsRecord, Scheduler, UnrecordedFetch},
    },
    slot::{SlotChanges, links_rows},
};

/// A slot with unrecorded fetches sends at least this many checkpoints per `record_after`, one
/// every ten seconds by default.
const CHECKPOINTS_PER_ARCHIVE: u32 = 3;
/// If an upload takes longer than this many times `record_after` (2 x 30 s), its crawl sends no
/// requests.
const SLOW_UPLOAD: u32 = 2;
/// Maximum fetches per host and crawl that may wait for a robots.txt upload. Above it, the crawl
/// sends no requests to the host, because these fetches are in memory.
const MAX_AWAITING_ROBOTS: usize = 1_000;
/// Pause before a checkpoint is sent again after a transient error.
const SEND_AGAIN: Duration = Duration::from_secs(1);

impl Scheduler {
    pub(super) fn state_of<T>(
        &mut self,
        crawl: i32,
        host_hash: u64,
        act: impl FnOnce(&mut HostState) -> T,
    ) -> Option<T> {
        let site_hash = self.state.hosts.get(&host_hash)?.site_hash;
        let site = self.state.sites.get_mut(&SiteKey { crawl, site_hash })?;
        site.used_at = Instant::now();
        site.hosts.get_mut(&host_hash).map(act)
    }

    pub(super) fn changed(&mut self, crawl: i32, host_hash: u64) {
        let Some(host) = self.state.hosts.get(&host_hash) else { return };
        if let Some(slot) = self.state.slots.get_mut(&host.slot) {
            slot.changed(crawl, host_hash);
        }
    }

    pub(super) fn put_back(&mut self, host_hash: u64, crawl: i32, pending: &PendingUrl) {
        self.state_of(crawl, host_hash, |state| state.put_back(pending.hash));
    }

    pub(super) fn release_reserved_page(
        &mut self,
        fence: SlotFence,
        crawl: &Crawl,
        pending: &PendingUrl,
    ) {
        let uses_page = crawl.is_limited && !pending.attributes.flags.is_requisite_or_sitemap();
        if uses_page && let Some(slot) = self.state.slots.get_mut(&fence.slot) {
            slot.release_page(crawl.number);
        }
    }

    pub(super) fn delay_of(&self, host_hash: u64, crawl: &Crawl) -> Duration {
        let delay = self.state.hosts.get(&host_hash).and_then(|host| {
            let client = host.client.as_ref()?;
            Some(client.delay.delay(&self.delays_of(host, crawl)))
        });
        delay.unwrap_or_default()
    }

    /// Marks the URLs of fetches as finished, all in one checkpoint. Fetches wait here while their
    /// origin's robots.txt record is not uploaded.
    pub(super) fn record_fetches(&mut self, fetches: Vec<UnrecordedFetch>) {
        let Some(first) = fetches.first() else { return };
        let fence = first.fence;
        let crawl = first.row.crawl;
        let host_hash = first.row.host_hash;
        let host = self.state.hosts.get(&host_hash);
        let has_unuploaded_record =
            |origin| host.is_some_and(|host| host.origins.has_unuploaded_record(crawl, origin));
        let waits =
            fetches.iter().filter_map(|one| Origin::of(&one.row.url)).any(has_unuploaded_record);
        if !waits || !self.holds(fence) {
            for fetch in fetches {
                self.finish_fetch(fetch);
            }
            return;
        }
        let is_urgent =
            |fetches: &Vec<UnrecordedFetch>| fetches.iter().any(|fetch| fetch.is_urgent);
        let waiting = self.state.awaiting_robots.entry(host_hash).or_default();
        let is_first_urgent = is_urgent(&fetches) && !waiting.iter().any(is_urgent);
        waiting.push(fetches);
        if is_first_urgent {
            self.upload_robots(crawl, fence.slot);
        }
    }

    pub(super) fn upload_robots(&mut self, crawl: i32, slot: i16) {
        if let Some((crawl, _)) = self.state.crawls.get(&crawl) {
            self.state.unwritten.push(ArchiveCommand::UploadRobots(Arc::clone(crawl), slot));
        }
    }

    pub(super) fn has_many_awaiting_robots(&self, host_hash: u64, crawl: i32) -> bool {
        let waiting = self.state.awaiting_robots.get(&host_hash).into_iter().flatten();
        let of_crawl = waiting.flatten().filter(|fetch| fetch.row.crawl == crawl);
        of_crawl.count() >= MAX_AWAITING_ROBOTS
    }

    fn finish_fetch(&mut self, fetch: UnrecordedFetch) {
        let UnrecordedFetch {
            fence,
            mut row,
            final_state,
            is_limited_page,
            is_urgent,
            links,
            rejected,
        } = fetch;
        let outcome = row.outcome.as_str();
        debug_assert!(outcomes_of(final_state).contains(&outcome), "{final_state:?}: {outcome}");
        if !self.holds(fence) {
            return;
        }
        let crawl = row.crawl;
        let hash = UrlHash(row.url_hash);
        let context = Arc::clone(&self.context);
        row.via = row.via.map(|via| {
            let is_finished = |hash| {
                self.state_of(crawl, row.host_hash, |state| state.is_finished(hash)) == Some(true)
            };
            named_via(via, row.host_hash, &context.parameters, is_finished)
        });
        let host_hash = row.host_hash;
        let superseded = self.superseded_by(&row);
        let effect = self.finish_in_state(crawl, host_hash, hash, (final_state, &row.outcome));
        let held_slots = self.state.slots.len();
        let Some(slot) = self.state.slots.get_mut(&fence.slot) else { return };
        if is_limited_page {
            slot.release_page(crawl);
        }
        if effect == Some(FinishEffect::Finished) {
            slot.finished(row, final_state, is_limited_page && final_state == FinalState::Captured);
            slot.found(crawl, &links, &rejected, held_slots);
            slot.wants_checkpoint |= is_urgent;
            self.state.progress.finished(final_state);
            if let Some(superseded) = superseded {
                self.end_superseded((host_hash, crawl), superseded);
            }
        }
    }

    /// Returns the slot's fence if this worker still holds the slot.
    pub(super) fn record_uploaded(
        &mut self,
        record: UploadedRecord<OnUploaded>,
        is_lost: bool,
    ) -> Option<SlotFence> {
        let UploadedRecord { tag, object, position, body } = record;
        let fence = match &tag {
            OnUploaded::Fetch(fetch, _) => fetch.fence,
            OnUploaded::Robots(robots) => robots.fence,
            OnUploaded::Nothing(fence) => *fence,
        };
        if !self.holds(fence) {
            return None;
        }
        if let Some(slot) = self.state.slots.get_mut(&fence.slot) {
            slot.pending_uploads -= 1;
        }
        if is_lost {
            self.state.paused_until_disk_recovers = Some(Instant::now() + LOCAL_FAILURE_PAUSE);
        }
        match tag {
            OnUploaded::Nothing(_) => {}
            OnUploaded::Robots(robots) => self.robots_uploaded(&robots, is_lost),
            OnUploaded::Fetch(mut fetch, together) => {
                if let Some(object) = object {
                    fetch.row.object = Some(object.to_string());
                    fetch.row.record_offset = i64::try_from(position.offset).ok();
                    fetch.row.record_length = i32::try_from(position.length).ok();
                    if let Some(body) = body {
                        name_body(&mut fetch.row, &body);
                    }
                } else {
                    fetch.final_state = FinalState::Failed;
                    fetch.row.outcome = NO_RECORD.to_owned();
                }
                self.fetch_uploaded(*fetch, together, is_lost);
            }
        }
        Some(fence)
    }

    pub(super) fn fetch_uploaded(
        &mut self,
        fetch: UnrecordedFetch,
        together: RecordedTogether<UnrecordedFetch>,
        is_lost: bool,
    ) {
        match together.add(fetch, is_lost) {
            Some(Uploaded { fetches, is_lost: true }) => self.fetch_again(&fetches),
            Some(Uploaded { fetches, is_lost: false }) => self.record_fetches(fetches),
            None => {}
        }
    }

    /// If the record is lost, the robots.txt and the URLs that waited for it are fetched again,
    /// because a fetch must not be recorded without its robots.txt.
    fn robots_uploaded(&mut self, robots: &RobotsRecord, is_lost: bool) {
        let RobotsRecord { fence, host_hash, crawl, origin } = robots;
        if let Some(slot) = self.state.slots.get_mut(&fence.slot) {
            slot.host_changed(*host_hash);
        }
        let Some(host) = self.state.hosts.get_mut(host_hash) else { return };
        host.origins.record_ends(*crawl, *origin, is_lost);
        let waiting = self.state.awaiting_robots.remove(host_hash).unwrap_or_default();
        let waited_for_it = |UnrecordedFetch { row, .. }: &UnrecordedFetch| {
            row.crawl == *crawl && Origin::of(&row.url) == Some(*origin)
        };
        for fetches in waiting {
            if is_lost && fetches.iter().any(waited_for_it) {
                self.fetch_again(&fetches);
            } else {
                // Fetches that also wait for another record continue to wait.
                self.record_fetches(fetches);
            }
        }
    }

    pub(super) fn check_slow_uploads(&mut self) {
        let patience = self.settings.record_after * SLOW_UPLOAD;
        let late = self.pending_uploads.stalled_crawls(patience, Instant::now());
        for crawl in late.difference(&self.state.stalled_crawls) {
            tracing::warn!(crawl, "an upload is too slow; pausing the requests of the crawl");
        }
        self.state.stalled_crawls = late;
    }

    fn fetch_again(&mut self, fetches: &[UnrecordedFetch]) {
        for fetch in fetches {
            self.forget_fetch(fetch);
            self.schedule_host(fetch.row.host_hash, Instant::now());
        }
    }

    pub(super) fn forget_fetch(&mut self, fetch: &UnrecordedFetch) {
        let crawl = fetch.row.crawl;
        let hash = UrlHash(fetch.row.url_hash);
        self.state_of(crawl, fetch.row.host_hash, |state| state.put_back(hash));
        if fetch.is_limited_page
            && let Some(slot) = self.state.slots.get_mut(&fetch.fence.slot)
        {
            slot.release_page(crawl);
        }
    }

    /// Work that exceeds the time slice continues in the next iteration.
    pub(super) fn record(&mut self) {
        let is_idle = self.is_idle() || self.state.is_stopping;
        // An isolated slot fetches its next URL only after the last record is uploaded, so upload
        // it soon.
        let is_awaited =
            self.state.slots.values().any(|slot| slot.is_isolated() && slot.pending_uploads > 0);
        if (is_idle || is_awaited) && self.state.unwritten.is_empty() {
            self.archives.try_send(ArchiveCommand::UploadAll).ok();
        }
        let max_age = self.settings.record_after;
        let fences: Vec<SlotFence> = self
            .state
            .slots
            .values()
            .filter(|slot| !slot.is_recording)
            .filter(|slot| {
                let is_old = slot.since.is_some_and(|since| since.elapsed() >= max_age);
                let is_awaited = slot.is_dirty() && slot.is_leaving;
                is_old
                    || is_awaited
                    || slot.has_fetches_since(max_age / CHECKPOINTS_PER_ARCHIVE)
                    || (is_idle && slot.is_dirty())
                    || slot.wants_checkpoint
                    || (slot.is_isolated() && slot.has_fetches_since(Duration::ZERO))
                    || slot.needs_probation_checkpoint()
            })
            .map(|slot| slot.lease.fence)
            .collect();
        let until = end_of_slice();
        let mut sent = 0;
        let due = fences.len();
        for fence in fences {
            self.checkpoint(fence);
            sent += 1;
            if Instant::now() >= until {
                break;
            }
        }
        self.state.has_more_to_record = sent < due;
    }

    fn checkpoint(&mut self, fence: SlotFence) {
        let Some(slot) = self.state.slots.get_mut(&fence.slot) else { return };
        slot.is_recording = true;
        slot.wants_checkpoint = false;
        slot.number += 1;
        let number = slot.number;
        let SlotChanges { cursor, urgent_cursor, counts, fetches, links, changed, changed_hosts } =
            slot.take();
        let mut changes = Vec::with_capacity(changed.len());
        for (crawl, host_hash) in changed {
            let taken = self.changes_of(crawl, host_hash);
            changes.extend(taken.map(|taken| (crawl, host_hash, taken)));
        }
        let mut hosts: Vec<FrontierHostRow> = Vec::with_capacity(changed_hosts.len());
        for host_hash in changed_hosts {
            let Some(host) = self.state.hosts.get_mut(&host_hash) else { continue };
            // A request in flight will change the host again when it ends.
            hosts.extend(host.manners(host_hash));
        }
        let checkpoint = Checkpoint {
            fence,
            number,
            cursor,
            urgent_cursor,
            counts,
            fetches,
            links: Vec::new(),
            chunks: Vec::new(),
            hosts,
        };
        let (coordinator, leases) = (self.coordinator.clone(), self.leases.clone());
        self.start(async move {
            let (checkpoint, sizes) = match packed(checkpoint, links, changes).await {
                Ok(packed) => packed,
                Err(error) => return Event::Checkpointed(fence, Vec::new(), Err(error)),
            };
            let began = Instant::now();
            let sent = send(&coordinator, &checkpoint, || leases.is_held(fence)).await;
            metrics::checkpointed(&checkpoint, &sent, began.elapsed());
            Event::Checkpointed(fence, sizes, sent)
        });
    }

    /// `None` if nothing changed or the state is not loaded.
    fn changes_of(&mut self, crawl: i32, host_hash: u64) -> Option<StateChanges> {
        let patience = self.state.crawls.get(&crawl).map(|(crawl, _)| self.patience_of(crawl))?;
        let host = self.state.hosts.get(&host_hash)?;
        let key = SiteKey { crawl, site_hash: host.site_hash };
        let state = self.state.sites.get_mut(&key)?.hosts.get_mut(&host_hash)?;
        state.take_changes(|origin| host.paused_until_s(origin, patience))
    }

    pub(super) fn checkpointed(
        &mut self,
        fence: SlotFence,
        sizes: Vec<ChunkSize>,
        reply: Result<CheckpointResult, Error>,
    ) {
        if !self.holds(fence) {
            return;
        }
        for ChunkSize { crawl, host_hash, kind, bytes } in sizes {
            self.state_of(crawl, host_hash, |state| state.packed(kind, bytes));
        }
        match reply {
            Ok(CheckpointResult::Recorded { ended }) => {
                if let Some(slot) = self.state.slots.get_mut(&fence.slot) {
                    slot.is_recording = false;
                }
                for crawl in ended {
                    self.forget_crawl(crawl);
                }
                self.schedule_awaiting(fence.slot);
            }
            Ok(CheckpointResult::Lost) => self.drop_lost_slots(&[fence]),
            Err(error) => {
                let slot = fence.slot;
                tracing::error!(slot, %error, "Postgres rejected a checkpoint; dropping the slot");
                self.drop_lost_slots(&[fence]);
            }
        }
    }

    fn schedule_awaiting(&mut self, slot: i16) {
        let hosts = self.state.hosts.iter_mut();
        let hosts: Vec<u64> = hosts
            .filter(|(_, host)| host.slot == slot && host.awaits_checkpoint)
            .filter(|(_, host)| !host.needs_checkpoint())
            .map(|(hash, host)| {
                host.awaits_checkpoint = false;
                *hash
            })
            .collect();
        for host in hosts {
            self.schedule_host(host, Instant::now());
        }
    }
}

async fn send(
    coordinator: &Coordinator,
    checkpoint: &Checkpoint,
    is_held: impl Fn() -> bool,
) -> Result<CheckpointResult, Error> {
    loop {
        match coordinator.checkpoint_slot(checkpoint).await {
            Err(error) if error.is_transient() && is_held() => {
                let slot = checkpoint.fence.slot;
                tracing::warn!(slot, %error, "cannot send a checkpoint; retrying");
                tokio::time::sleep(SEND_AGAIN).await;
            }
            reply => return reply,
        }
    }
}

/// Packs a checkpoint's links and host states in a separate thread, because both may be large.
async fn packed(
    mut checkpoint: Checkpoint,
    links: HashMap<(i32, u8), OutgoingLinks>,
    changes: Vec<(i32, u64, StateChanges)>,
) -> Result<(Checkpoint, Vec<ChunkSize>), Error> {
    let packing = tokio::task::spawn_blocking(move || {
        let links = links.into_iter();
        let rows = links.flat_map(|((crawl, group), links)| links_rows(crawl, group, &links));
        checkpoint.links = rows.collect();
        let mut sizes = Vec::with_capacity(changes.len());
        for (crawl, host_hash, changes) in changes {
            let packed = changes.pack();
            let kind = packed.kind;
            let bytes = packed.bytes.len();
            sizes.push(ChunkSize { crawl, host_hash, kind, bytes });
            checkpoint.chunks.push(chunk_row(crawl, host_hash, packed));
        }
        (checkpoint, sizes)
    });
    packing.await.map_err(|error| Error::Unexpected(format!("cannot pack a checkpoint: {error}")))
}

fn chunk_row(crawl: i32, host_hash: u64, packed: Packed) -> ChunkRow {
    let number = |value: u64| i32::try_from(value).unwrap_or(i32::MAX);
    // A host that is due now gets the current time as its due time, so that hosts that have waited
    // longer come first.
    let at = |due_s: u64| DateTime::from_timestamp(i64::try_from(due_s).ok()?, 0);
    let at = |due_s: u64| at(due_s).filter(|_| due_s > 0).unwrap_or_else(Utc::now);
    let next_due = packed.next_due_s.map(at);
    ChunkRow {
        crawl,
        host_hash,
        seq: number(packed.generation),
        is_snapshot: packed.kind == ChunkKind::Snapshot,
        next_due,
        known: number(packed.known),
        pending: number(packed.pending),
        data: packed.bytes,
    }
}
