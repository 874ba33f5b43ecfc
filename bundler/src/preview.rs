//! The picture that stands for the site where a link to it is shared: rows of real tabs around its
//! name. 1200x630, as those who show links want it.
//!
//! Invariants: the same tabs give the same bytes on one build (the drawing is resvg's); no font is asked for: titles are grey bars of their length, the name is drawn
//! by strokes. Must not know where the tabs come from.

use everytab_icon::{Pixels, decode::decode, png::encode};
use resvg::{
    tiny_skia::{Pixmap, Transform},
    usvg::{Options, Tree},
};

/// The picture's sides.
pub const WIDTH: u32 = 1200;
/// See [`WIDTH`].
pub const HEIGHT: u32 = 630;
const ROW_PX: u32 = 70;
const ROWS: u32 = HEIGHT / ROW_PX;
const TAB_PX: u32 = 200;
/// A row begins left of the picture and ends right of it.
const TABS_A_ROW: u32 = WIDTH / TAB_PX + 1;
/// How many tabs the picture shows.
pub const TABS: usize = (ROWS * TABS_A_ROW) as usize;
/// Strips in the colours of the page's rows.
const STRIPS: [&str; 6] = ["#d8dee8", "#d6e5e6", "#dde8dc", "#e8ded6", "#e0d9e8", "#d9dde9"];
/// "EveryTab" in strokes: where each letter begins, and its way.
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

/// One tab of the picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviewTab {
    /// Its icon, a PNG of at most 32x32.
    pub icon: Vec<u8>,
    /// Characters of its title.
    pub title_chars: usize,
}

/// Where tab `i` stands: left edge (it may be negative) and top.
fn place(i: usize) -> (i32, i32) {
    let (row, column) = (i as i32 / TABS_A_ROW as i32, i as i32 % TABS_A_ROW as i32);
    let shift = (row * 73 + 40) % TAB_PX as i32;
    (column * TAB_PX as i32 - shift, row * ROW_PX as i32)
}

/// Draws the picture of `tabs`; fewer than [`TABS`] are repeated. None: there is no tab to show.
#[must_use]
pub fn draw(tabs: &[PreviewTab]) -> Option<Vec<u8>> {
    if tabs.is_empty() {
        return None;
    }
    let shown: Vec<&PreviewTab> = tabs.iter().cycle().take(TABS).collect();
    let mut canvas = Pixmap::new(WIDTH, HEIGHT)?;
    render(&ground(&shown), &mut canvas)?;
    for (i, tab) in shown.iter().enumerate() {
        let Ok((_, icon)) = decode(&tab.icon) else { continue };
        let (left, top) = place(i);
        paste(&mut canvas, &icon, left + 18, top + 12);
    }
    render(&name(), &mut canvas)?;
    let opaque = canvas.data().to_vec();
    Some(encode(&Pixels::new(WIDTH, HEIGHT, opaque)?))
}

fn render(svg: &str, canvas: &mut Pixmap) -> Option<()> {
    let tree = Tree::from_str(svg, &Options::default()).ok()?;
    resvg::render(&tree, Transform::identity(), &mut canvas.as_mut());
    Some(())
}

fn ground(tabs: &[&PreviewTab]) -> String {
    let mut svg =
        format!("<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{HEIGHT}'>");
    for row in 0..ROWS {
        let (y, strip) = (row * ROW_PX, STRIPS[row as usize % STRIPS.len()]);
        let toolbar = y + ROW_PX - 10;
        svg += &format!("<path fill='{strip}' d='M0 {y}h{WIDTH}v{ROW_PX}H0z'/>");
        svg += &format!("<path fill='#fff' d='M0 {toolbar}h{WIDTH}v10H0z'/>");
    }
    for (i, tab) in tabs.iter().enumerate() {
        let (left, top) = place(i);
        let (row, column) = (i as u32 / TABS_A_ROW, i as u32 % TABS_A_ROW);
        let active = column == (row * 3 + 1) % TABS_A_ROW;
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
    for (x, way) in NAME {
        svg += &format!("<path transform='translate({x} 0)' d='{way}'/>");
    }
    svg + "</g></svg>"
}

/// Lays an icon over the (opaque) canvas.
fn paste(canvas: &mut Pixmap, icon: &Pixels, left: i32, top: i32) {
    let (left, top) =
        (left + (32 - icon.width() as i32) / 2, top + (32 - icon.height() as i32) / 2);
    let data = canvas.data_mut();
    for (i, [red, green, blue, alpha]) in icon.iter().enumerate() {
        let x = left + (i as u32 % icon.width()) as i32;
        let y = top + (i as u32 / icon.width()) as i32;
        if !(0..WIDTH as i32).contains(&x) || !(0..HEIGHT as i32).contains(&y) {
            continue;
        }
        let at = (y as usize * WIDTH as usize + x as usize) * 4;
        for (below, above) in data[at..at + 3].iter_mut().zip([red, green, blue]) {
            let mixed =
                u32::from(above) * u32::from(alpha) + u32::from(*below) * (255 - u32::from(alpha));
            *below = ((mixed + 127) / 255) as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tab(red: u8) -> PreviewTab {
        let pixels = Pixels::new(32, 32, [red, 20, 200, 255].repeat(32 * 32)).unwrap();
        PreviewTab { icon: encode(&pixels), title_chars: usize::from(red) }
    }

    #[test]
    fn the_picture_shows_the_tabs_and_is_the_same_each_time() {
        let tabs: Vec<PreviewTab> = (0..40).map(|i| tab(i * 6)).collect();
        let picture = draw(&tabs).unwrap();
        assert_eq!(draw(&tabs).unwrap(), picture);
        let (_, decoded) = decode(&picture).unwrap();
        assert_eq!((decoded.width(), decoded.height()), (WIDTH, HEIGHT));
        assert!(decoded.iter().all(|pixel| pixel[3] == 255));
        let (left, top) = place(1);
        let at = |x: i32, y: i32| decoded.iter().nth((y * WIDTH as i32 + x) as usize).unwrap();
        assert_eq!(at(left + 20, top + 20), [6, 20, 200, 255]);
        assert!(picture.len() < 300_000, "{}", picture.len());
    }

    #[test]
    fn few_tabs_fill_the_picture_and_none_make_none() {
        assert!(draw(&[tab(9)]).is_some());
        assert!(draw(&[]).is_none());
        let broken = PreviewTab { icon: b"not a png".to_vec(), title_chars: 5 };
        assert!(draw(&[broken]).is_some());
    }
}
