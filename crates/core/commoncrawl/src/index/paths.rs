//! Reads the lists of crawls and index files, and selects the files that a limited scan reads.

use std::{collections::BTreeSet, io::Read};

use flate2::bufread::MultiGzDecoder;

use super::home_page::is_relative_path;

/// Maximum size in bytes of a decompressed list. A list with 300 files per subset has about 100 KB.
pub(crate) const MAX_LIST_BYTES: u64 = 64 << 20;
/// A limited scan reads at least this many files, or one file per host if it has fewer hosts. If
/// the index has no more files than this, each file may contribute all hosts.
const FEW_FILES: usize = 8;
/// In a larger index, each file may contribute at least this many captures to a limited scan,
/// because opening a file takes longer than reading them.
const MIN_CAPTURES_PER_FILE: u64 = 1_000;
/// A larger limited scan reads one file per this many hosts, if there are enough files, so that its
/// hosts are spread over the index.
const HOSTS_PER_FILE: u64 = 100;

/// Why a list cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    /// The gzip data are corrupt or truncated.
    #[error("the gzip data of the list are corrupt or truncated: {0}")]
    Gzip(String),
    /// The list is larger than the limit.
    #[error("the list has more than {MAX_LIST_BYTES} bytes")]
    TooLarge,
    /// The list is not UTF-8.
    #[error("the list is not UTF-8 text")]
    NotText,
    /// A line is not a path that can be appended to the bucket's URL.
    #[error("line {line} of the list is not a relative path: {text:?}")]
    NotAPath {
        /// Line number, from 1.
        line: usize,
        /// First 80 characters of this line.
        text: String,
    },
    /// The list contains no parquet files for the subset `warc`.
    #[error("the list contains no parquet file of subset=warc")]
    Empty,
    /// `collinfo.json` is invalid or names no crawl.
    #[error("the list of crawls is invalid: {0}")]
    Crawls(String),
}

/// Returns the parquet files of `subset=warc` in a path list, sorted and without duplicates.
pub fn warc_subset_files(list: &[u8]) -> Result<Vec<String>, ListError> {
    let text = String::from_utf8(plain_bytes(list)?).map_err(|_| ListError::NotText)?;
    let mut files = Vec::new();
    for (index, line) in text.lines().map(str::trim_ascii).enumerate() {
        // Other lines may have any form, because they are not used.
        if !line.split('/').any(|step| step == "subset=warc") || !line.ends_with(".parquet") {
            continue;
        }
        if !is_relative_path(line) {
            let text = line.chars().take(80).collect();
            return Err(ListError::NotAPath { line: index + 1, text });
        }
        files.push(line.to_owned());
    }
    files.sort_unstable();
    files.dedup();
    if files.is_empty() { Err(ListError::Empty) } else { Ok(files) }
}

fn plain_bytes(list: &[u8]) -> Result<Vec<u8>, ListError> {
    let mut plain = Vec::new();
    if list.starts_with(&[0x1f, 0x8b]) {
        let mut reader = MultiGzDecoder::new(list).take(MAX_LIST_BYTES + 1);
        reader.read_to_end(&mut plain).map_err(|error| ListError::Gzip(error.to_string()))?;
    } else {
        plain.extend_from_slice(list);
    }
    if plain.len() as u64 > MAX_LIST_BYTES { Err(ListError::TooLarge) } else { Ok(plain) }
}

#[derive(serde::Deserialize)]
struct Collection {
    id: String,
}

/// Prefix in the bucket under which each crawl has its own prefix.
pub const COLLECTIONS: &str = "cc-index/collections/";

/// Returns the crawl ids in a `collinfo.json`, newest first. Ids in other forms are ignored.
pub fn crawl_ids(collinfo: &[u8]) -> Result<Vec<String>, ListError> {
    let collections: Vec<Collection> =
        serde_json::from_slice(collinfo).map_err(|error| ListError::Crawls(error.to_string()))?;
    let ids = newest_first(collections.iter().map(|collection| collection.id.as_str()));
    if ids.is_empty() { Err(ListError::Crawls("it contains no crawl".into())) } else { Ok(ids) }
}

/// Returns the crawl ids among `folders`, the names below [`COLLECTIONS`], newest first. Names in
/// other forms are ignored.
pub fn crawl_ids_of_folders(folders: &[String]) -> Vec<String> {
    newest_first(folders.iter().map(|folder| folder.trim_end_matches('/')))
}

fn newest_first<'a>(ids: impl Iterator<Item = &'a str>) -> Vec<String> {
    // Alphabetical order is chronological, because ids are `CC-MAIN-<year>-<two-digit week>`.
    let ids: BTreeSet<&str> = ids.filter(|id| is_crawl_id(id)).collect();
    ids.into_iter().rev().map(str::to_owned).collect()
}

/// Returns true if `id` has the form of a crawl id, such as `CC-MAIN-2026-05`. In this form, it is
/// safe inside a path.
pub fn is_crawl_id(id: &str) -> bool {
    id.strip_prefix("CC-MAIN-").is_some_and(|rest| {
        rest.starts_with(|c: char| c.is_ascii_digit())
            && rest.len() <= 16
            && rest.chars().all(|c| c.is_ascii_digit() || c == '-')
    })
}

/// Returns the path of the list with this crawl's index files, relative to the bucket.
pub fn paths_list(id: &str) -> String {
    format!("crawl-data/{id}/cc-index-table.paths.gz")
}

/// Returns the files that a scan for about `hosts` hosts reads, evenly spaced, each with the
/// maximum number of captures to take from this file.
pub fn files_for_limit<File: Clone>(files: &[File], hosts: u64) -> Vec<(File, u64)> {
    let wanted = hosts.div_ceil(HOSTS_PER_FILE).max(hosts.min(FEW_FILES as u64));
    let count = usize::try_from(wanted).unwrap_or(usize::MAX).min(files.len());
    let cap = if files.len() <= FEW_FILES {
        hosts
    } else {
        let share = hosts.div_ceil((count as u64).max(1));
        share.saturating_mul(2).max(MIN_CAPTURES_PER_FILE)
    };
    let position = |nth: usize| (2 * nth as u128 + 1) * files.len() as u128 / (2 * count as u128);
    (0..count)
        .filter_map(|nth| usize::try_from(position(nth)).ok().and_then(|at| files.get(at)))
        .map(|file| (file.clone(), cap))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn list() -> String {
        let mut list = String::new();
        for subset in ["crawldiagnostics", "robotstxt", "warc"] {
            for part in [1, 0] {
                list.push_str(&format!(
                    "cc-index/table/cc-main/warc/crawl=CC-MAIN-2026-05/subset={subset}/\
                     part-{part:05}-x.c000.gz.parquet\n"
                ));
            }
        }
        list
    }

    #[test]
    fn the_list_gives_the_warc_subset_in_order_plain_or_gzipped() {
        let files = warc_subset_files(list().as_bytes()).unwrap();
        assert_eq!(files.len(), 2);
        assert!(files[0].contains("subset=warc/part-00000-"), "{files:?}");
        assert!(files[1].contains("subset=warc/part-00001-"), "{files:?}");

        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(list().replace('\n', "\r\n").as_bytes()).unwrap();
        let gzipped = encoder.finish().unwrap();
        assert_eq!(warc_subset_files(&gzipped).unwrap(), files);
        let cut = warc_subset_files(&gzipped[..gzipped.len() - 9]);
        assert!(matches!(cut, Err(ListError::Gzip(_))), "{cut:?}");
    }

    #[test]
    fn a_list_that_would_leave_the_bucket_is_refused() {
        let error = warc_subset_files(b"a/subset=warc/x.parquet\n../subset=warc/y.parquet\n");
        assert_eq!(
            error.unwrap_err().to_string(),
            "line 2 of the list is not a relative path: \"../subset=warc/y.parquet\""
        );
        let odd = b"crawl=X/\n/absolute\n../x\na/subset=warc/\na/subset=warc/x.parquet\n";
        assert_eq!(warc_subset_files(odd).unwrap(), ["a/subset=warc/x.parquet"]);
        assert_eq!(warc_subset_files(b"\n"), Err(ListError::Empty));
        assert_eq!(warc_subset_files(b"\xff"), Err(ListError::NotText));
    }

    #[test]
    fn crawls_are_found_by_their_folders() {
        let folders = ["CC-MAIN-2026-04/", "CC-MAIN-2026-05/", "CC-NEWS/"].map(str::to_owned);
        assert_eq!(crawl_ids_of_folders(&folders), ["CC-MAIN-2026-05", "CC-MAIN-2026-04"]);
        assert!(crawl_ids_of_folders(&[]).is_empty());
    }

    #[test]
    fn crawls_are_sorted_newest_first_whatever_the_order() {
        let collinfo = br#"[{"id":"CC-MAIN-2025-51","name":"December 2025"},
            {"id":"CC-MAIN-2026-05","cdx-api":"x"},{"id":"CC-MAIN-2026-04"},{"id":"NEWS"},
            {"id":"CC-MAIN-2009-2010"}]"#;
        let newest_first =
            ["CC-MAIN-2026-05", "CC-MAIN-2026-04", "CC-MAIN-2025-51", "CC-MAIN-2009-2010"];
        assert_eq!(crawl_ids(collinfo).unwrap(), newest_first);
        for bad in ["", "{}", "[]", r#"[{"id":5}]"#, r#"[{"id":"CC-MAIN-../x"}]"#] {
            assert!(matches!(crawl_ids(bad.as_bytes()), Err(ListError::Crawls(_))), "{bad}");
        }
    }

    #[test]
    fn a_limit_spreads_over_the_index_and_reads_few_files() {
        let files: Vec<usize> = (0..300).collect();
        let chosen = files_for_limit(&files, 300);
        let numbers: Vec<usize> = chosen.iter().map(|(file, _)| *file).collect();
        assert_eq!(numbers, [18, 56, 93, 131, 168, 206, 243, 281]);
        assert!(chosen.iter().all(|(_, cap)| *cap == 1_000));

        let many = files_for_limit(&files, 10_000_000);
        assert_eq!(many.len(), 300);
        assert_eq!(many.first(), Some(&(0, 66_668)));
        assert_eq!(files_for_limit(&files, 3).len(), 3);
        assert_eq!(files_for_limit(&files, 0), []);
        assert_eq!(files_for_limit(&files[..1], 300), [(0, 300)]);
        assert_eq!(files_for_limit::<usize>(&[], 300), []);
    }

    proptest::proptest! {
        #[test]
        fn the_caps_of_a_limit_are_enough_and_no_file_comes_twice(
            count in 0..2_000_usize, hosts in 0..10_000_000_u64,
        ) {
            let files: Vec<usize> = (0..count).collect();
            let chosen = files_for_limit(&files, hosts);
            assert!(chosen.windows(2).all(|pair| pair[0].0 < pair[1].0));
            let caps: u64 = chosen.iter().map(|(_, cap)| cap).sum();
            assert!(caps >= hosts || files.is_empty());
            assert_eq!(chosen.is_empty(), hosts == 0 || files.is_empty());
        }
    }
}
