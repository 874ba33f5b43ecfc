//! The size of a stored value in bytes. This module does not depend on what values mean.

/// How consecutive values are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    /// Each value follows its length, which has four bytes.
    Varying,
    /// All values have this many bytes.
    Fixed(usize),
}
