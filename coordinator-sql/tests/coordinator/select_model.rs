//! Which icon of a host is the best: a model of `functions/scan/icon_order.sql`, for tests alone.
//!
//! Usable are icons whose outcome is `ok` and that are not known to be
//! 2x2 or smaller (both sides). They are ordered by these keys, each deciding only where all
//! before it are equal:
//!
//! 1. apple-touch-icon after all others;
//! 2. class: size known and at least 32, or SVG; then size known and below 32; then unknown.
//!    The size of a picture is its smaller side; an SVG's size is 32, whatever its sides say;
//!    a picture with one side unknown is of unknown size;
//! 3. inside the first class the smaller size first, inside the second the larger;
//! 4. not square after square; an unknown size, and an SVG without sides, count as square;
//! 5. format: PNG, SVG, ICO, GIF or JPEG or BMP, WebP, any other;
//! 6. fewer bytes; unknown last;
//! 7. URL by its bytes (collation "C").
//!
//! `tests/select_cases.json` holds cases that both this model and the SQL must pass.

use std::cmp::{Ordering, Reverse};

/// The size in pixels that a tab shows on a screen of two pixels a CSS pixel, as
/// `everytab_icon::limits::TAB_ICON_PIXELS` has it.
const TARGET_PIXELS: u32 = 32;
/// The longest side in pixels of an image that is taken for a tracking pixel, as
/// `everytab_icon::convert::MAX_TRACKING_PIXELS` has it.
const MAX_TRACKING_PIXELS: u32 = 2;

/// What selection knows of a fetched icon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate<'a> {
    /// Address, unique in its host.
    pub(crate) url: &'a str,
    /// Declared as apple-touch-icon.
    pub(crate) apple_touch: bool,
    /// Outcome of the fetch; `ok` is usable.
    pub(crate) outcome: &'a str,
    /// MIME type by content, as [`everytab_icon::Format::content_type`] has it.
    pub(crate) content_type: Option<&'a str>,
    /// Width in pixels by the header.
    pub(crate) width: Option<u32>,
    /// Height in pixels by the header.
    pub(crate) height: Option<u32>,
    /// Bytes of the body.
    pub(crate) bytes: Option<u64>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SizeClass {
    AtLeastTarget(u32),
    Below(Reverse<u32>),
    Unknown,
}

impl Candidate<'_> {
    /// True where the icon may be selected at all.
    pub(crate) fn usable(&self) -> bool {
        let tracking = !self.is_svg()
            && matches!((self.width, self.height), (Some(width), Some(height))
                if width.max(height) <= MAX_TRACKING_PIXELS);
        self.outcome == "ok" && !tracking
    }

    fn is_svg(&self) -> bool {
        self.content_type == Some("image/svg+xml")
    }

    fn sides(&self) -> Option<(u32, u32)> {
        self.width.zip(self.height)
    }

    fn size_class(&self) -> SizeClass {
        if self.is_svg() {
            return SizeClass::AtLeastTarget(TARGET_PIXELS);
        }
        match self.sides().map(|(width, height)| width.min(height)) {
            Some(size) if size >= TARGET_PIXELS => SizeClass::AtLeastTarget(size),
            Some(size) => SizeClass::Below(Reverse(size)),
            None => SizeClass::Unknown,
        }
    }

    fn format_rank(&self) -> u8 {
        match self.content_type {
            Some("image/png") => 0,
            Some("image/svg+xml") => 1,
            Some("image/x-icon") => 2,
            Some("image/gif" | "image/jpeg" | "image/bmp") => 3,
            Some("image/webp") => 4,
            _ => 5,
        }
    }

    fn rank(&self) -> impl Ord + '_ {
        let oblong = self.sides().is_some_and(|(width, height)| width != height);
        let bytes = (self.bytes.is_none(), self.bytes);
        (
            self.apple_touch,
            self.size_class(),
            oblong,
            self.format_rank(),
            bytes,
            self.url.as_bytes(),
        )
    }
}

/// `Less` where `left` is the better icon. Total for icons of one host.
pub(crate) fn compare(left: &Candidate, right: &Candidate) -> Ordering {
    left.rank().cmp(&right.rank())
}

/// Indices of the usable candidates, best first: the first that converts is the host's icon.
pub(crate) fn best_first(candidates: &[Candidate]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.retain(|&index| candidates[index].usable());
    order.sort_by(|&left, &right| compare(&candidates[left], &candidates[right]));
    order
}
