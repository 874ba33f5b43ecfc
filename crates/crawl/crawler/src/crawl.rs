//! The open crawls, with their settings in the form that the scheduler uses.

use std::{collections::HashMap, sync::Arc, time::Duration};

use chrono::{DateTime, TimeDelta, Utc};
use everytab_commoncrawl::crawl_layout::LiveCrawlName;
use everytab_coordinator::{Coordinator, Error, OpenCrawl};
use everytab_crawl_settings::{
    CompiledSettings, CrawlSettings, MediaOption, NofollowOption, SearchOption, SitemapsOption,
};
use everytab_crawl_start::FilterLists;
use everytab_fetcher::{DelaySettings, Purpose};
use everytab_filters::FilterSet;
use everytab_frontier::{Rules, Scope};
use everytab_storage::StoreSettings;
use everytab_webpage::PortList;
use parking_lot::RwLock;

use crate::{
    owner_limits::OwnerLimits, repeat::Repeat, request_settings::RequestSettings as _,
    stores::CrawlStores,
};

pub(crate) struct Crawl {
    pub number: i32,
    pub owner: Arc<str>,
    pub name: LiveCrawlName,
    followed: RwLock<(i32, Arc<Rules>)>,
    /// If a list cannot be loaded, links are merged without it, and no requests are sent until it
    /// loads.
    pub filters: Arc<FilterSet>,
    delays: DelaySettings,
    own_delays: DelaySettings,
    pub ports: PortList,
    pub page: Purpose,
    pub media: Purpose,
    pub keeps_media: bool,
    pub obeys_nofollow: bool,
    pub sitemaps: SitemapsOption,
    pub is_searched: bool,
    /// Whether pages must be reserved before they are fetched, because the crawl has a limit.
    pub is_limited: bool,
    store_again_after: TimeDelta,
    pub repeat: Option<Repeat>,
    pub retries: u8,
    /// How long a failing origin is retried. `None` uses the worker's setting.
    pub host_patience: Option<Duration>,
    pub started_at: DateTime<Utc>,
    /// `None` if this program cannot open them. The crawl then sends no requests.
    pub stores: Option<CrawlStores>,
}

impl Crawl {
    pub(crate) fn is_ready(&self) -> bool {
        self.stores.is_some() && self.filters.is_complete()
    }

    pub(crate) fn reads_pages_at(&self, depth: u16) -> bool {
        let is_kept = self.keeps_media || self.is_searched || !self.filters.is_empty();
        self.follows_links_at(depth) || is_kept
    }

    pub(crate) fn follows_links_at(&self, depth: u16) -> bool {
        let (_, rules) = &*self.followed.read();
        rules.scope != Scope::Page && depth < rules.depth
    }

    pub(crate) fn rules(&self) -> Arc<Rules> {
        Arc::clone(&self.followed.read().1)
    }

    /// Returns the version of the includes and excludes, from 1.
    pub(crate) fn patterns_version(&self) -> i32 {
        self.followed.read().0
    }

    pub(crate) fn change_rules(&self, ChangedRules { version, rules, .. }: ChangedRules) {
        *self.followed.write() = (version, Arc::new(rules));
    }

    pub(crate) fn may_name_record_of(&self, at: DateTime<Utc>, now: DateTime<Utc>) -> bool {
        now - at < self.store_again_after
    }

    pub(crate) fn delays(&self, is_own: bool) -> DelaySettings {
        if is_own { self.own_delays } else { self.delays }
    }
}

/// The open crawls. If the flag is false, a crawl's links are merged, but its URLs are not fetched.
pub(crate) type OpenCrawls = HashMap<i32, (Arc<Crawl>, bool)>;

pub(crate) struct ChangedRules {
    pub crawl: i32,
    pub version: i32,
    pub rules: Rules,
}

pub(crate) struct ListedCrawls {
    pub crawls: OpenCrawls,
    pub changed: Vec<ChangedRules>,
    pub owner_limits: OwnerLimits,
    pub forgotten_at: Option<DateTime<Utc>>,
    /// Whether this program cannot read a crawl's settings, so that it must release its slots to
    /// workers with a newer program.
    pub has_unreadable: bool,
}

/// Lists the open crawls. A crawl in `known` is read again only if its stores or lists are missing,
/// and its includes and excludes only if they have changed.
pub(crate) async fn list_crawls(
    coordinator: &Coordinator,
    known: &OpenCrawls,
    (stores, lists, ports): (&StoreSettings, &FilterLists, &PortList),
) -> Result<ListedCrawls, Error> {
    let mut crawls = OpenCrawls::new();
    let mut changed = Vec::new();
    let mut has_unreadable = false;
    let listed = coordinator.open_crawls().await?;
    let overrides = coordinator.load_robots_overrides().await?;
    let owner_limits = OwnerLimits::new(&listed, &overrides);
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
                tracing::error!(crawl, reason, "cannot read the crawl; releasing all slots");
                has_unreadable = true;
                continue;
            }
        };
        let is_asked_for = is_running && crawl.is_ready();
        crawls.insert(open.crawl, (crawl, is_asked_for));
    }
    Ok(ListedCrawls { crawls, changed, owner_limits, forgotten_at, has_unreadable })
}

/// The inner error is the reason why this program cannot read the crawl's includes and excludes.
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

async fn read_settings(
    coordinator: &Coordinator,
    open: &OpenCrawl,
) -> Result<Result<CrawlSettings, String>, Error> {
    let Some(settings) = coordinator.crawl_settings(open.crawl).await? else {
        return Ok(Err("the crawl no longer exists".to_owned()));
    };
    Ok(serde_json::from_value(settings).map_err(|error| error.to_string()))
}

/// Runs [`CrawlSettings::into_rules`] in a separate thread, because it takes up to half a second.
async fn compiled(settings: CrawlSettings) -> Result<CompiledSettings, Error> {
    let compiled = tokio::task::spawn_blocking(move || settings.into_rules()).await;
    compiled.map_err(|error| Error::Unexpected(format!("cannot compile the patterns: {error}")))
}

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
        tracing::error!(crawl, %error, "cannot compile the patterns; following no more links");
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
    let ranges = &settings.stores;
    let media = settings.media_store.as_deref();
    let stores = match CrawlStores::open(&open.store, ranges, media, stores).await {
        Ok(stores) => Some(stores),
        Err(error) => {
            tracing::warn!(crawl = open.name, %error, "cannot open the store; retrying");
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

/// `None` if the earlier crawl is gone or unreadable, so that everything is stored as in a new
/// crawl.
async fn repeat_of(
    coordinator: &Coordinator,
    open: &OpenCrawl,
    settings: &CrawlSettings,
) -> Result<Option<Repeat>, Error> {
    let Some(again) = settings.again else { return Ok(None) };
    let crawl = &open.name;
    let Some(earlier) = coordinator.earlier_crawl(open.crawl).await? else {
        tracing::warn!(crawl, %again, "the earlier crawl is missing; storing everything again");
        return Ok(None);
    };
    match Repeat::new(settings, &open.store, &earlier) {
        Ok(repeat) => Ok(Some(repeat)),
        Err(error) => {
            let what = "cannot read the earlier crawl; storing everything again";
            tracing::warn!(crawl, %again, %error, "{what}");
            Ok(None)
        }
    }
}
