//! Remembers a host's page content, and decides whether another page has new content.
//!
//! Pages are compared by their lines' hashes. A page's content is stored once its URL is finished,
//! so that a URL that is fetched again after a death is not mistaken for its own repetition. Does
//! not depend on how a page is read, or on how new content is used.

use std::collections::{HashMap, HashSet};

use crate::{canonical::UrlHash, seen_hashes::SeenHashes, shape_counts::Owed};

/// Maximum repetitive pages that a page with new lines offsets. If one page in five is like this,
/// the shape stays open.
const MAX_GAIN: u32 = 4;

/// A page with few new lines offsets one page, and one more per this fraction of its lines. The
/// days in a calendar have an occasional new line.
const LINES_PER_GAIN: usize = 20;

/// A page has new content if at least one line in this many is new, or if a long line is.
const LINES_PER_NEW_LINE: usize = 64;

/// A page also has new content if one line in this many has a new number, and at least
/// [`MIN_NEW_NUMBERS`] lines do: this is a table. An otherwise identical page has a clock or a
/// counter.
const LINES_PER_NEW_NUMBER: usize = 8;

/// Minimum number of new lines with numbers. Fewer are clocks and counters.
const MIN_NEW_NUMBERS: usize = 4;

/// Maximum new lines that are remembered per page. Lines that all pages on a site share are known
/// after some pages, and a page costs 22 bytes in chunks.
const LINES_PER_PAGE: usize = 8;

/// Page hashes per set: as many as most sites have pages, so that a session does not show them
/// twice.
const PAGES_PER_SET: usize = 4_096;
/// Bits in a page hash. Among 10,000 different pages, 5 are mistaken for another.
const PAGE_BITS: u32 = 24;

/// Line hashes per set, for pages with the same lines in another order or number.
const LINES_PER_SET: usize = 2_048;
/// Bits in a line hash. Among 250 new lines, one is mistaken for another.
const LINE_BITS: u32 = 20;

/// Set in a line's hash if only the line's numbers can be new.
const OF_NUMBERS: u32 = 1;

/// Set for a long line, such as a sentence. When a page has a new one, it has new content, however
/// large its template is.
const LONG: u32 = 2;

/// An odd number whose products have high bits that depend on all bits of the other factor.
const SPREAD: u32 = 0x9e37_79b1;

/// A host's page content, as hashes.
#[derive(Debug, Clone)]
pub(crate) struct Novelty {
    /// Page hashes.
    pub(crate) pages: SeenHashes,
    /// Line hashes.
    pub(crate) lines: SeenHashes,
    /// Content from pages that are fetched but not finished.
    unfinished: HashMap<UrlHash, Said>,
    unfinished_pages: HashSet<u32>,
    unfinished_lines: HashSet<u32>,
}

/// A page's new content.
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

/// Two are equal if chunks store the same content.
impl PartialEq for Novelty {
    fn eq(&self, other: &Self) -> bool {
        self.pages == other.pages && self.lines == other.lines
    }
}

impl Novelty {
    /// Returns true if an unfinished page's content was added.
    pub(crate) fn is_noted(&self, url: UrlHash) -> bool {
        self.unfinished.contains_key(&url)
    }

    /// Adds a page's content. Returns for how many pages it makes up. `None` if it repeats others.
    pub(crate) fn note(&mut self, url: UrlHash, lines: &[u32]) -> Option<u32> {
        let page = hash_of_page(lines);
        if self.pages.contains(page) || self.unfinished_pages.contains(&page) {
            self.unfinished.insert(url, Said::default());
            return None;
        }
        // The caller passes a long page's lowest hashes, so spread them again by a product.
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

    /// Sets an added page's debt changes.
    pub(crate) fn note_owed(&mut self, url: UrlHash, owed: Vec<Owed>) {
        if let Some(said) = self.unfinished.get_mut(&url) {
            said.owed = owed;
        }
    }

    /// Stores a finished page's content. Returns its debt changes.
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

    /// Notes that all stored content is in a chunk.
    pub(crate) fn packed(&mut self) {
        self.pages.packed();
        self.lines.packed();
    }

    /// Returns the approximate memory, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let page = size_of::<(UrlHash, Said)>() + (LINES_PER_PAGE + 1) * 2 * size_of::<u32>();
        self.pages.memory_bytes() + self.lines.memory_bytes() + 2 * page * self.unfinished.len()
    }
}

/// Returns for how many pages a page makes up, by its new lines, its new lines with numbers, and
/// its total lines. `None` if it repeats others.
fn gain_of((words, has_long): (usize, bool), numbers: usize, lines: usize) -> Option<u32> {
    if has_long || words > 0 && words * LINES_PER_NEW_LINE >= lines {
        let more = words * LINES_PER_GAIN / lines.max(1);
        return Some(u32::try_from(more).map_or(MAX_GAIN, |more| MAX_GAIN.min(more + 1)));
    }
    let is_table = numbers >= MIN_NEW_NUMBERS && numbers * LINES_PER_NEW_NUMBER >= lines;
    is_table.then_some(1)
}

fn hash_of_page(lines: &[u32]) -> u32 {
    // FNV-1a over numbers instead of bytes.
    let hash = lines.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, line| {
        (hash ^ u64::from(*line)).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29)
    });
    (hash.wrapping_mul(u64::from(SPREAD)) >> (u64::BITS - PAGE_BITS)) as u32
}
