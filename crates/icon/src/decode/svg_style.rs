//! Which elements of an SVG refer to which, by attribute, style and style sheet.
//!
//! Style sheets are read from above: a rule counts for every element that the last part of its
//! selector may match, so no reference is missed, and some that don't hold are counted.

use std::borrow::Cow;
use std::collections::HashMap;

use resvg::usvg::roxmltree::{Document, Node};

/// How often the target of a reference is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reference {
    /// With the element: `use`.
    Drawn,
    /// Once for the element: clip, mask, filter.
    Once,
    /// For everything below the element: fill and stroke.
    Inherited,
    /// At every vertex below the element.
    Marker,
}

/// A selector's last part and what the rule refers to.
struct Rule {
    /// `.class`, `#id`, a tag name, or `*`.
    matches: String,
    reference: Reference,
    target: String,
}

/// The references of a document.
pub(crate) struct References<'a, 'input> {
    /// Ids should be unique; where they are not, all bearers count.
    by_id: HashMap<&'a str, Vec<Node<'a, 'input>>>,
    rules: Vec<Rule>,
    rule_count: usize,
}

impl<'a, 'input> References<'a, 'input> {
    /// Reads ids and style sheets.
    pub(crate) fn read(document: &'a Document<'input>) -> Self {
        let mut references = Self { by_id: HashMap::new(), rules: Vec::new(), rule_count: 0 };
        for node in document.descendants() {
            if let Some(id) = node.attribute("id") {
                references.by_id.entry(id).or_default().push(node);
            }
            if node.tag_name().name() == "style" {
                let texts = node.children().filter(Node::is_text);
                texts.filter_map(|text| text.text()).for_each(|text| references.read_sheet(text));
            }
        }
        references
    }

    /// Style rules of all sheets.
    pub(crate) fn rule_count(&self) -> usize {
        self.rule_count
    }

    fn read_sheet(&mut self, sheet: &str) {
        for rule in without_comments(sheet).split('}') {
            let Some((selectors, body)) = rule.rsplit_once('{') else { continue };
            let found: Vec<_> = declarations(body).collect();
            for selector in selectors.split(',') {
                self.rule_count += 1;
                for (reference, target) in &found {
                    self.rules.push(Rule {
                        matches: last_part(selector).to_owned(),
                        reference: *reference,
                        target: target.clone(),
                    });
                }
            }
        }
    }

    /// The elements that `node` refers to.
    pub(crate) fn of(&self, node: Node<'a, 'input>) -> Vec<(Reference, Node<'a, 'input>)> {
        let mut found: Vec<(Reference, String)> = Vec::new();
        for attribute in node.attributes() {
            let (name, value) = (attribute.name(), attribute.value());
            match name {
                "style" => found.extend(declarations(&without_comments(value))),
                "href" if node.tag_name().name() == "use" => {
                    let id = value.trim().strip_prefix('#');
                    found.extend(id.map(|id| (Reference::Drawn, id.to_owned())));
                }
                _ => found.extend(reference(name, value)),
            }
        }
        for rule in &self.rules {
            if applies(&rule.matches, node) {
                found.push((rule.reference, rule.target.clone()));
            }
        }
        let mut targets = Vec::new();
        for (reference, id) in found {
            let bearers = self.by_id.get(id.as_str()).map_or(&[][..], Vec::as_slice);
            // Gradients paint without drawing anything.
            let drawn = bearers.iter().filter(|node| !node.tag_name().name().ends_with("Gradient"));
            targets.extend(drawn.map(|&target| (reference, target)));
        }
        targets
    }
}

/// `property: url(#id)` -> how it draws and the id.
fn reference(property: &str, value: &str) -> Option<(Reference, String)> {
    let (_, inside) = value.split_once("url(")?;
    let (inside, _) = inside.split_once(')')?;
    let id = inside.trim().trim_matches(['"', '\'']).strip_prefix('#')?;
    let kind = match property {
        "fill" | "stroke" => Reference::Inherited,
        _ if property.starts_with("marker") => Reference::Marker,
        _ => Reference::Once,
    };
    Some((kind, id.to_owned()))
}

fn without_comments(style: &str) -> Cow<'_, str> {
    let Some((first, _)) = style.split_once("/*") else { return Cow::Borrowed(style) };
    let mut kept = first.to_owned();
    for part in style.split("/*").skip(1) {
        kept.push_str(part.split_once("*/").map_or("", |(_, after)| after));
    }
    Cow::Owned(kept)
}

fn declarations(body: &str) -> impl Iterator<Item = (Reference, String)> {
    body.split(';').filter_map(|declaration| {
        let (property, value) = declaration.split_once(':')?;
        reference(property.trim(), value)
    })
}

/// Of `g.a > path.b:hover` the `.b`: what any match must have.
fn last_part(selector: &str) -> &str {
    let compound = selector.trim().rsplit([' ', '>', '+', '~', '\n', '\t']).next().unwrap_or("");
    let compound = compound.split([':', '[']).next().unwrap_or("");
    match compound.rfind(['.', '#']) {
        Some(at) => &compound[at..],
        None if compound.is_empty() => "*",
        None => compound,
    }
}

fn applies(matches: &str, node: Node) -> bool {
    if let Some(class) = matches.strip_prefix('.') {
        let classes = node.attribute("class").unwrap_or_default();
        return classes.split_ascii_whitespace().any(|name| name == class);
    }
    match matches.strip_prefix('#') {
        Some(id) => node.attribute("id") == Some(id),
        None => matches == "*" || node.tag_name().name() == matches,
    }
}
