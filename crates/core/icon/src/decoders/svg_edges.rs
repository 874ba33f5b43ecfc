//! Counts the edges that tiny-skia's scan converter processes to fill or stroke a path.
//!
//! tiny-skia samples each pixel row four times. In each sampled row it visits every edge that
//! crosses the row, and keeps these edges in a list sorted by x. So the work depends on the number
//! of edges, the rows that they cross, and the pairs that are in the list simultaneously.

use resvg::tiny_skia::{Path, PathSegment, Point, Rect};

/// Rows that tiny-skia samples per pixel row.
const ROWS_PER_PIXEL: f32 = 4.0;
/// Maximum lines that replace a curve in a hairline.
const MAX_CURVE_LINES: f64 = 512.0;
const CURVE_EDGES: f64 = 6.0;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Canvas {
    pub(crate) width: f32,
    pub(crate) height: f32,
}

impl Canvas {
    /// Returns the layer for content with the given bounds and `margin`, and the layer's origin.
    /// The layer does not exceed `reach`. `None` if it has no pixels.
    pub(crate) fn layer(bounds: Rect, margin: f32, reach: Rect) -> Option<(Self, Point)> {
        let left = bounds.x().floor() - margin;
        let top = bounds.y().floor() - margin;
        let right = left + bounds.width().ceil().max(1.0) + 2.0 * margin;
        let bottom = top + bounds.height().ceil().max(1.0) + 2.0 * margin;
        let (left, top) = (left.max(reach.left().floor()), top.max(reach.top().floor()));
        let (right, bottom) = (right.min(reach.right().ceil()), bottom.min(reach.bottom().ceil()));
        let (width, height) = (right - left, bottom - top);
        let canvas = Self { width, height };
        (width > 0.0 && height > 0.0).then_some((canvas, Point::from_xy(left, top)))
    }

    pub(crate) fn pixels(self) -> f64 {
        f64::from(self.width) * f64::from(self.height)
    }

    /// Returns the canvas's area, extended in every direction by twice its width or height.
    pub(crate) fn reach(self) -> Option<Rect> {
        let (width, height) = (self.width, self.height);
        Rect::from_ltrb(-2.0 * width, -2.0 * height, 3.0 * width, 3.0 * height)
    }

    fn shared_pixels(self, bounds: Rect) -> f64 {
        let across = bounds.right().min(self.width) - bounds.left().max(0.0);
        let down = bounds.bottom().min(self.height) - bounds.top().max(0.0);
        let side = |side: f32| f64::from((side + 2.0).max(0.0));
        side(across) * side(down)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Scan {
    pub(crate) edges: f64,
    pub(crate) row_edges: f64,
    pub(crate) inversions: f64,
    pub(crate) pixels: f64,
}

pub(crate) fn scan(path: &Path, canvas: Canvas) -> Scan {
    let rows = (canvas.height * ROWS_PER_PIXEL).ceil() as usize;
    let mut edges = Edges { count: 0.0, begin: vec![0; rows], end: vec![0; rows + 1] };
    each_segment(path, |points| edges.add(points));
    edges.scan(canvas.shared_pixels(path.bounds()))
}

struct Edges {
    count: f64,
    begin: Vec<u32>,
    end: Vec<u32>,
}

impl Edges {
    /// In a row, a curve counts as several edges unless it only rises or only falls.
    fn add(&mut self, points: &[Point]) {
        let rows = self.begin.len() as f32;
        let row = |y: f32| (y * ROWS_PER_PIXEL + 0.5).floor().clamp(0.0, rows) as usize;
        let ys = points.iter().map(|point| point.y);
        let top = ys.clone().fold(f32::INFINITY, f32::min);
        let bottom = ys.fold(f32::NEG_INFINITY, f32::max);
        let (top, bottom) = (row(top), row(bottom));
        self.count += if points.len() > 2 { CURVE_EDGES } else { 1.0 };
        if top >= bottom {
            return;
        }
        let rises = points.is_sorted_by(|a, b| a.y <= b.y);
        let falls = points.is_sorted_by(|a, b| a.y >= b.y);
        let edges = if rises || falls { 1 } else { points.len() as u32 - 1 };
        self.begin[top] += edges;
        self.end[bottom] += edges;
    }

    fn scan(&self, pixels: f64) -> Scan {
        let mut scan = Scan { edges: self.count, pixels, ..Scan::default() };
        let mut active = 0.0f64;
        for (&begin, &end) in self.begin.iter().zip(&self.end) {
            let begin = f64::from(begin);
            active -= f64::from(end);
            scan.inversions += begin * active + begin * begin / 2.0;
            active += begin;
            scan.row_edges += active;
        }
        scan
    }
}

pub(crate) fn hairlines(path: &Path, canvas: Canvas) -> (f64, f64) {
    let longest = f64::from(canvas.width + canvas.height);
    let (mut lines, mut pixels) = (0.0, 0.0);
    each_segment(path, |points| {
        let inside = |at: fn(&Point) -> f32, size: f32| {
            points.iter().any(|point| at(point) >= -2.0)
                && points.iter().any(|point| at(point) <= size + 2.0)
        };
        let length = polygon(points);
        lines += if points.len() > 2 { 4.0 + length.min(MAX_CURVE_LINES) } else { 1.0 };
        if inside(|point| point.x, canvas.width) && inside(|point| point.y, canvas.height) {
            // A line crosses the canvas at most once, and a curve at most three times.
            pixels += 2.0 + length.min(longest * (points.len() - 1) as f64);
        }
    });
    (lines, pixels)
}

/// Returns the length of a path's control polygon, which is an upper bound for the path's length.
pub(crate) fn length_bound(path: &Path) -> f64 {
    let mut length = 0.0;
    each_segment(path, |points| length += polygon(points));
    length
}

fn polygon(points: &[Point]) -> f64 {
    let side = |pair: &[Point]| {
        let across = f64::from(pair[1].x) - f64::from(pair[0].x);
        let down = f64::from(pair[1].y) - f64::from(pair[0].y);
        (across * across + down * down).sqrt()
    };
    points.windows(2).map(side).sum()
}

/// Calls `visit` with the control points of each line and curve, including the line that closes
/// each contour, because filling closes contours.
fn each_segment(path: &Path, mut visit: impl FnMut(&[Point])) {
    let (mut at, mut start) = (Point::zero(), Point::zero());
    for segment in path.segments() {
        match segment {
            PathSegment::MoveTo(to) => {
                visit(&[at, start]);
                (at, start) = (to, to);
            }
            PathSegment::LineTo(to) => {
                visit(&[at, to]);
                at = to;
            }
            PathSegment::QuadTo(control, to) => {
                visit(&[at, control, to]);
                at = to;
            }
            PathSegment::CubicTo(first, second, to) => {
                visit(&[at, first, second, to]);
                at = to;
            }
            PathSegment::Close => {
                visit(&[at, start]);
                at = start;
            }
        }
    }
    visit(&[at, start]);
}
