//! Draws SVG with resvg, at exactly the size of a tab icon.
//!
//! Defines what an untrusted SVG may do: draw shapes, text with the bundled font, and embedded
//! pictures. It loads no file and no URL; `svg_cost` and `svg_walk` bound bytes, elements, nesting
//! and drawing by counted work. resvg draws with 32-bit floats in IEEE-exact code, except for a few
//! calls of libm (arcs, rotations; in filters gamma, lights, hue-rotate). So one build gives the
//! same pixels on every machine with the same libm. Across architectures this is not proved, but
//! the digest of the test vectors guards it. Measured: 741 real SVGs give the same PNGs from builds
//! for SSE2 alone and for AVX2 with FMA.

use resvg::{
    tiny_skia::{Color, Pixmap, Transform},
    usvg::{
        Tree,
        roxmltree::{Document, ParsingOptions},
    },
};

use super::{
    svg_cost,
    svg_css::with_known_css,
    svg_edges::Canvas,
    svg_images::{self, Budget, ReadNested},
    svg_references::with_known_references,
    svg_style::background_of,
    svg_walk::count_tree,
    svg_work::{SvgWork, refused},
};
use crate::{
    error::IconError,
    format::Format,
    limits::TAB_ICON_PIXELS,
    pixels::Pixels,
    scale::fit,
    sniff::svg_root::{MAX_SVG_BYTES, text},
};

/// Maximum number of XML nodes in a document after expanding entities, equal to the number of
/// elements that may be drawn.
const MAX_XML_NODES: u32 = 20_000;

/// Draws an SVG to fit 32x32 pixels, with its aspect ratio. Small ones are enlarged, because
/// vectors lose nothing by it.
pub(crate) fn decode(bytes: &[u8]) -> Result<Pixels, IconError> {
    let (drawing, _) = counted(bytes)?;
    let corrupt = || corrupt("sides out of range");
    let mut canvas = Pixmap::new(drawing.width, drawing.height).ok_or_else(corrupt)?;
    if let Some(svgtypes::Color { red, green, blue, alpha }) = drawing.background {
        canvas.fill(Color::from_rgba8(red, green, blue, alpha));
    }
    resvg::render(&drawing.tree, drawing.transform, &mut canvas.as_mut());
    let pixels = canvas.data().as_chunks::<4>().0;
    let rgba = pixels.iter().flat_map(straight).collect();
    Pixels::new(drawing.width, drawing.height, rgba).ok_or_else(corrupt)
}

/// Returns the units of work that drawing an SVG takes, at most [`MAX_SVG_WORK`].
///
/// [`MAX_SVG_WORK`]: crate::MAX_SVG_WORK
///
/// # Errors
/// Returns [`IconError::SvgRefused`] if it exceeds the limit or the SVG uses an unsupported
/// feature; `Corrupt` if it cannot be read.
pub fn svg_work(bytes: &[u8]) -> Result<u64, IconError> {
    counted(bytes).map(|(_, units)| units)
}

/// A picture that passed all checks.
struct Drawing {
    tree: Tree,
    /// The colour behind the picture.
    background: Option<svgtypes::Color>,
    transform: Transform,
    width: u32,
    height: u32,
}

/// Reads an SVG and counts its work, without drawing it.
fn counted(bytes: &[u8]) -> Result<(Drawing, u64), IconError> {
    if bytes.len() > MAX_SVG_BYTES {
        return Err(IconError::SvgRefused { reason: "more than 512 KiB" });
    }
    let budget = Budget::default();
    let (tree, background) = read(bytes, &budget, Some(read_nested))?;
    let size = tree.size();
    // Sides are rounded to 1/1000 pixel, so that rounding never makes a square oblong.
    let thousandths = |side: f32| ((side * 1000.0).round() as u32).max(1);
    let (width, height) =
        fit(thousandths(size.width()), thousandths(size.height()), TAB_ICON_PIXELS, true);
    let transform =
        Transform::from_scale(width as f32 / size.width(), height as f32 / size.height());
    let canvas = Canvas { width: width as f32, height: height as f32 };
    let units = budget.with(|work| {
        count_tree(&tree, transform, canvas, work)?;
        Ok(work.units())
    })?;
    Ok((Drawing { tree, background, transform, width, height }, units))
}

/// Reads an SVG that is embedded in another one.
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
    let styled = budget.with(|work| with_known_css(&text, &document, work))?;
    if let Some(styled) = &styled {
        document = budget.with(|work| parsed(styled, work))?;
    }
    let mended = budget.with(|work| mended(&document, work))?;
    if let Some(text) = &mended {
        document = budget.with(|work| parsed(text, work))?;
    }
    let options = svg_images::options(budget, nested);
    let tree = Tree::from_xmltree(&document, &options);
    budget.check()?;
    Ok((tree.map_err(corrupt)?, background_of(document.root_element())))
}

/// Pays for a document. Returns its text with references that usvg follows as browsers do; `None` if
/// nothing has to change.
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

/// Converts a pixel to straight alpha.
fn straight(pixel: &[u8; 4]) -> [u8; 4] {
    let [red, green, blue, alpha] = pixel.map(u32::from);
    let unmultiplied = |c: u32| ((c * 255 + alpha / 2).checked_div(alpha).unwrap_or(0)).min(255);
    let [red, green, blue] = [red, green, blue].map(|c| unmultiplied(c) as u8);
    [red, green, blue, pixel[3]]
}
