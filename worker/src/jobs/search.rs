//! `search`: merges one hostname range of all shards' parts into the published search files.
//!
//! `search/<range>/<n>.tsv` holds up to a thousand lines; `search/<range>/index.tsv` one line a
//! file: its first key. Suggestions are text; the icon comes from the bundle of the one chosen.

use std::sync::Arc;

use everytab_coordinator::{Coordinator, Output};
use everytab_storage::{Store, objects};
use futures_util::{StreamExt, TryStreamExt, stream};

use super::{
    Assignment, Done, Job, JobError, Stats,
    search_part::{
        HEADER_BYTES, SearchEntry, lines_of, range_in_part, search_key, sort, write_lines,
    },
};
use crate::{context::Context, limits};

pub(super) struct Search;

impl Job for Search {
    type Input = Vec<i32>;

    async fn load(coordinator: &Coordinator, job: &Assignment) -> Result<Vec<i32>, JobError> {
        Ok(coordinator.bundled_shards(job.scan).await?)
    }

    async fn run(context: &Context, job: &Assignment, shards: Vec<i32>) -> Result<Done, JobError> {
        let range = usize::try_from(job.part).unwrap_or(usize::MAX);
        let archive = context.store(&job.settings.archive).await?;
        let scan_id = job.info.scan_id;
        let reads: Vec<_> = shards
            .into_iter()
            .map(|shard| {
                read_range(Arc::clone(&archive), objects::search_part(scan_id, shard), range)
            })
            .collect();
        let parts: Vec<Vec<SearchEntry>> = stream::iter(reads)
            .buffered(limits::PUTS_IN_FLIGHT)
            .inspect_ok(|_| job.pulse.beat())
            .try_collect()
            .await?;
        let mut entries = parts.concat();
        sort(&mut entries);
        let mut stats = Stats::default();
        stats.input("hostnames", entries.len() as u64);
        stats.outcome("listed", entries.len() as u64);
        let site = context.store(&job.settings.site).await?;
        let mut index = String::new();
        for (number, lines) in entries.chunks(limits::HOSTNAMES_PER_SEARCH_FILE).enumerate() {
            index.push_str(search_key(&lines[0].hostname));
            index.push('\n');
            let name = format!("{range}/{number}.tsv");
            put(&*site, &objects::search(job.info.scan_id, &name), write_lines(lines)).await?;
            job.pulse.beat();
            stats.count("search_files", 1);
        }
        let name = format!("{range}/index.tsv");
        put(&*site, &objects::search(job.info.scan_id, &name), index).await?;
        Ok(Done { output: Output::Nothing, stats })
    }
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
