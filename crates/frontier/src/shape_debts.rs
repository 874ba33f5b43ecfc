//! What shapes of URLs owe, by which traps are told from long lists of pages.
//!
//! A page that says something new takes from the debt of its shapes, and one that repeats others
//! adds to it. A shape that owes too much is closed: its pending URLs are left, and its links are
//! turned away. Does not depend on what pages say.

use crate::{
    rules::Rules,
    shape::Shapes,
    shape_counts::{LastPage, Owed, ShapeCounts},
};

/// What a page that repeats others adds to the debt of its shapes.
const COST: u32 = 4;

/// What one adds that leads to shapes of which no page was read: so many lists may come before what
/// they list.
const COST_OF_LIST: u32 = 1;

/// How many times as much as a shape of single URLs a broader one may owe: what its parts owe that
/// are closed is not counted, so that a trap does not close what is beside it.
const BROADER_TIMES: u32 = 2;

/// What a page said, compared with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageSays {
    /// Something that no other page said lately. It makes up for so many pages that repeat others.
    New(u32),
    /// Nothing new, but it leads to unknown pages of shapes that say something new.
    Leads,
    /// Nothing new, but it leads to unknown pages of shapes of which no page was read.
    Lists,
    /// What other pages said.
    Nothing,
}

impl ShapeCounts {
    /// Returns true if a URL of these shapes is not asked for: its own shape owes too much, or a
    /// broader one does, and no narrower one owes nothing.
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
        self.greatest_owed() >= most_owed(rules, false)
    }

    /// Notes what a page of these shapes said that is not answered. What a shape owes that is
    /// closed by it, broader ones do not owe. Returns what changed, for [`Self::page_answered`].
    pub(crate) fn note_page(&mut self, shapes: Shapes, says: PageSays, rules: &Rules) -> Vec<Owed> {
        let (mut forgiven, mut changed) = (0, Vec::new());
        for (hash, is_broader) in shapes.iter() {
            let Some(slot) = self.slot(hash) else { continue };
            let (before, most) = (self.owed(slot), most_owed(rules, is_broader));
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

/// Returns the debt with which a shape is closed.
fn most_owed(rules: &Rules, is_broader: bool) -> u32 {
    let times = if is_broader { BROADER_TIMES } else { 1 };
    rules.trap_pages.saturating_mul(COST * times)
}
