//! Removes what was taken down or blocked after the scan was started: hosts, titles and icons. This
//! is repeated after publishing, because a takedown writes the private list before it looks for
//! scans.

use std::collections::BTreeSet;

use everytab_bundler::{
    Manifest,
    object_names::{BLOCKLIST, MANIFEST, bundle_path},
    removed_hosts::RemovedHosts,
    removed_tabs::RemovedTabs,
    takedown_list::PatternKind,
};
use everytab_coordinator::{BlockedHost, Coordinator};
use everytab_fetcher::Heartbeat;
use everytab_job_result::JobError;
use everytab_storage::{ObjectChange, Store, StoreSettings, Tagged};

use crate::{
    blocked_pattern::PatternList,
    removal::{FoundTabs, RemovalError, RewrittenBundle, ScanObjects},
    site_objects::put_options,
};

type Listed = BTreeSet<(PatternKind, String)>;

/// Exclusions that apply to a scan's site.
#[derive(Debug, Clone, Default)]
pub struct Excluded {
    private: Option<String>,
    listed: Listed,
    tabs: RemovedTabs,
}

#[derive(Debug, Default)]
pub(super) struct FoundExcluded {
    of_hosts: FoundTabs,
    of_content: FoundTabs,
}

impl FoundExcluded {
    pub(super) fn tabs(&self) -> u64 {
        let entries = self.of_hosts.entries.iter().chain(&self.of_content.entries);
        let hosts: BTreeSet<&str> = entries.map(|entry| entry.hostname.as_str()).collect();
        hosts.len() as u64
    }
}

impl Excluded {
    /// Loads the takedowns and blocks since the scan was started.
    ///
    /// # Errors
    /// Returns an error if Postgres or the private prefix cannot be reached.
    pub async fn load(
        coordinator: &Coordinator,
        scan: i32,
        private: Option<&str>,
    ) -> Result<Self, JobError> {
        let list = private_list(private).await?;
        if let Some(refusals) = list.refusals() {
            tracing::warn!(private, "{BLOCKLIST}: {refusals}");
        }
        let listed: Listed = list.patterns.into_iter().collect();
        let (kinds, patterns): (Vec<&str>, Vec<&str>) =
            listed.iter().map(|(kind, pattern)| (kind.name(), pattern.as_str())).unzip();
        let later = coordinator.load_later_blocks(scan, kinds, patterns).await?;
        Ok(Self { private: private.map(str::to_owned), listed, tabs: exclusions(later) })
    }

    /// Returns the excluded hosts.
    pub fn hosts(&self) -> &RemovedHosts {
        &self.tabs.hosts
    }

    pub(super) async fn find(
        &self,
        site: &dyn Store,
        manifest: &Manifest,
        heartbeat: &Heartbeat,
    ) -> Result<FoundExcluded, JobError> {
        let prefix = &manifest.prefix;
        let objects = ScanObjects::new(site, prefix, heartbeat);
        let original = |number| format!("{prefix}{}", bundle_path(number));
        let mut found = FoundExcluded::default();
        if !self.tabs.hosts.is_empty() {
            found.of_hosts = objects.find(&self.tabs.hosts).await?;
        }
        if !self.tabs.content.is_empty() {
            found.of_content = objects.find_content(&self.tabs.content, original).await?;
        }
        Ok(found)
    }

    /// Bundles that takedowns have already rewritten are rewritten again, because caches may still
    /// contain their originals. Returns a message if a map tile may still show what was removed.
    pub(super) async fn remove(
        &self,
        found: &FoundExcluded,
        site: &dyn Store,
        manifest: &mut Manifest,
        published: Option<&Manifest>,
        heartbeat: &Heartbeat,
    ) -> Result<Option<String>, JobError> {
        let again = published.map(|published| manifest.rewritten_before(published));
        let mut again = again.unwrap_or_default();
        let prefix = manifest.prefix.clone();
        let objects = ScanObjects::new(site, &prefix, heartbeat);
        if manifest.map.is_some() {
            again.extend(objects.noted_for_map().await?);
        }
        let original = |number| format!("{prefix}{}", bundle_path(number));
        let mut removed = 0;
        let mut trouble = None;
        if !self.tabs.hosts.is_empty() || !again.is_empty() {
            objects.remove_requests(&self.tabs.hosts).await?;
            let rewritten = objects.rewrite(&found.of_hosts, again, original).await?;
            trouble = rewrite_map(&objects, manifest, &rewritten).await?;
            objects.overwrite_old(&rewritten).await?;
            objects.correct_link_pages(&rewritten).await?;
            objects.correct_search(&found.of_hosts, &rewritten).await?;
            removed += without_tabs(manifest, &rewritten);
        }
        if !self.tabs.content.is_empty() {
            let rewritten = objects.rewrite(&found.of_content, [], original).await?;
            // Correct the search files first, because a second attempt finds these tabs in their
            // bundles.
            objects.correct_search(&found.of_content, &rewritten).await?;
            trouble = trouble.or(rewrite_map(&objects, manifest, &rewritten).await?);
            objects.correct_link_pages(&rewritten).await?;
            objects.overwrite_old(&rewritten).await?;
            removed += without_tabs(manifest, &rewritten);
        }
        if removed > 0 {
            tracing::info!(
                tabs = removed,
                "removed tabs that were excluded after the scan was started"
            );
        }
        Ok(trouble)
    }

    /// Removes what was added to the private list during publishing.
    pub(super) async fn remove_later_ones(
        &self,
        site: &dyn Store,
        manifest: Manifest,
        heartbeat: &Heartbeat,
    ) -> Result<Manifest, JobError> {
        let now = private_list(self.private.as_deref()).await?;
        let now: Listed = now.patterns.into_iter().collect();
        let later = now.difference(&self.listed).map(|(kind, pattern)| BlockedHost {
            kind: kind.name().to_owned(),
            pattern: pattern.clone(),
        });
        let tabs = exclusions(later);
        if tabs.hosts.is_empty() && tabs.content.is_empty() {
            return Ok(manifest);
        }
        let later = Self { tabs, ..self.clone() };
        let options = put_options(MANIFEST);
        let later = &later;
        let scan = manifest.scan;
        let change = |before: Option<Tagged>| async move {
            let live = before.map(|tagged| Manifest::read(&tagged.bytes)).transpose();
            let live = live.map_err(|error| {
                JobError::Discard(format!("{} after publishing: {error}", site.url()))
            })?;
            // Another scan has been published since then, and that publishing read a newer list.
            let Some(live) = live.filter(|live| live.scan == scan) else {
                return Ok(ObjectChange::Keep((None, None)));
            };
            let mut after = live.clone();
            let found = later.find(site, &after, heartbeat).await?;
            let trouble = later.remove(&found, site, &mut after, Some(&live), heartbeat).await?;
            let bytes = after.to_bytes().into();
            Ok::<_, JobError>(ObjectChange::Write(bytes, (Some(after), trouble)))
        };
        let (after, trouble) = site.update(MANIFEST, options, change).await?;
        match trouble {
            Some(trouble) => Err(JobError::Discard(trouble)),
            None => Ok(after.unwrap_or(manifest)),
        }
    }
}

async fn private_list(private: Option<&str>) -> Result<PatternList, JobError> {
    let Some(private) = private else { return Ok(PatternList::default()) };
    let store = everytab_storage::open(private, &StoreSettings::default()).await?;
    let list = store.get_tagged(BLOCKLIST).await?.map(|list| list.bytes).unwrap_or_default();
    Ok(PatternList::read(&String::from_utf8_lossy(&list)))
}

fn exclusions(patterns: impl IntoIterator<Item = BlockedHost>) -> RemovedTabs {
    let mut excluded = RemovedTabs::default();
    for BlockedHost { kind, pattern } in patterns {
        if let Some(kind) = PatternKind::ALL.into_iter().find(|known| known.name() == kind) {
            excluded.add(kind, &pattern);
        }
    }
    excluded
}

async fn rewrite_map(
    objects: &ScanObjects<'_>,
    manifest: &mut Manifest,
    rewritten: &[RewrittenBundle],
) -> Result<Option<String>, RemovalError> {
    objects.note_for_map(rewritten).await?;
    let Some(map) = &mut manifest.map else { return Ok(None) };
    let done = objects.rewrite_map(map, rewritten).await?;
    objects.overwrite_old_tiles(&done).await?;
    done.name_in(map);
    Ok(done.trouble(&manifest.prefix))
}

/// Returns the number of removed tabs.
fn without_tabs(manifest: &mut Manifest, rewritten: &[RewrittenBundle]) -> u64 {
    for bundle in rewritten {
        manifest.without_tabs(bundle.number, &bundle.path, bundle.tabs, bundle.with_icon);
    }
    rewritten.iter().map(|bundle| bundle.tabs).sum()
}

impl From<RemovalError> for JobError {
    fn from(error: RemovalError) -> Self {
        match error {
            RemovalError::Storage(error) => error.into(),
            RemovalError::NotUnderstood(_) => Self::Discard(error.to_string()),
            RemovalError::Interrupted(reason) => Self::Retry(reason),
        }
    }
}
