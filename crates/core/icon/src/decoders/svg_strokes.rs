//! Limits the work for outlining stroked shapes. usvg outlines them to find their bounds, before we
//! can count the resolved picture.
//!
//! If coordinates or a stroke's width are far larger than usual, 32-bit floats no longer
//! distinguish the points of a curve. In a measurement, tiny-skia then divided a single curve into
//! a million pieces, which took half a second.

use std::str::FromStr;

use resvg::usvg::roxmltree::{Document, Node};
use svgtypes::{PointsParser, SimplePathSegment, SimplifyingPathParser, Transform};

use super::svg_work::MAX_SIDE_BYTES;

const LINE_WORK: f64 = 300.0;
/// Upper bounds for an outline's largest coordinate or stroke width, with the work per curve: the
/// mean over random curves with the worst width.
const CURVE_WORK: [(f64, f64); 3] =
    [(8_192.0, 4_000.0), (65_536.0, 50_000.0), (1_048_576.0, 270_000.0)];
const DEFAULT_SIDE: f64 = 300.0;
/// Upper bound for a viewport's or tile's width and height if they are unknown.
const UNKNOWN_SIDE: f64 = 2_048.0;
/// The longest absolute unit, an inch, in pixels.
const UNIT_PIXELS: f64 = 96.0;
/// Upper bound for a unit that depends on a font, in pixels.
const RELATIVE_UNIT_PIXELS: f64 = 8_000.0;

#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Outlines {
    pub(crate) lines: f64,
    pub(crate) curves: f64,
    pub(crate) farthest: f64,
}

impl Outlines {
    pub(crate) fn of(node: Node) -> Self {
        let mut outlines = Self::default();
        match node.tag_name().name() {
            "rect" | "circle" | "ellipse" | "line" => outlines.shape(node),
            "polygon" | "polyline" => {
                for (x, y) in PointsParser::from(node.attribute("points").unwrap_or_default()) {
                    outlines.line([x, y]);
                }
            }
            "path" => {
                let data = SimplifyingPathParser::from(node.attribute("d").unwrap_or_default());
                data.map_while(Result::ok).for_each(|segment| outlines.segment(segment));
            }
            _ => {}
        }
        outlines
    }

    fn shape(&mut self, node: Node) {
        const LENGTHS: [&str; 13] =
            ["x", "y", "width", "height", "r", "rx", "ry", "cx", "cy", "x1", "y1", "x2", "y2"];
        self.lines += 5.0;
        self.curves += if node.tag_name().name() == "line" { 0.0 } else { 4.0 };
        for length in LENGTHS.iter().filter_map(|name| node.attribute(*name)) {
            self.reach(length_bound(node, length));
        }
    }

    fn segment(&mut self, segment: SimplePathSegment) {
        match segment {
            SimplePathSegment::MoveTo { x, y } | SimplePathSegment::LineTo { x, y } => {
                self.line([x, y]);
            }
            SimplePathSegment::CurveTo { x1, y1, x2, y2, x, y } => {
                self.curve(&[x1, y1, x2, y2, x, y]);
            }
            SimplePathSegment::Quadratic { x1, y1, x, y } => self.curve(&[x1, y1, x, y]),
            SimplePathSegment::ClosePath => self.lines += 1.0,
        }
    }

    fn line(&mut self, point: [f64; 2]) {
        self.lines += 1.0;
        point.into_iter().for_each(|number| self.reach(number));
    }

    fn curve(&mut self, points: &[f64]) {
        self.curves += 1.0;
        points.iter().for_each(|&number| self.reach(number));
    }

    pub(crate) fn reach(&mut self, number: f64) {
        self.farthest = self.farthest.max(number.abs());
    }

    pub(crate) fn add(&mut self, others: Self, times: f64) {
        self.lines += others.lines * times;
        self.curves += others.curves * times;
        self.reach(others.farthest);
    }

    /// Returns infinity if a curve is too large.
    pub(crate) fn work(self) -> f64 {
        if self.curves == 0.0 {
            return self.lines * LINE_WORK;
        }
        let each = CURVE_WORK.iter().find(|(most, _)| self.farthest <= *most);
        self.lines * LINE_WORK + self.curves * each.map_or(f64::INFINITY, |(_, work)| *work)
    }
}

pub(crate) fn widest(node: Node) -> f64 {
    let lengths = ["stroke-width", "font-size"].into_iter().filter_map(|it| node.attribute(it));
    lengths.map(|length| length_bound(node, length)).fold(0.0, f64::max)
}

/// Returns an upper bound for the absolute value of a length in pixels.
fn length_bound(node: Node, text: &str) -> f64 {
    let unit = text.trim().trim_start_matches(|c: char| c.is_ascii_digit() || "+-.".contains(c));
    // Skip an exponent, because it starts with a letter like a unit.
    let unit = unit.trim_start_matches(|c: char| c.is_ascii_digit() || "eE+-".contains(c));
    let is_relative = text.contains("em") || text.contains("ex");
    let pixels = match unit.get(..2).unwrap_or(unit) {
        _ if is_relative => RELATIVE_UNIT_PIXELS,
        "pt" | "pc" | "mm" | "cm" | "in" => UNIT_PIXELS,
        percent if percent.starts_with('%') => viewport_bound(node) / 100.0,
        _ => 1.0,
    };
    numbers(text).next().unwrap_or(0.0) * pixels
}

fn viewport_bound(node: Node) -> f64 {
    let sides = node.ancestors().flat_map(|it| {
        ["viewBox", "width", "height"].into_iter().filter_map(move |name| it.attribute(name))
    });
    let largest = |text: &str| match text.len() {
        0..=MAX_SIDE_BYTES => numbers(text).fold(0.0, f64::max),
        _ => f64::INFINITY,
    };
    sides.map(largest).fold(UNKNOWN_SIDE, f64::max)
}

/// Returns the factor by which an element enlarges its content, which is at least 1. The factor of
/// a symbol depends on the `use` element: see [`viewport_scale`].
pub(crate) fn enlargement(node: Node, largest: f64) -> f64 {
    let scale = |text: &str| {
        let Ok(t) = Transform::from_str(text) else { return 1.0 };
        [t.a, t.b, t.c, t.d].into_iter().fold(1.0, |most: f64, number| most.max(number.abs()))
    };
    let attributes = ["transform", "patternTransform"].into_iter();
    let transforms = attributes.filter_map(|name| node.attribute(name)).map(scale);
    let viewport = match node.tag_name().name() {
        "symbol" => 1.0,
        "svg" => viewport_scale(node, node, largest),
        _ => tile_scale(node),
    };
    transforms.product::<f64>() * viewport
}

/// Returns the factor by which `viewed`'s content is enlarged to the dimensions of `sized`, which
/// is at least 1. A missing width or height counts as `largest`.
pub(crate) fn viewport_scale(viewed: Node, sized: Node, largest: f64) -> f64 {
    let Some(view) = viewed.attribute("viewBox") else { return 1.0 };
    if view.len() > MAX_SIDE_BYTES {
        return f64::INFINITY;
    }
    // The root computes a missing width or height from its viewBox, so this does not enlarge the
    // content.
    let missing = if sized.parent_element().is_none() { 0.0 } else { largest };
    let view = view.split([' ', ',', '\n', '\t', '\r']).filter(|part| !part.is_empty()).skip(2);
    let scales = view.zip(["width", "height"]).map(|(side, name)| {
        let length = match sized.attribute(name) {
            Some(length) if length.contains('%') => missing,
            Some(length) => length_bound(sized, length),
            None => missing,
        };
        side.parse().map_or(1.0, |side: f64| length / side)
    });
    scales.fold(1.0, f64::max)
}

/// Returns an upper bound for the width and height of all viewports in a document, in each
/// viewport's units.
pub(crate) fn largest_viewport(document: &Document) -> f64 {
    let (mut largest, mut growth) = (DEFAULT_SIDE, 1.0f64);
    for node in document.descendants() {
        if !matches!(node.tag_name().name(), "svg" | "symbol" | "use" | "marker" | "pattern") {
            continue;
        }
        for text in ["viewBox", "width", "height"].iter().filter_map(|name| node.attribute(*name)) {
            if text.contains('%') {
                let percent = numbers(text).next().unwrap_or(0.0);
                growth *= (percent / 100.0).max(1.0);
            } else {
                let most = numbers(text).fold(0.0, f64::max);
                largest = largest.max(most).max(length_bound(node, text));
            }
        }
    }
    largest * growth
}

/// Returns an upper bound for the factor by which a marker or a pattern enlarges its content. The
/// tile's size may be relative to the stroke width or to a shape.
fn tile_scale(node: Node) -> f64 {
    let Some(view) = node.attribute("viewBox") else { return 1.0 };
    let sides = view.split([' ', ',']).filter(|part| !part.is_empty()).skip(2).take(2);
    let smallest = sides.filter_map(|side| side.parse().ok()).fold(f64::INFINITY, f64::min);
    let side = |name| match node.attribute(name).filter(|length| !length.contains('%')) {
        Some(length) => length_bound(node, length),
        None => UNKNOWN_SIDE,
    };
    let side = ["width", "height", "markerWidth", "markerHeight"].map(side);
    let largest = side.into_iter().fold(0.0, f64::max);
    (largest / smallest).max(1.0)
}

/// Signs are ignored. An arc's flags without a space after them count as digits of the next number.
pub(crate) fn numbers(text: &str) -> impl Iterator<Item = f64> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        at += bytes.get(at..)?.iter().position(|byte| matches!(byte, b'0'..=b'9' | b'.'))?;
        let start = at;
        let digits = |at: &mut usize| {
            *at += bytes[*at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        };
        digits(&mut at);
        if bytes.get(at) == Some(&b'.') {
            at += 1;
            digits(&mut at);
        }
        // An `e` starts an exponent if digits follow. Otherwise it starts a unit.
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        if matches!(bytes.get(at), Some(b'e' | b'E'))
            && bytes.get(at + 1 + sign).is_some_and(u8::is_ascii_digit)
        {
            at += 1 + sign;
            digits(&mut at);
        }
        Some(text[start..at].parse().unwrap_or(0.0))
    })
}
