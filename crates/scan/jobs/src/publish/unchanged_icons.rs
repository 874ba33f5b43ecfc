//! Counts the icons that have not changed since the previously published scan. Each scan's icon
//! lists form one sequence sorted by hostname digest, regardless of the number of shards, so both
//! are merged with only a few lists in memory.

use std::vec;

use everytab_bundler::{
    Manifest,
    icon_list::{DigestPrefix, IconLine},
    object_names::STATS,
    stats_document::{CountSection, ScanNumbers, StageCount},
    stats_names::{CountName, StageName},
};
use everytab_fetcher::Heartbeat;
use everytab_storage::Store;
use futures_util::{
    StreamExt, TryStreamExt,
    stream::{self, BoxStream},
};
use serde_json::Value;

use crate::{
    removal::{IconLists, RemovalError},
    site_objects::CONCURRENT_OBJECTS,
};

/// Counts of hosts that have an icon in both scans.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct UnchangedIcons {
    pub(super) compared: u64,
    pub(super) unchanged: u64,
}

impl UnchangedIcons {
    /// If this scan is already published, returns the counts from its earlier publishing.
    pub(super) async fn count(
        site: &dyn Store,
        manifest: &Manifest,
        published: Option<&Manifest>,
        heartbeat: &Heartbeat,
    ) -> Result<Option<Self>, RemovalError> {
        let published = match published {
            Some(published) if published.scan < manifest.scan => published,
            Some(published) if published.scan == manifest.scan => {
                return Self::counted_before(site, manifest).await;
            }
            _ => return Ok(None),
        };
        let mut before = Lines::of(site, &published.prefix, heartbeat).await?;
        let mut now = Lines::of(site, &manifest.prefix, heartbeat).await?;
        let mut icons = Self::default();
        let mut earlier = before.next().await?;
        while let Some(line) = now.next().await? {
            while earlier.is_some_and(|earlier| earlier.hostname < line.hostname) {
                earlier = before.next().await?;
            }
            if let Some(earlier) = earlier.filter(|earlier| earlier.hostname == line.hostname) {
                icons.compared += 1;
                icons.unchanged += u64::from(earlier.icon == line.icon);
            }
        }
        Ok(Some(icons))
    }

    async fn counted_before(
        site: &dyn Store,
        manifest: &Manifest,
    ) -> Result<Option<Self>, RemovalError> {
        let stats = site.get_tagged(STATS).await?;
        let stats = stats.and_then(|stats| serde_json::from_slice::<Value>(&stats.bytes).ok());
        let stats = stats.filter(|stats| stats["scan"] == manifest.scan.to_string());
        Ok(stats.and_then(|stats| {
            let compared = stats["icons_compared"].as_u64()?;
            Some(Self { compared, unchanged: stats["icons_unchanged"].as_u64()? })
        }))
    }

    pub(super) fn counts(self) -> [(CountName, u64); 2] {
        [(CountName::IconsCompared, self.compared), (CountName::IconsUnchanged, self.unchanged)]
    }

    /// An earlier publish job may have counted these icons.
    pub(super) fn replace_in(self, numbers: &mut ScanNumbers) {
        for (name, amount) in self.counts() {
            let stage = StageName::Publish.as_str();
            let name = name.as_str();
            numbers.counts.retain(|count| count.stage != stage || count.name != name);
            numbers.counts.push(StageCount {
                stage: stage.to_owned(),
                section: CountSection::Counts,
                name: name.to_owned(),
                amount,
            });
        }
    }
}

/// The lines in all icon lists of a scan, sorted by hostname digest.
struct Lines<'a> {
    lists: BoxStream<'a, Result<(i32, Vec<IconLine>), RemovalError>>,
    lines: vec::IntoIter<IconLine>,
}

impl<'a> Lines<'a> {
    async fn of(
        site: &'a dyn Store,
        prefix: &'a str,
        heartbeat: &'a Heartbeat,
    ) -> Result<Self, RemovalError> {
        let lists = IconLists::new(site, prefix);
        let firsts = lists.list().await?;
        let reads =
            firsts.into_iter().map(move |first| async move { lists.read(heartbeat, first).await });
        let lists = stream::iter(reads).buffered(CONCURRENT_OBJECTS).boxed();
        Ok(Self { lists, lines: Vec::new().into_iter() })
    }

    async fn next(&mut self) -> Result<Option<IconLine>, RemovalError> {
        loop {
            if let Some(line) = self.lines.next() {
                return Ok(Some(line));
            }
            let Some((_, mut lines)) = self.lists.try_next().await? else { return Ok(None) };
            lines.sort_unstable_by_key(|line| -> DigestPrefix { line.hostname });
            self.lines = lines.into_iter();
        }
    }
}
