//! Estimates the work of reading an SVG before usvg reads it.
//!
//! Defines the limits: attributes of an element, style rules times elements, nesting, elements with
//! all references followed (`use`, paints, masks, clip paths and markers, with which a kilobyte of
//! text can describe an unbounded drawing), numbers of stroked paths, characters of text. Work is
//! an upper bound and uses no clock, so that either every machine rejects an SVG or none does. Does
//! not depend on how the resolved picture is drawn (`svg_walk`).

use std::collections::HashMap;

use resvg::usvg::roxmltree::{Document, Node, NodeId};

use super::{
    svg_strokes::outline_work,
    svg_style::{Reference, References, parse_work},
    svg_work::{MAX_WORK, SvgWork, exceeds, refused},
};
use crate::{error::IconError, sniff::svg_root::entity_growth};

/// Maximum number of `=` signs in one tag. The XML parser compares each attribute with all previous
/// ones, so its time is quadratic.
const MAX_TAG_ATTRIBUTES: usize = 512;
/// Maximum number of bytes that entities may add. Drawing programs add a few hundred.
const MAX_ENTITY_BYTES: usize = 64 * 1024;
/// Maximum nesting of elements with references followed. The drawing code is recursive, and its
/// stack must suffice.
const MAX_DEPTH: usize = 96;
/// Maximum number in a path, radius or viewport. An arc becomes about as many curves as the sixth
/// root of its radius: 22 at this limit, but more than any memory holds for the largest `f64`.
const MAX_LENGTH: f64 = 1e8;
/// Work of reading a byte of XML.
const BYTE_WORK: f64 = 4.0;
/// Work of matching a style sheet's declaration with an element.
const RULE_MATCH_WORK: f64 = 55.0;
/// Work of an element. Each 32 bytes of its attributes count as one more element.
const ELEMENT_WORK: u64 = 800;
/// Work of creating a character's outline, and of finding its glyph for each part of its text.
const CHARACTER_WORK: u64 = 10_000;
const SHAPED_CHARACTER_WORK: u64 = 1_000;
/// Work of creating the outline of a character's stroke.
const STROKED_CHARACTER_WORK: u64 = 60_000;

/// Pays for reading the text, and checks the limits that must hold before the XML parser runs.
pub(crate) fn check_text(text: &str, work: &mut SvgWork) -> Result<(), IconError> {
    work.spend(text.len() as f64 * BYTE_WORK)?;
    let signs = |tag: &str| tag.bytes().filter(|&byte| byte == b'=').count();
    // Quoted values contain few `=` signs. The text of styles and scripts counts up to the next
    // tag.
    if text.split('<').any(|tag| tag.len() > MAX_TAG_ATTRIBUTES && signs(tag) > MAX_TAG_ATTRIBUTES)
    {
        return Err(refused("too many attributes"));
    }
    if entity_growth(text).is_none_or(|bytes| bytes > MAX_ENTITY_BYTES) {
        return Err(refused("entities"));
    }
    Ok(())
}

/// Pays for reading the document with all references followed.
pub(crate) fn check_document(document: &Document, work: &mut SvgWork) -> Result<(), IconError> {
    let references = References::read(document);
    work.spend(references.parse_work())?;
    let elements = document.descendants().filter(Node::is_element).count();
    let matches = references.match_count().saturating_mul(elements);
    work.spend(matches as f64 * RULE_MATCH_WORK)?;
    let by_use = |node: &Node| {
        node.tag_name().name() == "use" && node.ancestors().take(MAX_DEPTH).any(strokes)
    };
    let by_sheet = |node: &Node| node.text().is_some_and(sets_stroke);
    let strokes = document.descendants().any(|node| by_use(&node) || by_sheet(&node));
    let mut counter = CostCounter { references, known: HashMap::new(), strokes };
    let matches = counter.references.match_count();
    let cost = counter.visit(document.root_element(), 0)?;
    // usvg also matches each copy of an element that `use` makes.
    let copies = cost.painted.saturating_sub(elements as u64);
    work.spend(matches as f64 * copies as f64 * RULE_MATCH_WORK)?;
    work.spend((cost.drawn * ELEMENT_WORK) as f64)
}

/// The cost of drawing an element with everything below it.
#[derive(Clone, Copy)]
struct NodeCost {
    /// Number of drawn elements, with attributes, strokes and text counted as elements.
    drawn: u64,
    /// Number of drawn elements that may have a paint.
    painted: u64,
    /// Levels of nesting below the element.
    height: usize,
}

struct CostCounter<'a, 'input> {
    references: References<'a, 'input>,
    /// The cost of each visited node. `None` while it is being computed: a node found in that state
    /// refers to itself.
    known: HashMap<NodeId, Option<NodeCost>>,
    /// True if anything may be stroked, by a style sheet or by `use`.
    strokes: bool,
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
        let mut cost = NodeCost { drawn: self.own_cost(node), painted: 1, height: 0 };
        for child in node.children().filter(Node::is_element) {
            let child = self.visit(child, depth + 1)?;
            cost.add(child);
            within(cost.drawn)?;
        }
        self.follow(node, depth, &mut cost)?;
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
        for (reference, target) in self.references.of(node) {
            let gradient = target.tag_name().name().ends_with("Gradient");
            let target = self.visit(target, depth + 1)?;
            cost.height = cost.height.max(target.height + 1);
            match reference {
                Reference::Drawn => cost.add(target),
                Reference::Once => once = once.saturating_add(target.drawn),
                // The stops of a gradient are copied, which is far less than drawing an element.
                Reference::Inherited if gradient => {
                    paints = paints.saturating_add(1 + target.drawn / 8);
                }
                Reference::Inherited => paints = paints.saturating_add(target.drawn),
                // A marker is drawn at every vertex. A vertex takes at least 2 bytes of path data,
                // and 32 bytes of attributes count as one element: at most 16 markers per element.
                Reference::Marker => {
                    markers = markers.saturating_add(target.drawn.saturating_mul(16));
                }
            }
            let painted = cost.painted.saturating_mul(paints);
            let marked = cost.drawn.saturating_mul(markers);
            within(cost.drawn.saturating_add(painted).saturating_add(marked).saturating_add(once))?;
        }
        // All sums were within the limit in the check above.
        cost.drawn += cost.painted * paints + cost.drawn * markers + once;
        within(cost.drawn)
    }

    fn may_stroke(&self, node: Node) -> bool {
        self.strokes || node.ancestors().take(MAX_DEPTH).any(strokes)
    }

    /// Returns the cost of an element without its children.
    fn own_cost(&self, node: Node<'a, 'input>) -> u64 {
        let attribute_bytes: usize = node.attributes().map(|a| a.value().len()).sum();
        let name = node.tag_name().name();
        let mut work = node.attribute("style").map_or(0, |style| parse_work(style) as u64);
        if name == "text" {
            let all = || node.descendants();
            let characters: usize =
                all().filter(Node::is_text).filter_map(|it| it.text()).map(str::len).sum();
            let (characters, parts) = (characters as u64, all().filter(Node::is_element).count());
            work += characters * (CHARACTER_WORK + parts as u64 * SHAPED_CHARACTER_WORK);
            if self.may_stroke(node) || all().any(strokes) {
                work += characters * STROKED_CHARACTER_WORK;
            }
        } else if self.may_stroke(node) {
            work += outline_work(node);
        }
        1 + attribute_bytes as u64 / 32 + work / ELEMENT_WORK
    }
}

impl NodeCost {
    fn add(&mut self, part: Self) {
        self.drawn = self.drawn.saturating_add(part.drawn);
        self.painted = self.painted.saturating_add(part.painted);
        self.height = self.height.max(part.height + 1);
    }
}

/// Returns true if any value in `style` sets a stroke.
fn sets_stroke(style: &str) -> bool {
    style.split("stroke").skip(1).any(|rest| {
        let value = rest.trim_start().strip_prefix(':');
        value.is_some_and(|value| !value.trim_start().starts_with("none"))
    })
}

/// Returns true if `node` itself sets a stroke.
fn strokes(node: Node) -> bool {
    node.attribute("stroke").is_some_and(|stroke| stroke.trim() != "none")
        || node.attribute("style").is_some_and(sets_stroke)
}

/// Checks the numbers from which an arc's radius is computed: plain numbers and percentages of a
/// viewport. Lengths relative to a font size are rejected, because any element may set that size.
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

/// Iterates over the numbers in a path or a list. If no space separates the flags of an arc from
/// the next number, they are read as its digits.
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
        // An `e` starts an exponent if digits follow; otherwise it starts a unit.
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

/// Returns an error if a cost is above the budget.
fn within(cost: u64) -> Result<(), IconError> {
    if cost > MAX_WORK / ELEMENT_WORK { Err(refused("too much to draw")) } else { Ok(()) }
}
