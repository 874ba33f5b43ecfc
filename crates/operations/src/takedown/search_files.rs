//! The published search files as a takedown reads and changes them.

use std::future::ready;

use everytab_bundler::{
    object_names::{search_file_path, search_index_path},
    search::{
        SearchEntry,
        index::{files_that_may_hold, first_keys_of, read_index, write_index},
        range_of, read_lines, search_key, write_lines,
    },
};
use everytab_storage::{ObjectChange, Store, Tagged};

use crate::{error::OperationError, published_object::put_options};

/// A host's search line, and another host with the same key.
#[derive(Debug)]
pub(super) struct FoundLine {
    pub(super) entry: SearchEntry,
    /// The host with or without `www.`, if it has a tab too.
    pub(super) twin: Option<String>,
}

pub(super) struct SearchFiles<'a> {
    site: &'a dyn Store,
    prefix: &'a str,
}

impl<'a> SearchFiles<'a> {
    /// The search files of the scan below `prefix`.
    pub(super) fn new(site: &'a dyn Store, prefix: &'a str) -> Self {
        Self { site, prefix }
    }

    fn file(&self, range: usize, number: usize) -> String {
        format!("{}{}", self.prefix, search_file_path(range, number))
    }

    /// The line of a host, if there is one.
    pub(super) async fn find(&self, hostname: &str) -> Result<Option<FoundLine>, OperationError> {
        let mut entry = None;
        let mut twin = None;
        for key in self.files_of(hostname).await? {
            for line in self.lines(&key, &self.site.get(&key).await?)? {
                if line.hostname == hostname {
                    entry = Some(line);
                } else if search_key(&line.hostname) == search_key(hostname) {
                    twin = Some(line.hostname);
                }
            }
        }
        Ok(entry.map(|entry| FoundLine { entry, twin }))
    }

    /// Says where a host's tab is now. No line: nothing to say.
    pub(super) async fn correct(
        &self,
        hostname: &str,
        bundle: i32,
        place: usize,
    ) -> Result<(), OperationError> {
        let slot = i32::try_from(place).unwrap_or(i32::MAX);
        for key in self.files_of(hostname).await? {
            self.edit(&key, |lines| {
                for line in lines.iter_mut().filter(|line| line.hostname == hostname) {
                    (line.bundle, line.slot) = (bundle, slot);
                }
            })
            .await?;
        }
        Ok(())
    }

    /// Removes the line of a host, and its key where a file began with it.
    pub(super) async fn remove(&self, hostname: &str) -> Result<(), OperationError> {
        for key in self.files_of(hostname).await? {
            self.edit(&key, |lines| lines.retain(|line| line.hostname != hostname)).await?;
        }
        self.renew_index(range_of(hostname)).await
    }

    /// The files that may hold a host's line.
    async fn files_of(&self, hostname: &str) -> Result<Vec<String>, OperationError> {
        let range = range_of(hostname);
        let index = self.index(range).await?;
        let files = files_that_may_hold(&index, &search_key(hostname));
        Ok(files.map(|number| self.file(range, number)).collect())
    }

    async fn index(&self, range: usize) -> Result<Vec<String>, OperationError> {
        let key = format!("{}{}", self.prefix, search_index_path(range));
        let bytes = self.site.get(&key).await.map_err(|error| {
            OperationError::new(format!(
                "the site's search index, by which a tab is found: {error}"
            ))
        })?;
        Ok(read_index(&bytes))
    }

    fn lines(&self, key: &str, bytes: &[u8]) -> Result<Vec<SearchEntry>, OperationError> {
        read_lines(bytes).map_err(|reason| {
            OperationError::new(format!("{key} in {}: {reason}", self.site.url()))
        })
    }

    /// Changes a file if `change` changes its lines.
    async fn edit(
        &self,
        key: &str,
        change: impl Fn(&mut Vec<SearchEntry>),
    ) -> Result<(), OperationError> {
        let edited = |before: Option<Tagged>| -> Result<ObjectChange<()>, OperationError> {
            let Some(before) = before else { return Ok(ObjectChange::Keep(())) };
            let mut lines = self.lines(key, &before.bytes)?;
            let unchanged = lines.clone();
            change(&mut lines);
            Ok(match lines == unchanged {
                true => ObjectChange::Keep(()),
                false => ObjectChange::Write(write_lines(&lines).into(), ()),
            })
        };
        self.site.update(key, put_options(key), |before| ready(edited(before))).await
    }

    /// Makes the index name the first keys that its files have now.
    async fn renew_index(&self, range: usize) -> Result<(), OperationError> {
        let key = format!("{}{}", self.prefix, search_index_path(range));
        let change = |before| self.renewed_index(range, before);
        self.site.update(&key, put_options(&key), change).await
    }

    async fn renewed_index(
        &self,
        range: usize,
        before: Option<Tagged>,
    ) -> Result<ObjectChange<()>, OperationError> {
        let Some(before) = before else { return Ok(ObjectChange::Keep(())) };
        let before = read_index(&before.bytes);
        let mut firsts = Vec::with_capacity(before.len());
        for number in 0..before.len() {
            let file = self.file(range, number);
            let lines = self.lines(&file, &self.site.get(&file).await?)?;
            firsts.push(lines.first().map(|line| search_key(&line.hostname).into_owned()));
        }
        let after = first_keys_of(&firsts);
        Ok(match after == before {
            true => ObjectChange::Keep(()),
            false => ObjectChange::Write(write_index(&after).into(), ()),
        })
    }
}
