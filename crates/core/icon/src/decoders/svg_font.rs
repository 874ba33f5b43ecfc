//! The only font for SVG text: Liberation Sans Regular, whose characters are as wide as Arial's.
//!
//! Every family, weight and style uses this face, so that text looks the same on every machine;
//! system fonts are not read. The program contains the font (fonts/, SIL Open Font License 1.1),
//! but no emoji font (docs/decisions/0096).

use std::sync::{Arc, LazyLock};

use resvg::usvg::{FontResolver, Options, fontdb};

static FONT: &[u8] = include_bytes!("../../fonts/LiberationSans-Regular.ttf");

/// The font as a database for usvg. It is created once, because reading its tables takes a while.
static FONTS: LazyLock<Arc<fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_source(fontdb::Source::Binary(Arc::new(FONT)));
    Arc::new(fonts)
});

/// Returns options with this font only.
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

/// Returns the reason for rejecting an SVG with this text, if the font lacks a glyph for it.
pub(crate) fn missing_glyph(text: &str) -> &'static str {
    // Emoji, symbol blocks that include emoji, and the characters that turn digits into emoji.
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
