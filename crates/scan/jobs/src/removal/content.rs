//! Finds tabs by their title or icon, and edits the icon lists during a removal.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    future::ready,
};

use everytab_bundler::{
    PublishedBundle,
    icon_list::{self, DigestPrefix, IconLine, hostname_prefix},
    object_names::{
        BUNDLES_PREFIX, ICON_LISTS_PREFIX, bundle_number, bundle_path, icon_list_number,
        icon_list_path,
    },
    removed_tabs::RemovedContent,
    search::SearchEntry,
};
use everytab_fetcher::Heartbeat;
use everytab_storage::{ObjectChange, Store, Tagged};
use futures_util::{StreamExt, TryStreamExt, stream};

use super::search_files::{RemovalError, ScanObjects};
use crate::site_objects::{CONCURRENT_OBJECTS, put_options};

pub(super) async fn read_bundle(
    site: &dyn Store,
    key: &str,
) -> Result<PublishedBundle, RemovalError> {
    PublishedBundle::read(&site.get(key).await?)
        .map_err(|error| RemovalError::NotUnderstood(format!("{key}: invalid bundle: {error}")))
}

pub(super) struct BundleNames {
    numbers: BTreeSet<i32>,
}

type Wanted = HashMap<i32, HashSet<DigestPrefix>>;

impl BundleNames {
    pub(super) async fn list(site: &dyn Store, prefix: &str) -> Result<Self, RemovalError> {
        let numbers = numbers_below(site, prefix, BUNDLES_PREFIX, bundle_number).await?;
        Ok(Self { numbers })
    }

    pub(super) async fn find(
        &self,
        objects: &ScanObjects<'_>,
        content: &RemovedContent,
        name: impl Fn(i32) -> String,
    ) -> Result<Vec<SearchEntry>, RemovalError> {
        let hosts = if content.icons.is_empty() {
            Wanted::new()
        } else {
            self.hosts_of_icons(objects, &content.icons).await?
        };
        let none = HashSet::new();
        let wanted = |number| hosts.get(&number).unwrap_or(&none);
        let is_read = |number: &&i32| !content.titles.is_empty() || !wanted(**number).is_empty();
        let reads: Vec<_> = self
            .numbers
            .iter()
            .filter(is_read)
            .map(|&number| tabs_of(objects, number, name(number), content, wanted(number)))
            .collect();
        let found: Vec<_> =
            stream::iter(reads).buffered(CONCURRENT_OBJECTS).try_collect::<Vec<_>>().await?;
        Ok(found.concat())
    }

    /// All shards have equally many bundles, so each icon list's number is a multiple of this
    /// count. A shard without a list and without icons was discarded.
    async fn check_lists(
        &self,
        objects: &ScanObjects<'_>,
        firsts: &BTreeSet<i32>,
    ) -> Result<(), RemovalError> {
        let all = i32::try_from(self.numbers.len()).unwrap_or(i32::MAX).max(1);
        let per_shard = firsts.iter().copied().filter(|first| *first > 0).reduce(gcd);
        let per_shard = per_shard.unwrap_or(all);
        let without = self.numbers.iter().filter(|number| {
            let first = **number - **number % per_shard;
            !firsts.contains(&first)
        });
        let reads: Vec<_> = without
            .map(|&number| async move {
                let key = format!("{}{}", objects.prefix, bundle_path(number));
                let bundle = read_bundle(objects.site, &key).await?;
                objects.heartbeat.beat();
                let has_icons = bundle.tabs().any(|(_, _, has_icon)| has_icon);
                Ok::<_, RemovalError>(has_icons.then_some(number))
            })
            .collect();
        let mut unknown = stream::iter(reads).buffered(CONCURRENT_OBJECTS);
        while let Some(found) = unknown.try_next().await? {
            if let Some(number) = found {
                return Err(RemovalError::NotUnderstood(format!(
                    "{} in {} has no icon list for bundle {number}, so tabs cannot be found by \
                     icon: an older version wrote it; while the scan's database exists, `scan \
                     retry --kind bundle-shard` writes the lists; a new scan excludes the icon",
                    objects.prefix,
                    objects.site.url()
                )));
            }
        }
        Ok(())
    }

    async fn hosts_of_icons(
        &self,
        objects: &ScanObjects<'_>,
        icons: &HashSet<DigestPrefix>,
    ) -> Result<Wanted, RemovalError> {
        let lists = IconLists::new(objects.site, objects.prefix);
        let firsts = lists.list().await?;
        self.check_lists(objects, &firsts).await?;
        let reads: Vec<_> =
            firsts.iter().map(|&first| lists.read(objects.heartbeat, first)).collect();
        let mut lines = stream::iter(reads).buffered(CONCURRENT_OBJECTS);
        let mut wanted = Wanted::new();
        while let Some((first, lines)) = lines.try_next().await? {
            let hosts: HashSet<DigestPrefix> = lines
                .into_iter()
                .filter(|line| icons.contains(&line.icon))
                .map(|line| line.hostname)
                .collect();
            if hosts.is_empty() {
                continue;
            }
            let next = firsts.range(first.saturating_add(1)..).next().copied();
            let last = next.map_or(i32::MAX, |next| next.saturating_sub(1));
            for &number in self.numbers.range(first..=last) {
                wanted.insert(number, hosts.clone());
            }
        }
        Ok(wanted)
    }
}

fn gcd(left: i32, right: i32) -> i32 {
    if right == 0 { left } else { gcd(right, left % right) }
}

async fn tabs_of(
    objects: &ScanObjects<'_>,
    number: i32,
    key: String,
    content: &RemovedContent,
    hosts: &HashSet<DigestPrefix>,
) -> Result<Vec<SearchEntry>, RemovalError> {
    let bundle = read_bundle(objects.site, &key).await?;
    objects.heartbeat.beat();
    let is_excluded = |hostname: &str, title: &str, has_icon: bool| {
        content.titles.iter().any(|pattern| pattern.matches(title))
            || has_icon && hosts.contains(&hostname_prefix(hostname))
    };
    let mut found = Vec::new();
    for (slot, (hostname, title, has_icon)) in (0..).zip(bundle.tabs()) {
        if is_excluded(&hostname, title, has_icon) {
            found.push(SearchEntry::new(hostname, number, slot));
        }
    }
    Ok(found)
}

async fn numbers_below(
    site: &dyn Store,
    prefix: &str,
    path: &str,
    number: impl Fn(&str) -> Option<i32>,
) -> Result<BTreeSet<i32>, RemovalError> {
    let listed = site.list_all(&format!("{prefix}{path}")).await?;
    let paths = listed.iter().filter_map(|object| object.key.strip_prefix(prefix));
    Ok(paths.filter_map(number).collect())
}

#[derive(Clone, Copy)]
pub(crate) struct IconLists<'a> {
    site: &'a dyn Store,
    prefix: &'a str,
}

impl<'a> IconLists<'a> {
    pub(crate) fn new(site: &'a dyn Store, prefix: &'a str) -> Self {
        Self { site, prefix }
    }

    pub(crate) async fn list(&self) -> Result<BTreeSet<i32>, RemovalError> {
        numbers_below(self.site, self.prefix, ICON_LISTS_PREFIX, icon_list_number).await
    }

    fn key(&self, first: i32) -> String {
        format!("{}{}", self.prefix, icon_list_path(first))
    }

    pub(crate) async fn read(
        &self,
        heartbeat: &Heartbeat,
        first: i32,
    ) -> Result<(i32, Vec<IconLine>), RemovalError> {
        let key = self.key(first);
        let bytes = self.site.get(&key).await?;
        heartbeat.beat();
        let lines = icon_list::read(&bytes).map_err(|reason| self.not_understood(&key, &reason))?;
        Ok((first, lines))
    }

    pub(super) async fn forget(
        &self,
        bundles: impl Iterator<Item = i32>,
        hostnames: &HashSet<&str>,
    ) -> Result<(), RemovalError> {
        if hostnames.is_empty() {
            return Ok(());
        }
        let firsts = self.list().await?;
        let lists: BTreeSet<i32> =
            bundles.filter_map(|number| firsts.range(..=number).next_back().copied()).collect();
        let removed: HashSet<_> = hostnames.iter().map(|name| hostname_prefix(name)).collect();
        let edits: Vec<_> =
            lists.into_iter().map(|first| self.forget_in_one(first, &removed)).collect();
        stream::iter(edits).buffered(CONCURRENT_OBJECTS).try_collect::<Vec<()>>().await?;
        Ok(())
    }

    async fn forget_in_one(
        &self,
        first: i32,
        removed: &HashSet<DigestPrefix>,
    ) -> Result<(), RemovalError> {
        let key = self.key(first);
        let change = |before: Option<Tagged>| {
            let Some(before) = before else { return ready(Ok(ObjectChange::Keep(()))) };
            ready(match icon_list::without(&before.bytes, removed) {
                Ok(Some(after)) => Ok(ObjectChange::Write(after.into(), ())),
                Ok(None) => Ok(ObjectChange::Keep(())),
                Err(reason) => Err(self.not_understood(&key, &reason)),
            })
        };
        self.site.update(&key, put_options(&key), change).await
    }

    fn not_understood(&self, key: &str, reason: &str) -> RemovalError {
        RemovalError::NotUnderstood(format!("{key} in {}: {reason}", self.site.url()))
    }
}
