//! An open crawl, as the scheduler needs it.
//!
//! This module does not depend on slots or host state.

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

/// A crawl's settings, parsed once.
pub(crate) struct Crawl {
    /// The crawl's number in the database.
    pub number: i32,
    /// The crawl's owner.
    pub owner: Arc<str>,
    /// The crawl's name, with which the names of its objects start.
    pub name: LiveCrawlName,
    /// The crawl's rules, with the version number of its includes and excludes.
    followed: RwLock<(i32, Arc<Rules>)>,
    /// The crawl's filters. If one of their lists cannot be loaded, links are merged without this
    /// list, and no requests are sent. Once the list is loaded, URLs that it drops are refused
    /// before their fetch.
    pub filters: Arc<FilterSet>,
    /// Delays for all hosts except the operator's own.
    delays: DelaySettings,
    /// Delays for the operator's own hosts.
    own_delays: DelaySettings,
    /// The ports to which this worker may connect for the crawl.
    pub ports: PortList,
    /// The purpose of page requests.
    pub page: Purpose,
    /// The purpose of requests for page requisites.
    pub media: Purpose,
    /// Whether requisites are stored.
    pub keeps_media: bool,
    /// Whether `nofollow` is obeyed.
    pub obeys_nofollow: bool,
    /// Which sitemaps are read.
    pub sitemaps: SitemapsOption,
    /// Whether the text of pages is indexed for search.
    pub is_searched: bool,
    /// Whether the crawl has a page limit, so each page is reserved before it is fetched.
    pub is_limited: bool,
    /// Age at which an unchanged body is stored again.
    store_again_after: TimeDelta,
    /// The earlier crawl that this one repeats. `None` if it repeats none.
    pub repeat: Option<Repeat>,
    /// Maximum retries per URL after transient failures.
    pub retries: u8,
    /// How long a failing origin is retried. `None` uses the worker's setting.
    pub host_patience: Option<Duration>,
    /// When the crawl was started.
    pub started_at: DateTime<Utc>,
    /// The stores for the crawl's records. `None` if this program cannot open them. The crawl then
    /// sends no requests.
    pub stores: Option<CrawlStores>,
}

impl Crawl {
    /// Returns whether the crawl's URLs can be fetched: its stores are open, and its filters' lists
    /// are loaded.
    pub(crate) fn is_ready(&self) -> bool {
        self.stores.is_some() && self.filters.is_complete()
    }

    /// Returns whether a page's body at this depth should be parsed: for links to follow, for
    /// requisites, for filters, or for search.
    pub(crate) fn reads_pages_at(&self, depth: u16) -> bool {
        let is_kept = self.keeps_media || self.is_searched || !self.filters.is_empty();
        self.follows_links_at(depth) || is_kept
    }

    /// Returns whether links on a page at this depth are followed.
    pub(crate) fn follows_links_at(&self, depth: u16) -> bool {
        let (_, rules) = &*self.followed.read();
        rules.scope != Scope::Page && depth < rules.depth
    }

    /// Returns the current rules.
    pub(crate) fn rules(&self) -> Arc<Rules> {
        Arc::clone(&self.followed.read().1)
    }

    /// Returns the version of the includes and excludes, from 1.
    pub(crate) fn patterns_version(&self) -> i32 {
        self.followed.read().0
    }

    /// Replaces the rules in all clones of this crawl.
    pub(crate) fn change_rules(&self, ChangedRules { version, rules, .. }: ChangedRules) {
        *self.followed.write() = (version, Arc::new(rules));
    }

    /// Returns whether a record may refer to one that was stored at `at`, instead of storing an
    /// identical body again.
    pub(crate) fn may_name_record_of(&self, at: DateTime<Utc>, now: DateTime<Utc>) -> bool {
        now - at < self.store_again_after
    }

    /// Returns the delays for the operator's own hosts or for all others.
    pub(crate) fn delays(&self, is_own: bool) -> DelaySettings {
        if is_own { self.own_delays } else { self.delays }
    }
}

/// The open crawls. The flag is true if a crawl's URLs are fetched. Otherwise only its links are
/// merged.
pub(crate) type OpenCrawls = HashMap<i32, (Arc<Crawl>, bool)>;

/// A crawl's rules after its includes and excludes have changed.
pub(crate) struct ChangedRules {
    /// The crawl's number.
    pub crawl: i32,
    /// The version number for its includes and excludes.
    pub version: i32,
    /// The new rules.
    pub rules: Rules,
}

/// The open crawls.
pub(crate) struct ListedCrawls {
    /// The crawls that this program can read.
    pub crawls: OpenCrawls,
    /// New rules for crawls that were already listed and whose patterns have changed.
    pub changed: Vec<ChangedRules>,
    /// Limits for crawls and owners.
    pub owner_limits: OwnerLimits,
    /// When `crawl forget` last ran. `None` if it never did.
    pub forgotten_at: Option<DateTime<Utc>>,
    /// Whether there are crawls that this program cannot read. It cannot merge their links, so it
    /// must release its slots to workers with a newer program.
    pub has_unreadable: bool,
}

/// Lists the open crawls. The crawls in `known` are not read again, unless their store could not be
/// opened or a filter list could not be loaded. Their includes and excludes are read only if they
/// have changed.
///
/// # Errors
/// Returns an error if Postgres cannot be reached.
pub(crate) async fn list_crawls(
    coordinator: &Coordinator,
    known: &OpenCrawls,
    (stores, lists, ports): (&StoreSettings, &FilterLists, &PortList),
) -> Result<ListedCrawls, Error> {
    let (mut crawls, mut changed) = (OpenCrawls::new(), Vec::new());
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

/// Reads the includes and excludes of a known crawl if they have changed. The inner error is the
/// reason why this program cannot read them.
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

/// Reads a crawl's settings. The inner error is the reason why this program cannot read them.
async fn read_settings(
    coordinator: &Coordinator,
    open: &OpenCrawl,
) -> Result<Result<CrawlSettings, String>, Error> {
    let Some(settings) = coordinator.crawl_settings(open.crawl).await? else {
        return Ok(Err("it is gone".to_owned()));
    };
    Ok(serde_json::from_value(settings).map_err(|error| error.to_string()))
}

/// Runs [`CrawlSettings::into_rules`] in a separate thread, because it takes up to half a second.
async fn compiled(settings: CrawlSettings) -> Result<CompiledSettings, Error> {
    let compiled = tokio::task::spawn_blocking(move || settings.into_rules()).await;
    compiled.map_err(|error| Error::Unexpected(format!("compiling patterns: {error}")))
}

/// Reads a crawl. The inner error is the reason why this program cannot read it.
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
        tracing::error!(crawl, %error, "the patterns cost too much; following no more links");
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

/// Returns how a crawl repeats an earlier one. If the earlier crawl is gone, or this program cannot
/// read its settings, everything is fetched and stored as in a new crawl.
async fn repeat_of(
    coordinator: &Coordinator,
    open: &OpenCrawl,
    settings: &CrawlSettings,
) -> Result<Option<Repeat>, Error> {
    let Some(again) = settings.again else { return Ok(None) };
    let crawl = &open.name;
    let Some(earlier) = coordinator.earlier_crawl(open.crawl).await? else {
        tracing::warn!(crawl, %again, "the earlier crawl is gone; storing everything again");
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
