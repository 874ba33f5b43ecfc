//! Records results in Postgres: fetches once their archives are uploaded, and everything else with
//! the checkpoints of slots.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use chrono::{DateTime, Utc};
use everytab_coordinator::{
    Checkpoint, CheckpointAnswer, ChunkRow, Coordinator, Error, HostManners, SlotFence,
};
use everytab_frontier::{
    Answered, ChunkKind, Ending, HostState, Origin, Packed, SentLinks, StateChanges, Turn, UrlHash,
};

use crate::{
    archives::{ArchiveCommand, PutRecord},
    crawl::Crawl,
    holder::{
        asking::TROUBLE_PAUSE,
        parts::end_of_part,
        state::{AfterPut, ChunkSize, Event, Fetched, Holder, RobotsRecord},
    },
    known::SiteKey,
    metrics,
    outcomes::{NO_RECORD, outcomes_of},
    redirect_chain::{RecordedTogether, Uploaded},
    rows::{name_body, named_via},
    slot::{Taken, links_rows},
};

/// A slot's fetches are recorded at most this many times per `record_after`: every ten seconds.
const CHECKPOINTS_AN_ARCHIVE: u32 = 3;
/// If an upload takes longer than this many times `record_after` (2 x 30 s), its crawl sends no
/// requests.
const LATE_PUT: u32 = 2;
/// Maximum fetches per host and crawl that may wait for the upload of robots.txt, at some hundred
/// bytes each, before no more of its URLs are fetched.
const MAX_AWAITING_ROBOTS: usize = 1_000;
/// Pause before a checkpoint is sent again after a transient error.
const SEND_AGAIN: Duration = Duration::from_secs(1);

impl Holder {
    /// Applies a function to a host's state in a crawl. `None` if it is not loaded.
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

    /// Marks a host's state in a crawl as changed.
    pub(super) fn changed(&mut self, crawl: i32, host_hash: u64) {
        let Some(host) = self.state.hosts.get(&host_hash) else { return };
        if let Some(slot) = self.state.slots.get_mut(&host.slot) {
            slot.changed(crawl, host_hash);
        }
    }

    /// Puts a URL back as pending, as if it had not been taken.
    pub(super) fn put_back(&mut self, host_hash: u64, crawl: i32, turn: &Turn) {
        self.state_of(crawl, host_hash, |state| state.put_back(turn.hash));
    }

    /// Releases the page that was reserved for a request.
    pub(super) fn end_use(&mut self, fence: SlotFence, crawl: &Crawl, turn: &Turn) {
        let uses_page = crawl.is_limited && !turn.attributes.flags.is_no_page();
        if uses_page && let Some(slot) = self.state.slots.get_mut(&fence.slot) {
            slot.end_use(crawl.number);
        }
    }

    /// Returns a host's current delay in a crawl.
    pub(super) fn delay_of(&self, host_hash: u64, crawl: &Crawl) -> Duration {
        let delay = self.state.hosts.get(&host_hash).and_then(|host| {
            let turns = host.turns.as_ref()?;
            Some(turns.delay.delay(&self.delays_of(host, crawl)))
        });
        delay.unwrap_or_default()
    }

    /// Marks the URLs of a host's fetches as finished, in one checkpoint. Call this when their
    /// records are uploaded, or when they have none. Waits until the robots.txt records of their
    /// origins are uploaded, too, if those were fetched for this crawl.
    pub(super) fn record_fetches(&mut self, fetches: Vec<Fetched>) {
        let Some(first) = fetches.first() else { return };
        let (fence, crawl, host_hash) = (first.fence, first.row.crawl, first.row.host_hash);
        let host = self.state.hosts.get(&host_hash);
        let is_unput = |origin| host.is_some_and(|host| host.origins.is_unput(crawl, origin));
        let waits = fetches.iter().filter_map(|one| Origin::of(&one.row.url)).any(is_unput);
        if !waits || !self.holds(fence) {
            for fetched in fetches {
                self.answer(fetched);
            }
            return;
        }
        let is_urgent = |fetches: &Vec<Fetched>| fetches.iter().any(|fetched| fetched.is_urgent);
        let waiting = self.state.awaiting_robots.entry(host_hash).or_default();
        let is_first_urgent = is_urgent(&fetches) && !waiting.iter().any(is_urgent);
        waiting.push(fetches);
        if is_first_urgent {
            self.put_robots(crawl, fence.slot);
        }
    }

    /// Uploads the archive with the robots.txt of a slot's hosts in a crawl now.
    pub(super) fn put_robots(&mut self, crawl: i32, slot: i16) {
        if let Some((crawl, _)) = self.state.crawls.get(&crawl) {
            self.state.unwritten.push(ArchiveCommand::PutRobots(Arc::clone(crawl), slot));
        }
    }

    /// Returns whether so many of a host's fetches wait for its robots.txt in a crawl that no more
    /// URLs may be fetched there.
    pub(super) fn has_many_awaiting_robots(&self, host_hash: u64, crawl: i32) -> bool {
        let waiting = self.state.awaiting_robots.get(&host_hash).into_iter().flatten();
        let of_crawl = waiting.flatten().filter(|fetched| fetched.row.crawl == crawl);
        of_crawl.count() >= MAX_AWAITING_ROBOTS
    }

    /// Marks a URL as finished, and adds its fetch to the slot's changes.
    fn answer(&mut self, fetched: Fetched) {
        let Fetched { fence, mut row, ending, is_limited_page, is_urgent, links, turned_away } =
            fetched;
        let outcome = row.outcome.as_str();
        debug_assert!(outcomes_of(ending).contains(&outcome), "{ending:?}: {outcome}");
        if !self.holds(fence) {
            return;
        }
        let (crawl, hash) = (row.crawl, UrlHash(row.url_hash));
        let context = Arc::clone(&self.context);
        row.via = row.via.map(|via| {
            let has_answered = |hash| {
                self.state_of(crawl, row.host_hash, |state| state.has_answered(hash)) == Some(true)
            };
            named_via(via, row.host_hash, &context.parameters, has_answered)
        });
        let (host_hash, superseded) = (row.host_hash, self.superseded_by(&row));
        let answered = self.answer_in_state(crawl, host_hash, hash, (ending, &row.outcome));
        let held_slots = self.state.slots.len();
        let Some(slot) = self.state.slots.get_mut(&fence.slot) else { return };
        if is_limited_page {
            slot.end_use(crawl);
        }
        if answered == Some(Answered::Recorded) {
            slot.answered(row, ending, is_limited_page && ending == Ending::Captured);
            slot.found(crawl, &links, &turned_away, held_slots);
            slot.wants_checkpoint |= is_urgent;
            self.state.progress.answered(ending);
            if let Some(superseded) = superseded {
                self.end_superseded((host_hash, crawl), superseded);
            }
        }
    }

    /// Handles an uploaded record: records its fetch, or marks its robots.txt for storing. Returns
    /// the fence of its slot if that is held.
    pub(super) fn record_put(
        &mut self,
        record: PutRecord<AfterPut>,
        is_lost: bool,
    ) -> Option<SlotFence> {
        let PutRecord { told, object, position, body } = record;
        let fence = match &told {
            AfterPut::Fetch(fetched, _) => fetched.fence,
            AfterPut::Robots(robots) => robots.fence,
            AfterPut::Nothing(fence) => *fence,
        };
        if !self.holds(fence) {
            return None;
        }
        if let Some(slot) = self.state.slots.get_mut(&fence.slot) {
            slot.unput -= 1;
        }
        if is_lost {
            self.state.rests_until = Some(Instant::now() + TROUBLE_PAUSE);
        }
        match told {
            AfterPut::Nothing(_) => {}
            AfterPut::Robots(robots) => self.robots_put(&robots, is_lost),
            AfterPut::Fetch(mut fetched, together) => {
                if let Some(object) = object {
                    fetched.row.object = Some(object.to_string());
                    fetched.row.record_offset = i64::try_from(position.offset).ok();
                    fetched.row.record_length = i32::try_from(position.length).ok();
                    if let Some(body) = body {
                        name_body(&mut fetched.row, &body);
                    }
                } else {
                    fetched.ending = Ending::Failed;
                    fetched.row.outcome = NO_RECORD.to_owned();
                }
                self.fetch_put(*fetched, together, is_lost);
            }
        }
        Some(fence)
    }

    /// Handles a fetch whose record is uploaded or lost, or that has none.
    pub(super) fn fetch_put(
        &mut self,
        fetched: Fetched,
        together: RecordedTogether<Fetched>,
        is_lost: bool,
    ) {
        match together.add(fetched, is_lost) {
            Some(Uploaded { fetches, is_lost: true }) => self.ask_again(&fetches),
            Some(Uploaded { fetches, is_lost: false }) => self.record_fetches(fetches),
            None => {}
        }
    }

    /// Handles a robots.txt record that was uploaded, is lost, or cannot be written. The next
    /// checkpoint may store the robots.txt, and fetches that waited for it are recorded. If it is
    /// lost, those fetches are repeated after it.
    fn robots_put(&mut self, robots: &RobotsRecord, is_lost: bool) {
        let RobotsRecord { fence, host_hash, crawl, origin } = robots;
        if let Some(slot) = self.state.slots.get_mut(&fence.slot) {
            slot.host_changed(*host_hash);
        }
        let Some(host) = self.state.hosts.get_mut(host_hash) else { return };
        host.origins.record_ends(*crawl, *origin, is_lost);
        let waiting = self.state.awaiting_robots.remove(host_hash).unwrap_or_default();
        let waited_for_it = |Fetched { row, .. }: &Fetched| {
            row.crawl == *crawl && Origin::of(&row.url) == Some(*origin)
        };
        for fetches in waiting {
            match is_lost && fetches.iter().any(waited_for_it) {
                true => self.ask_again(&fetches),
                // Those that wait for another record continue to wait.
                false => self.record_fetches(fetches),
            }
        }
    }

    /// Finds the crawls whose uploads take too long. They send no requests.
    pub(super) fn look_for_late_puts(&mut self) {
        let patience = self.settings.record_after * LATE_PUT;
        let late = self.puts.late_crawls(patience, Instant::now());
        for crawl in late.difference(&self.state.late_crawls) {
            tracing::warn!(crawl, "its store takes no archive; asking for nothing of it meanwhile");
        }
        self.state.late_crawls = late;
    }

    /// Requests the URLs of fetches again.
    fn ask_again(&mut self, fetches: &[Fetched]) {
        for fetched in fetches {
            self.forget_fetch(fetched);
            self.queue(fetched.row.host_hash, Instant::now());
        }
    }

    /// Keeps the URL of a fetch pending.
    pub(super) fn forget_fetch(&mut self, fetched: &Fetched) {
        let (crawl, hash) = (fetched.row.crawl, UrlHash(fetched.row.url_hash));
        self.state_of(crawl, fetched.row.host_hash, |state| state.put_back(hash));
        if fetched.is_limited_page
            && let Some(slot) = self.state.slots.get_mut(&fetched.fence.slot)
        {
            slot.end_use(crawl);
        }
    }

    /// Uploads archives and sends checkpoints that are due: all of them if the scheduler is idle or
    /// stopping. Work that exceeds the time slice continues in the next iteration.
    pub(super) fn record(&mut self) {
        let is_idle = self.is_idle() || self.state.is_stopping;
        // An isolated slot fetches its next URL only once the last record is uploaded.
        let is_awaited = self.state.slots.values().any(|slot| slot.is_isolated() && slot.unput > 0);
        if (is_idle || is_awaited) && self.state.unwritten.is_empty() {
            self.archives.try_send(ArchiveCommand::PutAll).ok();
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
                    || slot.has_fetches_since(max_age / CHECKPOINTS_AN_ARCHIVE)
                    || (is_idle && slot.is_dirty())
                    || slot.wants_checkpoint
                    || (slot.is_isolated() && slot.has_fetches_since(Duration::ZERO))
                    || slot.is_to_prove_itself()
            })
            .map(|slot| slot.lease.fence)
            .collect();
        let until = end_of_part();
        let (mut sent, due) = (0, fences.len());
        for fence in fences {
            self.checkpoint(fence);
            sent += 1;
            if Instant::now() >= until {
                break;
            }
        }
        self.state.has_more_to_record = sent < due;
    }

    /// Sends a slot's checkpoint.
    fn checkpoint(&mut self, fence: SlotFence) {
        let Some(slot) = self.state.slots.get_mut(&fence.slot) else { return };
        slot.is_recording = true;
        slot.wants_checkpoint = false;
        slot.number += 1;
        let number = slot.number;
        let Taken { cursor, urgent_cursor, counts, fetches, links, changed, changed_hosts } =
            slot.take();
        let mut changes = Vec::with_capacity(changed.len());
        for (crawl, host_hash) in changed {
            let taken = self.changes_of(crawl, host_hash);
            changes.extend(taken.map(|taken| (crawl, host_hash, taken)));
        }
        let mut hosts: Vec<HostManners> = Vec::with_capacity(changed_hosts.len());
        for host_hash in changed_hosts {
            let Some(host) = self.state.hosts.get_mut(&host_hash) else { continue };
            // When a request in flight ends, it changes them again.
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

    /// Takes the changes to a host's state in a crawl. `None` if nothing changed.
    fn changes_of(&mut self, crawl: i32, host_hash: u64) -> Option<StateChanges> {
        let patience = self.state.crawls.get(&crawl).map(|(crawl, _)| self.patience_of(crawl))?;
        let host = self.state.hosts.get(&host_hash)?;
        let key = SiteKey { crawl, site_hash: host.site_hash };
        let state = self.state.sites.get_mut(&key)?.hosts.get_mut(&host_hash)?;
        state.take_changes(|origin| host.paused_until_s(origin, patience))
    }

    /// Handles the reply to a checkpoint with chunks of these sizes.
    pub(super) fn checkpointed(
        &mut self,
        fence: SlotFence,
        sizes: Vec<ChunkSize>,
        answer: Result<CheckpointAnswer, Error>,
    ) {
        if !self.holds(fence) {
            return;
        }
        for ChunkSize { crawl, host_hash, kind, bytes } in sizes {
            self.state_of(crawl, host_hash, |state| state.packed(kind, bytes));
        }
        match answer {
            Ok(CheckpointAnswer::Recorded { ended }) => {
                if let Some(slot) = self.state.slots.get_mut(&fence.slot) {
                    slot.is_recording = false;
                }
                for crawl in ended {
                    self.forget_crawl(crawl);
                }
                self.queue_awaiting(fence.slot);
            }
            Ok(CheckpointAnswer::Lost) => self.lose(&[fence]),
            Err(error) => {
                tracing::error!(slot = fence.slot, %error, "a checkpoint is refused");
                self.lose(&[fence]);
            }
        }
    }

    /// Schedules hosts of a slot that waited for a checkpoint.
    fn queue_awaiting(&mut self, slot: i16) {
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
            self.queue(host, Instant::now());
        }
    }
}

/// Sends a checkpoint until Postgres replies, or the lease is over.
async fn send(
    coordinator: &Coordinator,
    checkpoint: &Checkpoint,
    is_held: impl Fn() -> bool,
) -> Result<CheckpointAnswer, Error> {
    loop {
        match coordinator.checkpoint_slot(checkpoint).await {
            Err(error) if error.is_transient() && is_held() => {
                let slot = checkpoint.fence.slot;
                tracing::warn!(slot, %error, "a checkpoint is not answered; sending it again");
                tokio::time::sleep(SEND_AGAIN).await;
            }
            answer => return answer,
        }
    }
}

/// Packs the links and host states of a checkpoint in a separate thread, because both may be large.
async fn packed(
    mut checkpoint: Checkpoint,
    links: HashMap<(i32, u8), SentLinks>,
    changes: Vec<(i32, u64, StateChanges)>,
) -> Result<(Checkpoint, Vec<ChunkSize>), Error> {
    let packing = tokio::task::spawn_blocking(move || {
        let links = links.into_iter();
        let rows = links.flat_map(|((crawl, group), links)| links_rows(crawl, group, &links));
        checkpoint.links = rows.collect();
        let mut sizes = Vec::with_capacity(changes.len());
        for (crawl, host_hash, changes) in changes {
            let packed = changes.pack();
            let (kind, bytes) = (packed.kind, packed.bytes.len());
            sizes.push(ChunkSize { crawl, host_hash, kind, bytes });
            checkpoint.chunks.push(chunk_row(crawl, host_hash, packed));
        }
        (checkpoint, sizes)
    });
    packing.await.map_err(|error| Error::Unexpected(format!("packing: {error}")))
}

/// Returns a chunk's row.
fn chunk_row(crawl: i32, host_hash: u64, packed: Packed) -> ChunkRow {
    let number = |value: u64| i32::try_from(value).unwrap_or(i32::MAX);
    // A host that is due now gets the current time, so that those that waited longer come first.
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
