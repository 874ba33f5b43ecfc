//! Finds the references between an SVG's elements in their attributes.

use std::collections::HashMap;

use resvg::usvg::roxmltree::{Document, Node};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reference {
    /// Drawn as a part of this element (`use`).
    Drawn,
    /// Drawn or read once for the element (such as a clip path, mask or filter).
    Once,
    /// Drawn for every descendant (fill, stroke).
    Inherited,
    /// Drawn at every vertex in every descendant (marker).
    Marker,
}

pub(crate) struct References<'a, 'input> {
    by_id: HashMap<&'a str, Node<'a, 'input>>,
}

impl<'a, 'input> References<'a, 'input> {
    pub(crate) fn read(document: &'a Document<'input>) -> Self {
        let mut by_id = HashMap::new();
        for node in document.descendants() {
            if let Some(id) = node.attribute("id") {
                by_id.entry(id).or_insert(node);
            }
        }
        Self { by_id }
    }

    pub(crate) fn of(&self, node: Node<'a, 'input>) -> Vec<(Reference, Node<'a, 'input>)> {
        let mut found = Vec::new();
        for attribute in node.attributes() {
            let (name, value) = (attribute.name(), attribute.value());
            if name != "href" {
                found.extend(references(name, value));
                continue;
            }
            let kind = match node.tag_name().name() {
                "use" => Reference::Drawn,
                "linearGradient" | "radialGradient" | "pattern" | "filter" | "feImage"
                | "textPath" => Reference::Once,
                _ => continue,
            };
            found.extend(value.trim().strip_prefix('#').map(|id| (kind, id)));
        }
        let target = |(kind, id)| Some((kind, *self.by_id.get(id)?));
        found.into_iter().filter_map(target).collect()
    }
}

fn references<'a>(property: &str, value: &'a str) -> impl Iterator<Item = (Reference, &'a str)> {
    let kind = match property {
        "fill" | "stroke" => Reference::Inherited,
        _ if property.starts_with("marker") => Reference::Marker,
        _ => Reference::Once,
    };
    value.split("url(").skip(1).filter_map(move |rest| {
        let (inside, _) = rest.split_once(')')?;
        let id = inside.trim().trim_matches(['"', '\'']).strip_prefix('#')?;
        Some((kind, id))
    })
}
