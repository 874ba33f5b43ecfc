//! WARC files in Common Crawl's format: WARC/1.0, one gzip member per record, SHA-1 digests.

use std::{
    borrow::Cow,
    fmt::Write as _,
    fs::File,
    io::{BufWriter, Write},
    path::PathBuf,
};

use data_encoding::BASE32_NOPAD;
use flate2::{Compression, write::GzEncoder};
use sha1::Sha1;
use sha2::{Digest, Sha256};
use uuid::Builder;

use super::site::GeneratedCapture;
use crate::error::TestbedError;

pub(super) struct WarcFile {
    path: PathBuf,
    pub(super) name: String,
    file: BufWriter<File>,
    offset: u64,
}

#[derive(Clone, Debug)]
pub(super) struct WrittenRecord {
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) digest: String,
    pub(super) record_id: String,
}

impl WarcFile {
    pub(super) fn create(path: PathBuf, name: String) -> Result<Self, TestbedError> {
        let file = File::create(&path).map_err(TestbedError::file(&path))?;
        let mut warc = Self { path, name, file: BufWriter::new(file), offset: 0 };
        let block = "software: everytab-testbed\r\nformat: WARC File Format 1.0\r\n\
                     description: Generated pages of hosts that do not exist\r\n";
        let file_name = warc.name.rsplit('/').next().unwrap_or_default();
        let head = format!(
            "WARC/1.0\r\nWARC-Type: warcinfo\r\nWARC-Date: 2026-01-12T00:00:00Z\r\n\
             WARC-Record-ID: <{}>\r\nWARC-Filename: {file_name}\r\n\
             Content-Type: application/warc-fields\r\nContent-Length: {}\r\n\r\n",
            record_id(&["warcinfo", &warc.name]),
            block.len()
        );
        warc.member(&[head.as_bytes(), block.as_bytes(), b"\r\n\r\n"])?;
        Ok(warc)
    }

    pub(super) fn response(
        &mut self,
        capture: &GeneratedCapture,
    ) -> Result<WrittenRecord, TestbedError> {
        let body = stored_body(capture).map_err(TestbedError::file(&self.path))?;
        let http = http_head(capture, body.len());
        let record_id = record_id(&[&capture.url(), &capture.date()]);
        let digest = BASE32_NOPAD.encode(&Sha1::digest(&body));
        let block = Sha1::new().chain_update(&http).chain_update(&body).finalize();
        let length = http.len() + body.len();
        let head = format!(
            "WARC/1.0\r\nWARC-Type: response\r\nWARC-Date: {}\r\n\
             WARC-Record-ID: <{record_id}>\r\nContent-Length: {length}\r\n\
             Content-Type: application/http; msgtype=response\r\nWARC-Target-URI: {}\r\n\
             WARC-Payload-Digest: sha1:{digest}\r\nWARC-Block-Digest: sha1:{}\r\n\
             WARC-Identified-Payload-Type: {}\r\n\r\n",
            capture.date(),
            capture.url(),
            BASE32_NOPAD.encode(&block),
            capture.mime,
        );
        let offset = self.offset;
        let parts = [head.as_bytes(), http.as_bytes(), &body, b"\r\n\r\n"];
        let length = self.member(&parts)?;
        Ok(WrittenRecord { offset, length, digest, record_id })
    }

    pub(super) fn finish(mut self) -> Result<(), TestbedError> {
        self.file.flush().map_err(TestbedError::file(&self.path))
    }

    fn member(&mut self, parts: &[&[u8]]) -> Result<u64, TestbedError> {
        let member = gzip(parts).map_err(TestbedError::file(&self.path))?;
        self.file.write_all(&member).map_err(TestbedError::file(&self.path))?;
        self.offset += member.len() as u64;
        Ok(member.len() as u64)
    }
}

fn gzip(parts: &[&[u8]]) -> std::io::Result<Vec<u8>> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::new(1));
    for part in parts {
        gzip.write_all(part)?;
    }
    gzip.finish()
}

/// Returns the body as the crawler stored it: decoded, except a few that it could not decode.
fn stored_body(capture: &GeneratedCapture) -> std::io::Result<Cow<'_, [u8]>> {
    const CODED_EVERY: u8 = 32;
    let is_coded = Sha256::digest(capture.url())[0].is_multiple_of(CODED_EVERY);
    let body = capture.body.as_slice();
    Ok(if is_coded { Cow::Owned(gzip(&[body])?) } else { Cow::Borrowed(body) })
}

fn http_head(capture: &GeneratedCapture, body_bytes: usize) -> String {
    let status = capture.status;
    let reason = http::StatusCode::from_u16(status).ok().and_then(|s| s.canonical_reason());
    let mut head = format!("HTTP/1.1 {status} {}\r\n", reason.unwrap_or_default());
    let _ = write!(head, "Content-Type: {}\r\n", capture.content_type);
    if let Some(target) = &capture.redirect {
        let _ = write!(head, "Location: {target}\r\n");
    }
    for (name, value) in &capture.headers {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    // The crawler stores the server's Content-Encoding under this name.
    head.push_str("X-Crawler-Content-Encoding: gzip\r\n");
    let _ = write!(head, "Content-Length: {body_bytes}\r\n\r\n");
    head
}

/// Returns `urn:uuid:` and a UUID with version 8 (custom, RFC 9562), which is a hash of the labels.
fn record_id(labels: &[&str]) -> String {
    let mut hash = Sha256::new();
    for label in labels {
        hash.update(label.as_bytes());
        hash.update([0]);
    }
    let mut id = [0; 16];
    id.copy_from_slice(&hash.finalize()[..16]);
    Builder::from_custom_bytes(id).into_uuid().urn().to_string()
}
