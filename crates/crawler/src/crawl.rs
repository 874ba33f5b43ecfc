//! A crawl that has not ended, as whoever crawls needs it.
//!
//! Must not know: slots, what is known of hosts.

use std::{collections::HashMap, sync::Arc};

use everytab_commoncrawl::crawl_layout::LiveCrawlName;
use everytab_coordinator::{Coordinator, OpenCrawl};
use everytab_fetcher::{DelaySettings, Purpose};
use everytab_frontier::Rules;
use everytab_storage::{Store, StoreSettings};

use crate::settings::{CrawlSettings, MediaOption, NofollowOption};

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
    /// Where its records go.
    pub store: Arc<dyn Store>,
}

impl Crawl {
    /// The delays that it asks for, of hosts that are the operator's own or not.
    pub(crate) fn delays(&self, is_own: bool) -> DelaySettings {
        if is_own { self.own_delays } else { self.delays }
    }
}

/// The open crawls: each with whether it runs, or is paused.
pub(crate) type OpenCrawls = HashMap<i32, (Arc<Crawl>, bool)>;

/// Lists the open crawls. Those in `known` are not read again.
///
/// # Errors
/// A text that says why Postgres cannot be asked. A crawl whose settings or store this program
/// cannot use is left out with a warning: another program of the fleet may.
pub(crate) async fn list_crawls(
    coordinator: &Coordinator,
    known: &OpenCrawls,
    stores: &StoreSettings,
) -> Result<OpenCrawls, everytab_coordinator::Error> {
    let mut crawls = OpenCrawls::new();
    for open in coordinator.open_crawls().await? {
        let is_running = open.state == "running";
        let crawl = match known.get(&open.crawl) {
            Some((crawl, _)) => Arc::clone(crawl),
            None => match read_crawl(coordinator, &open, stores).await? {
                Ok(crawl) => Arc::new(crawl),
                Err(reason) => {
                    tracing::warn!(crawl = open.name, reason, "this program cannot crawl it");
                    continue;
                }
            },
        };
        crawls.insert(open.crawl, (crawl, is_running));
    }
    Ok(crawls)
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
    let store = match everytab_storage::open(&open.store, stores).await {
        Ok(store) => store,
        Err(error) => return Ok(Err(error.to_string())),
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
        store,
    }))
}
