//! The state of the scheduler, and the events that tasks send to it.
//!
//! Does not depend on how events are handled.

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    sync::Arc,
    time::{Duration, Instant},
    vec,
};

use everytab_coordinator::{
    CheckpointAnswer, Coordinator, DueHost, Error, FetchRow, SlotFence, SlotLease, SlotSums,
};
use everytab_fetcher::PageOptions;
use everytab_frontier::{
    ChunkKind, Ending, Link, Origin, SentLinks, Turn, TurnedAwayCounts, UrlHash,
};
use tokio::sync::mpsc;

use crate::{
    archives::{ArchiveCommand, PutArchive, PutRecord, Record},
    crawl::{Crawl, ListedCrawls, OpenCrawls},
    filters::load::FilterLists,
    holder::due::DueHosts,
    known::{Host, Site, SiteKey},
    leases::{Leases, Renewed},
    load::{LinksRead, LoadedSite, PassKind, ReadLink, Readers},
    progress::Progress,
    puts_under_way::PutsUnderWay,
    redirect_chain::{ChainKey, RecordedTogether, RedirectChain},
    slot::HeldSlot,
    stored_bodies::LastForgotten,
    tenants::{Gates, Tenants},
    visit::{Answer, VisitContext, Visited},
    worker_settings::CrawlerSettings,
};

/// Number of workers up to which calls that may be late are made at the full rate.
const WORKERS_WITHOUT_BACKOFF: u32 = 40;
/// Maximum factor by which a large fleet stretches the interval of a call.
const MAX_BACKOFF: u32 = 5;

/// A fetch that is recorded once its WARC record is uploaded.
pub(crate) struct Fetched {
    /// The fence of the slot.
    pub fence: SlotFence,
    /// The row.
    pub row: FetchRow,
    /// The URL's final state.
    pub ending: Ending,
    /// Whether it counts against the page limit of its crawl.
    pub is_limited_page: bool,
    /// Whether a client is waiting for this URL.
    pub is_urgent: bool,
    /// Links to other hosts.
    pub links: SentLinks,
    /// Links that are not followed.
    pub turned_away: TurnedAwayCounts,
}

/// A fetch that waits for the end of its redirect chain.
pub(crate) struct ChainedFetch {
    /// Its WARC record, which is not written yet. `None` if it has none.
    pub record: Option<Record>,
    /// The fetch to record.
    pub fetched: Fetched,
}

impl ChainedFetch {
    /// Returns the memory that it takes, in bytes. A redirect has no body.
    pub(crate) fn memory_bytes(&self) -> usize {
        let heads = self.record.iter().map(|it| it.request_head.len() + it.response_head.len());
        size_of::<Record>() + size_of::<Self>() + heads.sum::<usize>()
    }
}

/// What to do once a WARC record is uploaded.
pub(crate) enum AfterPut {
    /// Record the fetch, together with the others of its redirect chain.
    Fetch(Box<Fetched>, RecordedTogether<Fetched>),
    /// Nothing: no row names the record, because the URL was requested again in its redirect chain.
    Nothing(SlotFence),
    /// Store the origin's robots.txt with its host.
    Robots(RobotsRecord),
}

/// Identifies a robots.txt record.
pub(crate) struct RobotsRecord {
    /// The fence of the slot.
    pub fence: SlotFence,
    /// Hash of the hostname.
    pub host_hash: u64,
    /// The crawl for which it was fetched.
    pub crawl: i32,
    /// The origin.
    pub origin: Origin,
}

/// A fetched page or sitemap whose links are merged in batches.
pub(crate) struct Unmerged {
    /// The fence of the slot.
    pub fence: SlotFence,
    /// Hash of the hostname.
    pub host_hash: u64,
    /// The crawl.
    pub crawl: Arc<Crawl>,
    /// The pending URL.
    pub turn: Turn,
    /// The fetch output, without these links.
    pub answer: Answer,
    /// The links that are not merged yet.
    pub links: vec::IntoIter<Link>,
}

/// An uploaded archive, with its records that are not recorded in Postgres yet.
pub(crate) struct PutPart {
    /// The crawl.
    pub crawl: i32,
    /// Size of the archive in bytes.
    pub bytes: u64,
    /// Whether the archive is lost, so that its URLs are fetched again.
    pub is_lost: bool,
    /// The records.
    pub records: vec::IntoIter<PutRecord<AfterPut>>,
    /// The fence of the first slot in the archive that this worker still holds.
    pub first: Option<SlotFence>,
}

/// The size of a packed chunk.
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
    Visited(Box<Visited>),
    /// The task of a request panicked: the slot's fence, the host, and the number of the request.
    Panicked(SlotFence, u64, u64),
    /// A request was cancelled because the lease is no longer valid: the slot's fence, the host,
    /// and the number of the request.
    Invalid(SlotFence, u64, u64),
    Checkpointed(SlotFence, Vec<ChunkSize>, Result<CheckpointAnswer, Error>),
    Reserved(SlotFence, i32, Result<i64, Error>),
    Released,
    Dropped,
    /// A call to Postgres failed. It is repeated at its next interval.
    Failed(&'static str, Error),
}

/// The scheduler: holds slots and decides which URL to fetch next.
pub(crate) struct Holder {
    pub settings: CrawlerSettings,
    pub lists: Arc<FilterLists>,
    pub coordinator: Coordinator,
    pub context: Arc<VisitContext>,
    pub options: Arc<PageOptions>,
    pub leases: Leases,
    pub archives: mpsc::Sender<ArchiveCommand<AfterPut>>,
    pub put: mpsc::UnboundedReceiver<PutArchive<AfterPut>>,
    pub puts: PutsUnderWay,
    pub forgotten: LastForgotten,
    pub renewed: mpsc::UnboundedReceiver<Renewed>,
    pub tell: mpsc::UnboundedSender<Event>,
    pub events: mpsc::UnboundedReceiver<Event>,
    pub state: State,
}

/// The state of the scheduler.
#[derive(Default)]
pub(crate) struct State {
    pub crawls: OpenCrawls,
    /// Rates, minimum delays and robots overrides of the crawls and their owners.
    pub tenants: Tenants,
    /// When each crawl and owner may send its next request.
    pub gates: Gates,
    /// Whether the crawls have been listed at least once.
    pub has_listed: bool,
    /// Whether an open crawl has settings that this program cannot read.
    pub has_unreadable: bool,
    pub slots: HashMap<i16, HeldSlot>,
    pub sites: HashMap<SiteKey, Site>,
    pub hosts: HashMap<u64, Host>,
    /// Redirect chains, by the URL that each requests next.
    pub chains: BTreeMap<ChainKey, RedirectChain<ChainedFetch>>,
    pub due: DueHosts,
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
    pub unmerged: VecDeque<Unmerged>,
    /// Uploaded archives whose records are not all recorded.
    pub put_parts: VecDeque<PutPart>,
    /// Sites that were loaded but are not installed yet.
    pub loaded: VecDeque<(SlotFence, LoadedSite)>,
    /// Whether checkpoints are due for which the last time slice was too short.
    pub has_more_to_record: bool,
    /// When the time slice for starting fetches ends, in this iteration of the loop.
    pub asking_until: Option<Instant>,
    /// Fetches that wait until their host's robots.txt is uploaded, by the hash of the host. Those
    /// in one list are recorded together. A crawl without pending URLs must have the record of each
    /// robots.txt that was fetched for it.
    pub awaiting_robots: HashMap<u64, Vec<Vec<Fetched>>>,
    /// Commands for which the archive task has no room yet.
    pub unwritten: Vec<ArchiveCommand<AfterPut>>,
    /// Crawls whose store has not accepted an archive for too long.
    pub late_crawls: HashSet<i32>,
    /// Counts for the next progress line in the log.
    pub progress: Progress,
    /// Until then no requests are sent, because the disk of this host failed.
    pub rests_until: Option<Instant>,
    /// Pending URLs to check against changed includes and excludes.
    pub judging: Judging,
}

/// Pending URLs that are checked in batches against the newest includes and excludes of their
/// crawls.
#[derive(Default)]
pub(crate) struct Judging {
    /// Crawls and hosts of which no URL has been checked yet.
    pub hosts: VecDeque<(i32, u64)>,
    /// The crawl and host in progress, with the URLs that are not checked yet.
    pub current: Option<((i32, u64), Vec<UrlHash>)>,
    /// Whether checking waits until more of the excluded URLs are recorded.
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
    /// [`WORKERS_WITHOUT_BACKOFF`] would. Use it only for calls that may be seconds late.
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

/// Calls to Postgres that are in flight, and when each was last made.
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
    /// Bytes of the loaded sites.
    pub bytes: usize,
    /// When memory was last checked.
    pub looked_at: Option<Instant>,
    /// When freed memory was last returned to the system.
    pub given_back_at: Option<Instant>,
    /// Memory in bytes for which the first of the due hosts waits. 0 if none waits.
    pub awaited_bytes: usize,
    /// Unused hosts are not dropped while at most this many are loaded.
    pub hosts_kept: usize,
}

/// A pass over the links that some slots have not read.
pub(crate) struct Pass {
    /// Its number in this process.
    pub number: u64,
    pub readers: Readers,
    /// When it began.
    pub began_at: Instant,
    /// The position at which the pass ends.
    pub ceiling: String,
    /// The position up to which newer passes have read since.
    pub newer_ceiling: Option<String>,
    /// The position of the last row that was read. `None` if no rows are left to read.
    pub more_after: Option<String>,
    /// Links in the current batch that are not merged yet, with their slots and crawls.
    pub waiting: VecDeque<ReadLink>,
    /// Whether to continue with them in the next iteration of the loop.
    pub has_more: bool,
    /// Links whose sites are being loaded, and these sites.
    pub unloaded: VecDeque<ReadLink>,
    pub missing: HashSet<SiteKey>,
    /// When the current batch was read, if it has links of crawls that are not listed. Those crawls
    /// are new or have ended; the next list tells which.
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

    /// Requeues links that waited for their sites, or for memory to load these.
    pub(crate) fn look_again(&mut self) {
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
    fn a_large_fleet_calls_no_more_often_than_a_small_one_up_to_a_bound() {
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
