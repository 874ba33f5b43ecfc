//! All tests are in one program, because linking is slow.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test reads files and runs programs, and fails by panicking"
)]

mod as_chromium;
mod avif;
mod avif_cost;
mod corpus;
mod cost;
mod hostile_svg;
mod ico_variants;
mod jpeg;
mod orientation;
mod properties;
mod svg_cascade;
mod svg_cost;
mod svg_css;
mod svg_features;
mod svg_references;
mod svg_shapes;
mod svg_targets;
mod truncated;
