//! Counts the work that decoding a file takes, in bytes and PNG pixels.
//!
//! Work is counted before it is done, so that it also counts if a decoder fails late. Unlike a
//! time, a count is the same on every machine.

use crate::limits::MAX_SIDE_PIXELS;

/// Pixels in the largest picture that we decode.
pub const MAX_PICTURE_PIXELS: u64 = MAX_SIDE_PIXELS as u64 * MAX_SIDE_PIXELS as u64;

/// Maximum work for one file, measured in PNG pixels and summed over all entries in an ICO and all
/// attempts.
pub const MAX_FILE_PIXELS: u64 = 3 * MAX_PICTURE_PIXELS;

/// The work that was counted for one file. This includes work that a decoder did not do because it
/// failed early.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    /// Cost of all pictures that decoders started to decode, in PNG pixels. In most formats a pixel
    /// costs one PNG pixel. It costs more in AVIF, where each byte has a cost, too, and in a JPEG
    /// with several scans.
    pub pixels: u64,
    /// Total bytes that all attempts received.
    pub bytes: u64,
}

/// Error returned by [`Work::spend`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BudgetSpent;

impl From<BudgetSpent> for String {
    fn from(_: BudgetSpent) -> Self {
        "more work to decode than one file may cost".to_owned()
    }
}

impl Work {
    /// Counts one attempt to decode a picture.
    ///
    /// # Errors
    /// Returns [`BudgetSpent`], and counts nothing, if the total would exceed [`MAX_FILE_PIXELS`].
    pub(crate) fn spend(
        &mut self,
        (width, height): (u32, u32),
        bytes: usize,
    ) -> Result<(), BudgetSpent> {
        self.spend_pixels(u64::from(width) * u64::from(height), bytes)
    }

    /// Like [`Work::spend`], for a cost in PNG pixels.
    ///
    /// # Errors
    /// Returns [`BudgetSpent`], and counts nothing, if the total would exceed [`MAX_FILE_PIXELS`].
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
