//! Reads a page's title (WHATWG HTML 3.1.5), and makes it safe to show in a tab.

use serde::Serialize;
use unicode_segmentation::UnicodeSegmentation;

use crate::{charset::Charset, markup::TitleSpan};

/// Maximum bytes to read from a title element. An unclosed title contains everything after it.
const MAX_SOURCE_BYTES: usize = 64 << 10;

/// Maximum length of a tab's title in Unicode scalar values. Longer titles are truncated.
pub const MAX_TAB_TITLE_CHARACTERS: usize = 300;

/// Whether a page has a title.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TitleState {
    /// The page has a title.
    Ok,
    /// The first title element contains no text.
    Empty,
    /// The page has no title element.
    Absent,
    /// This title is not closed, or is longer than 64 KiB, so it may be incomplete or contain the
    /// rest of the page.
    Truncated,
}

/// A page's title. This may contain characters that are not safe to show, so use [`tab_title`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Title {
    /// Whether there is a title.
    pub state: TitleState,
    /// Text with ASCII whitespace stripped and collapsed. Empty unless the state is `Ok` or
    /// `Truncated`.
    pub text: String,
}

impl Title {
    pub(crate) fn absent() -> Self {
        Self { state: TitleState::Absent, text: String::new() }
    }

    pub(crate) fn from_span(span: &TitleSpan, html: &[u8], charset: &Charset) -> Self {
        let (span, closed) = match span {
            TitleSpan::Absent => return Self::absent(),
            TitleSpan::Empty => return Self { state: TitleState::Empty, text: String::new() },
            TitleSpan::Text { span, closed } => (span, *closed),
        };
        let whole = html.get(span.clone()).unwrap_or_default();
        let source = whole.get(..MAX_SOURCE_BYTES).unwrap_or(whole);
        let is_cut = source.len() < whole.len();
        let decoded = charset.decode_piece(source);
        // The limit may have split a character.
        let decoded = if is_cut { decoded.trim_end_matches('\u{fffd}') } else { &decoded };
        // In RCDATA, NUL becomes U+FFFD (13.2.5.2).
        let decoded = decoded.replace('\0', "\u{fffd}");
        let text = collapsed(&htmlize::unescape(decoded));
        let state = match (text.is_empty(), closed && !is_cut) {
            (true, _) => TitleState::Empty,
            (false, true) => TitleState::Ok,
            (false, false) => TitleState::Truncated,
        };
        Self { state, text }
    }
}

fn collapsed(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for word in text.split(|c: char| c.is_ascii_whitespace()).filter(|word| !word.is_empty()) {
        if !result.is_empty() {
            result.push(' ');
        }
        result.push_str(word);
    }
    result
}

/// Makes a title safe to show in a tab: removes control characters and bidirectional formatting,
/// and truncates it to [`MAX_TAB_TITLE_CHARACTERS`]. Returns "" if nothing visible remains.
#[must_use]
pub fn tab_title(title: &str) -> String {
    let visible: String = title.chars().filter_map(shown).collect();
    let mut title = collapsed(&visible);
    if let Some((limit, _)) = title.char_indices().nth(MAX_TAB_TITLE_CHARACTERS) {
        let mut end = 0;
        for (at, grapheme) in title.grapheme_indices(true) {
            if at + grapheme.len() > limit {
                break;
            }
            end = at + grapheme.len();
        }
        title.truncate(end);
        title.truncate(title.trim_end_matches(' ').len());
    }
    if title.chars().all(is_blank) { String::new() } else { title }
}

fn shown(character: char) -> Option<char> {
    match character {
        '\t' | '\n' | '\x0c' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => Some(' '),
        // Embeddings, overrides and isolates. The marks (200E, 200F, 061C) cannot reorder other
        // text.
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => None,
        control if control.is_control() => None,
        other => Some(other),
    }
}

fn is_blank(character: char) -> bool {
    character.is_whitespace()
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{206f}'
            | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ascii_space_collapses() {
        assert_eq!(collapsed(" a \t\n\x0c\r b "), "a b");
        assert_eq!(collapsed("\u{a0}a\u{3000}\u{3000}b"), "\u{a0}a\u{3000}\u{3000}b");
        assert_eq!(collapsed(" \n"), "");
    }

    #[test]
    fn control_characters_and_bidirectional_overrides_are_removed_from_a_tab_title() {
        assert_eq!(tab_title("a\0b\u{7}c\u{9b}d\u{7f}e"), "abcde");
        assert_eq!(tab_title("a\u{202e}b\u{2066}c\u{2069}"), "abc");
        assert_eq!(tab_title("a\u{2028}b\u{85}c\nd"), "a b c d");
        assert_eq!(tab_title("a\u{0} \u{0}b"), "a b");
        assert_eq!(tab_title("\u{5e9}\u{200f}!"), "\u{5e9}\u{200f}!");
        assert_eq!(tab_title("</script>"), "</script>");
    }

    #[test]
    fn an_invisible_title_is_empty() {
        for invisible in ["", " ", "\u{200b}", "\u{200d}\u{feff} \u{2060}", "\u{a0}", "\u{ad}"] {
            assert_eq!(tab_title(invisible), "", "{invisible:?}");
        }
        assert_eq!(tab_title("\u{200b}a"), "\u{200b}a");
    }

    #[test]
    fn a_long_title_is_cut_between_graphemes() {
        let limit = MAX_TAB_TITLE_CHARACTERS;
        assert_eq!(tab_title(&"a".repeat(limit)), "a".repeat(limit));
        assert_eq!(tab_title(&"é".repeat(limit + 1)), "é".repeat(limit));
        // e and a combining acute: two scalar values, one grapheme.
        let combining = "e\u{301}".repeat(limit);
        assert_eq!(tab_title(&combining), "e\u{301}".repeat(limit / 2));
        let odd = format!("a{combining}");
        assert_eq!(tab_title(&odd).chars().count(), limit - 1);
        // One grapheme with seven scalar values does not fit into the remaining six.
        let family = "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}\u{200d}\u{1f466}";
        let title = format!("{}{family}", "a".repeat(limit - 6));
        assert_eq!(tab_title(&title), "a".repeat(limit - 6));
        let title = format!("{} bb", "a".repeat(limit - 1));
        assert_eq!(tab_title(&title), "a".repeat(limit - 1));
        assert_eq!(tab_title(&format!("a{}", "\u{301}".repeat(limit))), "");
    }
}
