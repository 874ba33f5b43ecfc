//! The only font for text in SVGs: Liberation Sans Regular, because its characters are as wide as
//! those of Arial. Text looks the same on every machine. There is no emoji font
//! (docs/decisions/0096).

use std::sync::{Arc, LazyLock};

use resvg::usvg::{FontResolver, Options, fontdb};

static FONT: &[u8] = include_bytes!("../../fonts/LiberationSans-Regular.ttf");

/// Created only once, because parsing the font's tables is slow.
static FONTS: LazyLock<Arc<fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_source(fontdb::Source::Binary(Arc::new(FONT)));
    Arc::new(fonts)
});

pub(crate) fn options() -> Options<'static> {
    Options {
        font_resolver: FontResolver {
            select_font: Box::new(|_, fonts| fonts.faces().next().map(|face| face.id)),
            select_fallback: Box::new(|_, _, _| None),
        },
        fontdb: Arc::clone(&FONTS),
        ..Options::default()
    }
}

/// Returns the reason for rejecting an SVG if the font lacks a glyph for `text`.
pub(crate) fn missing_glyph(text: &str) -> &'static str {
    // These are emoji, symbol blocks that include emoji, and the characters that convert digits to
    // emoji.
    let is_emoji = |c| {
        matches!(c, '\u{1f000}'..='\u{1faff}' | '\u{2600}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}')
            || matches!(c, '\u{fe0f}' | '\u{20e3}')
    };
    if text.chars().any(is_emoji) {
        "an emoji or symbol that the font lacks"
    } else {
        "text that the font lacks"
    }
}
