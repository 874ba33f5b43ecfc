//! An index row, and the values derived from its URL.

use std::net::Ipv4Addr;

use super::{columns::Value, schema::COLUMN_COUNT};
use crate::{
    date::format_digits,
    http_url::{CaptureUrlError, HttpUrl},
    index::is_relative_path,
    surt::surt,
    warc::write::Position,
};

/// Maximum size in bytes for a row's strings. Common Crawl's rows have about 700.
pub const MAX_ROW_BYTES: usize = 256 << 10;
/// Maximum characters of a URL in an error message.
const MESSAGE_CHARACTERS: usize = 200;

/// A hostname's suffixes and domains in the Public Suffix List. A field is `None` for an address,
/// or if the list has no match.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HostDomains<'a> {
    /// Public suffix in the list's section for registries, such as `com`.
    pub registry_suffix: Option<&'a str>,
    /// Registry suffix and the label before it, such as `googleapis.com`.
    pub registered_domain: Option<&'a str>,
    /// Public suffix according to both sections of the list, such as `googleapis.com`.
    pub private_suffix: Option<&'a str>,
    /// Private suffix and the label before it, such as `storage.googleapis.com`.
    pub private_domain: Option<&'a str>,
}

/// A capture with its data for the index.
#[derive(Debug, Clone, Copy)]
pub struct CaptureRow<'a> {
    /// Requested URL, serialized by the URL Standard.
    pub url: &'a str,
    /// Suffixes and domains for this URL's host.
    pub domains: HostDomains<'a>,
    /// Request time, in microseconds since 1970 UTC.
    pub fetch_time_micros: i64,
    /// Response status, up to 999.
    pub status: u16,
    /// Redirect target, as an absolute URL.
    pub redirect: Option<&'a str>,
    /// Content digest: `sha256:` and 64 hexadecimal digits.
    pub digest: Option<&'a str>,
    /// Media type sent by the server, without parameters.
    pub mime_type: Option<&'a str>,
    /// Media type detected from the content.
    pub mime_detected: Option<&'a str>,
    /// Character encoding, with its name in the Encoding Standard.
    pub charset: Option<&'a str>,
    /// Content languages as ISO 639-3 codes, joined by commas.
    pub languages: Option<&'a str>,
    /// Why the content is incomplete, as in `WARC-Truncated`.
    pub truncated: Option<&'a str>,
    /// Record id: `urn:uuid:` and a UUID.
    pub record_id: &'a str,
    /// Archive path below the bucket.
    pub warc_filename: &'a str,
    /// Where this record is in the archive. Its offset, length and end must fit an `i32`, like the
    /// columns.
    pub position: Position,
    /// The archive's segment, such as `4`.
    pub segment: &'a str,
}

/// A capture that cannot be in an index.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the capture of {url:?} cannot be in an index: {reason}")]
pub struct CaptureRowError {
    /// First 200 characters of this capture's URL.
    pub url: String,
    /// The reason.
    pub reason: RowRefusal,
}

/// Why this capture cannot be in an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RowRefusal {
    /// The URL is not an `http` or `https` URL, or is too long.
    #[error(transparent)]
    Url(#[from] CaptureUrlError),
    /// The year of the request time does not have four digits.
    #[error("the year of its fetch does not have four digits")]
    Time,
    /// The status is greater than 999.
    #[error("its status is greater than 999")]
    Status,
    /// The record id is not a UUID.
    #[error("the id of its record is not a urn:uuid:")]
    RecordId,
    /// This archive path could lead out of the bucket.
    #[error("the path of its archive is not relative")]
    WarcFilename,
    /// The record is empty, or does not end within the archive's first 2 GiB.
    #[error("its record does not end within the first 2 GiB of the archive, or is empty")]
    Position,
    /// The row's strings are too large.
    #[error("its strings have more than {MAX_ROW_BYTES} bytes")]
    TooLarge,
}

/// A capture's sort key in an index: URL key, then time, archive and offset.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CaptureOrder {
    key: String,
    fetch_time_micros: i64,
    warc_filename: String,
    offset: u64,
}

impl CaptureOrder {
    /// Returns the URL's key (see [`crate::surt`]).
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }
}

pub(crate) fn shortened(url: &str) -> String {
    url.chars().take(MESSAGE_CHARACTERS).collect()
}

impl<'a> CaptureRow<'a> {
    /// Returns this capture's sort key.
    ///
    /// # Errors
    /// Returns an error if the capture cannot be in an index.
    pub fn order(&self) -> Result<CaptureOrder, CaptureRowError> {
        self.checked().map(|checked| checked.order())
    }

    pub(crate) fn checked(&self) -> Result<CheckedRow<'a>, CaptureRowError> {
        CheckedRow::new(*self)
            .map_err(|reason| CaptureRowError { url: shortened(self.url), reason })
    }

    fn text_bytes(&self) -> usize {
        let domains = &self.domains;
        let optional = [
            domains.registry_suffix,
            domains.registered_domain,
            domains.private_suffix,
            domains.private_domain,
            self.redirect,
            self.digest,
            self.mime_type,
            self.mime_detected,
            self.charset,
            self.languages,
            self.truncated,
        ];
        // Four times the URL's length covers the URL, its parts, and its host as labels and
        // reversed.
        let of_url = self.url.len().saturating_mul(4);
        let others = [self.warc_filename.len(), self.segment.len()];
        let texts = optional.into_iter().flatten().map(str::len).chain(others);
        texts.fold(of_url, usize::saturating_add)
    }
}

#[derive(Debug)]
pub(crate) struct CheckedRow<'a> {
    pub(crate) row: CaptureRow<'a>,
    pub(crate) key: String,
    pub(crate) timestamp: String,
    url: HttpUrl<'a>,
    hostname: String,
    reversed: Option<String>,
    record_id: [u8; 16],
    offset: i32,
    length: i32,
}

impl<'a> CheckedRow<'a> {
    fn new(row: CaptureRow<'a>) -> Result<Self, RowRefusal> {
        let url = HttpUrl::parse(row.url)?;
        let key = surt(row.url)?;
        if row.text_bytes().saturating_add(key.len()) > MAX_ROW_BYTES {
            return Err(RowRefusal::TooLarge);
        }
        let timestamp = format_digits(row.fetch_time_micros).ok_or(RowRefusal::Time)?;
        if row.status > 999 {
            return Err(RowRefusal::Status);
        }
        if !is_relative_path(row.warc_filename) {
            return Err(RowRefusal::WarcFilename);
        }
        let offset = i32::try_from(row.position.offset).ok();
        let length = i32::try_from(row.position.length).ok().filter(|length| *length > 0);
        let is_inside = |(offset, length): &(i32, i32)| offset.checked_add(*length).is_some();
        let position = offset.zip(length).filter(is_inside);
        let (offset, length) = position.ok_or(RowRefusal::Position)?;
        let record_id = uuid_bytes(row.record_id).ok_or(RowRefusal::RecordId)?;
        let hostname = url.host.to_ascii_lowercase();
        let is_address = hostname.starts_with('[') || hostname.parse::<Ipv4Addr>().is_ok();
        let reversed = (!is_address).then(|| {
            let labels: Vec<&str> = labels_from_last(&hostname).collect();
            labels.join(".")
        });
        Ok(Self { row, key, timestamp, url, hostname, reversed, record_id, offset, length })
    }

    pub(crate) fn order(&self) -> CaptureOrder {
        CaptureOrder {
            key: self.key.clone(),
            fetch_time_micros: self.row.fetch_time_micros,
            warc_filename: self.row.warc_filename.to_owned(),
            offset: self.row.position.offset,
        }
    }

    pub(super) fn values(&self) -> [Value<'_>; COLUMN_COUNT] {
        let row = &self.row;
        let url = &self.url;
        let domains = &self.row.domains;
        let label = |nth: usize| {
            let of_name = self.reversed.is_some();
            let label = labels_from_last(&self.hostname).nth(nth);
            text(label.filter(|_| of_name))
        };
        [
            own(&self.key),
            own(row.url),
            own(&self.hostname),
            label(0),
            label(1),
            label(2),
            label(3),
            label(4),
            text(domains.registry_suffix),
            text(domains.registered_domain),
            text(domains.private_suffix),
            text(domains.private_domain),
            text(self.reversed.as_deref()),
            own(url.scheme()),
            Value::Int(url.port.map(i32::from)),
            own(url.path),
            text(url.query),
            Value::Long(Some(row.fetch_time_micros)),
            Value::Int(Some(i32::from(row.status))),
            text(row.redirect),
            text(row.digest),
            text(row.mime_type),
            text(row.mime_detected),
            text(row.charset),
            text(row.languages),
            text(row.truncated),
            Value::Bytes(Some(&self.record_id)),
            own(row.warc_filename),
            Value::Int(Some(self.offset)),
            Value::Int(Some(self.length)),
            own(row.segment),
        ]
    }
}

fn text(text: Option<&str>) -> Value<'_> {
    Value::Bytes(text.map(str::as_bytes))
}

fn own(value: &str) -> Value<'_> {
    text(Some(value))
}

fn labels_from_last(hostname: &str) -> impl Iterator<Item = &str> {
    hostname.rsplit('.').filter(|label| !label.is_empty())
}

fn uuid_bytes(record_id: &str) -> Option<[u8; 16]> {
    let inner = record_id.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
    let uuid = inner.unwrap_or(record_id).strip_prefix("urn:uuid:")?;
    let groups: Vec<&str> = uuid.split('-').collect();
    if groups.iter().map(|group| group.len()).ne([8, 4, 4, 4, 12]) {
        return None;
    }
    hex::decode(groups.concat()).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests;
