//! Samples one index file: its number of row groups, and the home pages in its first groups.

use std::collections::HashSet;

use everytab_commoncrawl::index::IndexOptions;
use everytab_console::OperationError;
use everytab_jobs::index_file::{IndexFile, IndexFileError, index_options};
use everytab_storage::Store;
use futures_util::{StreamExt, TryStreamExt, stream};

use crate::crawl::WantedFile;

/// This many index files are queried for their sizes concurrently, so that the sizes of 300 files
/// take about a second.
const CONCURRENT_HEADS: usize = 16;
/// Maximum row groups, each about 60 MB, if the first ones have no home page.
const MAX_ROW_GROUPS: u64 = 4;

#[derive(Debug, Clone, Default)]
pub(super) struct Sample {
    pub(super) path: String,
    pub(super) files: u64,
    pub(super) file_bytes: u64,
    pub(super) max_captures: Option<u64>,
    pub(super) sampled_bytes: u64,
    pub(super) row_groups: u64,
    pub(super) groups_read: u64,
    /// Bytes in the needed columns of the row groups that were read.
    pub(super) read_bytes: u64,
    pub(super) captures: u64,
    pub(super) hosts: u64,
    pub(super) record_bytes: u64,
}

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
