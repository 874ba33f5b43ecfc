//! One record from exactly the bytes that an index row cuts: a gzip member, or plain.
//!
//! libdeflate inflates a whole member at about twice the speed of a streaming decoder, but needs
//! to know the size beforehand. The last four bytes of a member say it (RFC 1952 2.3.1, ISIZE), if
//! the member ends where the bytes do; where they do not, or the size is over the limit, the
//! streaming decoder is right whatever it is.

use std::io::{BufRead, BufReader};

use flate2::bufread::GzDecoder;
use libdeflater::Decompressor;

use super::Limits;
use super::error::WarcError;
use super::record::{self, Record, Truncation};

/// Deflate cannot compress better than this (zlib, "Maximum Compression Factor").
const MAX_DEFLATE_RATIO: u64 = 1_032;

pub(super) const GZIP_MAGIC: [u8; 3] = [0x1f, 0x8b, 0x08];

/// Reads the first record of `bytes`: the range that an index row names, or an uncompressed record.
///
/// What follows the record is not looked at, except that the checksum of its gzip member is
/// checked where the block is within the limit.
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

/// Inflates to the member's end, so that its checksum is checked. What stands behind the record is
/// two line ends, or a few records; a member that goes on and on is left at the limit.
fn finish_member<R: BufRead>(reader: &mut R, limits: Limits) -> Result<(), WarcError> {
    record::Unread(limits.max_block_bytes).skip(reader)
}

/// What is wrong with a member whose content is no record: where its checksum is wrong too, that.
pub(super) fn member_error<R: BufRead>(
    error: WarcError,
    reader: &mut R,
    limits: Limits,
) -> WarcError {
    finish_member(reader, limits).err().unwrap_or(error)
}

/// All of the first gzip member of `bytes`; `None` where its size is not known or over the limit,
/// or the data are wrong.
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
