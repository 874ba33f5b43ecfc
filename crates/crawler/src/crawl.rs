//! A crawl that has not ended, as whoever crawls needs it.
//!
//! Must not know: slots, what is known of hosts.

use std::{collections::HashMap, sync::Arc};

use everytab_commoncrawl::crawl_layout::LiveCrawlName;
use everytab_coordinator::{Coordinator, OpenCrawl};
use everytab_fetcher::{DelaySettings, Purpose};
use everytab_frontier::Rules;
use everytab_storage::StoreSettings;

use crate::{
    settings::{CrawlSettings, MediaOption, NofollowOption},
    stores::CrawlStores,
};

/// What a crawl asks for, read once.
pub(crate) struct Crawl {
    /// Its number in the database.
    pub number: i32,
    /// Its name, which its objects begin with.
    pub name: LiveCrawlName,
    /// What it follows.
    pub rules: Rules,
    /// The delays that it asks for.
    delays: DelaySettings,
    /// Those for hosts that are the operator's own.
    own_delays: DelaySettings,
    /// How its pages are asked for.
    pub page: Purpose,
    /// How requisites of its pages are asked for.
    pub media: Purpose,
    /// Whether requisites are kept.
    pub keeps_media: bool,
    /// Whether `nofollow` is obeyed.
    pub obeys_nofollow: bool,
    /// Whether its pages are limited, so that each is reserved before it is asked for.
    pub is_limited: bool,
    /// Where its records go; none where this program cannot open that, and so asks for nothing.
    pub stores: Option<CrawlStores>,
}

impl Crawl {
    /// The delays that it asks for, of hosts that are the operator's own or not.
    pub(crate) fn delays(&self, is_own: bool) -> DelaySettings {
        if is_own { self.own_delays } else { self.delays }
    }
}

/// The open crawls: each with whether it is asked for, or only its links are merged.
pub(crate) type OpenCrawls = HashMap<i32, (Arc<Crawl>, bool)>;

/// The open crawls as they were listed.
pub(crate) struct ListedCrawls {
    /// Those that this program can read.
    pub crawls: OpenCrawls,
    /// Whether there are others. Their links cannot be merged here, so slots are for programs that
    /// can.
    pub has_unreadable: bool,
}

/// Lists the open crawls. Those in `known` are not read again, unless their store could not be
/// opened.
///
/// # Errors
/// When Postgres cannot be asked.
pub(crate) async fn list_crawls(
    coordinator: &Coordinator,
    known: &OpenCrawls,
    stores: &StoreSettings,
) -> Result<ListedCrawls, everytab_coordinator::Error> {
    let mut crawls = OpenCrawls::new();
    let mut has_unreadable = false;
    for open in coordinator.open_crawls().await? {
        let is_running = open.state == "running";
        let crawl = match known.get(&open.crawl) {
            Some((crawl, _)) if crawl.stores.is_some() => Arc::clone(crawl),
            _ => match read_crawl(coordinator, &open, stores).await? {
                Ok(crawl) => Arc::new(crawl),
                Err(reason) => {
                    let crawl = open.name;
                    tracing::error!(
                        crawl,
                        reason,
                        "this program cannot read it: no slots are held"
                    );
                    has_unreadable = true;
                    continue;
                }
            },
        };
        let is_asked_for = is_running && crawl.stores.is_some();
        crawls.insert(open.crawl, (crawl, is_asked_for));
    }
    Ok(ListedCrawls { crawls, has_unreadable })
}

/// Reads what a crawl asks for; a text says why this program cannot do so.
async fn read_crawl(
    coordinator: &Coordinator,
    open: &OpenCrawl,
    stores: &StoreSettings,
) -> Result<Result<Crawl, String>, everytab_coordinator::Error> {
    let Some(settings) = coordinator.crawl_settings(open.crawl).await? else {
        return Ok(Err("it is gone".to_owned()));
    };
    let settings: CrawlSettings = match serde_json::from_value(settings) {
        Ok(settings) => settings,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let (name, rules) = match (LiveCrawlName::parse(&open.name), settings.rules()) {
        (Ok(name), Ok(rules)) => (name, rules),
        (Err(error), _) => return Ok(Err(error.to_string())),
        (_, Err(error)) => return Ok(Err(error.to_string())),
    };
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
        name,
        rules,
        delays: settings.delays(),
        own_delays: settings.own_delays(),
        page: settings.page_purpose(),
        media: settings.media_purpose(),
        keeps_media: settings.media != MediaOption::None,
        obeys_nofollow: settings.nofollow == NofollowOption::Obey,
        is_limited: open.budget_left.is_some(),
        stores,
    }))
}
