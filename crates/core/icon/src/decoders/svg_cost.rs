//! Estimates the work for reading an SVG, before usvg reads it.
//!
//! Elements are counted after following all references (`use`, paints, masks, clip paths and
//! markers), because with references a kilobyte can describe an arbitrarily large drawing.

use std::collections::HashMap;

use resvg::usvg::roxmltree::{Document, Node, NodeId};

use super::{
    svg_references::Circle,
    svg_strokes::{Outlines, enlargement, largest_viewport, numbers, viewport_scale, widest},
    svg_style::{Reference, References},
    svg_work::{MAX_WORK, SvgWork, XML_BYTE_WORK, exceeds, refused},
};
use crate::{error::IconError, sniff::svg_root::entity_growth};

/// Maximum `=` signs in a tag. The XML parser compares each attribute with all previous attributes,
/// so its time is quadratic.
const MAX_TAG_ATTRIBUTES: usize = 512;
/// Maximum bytes that expanding entities may add. An SVG beyond this limit is rejected. Drawing
/// programs add a few hundred.
const MAX_ENTITY_BYTES: usize = 64 * 1024;
/// Maximum nesting of elements when following references. The drawing code is recursive, so a
/// higher limit could overflow the stack.
const MAX_DEPTH: usize = 96;
/// Maximum value for a number in a path, radius or viewport. The number of curves that replace an
/// arc is about the sixth root of its radius: 22 at this limit, but more than any memory holds for
/// the largest `f64`.
const MAX_LENGTH: f64 = 1e8;
/// Work per element. Each 32 bytes in its attributes count as another element.
const ELEMENT_WORK: u64 = 800;
/// Work for reading a curve in a path. An arc counts as several curves.
const CURVE_WORK: f64 = 300.0;
/// Work for a character's outline, and for finding its glyph again for each element inside the text
/// element.
const CHARACTER_WORK: u64 = 10_000;
const SHAPED_CHARACTER_WORK: u64 = 1_000;
const CHARACTER_CURVES: f64 = 15.0;

/// Checks the limits that must hold before the XML parser runs.
pub(crate) fn check_text(text: &str, work: &mut SvgWork) -> Result<(), IconError> {
    work.spend(text.len() as f64 * XML_BYTE_WORK)?;
    let signs = |tag: &str| tag.bytes().filter(|&byte| byte == b'=').count();
    // This count may be too high: values may contain signs, and styles and scripts count for the
    // tag before them.
    if text.split('<').any(|tag| tag.len() > MAX_TAG_ATTRIBUTES && signs(tag) > MAX_TAG_ATTRIBUTES)
    {
        return Err(refused("too many attributes"));
    }
    if entity_growth(text).is_none_or(|bytes| bytes > MAX_ENTITY_BYTES) {
        return Err(refused("entities"));
    }
    Ok(())
}

/// Counts the work for reading a document. Returns the references that must be removed, because
/// they form a cycle.
pub(crate) fn check_document<'a, 'input>(
    document: &'a Document<'input>,
    work: &mut SvgWork,
) -> Result<Vec<Circle<'a, 'input>>, IconError> {
    let references = References::read(document);
    let known = HashMap::new();
    let largest = largest_viewport(document);
    let mut counter = CostCounter { references, known, largest, circles: Vec::new() };
    let cost = counter.visit(document.root_element(), 0)?;
    work.spend((cost.drawn * ELEMENT_WORK) as f64)?;
    // This only checks the limit, because `svg_walk` counts the actual outlines.
    work.check(cost.stroked.work())?;
    Ok(counter.circles)
}

#[derive(Clone, Copy)]
struct NodeCost {
    /// Attributes and text also count as elements.
    drawn: u64,
    painted: u64,
    stroked: Outlines,
    inheriting: Outlines,
    height: usize,
}

struct CostCounter<'a, 'input> {
    references: References<'a, 'input>,
    known: HashMap<NodeId, Option<NodeCost>>,
    largest: f64,
    circles: Vec<Circle<'a, 'input>>,
}

impl<'a, 'input> CostCounter<'a, 'input> {
    fn visit(&mut self, node: Node<'a, 'input>, depth: usize) -> Result<NodeCost, IconError> {
        match self.known.get(&node.id()) {
            Some(Some(cost)) if depth + cost.height > MAX_DEPTH => {
                return Err(refused("nested too deep"));
            }
            Some(Some(cost)) => return Ok(*cost),
            _ if depth > MAX_DEPTH => return Err(refused("nested too deep")),
            _ => {}
        }
        self.known.insert(node.id(), None);
        check_lengths(node)?;
        let mut cost = self.own_cost(node);
        for child in node.children().filter(Node::is_element) {
            let child = self.visit(child, depth + 1)?;
            cost.add(child);
            within(cost.drawn)?;
        }
        self.follow(node, depth, &mut cost)?;
        cost.inherit(node.attribute("stroke").map(|stroke| stroke.trim() != "none"));
        cost.stroked.reach(widest(node));
        let enlargement = enlargement(node, self.largest);
        cost.stroked.farthest *= enlargement;
        cost.inheriting.farthest *= enlargement;
        self.known.insert(node.id(), Some(cost));
        Ok(cost)
    }

    /// The target of `use` is drawn once, but a paint is drawn once for each element that inherits
    /// it.
    fn follow(
        &mut self,
        node: Node<'a, 'input>,
        depth: usize,
        cost: &mut NodeCost,
    ) -> Result<(), IconError> {
        let (mut paints, mut markers, mut once) = (0u64, 0u64, 0u64);
        let mut stroked = Outlines::default();
        for (reference, target) in self.references.of(node) {
            if matches!(self.known.get(&target.id()), Some(None)) {
                self.circles.push(Circle { from: node, to: target });
                continue;
            }
            let gradient = target.tag_name().name().ends_with("Gradient");
            let used = target;
            let mut target = self.visit(used, depth + 1)?;
            if reference == Reference::Drawn {
                let scale = viewport_scale(used, node, self.largest);
                target.stroked.farthest *= scale;
                target.inheriting.farthest *= scale;
            }
            cost.height = cost.height.max(target.height + 1);
            match reference {
                Reference::Drawn => cost.add(target),
                Reference::Once => {
                    once = once.saturating_add(target.drawn);
                    stroked.add(target.stroked, 1.0);
                }
                // Copying a gradient's stops is far cheaper than drawing an element.
                Reference::Inherited if gradient => {
                    paints = paints.saturating_add(1 + target.drawn / 8);
                }
                Reference::Inherited => {
                    paints = paints.saturating_add(target.drawn);
                    stroked.add(target.stroked, cost.painted as f64);
                }
                // A marker is drawn at every vertex. A vertex takes at least 2 bytes of path data,
                // and 32 bytes of attributes count as an element. So there are at most 16 markers
                // per counted element.
                Reference::Marker => {
                    markers = markers.saturating_add(target.drawn.saturating_mul(16));
                    stroked.add(target.stroked, cost.drawn as f64 * 16.0);
                }
            }
            let painted = cost.painted.saturating_mul(paints);
            let marked = cost.drawn.saturating_mul(markers);
            within(cost.drawn.saturating_add(painted).saturating_add(marked).saturating_add(once))?;
        }
        cost.drawn += cost.painted * paints + cost.drawn * markers + once;
        cost.stroked.add(stroked, 1.0);
        within(cost.drawn)
    }

    fn own_cost(&self, node: Node<'a, 'input>) -> NodeCost {
        let attribute_bytes: usize = node.attributes().map(|a| a.value().len()).sum();
        let mut work = 0;
        let mut inheriting = Outlines::of(node);
        let name = node.tag_name().name();
        if name == "path" {
            work += (inheriting.curves * CURVE_WORK) as u64;
        } else if name == "text" {
            let all = || node.descendants();
            let characters: usize =
                all().filter(Node::is_text).filter_map(|it| it.text()).map(str::len).sum();
            let characters = characters as u64;
            let parts = all().filter(Node::is_element).count();
            work += characters * (CHARACTER_WORK + parts as u64 * SHAPED_CHARACTER_WORK);
            inheriting.curves += characters as f64 * CHARACTER_CURVES;
        }
        NodeCost {
            drawn: 1 + attribute_bytes as u64 / 32 + work / ELEMENT_WORK,
            painted: 1,
            stroked: Outlines::default(),
            inheriting,
            height: 0,
        }
    }
}

impl NodeCost {
    fn add(&mut self, part: Self) {
        self.drawn = self.drawn.saturating_add(part.drawn);
        self.painted = self.painted.saturating_add(part.painted);
        self.stroked.add(part.stroked, 1.0);
        self.inheriting.add(part.inheriting, 1.0);
        self.height = self.height.max(part.height + 1);
    }

    /// If the element sets `stroke`, the outlines that inherit it are stroked, or not stroked if
    /// the value is `none`.
    fn inherit(&mut self, stroke: Option<bool>) {
        let Some(is_set) = stroke else { return };
        let outlines = std::mem::take(&mut self.inheriting);
        if is_set {
            self.stroked.add(outlines, 1.0);
        }
    }
}

/// Checks the numbers that determine an arc's radius. Rejects radii and viewport dimensions that
/// are relative to the font size, because any element may set the font size.
fn check_lengths(node: Node<'_, '_>) -> Result<(), IconError> {
    let viewport = matches!(node.tag_name().name(), "svg" | "use");
    for attribute in node.attributes() {
        let (name, text) = (attribute.name(), attribute.value());
        let by_font = match name {
            "d" | "viewBox" => false,
            "r" | "rx" | "ry" => true,
            // If there is a viewBox, percentages refer to it.
            "width" | "height" => viewport && node.attribute("viewBox").is_none(),
            _ => continue,
        };
        if by_font && ["em", "ex"].iter().any(|unit| text.trim_ascii_end().ends_with(unit)) {
            return Err(refused("a length relative to the font"));
        }
        if numbers(text).any(|number| exceeds(number.abs(), MAX_LENGTH)) {
            return Err(refused("a length out of range"));
        }
    }
    Ok(())
}

fn within(cost: u64) -> Result<(), IconError> {
    if cost > MAX_WORK / ELEMENT_WORK { Err(refused("too much to draw")) } else { Ok(()) }
}
