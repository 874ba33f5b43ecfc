//! Writes a crawl's file lists, such as `warc.paths.gz`, for readers like [`crate::index::paths`].

use std::collections::BTreeSet;

use crate::{
    gzip::gzip_member,
    index::{is_relative_path, paths::MAX_LIST_BYTES},
};

/// Why a list cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathListError {
    /// This path is not relative, is too long, or contains characters that a line cannot.
    #[error("{path:?} is not a relative path")]
    NotAPath {
        /// First 120 characters of this path.
        path: String,
    },
    /// The list is larger than its reader accepts.
    #[error("the list has more than {MAX_LIST_BYTES} bytes")]
    TooLarge,
}

/// Returns the list of `paths` in byte order and without duplicates.
///
/// # Errors
/// Returns an error if a path is invalid, or if the list is too large.
pub fn path_list<'a>(paths: impl IntoIterator<Item = &'a str>) -> Result<Vec<u8>, PathListError> {
    let paths: BTreeSet<&str> = paths.into_iter().collect();
    let mut lines = String::new();
    for path in paths {
        // The reader trims whitespace at both ends of a line.
        if !is_relative_path(path) || path.trim() != path {
            return Err(PathListError::NotAPath { path: path.chars().take(120).collect() });
        }
        lines.push_str(path);
        lines.push('\n');
        if lines.len() as u64 > MAX_LIST_BYTES {
            return Err(PathListError::TooLarge);
        }
    }
    Ok(gzip_member(lines.as_bytes()))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use proptest::prelude::*;

    use super::*;
    use crate::index::paths::warc_subset_files;

    fn lines(list: &[u8]) -> String {
        let mut text = String::new();
        flate2::read::GzDecoder::new(list).read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn a_list_is_sorted_and_names_each_path_once() {
        let list = path_list(["b/2", "a/1", "b/10", "a/1"]).unwrap();
        assert_eq!(lines(&list), "a/1\nb/10\nb/2\n");
        assert_eq!(list[4..8], [0; 4], "no time");
        assert_eq!(path_list(["b/10", "b/2", "a/1"]), Ok(list));
        assert_eq!(lines(&path_list([]).unwrap()), "");
    }

    #[test]
    fn invalid_paths_are_rejected_by_name() {
        for path in ["", "/a", "../a", "a\nb", "a\\b", " a", "a ", "a\u{a0}"] {
            let error = path_list(["a/1", path]).unwrap_err();
            assert_eq!(error, PathListError::NotAPath { path: path.to_owned() });
        }
        let path = "a".repeat(1_000);
        let paths: Vec<String> = (0..70_000).map(|n| format!("{n}{path}")).collect();
        assert_eq!(path_list(paths.iter().map(String::as_str)), Err(PathListError::TooLarge));
    }

    proptest! {
        #[test]
        fn the_list_reader_accepts_any_list(
            names in prop::collection::btree_set("[!-\\[\\]-~é]{1,20}", 1..30),
        ) {
            let is_name = |name: &String| !name.contains('/');
            let paths: Vec<String> = names
                .iter()
                .filter(|name| is_name(name))
                .map(|name| format!("a/subset=warc/{name}.parquet"))
                .collect();
            prop_assume!(!paths.is_empty());
            let list = path_list(paths.iter().rev().map(String::as_str)).unwrap();
            let mut sorted = paths;
            sorted.sort();
            prop_assert_eq!(warc_subset_files(&list), Ok(sorted));
        }
    }
}
