//! The number of bytes of a stored value. Does not depend on the meaning of values.

/// How consecutive values are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    /// Each value follows its length, which has four bytes.
    Varying,
    /// All values have this number of bytes.
    Fixed(usize),
}
