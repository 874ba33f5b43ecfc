//! Splits a column chunk into pages while its bytes are supplied, and checks how many rows they
//! have.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

use super::{
    inflate::MAX_PAGE_BYTES,
    thrift::{HeaderError, PageHeader, PageKind, page_header},
};

/// Maximum page header size in bytes. Its statistics contain column values, which are short in an
/// index.
const MAX_HEADER_BYTES: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct ColumnPage {
    pub(super) header: PageHeader,
    pub(super) body: Bytes,
}

#[derive(Debug, Default)]
pub(super) struct ColumnChunk {
    /// The first bytes that do not belong to a complete page.
    front: Bytes,
    later: VecDeque<Bytes>,
    missing_bytes: u64,
    rows: u64,
    pub(super) dictionary: Option<ColumnPage>,
    pub(super) pages: VecDeque<ColumnPage>,
    pub(super) rows_here: u64,
}

impl ColumnChunk {
    pub(super) fn new(bytes: u64, rows: u64) -> Self {
        Self { missing_bytes: bytes, rows, ..Self::default() }
    }

    pub(super) fn waiting_bytes(&self) -> u64 {
        let later = self.later.iter().map(Bytes::len).sum::<usize>();
        (self.front.len() + later) as u64
    }

    pub(super) fn push(&mut self, bytes: Bytes) -> Result<(), String> {
        self.missing_bytes = self.missing_bytes.saturating_sub(bytes.len() as u64);
        self.later.push_back(bytes);
        while self.rows_here < self.rows {
            match self.take_page()? {
                Some(page) => self.keep(page)?,
                None if self.missing_bytes > 0 => return Ok(()),
                None => return Err(format!("only {} of {} rows", self.rows_here, self.rows)),
            }
        }
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

    fn take_page(&mut self) -> Result<Option<ColumnPage>, String> {
        let (header, length) = loop {
            match page_header(&self.front) {
                Ok(found) => break found,
                Err(HeaderError::Short) if self.front.len() > MAX_HEADER_BYTES => {
                    return Err("a page header is too large".into());
                }
                Err(HeaderError::Short) if self.join() => {}
                Err(HeaderError::Short) => return Ok(None),
                Err(HeaderError::Wrong(what)) => {
                    return Err(format!("invalid page header: {what}"));
                }
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
