//! Measures SVG elements: their bounding boxes, the scale at which they are drawn, and the outline
//! length. For this, usvg reads a copy of the document that omits everything that depends on these
//! measures.

use resvg::{
    tiny_skia::{Path, PathSegment, Point, Rect},
    usvg::{self, Group, ImageHrefResolver, Node, Options},
};

use super::{
    svg_css::Styled, svg_font, svg_shapes, svg_transforms::ReferenceBox, svg_work::SvgWork,
};
use crate::error::IconError;

const CURVE_LINES: u8 = 16;
/// Work for outlining a stroked line, and a stroked curve of length 1.
const LINE_WORK: f64 = 300.0;
const CURVE_WORK: f64 = 250.0;
const SHAPES: [&str; 7] = ["path", "rect", "circle", "ellipse", "line", "polyline", "polygon"];

#[derive(Clone, Copy, Debug)]
pub(crate) struct Measures {
    pub(crate) fill: ReferenceBox,
    pub(crate) stroke: ReferenceBox,
    /// Picture pixels per unit of the element.
    pub(crate) scale: f64,
    pub(crate) length: f64,
}

impl Styled<'_, '_> {
    pub(crate) fn needs_measures(&self, index: usize) -> bool {
        let style = &self.styles[index];
        let is_scaled = style.get("vector-effect") == Some("non-scaling-stroke");
        let is_shape = SHAPES.contains(&self.tag(index));
        let has_box = style.get("transform-box").is_some_and(|it| it != "view-box")
            && ["transform", "rotate", "scale", "translate"]
                .iter()
                .any(|it| style.get(it).is_some());
        let is_clipped = style.get("clip-path").is_some_and(svg_shapes::is_shape);
        let has_length = self.elements.node(index).attribute("pathLength").is_some();
        is_shape && (is_scaled || has_length && self.inherited(index, "stroke-dasharray").is_some())
            || has_box
            || is_clipped
    }

    /// Returns the element's own id if no earlier element has this id, or a new id.
    pub(crate) fn mark(&self, index: usize) -> String {
        match self.elements.node(index).attribute("id") {
            Some(id) if self.ids.get(id) == Some(&index) => id.to_owned(),
            _ => self.free_id(format!("everytab-box-{index}")),
        }
    }

    pub(crate) fn free_id(&self, mut id: String) -> String {
        while self.ids.contains_key(id.as_str()) {
            id.push('-');
        }
        id
    }
}

pub(crate) fn options() -> Options<'static> {
    Options {
        image_href_resolver: ImageHrefResolver {
            resolve_data: Box::new(|_, _, _| None),
            resolve_string: Box::new(|_, _| None),
        },
        ..svg_font::options()
    }
}

/// Calls `found` with the id and measures of each drawn element that has an id.
pub(crate) fn measure(
    group: &Group,
    work: &mut SvgWork,
    found: &mut impl FnMut(&str, Measures),
) -> Result<(), IconError> {
    for node in group.children() {
        if !node.id().is_empty() {
            found(node.id(), measured(node));
        }
        match node {
            Node::Group(group) => measure(group, work, found)?,
            Node::Path(path) => work.spend(stroke_work(path))?,
            _ => {}
        }
    }
    Ok(())
}

/// usvg outlines strokes to find their bounds. The number of pieces per curve grows with the square
/// root of the curve's length.
fn stroke_work(path: &usvg::Path) -> f64 {
    let Some(stroke) = path.stroke() else { return 0.0 };
    let is_curve =
        |it: &PathSegment| matches!(it, PathSegment::QuadTo(..) | PathSegment::CubicTo(..));
    let (all, curves) = (path.data().len(), path.data().segments().filter(is_curve).count());
    let lines = all as f64 * LINE_WORK;
    if curves == 0 {
        return lines;
    }
    let length = outline_length(path.data()) + curves as f64 * f64::from(stroke.width().get());
    // usvg outlines a rotated or skewed path twice.
    let times = if path.abs_transform().has_skew() { 2.0 } else { 1.0 };
    times * (lines + (curves as f64 * length).sqrt() * CURVE_WORK)
}

fn measured(node: &Node) -> Measures {
    let transform = node.abs_transform();
    let area = f64::from(transform.sx) * f64::from(transform.sy)
        - f64::from(transform.kx) * f64::from(transform.ky);
    let length = if let Node::Path(path) = node { outline_length(path.data()) } else { 0.0 };
    let (fill, stroke) = match node {
        Node::Group(group) => (group.bounding_box(), group.stroke_bounding_box()),
        node => (node.bounding_box(), node.stroke_bounding_box()),
    };
    let [fill, stroke] = [fill, stroke].map(reference);
    Measures { fill, stroke, scale: area.abs().sqrt(), length }
}

fn reference(rect: Rect) -> ReferenceBox {
    let [x, y, width, height] = [rect.x(), rect.y(), rect.width(), rect.height()].map(f64::from);
    ReferenceBox { x, y, width, height }
}

fn outline_length(path: &Path) -> f64 {
    let (mut at, mut start) = (Point::zero(), Point::zero());
    let mut length = 0.0;
    for segment in path.segments() {
        let from = at;
        let curve: &dyn Fn(f32) -> Point = match segment {
            PathSegment::MoveTo(to) => {
                (at, start) = (to, to);
                continue;
            }
            PathSegment::LineTo(to) => {
                length += f64::from(from.distance(to));
                at = to;
                continue;
            }
            PathSegment::Close => {
                length += f64::from(from.distance(start));
                at = start;
                continue;
            }
            PathSegment::QuadTo(a, to) => {
                at = to;
                &move |t| between(between(from, a, t), between(a, to, t), t)
            }
            PathSegment::CubicTo(a, b, to) => {
                at = to;
                &move |t| {
                    let [one, two, three] =
                        [(from, a), (a, b), (b, to)].map(|(p, q)| between(p, q, t));
                    between(between(one, two, t), between(two, three, t), t)
                }
            }
        };
        let mut last = from;
        for line in 1..=CURVE_LINES {
            let next = curve(f32::from(line) / f32::from(CURVE_LINES));
            length += f64::from(last.distance(next));
            last = next;
        }
    }
    length
}

fn between(from: Point, to: Point, t: f32) -> Point {
    Point::from_xy(from.x + (to.x - from.x) * t, from.y + (to.y - from.y) * t)
}
