//! Notes of removed hosts, which must not be found by words or be landmarks.
//!
//! The words job reads the archive, in which a removed host remains. A removal writes the notes and
//! then edits the existing words; the words job writes the words and then reads the notes.
//! Therefore at least one of them removes the host's words. Landmarks work likewise. A note names
//! the host by a digest, because the site's objects are public.

use std::collections::{HashMap, HashSet};

use everytab_bundler::{
    icon_list::{DigestPrefix, hostname_prefix},
    object_names::{SEARCH_REMOVED_PATH, search_removed_host, search_removed_path},
    search::SearchEntry,
};
use everytab_storage::StorageError;
use futures_util::{StreamExt, TryStreamExt, stream};

use super::{
    answer_files::AnswerFiles,
    search_files::{Changes, RemovalError, ScanObjects},
};
use crate::site_objects::{CONCURRENT_OBJECTS, put_options};

#[derive(Debug, Default)]
pub(crate) struct WordNotes(HashSet<DigestPrefix>);

impl WordNotes {
    pub(crate) fn hold(&self, hostname: &str) -> bool {
        !self.0.is_empty() && self.0.contains(&hostname_prefix(hostname))
    }
}

impl ScanObjects<'_> {
    pub(super) async fn note_for_words(
        &self,
        hosts: impl Iterator<Item = &SearchEntry>,
    ) -> Result<(), StorageError> {
        let puts: Vec<_> = hosts
            .map(|host| async move {
                let path = search_removed_path(hostname_prefix(&host.hostname));
                let key = format!("{}{path}", self.prefix);
                self.heartbeat.beat();
                self.site.put(&key, Vec::new().into(), put_options(&key)).await
            })
            .collect();
        stream::iter(puts).buffered(CONCURRENT_OBJECTS).try_collect().await
    }

    pub(crate) async fn noted_for_words(&self) -> Result<WordNotes, StorageError> {
        let listed = self.site.list_all(&format!("{}{SEARCH_REMOVED_PATH}", self.prefix)).await?;
        let host = |key: &str| search_removed_host(key.strip_prefix(self.prefix)?);
        Ok(WordNotes(listed.iter().filter_map(|object| host(&object.key)).collect()))
    }

    pub(crate) async fn remove_words(&self, hosts: &[SearchEntry]) -> Result<(), RemovalError> {
        let removed = hosts.iter().map(|host| host.hostname.as_str()).collect();
        let changes = Changes { moved: &HashMap::new(), removed: &removed };
        AnswerFiles(*self).edit_words(hosts, changes).await
    }
}
