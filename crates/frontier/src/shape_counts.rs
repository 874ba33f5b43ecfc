//! Counts the pages of a host by the shape of their URLs, in a table of bounded size.
//!
//! Up to 64 shapes are counted exactly. Of more, the frequent ones are kept by the algorithm of
//! Misra and Gries (Finding repeated elements, 1982): a count is never too high, and too low by at
//! most a 65th of all pages. So no page of a rare shape is taken for a trap, and a shape that fills
//! a quarter of the budget is always in the table. Must not know: the budget, the format of chunks.

/// Number of shapes that are counted. The templates of a site are fewer, and 64 fit the bits of a
/// mask.
const MAX_SHAPES: usize = 64;

/// One shape as a chunk has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ShapeSlot {
    /// The hash of the shape.
    pub(crate) hash: u32,
    /// The count, plus the floor of the table.
    pub(crate) raised: u32,
}

/// A table of shapes and their counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct ShapeCounts {
    slots: Vec<ShapeSlot>,
    /// What is subtracted from every count.
    floor: u32,
    /// Bit n: slot n changed since the last call of [`Self::take_changes`].
    changed: u64,
    /// Bit n: slot n has another shape since that call.
    renamed: u64,
}

/// Two tables are equal if they count the same; what changed since the last pack does not matter.
impl PartialEq for ShapeCounts {
    fn eq(&self, other: &Self) -> bool {
        self.slots == other.slots && self.floor == other.floor
    }
}

/// What changed in a table: its floor, and slots by their number with whether the shape is another.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ShapeChanges {
    pub(crate) floor: u32,
    /// Number of the slot, 0 to 63, ascending; the shape, `None` if it is the one before; the
    /// count.
    pub(crate) slots: Vec<(usize, Option<u32>, u32)>,
}

impl ShapeCounts {
    /// Returns the number of pages of a shape, or less.
    pub(crate) fn count(&self, hash: u32) -> u32 {
        let slot = self.slots.iter().find(|slot| slot.hash == hash);
        slot.map_or(0, |slot| slot.raised.saturating_sub(self.floor))
    }

    /// Counts one page more.
    pub(crate) fn add(&mut self, hash: u32) {
        if let Some(index) = self.slots.iter().position(|slot| slot.hash == hash) {
            let slot = &mut self.slots[index];
            // A count of zero, below the floor, begins anew.
            slot.raised = slot.raised.max(self.floor).saturating_add(1);
            self.changed |= 1 << index;
            return;
        }
        let new = ShapeSlot { hash, raised: self.floor.saturating_add(1) };
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

    /// Returns the whole table.
    pub(crate) fn all(&self) -> ShapeChanges {
        let slots = self.slots.iter().enumerate();
        let slots = slots.map(|(index, slot)| (index, Some(slot.hash), slot.raised)).collect();
        ShapeChanges { floor: self.floor, slots }
    }

    /// Returns what changed since the last call of [`Self::forget_changes`].
    pub(crate) fn changes(&self) -> ShapeChanges {
        let slots = self.slots.iter().enumerate();
        let slots =
            slots.filter(|(index, _)| self.changed & 1 << index != 0).map(|(index, slot)| {
                let is_renamed = self.renamed & 1 << index != 0;
                (index, is_renamed.then_some(slot.hash), slot.raised)
            });
        ShapeChanges { floor: self.floor, slots: slots.collect() }
    }

    /// Begins to collect changes anew.
    pub(crate) fn forget_changes(&mut self) {
        self.changed = 0;
        self.renamed = 0;
    }

    /// Applies changes. Returns false if they fit no table of this state.
    #[must_use]
    pub(crate) fn apply(&mut self, changes: &ShapeChanges) -> bool {
        self.floor = changes.floor;
        for (index, hash, raised) in &changes.slots {
            let is_next = *index == self.slots.len() && *index < MAX_SHAPES;
            match (self.slots.get_mut(*index), hash) {
                (Some(slot), Some(hash)) => *slot = ShapeSlot { hash: *hash, raised: *raised },
                (Some(slot), None) => slot.raised = *raised,
                (None, Some(hash)) if is_next => {
                    self.slots.push(ShapeSlot { hash: *hash, raised: *raised });
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

    proptest! {
        #[test]
        fn a_count_is_never_too_high_and_at_most_a_65th_too_low(
            shapes in prop::collection::vec(0_u32..200, 0..3_000),
            packs in 1_usize..500,
        ) {
            let (mut counts, mut exact) = (ShapeCounts::default(), BTreeMap::new());
            let mut copy = ShapeCounts::default();
            for (index, shape) in shapes.iter().enumerate() {
                // Half of the pages are of few shapes.
                let shape = if index % 2 == 0 { shape % 5 } else { *shape };
                counts.add(shape);
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
