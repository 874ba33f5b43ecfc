//! The key by which a hostname is sorted and found. It lacks `www.` and is in the name's own
//! script, because visitors type names this way.
//!
//! `site/js/search-keys.js` computes equal keys and compares them by code points, which gives the
//! same order as comparing UTF-8 bytes. Both implementations' tests read
//! `site/tests/search-keys.json`.

use std::borrow::Cow;

/// There are this many hostname ranges: one for digits, one per letter from a to z, and one for all
/// other first characters. `coordinator.search_jobs()` in the database depends on this number.
pub const RANGES: usize = 28;

/// Returns a hostname's key.
pub fn search_key(hostname: &str) -> Cow<'_, str> {
    let name = without_www(hostname);
    if !name.contains("xn--") {
        return Cow::Borrowed(name);
    }
    let label = |label: &str| decode_label(label).unwrap_or_else(|| label.to_owned());
    Cow::Owned(name.split('.').map(label).collect::<Vec<_>>().join("."))
}

/// Removes `www.` from a hostname, unless only a suffix would remain.
pub fn without_www(hostname: &str) -> &str {
    match hostname.strip_prefix("www.") {
        Some(rest) if rest.contains('.') => rest,
        _ => hostname,
    }
}

/// Returns a hostname's range, 0 to 27.
pub fn range_of(hostname: &str) -> usize {
    range_of_key(&search_key(hostname))
}

/// Returns the range for a key or a word, 0 to 27.
pub fn range_of_key(key: &str) -> usize {
    match key.bytes().next() {
        Some(b'0'..=b'9') => 0,
        Some(letter @ b'a'..=b'z') => usize::from(letter - b'a') + 1,
        _ => RANGES - 1,
    }
}

/// Decodes a Punycode label without IDNA's further checks, because the page must compute equal
/// keys, also for names that cannot be registered. A label is not decoded if the result would
/// contain a control character or more ASCII characters than the label shows.
fn decode_label(label: &str) -> Option<String> {
    let encoded = label.strip_prefix("xn--")?;
    let decoded = idna::punycode::decode_to_string(encoded)?;
    let basic = encoded.rsplit_once('-').map_or(0, |(basic, _)| basic.len());
    let ascii = decoded.chars().filter(|&c| c < '\u{a0}').count();
    (ascii == basic && !decoded.is_empty()).then_some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    const VECTORS: &str = include_str!("../../../site/tests/search-keys.json");

    #[test]
    fn keys_and_ranges_are_those_that_the_page_computes() {
        let vectors: Vec<(String, String, usize)> = serde_json::from_str(VECTORS).unwrap();
        for (hostname, key, range) in &vectors {
            assert_eq!(search_key(hostname), key.as_str(), "{hostname}");
            assert_eq!(range_of(hostname), *range, "{hostname}");
        }
        let keys: Vec<&String> = vectors.iter().map(|(_, key, _)| key).collect();
        assert!(keys.is_sorted(), "the vectors are in the order of their keys");
    }
}
