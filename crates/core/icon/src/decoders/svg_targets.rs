//! Resolves an SVG's references and lengths as browsers do, if usvg resolves them differently.
//!
//! Gradients and patterns count as missing if their transform has no inverse, and a gradient
//! without stops paints nothing.

use std::{collections::HashMap, str::FromStr};

use resvg::usvg::roxmltree::Node;
use svgtypes::Length;

use super::{
    svg_css::Styled,
    svg_lengths::only_quantity,
    svg_properties::leading_url,
    svg_transforms::{self, ReferenceBox, functions},
    svg_viewports::diagonal,
    svg_work::{CSS_BYTE_WORK, SvgWork},
};
use crate::error::IconError;

/// Maximum gradients or patterns in a chain of references. Those beyond this limit are ignored.
const MAX_LINKS: usize = 32;
/// Maximum bytes in a symbol's width or height, because we parse them again for each `use`.
const MAX_SYMBOL_SIDE_BYTES: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Paint {
    Drawn,
    Missing,
    Empty,
}

/// A gradient's or pattern's properties, without those that it inherits from others.
struct Own {
    is_flat: Option<bool>,
    has_content: bool,
    link: Option<usize>,
}

pub(crate) struct Paints {
    by_element: HashMap<usize, Paint>,
}

impl Paints {
    pub(crate) fn read(styled: &Styled, work: &mut SvgWork) -> Result<Self, IconError> {
        let mut all = HashMap::new();
        for index in 0..styled.elements.len() {
            let node = styled.elements.node(index);
            let transform = match node.tag_name().name() {
                "linearGradient" | "radialGradient" => "gradientTransform",
                "pattern" => "patternTransform",
                _ => continue,
            };
            let bytes = node.attribute(transform).map_or(0, str::len);
            work.spend(bytes as f64 * CSS_BYTE_WORK)?;
            let is_pattern = transform == "patternTransform";
            let is_stop = |child: Node| child.tag_name().name() == "stop";
            let own = Own {
                is_flat: styled.is_flat(index, transform),
                has_content: is_pattern || node.children().any(is_stop),
                link: styled.target(index),
            };
            all.insert(index, own);
        }
        let by_element = all.keys().map(|index| (*index, painted(*index, &all))).collect();
        Ok(Self { by_element })
    }

    pub(crate) fn written(&self, styled: &Styled, value: &str) -> String {
        let Some((url, fallback)) = leading_url(value) else { return value.to_owned() };
        let target = url.strip_prefix('#').and_then(|id| styled.ids.get(id));
        let paint = target.and_then(|it| self.by_element.get(it)).unwrap_or(&Paint::Missing);
        let fallback = fallback.trim();
        let written = match paint {
            Paint::Drawn => value,
            Paint::Missing if !fallback.is_empty() => fallback,
            Paint::Missing | Paint::Empty => "none",
        };
        written.to_owned()
    }
}

fn painted(index: usize, all: &HashMap<usize, Own>) -> Paint {
    let (mut is_flat, mut has_content) = (None, false);
    let mut at = Some(index);
    for _ in 0..MAX_LINKS {
        let Some(own) = at.and_then(|at| all.get(&at)) else { break };
        is_flat = is_flat.or(own.is_flat);
        has_content |= own.has_content;
        at = own.link;
    }
    match (is_flat, has_content) {
        (Some(true), _) => Paint::Missing,
        (_, false) => Paint::Empty,
        _ => Paint::Drawn,
    }
}

impl Styled<'_, '_> {
    fn target(&self, index: usize) -> Option<usize> {
        let node = self.elements.node(index);
        let link = node.attributes().find(|it| it.name() == "href")?;
        self.ids.get(link.value().trim().strip_prefix('#')?).copied()
    }

    fn is_flat(&self, index: usize, name: &str) -> Option<bool> {
        let by_css = self.styles[index].computed("transform").filter(|it| it.is_css);
        let matrix = if by_css.is_some() {
            functions(self.styles[index].get("transform")?, self.viewport(index))?
        } else {
            svg_transforms::attribute(self.elements.node(index).attribute(name)?)?
        };
        let [a, b, c, d] = [matrix.sx, matrix.ky, matrix.kx, matrix.sy].map(f64::from);
        Some(a * d - b * c == 0.0)
    }

    /// Returns true for a `use` element that browsers do not draw: one directly in a clip path that
    /// refers to another `use`, or one that draws a symbol or SVG with a width or height that is
    /// not positive.
    pub(crate) fn is_unused(&self, index: usize) -> bool {
        if self.tag(index) != "use" {
            return false;
        }
        let parent = self.elements.parent(index).map(|it| self.tag(it));
        let is_flat = || {
            ["width", "height"].iter().any(|name| {
                let own = self.elements.node(index).attribute(*name);
                let side = own.or_else(|| self.symbol_side(index, name));
                side.is_some_and(|side| !length(side, 1.0).is_some_and(|side| side > 0.0))
            })
        };
        match self.target(index).map(|it| self.tag(it)) {
            Some("use") => parent == Some("clipPath"),
            Some("symbol" | "svg") => is_flat(),
            _ => false,
        }
    }

    fn symbol_side(&self, index: usize, name: &str) -> Option<&str> {
        if self.tag(index) != "use" || self.elements.node(index).attribute(name).is_some() {
            return None;
        }
        let symbol = self.target(index).filter(|it| self.tag(*it) == "symbol")?;
        // Inside a symbol, usvg would resolve percentages with the whole picture's dimensions. So
        // write a missing width or height as 100%, which `attribute_length` converts.
        let is_inside = self.elements.parent(index).is_some_and(|it| self.is_in_symbol(it));
        let all = is_inside.then_some("100%");
        let side = self.elements.node(symbol).attribute(name).or(all)?;
        (side.len() <= MAX_SYMBOL_SIDE_BYTES && length(side, 1.0).is_some()).then_some(side)
    }

    fn is_in_symbol(&self, index: usize) -> bool {
        self.elements.node(index).ancestors().any(|it| it.tag_name().name() == "symbol")
    }

    /// usvg ignores the width and height that a `use` element gets from its symbol.
    pub(crate) fn symbol_sides(&self, index: usize) -> Vec<(&'static str, String)> {
        let side = |name| {
            let side = self.symbol_side(index, name)?;
            let written = self.attribute_length(index, name, side);
            Some((name, written.unwrap_or_else(|| side.to_owned())))
        };
        ["width", "height"].into_iter().filter_map(side).collect()
    }

    /// `None` if usvg reads the length correctly, or if the attribute is not a length.
    pub(crate) fn attribute_length(&self, index: usize, name: &str, value: &str) -> Option<String> {
        let whole: fn(ReferenceBox) -> f64 = match name {
            "x" | "x1" | "x2" | "cx" | "fx" | "rx" | "width" => |viewport| viewport.width,
            "y" | "y1" | "y2" | "cy" | "fy" | "ry" | "height" => |viewport| viewport.height,
            "r" | "fr" => diagonal,
            _ => return None,
        };
        // For these attributes, usvg resolves percentages with the picture's dimensions instead of
        // its `viewBox`.
        let is_part =
            matches!(name, "width" | "height") && self.tag(index) == "use" && value.ends_with('%');
        let whole = whole(self.viewport(index));
        if Length::from_str(value).is_ok() && !(is_part && whole > 0.0) {
            return None;
        }
        let length = length(value, whole);
        // usvg treats an invalid radius like a missing radius and uses the other radius for it. In
        // browsers an invalid radius is 0.
        let invalid = matches!(name, "rx" | "ry").then_some(0.0);
        length.or(invalid).map(|length| (length as f32).to_string())
    }
}

fn length(text: &str, whole: f64) -> Option<f64> {
    let found = only_quantity(text)?;
    found.length(whole).or(found.number())
}
