//! Counts a host's pages by URL shape in a bounded table, and stores each shape's debt.
//!
//! The table keeps the most frequent shapes by the algorithm of Misra and Gries (Finding repeated
//! elements, 1982): a count is never too high, and is too low by at most a 65th of the total.

use std::collections::HashMap;

/// Maximum shapes in the table, because 64 slots fit into a bit mask.
const MAX_SHAPES: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LastPage {
    Unread,
    Repeated,
    New,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ShapeSlot {
    pub(crate) hash: u32,
    /// Count plus the table's floor.
    pub(crate) raised: u32,
    /// Debt added by repetitive pages, minus the gain from pages with new content, at least 0.
    pub(crate) debt: u32,
    pub(crate) last: LastPage,
}

impl ShapeSlot {
    fn new(hash: u32, raised: u32) -> Self {
        Self { hash, raised, debt: 0, last: LastPage::Unread }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owed {
    pub(crate) hash: u32,
    /// Negative if the page had new content.
    pub(crate) added: i64,
}

/// Changes to a shape's debt that no chunk contains.
#[derive(Debug, Clone, Copy, Default)]
struct UnpackedDebt {
    /// Changes by unfinished pages, which the next holder fetches again if this one dies.
    unfinished: i64,
    /// Negative remainder of the changes by finished pages. This reduces the debts of pages that
    /// finish later.
    finished: i64,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct ShapeCounts {
    slots: Vec<ShapeSlot>,
    unpacked_debts: HashMap<u32, UnpackedDebt>,
    floor: u32,
    /// Bit n: slot n changed since the last call to [`Self::forget_changes`].
    changed: u64,
    /// Bit n: slot n has another shape than at that call.
    renamed: u64,
}

/// Two tables are equal if their slots and floors are equal, even if different changes are
/// unpacked.
impl PartialEq for ShapeCounts {
    fn eq(&self, other: &Self) -> bool {
        self.slots == other.slots && self.floor == other.floor
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ShapeChanges {
    pub(crate) floor: u32,
    pub(crate) slots: Vec<ShapeChange>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ShapeChange {
    pub(crate) index: usize,
    /// Hash of this slot's new shape. `None` if its shape is unchanged.
    pub(crate) hash: Option<u32>,
    pub(crate) raised: u32,
    pub(crate) debt: u32,
    pub(crate) last: LastPage,
}

impl ShapeChange {
    fn of(index: usize, slot: &ShapeSlot, is_renamed: bool) -> Self {
        let ShapeSlot { hash, raised, debt, last } = *slot;
        Self { index, hash: is_renamed.then_some(hash), raised, debt, last }
    }
}

impl ShapeCounts {
    /// Returns a lower bound for the number of pages with this shape.
    pub(crate) fn count(&self, hash: u32) -> u32 {
        self.slot(hash).map_or(0, |slot| slot.raised.saturating_sub(self.floor))
    }

    pub(crate) fn slot(&self, hash: u32) -> Option<&ShapeSlot> {
        self.slots.iter().find(|slot| slot.hash == hash && slot.raised > self.floor)
    }

    /// Returns a shape's debt, including the debt from unfinished pages.
    pub(crate) fn owed(&self, slot: &ShapeSlot) -> u32 {
        let UnpackedDebt { unfinished, finished } =
            self.unpacked_debts.get(&slot.hash).copied().unwrap_or_default();
        let owed = i64::from(slot.debt) + unfinished + finished;
        u32::try_from(owed.max(0)).unwrap_or(u32::MAX)
    }

    pub(crate) fn max_owed(&self) -> u32 {
        self.slots.iter().map(|slot| self.owed(slot)).max().unwrap_or_default()
    }

    pub(crate) fn note(&mut self, hash: u32, last: LastPage, added: i64) {
        self.change(hash, |slot| slot.last = last);
        self.unpacked_debts.entry(hash).or_default().unfinished += added;
    }

    /// Moves a finished page's changes to the debts that the next chunk stores.
    pub(crate) fn page_finished(&mut self, owed: &[Owed]) {
        for &Owed { hash, added } in owed {
            let UnpackedDebt { unfinished, finished } =
                self.unpacked_debts.remove(&hash).unwrap_or_default();
            let Some(slot) = self.slot(hash) else { continue };
            let debt = i64::from(slot.debt) + finished + added;
            let unfinished = unfinished - added;
            let finished = debt.min(0);
            if unfinished != 0 || finished != 0 {
                self.unpacked_debts.insert(hash, UnpackedDebt { unfinished, finished });
            }
            let debt = u32::try_from(debt.max(0)).unwrap_or(u32::MAX);
            self.change(hash, |slot| slot.debt = debt);
        }
    }

    pub(crate) fn change(&mut self, hash: u32, act: impl FnOnce(&mut ShapeSlot)) {
        let counted = |slot: &ShapeSlot| slot.hash == hash && slot.raised > self.floor;
        if let Some(index) = self.slots.iter().position(counted) {
            act(&mut self.slots[index]);
            self.changed |= 1 << index;
        }
    }

    /// Counts one page fewer, but at least one, so that the shape remains in the table.
    pub(crate) fn remove(&mut self, hash: u32) {
        let least = self.floor.saturating_add(1);
        self.change(hash, |slot| slot.raised = slot.raised.saturating_sub(1).max(least));
    }

    pub(crate) fn add(&mut self, hash: u32) {
        if let Some(index) = self.slots.iter().position(|slot| slot.hash == hash) {
            let slot = &mut self.slots[index];
            // An old count at or below the floor starts again from zero.
            if slot.raised <= self.floor {
                *slot = ShapeSlot::new(hash, self.floor);
            }
            slot.raised = slot.raised.saturating_add(1);
            self.changed |= 1 << index;
            return;
        }
        let new = ShapeSlot::new(hash, self.floor.saturating_add(1));
        let free = self.slots.iter().position(|slot| slot.raised <= self.floor);
        let index = match free {
            Some(index) => {
                self.slots[index] = new;
                index
            }
            None if self.slots.len() < MAX_SHAPES => {
                self.slots.push(new);
                self.slots.len() - 1
            }
            None => {
                self.floor = self.floor.saturating_add(1);
                return;
            }
        };
        self.changed |= 1 << index;
        self.renamed |= 1 << index;
    }

    pub(crate) fn all(&self) -> ShapeChanges {
        let slots = self.slots.iter().enumerate();
        let slots = slots.map(|(index, slot)| ShapeChange::of(index, slot, true)).collect();
        ShapeChanges { floor: self.floor, slots }
    }

    pub(crate) fn changes(&self) -> ShapeChanges {
        let slots = self.slots.iter().enumerate();
        let changed = slots.filter(|(index, _)| self.changed & 1 << index != 0);
        let slots = changed
            .map(|(index, slot)| ShapeChange::of(index, slot, self.renamed & 1 << index != 0));
        ShapeChanges { floor: self.floor, slots: slots.collect() }
    }

    pub(crate) fn forget_changes(&mut self) {
        self.changed = 0;
        self.renamed = 0;
    }

    /// Applies changes. Returns false if they do not match the table.
    #[must_use]
    pub(crate) fn apply(&mut self, changes: &ShapeChanges) -> bool {
        self.floor = changes.floor;
        for &ShapeChange { index, hash, raised, debt, last } in &changes.slots {
            let is_next = index == self.slots.len() && index < MAX_SHAPES;
            match (self.slots.get_mut(index), hash) {
                (Some(slot), hash) => {
                    *slot = ShapeSlot { hash: hash.unwrap_or(slot.hash), raised, debt, last };
                }
                (None, Some(hash)) if is_next => {
                    self.slots.push(ShapeSlot { hash, raised, debt, last });
                }
                (None, _) => return false,
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn up_to_64_shapes_are_counted_exactly() {
        let mut counts = ShapeCounts::default();
        for round in 0..10 {
            for shape in 0..64 {
                assert_eq!(counts.count(shape), round);
                counts.add(shape);
            }
        }
        assert_eq!(counts.count(64), 0);
    }

    /// Changes can offset each other even while some of their pages are not finished.
    #[test]
    fn the_debt_of_a_shape_does_not_depend_on_the_order_of_results() {
        let mut counts = ShapeCounts::default();
        counts.add(1);
        let owed = |added| [Owed { hash: 1, added }];
        for added in [4, -4, 0] {
            counts.note(1, LastPage::Repeated, added);
        }
        counts.page_finished(&owed(0));
        counts.page_finished(&owed(4));
        counts.note(1, LastPage::Repeated, 4);
        counts.page_finished(&owed(-4));
        counts.page_finished(&owed(4));
        let slot = counts.slot(1).copied().unwrap();
        assert_eq!((slot.debt, counts.owed(&slot), counts.unpacked_debts.len()), (4, 4, 0));
    }

    #[test]
    fn a_debt_is_dropped_with_its_count_and_one_page_stays_counted() {
        let mut counts = ShapeCounts::default();
        counts.add(1);
        counts.add(1);
        counts.change(1, |slot| slot.debt = 7);
        (0..3).for_each(|_| counts.remove(1));
        assert_eq!((counts.count(1), counts.slot(1).map(|slot| slot.debt)), (1, Some(7)));
        (100..300).for_each(|shape| counts.add(shape));
        assert_eq!(counts.slot(1), None);
        (0..100).for_each(|_| counts.add(1));
        assert_eq!(counts.slot(1).map(|slot| slot.debt), Some(0));
    }

    proptest! {
        #[test]
        fn a_count_is_never_too_high_and_at_most_a_65th_too_low(
            shapes in prop::collection::vec(0_u32..200, 0..3_000),
            packs in 1_usize..500,
        ) {
            let mut counts = ShapeCounts::default();
            let mut exact = BTreeMap::new();
            let mut copy = ShapeCounts::default();
            for (index, shape) in shapes.iter().enumerate() {
                let shape = if index % 2 == 0 { shape % 5 } else { *shape };
                counts.add(shape);
                counts.change(shape, |slot| slot.debt += 1);
                *exact.entry(shape).or_insert(0_u32) += 1;
                if index % packs == 0 {
                    prop_assert!(copy.apply(&counts.changes()));
                    counts.forget_changes();
                    prop_assert_eq!(&copy, &counts);
                }
            }
            let most_missing = u32::try_from(shapes.len() / 65).unwrap();
            for (shape, exact) in exact {
                let count = counts.count(shape);
                prop_assert!(count <= exact && exact - count <= most_missing, "{exact} {count}");
            }
            let mut whole = ShapeCounts::default();
            prop_assert!(whole.apply(&counts.all()));
            prop_assert_eq!(whole, counts);
        }
    }
}
