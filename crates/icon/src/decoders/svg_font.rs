//! The only font for SVG text: Liberation Sans Regular, which has the widths of Arial.
//!
//! Every family, weight and style uses this face, so that text looks the same on every machine;
//! system fonts are not read. The program contains the font (fonts/, SIL Open Font License 1.1).

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
