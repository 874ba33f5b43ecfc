//! Reads one record from the byte range in an index row. The range contains a gzip member or an
//! uncompressed record.
//!
//! libdeflate decompresses a whole member about twice as fast as a streaming decoder, but must know
//! the decompressed size. If the member ends where the bytes end, its last four bytes contain the
//! size (RFC 1952 2.3.1, ISIZE). Otherwise, or if the size is above the limit, we use the streaming
//! decoder.

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

/// First bytes in a gzip member that is compressed with deflate.
pub(super) const GZIP_MAGIC: [u8; 3] = [0x1f, 0x8b, 0x08];

/// Reads the first record in `bytes`: a range from an index row, or an uncompressed record.
///
/// Bytes after the record are ignored, but the checksum of the record's gzip member is verified if
/// the block is within the limit.
///
/// # Errors
/// Returns a [`WarcError`] if the bytes do not start with a valid record.
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

/// Decompresses to the end of the member, which verifies its checksum. Two line ends or a few
/// records may follow the record. If more bytes follow, only a limited number is decompressed.
fn finish_member<R: BufRead>(reader: &mut R, limits: Limits) -> Result<(), WarcError> {
    record::Unread(limits.max_block_bytes).skip(reader)
}

/// Returns the error for a member whose content is not a record. This is `error`, unless the gzip
/// data themselves are corrupt.
pub(super) fn member_error<R: BufRead>(
    error: WarcError,
    reader: &mut R,
    limits: Limits,
) -> WarcError {
    finish_member(reader, limits).err().unwrap_or(error)
}

/// Decompresses the first gzip member in `bytes` completely. `None` if its size is unknown or above
/// the limit, or if the data are corrupt.
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
