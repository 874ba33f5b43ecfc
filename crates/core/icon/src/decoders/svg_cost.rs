//! Estimates how much work it takes to read an SVG, before usvg reads it.
//!
//! This module defines the limits: attributes per element, nesting, elements with all references
//! followed (`use`, paints, masks, clip paths and markers, with which a kilobyte can describe an
//! unbounded drawing), stroked paths, text characters. Work is an upper bound and uses no clock, so
//! that either every machine rejects an SVG or none does. This does not depend on how the resolved
//! picture is drawn (`svg_walk`).

use std::collections::HashMap;

use resvg::usvg::roxmltree::{Document, Node, NodeId};

use super::{
    svg_references::Circle,
    svg_strokes::{Outlines, enlargement, largest_viewport, numbers, viewport_scale, widest},
    svg_style::{Reference, References},
    svg_work::{MAX_WORK, SvgWork, XML_BYTE_WORK, exceeds, refused},
};
use crate::{error::IconError, sniff::svg_root::entity_growth};

/// Maximum `=` signs in one tag. The XML parser compares each attribute with all previous ones, so
/// its time is quadratic.
const MAX_TAG_ATTRIBUTES: usize = 512;
/// Maximum bytes that entities may add. Drawing programs add a few hundred.
const MAX_ENTITY_BYTES: usize = 64 * 1024;
/// Maximum element nesting with references followed. The drawing code is recursive, and its stack
/// must suffice.
const MAX_DEPTH: usize = 96;
/// Maximum number in a path, radius or viewport. An arc becomes about as many curves as its
/// radius's sixth root: 22 at this limit, but more than any memory holds for the largest `f64`.
const MAX_LENGTH: f64 = 1e8;
/// Work per element. Each 32 bytes in its attributes count as one more element.
const ELEMENT_WORK: u64 = 800;
/// Work for reading a curve in a path. An arc counts as several curves.
const CURVE_WORK: f64 = 300.0;
/// Work for creating a character's outline, and for finding its glyph in each part of its text.
const CHARACTER_WORK: u64 = 10_000;
const SHAPED_CHARACTER_WORK: u64 = 1_000;
/// Curves that stroking a character takes.
const CHARACTER_CURVES: f64 = 15.0;

/// Pays for reading the text, and checks the limits that must hold before the XML parser runs.
pub(crate) fn check_text(text: &str, work: &mut SvgWork) -> Result<(), IconError> {
    work.spend(text.len() as f64 * XML_BYTE_WORK)?;
    let signs = |tag: &str| tag.bytes().filter(|&byte| byte == b'=').count();
    // Quoted values contain few `=` signs. Styles and scripts count up to the next tag.
    if text.split('<').any(|tag| tag.len() > MAX_TAG_ATTRIBUTES && signs(tag) > MAX_TAG_ATTRIBUTES)
    {
        return Err(refused("too many attributes"));
    }
    if entity_growth(text).is_none_or(|bytes| bytes > MAX_ENTITY_BYTES) {
        return Err(refused("entities"));
    }
    Ok(())
}

/// Pays for reading the document with all references followed. Returns the references that must be
/// removed, because their elements refer to themselves.
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
    // `svg_walk` pays for outlines, by their pieces.
    work.check(cost.stroked.work())?;
    Ok(counter.circles)
}

/// The cost for drawing an element with everything below it.
#[derive(Clone, Copy)]
struct NodeCost {
    /// Drawn elements. Attributes and text also count as elements.
    drawn: u64,
    /// Drawn elements that may have a paint.
    painted: u64,
    /// Outlines that are stroked, and those that become so if the element inherits a stroke.
    stroked: Outlines,
    inheriting: Outlines,
    /// Nesting levels below this element.
    height: usize,
}

struct CostCounter<'a, 'input> {
    references: References<'a, 'input>,
    /// Each visited node's cost. `None` while it is being computed: a node found in this state
    /// refers to itself.
    known: HashMap<NodeId, Option<NodeCost>>,
    /// An upper bound for viewport sides.
    largest: f64,
    /// The references to elements that refer to themselves.
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

    /// Adds the cost of a node's references: the target of `use` is drawn once, paints once for
    /// each element that inherits them.
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
                // A gradient's stops are copied. This is far less than drawing an element.
                Reference::Inherited if gradient => {
                    paints = paints.saturating_add(1 + target.drawn / 8);
                }
                Reference::Inherited => {
                    paints = paints.saturating_add(target.drawn);
                    stroked.add(target.stroked, cost.painted as f64);
                }
                // A marker is drawn at every vertex. A vertex takes at least 2 bytes in path data,
                // and 32 attribute bytes count as one element, so there are at most 16 markers per
                // element.
                Reference::Marker => {
                    markers = markers.saturating_add(target.drawn.saturating_mul(16));
                    stroked.add(target.stroked, cost.drawn as f64 * 16.0);
                }
            }
            let painted = cost.painted.saturating_mul(paints);
            let marked = cost.drawn.saturating_mul(markers);
            within(cost.drawn.saturating_add(painted).saturating_add(marked).saturating_add(once))?;
        }
        // All sums were within the limit in the check above.
        cost.drawn += cost.painted * paints + cost.drawn * markers + once;
        cost.stroked.add(stroked, 1.0);
        within(cost.drawn)
    }

    /// Returns an element's cost without its children.
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
            let (characters, parts) = (characters as u64, all().filter(Node::is_element).count());
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

    /// Strokes the outlines that inherit the element's stroke, if the element sets a stroke or
    /// `none`.
    fn inherit(&mut self, stroke: Option<bool>) {
        let Some(is_set) = stroke else { return };
        let outlines = std::mem::take(&mut self.inheriting);
        if is_set {
            self.stroked.add(outlines, 1.0);
        }
    }
}

/// Checks the numbers from which an arc's radius is computed: plain numbers and viewport
/// percentages. Lengths relative to a font size are rejected, because any element may set this
/// size.
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
            return Err(refused("a length relative to the font"));
        }
        if numbers(text).any(|number| exceeds(number.abs(), MAX_LENGTH)) {
            return Err(refused("a length out of range"));
        }
    }
    Ok(())
}

/// Returns an error if a cost is above the budget.
fn within(cost: u64) -> Result<(), IconError> {
    if cost > MAX_WORK / ELEMENT_WORK { Err(refused("too much to draw")) } else { Ok(()) }
}
