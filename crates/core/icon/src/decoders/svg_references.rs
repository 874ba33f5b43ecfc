//! Removes circular references between SVG elements, and applies the transforms of symbols.
//!
//! Browsers ignore a reference by which an element refers to itself, directly or through other
//! elements, and draw the rest. usvg follows some of these references until the stack overflows,
//! and ignores a symbol's transform.

use std::{collections::HashMap, ops::Range, str::FromStr};

use resvg::usvg::roxmltree::{Attribute, Document, Node};
use svgtypes::Transform;

use super::svg_work::{SvgWork, refused};
use crate::error::IconError;

const CIRCLE_WORK: f64 = 2_000.0;

pub(crate) struct Circle<'a, 'input> {
    pub(crate) from: Node<'a, 'input>,
    pub(crate) to: Node<'a, 'input>,
}

/// Returns the document without `circles`, and with the symbols' transforms applied to each `use`.
/// `None` if nothing changes.
///
/// # Errors
/// Returns an error if a circular reference is inside an entity, because the document then has no
/// position to edit, or if there are too many circular references.
pub(crate) fn with_known_references(
    document: &Document,
    circles: &[Circle],
    work: &mut SvgWork,
) -> Result<Option<String>, IconError> {
    let text = document.input_text();
    let mut edits = Vec::new();
    for (node, transform) in moved_uses(document) {
        edits.extend(set(text, node, "transform", &transform));
    }
    if circles.is_empty() && edits.is_empty() {
        return Ok(None);
    }
    work.spend(circles.len() as f64 * CIRCLE_WORK)?;
    for circle in circles {
        let edit = edits_of(text, circle);
        edits.extend(edit.ok_or_else(|| refused("a reference to itself"))?);
    }
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    edits.dedup();
    let mut written = String::with_capacity(text.len() + 64);
    let mut read = 0;
    for (range, new) in &edits {
        let before = text.get(read..range.start);
        written.push_str(before.ok_or_else(|| refused("a reference to itself"))?);
        written.push_str(new);
        read = range.end;
    }
    written.push_str(&text[read..]);
    Ok(Some(written))
}

type Edit = (Range<usize>, String);

/// Returns the edits that remove `href`, and set other attributes to `none`. `None` if an attribute
/// comes from an entity.
fn edits_of(text: &str, circle: &Circle) -> Option<Vec<Edit>> {
    let id = circle.to.attribute("id")?;
    let mut edits = Vec::new();
    for attribute in circle.from.attributes() {
        let (name, value) = (attribute.name(), attribute.value());
        if name == "href" && value.trim().strip_prefix('#') == Some(id) {
            edits.push((checked(text, &attribute)?, String::new()));
        } else if names(value, id) {
            edits.push((checked(text, &attribute)?, format!("{name}=\"none\"")));
        }
    }
    Some(edits)
}

fn set(text: &str, node: Node, name: &str, value: &str) -> Option<Edit> {
    let written = format!("{name}=\"{value}\"");
    if let Some(attribute) = node.attributes().find(|attribute| attribute.name() == name) {
        return Some((checked(text, &attribute)?, written));
    }
    let start = node.range().start;
    let tag = text.get(start..)?.strip_prefix('<')?;
    let end = start + 1 + tag.find(|c: char| c.is_whitespace() || matches!(c, '>' | '/'))?;
    Some((end..end, format!(" {written}")))
}

/// Returns each `use` that refers to a symbol with a transform, with the combination of both
/// transforms. The symbol's transform has its origin at the position of the `use`.
fn moved_uses<'a, 'input>(document: &'a Document<'input>) -> Vec<(Node<'a, 'input>, String)> {
    let elements = || document.descendants().filter(Node::is_element);
    let mut transforms = HashMap::new();
    for symbol in elements().filter(|node| node.tag_name().name() == "symbol") {
        if let (Some(id), Some(transform)) = (symbol.attribute("id"), symbol.attribute("transform"))
            && let Ok(transform) = Transform::from_str(transform)
        {
            transforms.entry(id).or_insert(transform);
        }
    }
    if transforms.is_empty() {
        return Vec::new();
    }
    let moved = |node: Node| {
        let link = node.attributes().find(|attribute| attribute.name() == "href")?;
        let of_symbol = transforms.get(link.value().trim().strip_prefix('#')?)?;
        let place = |name| node.attribute(name).map_or(Some(0.0), |it| it.trim().parse().ok());
        let (x, y): (f64, f64) = (place("x")?, place("y")?);
        let own = node.attribute("transform").map(Transform::from_str);
        let matrix =
            |t: &Transform| format!("matrix({} {} {} {} {} {})", t.a, t.b, t.c, t.d, t.e, t.f);
        let own = own.and_then(Result::ok).map_or(String::new(), |own| matrix(&own));
        let of_symbol = matrix(of_symbol);
        Some(format!("{own} translate({x} {y}) {of_symbol} translate({} {})", -x, -y))
    };
    let uses = elements().filter(|node| node.tag_name().name() == "use");
    uses.filter_map(|node| Some((node, moved(node)?))).collect()
}

/// `None` if the document's text contains something else at this position, because the attribute
/// comes from an entity.
fn checked(text: &str, attribute: &Attribute) -> Option<Range<usize>> {
    let range = attribute.range();
    let (name, value) = text.get(range.clone())?.split_once('=')?;
    let is_same = name.trim_end().ends_with(attribute.name()) && value.ends_with(['"', '\'']);
    is_same.then_some(range)
}

fn names(value: &str, id: &str) -> bool {
    value.split("url(").skip(1).any(|rest| {
        let inside = rest.split(')').next().unwrap_or_default();
        inside.trim().trim_matches(['"', '\'']).strip_prefix('#') == Some(id)
    })
}
