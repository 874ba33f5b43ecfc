//! The requests of a shard as the archive keeps them: a table of one line a request.
//!
//! The table is the second record of the shard's archive, a `resource` of the URN [`TABLE`]; a
//! reader needs no more of the object than its first bytes. Lines are sorted by host and time.
//! Must not know: who asks for it.

use std::fmt::Write as _;

use everytab_bundler::request_files::RequestLine;
use everytab_commoncrawl::warc::{Limits, Records};
use everytab_fetcher::{LoggedRequest, LoggedRequests};
use everytab_storage::{StorageError, Store};

/// The target of the record.
pub const TABLE: &str = "urn:everytab:requests";
/// The media type of the record.
pub(crate) const TABLE_TYPE: &str = "text/tab-separated-values";
/// What the first line begins with; the number of requests for which there was no room follows.
const HEADER: &str = "asked_at\tmethod\toutcome\tstatus\tbytes\turl\tleft out: ";
/// Bytes of the archive that are read first; the table of a usual shard takes about 60 KB.
const FIRST_READ: u64 = 128 * 1024;
/// How much more is read where that was too little.
const READ_GROWTH: u64 = 4;

/// The requests of a table; a line that is none is passed over.
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

/// The number of requests for which a table had no room.
pub fn left_out(table: &str) -> u64 {
    let header = table.lines().next().and_then(|line| line.strip_prefix(HEADER));
    header.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// The table of the requests of a shard.
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
        let (outcome, status) = (end.as_str(), status.map(|status| status.to_string()));
        let status = status.unwrap_or_default();
        // A URL of the fetcher is serialised, so it holds neither tabs nor line ends. A string
        // takes every line.
        let _ = writeln!(table, "{at}\t{method}\t{outcome}\t{status}\t{bytes}\t{url}");
    }
    table.into_bytes()
}

/// What an archive says of the requests of its shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoundTable {
    /// The table.
    Table(String),
    /// The archive was written by a version that kept no table.
    NotKept,
    /// The archive is not there any more.
    NoArchive,
}

/// The table in a shard's archive.
///
/// # Errors
/// When the store cannot be read.
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

/// What the second record is, if it is whole.
fn second_record(bytes: &[u8]) -> Option<FoundTable> {
    let (_, record) = Records::new(bytes, Limits::default()).nth(1)?;
    let record = record.ok().filter(|record| record.truncation.is_none())?;
    Some(match record.target_uri().as_deref() {
        Some(TABLE) => FoundTable::Table(String::from_utf8_lossy(&record.block).into_owned()),
        _ => FoundTable::NotKept,
    })
}

/// The host of a URL as the fetcher writes it, without a port and without a dot at its end. An IPv6
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
