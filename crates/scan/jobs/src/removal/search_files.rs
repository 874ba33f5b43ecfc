//! Reads and edits a scan's search files during a removal.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    future::ready,
};

use everytab_bundler::{
    object_names::{search_file_path, search_index_path},
    removed_hosts::RemovedHosts,
    search::{
        RANGES, SearchEntry,
        index::{files_that_may_hold, first_keys_of, read_index, write_index},
        range_of, read_lines, search_key, write_lines,
    },
};
use everytab_fetcher::Heartbeat;
use everytab_job_result::JobError;
use everytab_storage::{ObjectChange, StorageError, Store, Tagged};
use futures_util::{StreamExt, TryStreamExt, stream};

use crate::site_objects::{CONCURRENT_OBJECTS, put_options};

/// One scan's published objects.
#[derive(Debug, Clone, Copy)]
pub struct ScanObjects<'a> {
    pub(super) site: &'a dyn Store,
    pub(super) prefix: &'a str,
    pub(super) heartbeat: &'a Heartbeat,
}

impl<'a> ScanObjects<'a> {
    /// Creates a handle for the objects below `prefix`, which ends with a slash.
    pub fn new(site: &'a dyn Store, prefix: &'a str, heartbeat: &'a Heartbeat) -> Self {
        Self { site, prefix, heartbeat }
    }
}

/// Why tabs could not be removed.
#[derive(Debug, thiserror::Error)]
pub enum RemovalError {
    /// A store failed, or an object is missing.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// An object on the site is malformed, or the search index is missing.
    #[error("{0}")]
    NotUnderstood(String),
    /// A blocking task was aborted. The same removal may succeed later.
    #[error("{0}")]
    Interrupted(String),
}

impl RemovalError {
    pub(super) fn interrupted(error: JobError) -> Self {
        Self::Interrupted(error.to_string())
    }
}

/// The excluded hosts' tabs in one scan.
#[derive(Debug, Clone, Default)]
pub struct FoundTabs {
    /// The excluded hosts' search lines.
    pub entries: Vec<SearchEntry>,
    /// Hosts that are not excluded, but differ from an excluded one only by `www.`.
    pub twins: BTreeSet<String>,
}

/// Maximum number of names that are looked up one by one. For more names, reading a file for each
/// costs more than reading all files.
const MAX_LOOKED_UP: usize = 1_000;

pub(super) fn are_few(hosts: &RemovedHosts) -> bool {
    hosts.suffixes.is_empty() && hosts.hostnames.len() <= MAX_LOOKED_UP
}

#[derive(Clone, Copy)]
pub(super) struct Changes<'a> {
    pub(super) moved: &'a HashMap<String, (i32, i32)>,
    pub(super) removed: &'a HashSet<&'a str>,
}

impl<'a> Changes<'a> {
    fn hostnames(self) -> impl Iterator<Item = &'a str> {
        self.moved.keys().map(String::as_str).chain(self.removed.iter().copied())
    }

    pub(super) fn apply(&self, entry: &mut SearchEntry) -> bool {
        if let Some(&place) = self.moved.get(&entry.hostname) {
            (entry.bundle, entry.slot) = place;
        }
        !self.removed.contains(entry.hostname.as_str())
    }
}

type FileNumber = (usize, usize);

pub(super) struct SearchFiles<'a>(pub(super) ScanObjects<'a>);

impl SearchFiles<'_> {
    fn key(&self, (range, number): FileNumber) -> String {
        format!("{}{}", self.0.prefix, search_file_path(range, number))
    }

    pub(super) async fn find(&self, excluded: &RemovedHosts) -> Result<FoundTabs, RemovalError> {
        let are_few = are_few(excluded);
        let names = || excluded.hostnames.iter().map(String::as_str);
        let files: Vec<FileNumber> = if are_few {
            self.files_of(names()).await?.into_keys().collect()
        } else {
            self.all_files().await?
        };
        let keys: HashSet<_> =
            if are_few { names().map(search_key).collect() } else { HashSet::new() };
        let reads: Vec<_> = files.into_iter().map(|file| self.lines(file)).collect();
        let mut lines = stream::iter(reads).buffered(CONCURRENT_OBJECTS);
        let mut found = FoundTabs::default();
        while let Some(lines) = lines.try_next().await? {
            for line in lines {
                if excluded.contain(&line.hostname) {
                    found.entries.push(line);
                } else if keys.contains(&search_key(&line.hostname)) {
                    found.twins.insert(line.hostname);
                }
            }
        }
        Ok(found)
    }

    pub(super) async fn lines_that_change(
        &self,
        changes: Changes<'_>,
    ) -> Result<Vec<SearchEntry>, RemovalError> {
        let files = self.files_of(changes.hostnames()).await?;
        let reads: Vec<_> = files.into_keys().map(|file| self.lines_of(file, changes)).collect();
        stream::iter(reads).buffered(CONCURRENT_OBJECTS).try_concat().await
    }

    /// Does not add a line for a host without one.
    pub(super) async fn edit(&self, changes: Changes<'_>) -> Result<(), RemovalError> {
        let files = self.files_of(changes.hostnames()).await?;
        let edits: Vec<_> = files.into_keys().map(|file| self.edit_one(file, changes)).collect();
        stream::iter(edits).buffered(CONCURRENT_OBJECTS).try_collect::<Vec<()>>().await?;
        let removed = changes.removed;
        let ranges: BTreeSet<usize> = removed.iter().map(|hostname| range_of(hostname)).collect();
        for range in ranges {
            self.renew_index(range, removed).await?;
        }
        Ok(())
    }

    async fn lines_of(
        &self,
        file: FileNumber,
        changes: Changes<'_>,
    ) -> Result<Vec<SearchEntry>, RemovalError> {
        let mut lines = self.lines(file).await?;
        lines.retain(|line| {
            let name = line.hostname.as_str();
            changes.removed.contains(name) || changes.moved.contains_key(name)
        });
        Ok(lines)
    }

    async fn edit_one(&self, file: FileNumber, changes: Changes<'_>) -> Result<(), RemovalError> {
        let key = self.key(file);
        let edited = |before: Option<Tagged>| -> Result<ObjectChange<()>, RemovalError> {
            let Some(before) = before else { return Ok(ObjectChange::Keep(())) };
            let mut lines = self.parsed(&key, &before.bytes)?;
            let unchanged = lines.clone();
            lines.retain_mut(|line| changes.apply(line));
            Ok(if lines == unchanged {
                ObjectChange::Keep(())
            } else {
                ObjectChange::Write(write_lines(&lines).into(), ())
            })
        };
        self.0.heartbeat.beat();
        self.0.site.update(&key, put_options(&key), |before| ready(edited(before))).await
    }

    async fn files_of(
        &self,
        hostnames: impl Iterator<Item = &str>,
    ) -> Result<BTreeMap<FileNumber, usize>, RemovalError> {
        let mut indexes: HashMap<usize, Vec<String>> = HashMap::new();
        let mut files = BTreeMap::new();
        for hostname in hostnames {
            let range = range_of(hostname);
            let index = match indexes.entry(range) {
                std::collections::hash_map::Entry::Occupied(index) => index.into_mut(),
                std::collections::hash_map::Entry::Vacant(place) => {
                    place.insert(self.index(range).await?)
                }
            };
            for number in files_that_may_hold(index, &search_key(hostname)) {
                *files.entry((range, number)).or_default() += 1;
            }
        }
        Ok(files)
    }

    async fn all_files(&self) -> Result<Vec<FileNumber>, RemovalError> {
        let mut files = Vec::new();
        for range in 0..RANGES {
            files.extend((0..self.index(range).await?.len()).map(|number| (range, number)));
        }
        Ok(files)
    }

    async fn index(&self, range: usize) -> Result<Vec<String>, RemovalError> {
        let key = format!("{}{}", self.0.prefix, search_index_path(range));
        let bytes = self.0.site.get(&key).await.map_err(|error| {
            if error.is_not_found() {
                RemovalError::NotUnderstood(format!(
                    "the site's search index, by which a tab is found: {error}"
                ))
            } else {
                error.into()
            }
        })?;
        Ok(read_index(&bytes))
    }

    async fn lines(&self, file: FileNumber) -> Result<Vec<SearchEntry>, RemovalError> {
        let key = self.key(file);
        let bytes = self.0.site.get(&key).await?;
        self.0.heartbeat.beat();
        self.parsed(&key, &bytes)
    }

    fn parsed(&self, key: &str, bytes: &[u8]) -> Result<Vec<SearchEntry>, RemovalError> {
        read_lines(bytes).map_err(|reason| {
            RemovalError::NotUnderstood(format!("{key} in {}: {reason}", self.0.site.url()))
        })
    }

    async fn renew_index(&self, range: usize, removed: &HashSet<&str>) -> Result<(), RemovalError> {
        let keys: HashSet<_> = removed.iter().map(|hostname| search_key(hostname)).collect();
        if !self.index(range).await?.iter().any(|first| keys.contains(first.as_str())) {
            return Ok(());
        }
        let key = format!("{}{}", self.0.prefix, search_index_path(range));
        let change = |before| self.renewed_index(range, before);
        self.0.site.update(&key, put_options(&key), change).await
    }

    async fn renewed_index(
        &self,
        range: usize,
        before: Option<Tagged>,
    ) -> Result<ObjectChange<()>, RemovalError> {
        let Some(before) = before else { return Ok(ObjectChange::Keep(())) };
        let before = read_index(&before.bytes);
        let reads: Vec<_> = (0..before.len()).map(|number| self.lines((range, number))).collect();
        let files: Vec<Vec<SearchEntry>> =
            stream::iter(reads).buffered(CONCURRENT_OBJECTS).try_collect().await?;
        let firsts: Vec<Option<String>> = files
            .iter()
            .map(|lines| lines.first().map(|line| search_key(&line.hostname).into_owned()))
            .collect();
        let after = first_keys_of(&firsts);
        Ok(if after == before {
            ObjectChange::Keep(())
        } else {
            ObjectChange::Write(write_index(&after).into(), ())
        })
    }
}

#[cfg(test)]
mod tests {
    use everytab_storage::StoreSettings;

    use super::*;

    /// Looks up a host in a site whose search indexes are missing, or unreadable because they are
    /// links to themselves.
    async fn error_of(unreadable: bool) -> RemovalError {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("file://{}", folder.path().display());
        let site = everytab_storage::open(&url, &StoreSettings::default()).await.unwrap();
        for range in (0..RANGES).filter(|_| unreadable) {
            let path = folder.path().join(search_index_path(range));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink("index.tsv", path).unwrap();
        }
        let heartbeat = Heartbeat::default();
        let files = SearchFiles(ScanObjects::new(&*site, "", &heartbeat));
        files.find(&RemovedHosts::from_iter(["a.example"])).await.unwrap_err()
    }

    #[tokio::test]
    async fn only_a_missing_index_means_that_a_site_cannot_be_searched() {
        let missing = error_of(false).await;
        assert!(matches!(missing, RemovalError::NotUnderstood(_)), "{missing}");
        let unreadable = error_of(true).await;
        assert!(matches!(unreadable, RemovalError::Storage(_)), "{unreadable}");
    }
}
