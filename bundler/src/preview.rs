//! The picture that a shared link to the site shows: rows of real tabs around the site's name,
//! 1200x630 pixels, as chat programs and search engines expect it.
//!
//! Invariants: the same tabs give the same bytes on every machine of one build (resvg draws without
//! system fonts); no font is used: titles are grey bars of their length, the name is drawn by
//! strokes. Must not know: where bundles are kept, how icons are decoded and pictures encoded.

use base64::{Engine, engine::general_purpose::STANDARD};
use resvg::{
    tiny_skia::{Pixmap, Transform},
    usvg::{Options, Tree},
};

use crate::published_bundle::PublishedBundle;

/// Width of the picture in pixels.
pub const WIDTH: u32 = 1200;
/// Height of the picture in pixels.
pub const HEIGHT: u32 = 630;
const ROW_PX: u32 = 70;
const ROWS: u32 = HEIGHT / ROW_PX;
const TAB_PX: u32 = 200;
/// A row begins left of the picture and ends right of it.
const TABS_PER_ROW: u32 = WIDTH / TAB_PX + 1;
/// How many tabs the picture shows.
pub const TABS: usize = (ROWS * TABS_PER_ROW) as usize;
/// Most bundles that are read for the picture: a scan may have few icons, and none of them is
/// worth reading all bundles.
pub const MAX_BUNDLES: u64 = 32;
/// Colours of the strips between the rows, which are those of the page's rows.
const STRIP_COLOURS: [&str; 6] = ["#d8dee8", "#d6e5e6", "#dde8dc", "#e8ded6", "#e0d9e8", "#d9dde9"];
/// "EveryTab" in strokes: the left edge of each letter, and its SVG path.
const NAME: [(u32, &str); 8] = [
    (0, "M52 0H0V100H52M0 48H44"),
    (76, "M0 32 27 100 54 32"),
    (148, "M2 64H58A29 34 0 1 0 50 88"),
    (236, "M0 32V100M0 60A30 30 0 0 1 34 33"),
    (286, "M0 32 28 98M56 32 24 114Q18 130 2 128"),
    (362, "M0 0H76M38 0V100"),
    (446, "M54 32V100M54 66A27 34 0 1 1 54 65"),
    (530, "M0 0V100M0 66A27 34 0 1 0 0 65"),
];

/// The pixels of a tab's icon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviewIcon {
    /// Width in pixels, at most 32.
    pub width: u32,
    /// Height in pixels, at most 32.
    pub height: u32,
    /// Red, green, blue and alpha of each pixel, row by row; colours are not multiplied by alpha.
    pub rgba: Vec<u8>,
}

/// One tab of the picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviewTab {
    /// Its icon; `None` where it cannot be decoded.
    pub icon: Option<PreviewIcon>,
    /// Number of characters of its title.
    pub title_chars: usize,
}

/// The tabs of a bundle that the picture may show, which are those with an icon: the PNG of the
/// icon, and the number of characters of the title.
pub fn icons_of(bundle: &PublishedBundle) -> impl Iterator<Item = (Vec<u8>, usize)> + '_ {
    bundle.icons_and_titles().filter_map(|(icon, title)| {
        let png = STANDARD.decode(icon).ok()?;
        Some((png, title.chars().count()))
    })
}

/// The left edge (which may be negative) and the top edge of tab `i`, in pixels.
fn corner_of(i: usize) -> (i32, i32) {
    let (row, column) = (i as i32 / TABS_PER_ROW as i32, i as i32 % TABS_PER_ROW as i32);
    let shift = (row * 73 + 40) % TAB_PX as i32;
    (column * TAB_PX as i32 - shift, row * ROW_PX as i32)
}

/// Draws the picture of `tabs`; fewer than [`TABS`] are repeated. Returns the red, green, blue and
/// alpha of [`WIDTH`] x [`HEIGHT`] opaque pixels, or `None` if there is no tab to show.
#[must_use]
pub fn draw(tabs: &[PreviewTab]) -> Option<Vec<u8>> {
    if tabs.is_empty() {
        return None;
    }
    let shown: Vec<&PreviewTab> = tabs.iter().cycle().take(TABS).collect();
    let mut canvas = Pixmap::new(WIDTH, HEIGHT)?;
    render(&background(&shown), &mut canvas)?;
    for (i, tab) in shown.iter().enumerate() {
        let Some(icon) = &tab.icon else { continue };
        let (left, top) = corner_of(i);
        paste(&mut canvas, icon, left + 18, top + 12);
    }
    render(&name(), &mut canvas)?;
    // All pixels are opaque, so that multiplying by alpha has changed nothing.
    Some(canvas.data().to_vec())
}

fn render(svg: &str, canvas: &mut Pixmap) -> Option<()> {
    let tree = Tree::from_str(svg, &Options::default()).ok()?;
    resvg::render(&tree, Transform::identity(), &mut canvas.as_mut());
    Some(())
}

fn background(tabs: &[&PreviewTab]) -> String {
    let mut svg =
        format!("<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{HEIGHT}'>");
    for row in 0..ROWS {
        let (y, strip) = (row * ROW_PX, STRIP_COLOURS[row as usize % STRIP_COLOURS.len()]);
        let toolbar = y + ROW_PX - 10;
        svg += &format!("<path fill='{strip}' d='M0 {y}h{WIDTH}v{ROW_PX}H0z'/>");
        svg += &format!("<path fill='#fff' d='M0 {toolbar}h{WIDTH}v10H0z'/>");
    }
    for (i, tab) in tabs.iter().enumerate() {
        let (left, top) = corner_of(i);
        let (row, column) = (i as u32 / TABS_PER_ROW, i as u32 % TABS_PER_ROW);
        let active = column == (row * 3 + 1) % TABS_PER_ROW;
        let (x, y) = (left, top + 6);
        if active {
            svg += &format!(
                "<path fill='#fff' d='M{} {}q10 0 10-10v-34q0-12 12-12h{}\
                 q12 0 12 12v34q0 10 10 10z'/>",
                x - 10,
                y + 56,
                TAB_PX - 24
            );
        } else {
            svg += &format!(
                "<path fill='#000' fill-opacity='.13' d='M{} {}h2v26h-2z'/>",
                left + TAB_PX as i32 - 1,
                top + 18
            );
        }
        let bar = (tab.title_chars * 7).clamp(24, TAB_PX as usize - 84);
        let ink = if active { "#5b6470" } else { "#8d97a4" };
        svg += &format!(
            "<rect x='{}' y='{}' width='{bar}' height='10' rx='5' fill='{ink}'/>",
            left + 62,
            top + 25
        );
    }
    svg + "</svg>"
}

fn name() -> String {
    let mut svg = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{HEIGHT}'>\
         <rect x='136' y='206' width='928' height='218' rx='32' fill='#000' fill-opacity='.07'/>\
         <rect x='140' y='208' width='920' height='212' rx='30' fill='#fff'/>\
         <g transform='translate(190 258)'>\
         <rect y='4' width='124' height='104' rx='22' fill='#1a73e8'/>\
         <path fill='#fff' d='M18 108V62q0-20 20-20h48q20 0 20 20v46z'/></g>\
         <g transform='translate(380 264)' fill='none' stroke='#1f2328' stroke-width='15' \
         stroke-linecap='round' stroke-linejoin='round'>"
    );
    for (x, path) in NAME {
        svg += &format!("<path transform='translate({x} 0)' d='{path}'/>");
    }
    svg + "</g></svg>"
}

/// Draws an icon over the (opaque) canvas.
fn paste(canvas: &mut Pixmap, icon: &PreviewIcon, left: i32, top: i32) {
    let (left, top) = (left + (32 - icon.width as i32) / 2, top + (32 - icon.height as i32) / 2);
    let data = canvas.data_mut();
    for (i, pixel) in icon.rgba.chunks_exact(4).enumerate() {
        let x = left + (i as u32 % icon.width) as i32;
        let y = top + (i as u32 / icon.width) as i32;
        if !(0..WIDTH as i32).contains(&x) || !(0..HEIGHT as i32).contains(&y) {
            continue;
        }
        let at = (y as usize * WIDTH as usize + x as usize) * 4;
        let alpha = u32::from(pixel[3]);
        for (below, above) in data[at..at + 3].iter_mut().zip(pixel) {
            let mixed = u32::from(*above) * alpha + u32::from(*below) * (255 - alpha);
            *below = ((mixed + 127) / 255) as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::{self, BundleIcon, Tab};

    fn tab(red: u8) -> PreviewTab {
        let rgba = [red, 20, 200, 255].repeat(32 * 32);
        let icon = Some(PreviewIcon { width: 32, height: 32, rgba });
        PreviewTab { icon, title_chars: usize::from(red) }
    }

    #[test]
    fn the_picture_shows_the_tabs_and_is_the_same_each_time() {
        let tabs: Vec<PreviewTab> = (0..40).map(|i| tab(i * 6)).collect();
        let picture = draw(&tabs).unwrap();
        assert_eq!(draw(&tabs).unwrap(), picture);
        assert_eq!(picture.len(), (WIDTH * HEIGHT * 4) as usize);
        assert!(picture.chunks_exact(4).all(|pixel| pixel[3] == 255));
        let (left, top) = corner_of(1);
        let at = ((top + 20) * WIDTH as i32 + left + 20) as usize * 4;
        assert_eq!(picture[at..at + 4], [6, 20, 200, 255]);
    }

    #[test]
    fn few_tabs_fill_the_picture_and_none_make_none() {
        assert!(draw(&[tab(9)]).is_some());
        assert!(draw(&[]).is_none());
        assert!(draw(&[PreviewTab { icon: None, title_chars: 5 }]).is_some());
    }

    #[test]
    fn only_tabs_with_an_icon_are_shown() {
        let tab = |icon| Tab {
            url: "https://a.example".into(),
            title: "é".into(),
            icon,
            iframe_ok: true,
        };
        let icon = BundleIcon { png: vec![1, 2, 3], width: 1, height: 1 };
        let bytes = bundle::write(&[tab(None), tab(Some(icon))]);
        let bundle = PublishedBundle::read(&bytes).unwrap();
        assert_eq!(icons_of(&bundle).collect::<Vec<_>>(), [(vec![1, 2, 3], 1)]);
    }
}
