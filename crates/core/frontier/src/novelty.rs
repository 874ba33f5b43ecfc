//! Remembers the page content of a host, and decides whether another page has new content.
//!
//! Pages are compared by the hashes of their lines. A page's content is stored only when its URL is
//! finished. Otherwise, a URL that is fetched again after a holder's death would count as a
//! repetition of itself. This module does not depend on how a page is read, or on how the result is
//! used.

use std::collections::{HashMap, HashSet};

use crate::{canonical::UrlHash, seen_hashes::SeenHashes, shape_counts::Owed};

/// Maximum number of repetitive pages that one page with new content offsets. With this value, a
/// shape remains open if one page in five has new content.
const MAX_GAIN: u32 = 4;

/// A page with new lines offsets one repetitive page, and one more if a twentieth of its lines is
/// new, and so on. The days in a calendar have an occasional new line, so a few lines must not
/// offset more.
const LINES_PER_GAIN: usize = 20;

/// A page has new content if at least one in this many lines is new, or if a long line is new.
const LINES_PER_NEW_LINE: usize = 64;

/// A page also has new content if at least one in this many lines has a new number, and at least
/// [`MIN_NEW_NUMBERS`] lines have one, because such a page is a table. With fewer new numbers, an
/// otherwise identical page contains a clock or a counter.
const LINES_PER_NEW_NUMBER: usize = 8;

/// Minimum number of lines with new numbers. Fewer are clocks and counters.
const MIN_NEW_NUMBERS: usize = 4;

/// Maximum new lines that are remembered per page. With this limit, lines that all pages of a site
/// share are known after a few pages, and a page takes 22 bytes in chunks.
const LINES_PER_PAGE: usize = 8;

/// Page hashes per set. Most sites have fewer pages, so a page that is linked under several session
/// ids is recognized.
const PAGES_PER_SET: usize = 4_096;
/// Bits in a page hash. Among 10,000 different pages, about 5 are mistaken for an earlier page.
const PAGE_BITS: u32 = 24;

/// Line hashes per set, for recognizing pages that have known lines in another order or number.
const LINES_PER_SET: usize = 2_048;
/// Bits in a line hash. Among 250 new lines, about one is mistaken for a known line.
const LINE_BITS: u32 = 20;

/// Bit in a line hash: only the numbers in the line can be new.
const OF_NUMBERS: u32 = 1;

/// Bit in a line hash: the line is long, such as a sentence. A new long line makes a page new, even
/// if the page's template is large.
const LONG: u32 = 2;

/// An odd multiplier. The high bits of its products depend on all bits of the other factor.
const SPREAD: u32 = 0x9e37_79b1;

/// A host's page content, as hashes.
#[derive(Debug, Clone)]
pub(crate) struct Novelty {
    /// Page hashes.
    pub(crate) pages: SeenHashes,
    /// Line hashes.
    pub(crate) lines: SeenHashes,
    /// Content of pages that were fetched and are not finished.
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

/// Two values are equal if chunks would store the same content for them.
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

    /// Adds a page's content. Returns how many repetitive pages this page offsets, or `None` if it
    /// repeats others itself.
    pub(crate) fn note(&mut self, url: UrlHash, lines: &[u32]) -> Option<u32> {
        let page = hash_of_page(lines);
        if self.pages.contains(page) || self.unfinished_pages.contains(&page) {
            self.unfinished.insert(url, Said::default());
            return None;
        }
        // For a long page, the caller passes only the lowest hashes. The multiplication makes their
        // values uniform again.
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

    /// Stores the debt changes of a page that was added.
    pub(crate) fn note_owed(&mut self, url: UrlHash, owed: Vec<Owed>) {
        if let Some(said) = self.unfinished.get_mut(&url) {
            said.owed = owed;
        }
    }

    /// Stores the content of a finished page. Returns its debt changes.
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

    /// Records that all stored content is in a chunk.
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

/// Returns how many repetitive pages a page offsets, from its numbers of new lines, of lines with
/// new numbers, and of all lines. `None` if the page has no new content.
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
