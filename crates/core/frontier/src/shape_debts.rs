//! URL shape debts, which distinguish traps from long lists of pages.
//!
//! A page with new content reduces its shapes' debt, and a repetitive one increases it. When a
//! shape has too much debt, it is closed: its pending URLs are left, and links to it are rejected.
//! Does not depend on page content.

use crate::{
    rules::Rules,
    shape::Shapes,
    shape_counts::{LastPage, Owed, ShapeCounts},
};

/// The debt that a page adds to its shapes if it repeats others.
const COST: u32 = 4;

/// The debt that a page adds if it links to shapes without any read page, because several lists may
/// come before the pages that they list.
const COST_OF_LIST: u32 = 1;

/// A broader shape may have this many times a narrow shape's debt. When narrow shapes are closed,
/// it does not take over their debt, so that a trap does not close its neighbors.
const BROADER_TIMES: u32 = 2;

/// A page's content compared with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageSays {
    /// New content. The value is the number of repetitive pages that it offsets.
    New(u32),
    /// Nothing new, but links to unknown pages whose shapes have new content.
    Leads,
    /// Nothing new, but links to unknown pages whose shapes were never read.
    Lists,
    /// The same content as other pages.
    Nothing,
}

impl ShapeCounts {
    /// Returns true if URLs with these shapes are not fetched: their own shape, or a broader one,
    /// has too much debt, and no narrower shape has new content and no debt.
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

    /// Returns true if a shape may be closed.
    pub(crate) fn has_closed(&self, rules: &Rules) -> bool {
        self.max_owed() >= most_owed(rules, false)
    }

    /// Adds an unfinished page with these shapes. If it closes a shape, the broader ones do not
    /// take over that shape's debt. Returns the changes, for [`Self::page_finished`].
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
