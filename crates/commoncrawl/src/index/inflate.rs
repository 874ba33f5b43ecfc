//! Undoing a page's compression, whole or only its first bytes.
//!
//! Invariant: never holds more than the page's header says and [`MAX_PAGE_BYTES`] allows.
//! Must not know: what the bytes are.

use std::fmt;
use std::io::Read;

use flate2::read::GzDecoder;
use libdeflater::Decompressor;
use parquet::basic::Compression;

/// A page of the index has 1 MiB; other writers make one page of a whole column chunk.
pub(super) const MAX_PAGE_BYTES: usize = 256 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Codec {
    None,
    Gzip,
    Snappy,
    Zstd,
}

impl Codec {
    /// `None` for codecs that this reader does not know.
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

/// Buffers that pages of all columns are inflated with.
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

    /// Makes the first bytes of `out` those that `stored` was; `out` has the page's length.
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
            // A page without bytes is compressed to none by some.
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

    /// The definition levels at the start of a page of version 1: what follows the length that
    /// they begin with. Only gzip pages are spared the rest.
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

/// The definition levels of a page of version 1, and the values after them.
pub(super) fn split_levels(page: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = page.split_first_chunk()?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize)
}
