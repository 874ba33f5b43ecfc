//! Debts for URL shapes, which distinguish traps from long page lists.
//!
//! A page with new content reduces the debt of its shapes, and a repetitive page increases it,
//! unless most of its links lead to new content. A shape with too much debt is closed.

use crate::{
    rules::Rules,
    shape::Shapes,
    shape_counts::{LastPage, Owed, ShapeCounts},
};

/// Debt that a repetitive page adds to its shapes.
const COST: u32 = 4;

/// Debt that a page with the result [`PageSays::Lists`] adds to its shapes. This is small, because
/// several list pages may precede the pages that they list.
const COST_OF_LIST: u32 = 1;

/// A broader shape may have this many times the debt of a narrow shape.
const BROADER_TIMES: u32 = 2;

/// Result of comparing a page's content with other pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageSays {
    /// New content, which offsets this number of repetitive pages.
    New(u32),
    /// Nothing new, but most links to unknown pages have shapes with new content.
    Leads,
    /// Nothing new, but most links to unknown pages have shapes with new content or without a read
    /// page.
    Lists,
    /// Nothing new.
    Nothing,
}

impl ShapeCounts {
    /// Returns true if one of these shapes has too much debt, unless a narrower shape has new
    /// content and no debt.
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

    pub(crate) fn has_closed(&self, rules: &Rules) -> bool {
        self.max_owed() >= most_owed(rules, false)
    }

    /// Adds a page that is not finished yet. If this closes a shape, the shape's debt is deducted
    /// from its broader shapes, so that a trap does not close its neighbours.
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

fn most_owed(rules: &Rules, is_broader: bool) -> u32 {
    let times = if is_broader { BROADER_TIMES } else { 1 };
    rules.trap_pages.saturating_mul(COST * times)
}
