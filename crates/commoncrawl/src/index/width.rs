//! How many bytes a stored value has. Must not know: what a value means.

/// How values are stored one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    /// Each value follows its length, which has four bytes.
    Varying,
    /// All values have this number of bytes.
    Fixed(usize),
}
