//! Remembers a host's page content as line hashes, and decides whether another page has new
//! content.
//!
//! Content is stored only when its URL is finished. Otherwise, a URL that is fetched again would
//! count as a repetition of itself.

use std::collections::{HashMap, HashSet};

use crate::{canonical::UrlHash, seen_hashes::SeenHashes, shape_counts::Owed};

/// Maximum repetitive pages that one page with new content offsets.
const MAX_GAIN: u32 = 4;

/// A page with new lines offsets one repetitive page, and one more for each twentieth of its lines
/// that is new.
const LINES_PER_GAIN: usize = 20;

/// A page has new content if at least one in this many lines is new, or if a new line is long.
const LINES_PER_NEW_LINE: usize = 64;

/// A page also has new content if at least one in this many lines has a new number, because it is a
/// table.
const LINES_PER_NEW_NUMBER: usize = 8;

/// Minimum lines with new numbers. Fewer are clocks and counters.
const MIN_NEW_NUMBERS: usize = 4;

/// Maximum new lines to remember per page. Lines beyond this limit may count as new again.
const LINES_PER_PAGE: usize = 8;

/// Page hashes per set. Most sites have fewer pages.
const PAGES_PER_SET: usize = 4_096;
/// Bits in a page hash. Among 10,000 pages, about 5 are mistaken for an earlier one.
const PAGE_BITS: u32 = 24;

/// Line hashes per set.
const LINES_PER_SET: usize = 2_048;
/// Bits in a line hash. Among 250 new lines, about one is mistaken for a known line.
const LINE_BITS: u32 = 20;

/// Flag in a line hash: only the numbers in the line can be new.
const OF_NUMBERS: u32 = 1;

/// Flag in a line hash: the line is long, so that it makes a page new.
const LONG: u32 = 2;

/// An odd multiplier. All bits of the other factor affect the product's high bits.
const SPREAD: u32 = 0x9e37_79b1;

#[derive(Debug, Clone)]
pub(crate) struct Novelty {
    pub(crate) pages: SeenHashes,
    pub(crate) lines: SeenHashes,
    unfinished: HashMap<UrlHash, Said>,
    unfinished_pages: HashSet<u32>,
    unfinished_lines: HashSet<u32>,
}

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
            unfinished: HashMap::new(),
            unfinished_pages: HashSet::new(),
            unfinished_lines: HashSet::new(),
        }
    }
}

/// Two values are equal if chunks would store the same content for them.
impl PartialEq for Novelty {
    fn eq(&self, other: &Self) -> bool {
        self.pages == other.pages && self.lines == other.lines
    }
}

impl Novelty {
    pub(crate) fn is_noted(&self, url: UrlHash) -> bool {
        self.unfinished.contains_key(&url)
    }

    /// Adds a page. Returns how many repetitive pages this one offsets, or `None` if it is
    /// repetitive itself.
    pub(crate) fn note(&mut self, url: UrlHash, lines: &[u32]) -> Option<u32> {
        let page = hash_of_page(lines);
        if self.pages.contains(page) || self.unfinished_pages.contains(&page) {
            self.unfinished.insert(url, Said::default());
            return None;
        }
        // The caller passes only a long page's lowest hashes. This multiplication makes them
        // uniform again.
        let short = lines.iter().map(|line| line.wrapping_mul(SPREAD) >> (u32::BITS - LINE_BITS));
        let is_new =
            |line: &u32| !self.lines.contains(*line) && !self.unfinished_lines.contains(line);
        let new = short.zip(lines).filter(|(short, _)| is_new(short));
        let (numbers, words): (Vec<_>, Vec<_>) = new.partition(|(_, line)| **line & OF_NUMBERS > 0);
        let has_long = words.iter().any(|(_, line)| **line & LONG > 0);
        let gain = gain_of((words.len(), has_long), numbers.len(), lines.len());
        let mut new: Vec<u32> = words.into_iter().chain(numbers).map(|(short, _)| short).collect();
        new.sort_unstable();
        new.dedup();
        new.truncate(LINES_PER_PAGE);
        self.unfinished_pages.insert(page);
        self.unfinished_lines.extend(&new);
        self.unfinished.insert(url, Said { page: Some(page), lines: new, owed: Vec::new() });
        gain
    }

    pub(crate) fn note_owed(&mut self, url: UrlHash, owed: Vec<Owed>) {
        if let Some(said) = self.unfinished.get_mut(&url) {
            said.owed = owed;
        }
    }

    pub(crate) fn finished(&mut self, url: UrlHash) -> Vec<Owed> {
        let Some(said) = self.unfinished.remove(&url) else { return Vec::new() };
        if let Some(page) = said.page {
            self.unfinished_pages.remove(&page);
            self.pages.insert(page);
        }
        for line in said.lines {
            self.unfinished_lines.remove(&line);
            self.lines.insert(line);
        }
        said.owed
    }

    pub(crate) fn packed(&mut self) {
        self.pages.packed();
        self.lines.packed();
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let page = size_of::<(UrlHash, Said)>() + (LINES_PER_PAGE + 1) * 2 * size_of::<u32>();
        self.pages.memory_bytes() + self.lines.memory_bytes() + 2 * page * self.unfinished.len()
    }
}

fn gain_of((words, has_long): (usize, bool), numbers: usize, lines: usize) -> Option<u32> {
    if has_long || words > 0 && words * LINES_PER_NEW_LINE >= lines {
        let more = words * LINES_PER_GAIN / lines.max(1);
        return Some(u32::try_from(more).map_or(MAX_GAIN, |more| MAX_GAIN.min(more + 1)));
    }
    let is_table = numbers >= MIN_NEW_NUMBERS && numbers * LINES_PER_NEW_NUMBER >= lines;
    is_table.then_some(1)
}

fn hash_of_page(lines: &[u32]) -> u32 {
    // FNV-1a over numbers, not bytes.
    let hash = lines.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, line| {
        (hash ^ u64::from(*line)).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29)
    });
    (hash.wrapping_mul(u64::from(SPREAD)) >> (u64::BITS - PAGE_BITS)) as u32
}
