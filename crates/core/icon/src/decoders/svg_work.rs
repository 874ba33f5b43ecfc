//! Limits the work that an SVG may take.
//!
//! We do not read a clock, so that all machines reject the same SVGs. A unit takes at most about a
//! nanosecond, because each weight is an upper bound that was measured in a release build
//! (docs/decisions/0096).

use resvg::usvg::BlendMode;

use crate::error::IconError;

/// Maximum work units for an SVG. Of 65,000 real icons, 99 % take less than a million units, and
/// the most expensive takes about 20 million.
pub const MAX_WORK: u64 = 40_000_000;
pub(crate) const XML_BYTE_WORK: f64 = 4.0;
/// Work per byte in CSS or in an attribute's value, because these bytes are parsed several times.
pub(crate) const CSS_BYTE_WORK: f64 = 12.0;
/// Maximum bytes in a width, height or `viewBox`, because they are parsed again for each element
/// inside.
pub(crate) const MAX_SIDE_BYTES: usize = 256;

pub(crate) fn refused(reason: &'static str) -> IconError {
    IconError::SvgRefused { reason }
}

#[derive(Debug, Default)]
pub(crate) struct SvgWork {
    units: f64,
}

impl SvgWork {
    /// Adds `units` to this SVG's work.
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

    /// Checks whether `units` could be added, without adding them.
    ///
    /// # Errors
    /// Returns an error if the sum would exceed [`MAX_WORK`] or is not a number.
    pub(crate) fn check(&self, units: f64) -> Result<(), IconError> {
        Self { units: self.units }.spend(units)
    }

    /// This is at most [`MAX_WORK`] unless a method returned an error.
    pub(crate) fn units(&self) -> u64 {
        self.units as u64
    }
}

pub(crate) fn exceeds(value: f64, most: f64) -> bool {
    value.is_nan() || value > most
}

/// Rejects two blend modes for which tiny-skia uses the processor's approximate reciprocal
/// (`rcpps`, `frecpe`), because its bits differ between vendors.
pub(crate) fn refuse_approximate(mode: BlendMode) -> Result<(), IconError> {
    match mode {
        BlendMode::ColorBurn => Err(refused("blend mode color-burn")),
        BlendMode::ColorDodge => Err(refused("blend mode color-dodge")),
        _ => Ok(()),
    }
}
