//! A crawl's settings: the JSON in `crawls.settings`. Unknown fields are rejected, because a limit
//! with a misspelled name would have no effect.

mod patterns;

use std::{sync::Arc, time::Duration};

use chrono::TimeDelta;
use everytab_filters::{FilterVerdict, RuleSettings};
use everytab_frontier::{
    DEFAULT_TRAP_PAGES, MAX_DEPTH, MAX_FILTER_LISTS, MAX_RETRIES, PatternListError, PriorityWords,
    Rules, RulesError, Scope, SiteBudget, SiteSet, UrlPatternList,
};
use everytab_webpage::{
    ContentTypes, DEFAULT_MEDIA_BYTES, DEFAULT_PAGE_BYTES, MAX_MEDIA_BYTES, MAX_PAGE_BYTES,
    PortList,
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{
    frozen_filter::{FrozenFilter, MAX_FILTERS},
    options::{DuplicatesOption, MediaOption, NofollowOption, SearchOption, SitemapsOption},
    store_range::{StoreRange, check_ranges},
};

/// Default delay between two requests to a host in milliseconds.
pub const DEFAULT_DELAY_MS: u64 = 1_000;
/// Default multiple of the response time. With this default, requests keep a host busy for at most
/// a third of the time.
pub const DEFAULT_DELAY_FACTOR: f64 = 2.0;
/// Default maximum in milliseconds for a delay computed from the response time.
pub const DEFAULT_MAX_DELAY_MS: u64 = 60_000;
/// Minimum delay between two requests to a host in milliseconds, unless the host belongs to the
/// operator.
pub const MIN_PUBLIC_DELAY_MS: u64 = 250;
/// Maximum delay that can be set in milliseconds.
const MAX_DELAY_MS: u64 = 3_600_000;
/// Maximum multiple of the response time. With this maximum, a host is busy for about 1 % of the
/// time.
const MAX_DELAY_FACTOR: f64 = 100.0;
/// Maximum duration that can be set for a crawl in seconds.
pub const MAX_DURATION_S: u64 = 365 * 86_400;
/// Default age in seconds from which an unchanged body is stored again (30 days).
pub const STORE_AGAIN_AFTER_S: u64 = 30 * 86_400;
/// Maximum age in seconds that can be set for storing an unchanged body again: ten years.
const MAX_STORE_AGAIN_AFTER_S: u64 = 3_650 * 86_400;
/// Default retries per URL after transient failures.
pub const RETRIES: u8 = 3;
/// Maximum sites in the scope `list`. Each takes 8 bytes in every worker's memory.
pub const MAX_LIST_SITES: usize = 1_000_000;

const _: () = assert!(MIN_PUBLIC_DELAY_MS <= MAX_DELAY_MS);
const _: () = assert!(MAX_FILTERS <= MAX_FILTER_LISTS);

/// An invalid setting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("--{option}: {reason}")]
pub struct CrawlSettingsError {
    /// Command line option, without dashes.
    pub option: &'static str,
    /// Why this setting is rejected.
    pub reason: String,
    /// Whether this setting is valid but exceeds a cost limit.
    is_of_cost: bool,
}

impl CrawlSettingsError {
    fn new(option: &'static str, reason: impl ToString) -> Self {
        Self { option, reason: reason.to_string(), is_of_cost: false }
    }
}

/// A crawl's settings. `Default` has each option's default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CrawlSettings {
    /// Which links the crawl follows.
    #[serde(with = "scope_word")]
    pub scope: Scope,
    /// Maximum links between a seed and a page. With 0, the crawl fetches only the seeds.
    pub depth: u16,
    /// Maximum pages in this crawl.
    pub limit: Option<u64>,
    /// Maximum pages per site.
    pub site_pages: u64,
    /// After this many repetitive pages, not offset by pages with new content, a URL shape is
    /// closed as a trap.
    #[serde(skip_serializing_if = "is_usual_trap_pages")]
    pub trap_pages: u32,
    /// URL patterns. Unless this list is empty, a URL must match at least one.
    pub include: Vec<String>,
    /// URL patterns to exclude.
    pub exclude: Vec<String>,
    /// Words in URLs with the value that each adds to the priority, such as `news=2`.
    pub priorities: Vec<String>,
    /// Which requisites are stored.
    pub media: MediaOption,
    /// Maximum requisite size in bytes.
    pub media_bytes: usize,
    /// Content types that pages may have.
    pub types: Vec<String>,
    /// Maximum page size in bytes. Pages beyond this limit are truncated.
    pub max_bytes: usize,
    /// Delay between two requests to a host in milliseconds.
    pub delay_ms: u64,
    /// Minimum delay as a multiple of the host's response time.
    pub delay_factor: f64,
    /// Maximum delay in milliseconds that is computed from the response time.
    pub max_delay_ms: u64,
    /// Which sitemaps are read.
    pub sitemaps: SitemapsOption,
    /// How `nofollow` is handled.
    pub nofollow: NofollowOption,
    /// Whether page text is indexed.
    pub search: SearchOption,
    /// Maximum crawl duration in seconds.
    pub duration_s: Option<u64>,
    /// Maximum bytes to store. The crawl ends when it reaches this limit.
    pub max_store_bytes: Option<u64>,
    /// Hashes of the seeds' sites (`everytab_frontier::site_hash`), for the scope `list`.
    pub list_sites: Vec<u64>,
    /// Stores for slot ranges. Empty if the crawl has one store.
    pub stores: Vec<StoreRange>,
    /// Store for requisites. `None` if they are in the page stores.
    pub media_store: Option<String>,
    /// Ports that the crawl's URLs may have, as allowed by its API key. If `None`, each worker uses
    /// its own list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ports: Option<PortList>,
    /// Ports that an operator's seeds use. Every worker may connect to these in addition to its own
    /// list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed_ports: Option<PortList>,
    /// Filters as of this crawl's start. An empty field is omitted, so that programs without
    /// support for filters can read the settings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<FrozenFilter>,
    /// Id of the earlier crawl that this crawl repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub again: Option<Uuid>,
    /// Age in seconds from which an unchanged body is stored again.
    #[serde(skip_serializing_if = "is_usual_age")]
    pub store_again_after_s: u64,
    /// How the crawl handles a page that is identical to its earlier copy.
    #[serde(skip_serializing_if = "is_revisit")]
    pub duplicates: DuplicatesOption,
    /// Maximum retries per URL after transient failures.
    #[serde(skip_serializing_if = "is_usual_retries")]
    pub retries: u8,
    /// Seconds during which a failing origin is retried. If `None`, the worker's setting applies.
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
        let rules = Rules::default();
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
            delay_ms: DEFAULT_DELAY_MS,
            delay_factor: DEFAULT_DELAY_FACTOR,
            max_delay_ms: DEFAULT_MAX_DELAY_MS,
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

/// Effective settings, their rules, and why they differ from the given settings.
pub type CompiledSettings =
    Result<(CrawlSettings, Rules, Option<CrawlSettingsError>), CrawlSettingsError>;

impl CrawlSettings {
    /// Checks each setting.
    ///
    /// # Errors
    /// Returns an error for the first invalid setting.
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
            let factor = self.delay_factor;
            let reason = format!("invalid value {factor}: expected 0 to {MAX_DELAY_FACTOR}");
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
            let reason = "reject requires --again, because it compares with the earlier crawl";
            return Err(CrawlSettingsError::new("duplicates", reason));
        }
        within("retries", "times", self.retries.into(), 0, MAX_RETRIES.into())?;
        let patience_s = self.host_patience_s.unwrap_or(1);
        within("host-patience", "seconds", patience_s, 1, MAX_DURATION_S)?;
        if self.list_sites.len() > MAX_LIST_SITES {
            let reason =
                format!("the scope list has at most {MAX_LIST_SITES} sites; use the scope site");
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

    /// Returns the age from which an unchanged body is stored again.
    pub fn store_again_after(&self) -> TimeDelta {
        let seconds = i64::try_from(self.store_again_after_s).unwrap_or(i64::MAX);
        TimeDelta::try_seconds(seconds).unwrap_or(TimeDelta::MAX)
    }

    /// Returns how long a failing origin is retried. `None` if the worker's setting applies.
    pub fn host_patience(&self) -> Option<Duration> {
        self.host_patience_s.map(Duration::from_secs)
    }

    /// Compiles this crawl's rules.
    ///
    /// # Errors
    /// Returns an error for the first invalid setting.
    pub fn rules(&self) -> Result<Rules, CrawlSettingsError> {
        let words: Vec<&str> = self.priorities.iter().map(String::as_str).collect();
        let priorities = PriorityWords::parse(&words)
            .map_err(|error| CrawlSettingsError::new("priority", error))?;
        let lists = (&self.exclude[..], &self.include[..]);
        let patterns = patterns::compile(lists, &self.filters, &priorities)
            .map_err(|error| self.pattern_error(&error))?;
        let rules = Rules {
            scope: self.scope,
            list: SiteSet::new(self.list_sites.clone()),
            // The worker that merges links adds its own list.
            ports: Vec::new(),
            depth: self.depth,
            patterns: Arc::new(patterns),
            is_closed: false,
            // Filters are compiled by the code that loads their lists.
            filter: None,
            priorities,
            site_budget: SiteBudget(self.site_pages),
            trap_pages: self.trap_pages,
        };
        rules.check().map_err(|error| match error {
            RulesError::Depth => CrawlSettingsError::new(
                "depth",
                format!("invalid value {}: expected 0 to {MAX_DEPTH}", self.depth),
            ),
            RulesError::SitePages => CrawlSettingsError::new("site-pages", error),
            RulesError::TrapPages => CrawlSettingsError::new("trap-pages", error),
        })?;
        Ok(rules)
    }

    fn pattern_error(&self, error: &PatternListError) -> CrawlSettingsError {
        let (option, reason) = match error.list {
            UrlPatternList::Exclude => ("exclude", error.to_string()),
            UrlPatternList::Include => ("include", error.to_string()),
            UrlPatternList::Words => ("priority", error.to_string()),
            UrlPatternList::Filter(number) => {
                let name = self.filters.get(number).map_or("", |filter| filter.name.as_str());
                ("filter", format!("{name}: rules: {error}"))
            }
        };
        CrawlSettingsError { option, reason, is_of_cost: error.error.is_of_cost() }
    }

    /// Compiles rules for a crawl that was started earlier. If its patterns exceed today's cost
    /// limit, all links are rejected and each filter drops all URLs, because exclude patterns must
    /// not be ignored.
    ///
    /// # Errors
    /// Returns an error for the first setting that is invalid for another reason.
    pub fn into_rules(mut self) -> CompiledSettings {
        let error = match self.rules() {
            Ok(rules) => return Ok((self, rules, None)),
            Err(error) if error.is_of_cost => error,
            Err(error) => return Err(error),
        };
        (self.exclude, self.include, self.priorities) = Default::default();
        for frozen in &mut self.filters {
            let rule = RuleSettings { pattern: "*".to_owned(), verdict: FilterVerdict::Drop };
            frozen.filter.rules = vec![rule];
        }
        let rules = Rules { is_closed: true, ..self.rules()? };
        Ok((self, rules, Some(error)))
    }

    /// Returns the ports of URLs that this crawl follows on a worker with this list.
    #[must_use]
    pub fn followed_ports(&self, of_worker: &PortList) -> PortList {
        self.ports.as_ref().unwrap_or(of_worker).with(self.seed_ports.as_ref())
    }

    /// Returns the ports that a worker with this list may connect to for this crawl.
    #[must_use]
    pub fn requested_ports(&self, of_worker: &PortList) -> PortList {
        of_worker.with(self.seed_ports.as_ref())
    }

    /// Returns the store for a slot's pages, or for their requisites. `store` is this crawl's
    /// default.
    pub fn store_of<'a>(&'a self, store: &'a str, slot: u8, is_media: bool) -> &'a str {
        let holds = |range: &&StoreRange| (range.first..=range.last).contains(&slot);
        let of_range = self.stores.iter().find(holds).map(|range| range.store.as_str());
        let media = self.media_store.as_deref().filter(|_| is_media);
        media.or(of_range).unwrap_or(store)
    }

    /// Parses page content types.
    ///
    /// # Errors
    /// Returns an error if a content type is invalid.
    pub fn content_types(&self) -> Result<ContentTypes, CrawlSettingsError> {
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
    let reason = format!("invalid value {value}: expected {least} to {most} {unit}");
    Err(CrawlSettingsError::new(option, reason))
}

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
