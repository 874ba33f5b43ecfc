//! Reads one column's values in ascending row order. A page is decompressed only when a row in it
//! is read.

use bytes::Bytes;

use super::{
    chunk::ColumnChunk,
    error::IndexError,
    inflate::{Codec, Inflater},
    page::{Dictionary, OpenPage, Wanted},
    width::Width,
    windows::ColumnProgress,
};

#[derive(Debug, Clone, Copy)]
pub(super) struct ColumnReading {
    pub(super) name: &'static str,
    pub(super) width: Width,
    pub(super) is_optional: bool,
    /// True if the caller mostly checks whether a row has a value, and rarely reads the value.
    pub(super) is_presence: bool,
    pub(super) wanted: Wanted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PageState {
    Closed,
    /// Only the definition levels, which show whether a row has a value.
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

    pub(super) fn progress(&self) -> ColumnProgress {
        ColumnProgress { rows: self.chunk.rows_here, waiting_bytes: self.chunk.waiting_bytes() }
    }

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

    /// Returns whether the value in `row` is an empty string. `None` for null. Call this at most
    /// once per row.
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
        let name = self.reading.name;
        let row = row - self.first_row;
        let value = self.page.get(row, &self.dictionary).map_err(|what| corrupt(name, &what))?;
        Ok(value.map(<[u8]>::is_empty))
    }

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

    fn open_page_of(&mut self, row: u64, inflater: &mut Inflater) -> Result<(), IndexError> {
        let reading = self.reading;
        let wrong = |what: String| corrupt(reading.name, &what);
        let page = loop {
            let Some(page) = self.chunk.pages.front() else {
                return Err(wrong(format!("row {row} is missing")));
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

    /// Opens the first page with its values, at its first row.
    fn open_values(&mut self, inflater: &mut Inflater) -> Result<(), IndexError> {
        let reading = self.reading;
        let wrong = |what: String| corrupt(reading.name, &what);
        if let Some(dictionary) = self.chunk.dictionary.take() {
            let width = reading.width;
            let wanted = reading.wanted;
            let opened = Dictionary::open(&dictionary, width, self.codec, inflater, wanted);
            self.dictionary = opened.map_err(wrong)?;
        }
        if let Some(page) = self.chunk.pages.front() {
            let width = reading.width;
            let is_optional = reading.is_optional;
            self.page.open(page, width, is_optional, self.codec, inflater).map_err(wrong)?;
            self.state = PageState::Whole;
        }
        Ok(())
    }
}

fn corrupt(name: &str, what: &str) -> IndexError {
    IndexError::Corrupt(format!("column {name}: {what}"))
}
