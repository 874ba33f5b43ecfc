//! The words by which ranked hosts are found: those in their titles, and the suffixes of the best
//! hosts' names.
//!
//! `search/words/<range>/<n>.tsv` contains lines sorted by word, then by rank. Each has the word
//! and the fields of a host's line.

use std::collections::{BTreeMap, BTreeSet};

use icu_normalizer::ComposingNormalizerBorrowed as ComposingNormalizer;
use icu_properties::{CodePointMapData, props::GeneralCategoryGroup};

use crate::search::{
    key::{RANGES, range_of_key, search_key},
    lines::{SearchEntry, SearchFileError, read_line, write_line},
};

/// Maximum lines in a word file, which then has about 35 KB.
pub const LINES_PER_FILE: usize = 400;
/// Maximum hosts per word, chosen by rank. If a visitor types several words, the page searches
/// these hosts for those with all the words.
pub const HOSTS_PER_WORD: usize = 100;
/// Up to this rank, the suffixes of a host's name are also words.
pub const MIDDLES_MAX_RANK: u32 = 100_000;
/// Minimum characters in a word. Shorter words occur in too many titles.
const MIN_CHARACTERS: usize = 3;
/// Maximum characters in a word. The page truncates typed words to this length.
const MAX_CHARACTERS: usize = 24;
/// Maximum words per title. Words beyond this limit are ignored.
const MAX_TITLE_WORDS: usize = 10;

/// One line in a word file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordLine {
    /// The word.
    pub word: String,
    /// A host that has the word.
    pub entry: SearchEntry,
}

/// Returns a ranked host's words. A host without a rank has no words.
#[must_use]
pub fn words_of(entry: &SearchEntry) -> BTreeSet<String> {
    let Some(rank) = entry.rank else { return BTreeSet::new() };
    let mut words: BTreeSet<String> = title_words(&entry.title).collect();
    if rank <= MIDDLES_MAX_RANK {
        words.extend(middles(&search_key(&entry.hostname)));
    }
    words
}

fn title_words(title: &str) -> impl Iterator<Item = String> {
    let mut words: Vec<String> = Vec::new();
    for word in split(title) {
        let word = shortened(&word);
        if is_long(&word) && words.len() < MAX_TITLE_WORDS && !words.contains(&word) {
            words.push(word);
        }
    }
    words.into_iter()
}

/// Splits a text into runs of letters, digits and marks, in lower case and in compatibility form
/// (NFKC), to which browsers map hostnames, too. `typedWords` in `site/js/search-answers.js` does
/// the same.
fn split(text: &str) -> Vec<String> {
    const OF_WORDS: GeneralCategoryGroup = GeneralCategoryGroup::Letter
        .union(GeneralCategoryGroup::Number)
        .union(GeneralCategoryGroup::Mark);
    let form = ComposingNormalizer::new_nfkc();
    let category = CodePointMapData::new();
    let lower = form.normalize(text).to_lowercase();
    let runs = form.normalize(&lower);
    let words = runs.split(|c: char| !OF_WORDS.contains(category.get(c)));
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Yields the suffixes of a name without its TLD, from its second character on, that start with a
/// letter or digit and are long enough for a word.
fn middles(key: &str) -> impl Iterator<Item = String> {
    let name = key.rsplit_once('.').map_or("", |(name, _)| name);
    let starts = name.char_indices().skip(1).map(|(start, _)| &name[start..]);
    starts.filter(|rest| rest.starts_with(char::is_alphanumeric) && is_long(rest)).map(shortened)
}

fn is_long(word: &str) -> bool {
    word.chars().nth(MIN_CHARACTERS - 1).is_some()
}

fn shortened(word: &str) -> String {
    word.chars().take(MAX_CHARACTERS).collect()
}

/// Each word's best hosts in order, as indexes into all entries.
pub type HostsOfWords = BTreeMap<Box<str>, Vec<u32>>;

/// Returns the words in `entries` by range. `entries` must be sorted best first.
#[must_use]
pub fn words_by_range(entries: &[SearchEntry]) -> Vec<HostsOfWords> {
    let mut ranges: Vec<HostsOfWords> = vec![BTreeMap::new(); RANGES];
    for (number, entry) in (0..).zip(entries) {
        for word in words_of(entry) {
            let Some(words) = ranges.get_mut(range_of_key(&word)) else { continue };
            match words.get_mut(&*word) {
                Some(hosts) if hosts.len() < HOSTS_PER_WORD => hosts.push(number),
                Some(_) => {}
                // Most words belong to one host, so allocate room for only one.
                None => drop(words.insert(word.into_boxed_str(), Vec::from([number]))),
            }
        }
    }
    ranges
}

/// Writes lines.
#[must_use]
pub fn write_word_lines<'a>(lines: impl Iterator<Item = (&'a str, &'a SearchEntry)>) -> String {
    let mut text = String::new();
    for (word, entry) in lines {
        text.push_str(word);
        text.push('\t');
        write_line(&mut text, entry);
    }
    text
}

/// Reads the lines in a word file.
///
/// # Errors
/// Returns an error if the bytes are not UTF-8, or if a line does not contain a word and an entry.
pub fn read_word_lines(bytes: &[u8]) -> Result<Vec<WordLine>, SearchFileError> {
    let text = std::str::from_utf8(bytes).map_err(|_| SearchFileError::NotText)?;
    let line = |line: &str| {
        let (word, rest) = line.split_once('\t')?;
        Some(WordLine { word: word.to_owned(), entry: read_line(rest)? })
    };
    let read = |text: &str| line(text).ok_or_else(|| SearchFileError::BadLine(text.to_owned()));
    text.lines().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranked(hostname: &str, rank: u32, title: &str) -> SearchEntry {
        let entry = SearchEntry::new(hostname.to_owned(), 1, 2).with_title(title);
        SearchEntry { rank: Some(rank), ..entry }
    }

    const VECTORS: &str = include_str!("../../../site/tests/search-words.json");

    #[test]
    fn titles_have_the_words_that_the_page_finds_in_what_is_typed() {
        let vectors: Vec<(String, Vec<String>)> = serde_json::from_str(VECTORS).unwrap();
        for (text, words) in &vectors {
            assert_eq!(split(text), *words, "{text}");
        }
    }

    #[test]
    fn a_ranked_host_is_found_by_its_title_and_a_good_one_by_the_middle_of_its_name() {
        let words = |rank| words_of(&ranked("www.my-garden.org", rank, "Tools, TOOLS & a Zürich"));
        let low = words(MIDDLES_MAX_RANK + 1);
        assert_eq!(low.into_iter().collect::<Vec<_>>(), ["tools", "zürich"]);
        let middles = ["arden", "den", "garden", "rden", "y-garden"];
        assert!(middles.iter().all(|middle| words(1).contains(*middle)), "{:?}", words(1));
        assert_eq!(words(1).len(), 7);
        let unranked = SearchEntry::new("a.b".into(), 1, 1).with_title("Tools");
        assert!(words_of(&unranked).is_empty());
    }

    #[test]
    fn a_word_has_its_best_hosts_in_order() {
        let entries: Vec<_> =
            (0..150).map(|i| ranked(&format!("h{i}.com"), 200_000 + i, "Home of 100")).collect();
        let ranges = words_by_range(&entries);
        let best: Vec<u32> = (0..HOSTS_PER_WORD as u32).collect();
        assert_eq!(ranges[range_of_key("home")]["home"], best);
        assert_eq!(ranges[0].keys().map(|word| &**word).collect::<Vec<_>>(), ["100"]);
    }

    #[test]
    fn lines_are_read_as_they_were_written() {
        let entry = ranked("a.com", 7, "A title");
        let text = write_word_lines([("title", &entry)].into_iter());
        assert_eq!(text, "title\ta.com\t1\t2\t7\tA title\n");
        let line = WordLine { word: "title".into(), entry };
        assert_eq!(read_word_lines(text.as_bytes()).unwrap(), [line]);
        assert!(read_word_lines(b"title\n").is_err());
    }
}
