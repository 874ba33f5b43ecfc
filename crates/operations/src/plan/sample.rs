//! What one index file says: its row groups, and the home pages of the first of them.

use std::collections::HashSet;

use everytab_commoncrawl::index::IndexOptions;
use everytab_jobs::index_file::{IndexFile, IndexFileError};
use everytab_storage::Store;
use futures_util::{StreamExt, TryStreamExt, stream};

use crate::{crawl::WantedFile, error::OperationError};

/// Index files whose sizes are requested concurrently; the public bucket answers in about 50 ms, so
/// that the sizes of 300 files take about a second.
const CONCURRENT_HEADS: usize = 16;
/// Row groups read at most, where the first ones hold no home page: 60 MB each.
const GROUPS_AT_MOST: u64 = 4;

/// What was read of the crawl.
#[derive(Debug, Clone, Default)]
pub(super) struct Sample {
    /// The file that was looked into.
    pub(super) path: String,
    /// Files that a scan reads, and bytes of all of them.
    pub(super) files: u64,
    /// See `files`.
    pub(super) file_bytes: u64,
    /// Captures that a scan with a limit takes at most.
    pub(super) max_captures: Option<u64>,
    /// Bytes of the file, and its row groups.
    pub(super) sampled_bytes: u64,
    /// See `sampled_bytes`.
    pub(super) row_groups: u64,
    /// Row groups that were read, and bytes of the needed columns in them.
    pub(super) groups_read: u64,
    /// See `groups_read`.
    pub(super) read_bytes: u64,
    /// Captures in them, and distinct hostnames among those.
    pub(super) captures: u64,
    /// See `captures`.
    pub(super) hosts: u64,
    /// Bytes of the WARC records of the captures.
    pub(super) record_bytes: u64,
}

/// Asks for the size of every file, and reads the first row group of the one in the middle.
pub(super) async fn read(
    store: &dyn Store,
    files: &[WantedFile],
) -> Result<Sample, OperationError> {
    let sizes = files.iter().map(|(path, _)| size(store, path));
    let sizes: Vec<u64> = stream::iter(sizes).buffered(CONCURRENT_HEADS).try_collect().await?;
    let middle = files.len() / 2;
    let (Some((path, _)), Some(&bytes)) = (files.get(middle), sizes.get(middle)) else {
        return Err(OperationError::new("the crawl has no index files"));
    };
    let mut sample = Sample {
        path: path.clone(),
        files: files.len() as u64,
        file_bytes: sizes.iter().sum(),
        max_captures: files.iter().map(|(_, most)| most.map(i64::unsigned_abs)).sum(),
        sampled_bytes: bytes,
        ..Sample::default()
    };
    let about = |error: IndexFileError| OperationError::new(format!("index file {path}: {error}"));
    first_groups(store, path, &mut sample).await.map_err(about)?;
    Ok(sample)
}

async fn size(store: &dyn Store, path: &str) -> Result<u64, OperationError> {
    store.head(path).await?.map(|info| info.size).ok_or_else(|| {
        OperationError::new(format!("{path} is in the crawl's list, but not in {}", store.url()))
    })
}

/// Reads the first row group, and the next ones as long as there is no home page in them.
async fn first_groups(
    store: &dyn Store,
    path: &str,
    sample: &mut Sample,
) -> Result<(), IndexFileError> {
    let mut hosts = HashSet::new();
    for groups in 1..=GROUPS_AT_MOST {
        let options = IndexOptions { max_row_groups: Some(groups), ..IndexOptions::default() };
        let mut file = IndexFile::new(store, path, sample.sampled_bytes, options);
        loop {
            let captures = file.next().await?;
            if captures.is_empty() {
                break;
            }
            for capture in captures {
                sample.captures += 1;
                sample.record_bytes += capture.warc_record_length;
                hosts.insert(capture.hostname);
            }
        }
        let counts = file.counts();
        sample.row_groups = counts.row_groups;
        sample.groups_read = counts.row_groups_read;
        sample.read_bytes = counts.row_bytes;
        if !hosts.is_empty() || counts.row_groups_read == counts.row_groups {
            break;
        }
    }
    sample.hosts = hosts.len() as u64;
    Ok(())
}
