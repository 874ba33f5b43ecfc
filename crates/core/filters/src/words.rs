//! Words with weights in a page's title and text.
//!
//! A word counts once in the title and once in the text, so that the total does not depend on the
//! page's length. A word inside a longer word does not count, except in scripts that are written
//! without spaces.

use aho_corasick::{AhoCorasick, BuildError, MatchKind};

/// Maximum bytes of text to search. Text beyond this limit is ignored.
const MAX_TEXT_BYTES: usize = 512 << 10;

#[derive(Debug, Clone)]
pub(crate) struct Words {
    automaton: AhoCorasick,
    weights: Vec<i64>,
}

impl Words {
    /// The words must be in lower case.
    pub(crate) fn compile<'a>(
        words: impl IntoIterator<Item = (&'a str, i64)>,
    ) -> Result<Self, BuildError> {
        let (words, weights): (Vec<&str>, Vec<i64>) = words.into_iter().unzip();
        let automaton =
            AhoCorasick::builder().match_kind(MatchKind::Standard).build(words.iter().copied())?;
        Ok(Self { automaton, weights })
    }

    pub(crate) fn sum(&self, text: &str) -> i64 {
        let text = text.get(..text.floor_char_boundary(MAX_TEXT_BYTES)).unwrap_or_default();
        let text = text.to_lowercase();
        let mut found = vec![false; self.weights.len()];
        let mut left = found.len();
        let mut sum: i64 = 0;
        for hit in self.automaton.find_overlapping_iter(&text) {
            let word = hit.pattern().as_usize();
            let Some(is_found) = found.get_mut(word).filter(|is_found| !**is_found) else {
                continue;
            };
            if !stands_alone(&text, hit.start(), hit.end()) {
                continue;
            }
            *is_found = true;
            sum = sum.saturating_add(self.weights.get(word).copied().unwrap_or_default());
            left -= 1;
            if left == 0 {
                break;
            }
        }
        sum
    }
}

fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let (before, rest) = text.split_at(start);
    let (word, after) = rest.split_at(end - start);
    let is_joined = |outer: Option<char>, inner: Option<char>| {
        outer.is_some_and(is_of_word) && inner.is_some_and(is_of_word)
    };
    let is_joined_before = is_joined(before.chars().next_back(), word.chars().next());
    !is_joined_before && !is_joined(after.chars().next(), word.chars().next_back())
}

/// Returns true for letters and digits in scripts that separate words.
fn is_of_word(c: char) -> bool {
    // Thai, Lao, Tibetan, Myanmar, Hangul, Khmer, kana, Han and similar scripts. Korean has spaces,
    // but its suffixes touch the word.
    let is_unspaced = matches!(c,
        '\u{0e00}'..='\u{0fff}' | '\u{1000}'..='\u{109f}' | '\u{1100}'..='\u{11ff}'
        | '\u{1780}'..='\u{17ff}' | '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7ff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}');
    // Marks that combine with the letter before them belong to the word.
    let is_mark = matches!(c, '\u{300}'..='\u{36f}');
    (c.is_alphanumeric() || is_mark) && !is_unspaced
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(words: &[(&'static str, i64)]) -> Words {
        Words::compile(words.iter().copied()).unwrap()
    }

    #[test]
    fn a_word_counts_once_and_only_where_it_stands_alone() {
        let words = words(&[("bad", 3), ("bad luck", 4), ("good", -2), ("schlecht", 5), ("悪", 7)]);
        for (text, sum) in [
            ("", 0),
            ("BAD", 3),
            ("bad, bad, bad!", 3),
            ("badly abad 1bad bad2", 0),
            ("badly bad", 3),
            ("bad luck", 7),
            ("bad-luck", 3),
            ("good bad", 1),
            ("sehr SCHLECHT.", 5),
            ("schlechter", 0),
            ("これは悪い", 7),
            ("\u{130}bad", 0),
        ] {
            assert_eq!(words.sum(text), sum, "{text}");
        }
    }

    proptest! {
        #[test]
        fn the_sum_equals_a_slow_searchs(
            given in proptest::collection::btree_map("[ab]{1,3}", -9_i64..9, 1..6),
            text in "[ab .]{0,60}",
        ) {
            let words = Words::compile(given.iter().map(|(word, w)| (word.as_str(), *w))).unwrap();
            let slow: i64 = given
                .iter()
                .filter(|(word, _)| text.split([' ', '.']).any(|part| part == word.as_str()))
                .map(|(_, weight)| weight)
                .sum();
            prop_assert_eq!(words.sum(&text), slow);
        }

        #[test]
        fn any_text_gives_a_sum(text in "\\PC{0,200}") {
            let words = words(&[("a", 1), ("ß", 1), ("ǆ", 1)]);
            prop_assert!((0..=3).contains(&words.sum(&text)));
        }
    }
}
