//! Counts the work for decoding one file, in bytes and plain PNG pixels instead of seconds.
//!
//! Invariants: work is spent before it is done, so that a decoder that fails late has also paid; no
//! file spends more than [`MAX_FILE_PIXELS`]. Unlike a time, a count is the same on every machine:
//! tests and the fuzzer use it to find the most expensive file. This does not depend on formats.

use crate::limits::MAX_SIDE_PIXELS;

/// Pixels in the largest picture that is decoded.
pub const MAX_PICTURE_PIXELS: u64 = MAX_SIDE_PIXELS as u64 * MAX_SIDE_PIXELS as u64;

/// Maximum work that decoders spend on one file, in plain PNG pixels, over all entries in an ICO
/// and all attempts: no file costs more than three times the largest plain PNG.
pub const MAX_FILE_PIXELS: u64 = 3 * MAX_PICTURE_PIXELS;

/// The work for decoding a file, or the work that this would have taken if a decoder failed early.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    /// Cost of all pictures that a decoder has started, in plain PNG pixels, once for each attempt.
    /// In most formats a pixel costs one; in AVIF it costs several, and bytes cost, too.
    pub pixels: u64,
    /// Total bytes that were passed to all attempts.
    pub bytes: u64,
}

/// Error returned by [`Work::spend`]: the file has used up its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BudgetSpent;

impl From<BudgetSpent> for String {
    /// Converts the error, because decoders return their reasons as text.
    fn from(_: BudgetSpent) -> Self {
        "more work to decode than one file may cost".to_owned()
    }
}

impl Work {
    /// Counts one attempt to decode `width` x `height` pixels from `bytes` bytes.
    ///
    /// # Errors
    /// Returns [`BudgetSpent`], and counts nothing, if this exceeds [`MAX_FILE_PIXELS`].
    pub(crate) fn spend(
        &mut self,
        (width, height): (u32, u32),
        bytes: usize,
    ) -> Result<(), BudgetSpent> {
        self.spend_pixels(u64::from(width) * u64::from(height), bytes)
    }

    /// Counts `pixels` for one attempt, as [`Work::spend`] does.
    ///
    /// # Errors
    /// Returns an error as [`Work::spend`] does.
    pub(crate) fn spend_pixels(&mut self, pixels: u64, bytes: usize) -> Result<(), BudgetSpent> {
        let pixels = self.pixels.saturating_add(pixels);
        if pixels > MAX_FILE_PIXELS {
            return Err(BudgetSpent);
        }
        self.pixels = pixels;
        self.bytes = self.bytes.saturating_add(bytes as u64);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_over_the_budget_is_rejected_and_not_counted() {
        let mut work = Work::default();
        let side = MAX_SIDE_PIXELS;
        for _ in 0..3 {
            assert_eq!(work.spend((side, side), 10), Ok(()));
        }
        assert_eq!(work.spend((1, 1), 10), Err(BudgetSpent));
        assert_eq!(work, Work { pixels: MAX_FILE_PIXELS, bytes: 30 });
    }
}
