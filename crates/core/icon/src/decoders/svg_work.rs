//! An SVG's budget: how many work units it may take, and which features are rejected.
//!
//! Invariants: no clock is read, so that either every machine rejects an SVG or none does; anything
//! that could be expensive is paid for before it is done. One unit is at most a nanosecond in a
//! release build on one core in a 2026 server: each weight was measured there
//! (docs/decisions/0096). This does not depend on the drawing.

use resvg::usvg::BlendMode;

use crate::error::IconError;

/// Maximum work units for one SVG. Among 65,000 real icons, 99 in 100 take less than a million, and
/// the most expensive takes 18 million.
pub const MAX_WORK: u64 = 40_000_000;
/// Work for reading or writing a byte in XML.
pub(crate) const XML_BYTE_WORK: f64 = 4.0;
/// Work per byte in CSS or in an attribute's value, which is read several times.
pub(crate) const CSS_BYTE_WORK: f64 = 12.0;
/// Maximum bytes in a side or a `viewBox`, because each element reads those around it.
pub(crate) const MAX_SIDE_BYTES: usize = 256;

pub(crate) fn refused(reason: &'static str) -> IconError {
    IconError::SvgRefused { reason }
}

/// The work units that an SVG has taken so far.
#[derive(Debug, Default)]
pub(crate) struct SvgWork {
    units: f64,
}

impl SvgWork {
    /// Adds `units`.
    ///
    /// # Errors
    /// Returns an error if the sum exceeds [`MAX_WORK`] or is not a number.
    pub(crate) fn spend(&mut self, units: f64) -> Result<(), IconError> {
        self.units += units;
        if exceeds(self.units, MAX_WORK as f64) {
            return Err(refused("too much to draw"));
        }
        Ok(())
    }

    /// Checks that `units` could be added.
    ///
    /// # Errors
    /// Returns an error if the sum would exceed [`MAX_WORK`] or is not a number.
    pub(crate) fn check(&self, units: f64) -> Result<(), IconError> {
        Self { units: self.units }.spend(units)
    }

    /// Returns how many units there are, at most [`MAX_WORK`] if no error was returned.
    pub(crate) fn units(&self) -> u64 {
        self.units as u64
    }
}

/// Returns true if `value` is above `most` or NaN.
pub(crate) fn exceeds(value: f64, most: f64) -> bool {
    value.is_nan() || value > most
}

/// Rejects two blend modes, because tiny-skia divides by the processor's approximate reciprocal
/// (`rcpps`, `frecpe`), whose bits differ between vendors.
pub(crate) fn refuse_approximate(mode: BlendMode) -> Result<(), IconError> {
    match mode {
        BlendMode::ColorBurn => Err(refused("blend mode color-burn")),
        BlendMode::ColorDodge => Err(refused("blend mode color-dodge")),
        _ => Ok(()),
    }
}
