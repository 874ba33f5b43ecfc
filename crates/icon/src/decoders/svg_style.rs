//! Finds the references between elements of an SVG, by attribute, style or style sheet.
//!
//! Style sheets are matched loosely: a rule counts for every element that the last part of its
//! selector may match. So no reference is missed, but some are counted that do not apply.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use resvg::usvg::roxmltree::{Document, Node};

/// Maximum number of an element's ancestors that count; `svg_cost` rejects elements with more.
const MAX_SELECTOR_DEPTH: usize = 100;

/// Work of counting a byte for an error position.
const PLACE_WORK: f64 = 0.5;

/// How often a reference's target is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reference {
    /// Drawn as part of the element (`use`).
    Drawn,
    /// Drawn once for the element (clip path, mask, filter).
    Once,
    /// Drawn for every descendant of the element (fill, stroke).
    Inherited,
    /// Drawn at every vertex of every descendant of the element (marker).
    Marker,
}

/// The last part of a selector, and the element that the rule refers to.
struct StyleRule {
    /// `.class`, `#id`, a tag name, or `*`.
    matches: String,
    reference: Reference,
    /// The id of the element.
    target: String,
    /// The property, if an element's own style overrides it.
    overridable: Option<String>,
}

/// The references of a document.
pub(crate) struct References<'a, 'input> {
    /// Elements by id. Ids should be unique; if they are not, all elements with an id count.
    by_id: HashMap<&'a str, Vec<Node<'a, 'input>>>,
    rules: Vec<StyleRule>,
    match_count: usize,
    /// Work of parsing all style sheets.
    parse_work: f64,
    /// Number of levels in the document.
    depth: usize,
}

impl<'a, 'input> References<'a, 'input> {
    /// Reads ids and style sheets.
    pub(crate) fn read(document: &'a Document<'input>) -> Self {
        let mut references = Self {
            by_id: HashMap::new(),
            rules: Vec::new(),
            match_count: 0,
            parse_work: 0.0,
            depth: 1,
        };
        let depth = |node: Node| node.ancestors().take(MAX_SELECTOR_DEPTH).count();
        references.depth = document.descendants().map(depth).max().unwrap_or(1);
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

    /// Returns the number of comparisons that all style sheets need for one element: with
    /// declarations and, for each part of a selector, with ancestors.
    pub(crate) fn match_count(&self) -> usize {
        self.match_count
    }

    /// Returns the work of parsing all style sheets.
    pub(crate) fn parse_work(&self) -> f64 {
        self.parse_work
    }

    fn read_sheet(&mut self, sheet: &str) {
        self.parse_work += parse_work(sheet);
        for rule in without_comments(sheet).split('}') {
            let Some((selectors, body)) = rule.rsplit_once('{') else { continue };
            let found: Vec<_> = declarations(body).collect();
            for selector in selectors.split(',') {
                // The parser tries every ancestor for every part of a selector except the last.
                let parts = selector.split([' ', '>', '+', '~', '\n', '\t']);
                let parts = parts.filter(|part| !part.is_empty()).count() as u32;
                let tried = self.depth.saturating_pow(parts.saturating_sub(1));
                let matches = tried.saturating_add(body.split(';').count());
                self.match_count = self.match_count.saturating_add(matches);
                for (property, reference, target) in &found {
                    let is_overridable = !body.contains("!important");
                    self.rules.push(StyleRule {
                        matches: last_part(selector).to_owned(),
                        reference: *reference,
                        target: target.clone(),
                        overridable: is_overridable.then(|| property.clone()),
                    });
                }
            }
        }
    }

    /// Returns the elements that `node` refers to.
    pub(crate) fn of(&self, node: Node<'a, 'input>) -> Vec<(Reference, Node<'a, 'input>)> {
        let mut found: Vec<(Reference, String)> = Vec::new();
        for attribute in node.attributes() {
            let (name, value) = (attribute.name(), attribute.value());
            match name {
                "style" => {
                    let style = without_comments(value);
                    found.extend(declarations(&style).map(|(_, kind, id)| (kind, id)));
                }
                "href" => {
                    let kind = match node.tag_name().name() {
                        "use" => Reference::Drawn,
                        "linearGradient" | "radialGradient" | "pattern" | "filter" | "feImage"
                        | "textPath" => Reference::Once,
                        _ => continue,
                    };
                    let id = value.trim().strip_prefix('#');
                    found.extend(id.map(|id| (kind, id.to_owned())));
                }
                _ => found.extend(reference(name, value)),
            }
        }
        let style = node.attribute("style").unwrap_or_default();
        let declarations = style.split(';').filter_map(|it| it.split_once(':'));
        let none = declarations.filter(|(_, value)| value.trim() == "none");
        let none: HashSet<&str> = none.map(|(property, _)| property.trim()).collect();
        for rule in &self.rules {
            let is_overridden = rule.overridable.as_ref().is_some_and(|it| none.contains(&**it));
            if applies(&rule.matches, node) && !is_overridden {
                found.push((rule.reference, rule.target.clone()));
            }
        }
        let mut targets = Vec::new();
        for (reference, id) in found {
            let elements = self.by_id.get(id.as_str()).map_or(&[][..], Vec::as_slice);
            targets.extend(elements.iter().map(|&target| (reference, target)));
        }
        targets
    }
}

/// Parses a property with the value `url(#id)`: returns the kind of reference and the id.
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

/// Removes CSS comments.
pub(crate) fn without_comments(style: &str) -> Cow<'_, str> {
    let Some((first, _)) = style.split_once("/*") else { return Cow::Borrowed(style) };
    let mut kept = first.to_owned();
    for part in style.split("/*").skip(1) {
        kept.push_str(part.split_once("*/").map_or("", |(_, after)| after));
    }
    Cow::Owned(kept)
}

/// Returns the work of parsing declarations. simplecss ends each with an error that contains its
/// position, for which it counts lines and columns from the start of the text.
pub(crate) fn parse_work(css: &str) -> f64 {
    let ends = css.bytes().enumerate().filter(|(_, byte)| matches!(byte, b';' | b'}'));
    let before: usize = ends.map(|(at, _)| at).sum();
    (before + css.len()) as f64 * PLACE_WORK
}

/// Returns the background colour in a root element's style, which browsers draw behind the picture.
/// Images, gradients and style sheets are ignored.
pub(crate) fn background_of(root: Node) -> Option<svgtypes::Color> {
    let style = without_comments(root.attribute("style")?);
    // The last valid colour counts.
    style.rsplit(';').find_map(|declaration| {
        let (property, value) = declaration.split_once(':')?;
        let is_background = matches!(property.trim(), "background" | "background-color");
        let value = value.trim().trim_end_matches("!important").trim_end();
        is_background.then(|| value.parse().ok())?
    })
}

/// Iterates over the properties and references in a list of CSS declarations.
fn declarations(body: &str) -> impl Iterator<Item = (String, Reference, String)> {
    body.split(';').filter_map(|declaration| {
        let (property, value) = declaration.split_once(':')?;
        let (reference, id) = reference(property.trim(), value)?;
        Some((property.trim().to_owned(), reference, id))
    })
}

/// Returns the last class, id or tag name of a selector, which every matching element must have:
/// `.b` for `g.a > path.b:hover`.
fn last_part(selector: &str) -> &str {
    let compound = selector.trim().rsplit([' ', '>', '+', '~', '\n', '\t']).next().unwrap_or("");
    let compound = compound.split([':', '[']).next().unwrap_or("");
    match compound.rfind(['.', '#']) {
        Some(at) => &compound[at..],
        None if compound.is_empty() => "*",
        None => compound,
    }
}

/// Returns true if `node` has the class, id or tag name `matches`.
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
