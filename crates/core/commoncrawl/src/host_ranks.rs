//! Reads the host ranks that Common Crawl publishes with its web graphs.
//!
//! A ranks file has tab-separated fields, sorted by harmonic centrality: `#harmonicc_pos
//! #harmonicc_val #pr_pos #pr_val #host_rev`. A host's labels are in reverse order
//! (`com.google.maps`), without a leading `www`.

use std::io::{BufRead, BufReader, ErrorKind};

use flate2::bufread::MultiGzDecoder;

use crate::MAX_HOSTNAME_BYTES;

/// Prefix for all web graphs in the bucket.
pub const GRAPHS: &str = "projects/hyperlinkgraph/";
/// Common Crawl's web graph list on its index server, newest first.
pub const GRAPH_LIST: &str = "graphinfo.json";
/// Maximum line length in bytes. This leaves room for a hostname with 253 bytes and four numbers.
const MAX_LINE_BYTES: usize = 1_024;

/// Why bytes are not host ranks or a web graph list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostRanksError {
    /// The bytes are not gzip, or are corrupt.
    #[error("invalid gzip file: {0}")]
    Gzip(String),
    /// The first line does not name the fields.
    #[error("the first line does not name #harmonicc_pos and #host_rev: {0:?}")]
    NoHeader(String),
    /// A line is too long or has no host.
    #[error("line {line} is too long, or has no position and no host: {text:?}")]
    BadLine {
        /// Line number, starting at 1.
        line: usize,
        /// First 80 characters of this line.
        text: String,
    },
    /// No line follows the first one.
    #[error("the file contains no hosts")]
    Empty,
    /// The web graph list is malformed.
    #[error("the list of web graphs is malformed: {0}")]
    Graphs(String),
}

/// Returns up to `most` hosts, best first, from the first bytes of the file. An invalid hostname
/// becomes an empty string, so that the others keep their rank.
///
/// # Errors
/// Returns an error if these bytes do not start such a file, or contain no host.
pub fn read_host_ranks(gzip: &[u8], most: usize) -> Result<Vec<String>, HostRanksError> {
    let mut lines = BufReader::new(MultiGzDecoder::new(gzip));
    let header = read_line(&mut lines, 1)?.unwrap_or_default();
    let column = |name: &str| header.split('\t').position(|field| field == name);
    let (Some(_), Some(host)) = (column("#harmonicc_pos"), column("#host_rev")) else {
        return Err(HostRanksError::NoHeader(shortened(&header)));
    };
    let mut hosts = Vec::new();
    while hosts.len() < most
        && let Some(line) = read_line(&mut lines, hosts.len() + 2)?
    {
        let reversed = line.split('\t').nth(host).filter(|name| !name.is_empty());
        let Some(reversed) = reversed else {
            return Err(HostRanksError::BadLine { line: hosts.len() + 2, text: shortened(&line) });
        };
        let name = reversed.rsplit('.').collect::<Vec<_>>().join(".");
        hosts.push(if is_hostname(&name) { name } else { String::new() });
    }
    if hosts.is_empty() { Err(HostRanksError::Empty) } else { Ok(hosts) }
}

/// `number` is the line's number, for errors.
fn read_line(lines: &mut impl BufRead, number: usize) -> Result<Option<String>, HostRanksError> {
    let mut line = Vec::new();
    loop {
        let part = match lines.fill_buf() {
            Ok(part) => part,
            // The caller may have only the start of the file, which ends within a gzip member.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(HostRanksError::Gzip(error.to_string())),
        };
        if part.is_empty() {
            return Ok(None);
        }
        let end = part.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(part.len(), |end| end + 1);
        line.extend_from_slice(&part[..end.unwrap_or(part.len())]);
        lines.consume(used);
        if line.len() > MAX_LINE_BYTES {
            line.truncate(MAX_LINE_BYTES);
            let text = shortened(&String::from_utf8_lossy(&line));
            return Err(HostRanksError::BadLine { line: number, text });
        }
        if end.is_some() {
            return Ok(Some(String::from_utf8_lossy(&line).trim_end().to_owned()));
        }
    }
}

/// A loose check, because a scan looks up only hostnames that it has validated.
fn is_hostname(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    name.len() <= MAX_HOSTNAME_BYTES && name.bytes().all(is_plain)
}

fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}

/// Returns the path of this web graph's ranks in the bucket.
#[must_use]
pub fn host_ranks_path(graph: &str) -> String {
    format!("{GRAPHS}{graph}/host/{graph}-host-ranks.txt.gz")
}

/// Returns the web graphs in this list, by name and in the list's order.
///
/// # Errors
/// Returns an error if the list is not an array of objects with an `id`.
pub fn graph_ids(list: &[u8]) -> Result<Vec<String>, HostRanksError> {
    #[derive(serde::Deserialize)]
    struct Graph {
        id: String,
    }
    let graphs: Vec<Graph> =
        serde_json::from_slice(list).map_err(|error| HostRanksError::Graphs(error.to_string()))?;
    let ids = graphs.into_iter().map(|graph| graph.id).filter(|id| is_graph_id(id));
    Ok(ids.collect())
}

/// Returns true for a name such as `cc-main-2026-mar-apr-may`.
#[must_use]
pub fn is_graph_id(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    name.len() <= 60 && name.starts_with("cc-main-") && name.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{Compression, write::GzEncoder};
    use proptest::prelude::*;

    use super::*;

    const HEADER: &str = "#harmonicc_pos\t#harmonicc_val\t#pr_pos\t#pr_val\t#host_rev\n";

    fn gzip(text: &str) -> Vec<u8> {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(text.as_bytes()).unwrap();
        gzip.finish().unwrap()
    }

    #[test]
    fn hosts_keep_their_order_and_labels_are_reversed() {
        let text = format!(
            "{HEADER}1\t3.4E7\t3\t0.005\tcom.facebook\n2\t3.4E7\t2\t0.007\tcom.googleapis.fonts\n\
             3\t3.0E7\t1\t0.008\tnot a host\n4\t3.0E7\t1\t0.008\torg.wikipedia.en\n"
        );
        let hosts = read_host_ranks(&gzip(&text), 9).unwrap();
        assert_eq!(hosts, ["facebook.com", "fonts.googleapis.com", "", "en.wikipedia.org"]);
        assert_eq!(read_host_ranks(&gzip(&text), 2).unwrap().len(), 2);
    }

    #[test]
    fn a_truncated_file_gives_its_complete_lines() {
        let lines: String =
            (0..5_000).map(|i| format!("{i}\t1\t{i}\t1\tcom.name{}\n", i * 7_919)).collect();
        let whole = gzip(&(HEADER.to_owned() + &lines));
        let all = read_host_ranks(&whole, 5_000).unwrap();
        let first = read_host_ranks(&whole[..whole.len() / 2], 5_000).unwrap();
        assert!(first.len() > 1_000 && first.len() < 4_000, "{}", first.len());
        assert_eq!(first[..], all[..first.len()]);
    }

    #[test]
    fn invalid_files_are_rejected_with_the_reason() {
        let refused = |bytes: &[u8]| read_host_ranks(bytes, 9).unwrap_err().to_string();
        assert!(refused(b"<html>no</html>").contains("invalid gzip"));
        assert!(refused(&gzip("a\tb\n")).contains("#host_rev"));
        assert!(refused(&gzip(HEADER)).contains("no host"));
        assert!(refused(&gzip(&format!("{HEADER}1\t2\n"))).contains("line 2"));
        assert!(refused(&gzip(&"x".repeat(5_000))).contains("line 1 is too long"));
        let second = format!("{HEADER}{}", "x".repeat(5_000));
        assert!(refused(&gzip(&second)).contains("line 2 is too long"));
        assert!(refused(b"").contains("#harmonicc_pos"));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic_as_ranks(
            bytes in prop::collection::vec(any::<u8>(), 0..2_000),
            lines in "([0-9]{1,3}\t[^\n]{0,40}\t?[a-z.\t]{0,300}\n?){0,20}",
            cut in 0_usize..400,
        ) {
            let whole = gzip(&(HEADER.to_owned() + &lines));
            for gzip in [&bytes[..], &whole[..], &whole[..cut.min(whole.len())]] {
                if let Ok(hosts) = read_host_ranks(gzip, 9) {
                    prop_assert!((1..=9).contains(&hosts.len()));
                    prop_assert!(hosts.iter().all(|host| host.is_ascii()));
                }
            }
            for graph in graph_ids(&bytes).unwrap_or_default() {
                prop_assert!(is_graph_id(&graph));
            }
        }
    }

    #[test]
    fn graph_ids_give_the_paths_of_their_ranks() {
        let list = br#"[{"id": "cc-main-2026-mar-apr-may", "x": 1}, {"id": "../x"}]"#;
        let ids = graph_ids(list).unwrap();
        assert_eq!(ids, ["cc-main-2026-mar-apr-may"]);
        let path = "projects/hyperlinkgraph/cc-main-2026-mar-apr-may/host/\
                    cc-main-2026-mar-apr-may-host-ranks.txt.gz";
        assert_eq!(host_ranks_path(&ids[0]), path);
        assert!(graph_ids(b"{}").is_err());
    }
}
