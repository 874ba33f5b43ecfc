//! Draws SVG with resvg, at exactly the size of a tab icon.
//!
//! Owns what an untrusted SVG may do: draw shapes, nothing else. It loads no file, no URL, no font
//! and no embedded picture, and applies no filter; `svg_cost` bounds bytes, elements, nesting and
//! drawing. resvg draws with 32-bit floats in IEEE-exact code, except for a few calls of libm
//! (arcs, rotations). So one build gives the same pixels on every machine with the same libm.
//! Across architectures this is not proved, but guarded by the digest of the test vectors.
//! Measured: 741 real SVGs give the same PNGs from builds for SSE2 alone and for AVX2 with FMA.

use resvg::{
    tiny_skia::{Pixmap, Transform},
    usvg::{ImageHrefResolver, Options, Tree, roxmltree},
};

use super::svg_cost;
use crate::{
    error::IconError,
    format::Format,
    limits::TAB_ICON_PIXELS,
    pixels::Pixels,
    scale::fit,
    sniff::svg_root::{MAX_SVG_BYTES, text},
};

/// Greatest number of XML nodes of a document after expanding entities. As many as elements that
/// may be drawn.
const MAX_XML_NODES: u32 = 20_000;

/// Draws an SVG to fit 32x32 pixels, with its aspect ratio. Small ones are enlarged, since vectors
/// lose nothing by it.
pub(crate) fn decode(bytes: &[u8]) -> Result<Pixels, IconError> {
    if bytes.len() > MAX_SVG_BYTES {
        return Err(IconError::SvgRefused { reason: "more than 256 KiB" });
    }
    let corrupt = |reason: String| IconError::corrupt(Format::Svg, reason);
    let text = text(bytes);
    svg_cost::check_text(&text)?;
    let parsing = roxmltree::ParsingOptions {
        allow_dtd: true,
        nodes_limit: MAX_XML_NODES,
        ..Default::default()
    };
    let document = roxmltree::Document::parse_with_options(&text, parsing)
        .map_err(|error| corrupt(error.to_string()))?;
    svg_cost::check_document(&document)?;
    let options = Options {
        image_href_resolver: ImageHrefResolver {
            resolve_data: Box::new(|_, _, _| None),
            resolve_string: Box::new(|_, _| None),
        },
        ..Options::default()
    };
    let tree =
        Tree::from_xmltree(&document, &options).map_err(|error| corrupt(error.to_string()))?;
    let size = tree.size();
    // Sides are rounded to 1/1000 pixel, so that rounding never makes a square oblong.
    let thousandths = |side: f32| ((side * 1000.0).round() as u32).max(1);
    let (width, height) =
        fit(thousandths(size.width()), thousandths(size.height()), TAB_ICON_PIXELS, true);
    let transform =
        Transform::from_scale(width as f32 / size.width(), height as f32 / size.height());
    svg_cost::check_tree(&tree, transform)?;
    let mut canvas =
        Pixmap::new(width, height).ok_or_else(|| corrupt("sides out of range".to_owned()))?;
    resvg::render(&tree, transform, &mut canvas.as_mut());
    let straight = |pixel: &[u8; 4]| {
        let [red, green, blue, alpha] = pixel.map(u32::from);
        let unmultiplied =
            |c: u32| ((c * 255 + alpha / 2).checked_div(alpha).unwrap_or(0)).min(255);
        [red, green, blue].map(|c| unmultiplied(c) as u8)
    };
    let pixels = canvas.data().as_chunks::<4>().0;
    let rgba = pixels
        .iter()
        .flat_map(|pixel| {
            let [red, green, blue] = straight(pixel);
            [red, green, blue, pixel[3]]
        })
        .collect();
    Pixels::new(width, height, rgba).ok_or_else(|| corrupt("sides out of range".to_owned()))
}
