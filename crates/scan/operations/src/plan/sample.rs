//! Samples one index file. Reads its number of row groups, and the home pages in the first group.

use std::collections::HashSet;

use everytab_commoncrawl::index::IndexOptions;
use everytab_console::OperationError;
use everytab_jobs::index_file::{IndexFile, IndexFileError, index_options};
use everytab_storage::Store;
use futures_util::{StreamExt, TryStreamExt, stream};

use crate::crawl::WantedFile;

/// Number of index files whose sizes are requested concurrently. The public bucket responds in
/// about 50 ms, so that the sizes of 300 files take about a second.
const CONCURRENT_HEADS: usize = 16;
/// Maximum number of row groups to read if the first ones have no home page. Each has about 60 MB.
const MAX_ROW_GROUPS: u64 = 4;

/// Numbers read from the crawl.
#[derive(Debug, Clone, Default)]
pub(super) struct Sample {
    /// The sampled file's path.
    pub(super) path: String,
    /// Number of index files that a scan reads.
    pub(super) files: u64,
    /// Total bytes in these files.
    pub(super) file_bytes: u64,
    /// Maximum captures in a scan with a limit. `None` if the scan has no limit.
    pub(super) max_captures: Option<u64>,
    /// The sampled file's size in bytes.
    pub(super) sampled_bytes: u64,
    /// Number of row groups in the sampled file.
    pub(super) row_groups: u64,
    pub(super) groups_read: u64,
    /// Bytes in these row groups' needed columns.
    pub(super) read_bytes: u64,
    /// Captures in these row groups.
    pub(super) captures: u64,
    /// Distinct hostnames in these captures.
    pub(super) hosts: u64,
    /// Total bytes of the captures' WARC records.
    pub(super) record_bytes: u64,
}

/// Requests every file's size, and reads the first row group in the middle file.
///
/// # Errors
/// Returns an error if there is no file, or a file cannot be read.
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

/// Reads row groups, starting with the first, until one contains a home page.
async fn first_groups(
    store: &dyn Store,
    path: &str,
    sample: &mut Sample,
) -> Result<(), IndexFileError> {
    let mut hosts = HashSet::new();
    for groups in 1..=MAX_ROW_GROUPS {
        let options = IndexOptions { max_row_groups: Some(groups), ..index_options() };
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
