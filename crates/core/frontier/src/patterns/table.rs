//! A deterministic automaton as a table, with one lookup per URL byte.

/// Maximum entries in a table, which 16-bit offsets can address. This many take 128 KiB.
pub(super) const MAX_ENTRIES: usize = 1 << 16;
/// Maximum pattern lists: exclude, include, and up to 10 filters.
pub(super) const MAX_LISTS: usize = 12;
/// No match. It is greater than any position.
const NONE: i16 = i16::MAX;
/// A row ends with two match indexes: before the next byte, and at the end of the string.
const MATCHED: usize = 2;
const MATCHED_AT_END: usize = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Found {
    first: [i16; MAX_LISTS],
    pub(super) words: u64,
}

impl Default for Found {
    fn default() -> Self {
        Self { first: [NONE; MAX_LISTS], words: 0 }
    }
}

impl Found {
    pub(super) fn add_pattern(&mut self, list: u8, position: u16) {
        let position = i16::try_from(position).unwrap_or(NONE);
        if let Some(first) = self.first.get_mut(usize::from(list)) {
            *first = (*first).min(position);
        }
    }

    pub(super) fn first_of(&self, list: usize) -> Option<usize> {
        let first = self.first.get(list).filter(|first| **first != NONE)?;
        usize::try_from(*first).ok()
    }

    #[inline]
    fn add(&mut self, other: &Self) {
        for (first, other) in self.first.iter_mut().zip(&other.first) {
            *first = (*first).min(*other);
        }
        self.words |= other.words;
    }
}

#[derive(Debug, Clone)]
pub(super) struct Table {
    columns: [u8; 256],
    width: usize,
    /// Rows with `width` entries: for each column the next row's offset, then two indexes into
    /// `found`.
    rows: Vec<u16>,
    found: Vec<Found>,
}

impl Table {
    pub(super) fn width(columns: usize) -> usize {
        columns + MATCHED
    }

    /// The rows must be complete, and their entries in range.
    pub(super) fn new(columns: [u8; 256], width: usize, rows: Vec<u16>, found: Vec<Found>) -> Self {
        debug_assert!(rows.len() <= MAX_ENTRIES && rows.len().is_multiple_of(width));
        Self { columns, width, rows, found }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.rows) + size_of_val(&*self.found)
    }
}

/// Matches a string with several tables at once, because loads from different tables need not wait
/// for each other.
pub(super) fn search(tables: &[Table], text: &[u8]) -> Found {
    match tables {
        [] => Found::default(),
        [one] => search_by([one], text),
        [one, two] => search_by([one, two], text),
        [one, two, three] => search_by([one, two, three], text),
        [one, two, three, rest @ ..] => {
            let mut found = search_by([one, two, three], text);
            found.add(&search(rest, text));
            found
        }
    }
}

#[inline]
fn search_by<const N: usize>(tables: [&Table; N], text: &[u8]) -> Found {
    let mut found = Found::default();
    let mut rows = [0_usize; N];
    for byte in text {
        for (table, row) in tables.iter().zip(&mut rows) {
            let column = usize::from(table.columns[usize::from(*byte)]);
            *row = usize::from(table.rows[*row + column]);
            let matched = table.rows[*row + table.width - MATCHED];
            found.add(&table.found[usize::from(matched)]);
        }
    }
    for (table, row) in tables.iter().zip(rows) {
        let matched = table.rows[row + table.width - MATCHED_AT_END];
        found.add(&table.found[usize::from(matched)]);
    }
    found
}
