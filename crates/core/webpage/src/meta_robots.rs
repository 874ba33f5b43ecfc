//! Reads a page's robots directives from `meta` elements and `X-Robots-Tag` headers ("Robots meta
//! tag, data-nosnippet, and X-Robots-Tag specifications" in Google Search Central).

use serde::Serialize;

use crate::header_values::{HeaderList, isomorphic, lines};

/// Directives with a value after a colon. Other names before a colon are product tokens of robots.
const WITH_VALUE: [&str; 4] =
    ["unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"];

/// Maximum bytes to read from a header field. Real ones have less than a hundred.
const MAX_LINE_BYTES: usize = 4 << 10;

/// Prohibitions for robots.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct RobotsDirectives {
    /// `noindex` or `none`: searches must not find this page.
    pub is_noindex: bool,
    /// `nofollow` or `none`: robots must not follow the links on this page.
    pub is_nofollow: bool,
    /// `noarchive`: copies of this page must not be kept or shown.
    pub is_noarchive: bool,
}

impl RobotsDirectives {
    /// Parses the `content` of a robots `meta` element.
    #[must_use]
    pub fn of_meta(content: &str) -> Self {
        content.split([',', ';']).map(Self::of_piece).fold(Self::default(), Self::with)
    }

    /// Parses `X-Robots-Tag` fields. A name such as `otherbot:` limits the directives after it to
    /// that robot.
    #[must_use]
    pub fn of_headers(headers: &[(String, Vec<u8>)], robot: &str) -> Self {
        let headers: &HeaderList = headers;
        let mut all = Self::default();
        for line in lines(headers, "x-robots-tag") {
            let line = isomorphic(line.get(..MAX_LINE_BYTES).unwrap_or(line));
            let mut is_ours = true;
            for piece in line.split(',') {
                let mut said = piece;
                if let Some((name, rest)) = piece.split_once(':') {
                    let name = name.trim_ascii();
                    if is_robot(name) {
                        is_ours = name.eq_ignore_ascii_case(robot);
                        said = rest;
                    }
                }
                if is_ours {
                    all = all.with(Self::of_piece(said));
                }
            }
        }
        all
    }

    /// Returns the union of the prohibitions.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            is_noindex: self.is_noindex | other.is_noindex,
            is_nofollow: self.is_nofollow | other.is_nofollow,
            is_noarchive: self.is_noarchive | other.is_noarchive,
        }
    }

    /// Parses a piece without commas. Directives may also be separated by spaces.
    fn of_piece(piece: &str) -> Self {
        // A directive's value is not a directive, as in `max-image-preview: none`.
        if piece.contains(':') {
            return Self::default();
        }
        let mut found = Self::default();
        for word in piece.split_ascii_whitespace() {
            let is = |name: &str| word.eq_ignore_ascii_case(name);
            found.is_noindex |= is("noindex") || is("none");
            found.is_nofollow |= is("nofollow") || is("none");
            found.is_noarchive |= is("noarchive");
        }
        found
    }
}

fn is_robot(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'*');
    !name.is_empty()
        && name.bytes().all(is_part)
        && !WITH_VALUE.iter().any(|directive| name.eq_ignore_ascii_case(directive))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters(said: RobotsDirectives) -> String {
        let flags = [(said.is_noindex, 'i'), (said.is_nofollow, 'f'), (said.is_noarchive, 'a')];
        flags.iter().filter(|(is_set, _)| *is_set).map(|(_, letter)| letter).collect()
    }

    #[test]
    fn a_meta_element_sets_its_directives() {
        for (content, expected) in [
            ("", ""),
            ("index, follow", ""),
            ("all", ""),
            ("noindex", "i"),
            ("NOINDEX,NOFOLLOW", "if"),
            (" noindex ; nofollow ", "if"),
            ("noindex nofollow noarchive", "ifa"),
            ("none", "if"),
            ("none, noarchive", "ifa"),
            ("index, noindex", "i"),
            ("max-image-preview:none", ""),
            ("max-image-preview: none, noarchive", "a"),
            ("noindexed, nofollows", ""),
            ("unavailable_after: 25-Aug-2007 15:00:00 EST, nofollow", "f"),
        ] {
            assert_eq!(letters(RobotsDirectives::of_meta(content)), expected, "{content}");
        }
    }

    #[test]
    fn a_header_applies_to_all_robots_or_to_the_named_one() {
        for (fields, expected) in [
            (&[][..], ""),
            (&["noindex"], "i"),
            (&["noindex, nofollow", "noarchive"], "ifa"),
            (&["otherbot: noindex, nofollow"], ""),
            (&["everytabbot: noindex, nofollow"], "if"),
            (&["otherbot: none", "nofollow"], "f"),
            (&["otherbot: none, EveryTabBot: noarchive, nofollow"], "fa"),
            (&["nofollow, otherbot: noindex"], "f"),
            (&["unavailable_after: 25 Jun 2010 15:00:00 PST, noarchive"], "a"),
            (&["unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT, noindex"], "i"),
            (&["max-snippet: 5, max-image-preview: none"], ""),
            (&[": noindex", "", ",,:,"], ""),
        ] {
            let headers: Vec<_> = fields
                .iter()
                .map(|field| ("X-Robots-Tag".to_owned(), field.as_bytes().to_vec()))
                .collect();
            let found = RobotsDirectives::of_headers(&headers, "EveryTabBot");
            assert_eq!(letters(found), expected, "{fields:?}");
        }
        let other = [("x-robots".to_owned(), b"noindex".to_vec())];
        assert_eq!(RobotsDirectives::of_headers(&other, "EveryTabBot"), Default::default());
    }
}
