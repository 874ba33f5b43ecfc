//! The preview picture for shared links to the site: rows of real tabs around the site's name.
//!
//! Equal tabs give equal bytes on every host with the same build, because the picture uses no
//! fonts: titles are grey bars, and words are drawn as strokes.

use base64::{Engine, engine::general_purpose::STANDARD};
use resvg::{
    tiny_skia::{Pixmap, Transform},
    usvg::{Options, Tree},
};

use crate::{published_bundle::PublishedBundle, stroke_letters};

/// The picture's width in pixels.
pub const WIDTH: u32 = 1200;
/// The picture's height in pixels.
pub const HEIGHT: u32 = 630;
const ROW_PX: u32 = 70;
const ROWS: u32 = HEIGHT / ROW_PX;
const TAB_PX: u32 = 200;
/// Tabs per row. A row starts outside the picture's left edge and ends outside its right edge.
const TABS_PER_ROW: u32 = WIDTH / TAB_PX + 1;
/// Tabs in the picture.
pub const TABS: usize = (ROWS * TABS_PER_ROW) as usize;
/// Publishing reads at most this many bundles for the picture. If a scan has few icons, reading all
/// bundles is not worth the time.
pub const MAX_BUNDLES: u64 = 32;
const STRIP_COLOURS: [&str; 6] = ["#d8dee8", "#d6e5e6", "#dde8dc", "#e8ded6", "#e0d9e8", "#d9dde9"];
const SENTENCE: &str = "Every website on the internet, one tab each";

/// A tab icon's pixels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviewIcon {
    /// Width in pixels, at most 32.
    pub width: u32,
    /// Height in pixels, at most 32.
    pub height: u32,
    /// Each pixel's red, green, blue and straight alpha, row by row.
    pub rgba: Vec<u8>,
}

/// One tab in the picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviewTab {
    /// The icon. `None` if it cannot be decoded.
    pub icon: Option<PreviewIcon>,
    /// The title's length in characters.
    pub title_chars: usize,
}

/// Iterates over the tabs with an icon. Yields the icon's PNG and the title's length in characters.
pub fn icons_of(bundle: &PublishedBundle) -> impl Iterator<Item = (Vec<u8>, usize)> + '_ {
    bundle.icons_and_titles().filter_map(|(icon, title)| {
        let png = STANDARD.decode(icon).ok()?;
        Some((png, title.chars().count()))
    })
}

/// Returns a tab's left and top coordinates. The left one may be negative.
fn corner_of(i: usize) -> (i32, i32) {
    let (row, column) = (i as i32 / TABS_PER_ROW as i32, i as i32 % TABS_PER_ROW as i32);
    let shift = (row * 73 + 40) % TAB_PX as i32;
    (column * TAB_PX as i32 - shift, row * ROW_PX as i32)
}

/// Draws the picture with `tabs`, which are repeated if there are too few. `all_tabs` is the site's
/// tab count. Returns opaque RGBA pixels. `None` if there are no tabs to show.
#[must_use]
pub fn draw(tabs: &[PreviewTab], all_tabs: u64) -> Option<Vec<u8>> {
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
    render(&card(all_tabs), &mut canvas)?;
    // All pixels are opaque, so premultiplied values equal straight ones.
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
        let y = row * ROW_PX;
        let strip = STRIP_COLOURS[row as usize % STRIP_COLOURS.len()];
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

fn card(all_tabs: u64) -> String {
    let mut svg = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{HEIGHT}'>\
         <rect x='106' y='138' width='988' height='360' rx='32' fill='#000' fill-opacity='.07'/>\
         <rect x='110' y='140' width='980' height='354' rx='30' fill='#fff'/>\
         <g transform='translate(190 168)'>\
         <rect y='4' width='124' height='104' rx='22' fill='#1a73e8'/>\
         <path fill='#fff' d='M18 108V62q0-20 20-20h48q20 0 20 20v46z'/></g>"
    );
    svg += &line("EveryTab", 672, 174, 1.0, 15, "#1f2328");
    let noun = if all_tabs == 1 { "tab" } else { "tabs" };
    svg += &line(&format!("{} {noun}", grouped(all_tabs)), 600, 342, 0.6, 14, "#1a73e8");
    svg += &line(SENTENCE, 600, 436, 0.27, 12, "#515963");
    svg + "</svg>"
}

/// Draws text that is centred at the x coordinate `middle`. Its capitals start at `top`.
fn line(text: &str, middle: u32, top: u32, scale: f64, stroke: u32, colour: &str) -> String {
    let (paths, width) = stroke_letters::paths(text);
    let left = f64::from(middle) - f64::from(width) * scale / 2.0;
    format!(
        "<g transform='translate({left} {top}) scale({scale})' fill='none' stroke='{colour}' \
         stroke-width='{stroke}' stroke-linecap='round' stroke-linejoin='round'>{paths}</g>"
    )
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let mut text = String::from(&digits[..first]);
    for (at, digit) in digits.char_indices().skip(first) {
        if at > 0 && (at - first).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

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
        let picture = draw(&tabs, 30_112_334).unwrap();
        assert_eq!(draw(&tabs, 30_112_334).unwrap(), picture);
        assert_eq!(picture.len(), (WIDTH * HEIGHT * 4) as usize);
        assert!(picture.chunks_exact(4).all(|pixel| pixel[3] == 255));
        let (left, top) = corner_of(1);
        let at = ((top + 20) * WIDTH as i32 + left + 20) as usize * 4;
        assert_eq!(picture[at..at + 4], [6, 20, 200, 255]);
    }

    #[test]
    fn few_tabs_fill_the_picture_and_none_make_none() {
        assert!(draw(&[tab(9)], 1).is_some());
        assert!(draw(&[], 0).is_none());
        assert!(draw(&[PreviewTab { icon: None, title_chars: 5 }], 1).is_some());
    }

    #[test]
    fn the_number_of_tabs_is_in_the_picture() {
        let picture = |count| draw(&[tab(9)], count).unwrap();
        let few = picture(30_112_334);
        let differing: Vec<usize> = few
            .chunks_exact(4)
            .zip(picture(41_112_334).chunks_exact(4))
            .enumerate()
            .filter(|(_, (one, other))| one != other)
            .map(|(i, _)| i / WIDTH as usize)
            .collect();
        assert!(differing.len() > 100, "{} pixels", differing.len());
        assert!(differing.iter().all(|row| (320..=420).contains(row)), "only in its line");
    }

    #[test]
    fn numbers_have_a_comma_before_each_group_of_three_digits() {
        for (number, text) in [
            (0, "0"),
            (12, "12"),
            (123, "123"),
            (1_234, "1,234"),
            (30_112_334, "30,112,334"),
            (u64::MAX, "18,446,744,073,709,551,615"),
        ] {
            assert_eq!(grouped(number), text);
        }
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
