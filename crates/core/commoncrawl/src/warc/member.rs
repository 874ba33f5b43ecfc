//! Reads one record from the byte range in an index row.
//!
//! libdeflate is about twice as fast as a streaming decoder, but must know the decompressed size,
//! which a gzip member's last four bytes contain (RFC 1952 2.3.1, ISIZE).

use std::io::{BufRead, BufReader};

use flate2::bufread::GzDecoder;
use libdeflater::Decompressor;

use super::{
    error::WarcError,
    limits::Limits,
    record::{self, Record, Truncation},
};

/// Deflate's maximum compression ratio (zlib, "Maximum Compression Factor").
const MAX_DEFLATE_RATIO: u64 = 1_032;

pub(super) const GZIP_MAGIC: [u8; 3] = [0x1f, 0x8b, 0x08];

/// Reads the first record in `bytes`, and ignores what follows. Its gzip member's checksum is
/// verified if the block is within the limit.
///
/// # Errors
/// Returns an error if the bytes do not start with a valid record.
pub fn read_record(bytes: &[u8], limits: Limits) -> Result<Record, WarcError> {
    if !bytes.starts_with(&GZIP_MAGIC) {
        return first_record(&mut &*bytes, limits);
    }
    match inflate_whole(bytes, limits) {
        Some(inflated) => record::take_first(inflated, limits),
        None => {
            let mut reader = BufReader::new(GzDecoder::new(bytes));
            let record = first_record(&mut reader, limits)
                .map_err(|error| member_error(error, &mut reader, limits))?;
            if record.truncation != Some(Truncation::Limit) {
                finish_member(&mut reader, limits)?;
            }
            Ok(record)
        }
    }
}

fn first_record<R: BufRead>(input: &mut R, limits: Limits) -> Result<Record, WarcError> {
    let first = record::read(input, limits)?;
    first.map(|(record, _)| record).ok_or(WarcError::Empty)
}

/// Reads the remaining member, but at most as many bytes as a block may have. This verifies its
/// checksum, unless the member is longer.
fn finish_member<R: BufRead>(reader: &mut R, limits: Limits) -> Result<(), WarcError> {
    record::Unread(limits.max_block_bytes).skip(reader)
}

/// Replaces `error` if the gzip data themselves are damaged.
pub(super) fn member_error<R: BufRead>(
    error: WarcError,
    reader: &mut R,
    limits: Limits,
) -> WarcError {
    finish_member(reader, limits).err().unwrap_or(error)
}

fn inflate_whole(bytes: &[u8], limits: Limits) -> Option<Vec<u8>> {
    let size = u64::from(u32::from_le_bytes(*bytes.last_chunk::<4>()?));
    let max_bytes = limits.max_block_bytes.saturating_add(limits.max_header_bytes);
    let possible = (bytes.len() as u64).saturating_mul(MAX_DEFLATE_RATIO);
    if size == 0 || size > max_bytes.min(possible) {
        return None;
    }
    let mut inflated = vec![0; usize::try_from(size).ok()?];
    let length = Decompressor::new().gzip_decompress(bytes, &mut inflated).ok()?;
    inflated.truncate(length);
    Some(inflated)
}
