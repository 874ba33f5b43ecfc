//! Reproducible random numbers: a pure function of a seed and labels.

use sha2::{Digest, Sha256};

/// A number stream determined by (seed, labels): SplitMix64, started from a SHA-256 digest.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Labels are length-prefixed, so `["ab", "c"]` and `["a", "bc"]` differ.
    pub(crate) fn new(seed: u64, labels: &[&str]) -> Self {
        let mut hash = Sha256::new();
        hash.update(seed.to_be_bytes());
        for label in labels {
            hash.update((label.len() as u64).to_be_bytes());
            hash.update(label.as_bytes());
        }
        let digest = hash.finalize();
        let mut first = [0; 8];
        first.copy_from_slice(&digest[..8]);
        Self(u64::from_be_bytes(first))
    }

    /// Starts the stream for a label and a number.
    #[must_use]
    pub fn numbered(seed: u64, label: &str, number: u64) -> Self {
        // This is cheaper than a hash per number. The step separates the streams for neighbouring
        // numbers.
        let mut dice = Self::new(seed, &[label]);
        dice.0 = dice.0.wrapping_add(number.wrapping_mul(0xA076_1D64_78BD_642F));
        Self(dice.next())
    }

    /// Starts the stream without hashing, because this is called for each link.
    pub(crate) fn of_numbers<const N: usize>(numbers: [u64; N]) -> Self {
        let mut dice = Self(0);
        for number in numbers {
            dice.0 ^= number;
            dice.0 = dice.next();
        }
        dice
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number in `0..bound`, or 0 if `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low.saturating_add(self.below(high.saturating_sub(low).saturating_add(1)))
    }

    pub(crate) fn permille(&mut self, parts: u64) -> bool {
        self.below(1_000) < parts
    }

    pub(crate) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        let at = self.below(items.len() as u64) as usize;
        items[at]
    }

    pub(crate) fn weighted<T: Copy>(&mut self, items: &[(T, u32)]) -> T {
        let total: u64 = items.iter().map(|(_, weight)| u64::from(*weight)).sum();
        let mut left = self.below(total);
        for (item, weight) in items {
            match left.checked_sub(u64::from(*weight)) {
                Some(rest) => left = rest,
                None => return *item,
            }
        }
        items[items.len() - 1].0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_labels_give_the_same_numbers_and_others_do_not() {
        let draw = |labels: &[&str]| {
            let mut dice = Dice::new(7, labels);
            [dice.next(), dice.next(), dice.next()]
        };
        assert_eq!(draw(&["ab", "c"]), draw(&["ab", "c"]));
        assert_ne!(draw(&["ab", "c"]), draw(&["a", "bc"]));
        assert_ne!(Dice::numbered(7, "x", 1).next(), Dice::numbered(7, "x", 2).next());
    }

    #[test]
    fn weights_are_kept_within_a_tenth() {
        let mut dice = Dice::new(1, &["weights"]);
        let mut counts = [0_u32; 3];
        for _ in 0..30_000 {
            counts[dice.weighted(&[(0_usize, 1), (1, 3), (2, 6)])] += 1;
        }
        assert!((2_700..3_300).contains(&counts[0]), "{counts:?}");
        assert!((8_100..9_900).contains(&counts[1]), "{counts:?}");
        assert!((16_200..19_800).contains(&counts[2]), "{counts:?}");
    }
}
