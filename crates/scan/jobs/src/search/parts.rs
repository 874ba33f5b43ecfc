//! Reads the inputs of search jobs: the shards' parts, and the host ranks.

use std::sync::Arc;

use everytab_bundler::{
    object_names::host_ranks,
    search::{
        RANGES, SearchEntry, SearchFileError,
        part::{HEADER_BYTES, range_in_part},
        range_of,
        ranks::HostRanks,
        read_lines,
    },
};
use everytab_job_result::JobError;
use everytab_storage::Store;
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// Parts that a job reads concurrently, each about 100 KB.
pub(super) const CONCURRENT_READS: usize = 16;

/// Reads all ranges if `range` is [`RANGES`].
pub(crate) async fn read_ranks(
    archive: &dyn Store,
    scan_id: Uuid,
    sha256: &str,
    range: usize,
) -> Result<HostRanks, JobError> {
    let key = host_ranks(scan_id);
    let list = archive.get(&key).await?;
    // Only a takedown changes this list, by removing its host.
    if hex::encode(Sha256::digest(&list)) != sha256 {
        tracing::warn!(key, "the host ranks have changed since `scan start` wrote them");
    }
    Ok(HostRanks::read(&list, |host| range == RANGES || range_of(host) == range))
}

/// Search files contain the titles of ranked hosts only.
pub(super) fn ranked(mut entry: SearchEntry, ranks: &HostRanks) -> SearchEntry {
    entry.rank = ranks.of(&entry.hostname);
    if entry.rank.is_none() {
        entry.title = String::new();
    }
    entry
}

pub(super) async fn read_range(
    archive: Arc<dyn Store>,
    key: String,
    range: usize,
) -> Result<Vec<SearchEntry>, JobError> {
    let refused = |error| no_part(&key, error);
    let header = archive.get_range(&key, 0..HEADER_BYTES as u64).await?;
    let bytes = range_in_part(&header, range).map_err(refused)?;
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    read_lines(&archive.get_range(&key, bytes).await?).map_err(refused)
}

fn no_part(key: &str, error: SearchFileError) -> JobError {
    JobError::Discard(format!("{key} is not a search part: {error}"))
}

pub(super) async fn read_part(
    archive: Arc<dyn Store>,
    key: String,
    ranks: &HostRanks,
) -> Result<Vec<SearchEntry>, JobError> {
    let part = archive.get(&key).await?;
    let lines = read_lines(part.get(HEADER_BYTES..).unwrap_or_default());
    let lines = lines.map_err(|error| no_part(&key, error))?;
    let ranked = lines.into_iter().map(|entry| ranked(entry, ranks));
    Ok(ranked.filter(|entry| entry.rank.is_some()).collect())
}
