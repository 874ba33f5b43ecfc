//! The scheduler's state, and the events that tasks send to it.
//!
//! This module does not depend on how events are handled.

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

/// Up to this number of workers, calls that may be late are made at the full rate.
const WORKERS_WITHOUT_BACKOFF: u32 = 40;
/// Maximum factor by which a large fleet stretches a call's interval.
const MAX_BACKOFF: u32 = 5;

/// A fetch that is recorded once its WARC record is uploaded.
pub(crate) struct UnrecordedFetch {
    /// The fence of the slot.
    pub fence: SlotFence,
    /// The fetch's row.
    pub row: FetchRow,
    /// The URL's final state.
    pub final_state: FinalState,
    /// Whether the fetch counts against its crawl's page limit.
    pub is_limited_page: bool,
    /// Whether a client is waiting for this URL.
    pub is_urgent: bool,
    /// Links to other hosts.
    pub links: OutgoingLinks,
    /// Rejected links, counted by reason.
    pub rejected: RejectCounts,
}

/// A fetch that waits until its redirect chain ends.
pub(crate) struct ChainedFetch {
    /// The WARC record, which is not written yet. `None` if the fetch has none.
    pub record: Option<WarcRecord>,
    /// The fetch to record.
    pub unrecorded: UnrecordedFetch,
}

impl ChainedFetch {
    /// Returns the memory of this fetch, in bytes. A redirect has no body.
    pub(crate) fn memory_bytes(&self) -> usize {
        let heads = self.record.iter().map(|it| it.request_head.len() + it.response_head.len());
        size_of::<WarcRecord>() + size_of::<Self>() + heads.sum::<usize>()
    }
}

/// The action to take once a WARC record is uploaded.
pub(crate) enum OnUploaded {
    /// Record the fetch, together with the other fetches of its redirect chain.
    Fetch(Box<UnrecordedFetch>, RecordedTogether<UnrecordedFetch>),
    /// Nothing. No row refers to the record, because the URL was requested again in its redirect
    /// chain.
    Nothing(SlotFence),
    /// Store the origin's robots.txt in the host's row.
    Robots(RobotsRecord),
}

/// Identifies a robots.txt record.
pub(crate) struct RobotsRecord {
    /// The fence of the slot.
    pub fence: SlotFence,
    /// Hash of the hostname.
    pub host_hash: u64,
    /// The crawl for which the robots.txt was fetched.
    pub crawl: i32,
    /// The origin.
    pub origin: Origin,
}

/// A fetched page or sitemap whose links are merged in batches.
pub(crate) struct UnmergedOutput {
    /// The fence of the slot.
    pub fence: SlotFence,
    /// Hash of the hostname.
    pub host_hash: u64,
    /// The crawl.
    pub crawl: Arc<Crawl>,
    /// The pending URL.
    pub pending: PendingUrl,
    /// The fetch output, without the links in `links`.
    pub output: FetchOutput,
    /// The links that are not merged yet.
    pub links: vec::IntoIter<Link>,
}

/// An uploaded archive, with its records that are not recorded in Postgres yet.
pub(crate) struct UploadedPart {
    /// The crawl.
    pub crawl: i32,
    /// The archive's size in bytes.
    pub bytes: u64,
    /// Whether the archive is lost, so its URLs are fetched again.
    pub is_lost: bool,
    /// The records.
    pub records: vec::IntoIter<UploadedRecord<OnUploaded>>,
    /// The fence of the first slot in the archive that this worker still holds.
    pub first: Option<SlotFence>,
}

/// A packed chunk's size.
pub(crate) struct ChunkSize {
    pub crawl: i32,
    pub host_hash: u64,
    pub kind: ChunkKind,
    pub bytes: usize,
}

/// An event that a task sends to the scheduler.
pub(crate) enum Event {
    Leased(Vec<SlotLease>, Vec<SlotSums>, Instant),
    Crawls(ListedCrawls, Instant),
    Due(Vec<DueHost>),
    LinksRead(LinksRead),
    SitesLoaded(Vec<(SlotFence, LoadedSite)>),
    FetchFinished(Box<FinishedFetch>),
    /// The task of a request panicked: the slot's fence, the host, and the number of the request.
    Panicked(SlotFence, u64, u64),
    /// A request was cancelled because the lease is no longer valid: the slot's fence, the host,
    /// and the number of the request.
    Cancelled(SlotFence, u64, u64),
    Checkpointed(SlotFence, Vec<ChunkSize>, Result<CheckpointResult, Error>),
    Reserved(SlotFence, i32, Result<i64, Error>),
    Released,
    Dropped,
    /// A call to Postgres failed. It is made again after its interval.
    Failed(&'static str, Error),
}

/// The scheduler: holds slots and decides which URL to fetch next.
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

/// The scheduler's state.
#[derive(Default)]
pub(crate) struct State {
    pub crawls: OpenCrawls,
    /// Rates, minimum delays and robots overrides for crawls and their owners.
    pub owner_limits: OwnerLimits,
    /// When each crawl and owner may send its next request.
    pub gates: RateGates,
    /// Whether the crawls have been listed at least once.
    pub has_listed: bool,
    /// Whether an open crawl has settings that this program cannot read.
    pub has_unreadable: bool,
    pub slots: HashMap<i16, LeasedSlot>,
    pub sites: HashMap<SiteKey, Site>,
    pub hosts: HashMap<u64, Host>,
    /// Redirect chains, by the URL that each requests next.
    pub chains: BTreeMap<ChainKey, RedirectChain<ChainedFetch>>,
    pub due: HostQueue,
    pub memory: Memory,
    /// Numbers of the requests in flight.
    pub requests: HashSet<u64>,
    pub last_request: u64,
    pub loading: HashSet<SiteKey>,
    /// The passes in progress, at most one per kind.
    pub urgent_pass: Option<Pass>,
    pub ordinary_pass: Option<Pass>,
    pub newer_pass: Option<Pass>,
    pub last_pass: u64,
    pub calls: Calls,
    /// Maximum slots for this worker. `None` before the first renewal.
    pub share: Option<usize>,
    /// Live workers, as of the last renewal.
    pub live_workers: u32,
    pub is_stopping: bool,
    /// Fetched pages and sitemaps whose links are merged in batches.
    pub unmerged: VecDeque<UnmergedOutput>,
    /// Uploaded archives whose records are not all recorded.
    pub uploaded_parts: VecDeque<UploadedPart>,
    /// Loaded sites that are not installed yet.
    pub loaded: VecDeque<(SlotFence, LoadedSite)>,
    /// Whether some due checkpoints did not fit into the last time slice.
    pub has_more_to_record: bool,
    /// The end of this iteration's time slice for starting fetches.
    pub dispatch_until: Option<Instant>,
    /// Fetches that wait until their host's robots.txt is uploaded, by the host's hash. The fetches
    /// in one list are recorded together. They wait because a crawl may end as soon as it has no
    /// pending URLs, and it must then have a record of each robots.txt that was fetched for it.
    pub awaiting_robots: HashMap<u64, Vec<Vec<UnrecordedFetch>>>,
    /// Commands for which the archive task's queue has no room yet.
    pub unwritten: Vec<ArchiveCommand<OnUploaded>>,
    /// Crawls with an upload that their store has not accepted for too long.
    pub stalled_crawls: HashSet<i32>,
    /// Counts for the next progress line in the log.
    pub progress: Progress,
    /// No requests are sent until this time, because this host's disk failed.
    pub paused_until_disk_recovers: Option<Instant>,
    /// Pending URLs to check against changed includes and excludes.
    pub judging: Judging,
}

/// Pending URLs to check in batches against their crawls' newest includes and excludes.
#[derive(Default)]
pub(crate) struct Judging {
    /// Crawls and hosts whose URLs have not been checked yet.
    pub hosts: VecDeque<(i32, u64)>,
    /// The crawl and host in progress, with their unchecked URLs.
    pub current: Option<((i32, u64), Vec<UrlHash>)>,
    /// Whether the check waits until URLs that it has excluded are recorded.
    pub is_held: bool,
}

impl Calls {
    /// Returns when the last pass of this kind started.
    pub(crate) fn read_at(&mut self, kind: PassKind) -> &mut Option<Instant> {
        match kind {
            PassKind::Urgent => &mut self.urgent_read_at,
            PassKind::Ordinary => &mut self.read_at,
            PassKind::Newer => &mut self.newer_read_at,
        }
    }
}

impl State {
    /// Stretches `interval` in a large fleet, so that all workers together make as many calls as
    /// [`WORKERS_WITHOUT_BACKOFF`] would. The factor is at most [`MAX_BACKOFF`]. Use it only for
    /// calls that may be seconds late.
    pub(crate) fn interval_in_fleet(&self, interval: Duration) -> Duration {
        let times = f64::from(self.live_workers) / f64::from(WORKERS_WITHOUT_BACKOFF);
        interval.mul_f64(times.clamp(1.0, MAX_BACKOFF.into()))
    }

    /// Returns the pass of this kind.
    pub(crate) fn pass(&mut self, kind: PassKind) -> &mut Option<Pass> {
        match kind {
            PassKind::Urgent => &mut self.urgent_pass,
            PassKind::Ordinary => &mut self.ordinary_pass,
            PassKind::Newer => &mut self.newer_pass,
        }
    }

    /// Drops all passes. Their links are read again.
    pub(crate) fn end_passes(&mut self) {
        PassKind::ALL.into_iter().for_each(|kind| *self.pass(kind) = None);
    }
}

/// Calls to Postgres in flight, and when each was last made.
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

/// The memory for host state.
#[derive(Default)]
pub(crate) struct Memory {
    /// Memory for the loaded sites and redirect chains, in bytes.
    pub bytes: usize,
    /// When memory was last checked.
    pub checked_at: Option<Instant>,
    /// When freed memory was last returned to the system.
    pub trimmed_at: Option<Instant>,
    /// Memory that the first waiting host needs, in bytes. 0 if no host waits.
    pub awaited_bytes: usize,
    /// Unused hosts are dropped only if more hosts than this are loaded.
    pub eviction_threshold: usize,
}

/// A pass over the links that some slots have not read.
pub(crate) struct Pass {
    /// The pass's number in this process.
    pub number: u64,
    pub readers: Readers,
    /// When the pass began.
    pub began_at: Instant,
    /// The position at which the pass ends.
    pub ceiling: String,
    /// The position up to which newer passes have read.
    pub newer_ceiling: Option<String>,
    /// The position of the last row that was read. `None` if no rows are left to read.
    pub more_after: Option<String>,
    /// Links in the current batch that are not merged yet, with their slots and crawls.
    pub waiting: VecDeque<ReadLink>,
    /// Whether to continue with these links in the loop's next iteration.
    pub has_more: bool,
    /// Links whose sites are being loaded, and these sites.
    pub unloaded: VecDeque<ReadLink>,
    pub missing: HashSet<SiteKey>,
    /// When the current batch was read. `None` if all crawls of its links are listed. A crawl that
    /// is not listed is new or has ended, and the next list shows which.
    pub unlisted_at: Option<Instant>,
    /// Whether the pass waits for memory.
    pub is_stalled: bool,
    /// Merged links by slot and crawl, including those from newer passes that have finished.
    pub read: HashMap<i16, HashMap<i32, i64>>,
}

impl Pass {
    /// Returns whether links in the current batch are not merged yet.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty() || !self.unloaded.is_empty()
    }

    /// Returns whether all links of the pass are merged and no rows are left to read.
    pub(crate) fn is_done(&self) -> bool {
        !self.has_waiting() && self.more_after.is_none()
    }

    /// Requeues links that waited until their sites were loaded, or until there was memory for
    /// their sites.
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
