//! Reads the metadata at the end of a parquet file in as few reads as possible.
//!
//! Layout: `PAR1 | row groups | metadata | metadata length, u32 LE | PAR1` (parquet-format, "File
//! format").

use std::ops::Range;

use bytes::Bytes;
use parquet::{
    DecodeResult,
    file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataPushDecoder},
};

use super::error::{IndexError, guarded};

const MAGIC: &[u8; 4] = b"PAR1";
const ENCRYPTED_MAGIC: &[u8; 4] = b"PARE";
/// Total size in bytes of the metadata length and the magic number after it.
const TAIL_BYTES: u64 = 8;
/// Minimum file size in bytes, with both magic numbers and a metadata length.
const MIN_FILE_BYTES: u64 = 12;
/// Maximum metadata size in bytes. For 30 columns and 100 row groups, this is about 0.5 MB.
const MAX_METADATA_BYTES: u64 = 64 << 20;

pub(super) enum FooterStep {
    Need(Vec<Range<u64>>),
    Metadata(Box<ParquetMetaData>),
}

#[derive(Debug)]
pub(super) struct Footer {
    file_size: u64,
    first_read_bytes: u64,
    tail: Option<Bytes>,
    head: Option<Bytes>,
    decoder: Option<ParquetMetaDataPushDecoder>,
}

impl Footer {
    pub(super) fn new(file_size: u64, first_read_bytes: u64) -> Self {
        let first_read_bytes = first_read_bytes.max(MIN_FILE_BYTES);
        Self { file_size, first_read_bytes, tail: None, head: None, decoder: None }
    }

    pub(super) fn supply(&mut self, range: Range<u64>, data: Bytes) -> Result<(), IndexError> {
        if let Some(decoder) = &mut self.decoder {
            return guarded(|| decoder.push_range(range, data));
        }
        if range.end == self.file_size && self.tail.is_none() {
            self.tail = Some(data);
        } else if range.start == 0 {
            self.head = Some(data);
        }
        Ok(())
    }

    pub(super) fn next(&mut self) -> Result<FooterStep, IndexError> {
        if self.file_size == 0 {
            return Err(IndexError::NotParquet("it is empty"));
        }
        let tail_start = self.file_size.saturating_sub(self.first_read_bytes);
        let Some(tail) = &self.tail else {
            return Ok(need(tail_start..self.file_size));
        };
        if self.decoder.is_none() {
            if !tail.ends_with(MAGIC) || self.file_size < MIN_FILE_BYTES {
                let head = if tail_start == 0 { Some(tail) } else { self.head.as_ref() };
                return match head {
                    Some(head) => Err(explain(head, tail)),
                    None => Ok(need(0..4)),
                };
            }
            self.decoder = Some(start_decoder(tail, self.file_size)?);
        }
        let Some(decoder) = &mut self.decoder else {
            return Err(IndexError::Corrupt("no decoder".into()));
        };
        match guarded(|| decoder.try_decode())? {
            DecodeResult::NeedsData(ranges) => Ok(FooterStep::Need(ranges)),
            DecodeResult::Data(metadata) => Ok(FooterStep::Metadata(Box::new(metadata))),
            DecodeResult::Finished => Err(IndexError::Corrupt("no metadata".into())),
        }
    }
}

fn need(range: Range<u64>) -> FooterStep {
    FooterStep::Need(vec![range])
}

fn explain(head: &[u8], tail: &[u8]) -> IndexError {
    if tail.ends_with(ENCRYPTED_MAGIC) {
        IndexError::Encrypted
    } else if head.starts_with(MAGIC) {
        IndexError::Truncated("it begins with PAR1 but does not end with it".into())
    } else {
        IndexError::NotParquet("it does not begin and end with PAR1")
    }
}

fn start_decoder(tail: &Bytes, file_size: u64) -> Result<ParquetMetaDataPushDecoder, IndexError> {
    let length_at = tail.len().saturating_sub(TAIL_BYTES as usize);
    let length = match tail.get(length_at..) {
        Some(&[a, b, c, d, ..]) => u64::from(u32::from_le_bytes([a, b, c, d])),
        _ => return Err(IndexError::Truncated("it has no footer".into())),
    };
    if length.saturating_add(MIN_FILE_BYTES) > file_size {
        let what =
            format!("its footer declares {length} bytes of metadata, it has {file_size} bytes");
        return Err(IndexError::Truncated(what));
    }
    if length > MAX_METADATA_BYTES {
        return Err(IndexError::Corrupt(format!("{length} bytes of metadata")));
    }
    let start = file_size.saturating_sub(tail.len() as u64);
    guarded(|| {
        let decoder = ParquetMetaDataPushDecoder::try_new(file_size)?;
        let mut decoder = decoder.with_page_index_policy(PageIndexPolicy::Skip);
        decoder.push_range(start..file_size, tail.clone())?;
        Ok(decoder)
    })
}
