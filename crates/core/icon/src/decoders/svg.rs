//! Draws SVG with resvg, at exactly the size of a tab icon.
//!
//! An untrusted SVG may draw shapes, text with the bundled font, and embedded pictures, but cannot
//! load files or remote URLs. `svg_cost` and `svg_walk` limit its drawing work.
//!
//! resvg draws with 32-bit floats, whose results IEEE 754 defines exactly, except for a few libm
//! calls. So a build gives the same pixels on all machines with the same libm.

use resvg::{
    tiny_skia::{Color, Pixmap, Transform},
    usvg::{
        Tree,
        roxmltree::{Document, ParsingOptions},
    },
};

use super::{
    svg_boxes, svg_cost,
    svg_edges::Canvas,
    svg_images::{self, Budget, ReadNested},
    svg_references::with_known_references,
    svg_walk::count_tree,
    svg_work::{SvgWork, refused},
    svg_writer::written,
};
use crate::{
    error::IconError,
    format::Format,
    limits::TAB_ICON_PIXELS,
    pixels::{Pixels, divide_by_alpha},
    scale::fit,
    sniff::svg_root::{MAX_SVG_BYTES, text},
};

/// Maximum XML nodes in a document after expanding entities. Parsing fails beyond this limit.
const MAX_XML_NODES: u32 = 20_000;

/// Number of samples per pixel along a side that is only one pixel long. With a single sample,
/// tiny-skia would lose thin lines.
const THIN_SAMPLES: u32 = 8;

/// Draws an SVG to fit 32x32 pixels. Small SVGs are enlarged, because vector graphics lose no
/// quality when scaled.
pub(crate) fn decode(bytes: &[u8]) -> Result<Pixels, IconError> {
    let (drawing, _) = counted(bytes)?;
    let corrupt = || corrupt("width or height out of range");
    let (width, height, [across, down]) = (drawing.width, drawing.height, drawing.samples);
    let mut canvas = Pixmap::new(width * across, height * down).ok_or_else(corrupt)?;
    if let Some(svgtypes::Color { red, green, blue, alpha }) = drawing.background {
        canvas.fill(Color::from_rgba8(red, green, blue, alpha));
    }
    resvg::render(&drawing.tree, drawing.transform, &mut canvas.as_mut());
    let pixels = canvas.data().as_chunks::<4>().0;
    let rgba = if across * down == 1 {
        pixels.iter().flat_map(straight).collect()
    } else {
        let at = |x: u32, y: u32| pixels[(y * width * across + x) as usize].map(u32::from);
        let mean = |index: u32| {
            let (left, top) = (index % width * across, index / width * down);
            let samples = (0..across * down).map(|it| at(left + it % across, top + it / across));
            let sums = samples.fold([0; 4], |sums, it| [0, 1, 2, 3].map(|c| sums[c] + it[c]));
            straight(&sums.map(|sum: u32| (sum / (across * down)) as u8))
        };
        (0..width * height).flat_map(mean).collect()
    };
    Pixels::new(width, height, rgba).ok_or_else(corrupt)
}

/// Returns the work units for drawing an SVG, at most [`MAX_SVG_WORK`].
///
/// [`MAX_SVG_WORK`]: crate::MAX_SVG_WORK
///
/// # Errors
/// Returns [`IconError::SvgRefused`] if the work exceeds the limit, or if the SVG uses an
/// unsupported feature. Returns `Corrupt` if the SVG cannot be parsed.
pub fn svg_work(bytes: &[u8]) -> Result<u64, IconError> {
    counted(bytes).map(|(_, units)| units)
}

struct Drawing {
    tree: Tree,
    background: Option<svgtypes::Color>,
    transform: Transform,
    width: u32,
    height: u32,
    samples: [u32; 2],
}

fn counted(bytes: &[u8]) -> Result<(Drawing, u64), IconError> {
    if bytes.len() > MAX_SVG_BYTES {
        return Err(IconError::SvgRefused { reason: "more than 512 KiB" });
    }
    let budget = Budget::default();
    let (tree, background) = read(bytes, &budget, Some(read_nested))?;
    let size = tree.size();
    // Round to 1/1000 pixel, so that a square does not become oblong because of float errors.
    let thousandths = |side: f32| ((side * 1000.0).round() as u32).max(1);
    let (width, height) =
        fit(thousandths(size.width()), thousandths(size.height()), TAB_ICON_PIXELS, true);
    let samples = [width, height].map(|side| if side == 1 { THIN_SAMPLES } else { 1 });
    let canvas =
        Canvas { width: (width * samples[0]) as f32, height: (height * samples[1]) as f32 };
    let transform =
        Transform::from_scale(canvas.width / size.width(), canvas.height / size.height());
    let units = budget.with(|work| {
        count_tree(&tree, transform, canvas, work)?;
        Ok(work.units())
    })?;
    Ok((Drawing { tree, background, transform, width, height, samples }, units))
}

fn read_nested(bytes: &[u8], budget: &Budget) -> Result<Tree, IconError> {
    read(bytes, budget, None).map(|(tree, _)| tree)
}

fn read(
    bytes: &[u8],
    budget: &Budget,
    nested: Option<ReadNested>,
) -> Result<(Tree, Option<svgtypes::Color>), IconError> {
    let text = text(bytes);
    let mut document = budget.with(|work| parsed(&text, work))?;
    let written = budget.with(|work| written(&document, read_to_measure, work))?;
    if let Some(text) = &written.text {
        document = budget.with(|work| parsed(text, work))?;
    }
    let mended = budget.with(|work| mended(&document, work))?;
    if let Some(text) = &mended {
        document = budget.with(|work| parsed(text, work))?;
    }
    let options = svg_images::options(budget, nested);
    let tree = Tree::from_xmltree(&document, &options);
    budget.check()?;
    Ok((tree.map_err(corrupt)?, written.background))
}

/// Parses a document without its embedded pictures, to measure its elements.
fn read_to_measure(text: &str, work: &mut SvgWork) -> Result<Tree, IconError> {
    let mut document = parsed(text, work)?;
    let mended = mended(&document, work)?;
    if let Some(text) = &mended {
        document = parsed(text, work)?;
    }
    Tree::from_xmltree(&document, &svg_boxes::options()).map_err(corrupt)
}

/// Changes references so that usvg follows them as browsers do. `None` if nothing changes.
fn mended(document: &Document, work: &mut SvgWork) -> Result<Option<String>, IconError> {
    let circles = svg_cost::check_document(document, work)?;
    let mended = with_known_references(document, &circles, work)?;
    if let Some(text) = &mended
        && !svg_cost::check_document(&parsed(text, work)?, work)?.is_empty()
    {
        return Err(refused("a reference to itself"));
    }
    Ok(mended)
}

fn parsed<'a>(text: &'a str, work: &mut SvgWork) -> Result<Document<'a>, IconError> {
    svg_cost::check_text(text, work)?;
    let options =
        ParsingOptions { allow_dtd: true, nodes_limit: MAX_XML_NODES, ..Default::default() };
    Document::parse_with_options(text, options).map_err(corrupt)
}

fn corrupt(reason: impl std::fmt::Display) -> IconError {
    IconError::corrupt(Format::Svg, reason)
}

fn straight(pixel: &[u8; 4]) -> [u8; 4] {
    let mut pixel = *pixel;
    divide_by_alpha(&mut pixel);
    pixel
}
