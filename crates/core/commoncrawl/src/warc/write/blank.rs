//! Removes a record from a finished archive without moving the others. Its gzip member is replaced
//! with one that has the same length.

use libdeflater::{CompressionLvl, Compressor, crc32};

use super::{
    fields::Fields,
    identity::{record_id, sha256_digest},
};
use crate::warc::Record;

/// Gzip header without name, comment and time (RFC 1952 2.3).
const GZIP_HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
/// Flag for a comment in the gzip header. We use a comment, which ends with a zero byte, as
/// padding.
const HAS_COMMENT: u8 = 0x10;
/// Maximum stored deflate block length (RFC 1951 3.2.4).
const MAX_STORED: usize = 65_535;
const STORED_HEADER: usize = 5;
/// Total length of the checksum and the size at the end of a member.
const GZIP_TRAILER: usize = 8;
const NO_DATE: &str = "1970-01-01T00:00:00Z";

/// Returns a member with `length` bytes, whose `metadata` record contains only spaces. `None` if no
/// record fits.
#[must_use]
pub fn blank_member(length: usize) -> Option<Vec<u8>> {
    let fits = |spaces: usize| stored_length(blank_record(spaces)?.len()).filter(|&n| n <= length);
    if fits(0).is_none() {
        return padded(compressed(&blank_record(0)?)?, length);
    }
    let (mut low, mut high) = (0, length);
    while high - low > 1 {
        let middle = low.midpoint(high);
        match fits(middle) {
            Some(_) => low = middle,
            None => high = middle,
        }
    }
    padded(stored(&blank_record(low)?), length)
}

/// Returns a member with `length` bytes that keeps only an HTTP response's body and date. `None` if
/// `response` is not one, or if the result does not fit.
#[must_use]
pub fn anonymous_member(response: &Record, length: usize) -> Option<Vec<u8>> {
    let body = response.http_response().ok()?.body;
    let uri = format!("urn:{}", sha256_digest(&[&body]));
    resource_member(&uri, &response.date()?, "application/octet-stream", &body, length)
}

/// Returns a member with `length` bytes and a `resource` record. `None` if this record does not
/// fit.
#[must_use]
pub fn resource_member(
    target_uri: &str,
    date: &str,
    content_type: &str,
    body: &[u8],
    length: usize,
) -> Option<Vec<u8>> {
    let digest = sha256_digest(&[body]);
    let id = record_id("resource", target_uri, 0, &digest);
    let mut fields = Fields::new("resource", &id, date).ok()?;
    fields.add("WARC-Target-URI", target_uri).ok()?;
    fields.add("WARC-Payload-Digest", &digest).ok()?;
    fields.add("Content-Type", content_type).ok()?;
    padded(compressed(&whole(fields, body))?, length)
}

fn blank_record(spaces: usize) -> Option<Vec<u8>> {
    let id = record_id("metadata", "", 0, "");
    let fields = Fields::new("metadata", &id, NO_DATE).ok()?;
    Some(whole(fields, &vec![b' '; spaces]))
}

fn whole(fields: Fields, block: &[u8]) -> Vec<u8> {
    let mut record = fields.finish(block.len());
    record.extend_from_slice(block);
    record.extend_from_slice(b"\r\n\r\n");
    record
}

fn compressed(record: &[u8]) -> Option<Vec<u8>> {
    let mut compressor = Compressor::new(CompressionLvl::best());
    let mut member = vec![0; compressor.gzip_compress_bound(record.len())];
    let length = compressor.gzip_compress(record, &mut member).ok()?;
    member.truncate(length);
    Some(member)
}

fn stored_length(bytes: usize) -> Option<usize> {
    let blocks = bytes.div_ceil(MAX_STORED).checked_mul(STORED_HEADER)?;
    bytes.checked_add(blocks)?.checked_add(GZIP_HEADER.len() + GZIP_TRAILER)
}

fn stored(record: &[u8]) -> Vec<u8> {
    let mut member = GZIP_HEADER.to_vec();
    let mut blocks = record.chunks(MAX_STORED).peekable();
    while let Some(block) = blocks.next() {
        member.push(u8::from(blocks.peek().is_none()));
        let length = u16::try_from(block.len()).unwrap_or(u16::MAX);
        member.extend(length.to_le_bytes());
        member.extend((!length).to_le_bytes());
        member.extend_from_slice(block);
    }
    member.extend(crc32(record).to_le_bytes());
    member.extend((record.len() as u32).to_le_bytes());
    member
}

fn padded(mut member: Vec<u8>, length: usize) -> Option<Vec<u8>> {
    let comment = length.checked_sub(member.len())?;
    if let Some(spaces) = comment.checked_sub(1) {
        *member.get_mut(3)? |= HAS_COMMENT;
        let padding = std::iter::repeat_n(b' ', spaces).chain([0]);
        member.splice(GZIP_HEADER.len()..GZIP_HEADER.len(), padding);
    }
    Some(member)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::warc::{
        Limits, RecordType, Records, read_record,
        write::{ArchiveInfo, ArchiveWriter, Response},
    };

    #[test]
    fn a_blank_member_of_any_length_is_one_record_that_every_reader_accepts() {
        let lengths = (160..700).chain([65_530, 65_700, 65_739, 65_740, 65_741, 200_000]);
        for length in lengths {
            let member = blank_member(length).unwrap();
            assert_eq!(member.len(), length);
            let record = read_record(&member, Limits::default()).unwrap();
            assert_eq!(record.record_type, RecordType::Metadata, "{length}");
            assert!(record.truncation.is_none() && record.block.iter().all(|&b| b == b' '));
            let mut inflated = Vec::new();
            let mut reader = flate2::read::GzDecoder::new(&member[..]);
            reader.read_to_end(&mut inflated).unwrap();
            assert!(inflated.ends_with(b"\r\n\r\n"), "{length}");
        }
        assert_eq!(blank_member(100), None);
    }

    #[test]
    fn other_records_keep_their_position_and_shared_content_loses_its_url() {
        let info = ArchiveInfo { file_name: "a", date_micros: 0, fields: &[] };
        let mut writer = ArchiveWriter::new(Vec::new(), &info).unwrap();
        let bodies = [vec![7; 90_000], b"icon".to_vec(), b"other".to_vec()];
        let positions: Vec<_> = bodies
            .iter()
            .map(|body| {
                let response = Response {
                    target_uri: "https://gone.example/favicon.ico",
                    date_micros: 5,
                    ip_address: None,
                    http_head: b"HTTP/1.1 200 OK\r\nServer: gone.example\r\n\r\n",
                    body,
                    truncated: None,
                };
                writer.response(&response).unwrap().position
            })
            .collect();
        let before = writer.finish().unwrap();
        let mut after = before.clone();
        let range = |index: usize| {
            let start = positions[index].offset as usize;
            start..start + positions[index].length as usize
        };
        let blank = blank_member(range(0).len()).unwrap();
        after[range(0)].copy_from_slice(&blank);
        let shared = read_record(&before[range(1)], Limits::default()).unwrap();
        let member = anonymous_member(&shared, range(1).len()).unwrap();
        after[range(1)].copy_from_slice(&member);
        let records: Vec<_> = Records::new(&after, Limits::default())
            .map(|(at, record)| (at, record.unwrap()))
            .collect();
        let offsets: Vec<u64> = records.iter().map(|(at, _)| *at).collect();
        assert_eq!(offsets[1..], positions.iter().map(|p| p.offset).collect::<Vec<_>>());
        assert_eq!(records[1].1.record_type, RecordType::Metadata);
        assert_eq!(records[2].1.record_type, RecordType::Resource);
        assert_eq!(records[2].1.block, bodies[1]);
        assert!(!format!("{:?}", records[2].1).contains("gone.example"));
        assert_eq!(records[3].1.http_response().unwrap().body, bodies[2]);
    }
}
