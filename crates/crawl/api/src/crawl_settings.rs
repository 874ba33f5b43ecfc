//! A crawl's settings in the HTTP API.
//!
//! Invariant: every setting of [`CrawlSettings`] that a client may set is here under the same name,
//! except that `filter` names the filter that is copied to `filters`. No other setting is here.

use everytab_crawl_settings::{
    CrawlSettings, CrawlSettingsError, DuplicatesOption, MediaOption, NofollowOption, SearchOption,
    SitemapsOption,
};
use everytab_frontier::Scope;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{
    parameters::check_no_nul,
    problem::{Problem, ProblemCode},
};

/// Which links the crawl follows.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ScopeWord {
    /// Follow no links.
    Page,
    /// Follow links to the same host.
    Host,
    /// Follow links to the same site.
    Site,
    /// Follow links to the submitted URLs' sites.
    List,
    /// Follow all links.
    Any,
}

/// Which page requisites the crawl keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum MediaWord {
    /// Keep no requisites.
    None,
    /// Keep images.
    Images,
    /// Keep images, style sheets, scripts, fonts and all others.
    All,
}

/// Which sitemaps the crawl reads.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SitemapsWord {
    /// Read no sitemaps.
    Off,
    /// Read the sitemaps that robots.txt names.
    Robots,
    /// Also read `/sitemap.xml`.
    Also,
}

/// How the crawl treats `nofollow`.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum NofollowWord {
    /// Do not follow links with `nofollow`, or any links on pages with `nofollow`.
    Obey,
    /// Follow links as if there were no `nofollow`.
    Ignore,
}

/// Whether page text is indexed for search.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SearchWord {
    /// Do not index.
    Off,
    /// Index.
    On,
}

/// How the crawl records a page that is unchanged since the earlier crawl in `again`.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DuplicatesWord {
    /// Record a capture that refers to the earlier record.
    Revisit,
    /// Refuse the page, and store no record.
    Reject,
}

/// A crawl's settings. A missing setting has its default (`GET /v1/settings`).
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SettingsOfCrawl {
    /// Which links the crawl follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) scope: Option<ScopeWord>,
    /// Maximum number of links from a submitted URL to a page, 0 to 1,000. 0 means the submitted
    /// URLs only.
    #[schema(maximum = 1000)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) depth: Option<u16>,
    /// Maximum number of pages. The crawl never exceeds this limit.
    #[schema(minimum = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<u64>,
    /// Maximum pages per site.
    #[schema(minimum = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) site_pages: Option<u64>,
    /// Limit for crawler traps. URLs that differ only in numbers and IDs, or that share a
    /// directory, form a group. If a group's repetitive pages outnumber its pages with new content
    /// by this many, its remaining URLs are left. Default: 32.
    #[schema(minimum = 1, maximum = 1_000_000)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) trap_pages: Option<u32>,
    /// URL patterns to include. If there are any, a page's URL must match at least one, unless it
    /// was submitted. A pattern is a glob over host and path such as `example.com/blog/*`, or `re:`
    /// and a regular expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) include: Option<Vec<String>>,
    /// URL patterns to exclude, even if they match `include`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) exclude: Option<Vec<String>>,
    /// Words with numbers, such as `news=2`. The number is added to a URL's priority if the URL
    /// contains the word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) priorities: Option<Vec<String>>,
    /// Which page requisites the crawl keeps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) media: Option<MediaWord>,
    /// Maximum requisite size in bytes, up to 32 MiB.
    #[schema(minimum = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) media_bytes: Option<usize>,
    /// Content types of the pages to keep: html, xhtml, text, pdf, images, or a type such as
    /// `image/svg+xml`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) types: Option<Vec<String>>,
    /// Maximum page size in bytes, up to 16 MiB. Longer pages are truncated.
    #[schema(minimum = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_bytes: Option<usize>,
    /// Minimum pause between two requests to a host, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) delay_ms: Option<u64>,
    /// The pause is at least this many times the host's response time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) delay_factor: Option<f64>,
    /// Maximum pause that `delay_factor` may cause, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_delay_ms: Option<u64>,
    /// Which sitemaps the crawl reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sitemaps: Option<SitemapsWord>,
    /// How the crawl treats `nofollow` on links and pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) nofollow: Option<NofollowWord>,
    /// Whether page text is indexed for `/v1/crawled/search`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) search: Option<SearchWord>,
    /// Name of one of the key's filters (`/v1/url/filter`). The crawl keeps this filter's current
    /// version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) filter: Option<String>,
    /// Seconds after which the crawl ends, up to a year.
    #[schema(minimum = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) duration_s: Option<u64>,
    /// Number of stored bytes after which the crawl ends.
    #[schema(minimum = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_store_bytes: Option<u64>,
    /// ID of one of the key's earlier crawls, which must have ended. URLs that it captured are
    /// fetched with conditional requests, and unchanged bodies are not stored again. Each crawl of
    /// a schedule repeats the schedule's last crawl, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) again: Option<Uuid>,
    /// Seconds after which an unchanged body is stored again, up to ten years. Default: 30 days.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) store_again_after_s: Option<u64>,
    /// How an unchanged page is recorded: as a capture that refers to the earlier record
    /// (`revisit`), or as refused without a record (`reject`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) duplicates: Option<DuplicatesWord>,
    /// How often a URL is retried after a temporary failure, up to 10. Default: 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retries: Option<u8>,
    /// Seconds for which a failing origin (scheme, host and port) is retried before its URLs are
    /// given up. Default: the operator's setting, usually a day.
    #[schema(minimum = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) host_patience_s: Option<u64>,
}

impl SettingsOfCrawl {
    /// Returns a problem that names the first setting out of bounds.
    pub(crate) fn settings(&self) -> Result<CrawlSettings, Problem> {
        let settings = self.unchecked();
        settings.check().map_err(|error| setting_problem("settings.", &error))?;
        check_no_nul(self, "settings", ProblemCode::InvalidSetting)?;
        Ok(settings)
    }

    fn unchecked(&self) -> CrawlSettings {
        let default = CrawlSettings::default();
        // Name every field, so that the compiler reports a setting that is not passed on.
        let Self {
            scope,
            depth,
            limit,
            site_pages,
            trap_pages,
            include,
            exclude,
            priorities,
            media,
            media_bytes,
            types,
            max_bytes,
            delay_ms,
            delay_factor,
            max_delay_ms,
            sitemaps,
            nofollow,
            search,
            // The caller looks up this name among the key's filters.
            filter: _,
            duration_s,
            max_store_bytes,
            again,
            store_again_after_s,
            duplicates,
            retries,
            host_patience_s,
        } = self.clone();
        CrawlSettings {
            scope: scope.map_or(default.scope, ScopeWord::scope),
            depth: depth.unwrap_or(default.depth),
            limit,
            site_pages: site_pages.unwrap_or(default.site_pages),
            trap_pages: trap_pages.unwrap_or(default.trap_pages),
            include: include.unwrap_or_default(),
            exclude: exclude.unwrap_or_default(),
            priorities: priorities.unwrap_or_default(),
            media: media.map_or(default.media, MediaWord::option),
            media_bytes: media_bytes.unwrap_or(default.media_bytes),
            types: types.unwrap_or(default.types),
            max_bytes: max_bytes.unwrap_or(default.max_bytes),
            delay_ms: delay_ms.unwrap_or(default.delay_ms),
            delay_factor: delay_factor.unwrap_or(default.delay_factor),
            max_delay_ms: max_delay_ms.unwrap_or(default.max_delay_ms),
            sitemaps: sitemaps.map_or(default.sitemaps, SitemapsWord::option),
            nofollow: nofollow.map_or(default.nofollow, NofollowWord::option),
            search: search.map_or(default.search, SearchWord::option),
            duration_s,
            max_store_bytes,
            again,
            store_again_after_s: store_again_after_s.unwrap_or(default.store_again_after_s),
            duplicates: duplicates.map_or(default.duplicates, DuplicatesWord::option),
            retries: retries.unwrap_or(default.retries),
            host_patience_s,
            filters: Vec::new(),
            // The caller sets the sites, and the operator sets the stores.
            list_sites: Vec::new(),
            stores: Vec::new(),
            media_store: None,
            // Postgres sets `ports` from the key.
            ports: None,
            seed_ports: None,
        }
    }

    /// Omits settings that a client cannot set.
    pub(crate) fn of(settings: CrawlSettings) -> Self {
        let CrawlSettings {
            scope,
            depth,
            limit,
            site_pages,
            trap_pages,
            include,
            exclude,
            priorities,
            media,
            media_bytes,
            types,
            max_bytes,
            delay_ms,
            delay_factor,
            max_delay_ms,
            sitemaps,
            nofollow,
            search,
            duration_s,
            max_store_bytes,
            filters,
            list_sites: _,
            stores: _,
            media_store: _,
            ports: _,
            seed_ports: _,
            again,
            store_again_after_s,
            duplicates,
            retries,
            host_patience_s,
        } = settings;
        Self {
            scope: Some(ScopeWord::of(scope)),
            depth: Some(depth),
            limit,
            site_pages: Some(site_pages),
            trap_pages: Some(trap_pages),
            include: Some(include),
            exclude: Some(exclude),
            priorities: Some(priorities),
            media: Some(MediaWord::of(media)),
            media_bytes: Some(media_bytes),
            types: Some(types),
            max_bytes: Some(max_bytes),
            delay_ms: Some(delay_ms),
            delay_factor: Some(delay_factor),
            max_delay_ms: Some(max_delay_ms),
            sitemaps: Some(SitemapsWord::of(sitemaps)),
            nofollow: Some(NofollowWord::of(nofollow)),
            search: Some(SearchWord::of(search)),
            filter: filters.into_iter().next().map(|frozen| frozen.name),
            duration_s,
            max_store_bytes,
            again,
            store_again_after_s: Some(store_again_after_s),
            duplicates: Some(DuplicatesWord::of(duplicates)),
            retries: Some(retries),
            host_patience_s,
        }
    }
}

/// Converts a settings error to a problem that names the field, with `place` as its prefix.
pub(crate) fn setting_problem(place: &str, error: &CrawlSettingsError) -> Problem {
    let (field, code) = match error.option {
        "include" => ("include", ProblemCode::InvalidPattern),
        "exclude" => ("exclude", ProblemCode::InvalidPattern),
        option => (field_of(option), ProblemCode::InvalidSetting),
    };
    Problem::of_field(code, &format!("{place}{field}"), &error.reason)
}

fn field_of(option: &str) -> &str {
    match option {
        "site-pages" => "site_pages",
        "trap-pages" => "trap_pages",
        "priority" => "priorities",
        "media-bytes" => "media_bytes",
        "max-bytes" => "max_bytes",
        "delay" => "delay_ms",
        "delay-factor" => "delay_factor",
        "max-delay" => "max_delay_ms",
        "for" => "duration_s",
        "max-store" => "max_store_bytes",
        "store-again-after" => "store_again_after_s",
        "host-patience" => "host_patience_s",
        other => other,
    }
}

macro_rules! same_words {
    ($word:ident $option:ident $to:ident: $($name:ident)+) => {
        impl $word {
            pub(crate) fn $to(self) -> $option {
                match self { $(Self::$name => $option::$name,)+ }
            }

            fn of(option: $option) -> Self {
                match option { $($option::$name => Self::$name,)+ }
            }
        }
    };
}

same_words! { ScopeWord Scope scope: Page Host Site List Any }
same_words! { MediaWord MediaOption option: None Images All }
same_words! { SitemapsWord SitemapsOption option: Off Robots Also }
same_words! { NofollowWord NofollowOption option: Obey Ignore }
same_words! { SearchWord SearchOption option: Off On }
same_words! { DuplicatesWord DuplicatesOption option: Revisit Reject }

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn settings(value: Value) -> Result<CrawlSettings, Problem> {
        let settings: SettingsOfCrawl = serde_json::from_value(value).unwrap();
        settings.settings()
    }

    #[test]
    fn missing_settings_have_the_crawlers_defaults() {
        assert_eq!(settings(json!({})).unwrap(), CrawlSettings::default());
    }

    #[test]
    fn every_setting_has_the_crawlers_name_and_round_trips() {
        let given = json!({
            "scope": "host", "depth": 3, "limit": 10, "site_pages": 5, "trap_pages": 9,
            "include": ["a.test/*"],
            "exclude": ["re:x"], "priorities": ["news=2"], "media": "images", "media_bytes": 7,
            "types": ["html"], "max_bytes": 8, "delay_ms": 500, "delay_factor": 1.5,
            "max_delay_ms": 900, "sitemaps": "also", "nofollow": "ignore", "search": "on",
            "duration_s": 60,
            "max_store_bytes": 4096, "again": "0198aaaa-0000-7000-8000-000000000001",
            "store_again_after_s": 3600, "duplicates": "reject", "retries": 5,
            "host_patience_s": 600,
        });
        let settings = settings(given.clone()).unwrap();
        assert_eq!(serde_json::to_value(SettingsOfCrawl::of(settings.clone())).unwrap(), given);
        let Value::Object(mut crawlers) = serde_json::to_value(&settings).unwrap() else {
            panic!()
        };
        for operators in ["list_sites", "stores", "media_store"] {
            assert!(crawlers.remove(operators).is_some());
        }
        assert_eq!(Value::Object(crawlers), given);
    }

    #[test]
    fn invalid_settings_and_operator_settings_are_rejected_by_name() {
        for field in ["stores", "media_store", "list_sites", "filter_by", "Scope"] {
            let wrong = serde_json::from_value::<SettingsOfCrawl>(json!({ field: null }));
            assert!(wrong.unwrap_err().to_string().contains("unknown field"), "{field}");
        }
        for (given, field, code) in [
            (json!({"depth": 1001}), "settings.depth", ProblemCode::InvalidSetting),
            (json!({"limit": 0}), "settings.limit", ProblemCode::InvalidSetting),
            (json!({"delay_factor": 1e9}), "settings.delay_factor", ProblemCode::InvalidSetting),
            (json!({"duration_s": 0}), "settings.duration_s", ProblemCode::InvalidSetting),
            (json!({"max_bytes": 0}), "settings.max_bytes", ProblemCode::InvalidSetting),
            (
                json!({"store_again_after_s": 1_u64 << 40}),
                "settings.store_again_after_s",
                ProblemCode::InvalidSetting,
            ),
            (json!({"duplicates": "reject"}), "settings.duplicates", ProblemCode::InvalidSetting),
            (json!({"trap_pages": 0}), "settings.trap_pages", ProblemCode::InvalidSetting),
            (json!({"retries": 11}), "settings.retries", ProblemCode::InvalidSetting),
            (
                json!({"host_patience_s": 0}),
                "settings.host_patience_s",
                ProblemCode::InvalidSetting,
            ),
            (json!({"types": ["what"]}), "settings.types", ProblemCode::InvalidSetting),
            (json!({"include": ["re:("]}), "settings.include", ProblemCode::InvalidPattern),
        ] {
            let problem = settings(given).unwrap_err();
            assert_eq!((problem.code, problem.errors[0].field.as_deref()), (code, Some(field)));
        }
    }
}
