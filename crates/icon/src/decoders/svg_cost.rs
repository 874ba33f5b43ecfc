//! Estimates the cost of drawing an SVG before it is drawn.
//!
//! Owns the limits: attributes of an element, style rules times elements, nesting, elements with
//! all references followed (`use`, patterns, masks, clip paths and markers, with which a kilobyte
//! of text can describe an unbounded drawing), pattern tiles, dashes. Costs are upper bounds and
//! use no clock, so that an SVG is refused on every machine or on none.

use std::collections::HashMap;

use resvg::{
    tiny_skia::{PathSegment, Transform},
    usvg::{
        BlendMode, ClipPath, Group, Mask, Node as Drawn, Paint, Path, Tree,
        roxmltree::{Document, Node, NodeId},
    },
};

use super::svg_style::{Reference, References};
use crate::{error::IconError, sniff::svg_root::entity_growth};

/// Greatest number of `=` signs in one tag. The XML parser compares each attribute with all
/// previous ones, so its time is quadratic.
const MAX_TAG_ATTRIBUTES: usize = 512;
/// Greatest number of bytes that entities may add. Those of drawing programs add a few hundred.
const MAX_ENTITY_BYTES: usize = 64 * 1024;
/// Greatest nesting of elements with references followed. The drawing code is recursive, and its
/// stack must suffice.
const MAX_DEPTH: usize = 96;
/// Greatest number of drawn elements. Each 32 bytes of attributes count as one more element.
const MAX_COST: u64 = 20_000;
/// Greatest product of style rules and elements, which bounds the time of matching selectors.
const MAX_RULE_MATCHES: usize = 1_000_000;
/// Greatest number of pixels of all pattern tiles together, which bounds memory and time.
const MAX_TILE_PIXELS: f64 = 1_000_000.0;
/// Greatest number in a path, radius or viewport. An arc becomes about as many curves as the sixth
/// root of its radius: 47 at this limit, but more than any memory holds at the greatest `f64`.
const MAX_LENGTH: f64 = 1e9;
/// Greatest number of dashes of all strokes together, which bounds the time of stroking.
const MAX_DASHES: f64 = 50_000.0;

fn refused(reason: &'static str) -> IconError {
    IconError::SvgRefused { reason }
}

/// Checks the limits that must hold before the XML parser runs.
pub(crate) fn check_text(text: &str) -> Result<(), IconError> {
    let signs = |tag: &str| tag.bytes().filter(|&byte| byte == b'=').count();
    // Quoted values contain few `=` signs. Text of styles and scripts counts up to the next tag.
    if text.split('<').any(|tag| tag.len() > MAX_TAG_ATTRIBUTES && signs(tag) > MAX_TAG_ATTRIBUTES)
    {
        return Err(refused("too many attributes"));
    }
    if entity_growth(text).is_none_or(|bytes| bytes > MAX_ENTITY_BYTES) {
        return Err(refused("entities"));
    }
    Ok(())
}

/// Checks the limits of the document with all references followed.
pub(crate) fn check_document(document: &Document) -> Result<(), IconError> {
    let references = References::read(document);
    let elements = document.descendants().filter(Node::is_element).count();
    if references.rule_count().saturating_mul(elements) > MAX_RULE_MATCHES {
        return Err(refused("too many style rules"));
    }
    let mut counter = CostCounter { references, known: HashMap::new() };
    counter.visit(document.root_element(), 0).map(|_| ())
}

/// The cost of drawing an element with everything below it.
#[derive(Clone, Copy)]
struct NodeCost {
    /// Number of drawn elements.
    drawn: u64,
    /// Levels of nesting below the element.
    height: usize,
}

struct CostCounter<'a, 'input> {
    references: References<'a, 'input>,
    /// The cost of each visited node; `None` while it is being computed. A node found in that state
    /// refers to itself.
    known: HashMap<NodeId, Option<NodeCost>>,
}

impl<'a, 'input> CostCounter<'a, 'input> {
    fn visit(&mut self, node: Node<'a, 'input>, depth: usize) -> Result<NodeCost, IconError> {
        match self.known.get(&node.id()) {
            Some(None) => return Err(refused("a reference to itself")),
            Some(Some(cost)) if depth + cost.height > MAX_DEPTH => {
                return Err(refused("nested too deep"));
            }
            Some(Some(cost)) => return Ok(*cost),
            None if depth > MAX_DEPTH => return Err(refused("nested too deep")),
            None => {}
        }
        self.known.insert(node.id(), None);
        check_lengths(node)?;
        let attribute_bytes: usize = node.attributes().map(|a| a.value().len()).sum();
        let own = 1 + attribute_bytes as u64 / 32;
        // Children and targets of `use` are drawn once, paints once for each element that inherits
        // them.
        let (mut cost, mut painted) = (NodeCost { drawn: own, height: 0 }, 1u64);
        let mut once = 0u64;
        for child in node.children().filter(Node::is_element) {
            let child = self.visit(child, depth + 1)?;
            cost.drawn = cost.drawn.saturating_add(child.drawn);
            cost.height = cost.height.max(child.height + 1);
            within(cost.drawn)?;
        }
        for (reference, target) in self.references.of(node) {
            let target = self.visit(target, depth + 1)?;
            cost.height = cost.height.max(target.height + 1);
            match reference {
                Reference::Drawn => cost.drawn = cost.drawn.saturating_add(target.drawn),
                Reference::Once => once = once.saturating_add(target.drawn),
                Reference::Inherited => painted = painted.saturating_add(target.drawn),
                // A marker is drawn at every vertex. A vertex takes at least 2 bytes of path data,
                // and 32 bytes of attributes count as one element: at most 16 markers per element.
                Reference::Marker => {
                    painted = painted.saturating_add(target.drawn.saturating_mul(16));
                }
            }
            within(cost.drawn.saturating_mul(painted).saturating_add(once))?;
        }
        cost.drawn = cost.drawn.saturating_mul(painted).saturating_add(once);
        within(cost.drawn)?;
        self.known.insert(node.id(), Some(cost));
        Ok(cost)
    }
}

/// Checks the numbers that the radius of an arc is computed from: plain numbers and percentages of
/// a viewport. Lengths relative to a font size are refused, since the size may come from any
/// element.
fn check_lengths(node: Node<'_, '_>) -> Result<(), IconError> {
    let viewport = matches!(node.tag_name().name(), "svg" | "use");
    for attribute in node.attributes() {
        let (name, text) = (attribute.name(), attribute.value());
        let by_font = match name {
            "d" | "viewBox" => false,
            "r" | "rx" | "ry" => true,
            // Percentages refer to the viewBox if there is one.
            "width" | "height" => viewport && node.attribute("viewBox").is_none(),
            _ => continue,
        };
        if by_font && ["em", "ex"].iter().any(|unit| text.trim_ascii_end().ends_with(unit)) {
            return Err(refused("a length by the font"));
        }
        if numbers(text).any(|number| exceeds(number.abs(), MAX_LENGTH)) {
            return Err(refused("a length out of range"));
        }
    }
    Ok(())
}

/// Iterates over the numbers in a path or a list. The flags of an arc, if no space separates them
/// from the next number, are read as its digits.
fn numbers(text: &str) -> impl Iterator<Item = f64> {
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
        // An `e` begins an exponent if digits follow; else it begins a unit.
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        if matches!(bytes.get(at), Some(b'e' | b'E'))
            && bytes.get(at + 1 + sign).is_some_and(u8::is_ascii_digit)
        {
            at += 1 + sign;
            digits(&mut at);
        }
        // A single point does not parse and counts as 0.
        Some(text[start..at].parse().unwrap_or(0.0))
    })
}

/// Refuses a cost above the limit.
fn within(cost: u64) -> Result<(), IconError> {
    if cost > MAX_COST { Err(refused("too much to draw")) } else { Ok(()) }
}

/// Checks the limits of the resolved picture, as drawn with `transform`.
pub(crate) fn check_tree(tree: &Tree, transform: Transform) -> Result<(), IconError> {
    if !tree.filters().is_empty() {
        return Err(refused("filters"));
    }
    let mut totals = Totals { tile_pixels: 0.0, dashes: 0.0 };
    totals.group(tree.root(), transform)
}

struct Totals {
    tile_pixels: f64,
    dashes: f64,
}

impl Totals {
    fn group(&mut self, group: &Group, transform: Transform) -> Result<(), IconError> {
        // These modes divide with the approximate reciprocal of the processor, which differs
        // between vendors.
        if matches!(group.blend_mode(), BlendMode::ColorBurn | BlendMode::ColorDodge) {
            return Err(refused("blend mode"));
        }
        let transform = transform.pre_concat(group.transform());
        let mut clip = group.clip_path();
        while let Some(path) = clip {
            self.group(path.root(), transform.pre_concat(path.transform()))?;
            clip = ClipPath::clip_path(path);
        }
        let mut mask = group.mask();
        while let Some(path) = mask {
            self.group(path.root(), transform)?;
            mask = Mask::mask(path);
        }
        for child in group.children() {
            match child {
                Drawn::Group(group) => self.group(group, transform)?,
                Drawn::Path(path) => self.path(path, transform)?,
                Drawn::Image(_) | Drawn::Text(_) => {}
            }
        }
        Ok(())
    }

    fn path(&mut self, path: &Path, transform: Transform) -> Result<(), IconError> {
        let fill = path.fill().map(resvg::usvg::Fill::paint);
        let stroke = path.stroke().map(resvg::usvg::Stroke::paint);
        for paint in fill.into_iter().chain(stroke) {
            let Paint::Pattern(pattern) = paint else { continue };
            let (sx, sy) = transform.pre_concat(pattern.transform()).get_scale();
            let rect = pattern.rect();
            self.tile_pixels += f64::from(rect.width() * sx) * f64::from(rect.height() * sy);
            if exceeds(self.tile_pixels, MAX_TILE_PIXELS) {
                return Err(refused("pattern too large"));
            }
            self.group(pattern.root(), Transform::from_scale(sx, sy))?;
        }
        if let Some(dashes) = path.stroke().and_then(|stroke| stroke.dasharray()) {
            let period: f64 = dashes.iter().map(|&dash| f64::from(dash)).sum();
            self.dashes += length_from_above(path) / period * dashes.len() as f64;
            if exceeds(self.dashes, MAX_DASHES) {
                return Err(refused("too many dashes"));
            }
        }
        Ok(())
    }
}

/// Returns true if `value` is above `most` or NaN.
fn exceeds(value: f64, most: f64) -> bool {
    value.is_nan() || value > most
}

/// Returns the length of the control polygon of a path, an upper bound of the length of its curves.
fn length_from_above(path: &Path) -> f64 {
    let mut length = 0.0;
    let mut at = (0.0f64, 0.0f64);
    let mut start = at;
    let mut go = |to: resvg::tiny_skia::Point, at: &mut (f64, f64)| {
        let to = (f64::from(to.x), f64::from(to.y));
        length += (to.0 - at.0).hypot(to.1 - at.1);
        *at = to;
    };
    for segment in path.data().segments() {
        match segment {
            PathSegment::MoveTo(to) => {
                at = (f64::from(to.x), f64::from(to.y));
                start = at;
            }
            PathSegment::LineTo(to) => go(to, &mut at),
            PathSegment::QuadTo(control, to) => {
                go(control, &mut at);
                go(to, &mut at);
            }
            PathSegment::CubicTo(first, second, to) => {
                go(first, &mut at);
                go(second, &mut at);
                go(to, &mut at);
            }
            PathSegment::Close => {
                go(resvg::tiny_skia::Point::from_xy(start.0 as f32, start.1 as f32), &mut at);
            }
        }
    }
    length
}
