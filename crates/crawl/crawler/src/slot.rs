//! A slot's work since its last checkpoint.
//!
//! Invariant: a checkpoint's sums, chunks and cursors are consistent. If the sums count a URL as
//! finished, the chunks do, too.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    time::{Duration, Instant},
};

use everytab_coordinator::{CrawlCounts, FetchRow, LinkCursors, LinkLane, LinksRow, SlotLease};
use everytab_frontier::{FinalState, Merged, OutgoingLinks, PackedLinks, RejectCounts, UrlHash};
use serde_json::{Map, Value};

/// Maximum links that all slots of a worker together remember, so that each link is recorded once.
/// A link takes up to 34 bytes. A link beyond the limit may be recorded again, and its slot then
/// ignores it.
const MAX_REMEMBERED_LINKS: usize = 2_000_000;
/// Time after which a slot with deaths may end its probation although URLs are pending.
const PROBATION: Duration = Duration::from_secs(10);
/// If changes have been unrecorded for longer than this, the slot's hosts get no more requests.
const MAX_UNRECORDED: Duration = Duration::from_secs(90);
/// How long an isolated slot fetches one URL at a time, as in `sweep_slots.sql`.
const ISOLATION: Duration = Duration::from_secs(10 * 60);
/// If a crawl gets no page from its limit, the host's other crawls go first for this long.
const SHORT_OF_PAGES: Duration = Duration::from_secs(10);
/// Slots per group. A row of links is for one group.
const GROUP: u8 = 16;

#[derive(Default)]
struct Sums {
    counts: CrawlCounts,
    failed: BTreeMap<String, u64>,
    refused: BTreeMap<String, u64>,
    left: BTreeMap<String, u64>,
    links_refused: RejectCounts,
}

impl Sums {
    fn take(self, crawl: i32) -> CrawlCounts {
        let object = |counts: BTreeMap<String, u64>| {
            let counts = counts.into_iter().map(|(word, count)| (word, Value::from(count)));
            Value::Object(counts.collect::<Map<_, _>>())
        };
        let links = self.links_refused.iter().filter(|(_, count)| *count > 0);
        let links = links.map(|(reason, count)| (reason.as_str().to_owned(), count)).collect();
        CrawlCounts {
            crawl,
            failed: object(self.failed),
            refused: object(self.refused),
            left: object(self.left),
            links_refused: object(links),
            ..self.counts
        }
    }
}

/// The URL that an isolated slot may fetch. A checkpoint records it first, so that the next holder
/// knows it if this holder dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IsolatedUrl {
    pub crawl: i32,
    pub host_hash: u64,
    pub hash: UrlHash,
    /// Number of the first checkpoint that records the URL.
    pub checkpoint: i64,
}

pub(crate) struct LeasedSlot {
    /// The cursors are those up to which links are merged.
    pub lease: SlotLease,
    pub number: i64,
    pub is_recording: bool,
    pub is_leaving: bool,
    pub in_flight: usize,
    pub merging: usize,
    pub pending_uploads: usize,
    pub isolated_url: Option<IsolatedUrl>,
    pub wants_checkpoint: bool,
    pub since: Option<Instant>,
    pub pending: HashMap<i32, i64>,
    pub reserved: HashMap<i32, i64>,
    pub in_use: HashMap<i32, i64>,
    /// Crawls for which the last reservation returned no page, and when it did so.
    pub out_of_budget: HashMap<i32, Instant>,
    pub reserving: HashSet<i32>,
    pub changed: HashSet<(i32, u64)>,
    pub changed_hosts: HashSet<u64>,
    sums: HashMap<i32, Sums>,
    fetches: Vec<FetchRow>,
    links: HashMap<(i32, u8), OutgoingLinks>,
    remembered: HashSet<(i32, UrlHash)>,
    recorded_cursors: LinkCursors,
    leased_at: Instant,
    taken_at: Instant,
    has_read: bool,
}

impl LeasedSlot {
    pub(crate) fn new(lease: SlotLease) -> Self {
        let recorded_cursors = lease.cursors.clone();
        Self {
            lease,
            number: 0,
            is_recording: false,
            is_leaving: false,
            in_flight: 0,
            merging: 0,
            pending_uploads: 0,
            isolated_url: None,
            wants_checkpoint: false,
            since: None,
            pending: HashMap::new(),
            reserved: HashMap::new(),
            out_of_budget: HashMap::new(),
            in_use: HashMap::new(),
            reserving: HashSet::new(),
            changed: HashSet::new(),
            changed_hosts: HashSet::new(),
            sums: HashMap::new(),
            fetches: Vec::new(),
            links: HashMap::new(),
            remembered: HashSet::new(),
            recorded_cursors,
            leased_at: Instant::now(),
            taken_at: Instant::now(),
            has_read: false,
        }
    }

    pub(crate) fn touch(&mut self) {
        self.since.get_or_insert_with(Instant::now);
    }

    /// The change does not affect the sums.
    pub(crate) fn changed(&mut self, crawl: i32, host: u64) {
        self.changed.insert((crawl, host));
        self.touch();
    }

    pub(crate) fn merged(&mut self, crawl: i32, host: u64, merged: &Merged) {
        let new = i64::try_from(merged.new).unwrap_or_default();
        *self.pending.entry(crawl).or_default() += new;
        let sums = self.sums.entry(crawl).or_default();
        sums.counts.known += new;
        sums.counts.pending += new;
        sums.links_refused.add(&merged.rejected);
        if merged.new > 0 {
            self.changed.insert((crawl, host));
        }
        self.touch();
    }

    pub(crate) fn finished(&mut self, row: FetchRow, final_state: FinalState, uses_page: bool) {
        let crawl = row.crawl;
        self.changed.insert((crawl, row.host_hash));
        *self.pending.entry(crawl).or_default() -= 1;
        let sums = self.sums.entry(crawl).or_default();
        sums.counts.pending -= 1;
        match final_state {
            FinalState::Captured => sums.counts.captured += 1,
            FinalState::Failed => *sums.failed.entry(row.outcome.clone()).or_default() += 1,
            FinalState::Refused => *sums.refused.entry(row.outcome.clone()).or_default() += 1,
            FinalState::Left => *sums.left.entry(row.outcome.clone()).or_default() += 1,
        }
        if uses_page {
            sums.counts.pages += 1;
            *self.reserved.entry(crawl).or_default() -= 1;
        }
        self.fetches.push(row);
        self.touch();
    }

    pub(crate) fn unrecorded(&self) -> usize {
        self.fetches.len()
    }

    /// `read` counts the merged links by crawl.
    pub(crate) fn read(&mut self, lane: LinkLane, cursor: &str, read: &HashMap<i32, i64>) {
        self.has_read |= lane == LinkLane::Ordinary;
        cursor.clone_into(lane.cursor(&mut self.lease.cursors));
        for (crawl, number) in read {
            self.sums.entry(*crawl).or_default().counts.read += number;
            self.touch();
        }
    }

    pub(crate) fn stored(&mut self, crawl: i32, bytes: u64) {
        let bytes = i64::try_from(bytes).unwrap_or_default();
        self.sums.entry(crawl).or_default().counts.stored_bytes += bytes;
        self.touch();
    }

    pub(crate) fn found(
        &mut self,
        crawl: i32,
        links: &OutgoingLinks,
        rejected: &RejectCounts,
        held_slots: usize,
    ) {
        let sums = self.sums.entry(crawl).or_default();
        sums.links_refused.add(rejected);
        if self.remembered.len() > MAX_REMEMBERED_LINKS / held_slots.max(1) {
            self.remembered = HashSet::new();
        }
        for link in links.iter() {
            if self.remembered.insert((crawl, link.hash)) {
                sums.counts.sent += 1;
                self.links.entry((crawl, link.slot / GROUP)).or_default().push(link);
            }
        }
        self.touch();
    }

    pub(crate) fn request_ended(&mut self, host_hash: u64) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.host_changed(host_hash);
    }

    pub(crate) fn host_changed(&mut self, host_hash: u64) {
        self.changed_hosts.insert(host_hash);
        self.touch();
    }

    /// Returns false if no page is free.
    pub(crate) fn use_page(&mut self, crawl: i32) -> bool {
        let reserved = self.reserved.get(&crawl).copied().unwrap_or_default();
        let in_use = self.in_use.entry(crawl).or_default();
        let is_free = *in_use < reserved;
        *in_use += i64::from(is_free);
        is_free
    }

    pub(crate) fn is_out_of_pages(&self, crawl: i32) -> bool {
        let reserved = self.reserved.get(&crawl).copied().unwrap_or_default();
        reserved <= 0 && self.out_of_budget.contains_key(&crawl)
    }

    /// If this is true, the host's other crawls go first.
    pub(crate) fn is_short_of_pages(&self, crawl: i32) -> bool {
        let of = |pages: &HashMap<i32, i64>| pages.get(&crawl).copied().unwrap_or_default();
        let is_told = |at: &Instant| at.elapsed() < SHORT_OF_PAGES;
        of(&self.reserved) <= of(&self.in_use)
            && (self.reserving.contains(&crawl)
                || self.out_of_budget.get(&crawl).is_some_and(is_told))
    }

    pub(crate) fn release_page(&mut self, crawl: i32) {
        if let Some(in_use) = self.in_use.get_mut(&crawl) {
            *in_use -= 1;
        }
    }

    pub(crate) fn forget(&mut self, crawl: i32) {
        self.sums.remove(&crawl);
        self.isolated_url.take_if(|url| url.crawl == crawl);
        self.fetches.retain(|row| row.crawl != crawl);
        self.links.retain(|(of, _), _| *of != crawl);
        self.changed.retain(|(of, _)| *of != crawl);
        self.remembered.retain(|(of, _)| *of != crawl);
        self.out_of_budget.remove(&crawl);
        for by_crawl in [&mut self.pending, &mut self.reserved, &mut self.in_use] {
            by_crawl.remove(&crawl);
        }
    }

    fn release_spare_pages(&mut self) {
        for (crawl, reserved) in &mut self.reserved {
            let pending = self.pending.get(crawl).copied().unwrap_or_default();
            let spare = (*reserved - pending).max(0);
            if spare > 0 {
                *reserved -= spare;
                self.sums.entry(*crawl).or_default().counts.given_back += spare;
                self.since.get_or_insert_with(Instant::now);
            }
        }
    }

    /// Returns true if a checkpoint should end the slot's probation. Until then the slot's deaths
    /// count, and Postgres grants its holder fewer slots.
    pub(crate) fn needs_probation_checkpoint(&self) -> bool {
        let is_quiet = self.is_quiet();
        let has_pending = self.pending.values().any(|pending| *pending > 0);
        let is_proved = !has_pending || self.leased_at.elapsed() > PROBATION;
        self.lease.deaths > 0 && self.number == 0 && is_quiet && self.has_read && is_proved
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.in_flight + self.merging + self.pending_uploads == 0
    }

    /// Returns true if the slot's URLs are fetched one at a time, each recorded as in progress
    /// first.
    pub(crate) fn is_isolated(&self) -> bool {
        self.lease.is_isolated && self.leased_at.elapsed() < ISOLATION
    }

    pub(crate) fn recorded_url(&self) -> Option<IsolatedUrl> {
        let recorded = self.number - i64::from(self.is_recording);
        self.isolated_url.filter(|url| url.checkpoint <= recorded)
    }

    pub(crate) fn has_fetches_since(&self, pause: Duration) -> bool {
        !self.fetches.is_empty() && self.taken_at.elapsed() >= pause
    }

    pub(crate) fn is_checkpoint_overdue(&self) -> bool {
        self.since.is_some_and(|since| since.elapsed() > MAX_UNRECORDED)
    }

    pub(crate) fn is_dirty(&self) -> bool {
        self.since.is_some()
    }

    /// The cursors are `None` if they have not advanced.
    pub(crate) fn take(&mut self) -> SlotChanges {
        self.release_spare_pages();
        (self.since, self.taken_at) = (None, Instant::now());
        let has_moved = self.lease.cursors != self.recorded_cursors;
        self.recorded_cursors = self.lease.cursors.clone();
        for (crawl, _) in &self.changed {
            self.sums.entry(*crawl).or_default();
        }
        let counts = std::mem::take(&mut self.sums);
        let links = std::mem::take(&mut self.links);
        SlotChanges {
            cursor: has_moved.then(|| self.lease.cursors.ordinary.clone()),
            urgent_cursor: has_moved.then(|| self.lease.cursors.urgent.clone()),
            counts: counts.into_iter().map(|(crawl, sums)| sums.take(crawl)).collect(),
            fetches: std::mem::take(&mut self.fetches),
            links,
            changed: std::mem::take(&mut self.changed),
            changed_hosts: std::mem::take(&mut self.changed_hosts),
        }
    }
}

pub(crate) struct SlotChanges {
    pub cursor: Option<String>,
    pub urgent_cursor: Option<String>,
    pub counts: Vec<CrawlCounts>,
    pub fetches: Vec<FetchRow>,
    /// By crawl and group of slots.
    pub links: HashMap<(i32, u8), OutgoingLinks>,
    pub changed: HashSet<(i32, u64)>,
    pub changed_hosts: HashSet<u64>,
}

pub(crate) fn links_rows(crawl: i32, group: u8, links: &OutgoingLinks) -> Vec<LinksRow> {
    let row = |PackedLinks { slots, amount, bytes: data }| {
        let slot_mask = slots.iter().fold(0, |mask, slot| mask | (1 << (slot % GROUP)));
        let amount = i32::try_from(amount).unwrap_or(i32::MAX);
        LinksRow { crawl, slot_group: i16::from(group), slot_mask, is_urgent: false, amount, data }
    };
    links.pack().into_iter().map(row).collect()
}
