//! `search`: merges one hostname range of all shards' parts into the published search files.

use std::{collections::BTreeMap, sync::Arc};

use everytab_bundler::{
    object_names::{
        cache_control, content_type, scan_prefix, search_file_path, search_index_path, search_part,
    },
    search::{SearchEntry, files, part::HEADER_BYTES, part::range_in_part, read_lines, sort},
    stats_names::{CountFamily, CountName, InputName, OutcomeName},
};
use everytab_coordinator::{Coordinator, Output};
use everytab_fetcher::Heartbeat;
use everytab_storage::{PutOptions, Store};
use futures_util::{StreamExt, TryStreamExt, stream};
use uuid::Uuid;

use crate::{
    context::Context,
    job::{Assignment, Job, JobError, PerformedJob},
    stats::Stats,
};

/// Search jobs that a worker performs concurrently: each holds its range of hostnames in memory.
pub const CONCURRENT_JOBS: usize = 1;
/// Parts of the index that a job reads concurrently; each is about a megabyte.
const CONCURRENT_READS: usize = 16;

pub(crate) struct Search;

impl Job for Search {
    type Input = Vec<i32>;

    async fn load(coordinator: &Coordinator, job: &Assignment) -> Result<Vec<i32>, JobError> {
        Ok(coordinator.bundled_shards(job.scan).await?)
    }

    async fn perform(
        context: &Context,
        job: &Assignment,
        shards: Vec<i32>,
    ) -> Result<PerformedJob, JobError> {
        let range = usize::try_from(job.part).unwrap_or(usize::MAX);
        let archive = context.store(&job.settings.archive).await?;
        let site = context.store(&job.settings.site).await?;
        let scan_id = job.info.scan_id;
        let merged = merge_range(archive, &*site, scan_id, shards, range, &job.heartbeat).await?;
        let mut stats = Stats::default();
        stats.input(InputName::Hostnames, merged.hostnames);
        stats.outcome(OutcomeName::Listed.as_str(), merged.hostnames);
        stats.count(CountName::SearchFiles, merged.files);
        for (domain, hostnames) in &merged.top_level {
            stats.count_member(CountFamily::TopLevelDomain, domain, *hostnames);
        }
        Ok(PerformedJob { output: Output::Nothing, stats })
    }
}

/// The size of a merged range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedRange {
    /// Lines written.
    pub hostnames: u64,
    /// Files written, without the index.
    pub files: u64,
    /// Hostnames by top-level domain.
    pub top_level: BTreeMap<String, u64>,
}

/// Merges the parts that the shards wrote of one range into the files that the page reads.
///
/// # Errors
/// When a store refuses, or an object is not a search part.
pub async fn merge_range(
    archive: Arc<dyn Store>,
    site: &dyn Store,
    scan_id: Uuid,
    shards: Vec<i32>,
    range: usize,
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
            entries.extend(part);
            Ok(entries)
        })
        .await?;
    // Each part is sorted already, and this sort merges sorted runs in linear time.
    sort(&mut entries);
    let prefix = scan_prefix(scan_id);
    let mut count = 0;
    for (number, text) in files::files(&entries).enumerate() {
        put(site, &(prefix.clone() + &search_file_path(range, number)), text).await?;
        heartbeat.beat();
        count += 1;
    }
    put(site, &(prefix + &search_index_path(range)), files::index(&entries)).await?;
    let top_level = files::top_level_domains(&entries);
    Ok(MergedRange { hostnames: entries.len() as u64, files: count, top_level })
}

async fn read_range(
    archive: Arc<dyn Store>,
    key: String,
    range: usize,
) -> Result<Vec<SearchEntry>, JobError> {
    let refused = |error| JobError::Discard(format!("{key} is not a search part: {error}"));
    let header = archive.get_range(&key, 0..HEADER_BYTES as u64).await?;
    let bytes = range_in_part(&header, range).map_err(refused)?;
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    read_lines(&archive.get_range(&key, bytes).await?).map_err(refused)
}

async fn put(site: &dyn Store, key: &str, text: String) -> Result<(), JobError> {
    let options = PutOptions::new(content_type(key), cache_control(key));
    Ok(site.put(key, text.into(), options).await?)
}

#[cfg(test)]
mod tests {
    use everytab_bundler::search::{part::write_part, range_of, search_key};
    use everytab_storage::StoreSettings;

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

    /// 10,000 prefixes and whole names, looked for as the page does, against all names.
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
                .map(|(slot, hostname)| SearchEntry { hostname, bundle: shard, slot: slot as i32 })
                .collect();
            all.extend(entries.clone());
            let part = write_part(entries).into();
            store.put(&search_part(scan_id, shard), part, PutOptions::default()).await.unwrap();
        }
        let (mut listed, mut org) = (0, 0);
        for range in 0..28 {
            let heartbeat = Heartbeat::default();
            let merged = merge_range(
                Arc::clone(&store),
                &*store,
                scan_id,
                shards.clone(),
                range,
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
        let (folder, range) = (root.join(scan_prefix(Uuid::nil())), range_of(start));
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
