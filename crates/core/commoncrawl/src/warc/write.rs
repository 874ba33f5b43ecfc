//! Writes WARC 1.1 archives with one gzip member per record.

mod blank;
mod facts;
mod fields;
mod http_head;
mod identity;

use std::{io::Write, net::IpAddr};

use libdeflater::{CompressionLvl, Compressor};

use self::fields::Fields;
pub use self::{
    blank::{anonymous_member, blank_member, resource_member},
    facts::{CrawlInfo, FetchFacts},
    fields::WriteError,
    http_head::{http_head, stored_head},
    identity::{record_id, sha256_digest},
};
use crate::date::format_seconds;

/// Revisit profile if the body is in an earlier record (WARC 1.1 6.7.2).
const IDENTICAL_CONTENT: &str = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";
/// Revisit profile for a response with status 304 (WARC 1.1 6.7.3).
const NOT_MODIFIED: &str = "http://netpreserve.org/warc/1.1/revisit/server-not-modified";
const HTTP_REQUEST: &str = "application/http; msgtype=request";
const HTTP_RESPONSE: &str = "application/http; msgtype=response";

/// Where a record's gzip member is in its archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Position {
    /// Offset in bytes.
    pub offset: u64,
    /// Length in bytes.
    pub length: u64,
}

/// A record that has been written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Where this record is in its archive.
    pub position: Position,
    /// `WARC-Record-ID` without angle brackets: `urn:uuid:...`.
    pub record_id: String,
    /// `WARC-Payload-Digest`: `sha256:` and 64 hexadecimal digits. For a revisit, this is the
    /// digest of the body that it refers to.
    pub payload_digest: String,
}

/// Content for the `warcinfo` record that starts an archive.
#[derive(Debug, Clone)]
pub struct ArchiveInfo<'a> {
    /// This archive's file name.
    pub file_name: &'a str,
    /// Time when this archive was started, in microseconds since 1970.
    pub date_micros: i64,
    /// Names and values in this block, such as `("software", "everytab-worker/0.1.0")`.
    pub fields: &'a [(&'a str, &'a str)],
}

/// Why a stored body is incomplete (`WARC-Truncated`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TruncatedBecause {
    /// The size limit was reached.
    Length,
    /// The time limit was reached.
    Time,
    /// The connection was lost.
    Disconnect,
}

impl TruncatedBecause {
    /// Returns the `WARC-Truncated` value.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Time => "time",
            Self::Disconnect => "disconnect",
        }
    }
}

/// An HTTP response with a decoded body.
#[derive(Debug, Clone)]
pub struct Response<'a> {
    /// Requested URL.
    pub target_uri: &'a str,
    /// Request time, in microseconds since 1970.
    pub date_micros: i64,
    /// The server's IP address.
    pub ip_address: Option<IpAddr>,
    /// The head, built by [`http_head`] or [`stored_head`].
    pub http_head: &'a [u8],
    /// The body without transfer and content codings.
    pub body: &'a [u8],
    /// Why this body is incomplete. `None` if it is complete.
    pub truncated: Option<TruncatedBecause>,
}

/// An HTTP response whose body is in an earlier record, which may be in another archive.
#[derive(Debug, Clone)]
pub struct Revisit<'a> {
    /// Requested URL.
    pub target_uri: &'a str,
    /// Request time, in microseconds since 1970.
    pub date_micros: i64,
    /// The server's IP address.
    pub ip_address: Option<IpAddr>,
    /// This response's head.
    pub http_head: &'a [u8],
    /// [`Written::payload_digest`] of the record with the body.
    pub payload_digest: &'a str,
    /// [`Written::record_id`] of the record with the body.
    pub refers_to_record_id: &'a str,
    /// URL of the record with the body.
    pub refers_to_target_uri: &'a str,
    /// Time of the record with the body, in microseconds since 1970.
    pub refers_to_date_micros: i64,
}

/// A resource without an HTTP response, such as a `data:` URL's content.
#[derive(Debug, Clone)]
pub struct Resource<'a> {
    /// This resource's URI.
    pub target_uri: &'a str,
    /// Time when this resource was stored, in microseconds since 1970.
    pub date_micros: i64,
    /// This resource's MIME type.
    pub content_type: &'a str,
    /// This resource's content.
    pub body: &'a [u8],
}

/// A crawl's response, in its stored form.
#[derive(Debug, Clone)]
pub enum KeptAnswer<'a> {
    /// A response with its body.
    Response(Response<'a>),
    /// A response whose body is already in an earlier record.
    Identical(Revisit<'a>),
    /// A response with status 304, whose body is in an earlier record.
    NotModified(Revisit<'a>),
}

/// A crawl's fetch.
#[derive(Debug, Clone)]
pub struct ArchivedFetch<'a> {
    /// The request head as sent, including the empty line at its end.
    pub request_head: &'a [u8],
    /// The response.
    pub answer: KeptAnswer<'a>,
    /// Other facts about this fetch.
    pub facts: FetchFacts<'a>,
}

type Unwritten<'a> = (Fields, Written, [&'a [u8]; 2]);

const NOWHERE: Position = Position { offset: 0, length: 0 };

/// Writes one archive to `output`.
pub struct ArchiveWriter<W> {
    output: W,
    offset: u64,
    warcinfo_id: String,
    compressor: Compressor,
    record: Vec<u8>,
    member: Vec<u8>,
}

impl<W: Write> ArchiveWriter<W> {
    /// Starts an archive with its `warcinfo` record.
    pub fn new(output: W, info: &ArchiveInfo<'_>) -> Result<Self, WriteError> {
        let mut block = Vec::new();
        for (name, value) in info.fields {
            block.extend_from_slice(Fields::line(name, value)?.as_bytes());
        }
        let digest = sha256_digest(&[&block]);
        let id = record_id("warcinfo", info.file_name, info.date_micros, &digest);
        let mut writer = Self {
            output,
            offset: 0,
            warcinfo_id: id.clone(),
            compressor: Compressor::new(CompressionLvl::default()),
            record: Vec::new(),
            member: Vec::new(),
        };
        let mut fields = Fields::new("warcinfo", &id, &format_seconds(info.date_micros))?;
        fields.add("WARC-Filename", info.file_name)?;
        fields.add("WARC-Block-Digest", &digest)?;
        fields.add("Content-Type", "application/warc-fields")?;
        writer.write(fields, &[&block])?;
        Ok(writer)
    }

    /// Writes one fetch as three linked records: `request`, then `response` or `revisit`, then
    /// `metadata`. Returns the second record.
    ///
    /// # Errors
    /// Returns an error before anything is written if a value is invalid, or if the output fails.
    pub fn exchange(&mut self, exchange: &ArchivedFetch<'_>) -> Result<Written, WriteError> {
        let (kind, uri, date, address, digest) = match &exchange.answer {
            KeptAnswer::Response(Response {
                target_uri, date_micros, ip_address, body, ..
            }) => ("response", *target_uri, *date_micros, *ip_address, sha256_digest(&[body])),
            KeptAnswer::Identical(revisit) | KeptAnswer::NotModified(revisit) => {
                let Revisit { target_uri, date_micros, ip_address, payload_digest, .. } = revisit;
                ("revisit", *target_uri, *date_micros, *ip_address, (*payload_digest).to_owned())
            }
        };
        let of_answer = format!("<{}>", record_id(kind, uri, date, &digest));
        http_head::check_request(exchange.request_head)?;
        let request = [exchange.request_head];
        let mut asked = self.associated("request", uri, date, &of_answer, &request)?;
        asked.add_address(address)?;
        asked.add("Content-Type", HTTP_REQUEST)?;
        let block = exchange.facts.block()?;
        let mut known = self.associated("metadata", uri, date, &of_answer, &[&block])?;
        known.add("Content-Type", "application/warc-fields")?;
        let (fields, written, answer) = match &exchange.answer {
            KeptAnswer::Response(response) => self.fields_of_response(response)?,
            KeptAnswer::Identical(revisit) => self.fields_of_revisit(revisit, IDENTICAL_CONTENT)?,
            KeptAnswer::NotModified(revisit) => self.fields_of_revisit(revisit, NOT_MODIFIED)?,
        };
        self.write(asked, &request)?;
        let position = self.write(fields, &answer)?;
        self.write(known, &[&block])?;
        Ok(Written { position, ..written })
    }

    /// Writes a `response` record.
    pub fn response(&mut self, response: &Response<'_>) -> Result<Written, WriteError> {
        let (fields, written, block) = self.fields_of_response(response)?;
        let position = self.write(fields, &block)?;
        Ok(Written { position, ..written })
    }

    /// Writes a `revisit` record with the profile for identical bodies.
    pub fn revisit(&mut self, revisit: &Revisit<'_>) -> Result<Written, WriteError> {
        let (fields, written, block) = self.fields_of_revisit(revisit, IDENTICAL_CONTENT)?;
        let position = self.write(fields, &block)?;
        Ok(Written { position, ..written })
    }

    /// Writes a `resource` record.
    pub fn resource(&mut self, resource: &Resource<'_>) -> Result<Written, WriteError> {
        let payload_digest = sha256_digest(&[resource.body]);
        let (mut fields, record_id) =
            self.start("resource", resource.target_uri, resource.date_micros, &payload_digest)?;
        fields.add("WARC-Block-Digest", &payload_digest)?;
        fields.add("Content-Type", resource.content_type)?;
        let position = self.write(fields, &[resource.body])?;
        Ok(Written { position, record_id, payload_digest })
    }

    /// Returns how many bytes have been written so far. This is the next record's offset.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Flushes and returns the output.
    ///
    /// # Errors
    /// Returns `Output` if flushing fails.
    pub fn finish(mut self) -> Result<W, WriteError> {
        self.output.flush()?;
        Ok(self.output)
    }

    fn fields_of_response<'a>(&self, response: &Response<'a>) -> Result<Unwritten<'a>, WriteError> {
        http_head::check(response.http_head)?;
        let payload_digest = sha256_digest(&[response.body]);
        let block = [response.http_head, response.body];
        let (mut fields, record_id) =
            self.start("response", response.target_uri, response.date_micros, &payload_digest)?;
        fields.add_address(response.ip_address)?;
        if let Some(reason) = response.truncated {
            fields.add("WARC-Truncated", reason.as_str())?;
        }
        fields.add("WARC-Block-Digest", &sha256_digest(&block))?;
        fields.add("Content-Type", HTTP_RESPONSE)?;
        Ok((fields, Written { position: NOWHERE, record_id, payload_digest }, block))
    }

    fn fields_of_revisit<'a>(
        &self,
        revisit: &Revisit<'a>,
        profile: &str,
    ) -> Result<Unwritten<'a>, WriteError> {
        http_head::check(revisit.http_head)?;
        let digest = revisit.payload_digest;
        let (mut fields, record_id) =
            self.start("revisit", revisit.target_uri, revisit.date_micros, digest)?;
        fields.add_address(revisit.ip_address)?;
        fields.add("WARC-Profile", profile)?;
        fields.add("WARC-Refers-To", &format!("<{}>", revisit.refers_to_record_id))?;
        fields.add("WARC-Refers-To-Target-URI", revisit.refers_to_target_uri)?;
        let date = format_seconds(revisit.refers_to_date_micros);
        fields.add("WARC-Refers-To-Date", &date)?;
        fields.add("WARC-Block-Digest", &sha256_digest(&[revisit.http_head]))?;
        fields.add("Content-Type", HTTP_RESPONSE)?;
        let written = Written { position: NOWHERE, record_id, payload_digest: digest.to_owned() };
        Ok((fields, written, [revisit.http_head, &[]]))
    }

    fn associated(
        &self,
        kind: &str,
        target_uri: &str,
        date_micros: i64,
        of_answer: &str,
        block: &[&[u8]],
    ) -> Result<Fields, WriteError> {
        // The id includes the response's id so that the records of different responses get
        // different ids.
        let id = record_id(kind, target_uri, date_micros, of_answer);
        let mut fields = Fields::new(kind, &id, &format_seconds(date_micros))?;
        fields.add("WARC-Target-URI", target_uri)?;
        fields.add("WARC-Warcinfo-ID", &format!("<{}>", self.warcinfo_id))?;
        fields.add("WARC-Concurrent-To", of_answer)?;
        fields.add("WARC-Block-Digest", &sha256_digest(block))?;
        Ok(fields)
    }

    fn start(
        &self,
        kind: &str,
        target_uri: &str,
        date_micros: i64,
        payload_digest: &str,
    ) -> Result<(Fields, String), WriteError> {
        let id = record_id(kind, target_uri, date_micros, payload_digest);
        let mut fields = Fields::new(kind, &id, &format_seconds(date_micros))?;
        fields.add("WARC-Target-URI", target_uri)?;
        fields.add("WARC-Warcinfo-ID", &format!("<{}>", self.warcinfo_id))?;
        fields.add("WARC-Payload-Digest", payload_digest)?;
        Ok((fields, id))
    }

    fn write(&mut self, fields: Fields, block: &[&[u8]]) -> Result<Position, WriteError> {
        self.record.clear();
        self.record.extend_from_slice(&fields.finish(block.iter().map(|part| part.len()).sum()));
        block.iter().for_each(|part| self.record.extend_from_slice(part));
        self.record.extend_from_slice(b"\r\n\r\n");
        self.member.resize(self.compressor.gzip_compress_bound(self.record.len()), 0);
        let length = self
            .compressor
            .gzip_compress(&self.record, &mut self.member)
            .map_err(|_| WriteError::Compress)?;
        self.output.write_all(self.member.get(..length).ok_or(WriteError::Compress)?)?;
        let position = Position { offset: self.offset, length: length as u64 };
        self.offset = self.offset.saturating_add(position.length);
        Ok(position)
    }
}
