//! Computes an SVG's dimensions, and the boxes to which percentages in it refer.

use super::{
    svg_css::Styled, svg_lengths::only_quantity, svg_transforms::ReferenceBox,
    svg_work::MAX_SIDE_BYTES,
};

/// Maximum ancestors to check. `svg_cost` rejects documents with deeper nesting.
const MAX_DEPTH: usize = 128;
/// Width and height of a picture that does not specify them.
pub(crate) const DEFAULT_SIDES: [f64; 2] = [300.0, 150.0];

impl Styled<'_, '_> {
    pub(crate) fn tag(&self, index: usize) -> &str {
        self.elements.node(index).tag_name().name()
    }

    pub(crate) fn inherited(&self, index: usize, name: &str) -> Option<&str> {
        let mut at = Some(index);
        for _ in 0..MAX_DEPTH {
            let index = at?;
            if let Some(value) = self.styles[index].get(name) {
                return Some(value);
            }
            at = self.elements.parent(index);
        }
        None
    }

    pub(crate) fn root_sides(&self) -> [f64; 2] {
        let side = |name: &str| self.side(0, name);
        let (width, height) = (side("width"), side("height"));
        let [across, down] = self.view_box(0).map_or(DEFAULT_SIDES, |it| [it.width, it.height]);
        match (width, height, self.view_box(0).is_some()) {
            (Some(width), Some(height), _) => [width, height],
            (Some(width), None, true) => [width, width * down / across],
            (None, Some(height), true) => [height * across / down, height],
            (width, height, _) => [width.unwrap_or(across), height.unwrap_or(down)],
        }
    }

    pub(crate) fn root_box(&self) -> ReferenceBox {
        let [width, height] = self.root_sides();
        self.view_box(0).unwrap_or(ReferenceBox { width, height, ..ReferenceBox::default() })
    }

    pub(crate) fn side(&self, index: usize, name: &str) -> Option<f64> {
        // Ignore the root element's style, because its width and height are only read from
        // attributes.
        let style = self.styles[index].get(name).filter(|_| index != 0);
        let value = style.or_else(|| self.elements.node(index).attribute(name))?;
        if value.len() > MAX_SIDE_BYTES {
            return None;
        }
        let number = value.trim().parse::<f64>().ok();
        let length = || only_quantity(value).filter(|_| !is_relative(value))?.length(0.0);
        number.or_else(length).filter(|side| *side > 0.0)
    }

    pub(crate) fn view_box(&self, index: usize) -> Option<ReferenceBox> {
        let value = self.elements.node(index).attribute("viewBox")?;
        if value.len() > MAX_SIDE_BYTES {
            return None;
        }
        let svgtypes::ViewBox { x, y, w, h } = value.parse().ok()?;
        Some(ReferenceBox { x, y, width: w, height: h })
    }

    pub(crate) fn viewport(&self, index: usize) -> ReferenceBox {
        let mut at = self.elements.parent(index);
        for _ in 0..MAX_DEPTH {
            let Some(parent) = at else { break };
            if matches!(self.tag(parent), "svg" | "symbol") {
                let sides = || match parent {
                    0 => self.root_sides(),
                    _ => ["width", "height"].map(|name| self.side(parent, name).unwrap_or(0.0)),
                };
                let [width, height] =
                    self.view_box(parent).map_or_else(sides, |it| [it.width, it.height]);
                return ReferenceBox { width, height, ..ReferenceBox::default() };
            }
            at = self.elements.parent(parent);
        }
        ReferenceBox::default()
    }
}

/// Percentages refer to this length if they are neither horizontal nor vertical.
pub(crate) fn diagonal(reference: ReferenceBox) -> f64 {
    let ReferenceBox { width, height, .. } = reference;
    ((width * width + height * height) / 2.0).sqrt()
}

pub(crate) fn is_relative(value: &str) -> bool {
    value.contains('%') || only_quantity(value).is_none()
}

/// Converts a length with a function, such as `calc()`, to pixels.
pub(crate) fn resolved(value: &str, whole: f64) -> String {
    if !value.contains('(') {
        return value.to_owned();
    }
    let length = only_quantity(value).and_then(|it| it.length(whole));
    length.map_or_else(|| value.to_owned(), |length| (length as f32).to_string())
}
