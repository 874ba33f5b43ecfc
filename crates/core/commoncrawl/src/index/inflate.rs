//! Decompresses pages, completely or only their levels, into at most [`MAX_PAGE_BYTES`].

use std::{fmt, io::Read};

use flate2::read::MultiGzDecoder;
use libdeflater::Decompressor;
use parquet::basic::Compression;

/// Maximum page size in bytes, compressed or not. Pages in the index have 1 MiB, but some writers
/// put a whole column chunk into one page.
pub(super) const MAX_PAGE_BYTES: usize = 256 << 20;

/// Input buffer size in bytes for the Brotli decoder.
const BROTLI_BUFFER_BYTES: usize = 4_096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Codec {
    None,
    Gzip,
    Snappy,
    Zstd,
    Brotli,
    /// LZ4 blocks without a frame.
    Lz4Raw,
    /// LZ4 blocks in Hadoop's frames, which parquet.thrift calls deprecated.
    Lz4Hadoop,
}

impl Codec {
    pub(super) fn of(compression: Compression) -> Option<Self> {
        match compression {
            Compression::UNCOMPRESSED => Some(Self::None),
            Compression::GZIP(_) => Some(Self::Gzip),
            Compression::SNAPPY => Some(Self::Snappy),
            Compression::ZSTD(_) => Some(Self::Zstd),
            Compression::BROTLI(_) => Some(Self::Brotli),
            Compression::LZ4_RAW => Some(Self::Lz4Raw),
            Compression::LZ4 => Some(Self::Lz4Hadoop),
            _ => None,
        }
    }
}

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

    /// `out` must be exactly as long as the decompressed page.
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
            // Some writers store an empty page as no bytes.
            _ if stored.is_empty() => 0,
            Codec::Gzip => self.gunzip(stored, out)?,
            Codec::Snappy => {
                snap::raw::Decoder::new().decompress(stored, out).map_err(|e| e.to_string())?
            }
            Codec::Zstd => {
                zstd::bulk::decompress_to_buffer(stored, out).map_err(|e| e.to_string())?
            }
            Codec::Brotli => unbrotli(stored, out)?,
            Codec::Lz4Raw => {
                lz4_flex::block::decompress_into(stored, out).map_err(|e| e.to_string())?
            }
            Codec::Lz4Hadoop => unlz4_hadoop(stored, out)?,
        };
        if length == out.len() {
            return Ok(());
        }
        Err(format!("{length} bytes in a page of {}", out.len()))
    }

    fn gunzip(&mut self, stored: &[u8], out: &mut [u8]) -> Result<usize, String> {
        let length = self.gzip.gzip_decompress(stored, out).map_err(|e| e.to_string())?;
        if length == out.len() {
            return Ok(length);
        }
        let mut members = MultiGzDecoder::new(stored);
        let is_whole = members.read_exact(out).is_ok() && matches!(members.read(&mut [0]), Ok(0));
        Ok(if is_whole { out.len() } else { length })
    }

    /// Decompresses gzip only until the levels end, and other codecs completely.
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
            return if out.len() == length as usize { Ok(()) } else { Err("truncated".into()) };
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

fn unbrotli(stored: &[u8], out: &mut [u8]) -> Result<usize, String> {
    let mut input = brotli_decompressor::Decompressor::new(stored, BROTLI_BUFFER_BYTES);
    input.read_exact(out).map_err(|e| e.to_string())?;
    match input.read(&mut [0]) {
        Ok(0) => Ok(out.len()),
        Ok(_) => Err(format!("more than {} bytes in a page", out.len())),
        Err(error) => Err(error.to_string()),
    }
}

/// Decompresses Hadoop's frames. A frame is its decompressed length and one or more blocks, each
/// after its compressed length. All lengths are big-endian and four bytes long.
fn unlz4_hadoop(mut stored: &[u8], out: &mut [u8]) -> Result<usize, String> {
    const CUT: &str = "LZ4 frames cut short";
    let number = |stored: &mut &[u8]| -> Result<usize, String> {
        let (head, rest) = stored.split_first_chunk().ok_or(CUT)?;
        *stored = rest;
        Ok(u32::from_be_bytes(*head) as usize)
    };
    let mut length = 0;
    while !stored.is_empty() {
        let frame_end = length + number(&mut stored)?;
        while length < frame_end {
            let (block, rest) = number(&mut stored)
                .ok()
                .and_then(|bytes| stored.split_at_checked(bytes))
                .ok_or(CUT)?;
            stored = rest;
            let plain =
                out.get_mut(length..frame_end).ok_or("LZ4 frames longer than their page")?;
            let here = lz4_flex::block::decompress_into(block, plain).map_err(|e| e.to_string())?;
            if here == 0 {
                return Err("an empty LZ4 block".into());
            }
            length += here;
        }
    }
    Ok(length)
}

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
    fn lz4_blocks_are_read_with_and_without_the_frames_of_hadoop() {
        let frame = |blocks: &[&[u8]]| {
            let plain: usize = blocks.iter().map(|block| block.len()).sum();
            let mut frame = u32::try_from(plain).unwrap().to_be_bytes().to_vec();
            for block in blocks {
                let stored = lz4_flex::block::compress(block);
                frame.extend(u32::try_from(stored.len()).unwrap().to_be_bytes());
                frame.extend(stored);
            }
            frame
        };
        let inflated = |codec, stored: &[u8], length| {
            let mut out = vec![0; length];
            Inflater::new().inflate(codec, stored, &mut out).map(|()| out)
        };
        let raw = lz4_flex::block::compress(b"aaaaaaaaaaaaaaaa");
        assert_eq!(inflated(Codec::Lz4Raw, &raw, 16).unwrap(), b"aaaaaaaaaaaaaaaa");
        assert!(inflated(Codec::Lz4Raw, &raw, 15).is_err());
        let frames = [frame(&[b"two ", b"blocks "]), frame(&[b"and one"])].concat();
        assert_eq!(inflated(Codec::Lz4Hadoop, &frames, 18).unwrap(), b"two blocks and one");
        for length in [0, 17, 19] {
            assert!(inflated(Codec::Lz4Hadoop, &frames, length).is_err(), "{length}");
        }
        for end in 1..frames.len() {
            assert!(inflated(Codec::Lz4Hadoop, &frames[..end], 18).is_err(), "{end}");
        }
    }

    #[test]
    fn levels_may_be_of_several_gzip_members() {
        let mut levels = Vec::new();
        let stored = gzipped(&[&[2, 0, 0], &[0, 7, 8], b"values"]);
        Inflater::new().levels(Codec::Gzip, &stored, 12, &mut levels).unwrap();
        assert_eq!(levels, [7, 8]);
    }
}
