//! The published search files as a takedown reads and changes them.
//!
//! `search/<range>/index.tsv` has one line a file, its first key; keys are ascending, and several
//! hostnames may share one (`www.` is left out of it), even across two files.

use bytes::Bytes;
use everytab_storage::{Condition, PutIf, Store, objects};

use super::{TRIES, busy};
use crate::{
    cli_error::CliError,
    jobs::{SearchEntry, range_of, read_lines, search_key, write_lines},
};

/// A host's line, and another host that people take for the same.
#[derive(Debug)]
pub(super) struct Found {
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

    fn key(&self, range: usize, name: &str) -> String {
        format!("{}search/{range}/{name}", self.prefix)
    }

    /// The line of a host, if there is one.
    pub(super) async fn find(&self, hostname: &str) -> Result<Option<Found>, CliError> {
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
        Ok(entry.map(|entry| Found { entry, twin }))
    }

    /// Says where a host's tab is now. No line: nothing to say.
    pub(super) async fn correct(
        &self,
        hostname: &str,
        bundle: i32,
        place: usize,
    ) -> Result<(), CliError> {
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
    pub(super) async fn remove(&self, hostname: &str) -> Result<(), CliError> {
        for key in self.files_of(hostname).await? {
            self.edit(&key, |lines| lines.retain(|line| line.hostname != hostname)).await?;
        }
        self.renew_index(range_of(hostname)).await
    }

    /// The files that may hold a host's line.
    async fn files_of(&self, hostname: &str) -> Result<Vec<String>, CliError> {
        let range = range_of(hostname);
        let index = self.index(range).await?;
        let files = candidates(&index, &search_key(hostname));
        Ok(files.map(|number| self.key(range, &format!("{number}.tsv"))).collect())
    }

    async fn index(&self, range: usize) -> Result<Vec<String>, CliError> {
        let key = self.key(range, "index.tsv");
        let bytes = self.site.get(&key).await.map_err(|error| {
            CliError::new(format!("the site's search index, by which a tab is found: {error}"))
        })?;
        Ok(String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect())
    }

    fn lines(&self, key: &str, bytes: &[u8]) -> Result<Vec<SearchEntry>, CliError> {
        let text = String::from_utf8_lossy(bytes);
        read_lines(&text)
            .map_err(|reason| CliError::new(format!("{key} in {}: {reason}", self.site.url())))
    }

    /// Changes a file if `change` changes its lines; again if somebody else did meanwhile.
    async fn edit(
        &self,
        key: &str,
        change: impl Fn(&mut Vec<SearchEntry>),
    ) -> Result<(), CliError> {
        for _ in 0..TRIES {
            let Some(tagged) = self.site.get_tagged(key).await? else { return Ok(()) };
            let before = self.lines(key, &tagged.bytes)?;
            let mut after = before.clone();
            change(&mut after);
            if after == before || self.replace(key, write_lines(&after), tagged.etag).await? {
                return Ok(());
            }
        }
        Err(busy(self.site, key))
    }

    async fn replace(&self, key: &str, text: String, etag: String) -> Result<bool, CliError> {
        let condition = Condition::Etag(etag);
        let options = objects::put_options(key);
        let put = self.site.put_if(key, Bytes::from(text), condition, options).await?;
        Ok(matches!(put, PutIf::Stored { .. }))
    }

    /// Makes the index name the first keys that its files have now.
    async fn renew_index(&self, range: usize) -> Result<(), CliError> {
        let key = self.key(range, "index.tsv");
        for _ in 0..TRIES {
            let Some(tagged) = self.site.get_tagged(&key).await? else { return Ok(()) };
            let before: Vec<String> =
                String::from_utf8_lossy(&tagged.bytes).lines().map(str::to_owned).collect();
            let mut firsts = Vec::with_capacity(before.len());
            for number in 0..before.len() {
                let file = self.key(range, &format!("{number}.tsv"));
                let lines = self.lines(&file, &self.site.get(&file).await?)?;
                firsts.push(lines.first().map(|line| search_key(&line.hostname).into_owned()));
            }
            let after = index_of(&firsts);
            if after == before {
                return Ok(());
            }
            let text: String = after.iter().map(|line| format!("{line}\n")).collect();
            if self.replace(&key, text, tagged.etag).await? {
                return Ok(());
            }
        }
        Err(busy(self.site, &key))
    }
}

/// The files, by number, in which a key may stand: from the last that begins before it to the last
/// that begins with it.
pub(super) fn candidates(index: &[String], key: &str) -> std::ops::Range<usize> {
    let before = index.partition_point(|first| first.as_str() < key);
    let through = index.partition_point(|first| first.as_str() <= key);
    before.saturating_sub(1)..through
}

/// The lines of an index by its files' first keys. A file that has become empty is passed over: it
/// gets the key of the next one, and at the end no line.
pub(super) fn index_of(firsts: &[Option<String>]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut next: Option<&String> = None;
    for first in firsts.iter().rev() {
        next = first.as_ref().or(next);
        lines.extend(next.cloned());
    }
    lines.reverse();
    lines
}
