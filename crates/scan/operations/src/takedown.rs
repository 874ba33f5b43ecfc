//! `takedown`: immediately removes hosts, titles or icons from a published site, without a
//! database.
//!
//! A takedown also changes older scans' objects, because they can be fetched until `scan gc`, and
//! `publish --force` may publish them again. The private list is written first, and a scan that is
//! being published reads it last, so that at least one of them removes the host. A second run
//! completes an interrupted takedown.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::ready,
    sync::Arc,
};

use everytab_bundler::{
    Manifest,
    map::MapManifest,
    object_names::{
        BLOCKLIST, ICON_LISTS_PREFIX, LINKS_PREFIX, MANIFEST, MAP_LANDMARKS_PATH, MAP_PATH,
        SCANS_PREFIX, SEARCH_WORDS_PREFIX, bundle_path, search_range_prefix,
    },
    removed_tabs::RemovedTabs,
    search::range_of,
    takedown_list::{PatternKind, with_patterns},
};
use everytab_console::{LineSink, OperationError};
use everytab_fetcher::Heartbeat;
use everytab_jobs::{
    blocked_pattern::PatternList,
    removal::{FoundTabs, RemovalError, RewrittenBundle, RewrittenMap, ScanObjects},
    site_objects::put_options,
};
use everytab_storage::{AwsSettings, ObjectChange, Store, StoreSettings, Tagged, cdn};
use uuid::Uuid;

use crate::blocklist::Patterns;

const SEARCH_PATH: &str = "search/";
/// At most this many name ranges are invalidated separately. Above this limit, one path invalidates
/// all search files, because CloudFront rejects a sixteenth path with a wildcard while fifteen are
/// in progress.
const MAX_RANGES_APART: usize = 2;

/// The patterns to take down, and the site.
#[derive(Debug, Clone)]
pub struct TakedownOptions {
    /// Domains, titles, icon digests, or hostnames with exactly the spelling in the tabs.
    pub patterns: Patterns,
    /// The URL of the published site's store.
    pub site: String,
    /// The URL of the private prefix. Its blocklist.txt excludes the patterns from later scans.
    pub private: Option<String>,
    /// The CloudFront distribution to invalidate.
    pub distribution: Option<String>,
    /// The reason, which is written next to the patterns in blocklist.txt.
    pub reason: Option<String>,
}

/// Takes down all tabs that match the patterns, and prints each. Returns false if a pattern has no
/// tab and was not taken down before, or if part of the site is damaged, so that a tab or its icon
/// may remain.
///
/// # Errors
///
/// Returns an error if a store fails or does not hold a site.
pub async fn take_down(
    options: TakedownOptions,
    sink: &dyn LineSink,
) -> Result<bool, OperationError> {
    let TakenDown { is_found, is_whole } = take_down_from(options, true, sink).await?;
    Ok(is_found && is_whole)
}

/// Works like [`take_down`], but allows a store without a published scan, and patterns without
/// tabs.
pub(crate) async fn take_down_from_all(
    options: TakedownOptions,
    sink: &dyn LineSink,
) -> Result<bool, OperationError> {
    Ok(take_down_from(options, false, sink).await?.is_whole)
}

struct TakenDown {
    /// Whether every pattern had a tab, or was taken down before.
    is_found: bool,
    /// Whether every scan could be searched, and every map tile repainted.
    is_whole: bool,
}

async fn take_down_from(
    options: TakedownOptions,
    needs_site: bool,
    sink: &dyn LineSink,
) -> Result<TakenDown, OperationError> {
    let TakedownOptions { patterns, site, private, distribution, reason } = options;
    let kind = patterns.kind();
    let patterns: BTreeSet<&String> = patterns.patterns().iter().collect();
    let was_listed = match &private {
        Some(private) => {
            let listed: Vec<_> = patterns.iter().map(|pattern| (kind, pattern.as_str())).collect();
            list_as_blocked(private, &listed, reason.as_deref(), sink).await?
        }
        None => {
            sink.note(format_args!(
                "without --private, the next scan publishes it again; `blocklist add` prevents this"
            ));
            BTreeSet::new()
        }
    };
    let site = everytab_storage::open(&site, &StoreSettings::default()).await?;
    let mut excluded = RemovedTabs::default();
    patterns.iter().for_each(|pattern| excluded.add(kind, pattern));
    let takedown = Takedown { sink, site, distribution, excluded };
    let (gone, is_whole) = takedown.remove(needs_site).await?;
    for (host, places) in &gone {
        for (prefix, bundle) in places {
            sink.data(format_args!("{host}\ttaken down\tbundle {bundle}\t{prefix}"))?;
        }
    }
    let mut missing = 0;
    for pattern in patterns {
        let is_gone = match kind {
            PatternKind::Hostname => gone.contains_key(pattern),
            _ => !gone.is_empty(),
        };
        if is_gone {
            continue;
        }
        if was_listed.contains(pattern) {
            sink.data(format_args!("{pattern}\tis already taken down"))?;
            continue;
        }
        missing += 1;
        sink.data(format_args!("{pattern}\tnot found"))?;
        let url = takedown.site.url();
        match kind {
            PatternKind::Hostname => sink.note(format_args!(
                "{pattern} has no tab on {url}; check the name, including www."
            )),
            _ => sink.note(format_args!("no tab on {url} matches it")),
        }
    }
    Ok(TakenDown { is_found: missing == 0, is_whole })
}

fn cannot_be_searched(error: &OperationError) -> bool {
    error.causes().any(|cause| {
        matches!(cause.downcast_ref::<RemovalError>(), Some(RemovalError::NotUnderstood(_)))
    })
}

/// For each removed host, the scans' prefixes and bundles that contained its tab.
type Gone = BTreeMap<String, Vec<(String, i32)>>;

struct Removed {
    prefix: String,
    found: FoundTabs,
    rewritten: Vec<RewrittenBundle>,
    map: RewrittenMap,
}

enum ScanMap<'a> {
    Live(&'a MapManifest),
    Indexed,
    None,
}

struct Takedown<'a> {
    sink: &'a dyn LineSink,
    site: Arc<dyn Store>,
    distribution: Option<String>,
    excluded: RemovedTabs,
}

impl Takedown<'_> {
    /// Returns false if a scan cannot be searched, one of its request files is damaged, or one of
    /// its map tiles cannot be repainted.
    async fn remove(&self, needs_site: bool) -> Result<(Gone, bool), OperationError> {
        let mut gone = Gone::new();
        let mut is_whole = true;
        let mut published = String::new();
        if needs_site || self.site.head(MANIFEST).await?.is_some() {
            match self.remove_tabs().await {
                // The loop below retries this scan and reports the error.
                Err(error) if cannot_be_searched(&error) => {}
                live => {
                    let live = live?;
                    published.clone_from(&live.prefix);
                    self.remove_lines(&live, &mut gone).await?;
                    self.name_twins(&live.found);
                    is_whole &= self.is_map_whole(&live);
                }
            }
        }
        for prefix in self.site.list_folders(SCANS_PREFIX).await? {
            is_whole &= self.noted(self.remove_requests(&prefix).await.map(|()| true))?;
            if prefix != published {
                is_whole &= self.noted(self.remove_from_older(prefix, &mut gone).await)?;
            }
        }
        Ok((gone, is_whole))
    }

    /// Reports a missing or damaged object and returns false, so that this takedown continues with
    /// the other scans.
    fn noted(&self, is_whole: Result<bool, OperationError>) -> Result<bool, OperationError> {
        match is_whole {
            Err(error) if cannot_be_searched(&error) => {
                self.sink.note(format_args!("{}", error.message));
                Ok(false)
            }
            is_whole => is_whole,
        }
    }

    fn is_map_whole(&self, removed: &Removed) -> bool {
        let trouble = removed.map.trouble(&removed.prefix);
        if let Some(trouble) = &trouble {
            self.sink.note(format_args!("{trouble}"));
        }
        trouble.is_none()
    }

    fn name_twins(&self, found: &FoundTabs) {
        for twin in &found.twins {
            self.sink.note(format_args!("{twin} has its own tab; to remove it, name it too"));
        }
    }

    async fn remove_requests(&self, prefix: &str) -> Result<(), OperationError> {
        let heartbeat = Heartbeat::default();
        let objects = ScanObjects::new(&*self.site, prefix, &heartbeat);
        let changed = objects.remove_requests(&self.excluded.hosts).await?;
        if changed.is_empty() {
            return Ok(());
        }
        self.invalidate(changed.into_iter().map(|key| format!("/{key}")).collect()).await
    }

    /// After this, a page that reads the manifest does not show the tabs.
    async fn remove_tabs(&self) -> Result<Removed, OperationError> {
        let change = |before| self.without_tabs(before);
        let removed = self.site.update(MANIFEST, put_options(MANIFEST), change).await?;
        let mut paths = self.overwrite_old(&removed).await?;
        paths.insert(format!("/{MANIFEST}"));
        self.invalidate(paths).await?;
        Ok(removed)
    }

    async fn without_tabs(
        &self,
        before: Option<Tagged>,
    ) -> Result<ObjectChange<Removed>, OperationError> {
        let before = manifest(&*self.site, before.as_ref())?;
        let map = before.map.as_ref().map_or(ScanMap::None, ScanMap::Live);
        let name = |number| before.bundle_name(number);
        let removed = self.rewrite(&before.prefix, map, name).await?;
        let mut manifest = before.clone();
        for bundle in &removed.rewritten {
            manifest.without_tabs(bundle.number, &bundle.path, bundle.tabs, bundle.with_icon);
        }
        if let Some(map) = &mut manifest.map {
            removed.map.name_in(map);
        }
        Ok(if manifest == before {
            ObjectChange::Keep(removed)
        } else {
            ObjectChange::Write(manifest.to_bytes().into(), removed)
        })
    }

    /// `name` returns the key of the object to read for a bundle.
    async fn rewrite(
        &self,
        prefix: &str,
        map: ScanMap<'_>,
        name: impl Fn(i32) -> String,
    ) -> Result<Removed, OperationError> {
        let heartbeat = Heartbeat::default();
        let objects = ScanObjects::new(&*self.site, prefix, &heartbeat);
        let RemovedTabs { hosts, content } = &self.excluded;
        let found = if content.is_empty() {
            objects.find(hosts).await?
        } else {
            objects.find_content(content, &name).await?
        };
        let rewritten = objects.rewrite(&found, [], name).await?;
        if !content.is_empty() {
            // Correct the search files first, because a second run finds these tabs in their
            // bundles.
            objects.correct_search(&found, &rewritten).await?;
        }
        // Write notes even for the live scan. If another scan goes live in between, this scan's map
        // may still be drawn and published again later.
        objects.note_for_map(&rewritten).await?;
        let map = match map {
            ScanMap::Live(map) => objects.rewrite_map(map, &rewritten).await?,
            ScanMap::Indexed => objects.rewrite_indexed_map(&rewritten).await?,
            ScanMap::None => RewrittenMap::default(),
        };
        Ok(Removed { prefix: prefix.to_owned(), found, rewritten, map })
    }

    /// Returns the paths to invalidate in the CDN.
    async fn overwrite_old(&self, removed: &Removed) -> Result<BTreeSet<String>, OperationError> {
        let heartbeat = Heartbeat::default();
        let objects = ScanObjects::new(&*self.site, &removed.prefix, &heartbeat);
        // Correct the link pages before the bundles, by which a second run finds an excluded title
        // or icon.
        objects.correct_link_pages(&removed.rewritten).await?;
        let keys = objects.overwrite_old(&removed.rewritten).await?;
        // Publishing may have written a page from the old bundle in between.
        objects.correct_link_pages(&removed.rewritten).await?;
        objects.overwrite_old_tiles(&removed.map).await?;
        let mut paths: BTreeSet<String> = keys.into_iter().map(|key| format!("/{key}")).collect();
        if !removed.map.all_tiles().is_empty() {
            // Use one path, because CloudFront invalidates at most 3,000 individual objects
            // concurrently.
            paths.insert(format!("/{}{MAP_PATH}*", removed.prefix));
        }
        // Also invalidate pages that an interrupted run has corrected.
        if !removed.rewritten.is_empty() {
            paths.insert(format!("/{LINKS_PREFIX}*"));
        }
        Ok(paths)
    }

    async fn remove_lines(&self, removed: &Removed, gone: &mut Gone) -> Result<(), OperationError> {
        let Removed { prefix, found, rewritten, .. } = removed;
        let heartbeat = Heartbeat::default();
        let objects = ScanObjects::new(&*self.site, prefix, &heartbeat);
        let changed = objects.correct_search(found, rewritten).await?;
        // Invalidate all these files, because an interrupted run may have changed one.
        let hosts = changed.iter().chain(&self.excluded.hosts.hostnames);
        let mut paths = search_paths(prefix, hosts.map(|host| range_of(host)).collect());
        if !rewritten.is_empty() {
            paths.insert(format!("/{prefix}{ICON_LISTS_PREFIX}*"));
            paths.insert(format!("/{prefix}{MAP_LANDMARKS_PATH}"));
        }
        if !paths.is_empty() {
            self.invalidate(paths).await?;
        }
        for entry in &found.entries {
            let places = gone.entry(entry.hostname.clone()).or_default();
            places.push((prefix.clone(), entry.bundle));
        }
        Ok(())
    }

    /// Returns false if this scan's map tiles are damaged.
    async fn remove_from_older(
        &self,
        prefix: String,
        gone: &mut Gone,
    ) -> Result<bool, OperationError> {
        let heartbeat = Heartbeat::default();
        let objects = ScanObjects::new(&*self.site, &prefix, &heartbeat);
        if !objects.can_be_searched().await? {
            self.sink.note(format_args!(
                "{prefix} has no search files yet; publishing it removes what blocklist.txt of \
                 its scan's private prefix names"
            ));
            return Ok(true);
        }
        let original = |number| format!("{prefix}{}", bundle_path(number));
        let removed = self.rewrite(&prefix, ScanMap::Indexed, original).await?;
        if removed.found.entries.is_empty() {
            return Ok(true);
        }
        let paths = self.overwrite_old(&removed).await?;
        self.invalidate(paths).await?;
        self.remove_lines(&removed, gone).await?;
        Ok(self.is_map_whole(&removed))
    }

    async fn invalidate(&self, paths: BTreeSet<String>) -> Result<(), OperationError> {
        if let Some(distribution) = &self.distribution {
            let paths: Vec<String> = paths.into_iter().collect();
            let reference = format!("takedown-{}", Uuid::new_v4());
            let settings = AwsSettings::default();
            let id = cdn::invalidate(distribution, &paths, &reference, &settings).await?;
            self.sink.note(format_args!(
                "invalidating {} paths in CloudFront {distribution} ({id})",
                paths.len()
            ));
        }
        Ok(())
    }
}

fn search_paths(prefix: &str, ranges: BTreeSet<usize>) -> BTreeSet<String> {
    if ranges.len() > MAX_RANGES_APART {
        return BTreeSet::from([format!("/{prefix}{SEARCH_PATH}*")]);
    }
    let words = (!ranges.is_empty()).then(|| SEARCH_WORDS_PREFIX.to_owned());
    let changed = ranges.into_iter().map(search_range_prefix).chain(words);
    changed.map(|path| format!("/{prefix}{path}*")).collect()
}

fn manifest(site: &dyn Store, found: Option<&Tagged>) -> Result<Manifest, OperationError> {
    let tagged = found.ok_or_else(|| {
        OperationError::new(format!(
            "there is no site at {}: no manifest.json; check --site",
            site.url()
        ))
    })?;
    Manifest::read(&tagged.bytes)
        .map_err(|error| OperationError::new(format!("the site at {}: {error}", site.url())))
}

/// Returns the patterns that were already listed.
pub(crate) async fn list_as_blocked(
    private: &str,
    patterns: &[(PatternKind, &str)],
    reason: Option<&str>,
    sink: &dyn LineSink,
) -> Result<BTreeSet<String>, OperationError> {
    let store = everytab_storage::open(private, &StoreSettings::default()).await?;
    list_in(&*store, BLOCKLIST, patterns, reason, sink).await
}

pub(crate) async fn list_in(
    store: &dyn Store,
    key: &str,
    patterns: &[(PatternKind, &str)],
    reason: Option<&str>,
    sink: &dyn LineSink,
) -> Result<BTreeSet<String>, OperationError> {
    let change = |before: Option<Tagged>| {
        let bytes = before.map(|tagged| tagged.bytes).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let list = PatternList::read(&text);
        let refusals = list.refusals();
        let known: BTreeSet<(PatternKind, String)> = list.patterns.into_iter().collect();
        let is_known =
            |(kind, pattern): &(PatternKind, &str)| known.contains(&(*kind, (*pattern).to_owned()));
        let (listed, new): (Vec<_>, Vec<_>) = patterns.iter().copied().partition(is_known);
        let listed: BTreeSet<String> =
            listed.into_iter().map(|(_, pattern)| pattern.to_owned()).collect();
        ready(Ok::<_, OperationError>(if new.is_empty() {
            ObjectChange::Keep((listed, refusals))
        } else {
            let text = with_patterns(&text, &new, reason);
            ObjectChange::Write(text.into(), (listed, refusals))
        }))
    };
    let (listed, refusals) = store.update(key, put_options(key), change).await?;
    if let Some(refusals) = refusals {
        sink.note(format_args!("{}/{key}: {refusals}", store.url()));
    }
    Ok(listed)
}

#[cfg(test)]
mod tests;
