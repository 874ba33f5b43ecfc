//! Removes tabs from a scan's objects, for publishing and for takedowns.
//!
//! A bundle is rewritten without its excluded tabs, under a name derived from its content, which
//! the manifest then lists in `overrides`. Its last tab moves into a removed tab's slot, so that
//! the other tabs keep the positions that the search files contain. Objects under its other names
//! are overwritten too, because older manifests and caches still refer to them.
//!
//! An interrupted removal is completed by repeating it. An excluded host is found by its search
//! line, so this line is removed last. An excluded title or icon is found in its bundle, so the
//! bundle is overwritten after the search lines.

mod answer_files;
mod content;
mod landmarks;
mod link_pages;
mod map_orders;
mod map_tiles;
mod request_files;
mod search_files;
mod word_notes;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use everytab_bundler::{
    PublishedBundle,
    object_names::{bundle_path, rewritten_bundles_prefix, search_index_path},
    removed_hosts::RemovedHosts,
    removed_tabs::RemovedContent,
    search::SearchEntry,
};
use everytab_storage::StorageError;
use futures_util::{StreamExt, TryStreamExt, stream};

pub(crate) use self::content::IconLists;
use self::{
    answer_files::AnswerFiles,
    content::{BundleNames, read_bundle},
    search_files::{Changes, SearchFiles},
};
pub use self::{
    map_tiles::{RewrittenBundle, RewrittenMap, RewrittenOrder, RewrittenTile},
    search_files::{FoundTabs, RemovalError, ScanObjects},
};
use crate::site_objects::{CONCURRENT_OBJECTS, put_options};

impl ScanObjects<'_> {
    /// Returns true if the scan has search files, by which a host's tab is found.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub async fn can_be_searched(&self) -> Result<bool, StorageError> {
        let key = format!("{}{}", self.prefix, search_index_path(0));
        Ok(self.site.head(&key).await?.is_some())
    }

    /// Finds the excluded hosts' tabs. For a domain, or for many names, this reads all search
    /// lines.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails, or a search file is malformed.
    pub async fn find(&self, excluded: &RemovedHosts) -> Result<FoundTabs, RemovalError> {
        SearchFiles(*self).find(excluded).await
    }

    /// Finds the tabs with an excluded title or icon. `name` returns the key of the object to read
    /// for a bundle.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails, an object is malformed, or an icon is excluded and the
    /// scan has no icon lists.
    pub async fn find_content(
        &self,
        content: &RemovedContent,
        name: impl Fn(i32) -> String,
    ) -> Result<FoundTabs, RemovalError> {
        let names = BundleNames::list(self.site, self.prefix).await?;
        let entries = names.find(self, content, name).await?;
        Ok(FoundTabs { entries, twins: BTreeSet::new() })
    }

    /// Rewrites each bundle with a tab in `found`, and each in `also`, without these tabs, under a
    /// new name. `name` returns the key of the object to read for a bundle.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails, or a bundle is malformed.
    pub async fn rewrite(
        &self,
        found: &FoundTabs,
        also: impl IntoIterator<Item = i32>,
        name: impl Fn(i32) -> String,
    ) -> Result<Vec<RewrittenBundle>, RemovalError> {
        let also: BTreeSet<i32> = also.into_iter().collect();
        let mut bundles: BTreeMap<i32, Vec<&SearchEntry>> =
            also.iter().map(|number| (*number, Vec::new())).collect();
        for entry in &found.entries {
            bundles.entry(entry.bundle).or_default().push(entry);
        }
        let rewrites: Vec<_> = bundles
            .into_iter()
            .map(|(number, entries)| self.rewrite_one(number, entries, name(number)))
            .collect();
        let rewrites = stream::iter(rewrites).buffered(CONCURRENT_OBJECTS);
        let is_also = |number: i32| also.contains(&number);
        rewrites
            .map_ok(|bundle| RewrittenBundle { any_slot: is_also(bundle.number), ..bundle })
            .try_collect()
            .await
    }

    async fn rewrite_one(
        &self,
        number: i32,
        entries: Vec<&SearchEntry>,
        read_from: String,
    ) -> Result<RewrittenBundle, RemovalError> {
        let mut bundle = read_bundle(self.site, &read_from).await?;
        let mut rewritten = (0, 0);
        let mut slots = BTreeSet::new();
        for entry in entries {
            slots.extend(usize::try_from(entry.slot));
            if let Some(tab) = bundle.remove(&entry.hostname) {
                slots.insert(tab.slot);
                rewritten.0 += 1;
                rewritten.1 += u64::from(tab.had_icon);
            }
        }
        let path = bundle.path(number);
        self.put(&format!("{}{path}", self.prefix), &bundle).await?;
        let (tabs, with_icon) = rewritten;
        Ok(RewrittenBundle { number, path, tabs, with_icon, bundle, slots, any_slot: false })
    }

    async fn put(&self, key: &str, bundle: &PublishedBundle) -> Result<(), StorageError> {
        self.site.put(key, bundle.to_bytes().into(), put_options(key)).await?;
        self.heartbeat.beat();
        Ok(())
    }

    /// Overwrites the bundles' objects under their other names, and returns the keys of these
    /// objects.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub async fn overwrite_old(
        &self,
        rewritten: &[RewrittenBundle],
    ) -> Result<Vec<String>, RemovalError> {
        let overwrites: Vec<_> =
            rewritten.iter().map(|rewritten| self.overwrite_one(rewritten)).collect();
        let keys: Vec<Vec<String>> =
            stream::iter(overwrites).buffered(CONCURRENT_OBJECTS).try_collect().await?;
        Ok(keys.concat())
    }

    async fn overwrite_one(
        &self,
        rewritten: &RewrittenBundle,
    ) -> Result<Vec<String>, RemovalError> {
        let RewrittenBundle { number, path, bundle, .. } = rewritten;
        let rewritten_before = format!("{}{}", self.prefix, rewritten_bundles_prefix(*number));
        let listed = self.site.list_all(&rewritten_before).await?;
        let mut old: BTreeSet<String> = listed.into_iter().map(|object| object.key).collect();
        old.insert(format!("{}{}", self.prefix, bundle_path(*number)));
        old.remove(&format!("{}{path}", self.prefix));
        for key in &old {
            self.put(key, bundle).await?;
        }
        Ok(old.into_iter().collect())
    }

    /// Updates the search files and the map's landmarks with the tabs' new positions, and removes
    /// the lines of removed hosts. Returns the hostnames whose lines may have changed.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails, or a search file is malformed.
    pub async fn correct_search(
        &self,
        found: &FoundTabs,
        rewritten: &[RewrittenBundle],
    ) -> Result<BTreeSet<String>, RemovalError> {
        let removed: HashSet<&str> =
            found.entries.iter().map(|entry| entry.hostname.as_str()).collect();
        let mut moved = HashMap::new();
        for RewrittenBundle { number, bundle, slots, .. } in rewritten {
            for &slot in slots {
                if let Some(hostname) = bundle.hostname_at(slot) {
                    moved.insert(hostname, (*number, i32::try_from(slot).unwrap_or(i32::MAX)));
                }
            }
        }
        let bundles = rewritten.iter().map(|bundle| bundle.number);
        IconLists::new(self.site, self.prefix).forget(bundles, &removed).await?;
        let changes = Changes { moved: &moved, removed: &removed };
        let names = SearchFiles(*self);
        // Change the name files last, because a host's line in them is needed to find the other
        // files that contain this host.
        let lines = names.lines_that_change(changes).await?;
        let has_words =
            |line: &&SearchEntry| line.rank.is_some() && removed.contains(line.hostname.as_str());
        self.note_for_words(lines.iter().filter(has_words)).await?;
        AnswerFiles(*self).edit(&lines, changes).await?;
        self.edit_landmarks(changes).await?;
        names.edit(changes).await?;
        Ok(moved.into_keys().chain(removed.into_iter().map(str::to_owned)).collect())
    }
}
