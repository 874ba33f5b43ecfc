//! The title of a tab: a page's title made safe to show.
//!
//! Owns design.md's rule: at most 300 characters, never cut inside a grapheme; control and
//! bidi-override characters out (rules.md 2.6). Must not know where titles come from.

use unicode_segmentation::UnicodeSegmentation;

/// Characters (code points) of a title at most.
pub const MAX_TITLE_CHARACTERS: usize = 300;

/// `title` as a tab shows it, `None` where nothing visible is left. What it returns it leaves as
/// it is.
#[must_use]
pub fn tab_title(title: &str) -> Option<String> {
    let shown: String = title.chars().filter(|&c| !is_unsafe(c)).collect();
    let shown = cut(shown.trim());
    shown.chars().any(is_visible).then(|| shown.to_owned())
}

/// C0, C1 and what turns the direction of text (embeddings, overrides, isolates).
fn is_unsafe(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

fn is_visible(c: char) -> bool {
    let zero_width = matches!(
        c,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{180E}'
            | '\u{200B}'..='\u{200F}' | '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{206F}'
            | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}'
    );
    !zero_width && !c.is_whitespace()
}

/// The longest run of whole graphemes of at most 300 characters. A first grapheme longer than
/// that is no writing of any language; it is cut at the 300th character.
fn cut(title: &str) -> &str {
    let Some((limit, _)) = title.char_indices().nth(MAX_TITLE_CHARACTERS) else { return title };
    let ends = title.grapheme_indices(true).map(|(at, grapheme)| at + grapheme.len());
    let end = ends.take_while(|&end| end <= limit).last().unwrap_or(limit);
    title[..end].trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_keeps_its_words_and_loses_what_harms() {
        let shown = |title| tab_title(title).unwrap();
        assert_eq!(shown("  Example\u{0}\u{1b}[0m Domain\n"), "Example[0m Domain");
        assert_eq!(shown("pay\u{202E}lap\u{2066}"), "paylap");
        assert_eq!(shown("日本\u{3000}語"), "日本\u{3000}語");
        for nothing in ["", " \n", "\u{200B}\u{FEFF}", "\u{202E}", "\u{AD}\u{2060}"] {
            assert_eq!(tab_title(nothing), None);
        }
    }

    #[test]
    fn a_long_title_is_cut_between_graphemes() {
        let family = "👨‍👩‍👧‍👦";
        let title = family.repeat(100);
        let shown = tab_title(&title).unwrap();
        assert_eq!(shown, family.repeat(300 / 7));
        assert_eq!(tab_title(&"x".repeat(301)).unwrap().len(), 300);
        let one = format!("e{}", "\u{301}".repeat(999));
        assert_eq!(tab_title(&one).unwrap().chars().count(), 300);
        assert_eq!(tab_title(&shown).unwrap(), shown);
    }
}
