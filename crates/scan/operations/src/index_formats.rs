//! Determines how a crawl's index files are encoded, from some of their footers. One program writes
//! all index files of a crawl, so a few represent all.

use everytab_commoncrawl::index::{Formats, IndexError, IndexOptions};
use everytab_console::OperationError;
use everytab_jobs::index_file::{IndexFile, IndexFileError};
use everytab_storage::Store;

/// Number of index files whose footers are read: the first, the last, and files at equal steps
/// between them.
const FILES_READ: usize = 5;

#[derive(Debug, Clone, Default)]
pub(crate) struct IndexFormats {
    pub(crate) formats: Formats,
    pub(crate) files_read: usize,
}

/// Only logs a damaged file, because it says nothing about the others. Returns an error if all of
/// these files are damaged.
pub(crate) async fn read<'a>(
    store: &dyn Store,
    files: impl IntoIterator<Item = &'a str>,
) -> Result<IndexFormats, OperationError> {
    let files: Vec<&str> = files.into_iter().collect();
    let mut found = IndexFormats::default();
    let mut damage = None;
    for index in spread(files.len()) {
        let path = files.get(index).copied().unwrap_or_default();
        match formats_of(store, path).await? {
            Ok(formats) => {
                found.formats.merge(&formats);
                found.files_read += 1;
            }
            Err(error) => {
                tracing::warn!(path, %error, "an index file is damaged");
                damage.get_or_insert(OperationError::new(format!("index file {path}: {error}")));
            }
        }
    }
    match damage {
        Some(error) if found.files_read == 0 => Err(error),
        _ => Ok(found),
    }
}

async fn formats_of(
    store: &dyn Store,
    path: &str,
) -> Result<Result<Formats, IndexError>, OperationError> {
    let info = store.head(path).await?.ok_or_else(|| {
        let url = store.url();
        OperationError::new(format!("{path} is in the crawl's list, but not in {url}"))
    })?;
    let options = IndexOptions { max_captures: Some(0), ..IndexOptions::default() };
    let mut file = IndexFile::new(store, path, info.size, options);
    match file.next().await {
        Ok(_) => Ok(Ok(file.formats().cloned().unwrap_or_default())),
        Err(IndexFileError::Index(
            error @ (IndexError::NotParquet(_) | IndexError::Truncated(_) | IndexError::Corrupt(_)),
        )) => Ok(Err(error)),
        Err(error) => Err(OperationError::new(format!("index file {path}: {error}"))),
    }
}

fn spread(count: usize) -> Vec<usize> {
    let most = FILES_READ.min(count);
    let steps = most.saturating_sub(1).max(1);
    (0..most).map(|n| n * count.saturating_sub(1) / steps).collect()
}

#[cfg(test)]
mod tests {
    use super::spread;

    #[test]
    fn the_first_and_the_last_file_are_among_those_that_are_read() {
        assert!(spread(0).is_empty());
        assert_eq!(spread(1), [0]);
        assert_eq!(spread(2), [0, 1]);
        assert_eq!(spread(5), [0, 1, 2, 3, 4]);
        assert_eq!(spread(300), [0, 74, 149, 224, 299]);
    }
}
