//! The budget of an SVG: the units of work that it may take, and what is refused by name.
//!
//! Invariants: no clock is read, so that an SVG is refused on every machine or on none; what could
//! cost much is paid before it is done. One unit is at most a nanosecond in a release build on one
//! core of a server of 2026: each weight was measured there (docs/decisions/0096).
//! Must not know: what is drawn.

use resvg::usvg::BlendMode;

use crate::error::IconError;

/// Greatest number of units of work of one SVG. Real icons take less than a million.
pub const MAX_WORK: u64 = 40_000_000;
pub(crate) fn refused(reason: &'static str) -> IconError {
    IconError::SvgRefused { reason }
}

/// The units of work that an SVG has taken so far.
#[derive(Debug, Default)]
pub(crate) struct SvgWork {
    units: f64,
}

impl SvgWork {
    /// Adds `units`.
    ///
    /// # Errors
    /// If the sum is above [`MAX_WORK`] or not a number.
    pub(crate) fn spend(&mut self, units: f64) -> Result<(), IconError> {
        self.units += units;
        if exceeds(self.units, MAX_WORK as f64) {
            return Err(refused("too much to draw"));
        }
        Ok(())
    }

    /// Returns the number of units, at most [`MAX_WORK`] if nothing was refused.
    pub(crate) fn units(&self) -> u64 {
        self.units as u64
    }
}

/// Returns true if `value` is above `most` or NaN.
pub(crate) fn exceeds(value: f64, most: f64) -> bool {
    value.is_nan() || value > most
}

/// Refuses two blend modes: tiny-skia divides by the approximate reciprocal of the processor
/// (`rcpps`, `frecpe`), whose bits differ between vendors.
pub(crate) fn refuse_approximate(mode: BlendMode) -> Result<(), IconError> {
    match mode {
        BlendMode::ColorBurn => Err(refused("blend mode color-burn")),
        BlendMode::ColorDodge => Err(refused("blend mode color-dodge")),
        _ => Ok(()),
    }
}
