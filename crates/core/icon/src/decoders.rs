//! One decoder per image format.
//!
//! Each decoder reads a picture's width and height from its header, and decodes the pixels.
//! Decoders do not depend on format detection. They do not depend on how the pixels are used, with
//! two exceptions: an SVG is drawn at the size of a tab icon, and from an ICO we decode the picture
//! that suits this size best.

mod apng;
pub(crate) mod avif;
mod avif_colour;
mod avif_container;
mod avif_matrix;
mod avif_reader;
mod avif_rgb;
mod avif_stream;
pub(crate) mod dib;
mod dib_rows;
pub(crate) mod gif;
pub(crate) mod ico;
pub(crate) mod jpeg;
mod orientation;
pub(crate) mod png;
pub(crate) mod png_fast;
pub(crate) mod svg;
mod svg_animations;
mod svg_boxes;
mod svg_colours;
mod svg_cost;
mod svg_css;
mod svg_edges;
mod svg_filters;
mod svg_font;
mod svg_images;
mod svg_lengths;
mod svg_properties;
mod svg_references;
mod svg_selectors;
mod svg_shapes;
mod svg_sheet;
mod svg_strokes;
mod svg_style;
mod svg_targets;
mod svg_transforms;
mod svg_variables;
mod svg_viewports;
mod svg_walk;
pub(crate) mod svg_work;
mod svg_writer;
pub(crate) mod webp;
