//! `takedown`: hosts off a published site at once, without a database.
//!
//! A host's bundle is written again without its tab under a new name, which the manifest then
//! lists in `overrides`: whoever reads the new manifest never asks for the old bundle. The last
//! tab of the bundle takes the place of the one that goes, so that every other place stays what
//! the search files say; that one tab's line is corrected, and the host's line removed. The old
//! names are overwritten too, for manifests and caches of a minute ago.
//!
//! Invariants: the manifest is replaced only if it is still the one that was read; a takedown that
//! was cut off anywhere is finished by running it again, because the search line goes last.

mod bundle;
mod search_files;

use std::{collections::BTreeSet, sync::Arc};

use bytes::Bytes;
use clap::Args;
use everytab_storage::{
    Condition, PutIf, Store, StoreSettings,
    cdn::{self, CdnSettings},
    objects,
};
use serde_json::{Map, Value};
use uuid::Uuid;

use self::{
    bundle::Bundle,
    search_files::{Found, SearchFiles},
};
use crate::{
    cli_error::{CliError, CliResult, Exit},
    commands::{blocklist::hostname, stdout},
    jobs::range_of,
};

/// How often an object that others write at the same time is read again.
const TRIES: u32 = 8;
/// The list of hosts below the private prefix; `scan start` reads it.
pub(super) const BLOCKLIST: &str = "blocklist.txt";

/// Options of `takedown`.
#[derive(Debug, Args)]
pub struct TakedownArgs {
    /// Hostnames, exactly as the tabs have them: www.example.com is another host than example.com
    #[arg(required = true)]
    hosts: Vec<String>,
    /// The published site (file:// or s3://)
    #[arg(long, env = "EVERYTAB_SITE")]
    site: String,
    /// Private prefix whose blocklist.txt keeps the hosts out of the next scans
    #[arg(long, env = "EVERYTAB_PRIVATE")]
    private: Option<String>,
    /// CloudFront distribution to invalidate
    #[arg(long, env = "EVERYTAB_DISTRIBUTION", value_name = "ID")]
    distribution: Option<String>,
    /// Why; kept beside the hosts in blocklist.txt
    #[arg(long, env = "EVERYTAB_REASON")]
    reason: Option<String>,
}

/// Takes each host down; one line a host on stdout.
///
/// # Errors
/// When a store refuses or holds no site. A host that has no tab is exit code 1, unless it was
/// taken down before.
pub async fn run(args: TakedownArgs) -> CliResult {
    let hosts: BTreeSet<String> = args
        .hosts
        .iter()
        .map(|host| hostname(host))
        .collect::<Result<_, _>>()
        .map_err(CliError::usage)?;
    let was_listed = match &args.private {
        Some(private) => list_as_blocked(private, &hosts, args.reason.as_deref()).await?,
        None => {
            eprintln!("without --private the next scan brings the hosts back; `blocklist add` too");
            BTreeSet::new()
        }
    };
    let site = everytab_storage::open(&args.site, &StoreSettings::default()).await?;
    let takedown = Takedown { site: Arc::clone(&site), distribution: args.distribution };
    let gone = takedown.remove_tabs(&hosts).await?;
    takedown.remove_lines(&hosts, &gone).await?;
    let mut missing = 0;
    for host in &hosts {
        match gone.iter().find(|removed| removed.found.entry.hostname == *host) {
            Some(removed) => {
                let bundle = removed.found.entry.bundle;
                stdout::line(format_args!("{host}\ttaken down\tbundle {bundle}"))?;
            }
            None if was_listed.contains(host) => {
                stdout::line(format_args!("{host}\tis down already"))?;
            }
            None => {
                missing += 1;
                stdout::line(format_args!("{host}\tnot found"))?;
                eprintln!("{host} has no tab on {}; is the name right, www. included?", args.site);
            }
        }
    }
    Ok(if missing == 0 { Exit::Done } else { Exit::Failed })
}

/// A host whose tab is off the page, and which places of its bundle other tabs may have taken.
struct Removed {
    found: Found,
    places: Vec<usize>,
}

struct Takedown {
    site: Arc<dyn Store>,
    distribution: Option<String>,
}

/// The manifest as it was read. Fields that are not known here are kept.
struct Manifest {
    fields: Map<String, Value>,
    etag: String,
}

impl Manifest {
    async fn read(site: &dyn Store) -> Result<Self, CliError> {
        let tagged = site.get_tagged(objects::MANIFEST).await?.ok_or_else(|| {
            CliError::new(format!(
                "there is no site at {}: no manifest.json; check --site",
                site.url()
            ))
        })?;
        let fields = serde_json::from_slice(&tagged.bytes).map_err(|error| {
            CliError::new(format!("manifest.json in {} is not understood: {error}", site.url()))
        })?;
        Ok(Self { fields, etag: tagged.etag })
    }

    /// Where the scan's objects lie, with a slash at the end.
    fn prefix(&self) -> Result<&str, CliError> {
        let prefix = self.fields.get("prefix").and_then(Value::as_str);
        prefix.filter(|prefix| prefix.ends_with('/')).ok_or_else(|| {
            CliError::new(
                "manifest.json has no prefix that ends with a slash: is it a site of ours?",
            )
        })
    }

    /// The path of a bundle that was rewritten before, below the prefix.
    fn override_of(&self, bundle: i32) -> Option<&str> {
        self.fields.get("overrides")?.get(bundle.to_string())?.as_str()
    }

    fn set_override(&mut self, bundle: i32, path: &str) {
        let overrides = self.fields.entry("overrides").or_insert_with(|| Value::Object(Map::new()));
        if let Some(overrides) = overrides.as_object_mut() {
            overrides.insert(bundle.to_string(), Value::from(path));
        }
    }

    fn count_down(&mut self, field: &str) {
        if let Some(count) = self.fields.get_mut(field)
            && let Some(number) = count.as_u64()
        {
            *count = Value::from(number.saturating_sub(1));
        }
    }

    /// False: somebody replaced it meanwhile.
    async fn replace(&self, site: &dyn Store) -> Result<bool, CliError> {
        let bytes = Bytes::from(serde_json::to_vec(&self.fields)?);
        let condition = Condition::Etag(self.etag.clone());
        let options = objects::put_options(objects::MANIFEST);
        let put = site.put_if(objects::MANIFEST, bytes, condition, options).await?;
        Ok(matches!(put, PutIf::Stored { .. }))
    }
}

impl Takedown {
    /// The first half: no page that reads the manifest from now on shows the hosts.
    async fn remove_tabs(&self, hosts: &BTreeSet<String>) -> Result<Vec<Removed>, CliError> {
        let mut gone = Vec::new();
        let mut paths = BTreeSet::from(["/manifest.json".to_owned()]);
        for host in hosts {
            if let Some((removed, overwritten)) = self.remove_tab(host).await? {
                paths.extend(overwritten.into_iter().map(|key| format!("/{key}")));
                gone.push(removed);
            }
        }
        self.invalidate(paths).await?;
        Ok(gone)
    }

    /// Answers what was removed and which keys were overwritten; `None`: no search line names it.
    async fn remove_tab(&self, host: &str) -> Result<Option<(Removed, Vec<String>)>, CliError> {
        let site = &*self.site;
        for _ in 0..TRIES {
            let mut manifest = Manifest::read(site).await?;
            let prefix = manifest.prefix()?.to_owned();
            let Some(found) = SearchFiles::new(site, &prefix).find(host).await? else {
                return Ok(None);
            };
            let number = found.entry.bundle;
            let original = format!("tabs/{number}.json");
            let current = manifest.override_of(number).unwrap_or(&original).to_owned();
            let mut bundle = Bundle::read(&site.get(&format!("{prefix}{current}")).await?)
                .map_err(|error| CliError::new(format!("{prefix}{current}: {error}")))?;
            let mut places: Vec<usize> = usize::try_from(found.entry.slot).into_iter().collect();
            let mut path = current.clone();
            if let Some((place, had_icon)) = bundle.remove(host) {
                path = bundle.path(number);
                let key = format!("{prefix}{path}");
                site.put(&key, bundle.bytes(), objects::put_options(&key)).await?;
                manifest.set_override(number, &path);
                manifest.count_down("hosts");
                if had_icon {
                    manifest.count_down("with_icon");
                }
                if !manifest.replace(site).await? {
                    continue;
                }
                places.push(place);
            }
            let overwritten = self.overwrite_old(&prefix, number, &path, &bundle).await?;
            return Ok(Some((Removed { found, places }, overwritten)));
        }
        Err(busy(site, objects::MANIFEST))
    }

    /// Under the bundle's other names the tab must not be found either.
    async fn overwrite_old(
        &self,
        prefix: &str,
        number: i32,
        path: &str,
        bundle: &Bundle,
    ) -> Result<Vec<String>, CliError> {
        let overrides = self.site.list_all(&format!("{prefix}tabs/{number}-")).await?;
        let mut old: BTreeSet<String> = overrides.into_iter().map(|object| object.key).collect();
        old.insert(format!("{prefix}tabs/{number}.json"));
        old.remove(&format!("{prefix}{path}"));
        for key in &old {
            self.site.put(key, bundle.bytes(), objects::put_options(key)).await?;
        }
        Ok(old.into_iter().collect())
    }

    /// The second half: the search files say where the tabs are now, and not that the host was.
    async fn remove_lines(
        &self,
        hosts: &BTreeSet<String>,
        gone: &[Removed],
    ) -> Result<(), CliError> {
        let site = &*self.site;
        let manifest = Manifest::read(site).await?;
        let prefix = manifest.prefix()?.to_owned();
        let search = SearchFiles::new(site, &prefix);
        // A run that was cut off may have changed a file without telling the CDN.
        let all = |host: &str| format!("/{prefix}search/{}/*", range_of(host));
        let mut paths: BTreeSet<String> = hosts.iter().map(|host| all(host)).collect();
        for Removed { found, places } in gone {
            let number = found.entry.bundle;
            let path = manifest.override_of(number).map(str::to_owned);
            let key = format!("{prefix}{}", path.unwrap_or_else(|| format!("tabs/{number}.json")));
            let bundle = Bundle::read(&site.get(&key).await?)
                .map_err(|error| CliError::new(format!("{key}: {error}")))?;
            for &place in places {
                if let Some(moved) = bundle.hostname_at(place) {
                    search.correct(&moved, number, place).await?;
                    paths.insert(all(&moved));
                }
            }
            search.remove(&found.entry.hostname).await?;
            if let Some(twin) = &found.twin {
                eprintln!("{twin} has a tab of its own; name it too if it is to go");
            }
        }
        self.invalidate(paths).await
    }

    async fn invalidate(&self, paths: BTreeSet<String>) -> Result<(), CliError> {
        if let Some(distribution) = &self.distribution {
            let paths: Vec<String> = paths.into_iter().collect();
            let reference = format!("takedown-{}", Uuid::new_v4());
            let settings = CdnSettings::default();
            let id = cdn::invalidate(distribution, &paths, &reference, &settings).await?;
            eprintln!("asked CloudFront {distribution} to forget {} paths ({id})", paths.len());
        }
        Ok(())
    }
}

fn busy(store: &dyn Store, key: &str) -> CliError {
    CliError::new(format!("others keep replacing {key} in {}; run it again", store.url()))
}

/// Adds hosts to the private list; answers those that were on it before.
async fn list_as_blocked(
    private: &str,
    hosts: &BTreeSet<String>,
    reason: Option<&str>,
) -> Result<BTreeSet<String>, CliError> {
    let store = everytab_storage::open(private, &StoreSettings::default()).await?;
    for _ in 0..TRIES {
        let before = store.get_tagged(BLOCKLIST).await?;
        let (bytes, condition) = match before {
            Some(tagged) => (tagged.bytes, Condition::Etag(tagged.etag)),
            None => (Bytes::new(), Condition::Absent),
        };
        let text = String::from_utf8_lossy(&bytes);
        let listed: BTreeSet<String> = hosts.iter().filter(|h| lists(&text, h)).cloned().collect();
        let new: Vec<&String> = hosts.difference(&listed).collect();
        if new.is_empty() {
            return Ok(listed);
        }
        let text = with_hosts(&text, &new, reason);
        let options = objects::put_options(BLOCKLIST);
        match store.put_if(BLOCKLIST, text.into(), condition, options).await? {
            PutIf::Stored { .. } => return Ok(listed),
            PutIf::PreconditionFailed => {}
        }
    }
    Err(busy(&*store, BLOCKLIST))
}

/// Whether a list has a host; what follows a `#` is a remark.
fn lists(text: &str, host: &str) -> bool {
    text.lines().any(|line| line.split('#').next().is_some_and(|name| name.trim() == host))
}

fn with_hosts(text: &str, hosts: &[&String], reason: Option<&str>) -> String {
    let mut text = text.to_owned();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    for host in hosts {
        text.push_str(host);
        if let Some(reason) = reason {
            let one_line: String = reason.chars().filter(|c| !c.is_control()).collect();
            text.push_str(&format!(" # {one_line}"));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests;
