//! Counts the work for filters: the pixels in the filter's layer times each primitive's work per
//! pixel.
//!
//! The weights are for resvg 0.49, where each primitive processes all pixels in the layer, even
//! outside its own region.

use resvg::usvg::filter::Kind;

use super::{
    svg_edges::Canvas,
    svg_work::{refuse_approximate, refused},
};
use crate::error::IconError;

/// Maximum octaves in `feTurbulence`. An SVG beyond this limit is rejected. Chromium draws at most
/// 9. Above 24, an integer in resvg may overflow.
const MAX_OCTAVES: u32 = 16;
/// Work for copying a primitive's inputs, converting colours and clipping to its region.
const PRIMITIVE_PIXEL_WORK: f64 = 25.0;
const PRIMITIVE_WORK: f64 = 3_000.0;
const TURBULENCE_WORK: f64 = 60_000.0;

/// Returns the work for a filter primitive, except the work for drawing the content of `feImage`.
pub(crate) fn primitive_work(
    kind: &Kind,
    layer: Canvas,
    scale: (f32, f32),
) -> Result<f64, IconError> {
    let (width, height) = (f64::from(layer.width), f64::from(layer.height));
    let mut once = PRIMITIVE_WORK;
    let pixel_work = match kind {
        Kind::Blend(blend) => {
            refuse_approximate(blend.mode())?;
            40.0
        }
        Kind::ColorMatrix(_) | Kind::DisplacementMap(_) | Kind::Tile(_) => 30.0,
        // This computes four powers per pixel.
        Kind::ComponentTransfer(_) => 100.0,
        Kind::Composite(_) | Kind::Offset(_) | Kind::Flood(_) => 15.0,
        Kind::ConvolveMatrix(convolve) => {
            let (columns, rows) = (convolve.matrix().columns(), convolve.matrix().rows());
            let (columns, rows) = (f64::from(columns), f64::from(rows));
            // To wrap around an edge, resvg repeatedly adds or subtracts the layer's width or
            // height.
            let steps = 1.0 + columns / width + rows / height;
            20.0 + 12.0 * columns * rows * steps
        }
        // This computes a power per pixel, and another one for the light's cone.
        Kind::DiffuseLighting(_) | Kind::SpecularLighting(_) => 300.0,
        Kind::DropShadow(_) | Kind::GaussianBlur(_) => 300.0,
        Kind::Image(_) => 20.0,
        Kind::Merge(merge) => 30.0 * merge.inputs().len() as f64,
        Kind::Morphology(morphology) => {
            let side = |radius: f32, scale: f32, side: f64| {
                (2.0 * (f64::from(radius) * f64::from(scale)).round() + 1.0).min(side)
            };
            let across = side(morphology.radius_x().get(), scale.0, width);
            20.0 + 3.0 * across * side(morphology.radius_y().get(), scale.1, height)
        }
        Kind::Turbulence(turbulence) => {
            if turbulence.num_octaves() > MAX_OCTAVES {
                return Err(refused("too many octaves in feTurbulence"));
            }
            once += TURBULENCE_WORK;
            20.0 + 150.0 * f64::from(turbulence.num_octaves())
        }
    };
    Ok(once + layer.pixels() * (PRIMITIVE_PIXEL_WORK + pixel_work))
}
