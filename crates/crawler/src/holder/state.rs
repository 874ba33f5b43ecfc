//! What the holder knows, and what tasks tell it.
//!
//! Must not know: what follows from it.

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
    redirect_chain::{ChainKey, RedirectChain},
    slot::HeldSlot,
    stored_bodies::LastForgotten,
    tenants::{Gates, Tenants},
    visit::{Answer, VisitContext, Visited},
    worker_settings::CrawlerSettings,
};

/// How many workers make calls that may be late as often as a worker that is alone.
const WORKERS_WITHOUT_BACKOFF: u32 = 40;
/// How many times the interval of a worker that is alone one of a large fleet waits at most.
const MAX_BACKOFF: u32 = 5;

/// What a fetch will be recorded as, once its record is put.
pub(crate) struct Fetched {
    /// The fence of the slot.
    pub fence: SlotFence,
    /// The row.
    pub row: FetchRow,
    /// How the URL ended.
    pub ending: Ending,
    /// Whether it takes a page of a limited crawl.
    pub is_limited_page: bool,
    /// Whether somebody waits for it.
    pub is_urgent: bool,
    /// Links to other hosts.
    pub links: SentLinks,
    /// Links that are not followed.
    pub turned_away: TurnedAwayCounts,
}

/// A fetch that waits for the end of its chain of redirects.
pub(crate) struct ChainedFetch {
    /// Its record, which is not written yet. `None` if it leaves none.
    pub record: Option<Record>,
    /// What it will be recorded as.
    pub fetched: Fetched,
}

/// What follows when a record is put.
pub(crate) enum AfterPut {
    /// A fetch is recorded.
    Fetch(Box<Fetched>),
    /// No row names it: the URL was requested again in its chain of redirects.
    Nothing(SlotFence),
    /// The robots.txt of a host's origin may be kept.
    Robots(RobotsRecord),
}

/// The record of a robots.txt.
pub(crate) struct RobotsRecord {
    /// The fence of the slot.
    pub fence: SlotFence,
    /// Hash of the hostname.
    pub host_hash: u64,
    /// The crawl for which it was asked.
    pub crawl: i32,
    /// The origin.
    pub origin: Origin,
}

/// An answer whose links are merged in parts.
pub(crate) struct Unmerged {
    /// The fence of the slot.
    pub fence: SlotFence,
    /// Hash of the hostname.
    pub host_hash: u64,
    /// The crawl.
    pub crawl: Arc<Crawl>,
    /// The URL.
    pub turn: Turn,
    /// The answer, without these links.
    pub answer: Answer,
    /// The links that are not merged.
    pub links: vec::IntoIter<Link>,
}

/// The records of an archive that was put, as far as they are not recorded.
pub(crate) struct PutPart {
    /// The crawl.
    pub crawl: i32,
    /// Size of the archive.
    pub bytes: u64,
    /// Whether it is lost, and its URLs are asked again.
    pub is_lost: bool,
    /// The records.
    pub records: vec::IntoIter<PutRecord<AfterPut>>,
    /// The fence of the first slot of the archive that is held.
    pub first: Option<SlotFence>,
}

/// The size of a chunk that was packed.
pub(crate) struct ChunkSize {
    pub crawl: i32,
    pub host_hash: u64,
    pub kind: ChunkKind,
    pub bytes: usize,
}

/// What tasks tell the holder.
pub(crate) enum Event {
    Leased(Vec<SlotLease>, Vec<SlotSums>, Instant),
    Crawls(ListedCrawls, Instant),
    Due(Vec<DueHost>),
    LinksRead(LinksRead),
    SitesLoaded(Vec<(SlotFence, LoadedSite)>),
    Visited(Box<Visited>),
    /// The request with this number to a host of a slot ended its task by a panic.
    Panicked(SlotFence, u64, u64),
    /// The request with this number to a host of a slot was given up: the lease is not valid.
    Invalid(SlotFence, u64, u64),
    Checkpointed(SlotFence, Vec<ChunkSize>, Result<CheckpointAnswer, Error>),
    Reserved(SlotFence, i32, Result<i64, Error>),
    Released,
    Dropped,
    /// A call did not succeed; it is made again in its time.
    Failed(&'static str, Error),
}

/// The holder.
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

/// What the holder knows.
#[derive(Default)]
pub(crate) struct State {
    pub crawls: OpenCrawls,
    /// What limits the crawls and their owners.
    pub tenants: Tenants,
    /// When each of them may ask again.
    pub gates: Gates,
    /// Whether the crawls were listed.
    pub has_listed: bool,
    /// Whether a crawl is open that this program cannot read.
    pub has_unreadable: bool,
    pub slots: HashMap<i16, HeldSlot>,
    pub sites: HashMap<SiteKey, Site>,
    pub hosts: HashMap<u64, Host>,
    /// Chains of redirects, by the URL that each requests next.
    pub chains: BTreeMap<ChainKey, RedirectChain<ChainedFetch>>,
    pub due: DueHosts,
    pub memory: Memory,
    /// Requests under way, by their numbers.
    pub requests: HashSet<u64>,
    pub last_request: u64,
    pub loading: HashSet<SiteKey>,
    /// Passes over links.
    pub urgent_pass: Option<Pass>,
    pub ordinary_pass: Option<Pass>,
    pub newer_pass: Option<Pass>,
    pub last_pass: u64,
    pub calls: Calls,
    /// How many slots this worker may hold, if it was told.
    pub share: Option<usize>,
    /// Number of workers that crawl, as far as it was told.
    pub live_workers: u32,
    pub is_stopping: bool,
    /// Answers with so many links that these are merged in parts.
    pub unmerged: VecDeque<Unmerged>,
    /// Archives whose records are not all recorded.
    pub put_parts: VecDeque<PutPart>,
    /// Sites that were loaded and are to be taken up.
    pub loaded: VecDeque<(SlotFence, LoadedSite)>,
    /// Whether checkpoints are due that the last part had no time for.
    pub has_more_to_record: bool,
    /// When the part of this turn in which hosts are asked is over.
    pub asking_until: Option<Instant>,
    /// Fetches, by the hash of their host, that are recorded when the host's robots.txt is put: a
    /// crawl that has asked for all its URLs has the record of each robots.txt that was asked for
    /// it.
    pub awaiting_robots: HashMap<u64, Vec<Fetched>>,
    /// Records that the task that writes has no room for yet.
    pub unwritten: Vec<ArchiveCommand<AfterPut>>,
    /// Crawls whose store has not taken an archive for too long.
    pub late_crawls: HashSet<i32>,
    /// What the next line of the log says.
    pub progress: Progress,
    /// Nothing is asked before this time: the disk of this machine failed.
    pub rests_until: Option<Instant>,
    /// What is pending and judged by other includes and excludes than before.
    pub judging: Judging,
}

/// Pending URLs that are judged by the newest includes and excludes of their crawls, some at a
/// time.
#[derive(Default)]
pub(crate) struct Judging {
    /// Hosts of crawls of which nothing is judged yet.
    pub hosts: VecDeque<(i32, u64)>,
    /// The host that is being judged, and its URLs that are not judged yet.
    pub current: Option<((i32, u64), Vec<UrlHash>)>,
    /// Whether judging waits until more of what was left is recorded.
    pub is_held: bool,
}

impl Calls {
    /// When the last pass of a kind began.
    pub(crate) fn read_at(&mut self, kind: PassKind) -> &mut Option<Instant> {
        match kind {
            PassKind::Urgent => &mut self.urgent_read_at,
            PassKind::Ordinary => &mut self.read_at,
            PassKind::Newer => &mut self.newer_read_at,
        }
    }
}

impl State {
    /// How often this worker makes a call that may be late by seconds, and that a worker that is
    /// alone makes each `interval`: a large fleet makes together as many as
    /// [`WORKERS_WITHOUT_BACKOFF`] workers.
    pub(crate) fn interval_in_fleet(&self, interval: Duration) -> Duration {
        let times = f64::from(self.live_workers) / f64::from(WORKERS_WITHOUT_BACKOFF);
        interval.mul_f64(times.clamp(1.0, MAX_BACKOFF.into()))
    }

    /// The pass of a kind.
    pub(crate) fn pass(&mut self, kind: PassKind) -> &mut Option<Pass> {
        match kind {
            PassKind::Urgent => &mut self.urgent_pass,
            PassKind::Ordinary => &mut self.ordinary_pass,
            PassKind::Newer => &mut self.newer_pass,
        }
    }

    /// Gives all passes up: what they have read is read again.
    pub(crate) fn end_passes(&mut self) {
        PassKind::ALL.into_iter().for_each(|kind| *self.pass(kind) = None);
    }
}

/// Which calls are under way, and when they were made last.
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

/// How much memory is used by what is known of hosts.
#[derive(Default)]
pub(crate) struct Memory {
    /// Bytes of the sites that are loaded.
    pub bytes: usize,
    /// When it was last looked at.
    pub looked_at: Option<Instant>,
    /// When what was freed was last given back to the system.
    pub given_back_at: Option<Instant>,
    /// Whether hosts that are due wait for room.
    pub is_awaited: bool,
    /// Hosts below which it is not looked for those that may leave.
    pub hosts_kept: usize,
}

/// A pass over the links that some slots have not read.
pub(crate) struct Pass {
    /// Its number in this process.
    pub number: u64,
    pub readers: Readers,
    /// When it began.
    pub began_at: Instant,
    /// How far it goes.
    pub ceiling: String,
    /// How far newer passes have read after it.
    pub newer_ceiling: Option<String>,
    /// The position of the last row of the parts so far, where more are to be read.
    pub more_after: Option<String>,
    /// Links of the part under way, with their slots and crawls.
    pub waiting: VecDeque<ReadLink>,
    /// Whether they are to be looked at in the next turn of the loop.
    pub has_more: bool,
    /// Links whose sites are being loaded, and these sites.
    pub unloaded: VecDeque<ReadLink>,
    pub missing: HashSet<SiteKey>,
    /// When the part under way was read, if it has links of crawls that are not listed: they are
    /// new, or have ended, which a later list tells.
    pub unlisted_at: Option<Instant>,
    /// Whether it waits for memory.
    pub is_stalled: bool,
    /// Links that were merged, by slot and crawl, those of newer passes that have ended too.
    pub read: HashMap<i16, HashMap<i32, i64>>,
}

impl Pass {
    /// Whether links of the part under way are not merged.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty() || !self.unloaded.is_empty()
    }

    /// Whether all links of the pass are merged, once its last part was read.
    pub(crate) fn is_done(&self) -> bool {
        !self.has_waiting() && self.more_after.is_none()
    }

    /// Has links looked at again that waited for their sites, or for memory to load these.
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
