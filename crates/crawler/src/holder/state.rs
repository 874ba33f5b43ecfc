//! What the holder knows, and what tasks tell it.
//!
//! Must not know: what follows from it.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap, HashSet, VecDeque},
    sync::Arc,
    time::Instant,
};

use everytab_coordinator::{
    CheckpointAnswer, Coordinator, DueHost, Error, FetchRow, SlotFence, SlotLease, SlotSums,
};
use everytab_fetcher::PageOptions;
use everytab_frontier::{Ending, Link, TurnedAwayCounts};
use tokio::sync::mpsc;

use crate::{
    archives::{ArchiveCommand, PutArchive},
    crawl::{ListedCrawls, OpenCrawls},
    known::{Host, Site, SiteKey},
    leases::{Leases, Renewed},
    load::{Lane, LinksRead, LoadedSite, Readers},
    slot::HeldSlot,
    visit::{VisitContext, Visited},
    worker_settings::CrawlerSettings,
};

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
    pub links: Vec<(u8, Link)>,
    /// Links that are not followed.
    pub turned_away: TurnedAwayCounts,
}

/// What tasks tell the holder.
pub(crate) enum Event {
    Leased(Vec<SlotLease>, Vec<SlotSums>, Instant),
    Crawls(ListedCrawls, Instant),
    Due(Vec<DueHost>),
    LinksRead(LinksRead),
    SitesLoaded(Vec<(SlotFence, LoadedSite)>),
    Visited(Box<Visited>),
    Checkpointed(SlotFence, Result<CheckpointAnswer, Error>),
    Reserved(SlotFence, i32, i64),
    Released,
    Dropped,
    /// A call did not succeed; it is made again in its time.
    Failed(&'static str, Error),
}

/// The holder.
pub(crate) struct Holder {
    pub settings: CrawlerSettings,
    pub coordinator: Coordinator,
    pub context: Arc<VisitContext>,
    pub options: Arc<PageOptions>,
    pub leases: Leases,
    pub archives: mpsc::Sender<ArchiveCommand<Fetched>>,
    pub put: mpsc::UnboundedReceiver<PutArchive<Fetched>>,
    pub renewed: mpsc::UnboundedReceiver<Renewed>,
    pub tell: mpsc::UnboundedSender<Event>,
    pub events: mpsc::UnboundedReceiver<Event>,
    pub state: State,
}

/// What the holder knows.
#[derive(Default)]
pub(crate) struct State {
    pub crawls: OpenCrawls,
    /// Whether the crawls were listed.
    pub has_listed: bool,
    /// Whether a crawl is open that this program cannot read.
    pub has_unreadable: bool,
    pub slots: HashMap<i16, HeldSlot>,
    pub sites: HashMap<SiteKey, Site>,
    pub hosts: HashMap<u64, Host>,
    pub due: DueHosts,
    /// Requests under way, by their numbers.
    pub requests: HashSet<u64>,
    pub last_request: u64,
    pub loading: HashSet<SiteKey>,
    /// Passes over links: of the urgent ones, and of the others.
    pub urgent_pass: Option<Pass>,
    pub ordinary_pass: Option<Pass>,
    pub last_pass: u64,
    pub calls: Calls,
    /// How many slots this worker may hold, if it was told.
    pub share: Option<usize>,
    pub is_stopping: bool,
    /// Records that the task that writes has no room for yet.
    pub unwritten: Vec<ArchiveCommand<Fetched>>,
}

impl State {
    /// The pass over the links of a lane.
    pub(crate) fn pass(&mut self, lane: Lane) -> &mut Option<Pass> {
        match lane {
            Lane::Urgent => &mut self.urgent_pass,
            Lane::Ordinary => &mut self.ordinary_pass,
        }
    }
}

/// Hosts by the time at which they are to be looked at. Where more are due than can be asked, those
/// of which somebody waits for a URL come first.
#[derive(Default)]
pub(crate) struct DueHosts {
    urgent: BinaryHeap<Reverse<(Instant, u64)>>,
    ordinary: BinaryHeap<Reverse<(Instant, u64)>>,
}

impl DueHosts {
    pub(crate) fn push(&mut self, is_urgent: bool, at: Instant, host_hash: u64) {
        let heap = if is_urgent { &mut self.urgent } else { &mut self.ordinary };
        heap.push(Reverse((at, host_hash)));
    }

    /// When the first host is to be looked at.
    pub(crate) fn next_at(&self) -> Option<Instant> {
        let first = |heap: &BinaryHeap<Reverse<(Instant, u64)>>| Some(heap.peek()?.0.0);
        match (first(&self.urgent), first(&self.ordinary)) {
            (Some(urgent), Some(ordinary)) => Some(urgent.min(ordinary)),
            (one, other) => one.or(other),
        }
    }

    /// Takes a host whose time has come, with that time.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<(Instant, u64)> {
        for heap in [&mut self.urgent, &mut self.ordinary] {
            if heap.peek().is_some_and(|Reverse((at, _))| *at <= now) {
                return heap.pop().map(|Reverse(due)| due);
            }
        }
        None
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
    pub dropped_at: Option<Instant>,
    pub evicted_at: Option<Instant>,
    pub measured_at: Option<Instant>,
}

/// A pass over the links that some slots have not read.
pub(crate) struct Pass {
    /// Its number in this process.
    pub number: u64,
    pub readers: Readers,
    /// How far it goes.
    pub ceiling: String,
    /// The last row of the parts so far, where more are to be read.
    pub more_after: Option<i64>,
    /// Links of the part under way: their slot, crawl and site wait to be loaded.
    pub waiting: VecDeque<(SlotFence, i32, Link)>,
    /// When the part under way was read, if it has links of crawls that are not listed: they are
    /// new, or have ended, which a later list tells.
    pub unlisted_at: Option<Instant>,
    /// Links that were merged, by slot and crawl.
    pub read: HashMap<i16, HashMap<i32, i64>>,
}
