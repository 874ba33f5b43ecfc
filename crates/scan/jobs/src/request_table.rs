//! A shard's request table, with one line per request. It is the second record in the shard's
//! archive, a `resource` with the URN [`TABLE`], so that a reader only needs the object's first
//! bytes.

use std::fmt::Write as _;

use everytab_bundler::request_files::RequestLine;
use everytab_commoncrawl::warc::{Limits, Records};
use everytab_fetcher::{LoggedRequest, LoggedRequests};
use everytab_storage::{StorageError, Store};

/// The record's target URI.
pub const TABLE: &str = "urn:everytab:requests";
pub(crate) const TABLE_TYPE: &str = "text/tab-separated-values";
/// Start of the first line, which ends with the number of requests that did not fit into the table.
const HEADER: &str = "asked_at\tmethod\toutcome\tstatus\tbytes\turl\tleft out: ";
/// Number of bytes to read first. A typical shard's table takes about 60 KB.
const FIRST_READ: u64 = 128 * 1024;
const READ_GROWTH: u64 = 4;

/// Parses a request table. Skips malformed lines.
pub fn requests(table: &str) -> impl Iterator<Item = RequestLine<'_>> {
    table.lines().skip(1).filter_map(request)
}

fn request(line: &str) -> Option<RequestLine<'_>> {
    let mut fields = line.splitn(6, '\t');
    let mut next = || fields.next();
    let (asked_at, method, outcome) = (next()?, next()?, next()?);
    let (status, bytes, url) = (next()?, next()?, next()?);
    Some(RequestLine { host: host_of(url)?, asked_at, method, status, outcome, bytes, url })
}

/// Returns the number of requests that did not fit into the table.
pub fn left_out(table: &str) -> u64 {
    let header = table.lines().next().and_then(|line| line.strip_prefix(HEADER));
    header.and_then(|number| number.parse().ok()).unwrap_or(0)
}

pub(crate) fn table(logged: &LoggedRequests) -> Vec<u8> {
    let mut requests: Vec<(&str, &LoggedRequest)> =
        logged.requests.iter().map(|one| (host_of(&one.url).unwrap_or_default(), one)).collect();
    requests.sort_by(|(a_host, a), (b_host, b)| {
        (a_host, a.asked_at, &a.url).cmp(&(b_host, b.asked_at, &b.url))
    });
    let mut table = format!("{HEADER}{}\n", logged.left_out);
    for (_, LoggedRequest { url, asked_at, was_sent, end, status, bytes }) in requests {
        let at = asked_at.format("%Y-%m-%dT%H:%M:%SZ");
        let method = if *was_sent { "GET" } else { "-" };
        let outcome = end.as_str();
        let status = status.map(|status| status.to_string());
        let status = status.unwrap_or_default();
        let _ = writeln!(table, "{at}\t{method}\t{outcome}\t{status}\t{bytes}\t{url}");
    }
    table.into_bytes()
}

/// The result of looking for the request table in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoundTable {
    /// The archive's table.
    Table(String),
    /// The archive was written by a version without request tables.
    NotKept,
    /// The archive has been removed.
    NoArchive,
}

/// Reads the request table in a shard's archive.
///
/// # Errors
/// Returns an error if the store cannot be read.
pub async fn read_table(store: &dyn Store, key: &str) -> Result<FoundTable, StorageError> {
    let Some(info) = store.head(key).await? else { return Ok(FoundTable::NoArchive) };
    let mut wanted = FIRST_READ;
    loop {
        let length = wanted.min(info.size);
        let bytes = store.get_range(key, 0..length).await?;
        match second_record(&bytes) {
            Some(found) => return Ok(found),
            None if length == info.size => return Ok(FoundTable::NotKept),
            None => wanted = wanted.saturating_mul(READ_GROWTH),
        }
    }
}

fn second_record(bytes: &[u8]) -> Option<FoundTable> {
    let (_, record) = Records::new(bytes, Limits::default()).nth(1)?;
    let record = record.ok().filter(|record| record.truncation.is_none())?;
    Some(match record.target_uri().as_deref() {
        Some(TABLE) => FoundTable::Table(String::from_utf8_lossy(&record.block).into_owned()),
        _ => FoundTable::NotKept,
    })
}

/// Returns the host in a URL that the fetcher serialized, without port and trailing dot. An IPv6
/// address keeps its brackets.
pub fn host_of(url: &str) -> Option<&str> {
    let authority = url.split_once("://")?.1.split(['/', '?', '#']).next()?;
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    };
    Some(host.trim_end_matches('.')).filter(|host| !host.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_a_url_has_no_port_and_no_last_dot() {
        for (url, host) in [
            ("https://a.example/x:1/y", Some("a.example")),
            ("http://a.example:8443/", Some("a.example")),
            ("http://a.example./", Some("a.example")),
            ("http://192.0.2.1:81/", Some("192.0.2.1")),
            ("http://[2001:db8::1]/", Some("[2001:db8::1]")),
            ("http://[2001:db8::1]:8080/", Some("[2001:db8::1]")),
            ("urn:everytab:requests", None),
            ("http:///", None),
        ] {
            assert_eq!(host_of(url), host, "{url}");
        }
    }
}
