//! A crawl that has not ended, as whoever crawls needs it.
//!
//! Must not know: slots, what is known of hosts.

use std::{collections::HashMap, sync::Arc, time::Duration};

use chrono::{DateTime, TimeDelta, Utc};
use everytab_commoncrawl::crawl_layout::LiveCrawlName;
use everytab_coordinator::{Coordinator, Error, OpenCrawl};
use everytab_fetcher::{DelaySettings, Purpose};
use everytab_filters::FilterSet;
use everytab_frontier::{Rules, Scope};
use everytab_storage::StoreSettings;
use everytab_webpage::PortList;
use parking_lot::RwLock;

use crate::{
    filters::load::FilterLists,
    repeat::Repeat,
    settings::{
        CompiledSettings, CrawlSettings, MediaOption, NofollowOption, SearchOption, SitemapsOption,
    },
    stores::CrawlStores,
    tenants::Tenants,
};

/// What a crawl asks for, read once.
pub(crate) struct Crawl {
    /// Its number in the database.
    pub number: i32,
    /// Whose it is.
    pub owner: Arc<str>,
    /// Its name, which its objects begin with.
    pub name: LiveCrawlName,
    /// What it follows, and the version of its includes and excludes.
    followed: RwLock<(i32, Arc<Rules>)>,
    /// Its filters. While a list of them cannot be had, links are merged without it, and nothing is
    /// asked for: what it would have turned away is refused when its turn comes.
    pub filters: Arc<FilterSet>,
    /// The delays that it asks for.
    delays: DelaySettings,
    /// Those for hosts that are the operator's own.
    own_delays: DelaySettings,
    /// The ports that this worker requests for it.
    pub ports: PortList,
    /// How its pages are asked for.
    pub page: Purpose,
    /// How requisites of its pages are asked for.
    pub media: Purpose,
    /// Whether requisites are kept.
    pub keeps_media: bool,
    /// Whether `nofollow` is obeyed.
    pub obeys_nofollow: bool,
    /// Which sitemaps are read.
    pub sitemaps: SitemapsOption,
    /// Whether the text of its pages is indexed.
    pub is_searched: bool,
    /// Whether its pages are limited, so that each is reserved before it is asked for.
    pub is_limited: bool,
    /// The age from which a body is stored anew.
    store_again_after: TimeDelta,
    /// How it repeats an earlier crawl, if it does.
    pub repeat: Option<Repeat>,
    /// How often a URL is retried after failures that may pass.
    pub retries: u8,
    /// For how long an origin that fails is waited for; the worker's setting if `None`.
    pub host_patience: Option<Duration>,
    /// When it was started.
    pub started_at: DateTime<Utc>,
    /// Where its records go; none where this program cannot open that, and so asks for nothing.
    pub stores: Option<CrawlStores>,
}

impl Crawl {
    /// Whether its URLs can be asked for: its stores are open, and the lists of its filters here.
    pub(crate) fn is_ready(&self) -> bool {
        self.stores.is_some() && self.filters.is_complete()
    }

    /// Whether the body of a page at this depth is read: for links that are followed, filters, or
    /// the search.
    pub(crate) fn reads_pages_at(&self, depth: u16) -> bool {
        let is_kept = self.keeps_media || self.is_searched || !self.filters.is_empty();
        self.follows_links_at(depth) || is_kept
    }

    /// Whether links of a page at this depth are followed.
    pub(crate) fn follows_links_at(&self, depth: u16) -> bool {
        let (_, rules) = &*self.followed.read();
        rules.scope != Scope::Page && depth < rules.depth
    }

    /// What it follows now.
    pub(crate) fn rules(&self) -> Arc<Rules> {
        Arc::clone(&self.followed.read().1)
    }

    /// The version of its includes and excludes, from 1.
    pub(crate) fn patterns_version(&self) -> i32 {
        self.followed.read().0
    }

    /// Has all who hold this crawl follow other rules from now on.
    pub(crate) fn change_rules(&self, ChangedRules { version, rules, .. }: ChangedRules) {
        *self.followed.write() = (version, Arc::new(rules));
    }

    /// Whether its records may name one that was stored at this time instead of storing the same
    /// body again.
    pub(crate) fn may_name_record_of(&self, at: DateTime<Utc>, now: DateTime<Utc>) -> bool {
        now - at < self.store_again_after
    }

    /// The delays that it asks for, of hosts that are the operator's own or not.
    pub(crate) fn delays(&self, is_own: bool) -> DelaySettings {
        if is_own { self.own_delays } else { self.delays }
    }
}

/// The open crawls: each with whether it is asked for, or only its links are merged.
pub(crate) type OpenCrawls = HashMap<i32, (Arc<Crawl>, bool)>;

/// What a crawl follows after its includes and excludes have changed.
pub(crate) struct ChangedRules {
    /// The crawl's number.
    pub crawl: i32,
    /// Version of the includes and excludes.
    pub version: i32,
    /// What it follows.
    pub rules: Rules,
}

/// The open crawls as they were listed.
pub(crate) struct ListedCrawls {
    /// Those that this program can read.
    pub crawls: OpenCrawls,
    /// Those among them that were known, and have changed since.
    pub changed: Vec<ChangedRules>,
    /// What limits them and their owners.
    pub tenants: Tenants,
    /// When something was forgotten last, if anything was.
    pub forgotten_at: Option<DateTime<Utc>>,
    /// Whether there are others. Their links cannot be merged here, so slots are for programs that
    /// can.
    pub has_unreadable: bool,
}

/// Lists the open crawls. Those in `known` are not read again, unless their store could not be
/// opened or a list of their filters could not be had; of those whose includes and excludes have
/// changed these are.
///
/// # Errors
/// When Postgres cannot be asked.
pub(crate) async fn list_crawls(
    coordinator: &Coordinator,
    known: &OpenCrawls,
    (stores, lists, ports): (&StoreSettings, &FilterLists, &PortList),
) -> Result<ListedCrawls, Error> {
    let (mut crawls, mut changed) = (OpenCrawls::new(), Vec::new());
    let mut has_unreadable = false;
    let listed = coordinator.open_crawls().await?;
    let overrides = coordinator.load_robots_overrides().await?;
    let tenants = Tenants::new(&listed, &overrides);
    let forgotten_at = listed.iter().filter_map(|open| open.forgotten_at).max();
    for open in listed {
        let is_running = open.state == "running";
        let read = match known.get(&open.crawl) {
            Some((crawl, _)) if crawl.is_ready() => {
                let rules = changed_rules(coordinator, &open, crawl).await?;
                rules.map(|rules| {
                    changed.extend(rules);
                    Arc::clone(crawl)
                })
            }
            _ => read_crawl(coordinator, &open, (stores, lists, ports)).await?.map(Arc::new),
        };
        let crawl = match read {
            Ok(crawl) => crawl,
            Err(reason) => {
                let crawl = open.name;
                tracing::error!(crawl, reason, "this program cannot read it: no slots are held");
                has_unreadable = true;
                continue;
            }
        };
        let is_asked_for = is_running && crawl.is_ready();
        crawls.insert(open.crawl, (crawl, is_asked_for));
    }
    Ok(ListedCrawls { crawls, changed, tenants, forgotten_at, has_unreadable })
}

/// Reads the includes and excludes of a crawl that is known, if they have changed; a text says why
/// this program cannot do so.
async fn changed_rules(
    coordinator: &Coordinator,
    open: &OpenCrawl,
    crawl: &Crawl,
) -> Result<Result<Option<ChangedRules>, String>, Error> {
    let version = open.patterns_version;
    if crawl.patterns_version() == version {
        return Ok(Ok(None));
    }
    let settings = match read_settings(coordinator, open).await? {
        Ok(settings) => settings,
        Err(reason) => return Ok(Err(reason)),
    };
    Ok(match compiled(settings).await? {
        Ok((_, Rules { patterns, priorities, is_closed, .. }, _)) => {
            let rules = Rules { patterns, priorities, is_closed, ..Rules::clone(&crawl.rules()) };
            Ok(Some(ChangedRules { crawl: open.crawl, version, rules }))
        }
        Err(error) => Err(error.to_string()),
    })
}

/// Reads the settings of a crawl; a text says why this program cannot do so.
async fn read_settings(
    coordinator: &Coordinator,
    open: &OpenCrawl,
) -> Result<Result<CrawlSettings, String>, Error> {
    let Some(settings) = coordinator.crawl_settings(open.crawl).await? else {
        return Ok(Err("it is gone".to_owned()));
    };
    Ok(serde_json::from_value(settings).map_err(|error| error.to_string()))
}

/// What [`CrawlSettings::into_rules`] returns, in a thread of its own: it takes up to half a
/// second.
async fn compiled(settings: CrawlSettings) -> Result<CompiledSettings, Error> {
    let compiled = tokio::task::spawn_blocking(move || settings.into_rules()).await;
    compiled.map_err(|error| Error::Unexpected(format!("compiling patterns: {error}")))
}

/// Reads what a crawl asks for; a text says why this program cannot do so.
async fn read_crawl(
    coordinator: &Coordinator,
    open: &OpenCrawl,
    (stores, lists, ports): (&StoreSettings, &FilterLists, &PortList),
) -> Result<Result<Crawl, String>, Error> {
    let settings = match read_settings(coordinator, open).await? {
        Ok(settings) => settings,
        Err(reason) => return Ok(Err(reason)),
    };
    let parsed = (LiveCrawlName::parse(&open.name), compiled(settings).await?);
    let (name, (settings, mut rules, closed_by)) = match parsed {
        (Ok(name), Ok(rules)) => (name, rules),
        (Err(error), _) => return Ok(Err(error.to_string())),
        (_, Err(error)) => return Ok(Err(error.to_string())),
    };
    rules.ports = settings.followed_ports(ports).into();
    if let Some(error) = closed_by {
        let crawl = &open.name;
        tracing::error!(crawl, %error, "its patterns cost too much: no more links are followed");
    }
    let patterns = Arc::clone(&rules.patterns);
    let filters = match lists.compile(&open.name, (&settings.filters, patterns), stores).await {
        Ok(filters) => Arc::new(filters),
        Err(error) => return Ok(Err(error)),
    };
    if !filters.is_empty() {
        rules.filter = Some(Arc::<FilterSet>::clone(&filters));
    }
    let repeat = repeat_of(coordinator, open, &settings).await?;
    let (ranges, media) = (&settings.stores, settings.media_store.as_deref());
    let stores = match CrawlStores::open(&open.store, ranges, media, stores).await {
        Ok(stores) => Some(stores),
        Err(error) => {
            tracing::warn!(crawl = open.name, %error, "its store cannot be opened; trying again");
            None
        }
    };
    Ok(Ok(Crawl {
        number: open.crawl,
        owner: open.owner.as_str().into(),
        name,
        followed: RwLock::new((open.patterns_version, Arc::new(rules))),
        filters,
        delays: settings.delays(),
        own_delays: settings.own_delays(),
        ports: settings.requested_ports(ports),
        page: settings.page_purpose(),
        media: settings.media_purpose(),
        keeps_media: settings.media != MediaOption::None,
        obeys_nofollow: settings.nofollow == NofollowOption::Obey,
        sitemaps: settings.sitemaps,
        is_searched: settings.search == SearchOption::On,
        is_limited: open.budget_left.is_some(),
        store_again_after: settings.store_again_after(),
        retries: settings.retries,
        host_patience: settings.host_patience(),
        started_at: open.started_at,
        repeat,
        stores,
    }))
}

/// How a crawl repeats an earlier one. One that is gone, or whose settings this program cannot
/// read, is nothing to compare with: all is asked for and stored as if it were new.
async fn repeat_of(
    coordinator: &Coordinator,
    open: &OpenCrawl,
    settings: &CrawlSettings,
) -> Result<Option<Repeat>, Error> {
    let Some(again) = settings.again else { return Ok(None) };
    let crawl = &open.name;
    let Some(earlier) = coordinator.earlier_crawl(open.crawl).await? else {
        tracing::warn!(crawl, %again, "the crawl that it repeats is gone; storing all anew");
        return Ok(None);
    };
    match Repeat::new(settings, &open.store, &earlier) {
        Ok(repeat) => Ok(Some(repeat)),
        Err(error) => {
            let what = "the crawl that it repeats cannot be read; storing all anew";
            tracing::warn!(crawl, %again, %error, "{what}");
            Ok(None)
        }
    }
}
