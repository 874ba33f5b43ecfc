//! The settings of a crawl as a client gives and sees them.
//!
//! Invariants: every setting of [`CrawlSettings`] that a user may set is here under its own name
//! (the compiler names one that is new), and no other; what is not given has the crawler's default.
//! Must not know: which values are in bounds (the crawler checks).

use everytab_crawler::{
    CrawlSettings, CrawlSettingsError, DuplicatesOption, MediaOption, NofollowOption, SearchOption,
    SitemapsOption,
};
use everytab_frontier::Scope;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{
    problem::{Problem, ProblemCode},
    short_text::check_no_nul,
};

/// Which links are followed.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ScopeWord {
    /// None.
    Page,
    /// To the same host.
    Host,
    /// To the same site.
    Site,
    /// To the sites of the URLs that were submitted with the crawl.
    List,
    /// All.
    Any,
}

/// Which requisites of pages are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum MediaWord {
    /// None.
    None,
    /// Pictures.
    Images,
    /// Style sheets, scripts, fonts and others too.
    All,
}

/// Which sitemaps are read.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SitemapsWord {
    /// None.
    Off,
    /// Those that robots.txt names.
    Robots,
    /// `/sitemap.xml` as well.
    Also,
}

/// What `nofollow` means.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum NofollowWord {
    /// Such links are not followed.
    Obey,
    /// They are links as all others.
    Ignore,
}

/// Whether the text of pages is indexed for search.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SearchWord {
    /// It is not.
    Off,
    /// It is.
    On,
}

/// What becomes of a page that is the same as in the crawl that is repeated.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DuplicatesWord {
    /// It is a capture, whose record names the earlier one.
    Revisit,
    /// It is refused, and leaves no record.
    Reject,
}

/// What a crawl is asked for; what is not given has its default (`GET /v1/settings`).
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SettingsOfCrawl {
    /// Which links are followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) scope: Option<ScopeWord>,
    /// Links from a submitted URL at most, 0 to 1,000; 0: the submitted URLs only.
    #[schema(maximum = 1000)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) depth: Option<u16>,
    /// Pages in all, never exceeded.
    #[schema(minimum = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<u64>,
    /// Pages of a site.
    #[schema(minimum = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) site_pages: Option<u64>,
    /// By how many pages of URLs that differ by numbers alone those that repeat others may
    /// outnumber those that say something new, before the rest is left as a trap; 32 unless it is
    /// given.
    #[schema(minimum = 1, maximum = 1_000_000)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) trap_pages: Option<u32>,
    /// Patterns of which one must match, if there is any: globs over host and path such as
    /// `example.com/blog/*`, or `re:` and a regular expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) include: Option<Vec<String>>,
    /// Patterns of which none may match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) exclude: Option<Vec<String>>,
    /// Words and what each adds to the priority of a URL, such as `news=2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) priorities: Option<Vec<String>>,
    /// Which requisites of pages are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) media: Option<MediaWord>,
    /// Bytes of a requisite, up to 32 MiB.
    #[schema(minimum = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) media_bytes: Option<usize>,
    /// Content types of pages: html, xhtml, text, pdf, images, or one such as `image/svg+xml`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) types: Option<Vec<String>>,
    /// Bytes of a page, up to 16 MiB; the rest is cut.
    #[schema(minimum = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_bytes: Option<usize>,
    /// The pause between two requests to a host, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) delay_ms: Option<u64>,
    /// The pause is at least so many times as long as the host took to answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) delay_factor: Option<f64>,
    /// The most that `delay_factor` makes of the pause, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_delay_ms: Option<u64>,
    /// Which sitemaps are read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sitemaps: Option<SitemapsWord>,
    /// What `nofollow` of links and pages means.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) nofollow: Option<NofollowWord>,
    /// Whether the text of pages is indexed, for `/v1/crawled/search`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) search: Option<SearchWord>,
    /// One of the key's filters (`/v1/url/filter`) by its name; the crawl keeps it as it is now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) filter: Option<String>,
    /// Seconds after which the crawl ends, up to a year.
    #[schema(minimum = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) duration_s: Option<u64>,
    /// Bytes in the store after which the crawl ends.
    #[schema(minimum = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_store_bytes: Option<u64>,
    /// The id of an earlier crawl of the key that has ended: its URLs are asked for on condition
    /// that they changed, and what did not is not stored again. A schedule repeats its last crawl,
    /// where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) again: Option<Uuid>,
    /// Seconds after which a body is stored anew, though it is the same: up to ten years; 30 days
    /// unless it is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) store_again_after_s: Option<u64>,
    /// What becomes of a page that is the same: a `revisit`, which names the earlier record, or
    /// `reject`, which leaves none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) duplicates: Option<DuplicatesWord>,
    /// How often a URL is fetched again after a failure that may pass, up to 10; 3 unless it is
    /// given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retries: Option<u8>,
    /// Seconds after which the URLs of a scheme, host and port are left that gives nothing but
    /// failures; the operator's setting, mostly a day, unless it is given.
    #[schema(minimum = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) host_patience_s: Option<u64>,
}

impl SettingsOfCrawl {
    /// The crawler's settings, checked.
    ///
    /// # Errors
    /// The first setting that is out of its bounds.
    pub(crate) fn settings(&self) -> Result<CrawlSettings, Problem> {
        let settings = self.unchecked();
        settings.check().map_err(|error| setting_problem("settings.", &error))?;
        check_no_nul(self, "settings", ProblemCode::InvalidSetting)?;
        Ok(settings)
    }

    fn unchecked(&self) -> CrawlSettings {
        let default = CrawlSettings::default();
        // Every field by name: the compiler tells of one that is not passed on.
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
            // The caller looks for it among the key's own.
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
            // The operator's.
            list_sites: Vec::new(),
            stores: Vec::new(),
            media_store: None,
            // Postgres has those of the key.
            ports: None,
            seed_ports: None,
        }
    }

    /// What a crawl's settings are, without what is the operator's.
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

/// A setting out of its bounds, by the name of its field; `place` is what that begins with.
pub(crate) fn setting_problem(place: &str, error: &CrawlSettingsError) -> Problem {
    let (field, code) = match error.option {
        "include" => ("include", ProblemCode::InvalidPattern),
        "exclude" => ("exclude", ProblemCode::InvalidPattern),
        option => (field_of(option), ProblemCode::InvalidSetting),
    };
    Problem::of_field(code, &format!("{place}{field}"), &error.reason)
}

/// The field that an option of the command line sets.
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

/// Declares how a word and the crawler's option go into each other.
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
    fn what_is_not_given_has_the_crawlers_default() {
        assert_eq!(settings(json!({})).unwrap(), CrawlSettings::default());
    }

    #[test]
    fn every_setting_has_the_crawlers_name_and_comes_back_as_it_was_given() {
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
    fn a_setting_that_is_the_operators_or_out_of_bounds_is_refused_by_its_name() {
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
