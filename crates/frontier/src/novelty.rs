//! What the pages of a host said, and whether another page says something new.
//!
//! Pages are compared by hashes of their lines. What a page said is kept from when its URL is
//! answered, so a URL that is asked again after a death is not taken for its own repetition. Does
//! not depend on how a page is read, or on what follows from its news.

use std::collections::{HashMap, HashSet};

use crate::{canonical::UrlHash, seen_hashes::SeenHashes, shape_counts::Owed};

/// How many pages that repeat others a page of new lines makes up for: shapes of which one page in
/// five is of that kind stay open.
const MAX_GAIN: u32 = 4;

/// A page with fewer new lines makes up for one, and for one more with each such part of its lines:
/// the days of a calendar have one new line now and then.
const LINES_PER_GAIN: usize = 20;

/// A page says something new if one in so many of its lines is new, or a long one is.
const LINES_PER_NEW_LINE: usize = 64;

/// A page also says something new if one in so many of its lines has a new number, and at least
/// [`MIN_NEW_NUMBERS`]: a table. A page that is otherwise the same has a clock or a counter.
const LINES_PER_NEW_NUMBER: usize = 8;

/// Least number of new lines with numbers that are no clocks and counters.
const MIN_NEW_NUMBERS: usize = 4;

/// New lines of a page that are remembered: enough that what all pages of a site repeat is known
/// after some of them, and a page costs 22 bytes of the log.
const LINES_PER_PAGE: usize = 8;

/// Pages whose hashes a set has: those of most sites, so that a session does not show them twice.
const PAGES_PER_SET: usize = 4_096;
/// Bits of the hash of a page: of 10,000 different ones, 5 are taken for another.
const PAGE_BITS: u32 = 24;

/// Lines whose hashes a set has, for pages that have the same lines in another order or number.
const LINES_PER_SET: usize = 2_048;
/// Bits of the hash of a line: of 250 new ones, one is taken for another.
const LINE_BITS: u32 = 20;

/// The bit of a line's hash that is set where only its numbers may be new.
const OF_NUMBERS: u32 = 1;

/// The bit that is set of a long line, such as a sentence: a page with a new one says something
/// new, however much of its template is on it.
const LONG: u32 = 2;

/// An odd number whose products have high bits that depend on all bits of a factor.
const SPREAD: u32 = 0x9e37_79b1;

/// What pages of a host said.
#[derive(Debug, Clone)]
pub(crate) struct Novelty {
    /// Hashes of pages.
    pub(crate) pages: SeenHashes,
    /// Hashes of lines.
    pub(crate) lines: SeenHashes,
    /// What the pages said that are fetched and not answered.
    unanswered: HashMap<UrlHash, Said>,
    unanswered_pages: HashSet<u32>,
    unanswered_lines: HashSet<u32>,
}

/// What was new on a page.
#[derive(Debug, Clone, Default)]
struct Said {
    page: Option<u32>,
    lines: Vec<u32>,
    owed: Vec<Owed>,
}

impl Default for Novelty {
    fn default() -> Self {
        Self {
            pages: SeenHashes::new(PAGES_PER_SET),
            lines: SeenHashes::new(LINES_PER_SET),
            unanswered: HashMap::new(),
            unanswered_pages: HashSet::new(),
            unanswered_lines: HashSet::new(),
        }
    }
}

/// Two are equal if chunks have the same of them.
impl PartialEq for Novelty {
    fn eq(&self, other: &Self) -> bool {
        self.pages == other.pages && self.lines == other.lines
    }
}

impl Novelty {
    /// Returns true if it is noted what a page says that is not answered.
    pub(crate) fn is_noted(&self, url: UrlHash) -> bool {
        self.unanswered.contains_key(&url)
    }

    /// Notes what a page says. Returns for how many others it makes up, `None` if it repeats them.
    pub(crate) fn note(&mut self, url: UrlHash, lines: &[u32]) -> Option<u32> {
        let page = hash_of_page(lines);
        if self.pages.contains(page) || self.unanswered_pages.contains(&page) {
            self.unanswered.insert(url, Said::default());
            return None;
        }
        // The lowest hashes are what a caller has of a long page; a product spreads them again.
        let short = lines.iter().map(|line| line.wrapping_mul(SPREAD) >> (u32::BITS - LINE_BITS));
        let is_new =
            |line: &u32| !self.lines.contains(*line) && !self.unanswered_lines.contains(line);
        let new = short.zip(lines).filter(|(short, _)| is_new(short));
        let (numbers, words): (Vec<_>, Vec<_>) = new.partition(|(_, line)| **line & OF_NUMBERS > 0);
        let has_long = words.iter().any(|(_, line)| **line & LONG > 0);
        let gain = gain_of((words.len(), has_long), numbers.len(), lines.len());
        let mut new: Vec<u32> = words.into_iter().chain(numbers).map(|(short, _)| short).collect();
        new.sort_unstable();
        new.dedup();
        new.truncate(LINES_PER_PAGE);
        self.unanswered_pages.insert(page);
        self.unanswered_lines.extend(&new);
        self.unanswered.insert(url, Said { page: Some(page), lines: new, owed: Vec::new() });
        gain
    }

    /// Notes what a page that was noted added to what its shapes owe.
    pub(crate) fn note_owed(&mut self, url: UrlHash, owed: Vec<Owed>) {
        if let Some(said) = self.unanswered.get_mut(&url) {
            said.owed = owed;
        }
    }

    /// Keeps what a page said, whose URL is answered. Returns what it added to what its shapes owe.
    pub(crate) fn answered(&mut self, url: UrlHash) -> Vec<Owed> {
        let Some(said) = self.unanswered.remove(&url) else { return Vec::new() };
        if let Some(page) = said.page {
            self.unanswered_pages.remove(&page);
            self.pages.insert(page);
        }
        for line in said.lines {
            self.unanswered_lines.remove(&line);
            self.lines.insert(line);
        }
        said.owed
    }

    /// Notes that a chunk has all that is kept.
    pub(crate) fn packed(&mut self) {
        self.pages.packed();
        self.lines.packed();
    }

    /// Returns about how many bytes of memory it takes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let page = size_of::<(UrlHash, Said)>() + (LINES_PER_PAGE + 1) * 2 * size_of::<u32>();
        self.pages.memory_bytes() + self.lines.memory_bytes() + 2 * page * self.unanswered.len()
    }
}

/// Returns for how many others a page makes up that has so many new lines, and new lines with
/// numbers, of all its lines; `None` if it repeats others.
fn gain_of((words, has_long): (usize, bool), numbers: usize, lines: usize) -> Option<u32> {
    if has_long || words > 0 && words * LINES_PER_NEW_LINE >= lines {
        let more = words * LINES_PER_GAIN / lines.max(1);
        return Some(u32::try_from(more).map_or(MAX_GAIN, |more| MAX_GAIN.min(more + 1)));
    }
    let is_table = numbers >= MIN_NEW_NUMBERS && numbers * LINES_PER_NEW_NUMBER >= lines;
    is_table.then_some(1)
}

fn hash_of_page(lines: &[u32]) -> u32 {
    // FNV-1a, of numbers instead of bytes.
    let hash = lines.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, line| {
        (hash ^ u64::from(*line)).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29)
    });
    (hash.wrapping_mul(u64::from(SPREAD)) >> (u64::BITS - PAGE_BITS)) as u32
}
