//! Removes hosts from link pages (`t/<bundle>.html`), and finds the names that the pages show.
//!
//! Link pages belong to the whole site, so a page may be of another scan than the one from which a
//! host is removed. Such a page stays, because the removal from its own scan corrects it.
//!
//! Publishing writes pages from names that it read earlier, then reads the notes of removals (see
//! `map_tiles`) and corrects the noted pages. A removal notes its bundles before it corrects their
//! pages, so that one of both removes the host. Corrections only remove names. Each is a
//! conditional put, so that none is lost.

use std::{
    collections::{BTreeSet, HashSet},
    future::ready,
};

use everytab_bundler::{
    PublishedBundle,
    link_page::{BestKnown, LinkPage},
    object_names::{bundle_path, link_page, search_file_path, search_index_path},
    search::{RANGES, SearchEntry, index::read_index, read_lines},
};
use everytab_storage::{ObjectChange, StorageError, Tagged};
use futures_util::{StreamExt, TryStreamExt, stream};

use super::{
    content::read_bundle,
    map_tiles::RewrittenBundle,
    search_files::{RemovalError, ScanObjects},
};
use crate::site_objects::{CONCURRENT_OBJECTS, put_options};

impl ScanObjects<'_> {
    /// Removes from the link pages of rewritten bundles the names that have no tab there any more.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub async fn correct_link_pages(
        &self,
        rewritten: &[RewrittenBundle],
    ) -> Result<(), StorageError> {
        let corrections: Vec<_> = rewritten
            .iter()
            .map(|RewrittenBundle { number, bundle, .. }| async move {
                let key = link_page(*number);
                let change = |before| ready(Ok(self.corrected(*number, before, bundle)));
                let changed: Result<(), StorageError> =
                    self.site.update(&key, put_options(&key), change).await;
                self.heartbeat.beat();
                changed
            })
            .collect();
        stream::iter(corrections)
            .buffer_unordered(CONCURRENT_OBJECTS)
            .try_for_each(|()| ready(Ok(())))
            .await
    }

    /// Corrects the link pages of all bundles that removals noted, by the current bundles.
    pub(crate) async fn correct_noted_link_pages(&self) -> Result<(), RemovalError> {
        let noted: BTreeSet<i32> = self.noted_for_map().await?.into_iter().collect();
        for number in noted {
            let key = link_page(number);
            let change = |before| self.corrected_by_store(number, before);
            self.site.update(&key, put_options(&key), change).await?;
            self.heartbeat.beat();
        }
        Ok(())
    }

    async fn corrected_by_store(
        &self,
        number: i32,
        before: Option<Tagged>,
    ) -> Result<ObjectChange<()>, RemovalError> {
        // Must follow the read of the page: a removal changes the bundle before the page.
        let key = format!("{}{}", self.prefix, bundle_path(number));
        let bundle = read_bundle(self.site, &key).await?;
        Ok(self.corrected(number, before, &bundle))
    }

    /// Returns a bundle's link page without the hosts that are not in the bundle.
    fn corrected(
        &self,
        number: i32,
        before: Option<Tagged>,
        bundle: &PublishedBundle,
    ) -> ObjectChange<()> {
        let Some(before) = before else { return ObjectChange::Keep(()) };
        let after = match LinkPage::read(number, &before.bytes) {
            Some(page) if page.prefix != self.prefix => return ObjectChange::Keep(()),
            Some(page) => without_others(page, bundle),
            // A damaged page may name any host.
            None => LinkPage { bundle: number, ..LinkPage::default() },
        };
        let after = after.write();
        if after.as_bytes() == before.bytes {
            ObjectChange::Keep(())
        } else {
            ObjectChange::Write(after.into(), ())
        }
    }

    /// Returns the best-known hostnames of the first `bundles` bundles, from the search files.
    /// Skips search files that are missing or malformed, because a scan is published without the
    /// files of discarded search jobs, too. The returned flag is true if this skipped no file.
    pub(crate) async fn best_known(
        &self,
        bundles: usize,
    ) -> Result<(Vec<BestKnown>, bool), StorageError> {
        let mut best = vec![BestKnown::default(); bundles];
        let mut is_complete = true;
        for range in 0..RANGES {
            let key = format!("{}{}", self.prefix, search_index_path(range));
            let Some(index) = self.site.get_tagged(&key).await? else {
                tracing::warn!(key, "link pages have no names of this range: its index is missing");
                is_complete = false;
                continue;
            };
            let files = read_index(&index.bytes).len();
            let reads: Vec<_> = (0..files).map(|number| self.names_in(range, number)).collect();
            let mut lines = stream::iter(reads).buffered(CONCURRENT_OBJECTS);
            while let Some(lines) = lines.try_next().await? {
                is_complete &= lines.is_some();
                for SearchEntry { hostname, bundle, rank, .. } in lines.iter().flatten() {
                    let of_bundle = usize::try_from(*bundle).ok().and_then(|at| best.get_mut(at));
                    if let Some(of_bundle) = of_bundle {
                        of_bundle.add(hostname, *rank);
                    }
                }
            }
        }
        Ok((best, is_complete))
    }

    /// Returns `None` if the file is missing or malformed.
    async fn names_in(
        &self,
        range: usize,
        number: usize,
    ) -> Result<Option<Vec<SearchEntry>>, StorageError> {
        let key = format!("{}{}", self.prefix, search_file_path(range, number));
        let found = self.site.get_tagged(&key).await?;
        self.heartbeat.beat();
        let Some(found) = found else {
            tracing::warn!(key, "link pages have no names of this search file: it is missing");
            return Ok(None);
        };
        Ok(read_lines(&found.bytes)
            .inspect_err(|error| {
                tracing::warn!(key, %error, "link pages have no names of this search file");
            })
            .ok())
    }
}

/// Removes the names without a tab in the bundle. The number of tabs before the bundle stays that
/// of publishing, because otherwise each removal would rewrite all later pages.
fn without_others(page: LinkPage, bundle: &PublishedBundle) -> LinkPage {
    let hosts: HashSet<String> = bundle.tabs().map(|(hostname, ..)| hostname).collect();
    let tabs = u32::try_from(hosts.len()).unwrap_or(u32::MAX);
    let names = page.names.iter().filter(|name| hosts.contains(*name)).cloned().collect();
    LinkPage { names, tabs, ..page }
}

#[cfg(test)]
mod tests;
