//! The HTTP responses in a WARC file, record by record.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use flate2::bufread::GzDecoder;

/// A record that unpacks to more than this is passed over.
const MAX_RECORD: u64 = 16 * 1_024 * 1_024;

/// What a record says of a URL.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) url: String,
    pub(super) status: u16,
    pub(super) content_type: Option<String>,
    pub(super) content_encoding: Option<String>,
    pub(super) location: Option<String>,
    pub(super) body: Vec<u8>,
}

/// Offset and response of each response record, up to the first member that is damaged.
pub(super) fn all(bytes: &[u8]) -> Vec<(u64, Response)> {
    let mut found = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let offset = (bytes.len() - rest.len()) as u64;
        let mut member = GzDecoder::new(rest);
        let mut record = Vec::new();
        if member.by_ref().take(MAX_RECORD).read_to_end(&mut record).is_err() {
            break;
        }
        // Whatever was beyond the cap is read past, to find the next member.
        if std::io::copy(&mut member, &mut std::io::sink()).is_err() {
            break;
        }
        rest = member.into_inner();
        found.extend(parse(&record).map(|response| (offset, response)));
    }
    found
}

/// The response at an offset, none if there is no such record.
pub(super) fn at(path: &Path, offset: u64) -> std::io::Result<Option<Response>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut record = Vec::new();
    GzDecoder::new(BufReader::new(file)).take(MAX_RECORD).read_to_end(&mut record)?;
    Ok(parse(&record))
}

fn parse(record: &[u8]) -> Option<Response> {
    let (warc_head, block) = split_head(record)?;
    if !field(&warc_head, "warc-type")?.eq_ignore_ascii_case("response") {
        return None;
    }
    let length: usize = field(&warc_head, "content-length")?.parse().ok()?;
    let block = block.get(..length).unwrap_or(block);
    let url = field(&warc_head, "warc-target-uri")?;
    let url = url.trim_start_matches('<').trim_end_matches('>').to_owned();
    let (head, body) = split_head(block)?;
    let status = head.split_ascii_whitespace().nth(1)?.parse().ok()?;
    let chunked = field(&head, "transfer-encoding")
        .is_some_and(|encoding| encoding.eq_ignore_ascii_case("chunked"));
    let body = if chunked { unchunk(body) } else { None }.unwrap_or_else(|| body.to_vec());
    let value = |name| field(&head, name).map(str::to_owned);
    Some(Response {
        url,
        status,
        content_type: value("content-type"),
        content_encoding: value("content-encoding"),
        location: value("location"),
        body,
    })
}

/// Head (as Latin-1) and what follows the empty line.
fn split_head(bytes: &[u8]) -> Option<(String, &[u8])> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = bytes.get(..end)?.iter().map(|byte| char::from(*byte)).collect();
    Some((head, bytes.get(end + 4..)?))
}

fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut fields = head.split("\r\n").skip(1).filter_map(|line| line.split_once(':'));
    fields.find(|(known, _)| known.trim().eq_ignore_ascii_case(name)).map(|(_, v)| v.trim())
}

/// The body behind RFC 9112, 7.1 framing; none where it is not so framed after all.
fn unchunk(mut body: &[u8]) -> Option<Vec<u8>> {
    let mut whole = Vec::new();
    loop {
        let line_end = body.windows(2).position(|two| two == b"\r\n")?;
        let line = std::str::from_utf8(body.get(..line_end)?).ok()?;
        let size = usize::from_str_radix(line.split(';').next()?.trim(), 16).ok()?;
        body = body.get(line_end + 2..)?;
        if size == 0 {
            return Some(whole);
        }
        whole.extend_from_slice(body.get(..size)?);
        body = body.get(size + 2..)?;
    }
}
