//! What a submission asks of a crawl: the JSON that is frozen in `crawls.settings`.
//!
//! Invariants: settings that [`CrawlSettings::check`] accepts give rules, delays and purposes;
//! JSON with a field that is no setting is refused, so that a misspelt limit limits. Must not know:
//! where settings come from, what a page or a link is.

mod patterns;

use std::{sync::Arc, time::Duration};

use chrono::TimeDelta;
use everytab_fetcher::{
    ContentTypes, DEFAULT_MEDIA_BYTES, DEFAULT_PAGE_BYTES, DelaySettings, MAX_MEDIA_BYTES,
    MAX_PAGE_BYTES, Purpose,
};
use everytab_frontier::{
    DEFAULT_TRAP_PAGES, MAX_DEPTH, MAX_FILTER_LISTS, MAX_RETRIES, PriorityWords, Rules, RulesError,
    Scope, SiteBudget, SiteSet,
};
use everytab_webpage::PortList;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{
    filters::frozen::{FrozenFilter, MAX_FILTERS},
    stores::{StoreRange, check_ranges},
};

/// The shortest delay between two requests to a host that is not the operator's own.
pub const MIN_PUBLIC_DELAY_MS: u64 = 250;
/// The longest delay that can be set: 24 pages of a host a day.
const MAX_DELAY_MS: u64 = 3_600_000;
/// The greatest multiple of the response time: a host that is used for a hundredth of the time.
const MAX_DELAY_FACTOR: f64 = 100.0;
/// The longest time that can be set for a crawl: a year, which no crawl needs.
pub const MAX_DURATION_S: u64 = 365 * 86_400;
/// The age from which a copy is stored anew unless the crawl says otherwise: a month.
pub const STORE_AGAIN_AFTER_S: u64 = 30 * 86_400;
/// The greatest such age that can be set: ten years, in which stores change hands.
const MAX_STORE_AGAIN_AFTER_S: u64 = 3_650 * 86_400;
/// How often a URL is retried after failures that may pass unless the crawl says otherwise. With 30
/// seconds before the first, the third comes three and a half minutes after the first failure.
pub const RETRIES: u8 = 3;
/// The most sites of the scope `list`: 8 bytes each in the memory of every worker, and up to 21 in
/// the row of the crawl. Larger lists take the scope `site`, or several crawls.
pub const MAX_LIST_SITES: usize = 1_000_000;

const _: () = assert!(MIN_PUBLIC_DELAY_MS <= MAX_DELAY_MS);
const _: () = assert!(MAX_FILTERS <= MAX_FILTER_LISTS);

/// A setting that is out of its bounds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("--{option}: {reason}")]
pub struct CrawlSettingsError {
    /// The name of the option, as the command line has it, without its dashes.
    pub option: &'static str,
    /// What is wrong, with the bound.
    pub reason: String,
    /// Whether the setting is correct, and only costs more than a crawl may.
    is_of_cost: bool,
}

impl CrawlSettingsError {
    fn new(option: &'static str, reason: impl ToString) -> Self {
        Self { option, reason: reason.to_string(), is_of_cost: false }
    }
}

/// Declares an option that is one of a few words.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$word_doc:meta])* $word:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        pub enum $name { $($(#[$word_doc])* $word,)+ }

        impl $name {
            /// Every word.
            pub const ALL: [&str; [$($text),+].len()] = [$($text),+];

            /// The stable name.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$word => $text,)+ }
            }

            /// The option of this name, if there is one.
            #[must_use]
            pub fn parse(name: &str) -> Option<Self> {
                match name { $($text => Some(Self::$word),)+ _ => None }
            }
        }
    };
}

words! {
    /// Which requisites of pages are kept.
    MediaOption {
        /// None.
        #[default]
        None = "none",
        /// Pictures.
        Images = "images",
        /// Style sheets, scripts, fonts and others too.
        All = "all",
    }
}

words! {
    /// Which sitemaps are read.
    SitemapsOption {
        /// None.
        Off = "off",
        /// Those that robots.txt names.
        #[default]
        Robots = "robots",
        /// `/sitemap.xml` as well.
        Also = "also",
    }
}

words! {
    /// What `nofollow` of links and pages means.
    NofollowOption {
        /// Such links are not followed.
        #[default]
        Obey = "obey",
        /// They are links as all others.
        Ignore = "ignore",
    }
}

words! {
    /// What becomes of a page that is the same as in the crawl that is repeated.
    DuplicatesOption {
        /// It is a capture, whose record names the earlier one.
        #[default]
        Revisit = "revisit",
        /// It is refused, and leaves no record.
        Reject = "reject",
    }
}

words! {
    /// Whether the text of pages is indexed for search.
    SearchOption {
        /// It is not.
        #[default]
        Off = "off",
        /// It is.
        On = "on",
    }
}

/// What a crawl was asked for. The default is what every option has where it is not given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CrawlSettings {
    /// Which links are followed.
    #[serde(with = "scope_word")]
    pub scope: Scope,
    /// Greatest number of links from a seed; 0: the seeds only.
    pub depth: u16,
    /// Pages in all.
    pub limit: Option<u64>,
    /// Pages of a site.
    pub site_pages: u64,
    /// By how many pages of a shape of URLs those that repeat others may outnumber those that say
    /// something new, before the rest is left.
    #[serde(skip_serializing_if = "is_usual_trap_pages")]
    pub trap_pages: u32,
    /// Patterns of which one must match, if there is any.
    pub include: Vec<String>,
    /// Patterns of which none may match.
    pub exclude: Vec<String>,
    /// Words and what each adds to the priority, such as `news=2`.
    pub priorities: Vec<String>,
    /// Which requisites are kept.
    pub media: MediaOption,
    /// Bytes of a requisite.
    pub media_bytes: usize,
    /// The content types of pages.
    pub types: Vec<String>,
    /// Bytes of a page; the rest is cut.
    pub max_bytes: usize,
    /// The delay between two requests to a host, in milliseconds.
    pub delay_ms: u64,
    /// The multiple of a host's response time that the delay is at least.
    pub delay_factor: f64,
    /// The most that this multiple makes of the delay, in milliseconds.
    pub max_delay_ms: u64,
    /// Which sitemaps are read.
    pub sitemaps: SitemapsOption,
    /// What `nofollow` means.
    pub nofollow: NofollowOption,
    /// Whether the text of pages is indexed.
    pub search: SearchOption,
    /// Seconds after which the crawl ends.
    pub duration_s: Option<u64>,
    /// Bytes in the store after which the crawl ends.
    pub max_store_bytes: Option<u64>,
    /// The hashes of the seeds' sites (`everytab_frontier::site_hash`), for the scope `list`.
    pub list_sites: Vec<u64>,
    /// Stores by ranges of slots; none where the crawl has one store.
    pub stores: Vec<StoreRange>,
    /// The store of requisites, if it is another one.
    pub media_store: Option<String>,
    /// The ports that URLs of the crawl may name: those of its key. `None` where the worker that
    /// merges a link decides by its own list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ports: Option<PortList>,
    /// Ports that seeds of an operator name: each worker requests them in this crawl, whatever its
    /// own list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed_ports: Option<PortList>,
    /// The filters, as they were when the crawl was started. Programs that know none read settings
    /// without them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<FrozenFilter>,
    /// The id of an earlier crawl: what it kept of a URL makes the request conditional, and is
    /// named instead of stored again where it is the same. As with filters, programs that know of
    /// none read settings without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub again: Option<Uuid>,
    /// Seconds after which a body is stored anew, though it is the same.
    #[serde(skip_serializing_if = "is_usual_age")]
    pub store_again_after_s: u64,
    /// What becomes of a page that is the same.
    #[serde(skip_serializing_if = "is_revisit")]
    pub duplicates: DuplicatesOption,
    /// How often a URL is retried after failures that may pass.
    #[serde(skip_serializing_if = "is_usual_retries")]
    pub retries: u8,
    /// Seconds for which an origin that gives nothing but failures is waited for before its URLs
    /// are left; the worker's setting if `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_patience_s: Option<u64>,
}

fn is_usual_age(seconds: &u64) -> bool {
    *seconds == STORE_AGAIN_AFTER_S
}

fn is_usual_retries(retries: &u8) -> bool {
    *retries == RETRIES
}

fn is_usual_trap_pages(pages: &u32) -> bool {
    *pages == DEFAULT_TRAP_PAGES
}

fn is_revisit(option: &DuplicatesOption) -> bool {
    *option == DuplicatesOption::Revisit
}

impl Default for CrawlSettings {
    fn default() -> Self {
        let (rules, delays) = (Rules::default(), DelaySettings::default());
        Self {
            scope: rules.scope,
            depth: rules.depth,
            limit: None,
            site_pages: rules.site_budget.0,
            trap_pages: rules.trap_pages,
            include: Vec::new(),
            exclude: Vec::new(),
            priorities: Vec::new(),
            media: MediaOption::default(),
            media_bytes: DEFAULT_MEDIA_BYTES,
            types: ["html", "xhtml", "text", "pdf"].map(str::to_owned).to_vec(),
            max_bytes: DEFAULT_PAGE_BYTES,
            delay_ms: millis(delays.delay),
            delay_factor: delays.factor,
            max_delay_ms: millis(delays.max_delay),
            sitemaps: SitemapsOption::default(),
            nofollow: NofollowOption::default(),
            search: SearchOption::default(),
            duration_s: None,
            max_store_bytes: None,
            list_sites: Vec::new(),
            stores: Vec::new(),
            media_store: None,
            ports: None,
            seed_ports: None,
            filters: Vec::new(),
            again: None,
            store_again_after_s: STORE_AGAIN_AFTER_S,
            duplicates: DuplicatesOption::default(),
            retries: RETRIES,
            host_patience_s: None,
        }
    }
}

/// The settings of a crawl that hold, their rules, and why they are others than those that were
/// given; an error is the first setting that is out of its bounds.
pub(crate) type CompiledSettings =
    Result<(CrawlSettings, Rules, Option<CrawlSettingsError>), CrawlSettingsError>;

impl CrawlSettings {
    /// Checks each setting.
    ///
    /// # Errors
    /// The first one that is out of its bounds.
    pub fn check(&self) -> Result<(), CrawlSettingsError> {
        self.rules()?;
        self.content_types()?;
        let most = i64::MAX as u64;
        within("limit", "pages", self.limit.unwrap_or(1), 1, most)?;
        within("media-bytes", "bytes", self.media_bytes as u64, 1, MAX_MEDIA_BYTES as u64)?;
        within("max-bytes", "bytes", self.max_bytes as u64, 1, MAX_PAGE_BYTES as u64)?;
        within("delay", "milliseconds", self.delay_ms, 0, MAX_DELAY_MS)?;
        within("max-delay", "milliseconds", self.max_delay_ms, 0, MAX_DELAY_MS)?;
        if !(0.0..=MAX_DELAY_FACTOR).contains(&self.delay_factor) {
            let reason = format!("{} is not from 0 to {MAX_DELAY_FACTOR}", self.delay_factor);
            return Err(CrawlSettingsError::new("delay-factor", reason));
        }
        if !self.stores.is_empty() {
            check_ranges(&self.stores).map_err(|error| CrawlSettingsError::new("to", error))?;
        }
        within("for", "seconds", self.duration_s.unwrap_or(1), 1, MAX_DURATION_S)?;
        within("max-store", "bytes", self.max_store_bytes.unwrap_or(1), 1, most)?;
        let (age, most) = (self.store_again_after_s, MAX_STORE_AGAIN_AFTER_S);
        within("store-again-after", "seconds", age, 0, most)?;
        if self.duplicates == DuplicatesOption::Reject && self.again.is_none() {
            let reason = "reject is for a crawl with --again, which has something to compare with";
            return Err(CrawlSettingsError::new("duplicates", reason));
        }
        within("retries", "times", self.retries.into(), 0, MAX_RETRIES.into())?;
        let patience_s = self.host_patience_s.unwrap_or(1);
        within("host-patience", "seconds", patience_s, 1, MAX_DURATION_S)?;
        if self.list_sites.len() > MAX_LIST_SITES {
            let reason = format!("the scope list has at most {MAX_LIST_SITES} sites; take site");
            return Err(CrawlSettingsError::new("scope", reason));
        }
        if self.filters.len() > MAX_FILTERS {
            let reason = format!("a crawl has at most {MAX_FILTERS} filters");
            return Err(CrawlSettingsError::new("filter", reason));
        }
        for filter in &self.filters {
            let check = filter.check();
            check.map_err(|why| {
                CrawlSettingsError::new("filter", format!("{}: {why}", filter.name))
            })?;
        }
        Ok(())
    }

    /// The age from which a body is stored anew.
    pub(crate) fn store_again_after(&self) -> TimeDelta {
        let seconds = i64::try_from(self.store_again_after_s).unwrap_or(i64::MAX);
        TimeDelta::try_seconds(seconds).unwrap_or(TimeDelta::MAX)
    }

    /// For how long an origin that fails is waited for. `None` if the worker's setting decides.
    pub(crate) fn host_patience(&self) -> Option<Duration> {
        self.host_patience_s.map(Duration::from_secs)
    }

    /// What the crawl follows, compiled.
    ///
    /// # Errors
    /// The first setting that is out of its bounds.
    pub fn rules(&self) -> Result<Rules, CrawlSettingsError> {
        let words: Vec<&str> = self.priorities.iter().map(String::as_str).collect();
        let priorities = PriorityWords::parse(&words)
            .map_err(|error| CrawlSettingsError::new("priority", error))?;
        let patterns = self.patterns(&priorities).map_err(|error| self.pattern_error(&error))?;
        let rules = Rules {
            scope: self.scope,
            list: SiteSet::new(self.list_sites.clone()),
            // Whoever merges links has a list of its own.
            ports: Vec::new(),
            depth: self.depth,
            patterns: Arc::new(patterns),
            is_closed: false,
            // Compiled where their lists are.
            filter: None,
            priorities,
            site_budget: SiteBudget(self.site_pages),
            trap_pages: self.trap_pages,
        };
        rules.check().map_err(|error| match error {
            RulesError::Depth => CrawlSettingsError::new(
                "depth",
                format!("{} is not from 0 to {MAX_DEPTH}", self.depth),
            ),
            RulesError::SitePages => CrawlSettingsError::new("site-pages", error),
            RulesError::TrapPages => CrawlSettingsError::new("trap-pages", error),
        })?;
        Ok(rules)
    }

    /// Returns the ports of URLs that the crawl follows where a worker has this list.
    #[must_use]
    pub fn followed_ports(&self, of_worker: &PortList) -> PortList {
        self.ports.as_ref().unwrap_or(of_worker).with(self.seed_ports.as_ref())
    }

    /// Returns the ports that a worker with this list requests in the crawl.
    #[must_use]
    pub fn requested_ports(&self, of_worker: &PortList) -> PortList {
        of_worker.with(self.seed_ports.as_ref())
    }

    /// The delays of hosts: at least [`MIN_PUBLIC_DELAY_MS`], whatever is set.
    #[must_use]
    pub fn delays(&self) -> DelaySettings {
        let delay = Duration::from_millis(self.delay_ms.max(MIN_PUBLIC_DELAY_MS));
        DelaySettings { delay, ..self.own_delays() }
    }

    /// The delays of hosts that are the operator's own: as they are set.
    #[must_use]
    pub fn own_delays(&self) -> DelaySettings {
        DelaySettings {
            delay: Duration::from_millis(self.delay_ms),
            factor: self.delay_factor,
            max_delay: Duration::from_millis(self.max_delay_ms),
            ..DelaySettings::default()
        }
    }

    /// What a request for a page is for. Types that [`Self::check`] refuses are those of pages.
    #[must_use]
    pub fn page_purpose(&self) -> Purpose {
        let types = self.content_types().unwrap_or_else(|_| ContentTypes::pages());
        Purpose::page(self.max_bytes, types)
    }

    /// What a request for a requisite of a page is for.
    #[must_use]
    pub fn media_purpose(&self) -> Purpose {
        let types = match self.media {
            MediaOption::None | MediaOption::Images => ContentTypes::images(),
            MediaOption::All => ContentTypes::any(),
        };
        Purpose::media(self.media_bytes, types)
    }

    /// The address of the store that has the pages of a slot, or their requisites; `store` is the
    /// crawl's own.
    pub(crate) fn store_of<'a>(&'a self, store: &'a str, slot: u8, is_media: bool) -> &'a str {
        let holds = |range: &&StoreRange| (range.first..=range.last).contains(&slot);
        let of_range = self.stores.iter().find(holds).map(|range| range.store.as_str());
        let media = self.media_store.as_deref().filter(|_| is_media);
        media.or(of_range).unwrap_or(store)
    }

    fn content_types(&self) -> Result<ContentTypes, CrawlSettingsError> {
        ContentTypes::parse(&self.types.join(","))
            .map_err(|error| CrawlSettingsError::new("types", error))
    }
}

fn within(
    option: &'static str,
    unit: &str,
    value: u64,
    least: u64,
    most: u64,
) -> Result<(), CrawlSettingsError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(CrawlSettingsError::new(option, format!("{value} is not from {least} to {most} {unit}")))
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// A scope in JSON: its word.
mod scope_word {
    use everytab_frontier::Scope;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(scope: &Scope, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(scope.as_str())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Scope, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests;
