//! Decompresses pages, completely or only their first bytes.
//!
//! Invariant: it never holds more bytes than the header of the page declares and [`MAX_PAGE_BYTES`]
//! allows. Must not know: what the bytes mean.

use std::{fmt, io::Read};

use flate2::read::MultiGzDecoder;
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
            Codec::Gzip => self.gunzip(stored, out)?,
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

    /// Decompresses a page of one gzip member, as nearly all are, or of several. Returns the length
    /// of the plain bytes.
    fn gunzip(&mut self, stored: &[u8], out: &mut [u8]) -> Result<usize, String> {
        let length = self.gzip.gzip_decompress(stored, out).map_err(|e| e.to_string())?;
        if length == out.len() {
            return Ok(length);
        }
        let mut members = MultiGzDecoder::new(stored);
        let is_whole = members.read_exact(out).is_ok() && matches!(members.read(&mut [0]), Ok(0));
        Ok(if is_whole { out.len() } else { length })
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
            let mut input = MultiGzDecoder::new(stored);
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

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    fn gzipped(parts: &[&[u8]]) -> Vec<u8> {
        let member = |part: &&[u8]| {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(part).unwrap();
            encoder.finish().unwrap()
        };
        parts.iter().flat_map(member).collect()
    }

    #[test]
    fn a_page_may_be_of_several_gzip_members() {
        let inflated = |parts: &[&[u8]], length| {
            let mut out = vec![0; length];
            let done = Inflater::new().inflate(Codec::Gzip, &gzipped(parts), &mut out);
            done.map(|()| out)
        };
        assert_eq!(inflated(&[b"whole"], 5).unwrap(), b"whole");
        assert_eq!(inflated(&[b"in", b"", b" parts"], 8).unwrap(), b"in parts");
        assert_eq!(inflated(&[b"short"], 8).unwrap_err(), "5 bytes in a page of 8");
        assert_eq!(inflated(&[b"too", b" long"], 7).unwrap_err(), "3 bytes in a page of 7");
    }

    #[test]
    fn levels_may_be_of_several_gzip_members() {
        let mut levels = Vec::new();
        let stored = gzipped(&[&[2, 0, 0], &[0, 7, 8], b"values"]);
        Inflater::new().levels(Codec::Gzip, &stored, 12, &mut levels).unwrap();
        assert_eq!(levels, [7, 8]);
    }
}
