//! How a column stores consecutive values.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    /// Each value follows its length, which has four bytes.
    Varying,
    /// All values have this many bytes.
    Fixed(usize),
}
