//! Tracks the open elements that decide whether text is shown, and whether it is preformatted.

use super::element::{Element, Flow, Sibling};

/// Maximum nesting that is tracked. A deeper element ends together with the innermost tracked one.
const MAX_DEPTH: usize = 256;

#[derive(Debug, Clone, Copy)]
struct OpenElement {
    element: Element,
    is_hidden: bool,
    is_preformatted: bool,
}

#[derive(Debug, Clone, Default)]
pub(super) struct OpenElements {
    open: Vec<OpenElement>,
    hidden: usize,
    preformatted: usize,
}

impl OpenElements {
    pub(super) fn is_hidden(&self) -> bool {
        self.hidden > 0
    }

    pub(super) fn preformatted(&self) -> usize {
        self.preformatted
    }

    pub(super) fn close_before(&mut self, element: &Element) {
        let is_paragraph = |open: &OpenElement| open.element.sibling == Sibling::Paragraph;
        if element.ends_paragraph() && self.open.last().is_some_and(is_paragraph) {
            self.truncate(self.open.len() - 1);
        }
        if matches!(element.sibling, Sibling::None | Sibling::Paragraph) {
            return;
        }
        let ends = |open: &OpenElement| {
            let other = open.element.sibling;
            match element.sibling {
                Sibling::Row => matches!(other, Sibling::Row | Sibling::Cell),
                Sibling::RowGroup => {
                    matches!(other, Sibling::RowGroup | Sibling::Row | Sibling::Cell)
                }
                same => other == same,
            }
        };
        let below = self.open.iter().rposition(|open| open.element.is_list);
        let above = below.map_or(0, |at| at + 1);
        let inner = self.open.get(above..).unwrap_or_default();
        if let Some(found) = inner.iter().position(ends) {
            self.truncate(above + found);
        }
    }

    pub(super) fn push(&mut self, element: Element, is_hidden: bool) {
        let is_inline = matches!(element.flow, Flow::Inline | Flow::Apart);
        if self.open.len() >= MAX_DEPTH || (is_inline && !is_hidden && !self.is_hidden()) {
            return;
        }
        let is_preformatted = element.flow == Flow::Preformatted;
        self.hidden += usize::from(is_hidden);
        self.preformatted += usize::from(is_preformatted);
        self.open.push(OpenElement { element, is_hidden, is_preformatted });
    }

    pub(super) fn close(&mut self, element: &Element) {
        for (at, open) in self.open.iter().enumerate().rev() {
            if open.element.name == element.name {
                return self.truncate(at);
            }
            if open.element.is_scope && !element.is_table_part {
                return;
            }
        }
    }

    fn truncate(&mut self, length: usize) {
        for closed in self.open.drain(length..) {
            self.hidden -= usize::from(closed.is_hidden);
            self.preformatted -= usize::from(closed.is_preformatted);
        }
    }
}
