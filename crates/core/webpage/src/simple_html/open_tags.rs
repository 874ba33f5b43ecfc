//! Tracks the open elements in simple HTML, because they decide what a tag starts and ends.

use super::element::{Kind, Role};

/// Maximum element nesting. Content below this depth belongs to the innermost tracked element.
pub(super) const MAX_DEPTH: usize = 64;

/// Maximum nesting for lists and quotes, because each level indents all its lines.
const MAX_INDENTS: usize = 12;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OpenElement {
    pub(super) source: u32,
    pub(super) kind: Kind,
    pub(super) is_hidden: bool,
}

#[derive(Debug, Default)]
pub(super) struct OpenTags {
    open: Vec<OpenElement>,
    hidden: usize,
    preformatted: usize,
}

impl OpenTags {
    pub(super) fn is_hidden(&self) -> bool {
        self.hidden > 0
    }

    pub(super) fn is_preformatted(&self) -> bool {
        self.preformatted > 0
    }

    /// Returns true if a heading is open inside the innermost table, or anywhere if no table is
    /// open.
    pub(super) fn is_in_heading(&self) -> bool {
        self.of_role(Role::Heading, |role| role == Role::TableFrame).is_some()
    }

    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    pub(super) fn has_room(&self, role: Role) -> bool {
        let indents = || self.open.iter().filter(|open| open.kind.role.is_indented()).count();
        self.has_room_for(1) && (!role.is_indented() || indents() < MAX_INDENTS)
    }

    pub(super) fn has_room_for(&self, elements: usize) -> bool {
        self.open.len() + elements <= MAX_DEPTH
    }

    pub(super) fn innermost(&self) -> Option<Role> {
        self.open.last().map(|open| open.kind.role)
    }

    pub(super) fn has_inline(&self, name: &str) -> bool {
        let is_inner =
            |open: &&OpenElement| !open.kind.role.is_block() || open.kind.name.is_empty();
        self.open.iter().rev().take_while(is_inner).any(|open| open.kind.name == name)
    }

    pub(super) fn push(&mut self, open: OpenElement) {
        self.hidden += usize::from(open.is_hidden);
        self.preformatted += usize::from(open.kind.role == Role::Preformatted);
        self.open.push(open);
    }

    pub(super) fn pop(&mut self) -> Option<OpenElement> {
        let open = self.open.pop()?;
        self.hidden -= usize::from(open.is_hidden);
        self.preformatted -= usize::from(open.kind.role == Role::Preformatted);
        Some(open)
    }

    /// Returns the innermost element that `is_wanted` accepts, unless `is_limit` accepts an element
    /// inside it.
    pub(super) fn position(
        &self,
        is_wanted: impl Fn(&OpenElement) -> bool,
        is_limit: impl Fn(Role) -> bool,
    ) -> Option<usize> {
        for (at, open) in self.open.iter().enumerate().rev() {
            if is_wanted(open) {
                return Some(at);
            }
            if is_limit(open.kind.role) {
                return None;
            }
        }
        None
    }

    pub(super) fn of_role(&self, role: Role, is_limit: impl Fn(Role) -> bool) -> Option<usize> {
        self.position(|open| open.kind.role == role, is_limit)
    }
}
