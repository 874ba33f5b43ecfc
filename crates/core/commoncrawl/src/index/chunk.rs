//! Splits a column chunk into pages while its bytes are supplied.
//!
//! Invariants: a page is returned once, and only when it is complete; it is an error if the pages
//! do not contain as many rows as the row group. This module does not depend on what pages contain.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

use super::{
    inflate::MAX_PAGE_BYTES,
    thrift::{HeaderError, PageHeader, PageKind, page_header},
};

/// Maximum bytes in a page header. A header contains statistics with column values, which are short
/// in an index.
const MAX_HEADER_BYTES: usize = 1 << 20;

/// A compressed page and its header.
#[derive(Debug)]
pub(super) struct ColumnPage {
    pub(super) header: PageHeader,
    pub(super) body: Bytes,
}

/// A column chunk whose bytes may have been supplied only in part.
#[derive(Debug, Default)]
pub(super) struct ColumnChunk {
    /// The first bytes that do not belong to a page yet.
    front: Bytes,
    /// The bytes after `front`, in the pieces in which they were supplied.
    later: VecDeque<Bytes>,
    /// How many of the chunk's bytes have not been supplied.
    missing_bytes: u64,
    /// Rows in the row group.
    rows: u64,
    /// The dictionary page, until it is opened.
    pub(super) dictionary: Option<ColumnPage>,
    /// Data pages that have not been read to their end.
    pub(super) pages: VecDeque<ColumnPage>,
    /// Rows in all data pages that have been supplied.
    pub(super) rows_here: u64,
}

impl ColumnChunk {
    /// Creates a chunk that has `bytes` bytes in the file and `rows` rows.
    pub(super) fn new(bytes: u64, rows: u64) -> Self {
        Self { missing_bytes: bytes, rows, ..Self::default() }
    }

    /// Returns how many of the supplied bytes belong to an incomplete page.
    pub(super) fn waiting_bytes(&self) -> u64 {
        let later = self.later.iter().map(Bytes::len).sum::<usize>();
        (self.front.len() + later) as u64
    }

    /// Adds the chunk's next bytes.
    pub(super) fn push(&mut self, bytes: Bytes) -> Result<(), String> {
        self.missing_bytes = self.missing_bytes.saturating_sub(bytes.len() as u64);
        self.later.push_back(bytes);
        while self.rows_here < self.rows {
            match self.take_page()? {
                Some(page) => self.keep(page)?,
                None if self.missing_bytes > 0 => return Ok(()),
                None => return Err(format!("{} of {} rows", self.rows_here, self.rows)),
            }
        }
        // Bytes after the last row are ignored.
        self.front = Bytes::new();
        self.later.clear();
        Ok(())
    }

    fn keep(&mut self, page: ColumnPage) -> Result<(), String> {
        match page.header.kind {
            PageKind::Dictionary if self.dictionary.is_none() && self.rows_here == 0 => {
                self.dictionary = Some(page);
            }
            PageKind::Dictionary => return Err("a second dictionary".into()),
            PageKind::Data | PageKind::DataV2 => {
                let rows = self.rows_here.checked_add(page.header.values);
                self.rows_here =
                    rows.filter(|rows| *rows <= self.rows).ok_or("more rows than the row group")?;
                self.pages.push_back(page);
            }
            PageKind::Other => {}
        }
        Ok(())
    }

    /// Returns the next page. `None` if its bytes have not been supplied completely.
    fn take_page(&mut self) -> Result<Option<ColumnPage>, String> {
        let (header, length) = loop {
            match page_header(&self.front) {
                Ok(found) => break found,
                Err(HeaderError::Short) if self.front.len() > MAX_HEADER_BYTES => {
                    return Err("a page header without end".into());
                }
                Err(HeaderError::Short) if self.join() => {}
                Err(HeaderError::Short) => return Ok(None),
                Err(HeaderError::Wrong(what)) => return Err(format!("a page header with {what}")),
            }
        };
        if header.plain_bytes > MAX_PAGE_BYTES || header.stored_bytes > MAX_PAGE_BYTES {
            let bytes = header.plain_bytes.max(header.stored_bytes);
            return Err(format!("a page of {bytes} bytes, more than {MAX_PAGE_BYTES}"));
        }
        let end = length + header.stored_bytes;
        if self.front.len() < end {
            let later: usize = self.later.iter().map(Bytes::len).sum();
            if self.front.len() + later < end || !self.join() {
                return Ok(None);
            }
        }
        let body = self.front.split_to(end).slice(length..);
        Ok(Some(ColumnPage { header, body }))
    }

    /// Appends the later pieces to `front`. Returns false if there are no later pieces.
    fn join(&mut self) -> bool {
        match self.later.len() {
            0 => return false,
            1 if self.front.is_empty() => self.front = self.later.pop_front().unwrap_or_default(),
            _ => {
                let mut joined = BytesMut::new();
                joined.extend_from_slice(&self.front);
                self.later.drain(..).for_each(|piece| joined.extend_from_slice(&piece));
                self.front = joined.freeze();
            }
        }
        true
    }
}
