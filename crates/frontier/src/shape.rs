//! The shape of a URL: its path and query with runs of digits and of hexadecimal digits replaced.
//! Pages of one template have one shape, and so have the pages of a trap that counts up.
//!
//! Must not know: how many of a shape are allowed.

use crate::canonical::hash_of;

/// Least length of a token of hexadecimal digits that is replaced if it has a digit: shorter ones
/// are words and numbers such as `mp3` or `v2a`.
const MIN_HEX_CHARACTERS: usize = 6;

/// Least length of a token of hexadecimal digits that is replaced though it has no digit: longer
/// than every word of the letters a to f.
const MIN_HEX_LETTERS_CHARACTERS: usize = 16;

/// Returns the hash of the shape of a path and query, as [`crate::CanonicalUrl::path_and_query`]
/// gives it. Percent-encoded characters stay as they are: they are words of other scripts.
#[must_use]
pub fn shape_hash(path_and_query: &str) -> u32 {
    let [_, _, _, _, a, b, c, d] = hash_of(&shape_of(path_and_query)).to_be_bytes();
    u32::from_be_bytes([a, b, c, d])
}

fn shape_of(text: &str) -> String {
    let mut shape = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_alphanumeric()) {
        let (before, from_token) = rest.split_at(start);
        shape.push_str(before);
        // An escape is no token, but its two digits begin one.
        let escape = if before.ends_with('%') { 2.min(from_token.len()) } else { 0 };
        let (escape, from_token) = from_token.split_at_checked(escape).unwrap_or(("", from_token));
        shape.push_str(escape);
        let end = from_token.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(from_token.len());
        let (token, after) = from_token.split_at(end);
        push_token(&mut shape, token);
        rest = after;
    }
    shape.push_str(rest);
    shape
}

fn push_token(shape: &mut String, token: &str) {
    let is_hex = token.bytes().all(|byte| byte.is_ascii_hexdigit());
    let has_digit = token.bytes().any(|byte| byte.is_ascii_digit());
    let least = if has_digit { MIN_HEX_CHARACTERS } else { MIN_HEX_LETTERS_CHARACTERS };
    if is_hex && token.len() >= least {
        shape.push('0');
        return;
    }
    let mut was_digit = false;
    for character in token.chars() {
        let is_digit = character.is_ascii_digit();
        match (is_digit, was_digit) {
            (true, true) => {}
            (true, false) => shape.push('0'),
            (false, _) => shape.push(character),
        }
        was_digit = is_digit;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_are_replaced_and_words_are_kept() {
        for (path, shape) in [
            ("/", "/"),
            ("/2026/11/23/title", "/0/0/0/title"),
            ("/a?page=12&q=cat", "/a?page=0&q=cat"),
            ("/item-12b", "/item-0b"),
            ("/3f2a9c", "/0"),
            ("/facade/decade/feed", "/facade/decade/feed"),
            ("/abcdefabcdefabcdef", "/0"),
            ("/deadbeef-cafe-4abc-8def-0123456789ab", "/deadbeef-cafe-0abc-0def-0"),
            ("/%E4%BD%A0123", "/%E4%BD%A00"),
            ("/%", "/%"),
            ("/%é1", "/%é0"),
        ] {
            assert_eq!(shape_of(path), shape, "{path}");
        }
        assert_eq!(shape_hash("/a/1"), shape_hash("/a/22"));
        assert_ne!(shape_hash("/a/1"), shape_hash("/b/1"));
    }

    proptest! {
        #[test]
        fn any_text_has_a_shape_that_is_no_longer(text in "([/%0-9a-gé]|\\PC){0,30}") {
            prop_assert!(shape_of(&text).len() <= text.len());
        }
    }
}
