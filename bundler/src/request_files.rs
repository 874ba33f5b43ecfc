//! The public request files: a scan's requests to each host.
//!
//! A file contains the hosts whose SHA-256 starts with certain hexadecimal digits. It consists of
//! gzipped lines, sorted by host and time:
//!
//! ```text
//! host <TAB> time <TAB> method <TAB> status <TAB> outcome <TAB> bytes <TAB> URL
//! ```
//!
//! Removing a host gives the same bytes as writing the file without this host.

use std::io::{self, Read as _, Write as _};

use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use serde::{Deserialize, Serialize};

use crate::removed_hosts::RemovedHosts;

/// A file lists at most this many requests per host, because a content delivery network's hosts get
/// requests for many sites' icons.
pub const MAX_LINES_OF_HOST: usize = 200;
/// Maximum total size in bytes. If a scan's files exceed this limit, they are not published.
pub const MAX_BYTES: u64 = 2_000_000_000;
/// Maximum URL length in bytes. Longer URLs are truncated to this length.
const MAX_URL_BYTES: usize = 300;
/// Maximum average number of lines per file, unless the file count is already at its maximum. At 10
/// compressed bytes per line, such a file is fetched quickly.
const LINES_OF_FILE: u64 = 3_000;
const DIGITS: [usize; 3] = [2, 3, 4];
/// Maximum bytes to unpack from a file. A typical file has 300 KB.
const MAX_UNPACKED_BYTES: u64 = 256 * 1024 * 1024;

/// `requests/index.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestIndex {
    /// A hostname's file is named after this many leading hexadecimal digits of its SHA-256.
    pub digits: usize,
}

impl RequestIndex {
    /// Returns the index with enough files for this many lines.
    #[must_use]
    pub fn for_lines(lines: u64) -> Self {
        let fits = |digits: &usize| lines >> (4 * digits) <= LINES_OF_FILE;
        Self { digits: DIGITS.into_iter().find(fits).unwrap_or(DIGITS[2]) }
    }

    /// Parses the index. `None` if it is malformed.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let index: Self = serde_json::from_slice(bytes).ok()?;
        DIGITS.contains(&index.digits).then_some(index)
    }

    /// Returns the number of files.
    #[must_use]
    pub fn files(self) -> u64 {
        1 << (4 * self.digits)
    }

    /// Returns a host's file number, given the first eight bytes of its name's SHA-256.
    #[must_use]
    pub fn bucket(self, hash: u64) -> u64 {
        hash >> (64 - 4 * self.digits)
    }
}

/// A line's fields, which describe one request.
#[derive(Clone, Copy, Debug)]
pub struct RequestLine<'a> {
    /// The host that received the request.
    pub host: &'a str,
    /// When the request was sent or the connection failed, in UTC.
    pub asked_at: &'a str,
    /// `GET`, or `-` if no connection was made.
    pub method: &'a str,
    /// The response's status. Empty if there was no response.
    pub status: &'a str,
    /// The fetch outcome.
    pub outcome: &'a str,
    /// The decoded body's length in bytes.
    pub bytes: &'a str,
    /// The requested URL.
    pub url: &'a str,
}

impl RequestLine<'_> {
    /// Formats the line. Omits the query, because it may contain a token.
    #[must_use]
    pub fn text(&self) -> String {
        let Self { host, asked_at, method, status, outcome, bytes, url } = self;
        let url = match url.split_once('?') {
            Some((path, _)) => format!("{path}?"),
            None => (*url).to_owned(),
        };
        let url = &url[..url.floor_char_boundary(MAX_URL_BYTES)];
        format!("{host}\t{asked_at}\t{method}\t{status}\t{outcome}\t{bytes}\t{url}\n")
    }
}

/// Returns a line's host.
#[must_use]
pub fn host_of(line: &str) -> &str {
    line.split('\t').next().unwrap_or_default()
}

/// One host's lines: the first [`MAX_LINES_OF_HOST`] by time, and the total number.
#[derive(Clone, Debug, Default)]
pub struct LinesOfHost {
    lines: Vec<String>,
    count: usize,
}

impl LinesOfHost {
    /// Adds a line. Lines may be added in any order.
    pub fn add(&mut self, line: String) {
        self.count += 1;
        self.lines.push(line);
        if self.lines.len() > 2 * MAX_LINES_OF_HOST {
            self.keep_first();
        }
    }

    fn keep_first(&mut self) {
        self.lines.sort_unstable();
        self.lines.truncate(MAX_LINES_OF_HOST);
    }

    fn write(mut self, host: &str, text: &mut String) {
        self.keep_first();
        text.extend(self.lines);
        if let Some(more) = self.count.checked_sub(MAX_LINES_OF_HOST).filter(|more| *more > 0) {
            text.push_str(&format!("{host}\tand {more} more\n"));
        }
    }
}

/// Writes a file from hosts, which must be ordered by name.
#[must_use]
pub fn write_file(hosts: impl IntoIterator<Item = (String, LinesOfHost)>) -> Vec<u8> {
    let mut text = String::new();
    for (host, lines) in hosts {
        lines.write(&host, &mut text);
    }
    pack(&text)
}

/// Removes these hosts' lines from a file. `None` if there are no such lines.
///
/// # Errors
/// Returns an error if the bytes are not a request file.
pub fn without_hosts(file: &[u8], hosts: &RemovedHosts) -> io::Result<Option<Vec<u8>>> {
    let before = read_file(file)?;
    let kept: String =
        before.split_inclusive('\n').filter(|line| !hosts.contain(host_of(line))).collect();
    Ok((kept.len() < before.len()).then(|| pack(&kept)))
}

/// Reads a file's lines.
///
/// # Errors
/// Returns an error if the bytes are not a request file, or if they unpack to too many bytes.
pub fn read_file(file: &[u8]) -> io::Result<String> {
    unpack(file, MAX_UNPACKED_BYTES)
}

/// A cut file would lose lines when it is written again, so more bytes than `limit` are an error.
fn unpack(file: &[u8], limit: u64) -> io::Result<String> {
    let mut text = String::new();
    let mut unpacked = GzDecoder::new(file).take(limit + 1);
    unpacked.read_to_string(&mut text)?;
    match unpacked.limit() {
        0 => Err(io::Error::other(format!("it unpacks to more than {limit} bytes"))),
        _ => Ok(text),
    }
}

fn pack(text: &str) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::new(6));
    let _ = packer.write_all(text.as_bytes());
    packer.finish().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(host: &str, path: &str) -> String {
        let url = format!("https://{host}{path}");
        let asked_at = "2026-05-03T12:00:01Z";
        let (method, status, outcome, bytes) = ("GET", "200", "ok", "7");
        RequestLine { host, asked_at, method, status, outcome, bytes, url: &url }.text()
    }

    fn lines(host: &str, paths: impl IntoIterator<Item = String>) -> (String, LinesOfHost) {
        let mut lines = LinesOfHost::default();
        paths.into_iter().for_each(|path| lines.add(line(host, &path)));
        (host.to_owned(), lines)
    }

    #[test]
    fn a_removed_host_leaves_the_bytes_of_a_file_without_it() {
        let first = lines("a.example", ["/x.png?token=1".to_owned()]);
        let many = lines("b.example", (0..1_000).rev().map(|number| format!("/{number:04}")));
        let last = lines("c.example", ["/".to_owned()]);
        let file = write_file([first.clone(), many, last.clone()]);
        let text = read_file(&file).unwrap();
        assert!(text.contains("\thttps://a.example/x.png?\n"), "the query stays out");
        assert!(text.contains("/0199\nb.example\tand 800 more\nc.example\t"), "{text}");
        assert_eq!(text.lines().count(), MAX_LINES_OF_HOST + 3);
        let gone = without_hosts(&file, &RemovedHosts::from_iter(["b.example"])).unwrap();
        assert_eq!(gone, Some(write_file([first, last])));
        assert_eq!(without_hosts(&file, &RemovedHosts::from_iter(["example"])).unwrap(), None);
        assert!(without_hosts(b"{}", &RemovedHosts::default()).is_err());
        let none = RemovedHosts::from_iter(["a.example", "b.example", "c.example"]);
        assert_eq!(without_hosts(&file, &none).unwrap(), Some(write_file([])));
    }

    #[test]
    fn a_file_that_unpacks_to_too_many_bytes_is_not_cut() {
        let file = write_file([lines("a.example", ["/x.png".to_owned()])]);
        let text = read_file(&file).unwrap();
        assert_eq!(unpack(&file, text.len() as u64).unwrap(), text);
        let error = unpack(&file, text.len() as u64 - 1).unwrap_err();
        assert!(error.to_string().contains("unpacks to more than"), "{error}");
    }

    #[test]
    fn files_are_as_many_as_lines_need_and_never_more_than_65_536() {
        for (lines, files) in
            [(0, 256), (700_000, 256), (2_000_000, 4_096), (200_000_000, 65_536), (1 << 40, 65_536)]
        {
            assert_eq!(RequestIndex::for_lines(lines).files(), files, "{lines}");
        }
        let index = RequestIndex { digits: 3 };
        assert_eq!(index.bucket(0xabcd_ef01_2345_6789), 0xabc);
        assert_eq!(RequestIndex::read(&serde_json::to_vec(&index).unwrap()), Some(index));
        assert_eq!(RequestIndex::read(br#"{"digits":60}"#), None);
    }
}
