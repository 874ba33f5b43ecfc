//! Hashes a page's lines, so that a caller can recognize pages that repeat others.
//!
//! Short numbers and numbers from the URL are hashed alike, so that a page that only counts up
//! repeats its predecessor. Other numbers set a flag in their line's hash. The same lines must
//! yield the same hashes in every version, because callers store them.

use std::collections::HashSet;

/// Maximum hashes per page. Above this limit, the numerically lowest are kept, so that similar
/// pages still share most hashes.
pub const MAX_LINES_SAID: usize = 1_024;

/// A line with at most this many words is skipped if it contains a word from the URL, because it is
/// usually a title or a menu entry.
const MAX_ECHO_WORDS: usize = 8;

/// Minimum words in a sentence, without numbers and words from the URL.
const MIN_LONG_WORDS: usize = 8;

/// Flag in the hash of a line with distinguished numbers.
const OF_NUMBERS: u32 = 1;

/// Flag in the hash of a sentence.
const LONG: u32 = 2;

/// Replacement for numbers that are not distinguished.
const NUMBER: &str = "0";

/// Replacement for words from the URL.
const ECHO: &str = "?";

/// Minimum digits in a distinguished number. Shorter ones are counts, days and times.
const MIN_KEPT_DIGITS: usize = 3;

/// Minimum length of a hexadecimal word with a digit that counts as a number. Shorter ones are
/// names.
const MIN_HEX_CHARACTERS: usize = 6;

/// Minimum length of a word with several numbers that counts as an id in base 36 or 62.
const MIN_ID_CHARACTERS: usize = 12;

/// FNV-1a offset basis.
const HASH_START: u64 = 0xcbf2_9ce4_8422_2325;

/// Offset basis for picture names, so that their hashes differ from line hashes.
const PICTURE_START: u64 = !HASH_START;

/// Returns hashes for a page's title, text lines ([`crate::PageText::text`]) and picture names
/// ([`crate::PageLinks::pictures`]), ascending and distinct. Bit 0 is set if a line has
/// distinguished numbers, bit 1 if it is a sentence.
#[must_use]
pub fn lines_said(url: &str, title: &str, text: &str, pictures: &[String]) -> Vec<u32> {
    let echoes = Echoes::of_url(url);
    let mut word = String::new();
    let lines = text.lines().chain([title]);
    let lines = lines.filter_map(|line| hash_of_line(line, &echoes, &mut word));
    let pictures = pictures
        .iter()
        .map(|name| finished(hashed(PICTURE_START, name.as_bytes())) & !(OF_NUMBERS | LONG));
    let mut hashes: Vec<u32> = lines.chain(pictures).collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes.truncate(MAX_LINES_SAID);
    hashes
}

struct Echoes {
    words: HashSet<String>,
    /// One bit per word ([`bit_of`]), so that most words need no lookup.
    bits: u64,
}

impl Echoes {
    fn of_url(url: &str) -> Self {
        let target = url.split_once("://").map_or(url, |(_, rest)| rest);
        let target = target.find(['/', '?']).and_then(|at| target.get(at..)).unwrap_or_default();
        let known = |word: &str| {
            let mut known = String::new();
            fold_into(&mut known, word);
            if is_number(word) { word.to_owned() } else { known }
        };
        let words: HashSet<String> = words(target).map(known).collect();
        let bits = words.iter().fold(0, |bits, word| bits | bit_of(word));
        Self { words, bits }
    }

    fn contains(&self, word: &str) -> bool {
        self.bits & bit_of(word) != 0 && self.words.contains(word)
    }
}

fn bit_of(word: &str) -> u64 {
    let first = word.bytes().next().unwrap_or_default();
    1 << ((usize::from(first) + 7 * word.len()) % 64)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

fn is_number(word: &str) -> bool {
    if word.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return false;
    }
    let has_digit = word.bytes().any(|byte| byte.is_ascii_digit());
    let is_hex = word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_decimal = word.chars().all(char::is_numeric);
    let numbers = word.split(|c: char| !c.is_ascii_digit()).filter(|run| !run.is_empty());
    is_decimal
        || (is_hex && has_digit && word.len() >= MIN_HEX_CHARACTERS)
        || (word.len() >= MIN_ID_CHARACTERS && numbers.count() >= 2)
}

/// Returns `None` for a line without words, or a short one with a word from the URL.
fn hash_of_line(line: &str, echoes: &Echoes, folded: &mut String) -> Option<u32> {
    let (mut hash, mut count, mut own, mut before) = (HASH_START, 0_usize, 0_usize, "");
    let (mut has_kept, mut has_echo) = (false, false);
    for word in words(line) {
        count += 1;
        let is_decimal = word.bytes().all(|byte| byte.is_ascii_digit());
        if is_decimal && word.len() >= MIN_KEPT_DIGITS && !echoes.contains(word) {
            hash = hashed(hashed(hash, word.as_bytes()), b" ");
            (before, has_kept) = (NUMBER, true);
            continue;
        }
        folded.clear();
        let now = if is_number(word) {
            NUMBER
        } else {
            fold_into(folded, word);
            let is_echo = echoes.contains(folded);
            has_echo |= is_echo;
            if is_echo { ECHO } else { "" }
        };
        // Hash a run of numbers or of words from the URL only once, because dates and names vary in
        // length.
        if now.is_empty() {
            own += 1;
            hash = hashed(hashed(hash, folded.as_bytes()), b" ");
        } else if now != before {
            hash = hashed(hashed(hash, now.as_bytes()), b" ");
        }
        before = now;
    }
    let of_numbers = if has_kept { OF_NUMBERS } else { 0 };
    let long = if own >= MIN_LONG_WORDS { LONG } else { 0 };
    let is_echo = has_echo && count <= MAX_ECHO_WORDS;
    (count > 0 && !is_echo).then(|| finished(hash) & !(OF_NUMBERS | LONG) | of_numbers | long)
}

fn fold_into(out: &mut String, word: &str) {
    if word.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        let start = out.len();
        out.push_str(word);
        if let Some(appended) = out.get_mut(start..) {
            appended.make_ascii_lowercase();
        }
        return;
    }
    for character in word.chars() {
        if character.is_ascii_alphabetic() {
            out.push(character.to_ascii_lowercase());
        } else if !character.is_numeric() {
            out.extend(character.to_lowercase());
        } else if !out.ends_with('0') {
            out.push('0');
        }
    }
}

fn hashed(hash: u64, bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(hash, step)
}

fn finished(hash: u64) -> u32 {
    let mixed = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed >> 32) as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn said(url: &str, text: &str) -> Vec<u32> {
        lines_said(url, "", text, &[])
    }

    const URL: &str = "https://a.example/item?id=7";

    #[test]
    fn pages_that_differ_by_numbers_order_or_case_have_equal_hashes() {
        for (one, other) in [
            ("Events of 3/2031", "Events of 11/2031"),
            ("One\nTwo", "TWO\none"),
            ("Order 3f2a9c11 of today", "order 00ab77 of today"),
            ("1,29.00 EUR", "5 EUR"),
            ("Page 1234 of 17", "Page 1234 of 9"),
            ("version2b", "version17b"),
            ("Seen 14:03:22", "Seen 9:41"),
        ] {
            assert_eq!(said(URL, one), said(URL, other), "{one}");
        }
        for (one, other) in [("One", "Two"), ("a b", "ab"), ("One two", "Two one")] {
            assert_ne!(said(URL, one), said(URL, other), "{one}");
        }
        let found = [said(URL, "Rain: 1234"), said(URL, "Rain: 1235"), said(URL, "Rain: 12")];
        assert!(found[0] != found[1] && found[0][0] & OF_NUMBERS > 0, "{found:?}");
        assert!(found[2][0] & OF_NUMBERS == 0, "{found:?}");
        let of_it = "https://a.example/1234/5678";
        assert_eq!(said(of_it, "Rain: 1234"), found[2]);
        assert!(said(URL, " - \n\n").is_empty());
    }

    #[test]
    fn words_from_the_url_are_not_hashed() {
        let url = "https://a.example/find?q=blue+Boats";
        assert!(said(url, "Nothing found for boats").is_empty());
        assert_eq!(said(url, "Nothing found for cars").len(), 1);
        let rest = "found in our shop of all things that float today";
        let found = said(url, &format!("No boats are {rest}"));
        assert_eq!(said(url, &format!("No blue boats are {rest}")), found);
        assert_eq!(said("https://a.example/find?q=car", &format!("No car are {rest}")), found);
        assert_ne!(said(url, &format!("No cars are {rest}")), found);
        // Words from the host are not echoes.
        assert_eq!(said(url, "example").len(), 1);
    }

    #[test]
    fn a_sentence_is_distinguished_from_a_short_line() {
        let is_long = |text: &str| said(URL, text)[0] & (OF_NUMBERS | LONG) == LONG;
        assert!(is_long("We have looked at every one of them and found nothing"));
        assert!(!is_long("Seven words are not enough for this"));
        assert!(!is_long("item item item item item item item item once"), "an echo");
    }

    #[test]
    fn picture_names_keep_their_numbers() {
        let pictures = |name: &str| lines_said(URL, "", "", &[name.to_owned()]);
        assert_ne!(pictures("img_1.jpg"), pictures("img_2.jpg"));
        assert_ne!(pictures("cat"), said(URL, "cat"));
    }

    /// Hashes must not change, because callers store them.
    #[test]
    fn hashes_never_change() {
        let pictures = ["a1.png".to_owned()];
        let found = lines_said(URL, "Title 5", "Größe: 4 cm\nNews", &pictures);
        assert_eq!(found, [257_697_920, 1_211_142_960, 3_362_935_924, 3_463_399_512]);
    }

    proptest! {
        #[test]
        fn arbitrary_text_gives_few_ascending_hashes(url: String, text in "(\\PC|\n){0,400}") {
            let said = lines_said(&url, &text, &text, &[]);
            prop_assert!(said.len() <= MAX_LINES_SAID && said.is_sorted_by(|a, b| a < b));
        }
    }
}
