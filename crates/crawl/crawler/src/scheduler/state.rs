//! The scheduler's state, and the events that tasks send to it.

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    sync::Arc,
    time::{Duration, Instant},
    vec,
};

use everytab_coordinator::{
    CheckpointResult, Coordinator, DueHost, Error, FetchRow, SlotFence, SlotLease, SlotSums,
};
use everytab_crawl_start::FilterLists;
use everytab_fetcher::PageOptions;
use everytab_frontier::{
    ChunkKind, FinalState, Link, Origin, OutgoingLinks, PendingUrl, RejectCounts, UrlHash,
};
use tokio::sync::mpsc;

use crate::{
    archives::{ArchiveCommand, UploadedArchive, UploadedRecord, WarcRecord},
    crawl::{Crawl, ListedCrawls, OpenCrawls},
    fetch::{FetchContext, FetchOutput, FinishedFetch},
    host::{Host, Site, SiteKey},
    leases::{Leases, Renewed},
    load::{LinksRead, LoadedSite, PassKind, ReadLink, Readers},
    owner_limits::{OwnerLimits, RateGates},
    pending_uploads::PendingUploads,
    progress::Progress,
    redirect_chain::{ChainKey, RecordedTogether, RedirectChain},
    scheduler::host_queue::HostQueue,
    slot::LeasedSlot,
    stored_bodies::LastForgetTime,
    worker_settings::CrawlerSettings,
};

/// Maximum live workers for which calls that may be late keep their full rate.
const WORKERS_WITHOUT_BACKOFF: u32 = 40;
/// Maximum factor by which a large fleet stretches a call's interval.
const MAX_BACKOFF: u32 = 5;

pub(crate) struct UnrecordedFetch {
    pub fence: SlotFence,
    pub row: FetchRow,
    pub final_state: FinalState,
    pub is_limited_page: bool,
    pub is_urgent: bool,
    pub links: OutgoingLinks,
    pub rejected: RejectCounts,
}

pub(crate) struct ChainedFetch {
    pub record: Option<WarcRecord>,
    pub unrecorded: UnrecordedFetch,
}

impl ChainedFetch {
    pub(crate) fn memory_bytes(&self) -> usize {
        let heads = self.record.iter().map(|it| it.request_head.len() + it.response_head.len());
        size_of::<WarcRecord>() + size_of::<Self>() + heads.sum::<usize>()
    }
}

pub(crate) enum OnUploaded {
    /// Record the fetch, together with the other fetches of its redirect chain.
    Fetch(Box<UnrecordedFetch>, RecordedTogether<UnrecordedFetch>),
    /// Nothing. The URL was requested again in its redirect chain, so no row refers to this record.
    Nothing(SlotFence),
    Robots(RobotsRecord),
}

pub(crate) struct RobotsRecord {
    pub fence: SlotFence,
    pub host_hash: u64,
    pub crawl: i32,
    pub origin: Origin,
}

pub(crate) struct UnmergedOutput {
    pub fence: SlotFence,
    pub host_hash: u64,
    pub crawl: Arc<Crawl>,
    pub pending: PendingUrl,
    /// Its links are in `links`.
    pub output: FetchOutput,
    pub links: vec::IntoIter<Link>,
}

pub(crate) struct UploadedPart {
    pub crawl: i32,
    pub bytes: u64,
    pub is_lost: bool,
    pub records: vec::IntoIter<UploadedRecord<OnUploaded>>,
    /// The fence of the first slot in the archive that this worker still holds.
    pub first: Option<SlotFence>,
}

pub(crate) struct ChunkSize {
    pub crawl: i32,
    pub host_hash: u64,
    pub kind: ChunkKind,
    pub bytes: usize,
}

pub(crate) enum Event {
    Leased(Vec<SlotLease>, Vec<SlotSums>, Instant),
    Crawls(ListedCrawls, Instant),
    Due(Vec<DueHost>),
    LinksRead(LinksRead),
    SitesLoaded(Vec<(SlotFence, LoadedSite)>),
    FetchFinished(Box<FinishedFetch>),
    /// The slot's fence, the host, and the request's number.
    Panicked(SlotFence, u64, u64),
    /// The lease is no longer valid. The values are those of `Panicked`.
    Cancelled(SlotFence, u64, u64),
    Checkpointed(SlotFence, Vec<ChunkSize>, Result<CheckpointResult, Error>),
    Reserved(SlotFence, i32, Result<i64, Error>),
    Released,
    Dropped,
    /// A call to Postgres failed. It is made again after its interval.
    Failed(&'static str, Error),
}

pub(crate) struct Scheduler {
    pub settings: CrawlerSettings,
    pub lists: Arc<FilterLists>,
    pub coordinator: Coordinator,
    pub context: Arc<FetchContext>,
    pub options: Arc<PageOptions>,
    pub leases: Leases,
    pub archives: mpsc::Sender<ArchiveCommand<OnUploaded>>,
    pub uploaded: mpsc::UnboundedReceiver<UploadedArchive<OnUploaded>>,
    pub pending_uploads: PendingUploads,
    pub forgotten: LastForgetTime,
    pub renewed: mpsc::UnboundedReceiver<Renewed>,
    pub event_sender: mpsc::UnboundedSender<Event>,
    pub events: mpsc::UnboundedReceiver<Event>,
    pub state: State,
}

#[derive(Default)]
pub(crate) struct State {
    pub crawls: OpenCrawls,
    pub owner_limits: OwnerLimits,
    pub gates: RateGates,
    pub has_listed: bool,
    pub has_unreadable: bool,
    pub slots: HashMap<i16, LeasedSlot>,
    pub sites: HashMap<SiteKey, Site>,
    pub hosts: HashMap<u64, Host>,
    /// Redirect chains, by the URL that each requests next.
    pub chains: BTreeMap<ChainKey, RedirectChain<ChainedFetch>>,
    pub due: HostQueue,
    pub memory: Memory,
    pub requests: HashSet<u64>,
    pub last_request: u64,
    pub loading: HashSet<SiteKey>,
    pub urgent_pass: Option<Pass>,
    pub ordinary_pass: Option<Pass>,
    pub newer_pass: Option<Pass>,
    pub last_pass: u64,
    pub calls: Calls,
    /// Maximum slots for this worker. `None` before the first renewal.
    pub share: Option<usize>,
    pub live_workers: u32,
    pub is_stopping: bool,
    pub unmerged: VecDeque<UnmergedOutput>,
    pub uploaded_parts: VecDeque<UploadedPart>,
    pub loaded: VecDeque<(SlotFence, LoadedSite)>,
    pub has_more_to_record: bool,
    pub dispatch_until: Option<Instant>,
    /// Fetches by their host's hash, in lists that are recorded together. They wait because a crawl
    /// may end as soon as it has no pending URLs, and must then have the records of its robots.txt
    /// files.
    pub awaiting_robots: HashMap<u64, Vec<Vec<UnrecordedFetch>>>,
    pub unwritten: Vec<ArchiveCommand<OnUploaded>>,
    pub stalled_crawls: HashSet<i32>,
    pub progress: Progress,
    /// No requests are sent until this time, because this host's disk failed.
    pub paused_until_disk_recovers: Option<Instant>,
    pub judging: Judging,
}

/// Pending URLs to check in batches against their crawls' newest includes and excludes.
#[derive(Default)]
pub(crate) struct Judging {
    pub hosts: VecDeque<(i32, u64)>,
    pub current: Option<((i32, u64), Vec<UrlHash>)>,
    /// Whether the check waits until URLs that it has excluded are recorded.
    pub is_held: bool,
}

impl Calls {
    pub(crate) fn read_at(&mut self, kind: PassKind) -> &mut Option<Instant> {
        match kind {
            PassKind::Urgent => &mut self.urgent_read_at,
            PassKind::Ordinary => &mut self.read_at,
            PassKind::Newer => &mut self.newer_read_at,
        }
    }
}

impl State {
    /// Stretches `interval` in a large fleet by a factor of up to [`MAX_BACKOFF`]. Up to this
    /// factor, all workers together make as many calls as [`WORKERS_WITHOUT_BACKOFF`] workers. Use
    /// it only for calls that may be seconds late.
    pub(crate) fn interval_in_fleet(&self, interval: Duration) -> Duration {
        let times = f64::from(self.live_workers) / f64::from(WORKERS_WITHOUT_BACKOFF);
        interval.mul_f64(times.clamp(1.0, MAX_BACKOFF.into()))
    }

    pub(crate) fn pass(&mut self, kind: PassKind) -> &mut Option<Pass> {
        match kind {
            PassKind::Urgent => &mut self.urgent_pass,
            PassKind::Ordinary => &mut self.ordinary_pass,
            PassKind::Newer => &mut self.newer_pass,
        }
    }

    pub(crate) fn end_passes(&mut self) {
        PassKind::ALL.into_iter().for_each(|kind| *self.pass(kind) = None);
    }
}

#[derive(Default)]
pub(crate) struct Calls {
    pub is_leasing: bool,
    pub leased_at: Option<Instant>,
    pub is_listing: bool,
    pub listed_at: Option<Instant>,
    pub is_listing_due: bool,
    pub due_listed_at: Option<Instant>,
    pub is_releasing: bool,
    pub read_at: Option<Instant>,
    pub urgent_read_at: Option<Instant>,
    pub newer_read_at: Option<Instant>,
    pub dropped_at: Option<Instant>,
    pub measured_at: Option<Instant>,
}

#[derive(Default)]
pub(crate) struct Memory {
    /// Bytes of the loaded sites and redirect chains.
    pub bytes: usize,
    pub checked_at: Option<Instant>,
    pub trimmed_at: Option<Instant>,
    /// Memory that the first waiting host needs. 0 if no host waits.
    pub awaited_bytes: usize,
    /// Unused hosts are dropped only if more hosts than this are loaded.
    pub eviction_threshold: usize,
}

pub(crate) struct Pass {
    pub number: u64,
    pub readers: Readers,
    pub began_at: Instant,
    /// The position at which the pass ends.
    pub ceiling: String,
    /// The position up to which newer passes have read.
    pub newer_ceiling: Option<String>,
    /// The position of the last row that was read. `None` if no rows are left to read.
    pub more_after: Option<String>,
    pub waiting: VecDeque<ReadLink>,
    /// Whether to continue with these links in the loop's next iteration.
    pub has_more: bool,
    pub unloaded: VecDeque<ReadLink>,
    pub missing: HashSet<SiteKey>,
    /// When the current batch was read, if it names a crawl that is not listed, because this crawl
    /// is new or has ended.
    pub unlisted_at: Option<Instant>,
    pub is_stalled: bool,
    /// Merged links by slot and crawl, including those from newer passes that have finished.
    pub read: HashMap<i16, HashMap<i32, i64>>,
}

impl Pass {
    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty() || !self.unloaded.is_empty()
    }

    pub(crate) fn is_done(&self) -> bool {
        !self.has_waiting() && self.more_after.is_none()
    }

    pub(crate) fn requeue_waiting(&mut self) {
        self.is_stalled = false;
        self.missing.clear();
        let mut waiting = std::mem::take(&mut self.unloaded);
        waiting.append(&mut self.waiting);
        self.waiting = waiting;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_fleet_calls_as_often_as_a_small_one_up_to_a_bound() {
        let milliseconds = |live_workers| {
            let state = State { live_workers, ..State::default() };
            state.interval_in_fleet(Duration::from_secs(1)).as_millis()
        };
        assert_eq!(
            [0, 1, 40, 80, 200, 5_000].map(milliseconds),
            [1_000, 1_000, 1_000, 2_000, 5_000, 5_000]
        );
    }
}
