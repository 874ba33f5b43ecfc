//! Decompresses pages, completely or only their first bytes.
//!
//! Invariant: it never holds more bytes than the header of the page declares and [`MAX_PAGE_BYTES`]
//! allows. Must not know: what the bytes mean.

use std::{fmt, io::Read};

use flate2::read::GzDecoder;
use libdeflater::Decompressor;
use parquet::basic::Compression;

/// Greatest size of a page in bytes, compressed or not. A page of the index has 1 MiB, but some
/// writers put a whole column chunk into one page.
pub(super) const MAX_PAGE_BYTES: usize = 256 << 20;

/// How a page is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Codec {
    None,
    Gzip,
    Snappy,
    Zstd,
}

impl Codec {
    /// Returns the codec, `None` if it is not supported.
    pub(super) fn of(compression: Compression) -> Option<Self> {
        match compression {
            Compression::UNCOMPRESSED => Some(Self::None),
            Compression::GZIP(_) => Some(Self::Gzip),
            Compression::SNAPPY => Some(Self::Snappy),
            Compression::ZSTD(_) => Some(Self::Zstd),
            _ => None,
        }
    }
}

/// The decompressor for pages of all columns.
pub(super) struct Inflater {
    gzip: Decompressor,
}

impl fmt::Debug for Inflater {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Inflater")
    }
}

impl Inflater {
    pub(super) fn new() -> Self {
        Self { gzip: Decompressor::new() }
    }

    /// Decompresses `stored` into `out`, which must have exactly the length of the page.
    pub(super) fn inflate(
        &mut self,
        codec: Codec,
        stored: &[u8],
        out: &mut [u8],
    ) -> Result<(), String> {
        let length = match codec {
            Codec::None if stored.len() == out.len() => {
                out.copy_from_slice(stored);
                return Ok(());
            }
            Codec::None => stored.len(),
            // Some writers store an empty page as no bytes at all.
            _ if stored.is_empty() => 0,
            Codec::Gzip => self.gzip.gzip_decompress(stored, out).map_err(|e| e.to_string())?,
            Codec::Snappy => {
                snap::raw::Decoder::new().decompress(stored, out).map_err(|e| e.to_string())?
            }
            Codec::Zstd => {
                zstd::bulk::decompress_to_buffer(stored, out).map_err(|e| e.to_string())?
            }
        };
        if length == out.len() {
            return Ok(());
        }
        Err(format!("{length} bytes in a page of {}", out.len()))
    }

    /// Decompresses the definition levels at the start of a page of version 1, without the length
    /// before them. The rest of the page is only decompressed if the codec is not gzip.
    pub(super) fn levels(
        &mut self,
        codec: Codec,
        stored: &[u8],
        plain_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        out.clear();
        if codec == Codec::Gzip {
            let mut input = GzDecoder::new(stored);
            let mut length = [0; 4];
            input.read_exact(&mut length).map_err(|e| e.to_string())?;
            let length = u32::from_le_bytes(length);
            if length as usize > plain_bytes {
                return Err("levels longer than their page".into());
            }
            input.take(length.into()).read_to_end(out).map_err(|e| e.to_string())?;
            return if out.len() == length as usize { Ok(()) } else { Err("it is cut".into()) };
        }
        out.resize(plain_bytes, 0);
        self.inflate(codec, stored, out)?;
        let levels = split_levels(out).map(|(levels, _)| levels.len());
        let length = levels.ok_or("levels longer than their page")?;
        out.copy_within(4..4 + length, 0);
        out.truncate(length);
        Ok(())
    }
}

/// Splits a page of version 1 into its definition levels and the values after them.
pub(super) fn split_levels(page: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = page.split_first_chunk()?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize)
}
