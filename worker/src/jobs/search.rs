//! `search`: merges one hostname range of all shards' parts into the published search files.
//!
//! `search/<range>/<n>.tsv` holds up to a thousand lines; `search/<range>/index.tsv` one line a
//! file: its first key. Suggestions are text; the icon comes from the bundle of the one chosen.

use std::sync::Arc;

use everytab_coordinator::{Coordinator, Output};
use everytab_storage::{Store, objects};
use futures_util::{StreamExt, TryStreamExt, stream};

use uuid::Uuid;

use super::{
    Assignment, Done, Job, JobError, Stats,
    search_key::search_key,
    search_part::{HEADER_BYTES, SearchEntry, lines_of, range_in_part, sort, write_lines},
};
use crate::{context::Context, limits, pulse::Pulse};

pub(super) struct Search;

impl Job for Search {
    type Input = Vec<i32>;

    async fn load(coordinator: &Coordinator, job: &Assignment) -> Result<Vec<i32>, JobError> {
        Ok(coordinator.bundled_shards(job.scan).await?)
    }

    async fn run(context: &Context, job: &Assignment, shards: Vec<i32>) -> Result<Done, JobError> {
        let range = usize::try_from(job.part).unwrap_or(usize::MAX);
        let archive = context.store(&job.settings.archive).await?;
        let site = context.store(&job.settings.site).await?;
        let scan_id = job.info.scan_id;
        let merged = merge_range(archive, &*site, scan_id, shards, range, &job.pulse).await?;
        let mut stats = Stats::default();
        stats.input("hostnames", merged.hostnames);
        stats.outcome("listed", merged.hostnames);
        stats.count("search_files", merged.files);
        Ok(Done { output: Output::Nothing, stats })
    }
}

/// What a range came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Merged {
    /// Lines written.
    pub hostnames: u64,
    /// Files written, the index not counted.
    pub files: u64,
}

/// Merges the parts that the shards wrote of one range into the files that the page reads.
///
/// # Errors
/// When a store refuses, or a part is none.
pub async fn merge_range(
    archive: Arc<dyn Store>,
    site: &dyn Store,
    scan_id: Uuid,
    shards: Vec<i32>,
    range: usize,
    pulse: &Pulse,
) -> Result<Merged, JobError> {
    let reads = shards.into_iter().map(|shard| {
        read_range(Arc::clone(&archive), objects::search_part(scan_id, shard), range)
    });
    let reads: Vec<_> = reads.collect();
    let mut entries: Vec<SearchEntry> = stream::iter(reads)
        .buffered(limits::PUTS_IN_FLIGHT)
        .inspect_ok(|_| pulse.beat())
        .try_fold(Vec::new(), |mut entries, part| async move {
            entries.extend(part);
            Ok(entries)
        })
        .await?;
    // Parts are sorted: what is left to do is merging runs, which is what this sort is quick at.
    sort(&mut entries);
    let mut index = String::new();
    let mut files = 0;
    for lines in entries.chunks(limits::HOSTNAMES_PER_SEARCH_FILE) {
        index.push_str(&search_key(&lines[0].hostname));
        index.push('\n');
        let name = format!("{range}/{files}.tsv");
        put(site, &objects::search(scan_id, &name), write_lines(lines)).await?;
        pulse.beat();
        files += 1;
    }
    put(site, &objects::search(scan_id, &format!("{range}/index.tsv")), index).await?;
    Ok(Merged { hostnames: entries.len() as u64, files })
}

async fn read_range(
    archive: Arc<dyn Store>,
    key: String,
    range: usize,
) -> Result<Vec<SearchEntry>, JobError> {
    let header = archive.get_range(&key, 0..HEADER_BYTES as u64).await?;
    let bytes = range_in_part(&header, range)
        .ok_or_else(|| JobError::Discard(format!("{key} is not a search part")))?;
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    lines_of(&key, &archive.get_range(&key, bytes).await?)
}

async fn put(site: &dyn Store, key: &str, text: String) -> Result<(), JobError> {
    Ok(site.put(key, text.into(), objects::put_options(key)).await?)
}
