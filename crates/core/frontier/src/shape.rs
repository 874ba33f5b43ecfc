//! A URL's shape: its path and query, with numbers, hexadecimal tokens and ids replaced. Pages from
//! one template have the same shape, and so do pages in a trap that counts up.
//!
//! Broader shapes group the pages in a trap that combines words. For a URL with a query, they are
//! its path with the parameter names, its path, and its directory. For other URLs, they are the
//! directory and the first directory.

/// Minimum length of a hexadecimal token with a digit to be replaced. Tokens below this limit are
/// words such as `mp3`.
const MIN_HEX_CHARACTERS: usize = 6;

/// Minimum length of a hexadecimal token without a digit to be replaced. No word is this long.
const MIN_HEX_LETTERS_CHARACTERS: usize = 16;

/// Minimum length of a token with several numbers to be replaced, because it is an id in base 36 or
/// 62.
const MIN_ID_CHARACTERS: usize = 12;

/// Returns the shape's hash for a path and query in the form of
/// [`crate::CanonicalUrl::path_and_query`].
#[must_use]
pub fn shape_hash(path_and_query: &str) -> u32 {
    short_hash(&shape_of(path_and_query).0)
}

/// Maximum broader shapes per URL.
const MAX_BROADER: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shapes {
    /// The URL's own shape. `None` if nothing in the URL is replaced, because then no other URL has
    /// this shape.
    pub(crate) own: Option<u32>,
    /// Broader shapes, from narrow to broad.
    broader: [Option<u32>; MAX_BROADER],
}

impl Shapes {
    pub(crate) fn of(path_and_query: &str) -> Self {
        let (shape, is_replaced) = shape_of(path_and_query);
        let own = is_replaced.then(|| short_hash(&shape));
        let (path, query) = match shape.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (shape.as_str(), None),
        };
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let broader = match query {
            Some(query) => {
                let mut names: Vec<&str> = query.split('&').map(name_of_parameter).collect();
                names.sort_unstable();
                names.dedup();
                let of_names = format!("{path}?{}=", names.join("=&"));
                [Some(of_names), Some(format!("{path}?")), Some(format!("{folder}/*?"))]
            }
            None => {
                let first = folder.match_indices('/').nth(1).and_then(|(end, _)| folder.get(..end));
                [Some(format!("{folder}/*")), first.map(|first| format!("{first}/**")), None]
            }
        };
        Self { own, broader: broader.map(|shape| shape.map(|shape| short_hash(&shape))) }
    }

    pub(crate) fn has_path_of(self, other: Self) -> bool {
        let [_, path, folder] = self.broader;
        folder.is_some() && path == other.broader[1]
    }

    /// The flag is true for a broader shape.
    pub(crate) fn iter(self) -> impl Iterator<Item = (u32, bool)> {
        let broader = self.broader.into_iter().flatten();
        self.own.map(|own| (own, false)).into_iter().chain(broader.map(|hash| (hash, true)))
    }
}

fn name_of_parameter(parameter: &str) -> &str {
    parameter.split_once('=').map_or(parameter, |(name, _)| name)
}

/// Hashes with FNV-1a, and mixes the bits into the upper half as in splitmix64.
fn short_hash(shape: &str) -> u32 {
    let step = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let hash = shape.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    let mixed = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed >> 32) as u32
}

fn shape_of(text: &str) -> (String, bool) {
    let mut is_replaced = false;
    let mut shape = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_alphanumeric()) {
        let (before, from_token) = rest.split_at(start);
        shape.push_str(before);
        // An escape is not a token, although its two hexadecimal digits look like the start of one.
        let escape = if before.ends_with('%') { 2.min(from_token.len()) } else { 0 };
        let (escape, from_token) = from_token.split_at_checked(escape).unwrap_or(("", from_token));
        shape.push_str(escape);
        let end = from_token.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(from_token.len());
        let (token, after) = from_token.split_at(end);
        is_replaced |= push_token(&mut shape, token);
        rest = after;
    }
    shape.push_str(rest);
    (shape, is_replaced)
}

/// Returns true if any part of this token was replaced, even `0` by `0`.
fn push_token(shape: &mut String, token: &str) -> bool {
    let is_hex = token.bytes().all(|byte| byte.is_ascii_hexdigit());
    let has_digit = token.bytes().any(|byte| byte.is_ascii_digit());
    let least = if has_digit { MIN_HEX_CHARACTERS } else { MIN_HEX_LETTERS_CHARACTERS };
    let numbers = token.split(|c: char| !c.is_ascii_digit()).filter(|run| !run.is_empty());
    let is_id = token.len() >= MIN_ID_CHARACTERS && numbers.count() >= 2;
    if (is_hex && token.len() >= least) || is_id {
        shape.push('0');
        return true;
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
    has_digit
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
            ("/(S(lit3py55t21z5v55vlm25s55))/a", "/(S(0))/a"),
            ("/windows10update", "/windows0update"),
            ("/facade/decade/feed", "/facade/decade/feed"),
            ("/abcdefabcdefabcdef", "/0"),
            ("/deadbeef-cafe-4abc-8def-0123456789ab", "/deadbeef-cafe-0abc-0def-0"),
            ("/%E4%BD%A0123", "/%E4%BD%A00"),
            ("/%", "/%"),
            ("/%é1", "/%é0"),
        ] {
            assert_eq!(shape_of(path).0, shape, "{path}");
        }
        assert_eq!(shape_hash("/a/1"), shape_hash("/a/22"));
        assert_ne!(shape_hash("/a/1"), shape_hash("/b/1"));
    }

    #[test]
    fn broader_shapes_group_paths_that_differ_by_words() {
        let broader = |path: &str| Shapes::of(path).broader;
        assert_eq!(broader("/news/2026/one"), broader("/news/17/two"));
        assert_eq!(broader("/w?title=Foo&action=edit"), broader("/w?action=raw&title=Bar"));
        let [names, path, folder] = broader("/w?title=Foo");
        assert_ne!(names, broader("/w?title=Foo&action=edit")[0]);
        assert_eq!([path, folder], broader("/w?oldid=7")[1..]);
        assert_eq!(folder, broader("/other?title=Foo")[2]);
        let [folder, first, _] = broader("/a/x/y/x/item");
        assert_ne!(folder, broader("/a/y/x/item")[0]);
        assert!(first.is_some() && first == broader("/a/y/item")[1]);
        assert_eq!(broader("/a/item")[1], None);
        assert_ne!(broader("/about")[0], broader("/a/about")[0]);
        let own = |path: &str| Shapes::of(path).own;
        assert_eq!((own("/about"), own("/?q=cat")), (None, None));
        assert_eq!(own("/item-7"), Some(shape_hash("/item-12")));
        assert_eq!(own("/item-0"), own("/item-12"));
        assert_eq!(
            Shapes::of("/item-7").iter().map(|(_, is)| is).collect::<Vec<_>>(),
            [false, true]
        );
    }

    proptest! {
        #[test]
        fn a_shape_is_never_longer_than_its_path(text in "([/%0-9a-gé]|\\PC){0,30}") {
            prop_assert!(shape_of(&text).0.len() <= text.len());
            let shapes = Shapes::of(&text);
            prop_assert!((1..=1 + MAX_BROADER).contains(&shapes.iter().count()));
        }
    }
}
