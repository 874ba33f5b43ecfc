//! `search`: merges one hostname range from all shards' parts into the published search files.
//! Another job writes the words of hosts with a rank.

mod parts;
mod words;

use std::{collections::BTreeMap, sync::Arc};

use everytab_bundler::{
    object_names::{
        scan_prefix, search_file_path, search_index_path, search_part, search_range_prefix,
    },
    search::{RANGES, SearchEntry, files, index::write_index, ranks::HostRanks, sort},
    stats_names::{CountFamily, CountName, InputName, OutcomeName},
};
use everytab_coordinator::{Coordinator, Output};
use everytab_fetcher::Heartbeat;
use everytab_job_result::{JobError, PerformedJob, Stats};
use everytab_storage::Store;
use futures_util::{StreamExt, TryStreamExt, stream};
use uuid::Uuid;

pub(crate) use self::parts::read_ranks;
use self::parts::{CONCURRENT_READS, ranked, read_range};
pub use self::words::{MergedWords, merge_words};
use crate::{
    context::Context,
    job::{Job, ScanAssignment},
    site_objects::{put_all, put_object},
};

/// Maximum concurrent search jobs per worker. This is low, because each job holds its range in
/// memory.
pub const CONCURRENT_JOBS: usize = 1;

pub(crate) struct Search;

impl Job for Search {
    type Input = Vec<i32>;

    async fn load(coordinator: &Coordinator, job: &ScanAssignment) -> Result<Vec<i32>, JobError> {
        Ok(coordinator.bundled_shards(job.scan).await?)
    }

    async fn perform(
        context: &Context,
        job: &ScanAssignment,
        shards: Vec<i32>,
    ) -> Result<PerformedJob, JobError> {
        let range = usize::try_from(job.part).unwrap_or(usize::MAX);
        let archive = context.store(&job.settings.archive).await?;
        let site = context.store(&job.settings.site).await?;
        let scan_id = job.info.scan_id;
        let ranks = match &job.settings.host_ranks {
            Some(pinned) => read_ranks(&*archive, scan_id, &pinned.sha256, range).await?,
            None => HostRanks::default(),
        };
        let mut stats = Stats::default();
        if range == RANGES {
            let merged =
                merge_words(archive, &*site, scan_id, shards, &ranks, &job.heartbeat).await?;
            stats.count(CountName::SearchFiles, merged.files);
            return Ok(PerformedJob { output: Output::Nothing, stats });
        }
        let merged =
            merge_range(archive, &*site, scan_id, shards, range, &ranks, &job.heartbeat).await?;
        stats.input(InputName::Hostnames, merged.hostnames);
        stats.outcome(OutcomeName::Listed.as_str(), merged.hostnames);
        stats.count(CountName::SearchFiles, merged.files);
        for (domain, hostnames) in &merged.top_level {
            stats.count_member(CountFamily::TopLevelDomain, domain, *hostnames);
        }
        Ok(PerformedJob { output: Output::Nothing, stats })
    }
}

/// Counts for a merged range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedRange {
    /// Lines written.
    pub hostnames: u64,
    /// Files written, excluding the index.
    pub files: u64,
    /// Hostnames per top-level domain.
    pub top_level: BTreeMap<String, u64>,
}

/// Merges one range from the shards' parts into the files that the page reads.
///
/// # Errors
///
/// Returns an error if a store fails, or an object is not a search part.
pub async fn merge_range(
    archive: Arc<dyn Store>,
    site: &dyn Store,
    scan_id: Uuid,
    shards: Vec<i32>,
    range: usize,
    ranks: &HostRanks,
    heartbeat: &Heartbeat,
) -> Result<MergedRange, JobError> {
    let reads = shards
        .into_iter()
        .map(|shard| read_range(Arc::clone(&archive), search_part(scan_id, shard), range));
    let reads: Vec<_> = reads.collect();
    let mut entries: Vec<SearchEntry> = stream::iter(reads)
        .buffered(CONCURRENT_READS)
        .inspect_ok(|_| heartbeat.beat())
        .try_fold(Vec::new(), |mut entries, part| async move {
            entries.extend(part.into_iter().map(|entry| ranked(entry, ranks)));
            Ok(entries)
        })
        .await?;
    sort(&mut entries);
    let prefix = scan_prefix(scan_id);
    let first_keys = files::first_keys(&entries);
    let mut objects: Vec<(String, String)> = files::files(&entries)
        .enumerate()
        .map(|(number, text)| (prefix.clone() + &search_file_path(range, number), text))
        .collect();
    let folder = prefix.clone() + &search_range_prefix(range);
    let best = files::best_files(&entries, &first_keys);
    let best = best.chain(files::top_file(&entries));
    objects.extend(best.map(|(path, text)| (folder.clone() + &path, text)));
    let count = put_all(site, objects, heartbeat).await?;
    let index = prefix + &search_index_path(range);
    put_object(site, &index, write_index(&first_keys)).await?;
    let top_level = files::top_level_domains(&entries);
    Ok(MergedRange { hostnames: entries.len() as u64, files: count, top_level })
}

#[cfg(test)]
mod tests {
    use everytab_bundler::search::{part::write_part, range_of, read_lines, search_key};
    use everytab_storage::{PutOptions, StoreSettings};

    use super::*;

    fn hostname(i: u64) -> String {
        let word = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let prefix = ["", "www.", "shop."][(word >> 60) as usize % 3];
        let name = format!("{:x}", word >> 40);
        let letter = char::from(b'a' + (word % 26) as u8);
        match word % 11 {
            0 => format!("{prefix}xn--{letter}{name}-9za.рф").replace("рф", "xn--p1ai"),
            1 => format!("{prefix}{name}.org"),
            _ => format!("{prefix}{letter}{name}.com"),
        }
    }

    #[tokio::test]
    async fn what_is_found_by_the_files_is_what_a_plain_scan_finds() {
        let folder = tempfile::TempDir::new().unwrap();
        let url = format!("file://{}", folder.path().display());
        let store = everytab_storage::open(&url, &StoreSettings::default()).await.unwrap();
        let scan_id = Uuid::nil();
        let shards: Vec<i32> = (0..40).collect();
        let mut all = Vec::new();
        for &shard in &shards {
            let hosts = (0..300).map(|i| hostname(u64::from(shard.unsigned_abs()) * 300 + i));
            let entries: Vec<SearchEntry> = hosts
                .enumerate()
                .map(|(slot, hostname)| SearchEntry::new(hostname, shard, slot as i32))
                .collect();
            all.extend(entries.clone());
            let part = write_part(entries).into();
            store.put(&search_part(scan_id, shard), part, PutOptions::default()).await.unwrap();
        }
        let (mut listed, mut org) = (0, 0);
        for range in 0..28 {
            let ranks = HostRanks::default();
            let heartbeat = Heartbeat::default();
            let merged = merge_range(
                Arc::clone(&store),
                &*store,
                scan_id,
                shards.clone(),
                range,
                &ranks,
                &heartbeat,
            );
            let merged = merged.await.unwrap();
            listed += merged.hostnames;
            org += merged.top_level.get("org").copied().unwrap_or_default();
            assert_eq!(merged.top_level.values().sum::<u64>(), merged.hostnames);
        }
        assert_eq!(listed, all.len() as u64);
        assert_eq!(org, all.iter().filter(|e| e.hostname.ends_with(".org")).count() as u64);
        sort(&mut all);
        let keys: Vec<String> = all.iter().map(|e| search_key(&e.hostname).into_owned()).collect();
        for round in 0..10_000_usize {
            let key = &keys[round * 7919 % keys.len()];
            let start: String = key.chars().take(1 + round % key.chars().count()).collect();
            let plain: Vec<&SearchEntry> = all
                .iter()
                .zip(&keys)
                .filter(|(_, key)| key.starts_with(&start))
                .map(|(entry, _)| entry)
                .take(8)
                .collect();
            assert!(!plain.is_empty());
            assert_eq!(
                look_up(folder.path(), &start),
                plain.into_iter().cloned().collect::<Vec<_>>()
            );
        }
    }

    fn look_up(root: &std::path::Path, start: &str) -> Vec<SearchEntry> {
        let folder = root.join(scan_prefix(Uuid::nil()));
        let range = range_of(start);
        let index = std::fs::read_to_string(folder.join(search_index_path(range))).unwrap();
        let firsts: Vec<&str> = index.lines().collect();
        let before = firsts.partition_point(|first| *first < start).saturating_sub(1);
        let through = firsts.partition_point(|first| *first < start || first.starts_with(start));
        let mut found = Vec::new();
        for file in before..through {
            let bytes = std::fs::read(folder.join(search_file_path(range, file))).unwrap();
            let lines = read_lines(&bytes).unwrap();
            found.extend(lines.into_iter().filter(|e| search_key(&e.hostname).starts_with(start)));
            if found.len() >= 8 {
                break;
            }
        }
        found.truncate(8);
        found
    }
}
