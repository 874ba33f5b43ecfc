//! URL shape debts, which distinguish traps from long lists of pages.
//!
//! A page with new content reduces the debt of its shapes, and a repetitive page increases it,
//! unless most of its links lead to new content. A shape with too much debt is closed: its pending
//! URLs are marked as left, and links to it are rejected. This module does not depend on page
//! content.

use crate::{
    rules::Rules,
    shape::Shapes,
    shape_counts::{LastPage, Owed, ShapeCounts},
};

/// The debt that a repetitive page adds to its shapes.
const COST: u32 = 4;

/// The debt that a repetitive page adds if it links to shapes of which no page has been read. The
/// debt is smaller because several list pages may precede the pages that they list.
const COST_OF_LIST: u32 = 1;

/// A broader shape may have this many times the debt of a narrow shape. When a narrow shape is
/// closed, its debt is deducted from the broader shapes, so that a trap does not close its
/// neighbours.
const BROADER_TIMES: u32 = 2;

/// The result of comparing a page's content with other pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageSays {
    /// New content. The value is the number of repetitive pages that it offsets.
    New(u32),
    /// Nothing new, but most of its links to unknown pages have shapes with new content.
    Leads,
    /// Nothing new, but most of its links to unknown pages have shapes that have new content or
    /// were never read.
    Lists,
    /// Nothing new.
    Nothing,
}

impl ShapeCounts {
    /// Returns true if URLs with these shapes should not be fetched. This is so if one of their
    /// shapes has too much debt, unless a narrower shape has new content and no debt.
    pub(crate) fn are_closed(&self, shapes: Shapes, rules: &Rules) -> bool {
        for (hash, is_broader) in shapes.iter() {
            let Some(slot) = self.slot(hash) else { continue };
            let owed = self.owed(slot);
            if owed >= most_owed(rules, is_broader) {
                return true;
            }
            if slot.last == LastPage::New && owed == 0 {
                return false;
            }
        }
        false
    }

    /// Returns true if a shape may be closed. False if all shapes are open.
    pub(crate) fn has_closed(&self, rules: &Rules) -> bool {
        self.max_owed() >= most_owed(rules, false)
    }

    /// Adds an unfinished page with these shapes. If the page closes a shape, the debt of that
    /// shape is deducted from its broader shapes. Returns the changes, for [`Self::page_finished`].
    pub(crate) fn note_page(&mut self, shapes: Shapes, says: PageSays, rules: &Rules) -> Vec<Owed> {
        let mut forgiven = 0;
        let mut changed = Vec::new();
        for (hash, is_broader) in shapes.iter() {
            let Some(slot) = self.slot(hash) else { continue };
            let before = self.owed(slot);
            let most = most_owed(rules, is_broader);
            if before >= most {
                return changed;
            }
            let (last, owed) = match says {
                PageSays::New(gain) => (LastPage::New, before.saturating_sub(gain * COST)),
                PageSays::Leads => (LastPage::Repeated, before),
                PageSays::Lists => (LastPage::Repeated, before.saturating_add(COST_OF_LIST)),
                PageSays::Nothing => (LastPage::Repeated, before.saturating_add(COST)),
            };
            let owed = owed.saturating_sub(forgiven);
            if owed >= most {
                forgiven = most;
            }
            let added = i64::from(owed) - i64::from(before);
            self.note(hash, last, added);
            changed.push(Owed { hash, added });
        }
        if let Some(own) = shapes.own.filter(|_| matches!(says, PageSays::New(_))) {
            self.remove(own);
        }
        changed
    }
}

/// Returns the debt at which a shape is closed.
fn most_owed(rules: &Rules, is_broader: bool) -> u32 {
    let times = if is_broader { BROADER_TIMES } else { 1 };
    rules.trap_pages.saturating_mul(COST * times)
}
