//! The one font of SVG text: Liberation Sans Regular, which has the widths of Arial.
//!
//! Every family, weight and style gets this face, so that text looks the same on every machine; no
//! font of the system is read. The font is in the program (fonts/, SIL Open Font License 1.1).

use std::sync::{Arc, LazyLock};

use resvg::usvg::{FontResolver, Options, fontdb};

static FONT: &[u8] = include_bytes!("../../fonts/LiberationSans-Regular.ttf");

/// The font as usvg wants it. Reading its tables takes a while, so it is done once.
static FONTS: LazyLock<Arc<fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_source(fontdb::Source::Binary(Arc::new(FONT)));
    Arc::new(fonts)
});

/// Returns options that know the one font.
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
