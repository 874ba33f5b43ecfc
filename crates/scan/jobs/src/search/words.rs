//! Merges the words by which ranked hosts are found. Reads whole parts, because a word's hosts are
//! in every range.

use std::sync::Arc;

use everytab_bundler::{
    SearchKinds,
    object_names::{
        SEARCH_KINDS_PATH, scan_prefix, search_part, search_words_file_path,
        search_words_index_path, search_words_prefix,
    },
    search::{
        SearchEntry,
        answers::{BEST_HOSTS, best_file, starts_with_best},
        index::write_index,
        key::without_www,
        ranks::HostRanks,
        words::{LINES_PER_FILE, words_by_range, write_word_lines},
    },
};
use everytab_fetcher::Heartbeat;
use everytab_job_result::JobError;
use everytab_storage::Store;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::json;
use uuid::Uuid;

use super::parts::{CONCURRENT_READS, read_part};
use crate::{
    removal::ScanObjects,
    site_objects::{put_all, put_object},
};

/// Counts for the merged words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MergedWords {
    /// Hosts with a rank.
    pub hosts: u64,
    /// Lines written.
    pub lines: u64,
    /// Files written, excluding the indexes.
    pub files: u64,
}

/// Merges the shards' parts into the word files, and records the kinds of search files in this
/// scan.
///
/// # Errors
///
/// Returns an error if a store fails, or an object is not a search part.
pub async fn merge_words(
    archive: Arc<dyn Store>,
    site: &dyn Store,
    scan_id: Uuid,
    shards: Vec<i32>,
    ranks: &HostRanks,
    heartbeat: &Heartbeat,
) -> Result<MergedWords, JobError> {
    let mut merged = MergedWords::default();
    if !ranks.is_empty() {
        let prefix = scan_prefix(scan_id);
        let objects = ScanObjects::new(site, &prefix, heartbeat);
        let notes = objects.noted_for_words().await?;
        let mut entries = read_ranked(archive, scan_id, shards, ranks, heartbeat).await?;
        entries.retain(|entry| !notes.hold(&entry.hostname));
        dedup(&mut entries);
        merged.hosts = entries.len() as u64;
        for (range, words) in words_by_range(&entries).into_iter().enumerate() {
            let lines: Vec<(&str, &SearchEntry)> = words
                .iter()
                .flat_map(|(word, hosts)| hosts.iter().map(move |host| (&**word, *host)))
                .filter_map(|(word, number)| Some((word, entries.get(number as usize)?)))
                .collect();
            merged.lines += lines.len() as u64;
            merged.files += put_words(site, &prefix, range, &lines, heartbeat).await?;
        }
        // A takedown that ran during this job may not have found these words.
        let notes = objects.noted_for_words().await?;
        entries.retain(|entry| notes.hold(&entry.hostname));
        objects.remove_words(&entries).await?;
    }
    let kinds = SearchKinds { best: true, words: !ranks.is_empty() };
    let kinds = json!(kinds).to_string();
    put_object(site, &(scan_prefix(scan_id) + SEARCH_KINDS_PATH), kinds).await?;
    Ok(merged)
}

async fn put_words(
    site: &dyn Store,
    prefix: &str,
    range: usize,
    lines: &[(&str, &SearchEntry)],
    heartbeat: &Heartbeat,
) -> Result<u64, JobError> {
    let chunks = lines.chunks(LINES_PER_FILE);
    let first = |chunk: &[(&str, &SearchEntry)]| chunk.first().map(|(word, _)| (*word).to_owned());
    let first_words: Vec<String> = chunks.clone().filter_map(first).collect();
    let files = chunks.enumerate().map(|(number, chunk)| {
        let key = prefix.to_owned() + &search_words_file_path(range, number);
        (key, write_word_lines(chunk.iter().copied()))
    });
    let mut objects: Vec<(String, String)> = files.collect();
    let best = starts_with_best(&first_words).into_iter().filter_map(|start| {
        let from = lines.partition_point(|(word, _)| *word < &*start);
        let count = lines[from..].partition_point(|(word, _)| word.starts_with(&*start));
        let path = search_words_prefix(range) + &best_file(&start)?;
        Some((
            prefix.to_owned() + &path,
            write_word_lines(best_hosts(&lines[from..from + count]).into_iter()),
        ))
    });
    objects.extend(best);
    let count = put_all(site, objects, heartbeat).await?;
    let index = prefix.to_owned() + &search_words_index_path(range);
    put_object(site, &index, write_index(&first_words)).await?;
    Ok(count)
}

fn best_hosts<'a>(lines: &[(&'a str, &'a SearchEntry)]) -> Vec<(&'a str, &'a SearchEntry)> {
    let mut found: Vec<(&str, &SearchEntry)> = Vec::with_capacity(BEST_HOSTS + 1);
    let order = |entry: &'a SearchEntry| (entry.rank, entry.hostname.as_str());
    for &(word, entry) in lines {
        let at = found.partition_point(|(_, better)| order(better) < order(entry));
        let is_there = found.get(at).is_some_and(|(_, other)| other.hostname == entry.hostname);
        if at < BEST_HOSTS && !is_there {
            found.insert(at, (word, entry));
            found.truncate(BEST_HOSTS);
        }
    }
    found
}

async fn read_ranked(
    archive: Arc<dyn Store>,
    scan_id: Uuid,
    shards: Vec<i32>,
    ranks: &HostRanks,
    heartbeat: &Heartbeat,
) -> Result<Vec<SearchEntry>, JobError> {
    let reads: Vec<_> = shards
        .into_iter()
        .map(|shard| read_part(Arc::clone(&archive), search_part(scan_id, shard), ranks))
        .collect();
    let entries = stream::iter(reads).buffered(CONCURRENT_READS).inspect_ok(|_| heartbeat.beat());
    entries.try_concat().await
}

/// A rank belongs to a name with and without `www.`. If both hosts exist, this keeps the one
/// without `www.`.
fn dedup(entries: &mut Vec<SearchEntry>) {
    let order = |entry: &SearchEntry| (entry.rank, without_www(&entry.hostname) != entry.hostname);
    entries.sort_by_key(order);
    entries.dedup_by_key(|entry| entry.rank);
}
