//! Reads one needed column's values in the current row group.
//!
//! A page is inflated only when one of its rows is read. A page is therefore never inflated if none
//! of its rows passes the filter's first condition. Invariant: the caller reads rows in ascending
//! order. This module does not depend on other columns.

use bytes::Bytes;

use super::{
    chunk::ColumnChunk,
    error::IndexError,
    inflate::{Codec, Inflater},
    page::{Dictionary, OpenPage, Wanted},
    width::Width,
    windows::ColumnProgress,
};

/// How a column is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct ColumnReading {
    /// Name in the file.
    pub(super) name: &'static str,
    /// How values are stored.
    pub(super) width: Width,
    /// Whether a row may lack a value.
    pub(super) is_optional: bool,
    /// Whether the caller usually reads only whether a row has a value, and rarely the value
    /// itself.
    pub(super) is_presence: bool,
    /// The values that [`Column::find`] searches for.
    pub(super) wanted: Wanted,
}

/// How much of the current page is decompressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PageState {
    Closed,
    /// Only the levels, which show whether a row has a value.
    Levels,
    Whole,
}

#[derive(Debug)]
pub(super) struct Column {
    reading: ColumnReading,
    codec: Codec,
    chunk: ColumnChunk,
    dictionary: Dictionary,
    page: OpenPage,
    state: PageState,
    /// The first row in the first page of `chunk`, counted from the row group's first row.
    first_row: u64,
}

impl Column {
    pub(super) fn new(reading: ColumnReading) -> Self {
        Self {
            reading,
            codec: Codec::None,
            chunk: ColumnChunk::default(),
            dictionary: Dictionary::default(),
            page: OpenPage::default(),
            state: PageState::Closed,
            first_row: 0,
        }
    }

    pub(super) fn name(&self) -> &'static str {
        self.reading.name
    }

    /// Starts the next row group. Its chunk for this column has `bytes` bytes and `rows` rows.
    pub(super) fn enter(&mut self, codec: Codec, bytes: u64, rows: u64) {
        self.codec = codec;
        self.chunk = ColumnChunk::new(bytes, rows);
        self.dictionary = Dictionary::default();
        self.state = PageState::Closed;
        self.first_row = 0;
    }

    pub(super) fn push(&mut self, bytes: Bytes) -> Result<(), IndexError> {
        self.chunk.push(bytes).map_err(|what| corrupt(self.reading.name, &what))
    }

    /// Returns how many rows can be read, and how many bytes belong to an incomplete page.
    pub(super) fn progress(&self) -> ColumnProgress {
        ColumnProgress { rows: self.chunk.rows_here, waiting_bytes: self.chunk.waiting_bytes() }
    }

    /// Returns the stored bytes of the value in `row`. `None` for null.
    pub(super) fn get(
        &mut self,
        row: u64,
        inflater: &mut Inflater,
    ) -> Result<Option<&[u8]>, IndexError> {
        self.open_page_of(row, inflater)?;
        let row = row - self.first_row;
        let name = self.reading.name;
        self.page.get(row, &self.dictionary).map_err(|what| corrupt(name, &what))
    }

    /// Returns true if `row` has no value.
    pub(super) fn is_null(
        &mut self,
        row: u64,
        inflater: &mut Inflater,
    ) -> Result<bool, IndexError> {
        if !self.reading.is_optional {
            return Ok(false);
        }
        self.open_page_of(row, inflater)?;
        let has_value = self.page.has_value(row - self.first_row);
        has_value.map(|has| !has).map_err(|what| corrupt(self.reading.name, &what))
    }

    /// Returns whether the value in `row` is an empty string. `None` if the row has no value. Call
    /// this at most once per row. If only the page's levels are open, its values are decompressed
    /// only if the row has a value.
    pub(super) fn is_empty_text(
        &mut self,
        row: u64,
        inflater: &mut Inflater,
    ) -> Result<Option<bool>, IndexError> {
        if self.reading.width != Width::Varying {
            return Ok(if self.is_null(row, inflater)? { None } else { Some(false) });
        }
        self.open_page_of(row, inflater)?;
        if self.state == PageState::Levels {
            if self.is_null(row, inflater)? {
                return Ok(None);
            }
            self.open_values(inflater)?;
        }
        let (name, row) = (self.reading.name, row - self.first_row);
        let value = self.page.get(row, &self.dictionary).map_err(|what| corrupt(name, &what))?;
        Ok(value.map(<[u8]>::is_empty))
    }

    /// Returns the first row in `from..end` with one of the wanted values, and that value's index.
    pub(super) fn find(
        &mut self,
        from: u64,
        end: u64,
        inflater: &mut Inflater,
    ) -> Result<Option<(u64, usize)>, IndexError> {
        let mut row = from;
        while row < end {
            self.open_page_of(row, inflater)?;
            let page_rows = self.chunk.pages.front().map_or(0, |page| page.header.values);
            let page_end = self.first_row.saturating_add(page_rows).min(end);
            let found =
                self.page.find(self.reading.wanted, page_end - self.first_row, &self.dictionary);
            let found = found.map_err(|what| corrupt(self.reading.name, &what))?;
            if let Some((found, index)) = found {
                return Ok(Some((self.first_row + found, index)));
            }
            row = page_end;
        }
        Ok(None)
    }

    /// Drops the pages before `row` without inflating them, and opens the page that contains it.
    fn open_page_of(&mut self, row: u64, inflater: &mut Inflater) -> Result<(), IndexError> {
        let reading = self.reading;
        let wrong = |what: String| corrupt(reading.name, &what);
        let page = loop {
            let Some(page) = self.chunk.pages.front() else {
                return Err(wrong(format!("no row {row}")));
            };
            if row < self.first_row.saturating_add(page.header.values) {
                break page;
            }
            self.first_row += page.header.values;
            self.state = PageState::Closed;
            self.chunk.pages.pop_front();
        };
        if self.state != PageState::Closed {
            return Ok(());
        }
        if reading.is_presence && reading.is_optional {
            self.page.open_levels(page, self.codec, inflater).map_err(wrong)?;
            self.state = PageState::Levels;
            return Ok(());
        }
        self.open_values(inflater)
    }

    /// Opens the first page including its values. Reading starts again at the page's first row.
    fn open_values(&mut self, inflater: &mut Inflater) -> Result<(), IndexError> {
        let reading = self.reading;
        let wrong = |what: String| corrupt(reading.name, &what);
        if let Some(dictionary) = self.chunk.dictionary.take() {
            let (width, wanted) = (reading.width, reading.wanted);
            let opened = Dictionary::open(&dictionary, width, self.codec, inflater, wanted);
            self.dictionary = opened.map_err(wrong)?;
        }
        if let Some(page) = self.chunk.pages.front() {
            let (width, is_optional) = (reading.width, reading.is_optional);
            self.page.open(page, width, is_optional, self.codec, inflater).map_err(wrong)?;
            self.state = PageState::Whole;
        }
        Ok(())
    }
}

fn corrupt(name: &str, what: &str) -> IndexError {
    IndexError::Corrupt(format!("column {name}: {what}"))
}
