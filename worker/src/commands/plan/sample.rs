//! What one index file says: its row groups, and the home pages of the first of them.

use std::{collections::HashSet, ops::Range};

use bytes::Bytes;
use everytab_commoncrawl::index::{IndexOptions, IndexReader, Step};
use everytab_storage::Store;
use futures_util::{StreamExt, TryStreamExt, stream};

use crate::{crawl::WantedFile, failure::Failure, limits};

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
pub(super) async fn read(store: &dyn Store, files: &[WantedFile]) -> Result<Sample, Failure> {
    let sizes = files.iter().map(|(path, _)| size(store, path));
    let sizes: Vec<u64> =
        stream::iter(sizes).buffered(limits::PUTS_IN_FLIGHT).try_collect().await?;
    let middle = files.len() / 2;
    let (Some((path, _)), Some(&bytes)) = (files.get(middle), sizes.get(middle)) else {
        return Err(Failure::new("the crawl has no index files"));
    };
    let mut sample = Sample {
        path: path.clone(),
        files: files.len() as u64,
        file_bytes: sizes.iter().sum(),
        max_captures: files.iter().map(|(_, most)| most.map(i64::unsigned_abs)).sum(),
        sampled_bytes: bytes,
        ..Sample::default()
    };
    let about = |reason: String| Failure::new(format!("index file {path}: {reason}"));
    let (row_groups, requests) = metadata(store, path, bytes).await.map_err(about)?;
    sample.row_groups = row_groups;
    first_groups(store, path, requests, &mut sample).await.map_err(about)?;
    Ok(sample)
}

async fn size(store: &dyn Store, path: &str) -> Result<u64, Failure> {
    store.head(path).await?.map(|info| info.size).ok_or_else(|| {
        Failure::new(format!("{path} is in the crawl's list, but not in {}", store.url()))
    })
}

/// How many row groups a file has, and how often its reader asks before it asks for rows: one
/// that may give no captures reads the metadata alone.
async fn metadata(store: &dyn Store, path: &str, size: u64) -> Result<(u64, u64), String> {
    let options = IndexOptions { max_captures: Some(0), ..IndexOptions::default() };
    let mut reader = IndexReader::new(size, options);
    let mut requests = 0;
    loop {
        let (back, step) = step(reader).await?;
        reader = back;
        match step {
            Step::Need(ranges) => {
                requests += 1;
                supply(store, path, &mut reader, ranges).await?;
            }
            Step::Captures(_) => {}
            Step::Done(counts) => return Ok((counts.row_groups, requests)),
        }
    }
}

/// Reads the first row group, and the next ones as long as there is no home page in them. The
/// reader asks for a row group at a time.
async fn first_groups(
    store: &dyn Store,
    path: &str,
    mut requests: u64,
    sample: &mut Sample,
) -> Result<(), String> {
    let mut reader = IndexReader::new(sample.sampled_bytes, IndexOptions::default());
    let mut hosts = HashSet::new();
    loop {
        let (back, step) = step(reader).await?;
        reader = back;
        match step {
            Step::Need(ranges) => {
                if requests > 0 {
                    requests -= 1;
                } else if sample.groups_read == GROUPS_AT_MOST
                    || (sample.groups_read > 0 && !hosts.is_empty())
                {
                    break;
                } else {
                    sample.groups_read += 1;
                    sample.read_bytes +=
                        ranges.iter().map(|range| range.end - range.start).sum::<u64>();
                }
                supply(store, path, &mut reader, ranges).await?;
            }
            Step::Captures(captures) => {
                for capture in captures {
                    sample.captures += 1;
                    sample.record_bytes += capture.warc_record_length;
                    hosts.insert(capture.hostname);
                }
            }
            Step::Done(_) => break,
        }
    }
    sample.hosts = hosts.len() as u64;
    Ok(())
}

/// Decoding a row group takes half a second: not on the runtime's threads.
async fn step(mut reader: IndexReader) -> Result<(IndexReader, Step), String> {
    let stepped = tokio::task::spawn_blocking(move || {
        let step = reader.next();
        (reader, step)
    });
    let (reader, step) = stepped.await.map_err(|error| error.to_string())?;
    Ok((reader, step.map_err(|error| error.to_string())?))
}

async fn supply(
    store: &dyn Store,
    path: &str,
    reader: &mut IndexReader,
    ranges: Vec<Range<u64>>,
) -> Result<(), String> {
    let reads = ranges.iter().map(|range| store.get_range(path, range.clone()));
    let data: Vec<Bytes> = stream::iter(reads)
        .buffered(limits::RANGES_IN_FLIGHT)
        .try_collect()
        .await
        .map_err(|error| error.to_string())?;
    reader.supply(ranges, data).map_err(|error| error.to_string())
}
