//! A model of `functions/scan/icon_order.sql` in Rust, which tests compare with the SQL. It decides
//! which icon of a host is the best.
//!
//! An icon is usable if its outcome is `ok`, unless it is a raster image whose width and height are
//! known and at most 2 pixels. Usable icons are sorted by these keys:
//!
//! 1. apple-touch-icons after all other icons;
//! 2. class: icons of at least 32 pixels and SVGs, then smaller icons, then icons of unknown size.
//!    The size of an icon is the smaller of width and height. An icon with only one known dimension
//!    has an unknown size, and an SVG always has size 32;
//! 3. in the first class the smaller size first, in the second class the larger;
//! 4. square icons first. An unknown size, and an SVG without dimensions, count as square;
//! 5. format: PNG, SVG, ICO, GIF or JPEG or BMP, WebP, any other;
//! 6. fewer bytes first, unknown last;
//! 7. URL by its bytes (collation "C").
//!
//! `tests/select_cases.json` contains cases that this model and the SQL must both pass.

use std::cmp::{Ordering, Reverse};

/// Size of a tab's icon in device pixels on a high-density screen. Equal to
/// `everytab_icon::limits::TAB_ICON_PIXELS`.
const TARGET_PIXELS: u32 = 32;
/// Maximum width and height of an image that counts as a tracking pixel. Equal to
/// `everytab_icon::convert::MAX_TRACKING_PIXELS`.
const MAX_TRACKING_PIXELS: u32 = 2;

/// A fetched icon's properties that the selection uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate<'a> {
    /// The URL, unique for its host.
    pub(crate) url: &'a str,
    /// Whether the page declares it as an apple-touch-icon.
    pub(crate) apple_touch: bool,
    /// Outcome of the fetch. Only `ok` is usable.
    pub(crate) outcome: &'a str,
    /// MIME type that was detected from the content, see [`everytab_icon::Format::content_type`].
    pub(crate) content_type: Option<&'a str>,
    /// Width in pixels, according to the header.
    pub(crate) width: Option<u32>,
    /// Height in pixels, according to the header.
    pub(crate) height: Option<u32>,
    /// Size of the body in bytes.
    pub(crate) bytes: Option<u64>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SizeClass {
    AtLeastTarget(u32),
    Below(Reverse<u32>),
    Unknown,
}

impl Candidate<'_> {
    /// Returns true if the icon may be selected.
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

/// Returns `Less` if `left` is the better icon. This is a total order for the icons of one host.
pub(crate) fn compare(left: &Candidate, right: &Candidate) -> Ordering {
    left.rank().cmp(&right.rank())
}

/// Returns the indices of the usable icons, best first. The host's icon is the first that can be
/// converted.
pub(crate) fn best_first(candidates: &[Candidate]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.retain(|&index| candidates[index].usable());
    order.sort_by(|&left, &right| compare(&candidates[left], &candidates[right]));
    order
}
