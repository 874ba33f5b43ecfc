//! `takedown`: removes hosts from a published site immediately, without a database.
//!
//! A host's bundle is written again without its tab under a new name, which the manifest then
//! lists in `overrides`: a page that reads the new manifest never asks for the old bundle. The last
//! tab of the bundle takes the place of the removed one, so that every other tab stays where the
//! search files say; that one tab's line is corrected, and the host's line is removed. The old
//! names are overwritten too, for manifests and caches of a minute ago.
//!
//! Invariants: the manifest is replaced only if it is still the one that was read; a takedown that
//! was interrupted anywhere is finished by running it again, because the search line goes last.

mod objects;
mod search_files;

use std::{collections::BTreeSet, future::ready, sync::Arc};

use everytab_bundler::{
    PublishedBundle,
    object_names::{
        BLOCKLIST, MANIFEST, bundle_path, rewritten_bundles_prefix, search_range_prefix,
    },
    search::range_of,
    takedown_list::{listed_hosts, with_hosts},
};
use everytab_storage::{
    ObjectChange, Store, StoreSettings, Tagged,
    cdn::{self, CdnSettings},
};
use uuid::Uuid;

use self::{
    objects::{bundle, manifest},
    search_files::{FoundLine, SearchFiles},
};
use crate::{
    blocklist::hostname, error::OperationError, line_sink::LineSink, published_object::put_options,
};

/// Which hosts are taken down from which site.
#[derive(Debug, Clone)]
pub struct TakedownOptions {
    /// Hostnames, exactly as the tabs have them.
    pub hosts: Vec<String>,
    /// The URL of the store of the published site.
    pub site: String,
    /// The URL of the private prefix whose blocklist.txt keeps the hosts out of the next scans.
    pub private: Option<String>,
    /// The CloudFront distribution to invalidate.
    pub distribution: Option<String>,
    /// Why; kept beside the hosts in blocklist.txt.
    pub reason: Option<String>,
}

/// Takes each host down, and gives one line of data per host. False: a host has no tab, and was
/// not taken down before.
///
/// # Errors
/// When a store refuses or holds no site.
pub async fn take_down(
    options: TakedownOptions,
    sink: &dyn LineSink,
) -> Result<bool, OperationError> {
    let hosts: BTreeSet<String> = options
        .hosts
        .iter()
        .map(|host| hostname(host))
        .collect::<Result<_, _>>()
        .map_err(OperationError::usage)?;
    let was_listed = match &options.private {
        Some(private) => list_as_blocked(private, &hosts, options.reason.as_deref()).await?,
        None => {
            sink.note(format_args!(
                "without --private the next scan brings the hosts back; `blocklist add` too"
            ));
            BTreeSet::new()
        }
    };
    let site = everytab_storage::open(&options.site, &StoreSettings::default()).await?;
    let takedown = Takedown { sink, site: Arc::clone(&site), distribution: options.distribution };
    let gone = takedown.remove_tabs(&hosts).await?;
    takedown.remove_lines(&hosts, &gone).await?;
    let mut missing = 0;
    for host in &hosts {
        match gone.iter().find(|removed| removed.found.entry.hostname == *host) {
            Some(removed) => {
                let bundle = removed.found.entry.bundle;
                sink.data(format_args!("{host}\ttaken down\tbundle {bundle}"))?;
            }
            None if was_listed.contains(host) => {
                sink.data(format_args!("{host}\tis down already"))?;
            }
            None => {
                missing += 1;
                sink.data(format_args!("{host}\tnot found"))?;
                sink.note(format_args!(
                    "{host} has no tab on {}; is the name right, www. included?",
                    options.site
                ));
            }
        }
    }
    Ok(missing == 0)
}

/// A host whose tab is off the page.
struct Removed {
    found: FoundLine,
    /// Where in its bundle other tabs may be now.
    slots: Vec<usize>,
}

/// A bundle without the tab of a host, as the manifest names it now.
struct Rewritten {
    removed: Removed,
    prefix: String,
    /// The bundle's path below the prefix.
    path: String,
    bundle: PublishedBundle,
}

struct Takedown<'a> {
    sink: &'a dyn LineSink,
    site: Arc<dyn Store>,
    distribution: Option<String>,
}

impl Takedown<'_> {
    /// The first half: no page that reads the manifest from now on shows the hosts.
    async fn remove_tabs(&self, hosts: &BTreeSet<String>) -> Result<Vec<Removed>, OperationError> {
        let mut gone = Vec::new();
        let mut paths = BTreeSet::from([format!("/{MANIFEST}")]);
        for host in hosts {
            let change = |before| self.without_tab(before, host);
            let rewritten = self.site.update(MANIFEST, put_options(MANIFEST), change).await?;
            if let Some(rewritten) = rewritten {
                let overwritten = self.overwrite_old(&rewritten).await?;
                paths.extend(overwritten.into_iter().map(|key| format!("/{key}")));
                gone.push(rewritten.removed);
            }
        }
        self.invalidate(paths).await?;
        Ok(gone)
    }

    /// Writes the bundle without the host's tab, and makes a manifest that names it. `None`: no
    /// search line names the host.
    async fn without_tab(
        &self,
        before: Option<Tagged>,
        host: &str,
    ) -> Result<ObjectChange<Option<Rewritten>>, OperationError> {
        let site = &*self.site;
        let mut manifest = manifest(site, before.as_ref())?;
        let prefix = manifest.prefix.clone();
        let Some(found) = SearchFiles::new(site, &prefix).find(host).await? else {
            return Ok(ObjectChange::Keep(None));
        };
        let number = found.entry.bundle;
        let key = manifest.bundle_name(number);
        let mut bundle = bundle(site, &key).await?;
        let mut slots: Vec<usize> = usize::try_from(found.entry.slot).into_iter().collect();
        let Some(tab) = bundle.remove(host) else {
            let path = key[prefix.len()..].to_owned();
            let removed = Removed { found, slots };
            return Ok(ObjectChange::Keep(Some(Rewritten { removed, prefix, path, bundle })));
        };
        let path = bundle.path(number);
        let key = format!("{prefix}{path}");
        site.put(&key, bundle.to_bytes().into(), put_options(&key)).await?;
        manifest.set_override(number, &path);
        manifest.hosts = manifest.hosts.saturating_sub(1);
        manifest.with_icon = manifest.with_icon.saturating_sub(u64::from(tab.had_icon));
        slots.push(tab.slot);
        let rewritten = Rewritten { removed: Removed { found, slots }, prefix, path, bundle };
        Ok(ObjectChange::Write(manifest.to_bytes().into(), Some(rewritten)))
    }

    /// Removes the tab under the bundle's other names too; returns their keys.
    async fn overwrite_old(&self, rewritten: &Rewritten) -> Result<Vec<String>, OperationError> {
        let Rewritten { removed, prefix, path, bundle } = rewritten;
        let number = removed.found.entry.bundle;
        let rewritten_before = format!("{prefix}{}", rewritten_bundles_prefix(number));
        let listed = self.site.list_all(&rewritten_before).await?;
        let mut old: BTreeSet<String> = listed.into_iter().map(|object| object.key).collect();
        old.insert(format!("{prefix}{}", bundle_path(number)));
        old.remove(&format!("{prefix}{path}"));
        for key in &old {
            self.site.put(key, bundle.to_bytes().into(), put_options(key)).await?;
        }
        Ok(old.into_iter().collect())
    }

    /// The second half: the search files say where the tabs are now, and not that the host was.
    async fn remove_lines(
        &self,
        hosts: &BTreeSet<String>,
        gone: &[Removed],
    ) -> Result<(), OperationError> {
        let site = &*self.site;
        let manifest = manifest(site, site.get_tagged(MANIFEST).await?.as_ref())?;
        let prefix = &manifest.prefix;
        let search = SearchFiles::new(site, prefix);
        // A run that was interrupted may have changed a file without invalidating it in the CDN.
        let all = |host: &str| format!("/{prefix}{}*", search_range_prefix(range_of(host)));
        let mut paths: BTreeSet<String> = hosts.iter().map(|host| all(host)).collect();
        for Removed { found, slots } in gone {
            let number = found.entry.bundle;
            let bundle = bundle(site, &manifest.bundle_name(number)).await?;
            for &slot in slots {
                if let Some(moved) = bundle.hostname_at(slot) {
                    search.correct(&moved, number, slot).await?;
                    paths.insert(all(&moved));
                }
            }
            search.remove(&found.entry.hostname).await?;
            if let Some(twin) = &found.twin {
                self.sink
                    .note(format_args!("{twin} has a tab of its own; name it too if it is to go"));
            }
        }
        self.invalidate(paths).await
    }

    async fn invalidate(&self, paths: BTreeSet<String>) -> Result<(), OperationError> {
        if let Some(distribution) = &self.distribution {
            let paths: Vec<String> = paths.into_iter().collect();
            let reference = format!("takedown-{}", Uuid::new_v4());
            let settings = CdnSettings::default();
            let id = cdn::invalidate(distribution, &paths, &reference, &settings).await?;
            self.sink.note(format_args!(
                "asked CloudFront {distribution} to forget {} paths ({id})",
                paths.len()
            ));
        }
        Ok(())
    }
}

/// Adds hosts to the private list; returns those that were on it before.
pub(crate) async fn list_as_blocked(
    private: &str,
    hosts: &BTreeSet<String>,
    reason: Option<&str>,
) -> Result<BTreeSet<String>, OperationError> {
    let store = everytab_storage::open(private, &StoreSettings::default()).await?;
    let change = |before: Option<Tagged>| {
        let bytes = before.map(|tagged| tagged.bytes).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let names: BTreeSet<&str> = listed_hosts(&text).collect();
        let (listed, new): (Vec<&String>, Vec<&String>) =
            hosts.iter().partition(|host| names.contains(host.as_str()));
        let listed: BTreeSet<String> = listed.into_iter().cloned().collect();
        let new: Vec<&str> = new.into_iter().map(String::as_str).collect();
        ready(Ok::<_, OperationError>(match new.is_empty() {
            true => ObjectChange::Keep(listed),
            false => ObjectChange::Write(with_hosts(&text, &new, reason).into(), listed),
        }))
    };
    store.update(BLOCKLIST, put_options(BLOCKLIST), change).await
}

#[cfg(test)]
mod tests;
