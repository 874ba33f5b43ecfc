//! A model of `functions/scan/icon_order.sql` in Rust, which decides which icon of a host is the
//! best.
//!
//! An icon is usable if its outcome is `ok`, unless it is a raster image whose width and height are
//! known and at most 2 pixels. `tests/select_cases.json` contains cases that this model and the SQL
//! must both pass.

use std::cmp::{Ordering, Reverse};

/// Equal to `everytab_icon::limits::TAB_ICON_PIXELS`.
const TARGET_PIXELS: u32 = 32;
/// Equal to `everytab_icon::convert::MAX_TRACKING_PIXELS`.
const MAX_TRACKING_PIXELS: u32 = 2;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate<'a> {
    /// The URL, unique for its host.
    pub(crate) url: &'a str,
    pub(crate) apple_touch: bool,
    pub(crate) outcome: &'a str,
    /// The type that was detected from the content, see [`everytab_icon::Format::content_type`].
    pub(crate) content_type: Option<&'a str>,
    pub(crate) width: Option<u32>,
    pub(crate) height: Option<u32>,
    pub(crate) bytes: Option<u64>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SizeClass {
    AtLeastTarget(u32),
    Below(Reverse<u32>),
    Unknown,
}

impl Candidate<'_> {
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

/// This is a total order for the icons of one host.
pub(crate) fn compare(left: &Candidate, right: &Candidate) -> Ordering {
    left.rank().cmp(&right.rank())
}

pub(crate) fn best_first(candidates: &[Candidate]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.retain(|&index| candidates[index].usable());
    order.sort_by(|&left, &right| compare(&candidates[left], &candidates[right]));
    order
}
