//! The options that are frozen with a crawl.

use std::time::Duration;

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use everytab_crawl_settings::{
    CrawlSettings, DuplicatesOption, MediaOption, NofollowOption, RETRIES, SearchOption,
    SitemapsOption,
};
use everytab_fetcher::{DEFAULT_MEDIA_BYTES, DEFAULT_PAGE_BYTES};
use everytab_frontier::{DEFAULT_TRAP_PAGES, Scope};

use crate::options::{Bytes, parse_bytes, parse_time, whole_seconds};

/// Options that are frozen with a crawl.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "The crawl")]
pub(super) struct CrawlOptionArgs {
    /// Links to follow: none, to the same host, to the same site, to the sites in the list of seeds
    /// and the sites that seeds redirect to, or all
    #[arg(long, env = "EVERYTAB_CRAWL_SCOPE", default_value = "site",
          value_parser = PossibleValuesParser::new(Scope::ALL.map(Scope::as_str))
              .try_map(|word| word.parse::<Scope>()))]
    scope: Scope,
    /// Maximum number of links from a seed, up to 1000; 0 fetches only the seeds [default: 16; with
    /// --only 0]
    #[arg(long, env = "EVERYTAB_CRAWL_DEPTH", value_name = "N")]
    pub(super) depth: Option<u16>,
    /// Maximum number of pages in the crawl
    #[arg(long, env = "EVERYTAB_CRAWL_LIMIT", value_name = "N")]
    limit: Option<u64>,
    /// Maximum number of pages per site
    #[arg(long, env = "EVERYTAB_CRAWL_SITE_PAGES", value_name = "N", default_value_t = 10_000)]
    site_pages: u64,
    /// Skip the remaining URLs of a directory, or URLs that differ only in numbers, once this many
    /// more of their pages are repeats than are new. This avoids traps such as calendars and
    /// session ids
    #[arg(long, env = "EVERYTAB_CRAWL_TRAP_PAGES", value_name = "N",
          default_value_t = DEFAULT_TRAP_PAGES)]
    trap_pages: u32,
    /// Follow only URLs that match this pattern: a glob for the host and path such as
    /// example.com/blog/*, or re: followed by a regular expression. Seeds are exempt
    #[arg(long, env = "EVERYTAB_CRAWL_INCLUDE", value_name = "PATTERN")]
    include: Vec<String>,
    /// Do not fetch URLs that match this pattern; takes precedence over --include
    #[arg(long, env = "EVERYTAB_CRAWL_EXCLUDE", value_name = "PATTERN")]
    exclude: Vec<String>,
    /// Add N (-7 to 7) to the priority of URLs that contain the word. URLs with a higher sum (0 to
    /// 7) are fetched first
    #[arg(long = "priority", env = "EVERYTAB_CRAWL_PRIORITY", value_name = "WORD=N")]
    priorities: Vec<String>,
    /// Page requisites (images, styles, scripts and so on) to store
    #[arg(long, env = "EVERYTAB_CRAWL_MEDIA", default_value = "none",
          value_parser = PossibleValuesParser::new(MediaOption::ALL)
              .try_map(|word| MediaOption::parse(&word).ok_or("unknown")))]
    media: MediaOption,
    /// Maximum size of a page requisite in bytes, up to 32MiB
    #[arg(long, env = "EVERYTAB_CRAWL_MEDIA_BYTES", value_name = "BYTES",
          default_value_t = Bytes(DEFAULT_MEDIA_BYTES as u64), value_parser = parse_bytes)]
    media_bytes: Bytes,
    /// Content types of pages to store: html, xhtml, text, pdf, images, or a type such as
    /// image/svg+xml
    #[arg(
        long,
        env = "EVERYTAB_CRAWL_TYPES",
        value_name = "TYPE",
        value_delimiter = ',',
        default_value = "html,xhtml,text,pdf"
    )]
    types: Vec<String>,
    /// Maximum size of a page in bytes, up to 16MiB; longer pages are truncated
    #[arg(long, env = "EVERYTAB_CRAWL_MAX_BYTES", value_name = "BYTES",
          default_value_t = Bytes(DEFAULT_PAGE_BYTES as u64), value_parser = parse_bytes)]
    max_bytes: Bytes,
    /// Minimum pause between two requests to a host; values below 250ms apply only to the hosts in
    /// the workers' --own
    #[arg(long, env = "EVERYTAB_CRAWL_DELAY", value_name = "DURATION", default_value = "1s",
          value_parser = parse_time)]
    delay: Duration,
    /// Pause for at least this many times the host's response time
    #[arg(long, env = "EVERYTAB_CRAWL_DELAY_FACTOR", value_name = "NUMBER", default_value_t = 2.0)]
    delay_factor: f64,
    /// Maximum pause that --delay-factor can cause
    #[arg(long, env = "EVERYTAB_CRAWL_MAX_DELAY", value_name = "DURATION", default_value = "60s",
          value_parser = parse_time)]
    max_delay: Duration,
    /// Sitemaps to read: none, those listed in robots.txt, or these and /sitemap.xml
    #[arg(long, env = "EVERYTAB_CRAWL_SITEMAPS", default_value = "robots",
          value_parser = PossibleValuesParser::new(SitemapsOption::ALL)
              .try_map(|word| SitemapsOption::parse(&word).ok_or("unknown")))]
    sitemaps: SitemapsOption,
    /// Whether to obey nofollow in links and pages
    #[arg(long, env = "EVERYTAB_CRAWL_NOFOLLOW", default_value = "obey",
          value_parser = PossibleValuesParser::new(NofollowOption::ALL)
              .try_map(|word| NofollowOption::parse(&word).ok_or("unknown")))]
    nofollow: NofollowOption,
    /// Apply the current version of this filter; `filter list` shows all filters
    #[arg(long = "filter", env = "EVERYTAB_CRAWL_FILTER", value_name = "NAME")]
    pub(super) filters: Vec<String>,
    /// Whether to index the text of pages for GET /v1/crawled/search
    #[arg(long, env = "EVERYTAB_CRAWL_SEARCH", default_value = "off",
          value_parser = PossibleValuesParser::new(SearchOption::ALL)
              .try_map(|word| SearchOption::parse(&word).ok_or("unknown")))]
    search: SearchOption,
    /// End the crawl after this time, up to 365d
    #[arg(long = "for", env = "EVERYTAB_CRAWL_FOR", value_name = "DURATION",
          value_parser = parse_time)]
    duration: Option<Duration>,
    /// End the crawl when it has stored this many bytes
    #[arg(long, env = "EVERYTAB_CRAWL_MAX_STORE", value_name = "BYTES",
          value_parser = parse_bytes)]
    max_store: Option<Bytes>,
    /// Repeat this ended crawl: request its captures conditionally, and store only changed pages.
    /// Give its id, a prefix of the id, or its name
    #[arg(long, env = "EVERYTAB_CRAWL_AGAIN", value_name = "ID")]
    pub(super) again: Option<String>,
    /// Store an unchanged page again when its stored copy is older than this, up to 3650d
    #[arg(long, env = "EVERYTAB_CRAWL_STORE_AGAIN_AFTER", value_name = "DURATION",
          default_value = "30d", value_parser = parse_time)]
    store_again_after: Duration,
    /// How to store an unchanged page: as a revisit record that refers to the earlier capture, or
    /// not at all
    #[arg(long, env = "EVERYTAB_CRAWL_DUPLICATES", default_value = "revisit",
          value_parser = PossibleValuesParser::new(DuplicatesOption::ALL)
              .try_map(|word| DuplicatesOption::parse(&word).ok_or("unknown")))]
    duplicates: DuplicatesOption,
    /// Maximum number of retries per URL, up to 10, after a temporary failure: a refused or broken
    /// connection, a timeout, a status such as 429, 502 or 503, or an incomplete body
    #[arg(long, env = "EVERYTAB_CRAWL_RETRIES", value_name = "N", default_value_t = RETRIES)]
    retries: u8,
    /// Give up on an origin (scheme, host and port) that has only failed for this long. Its
    /// remaining URLs get the state left [default: the workers' --host-patience, 24h]
    #[arg(long, env = "EVERYTAB_CRAWL_HOST_PATIENCE", value_name = "DURATION",
          value_parser = parse_time)]
    host_patience: Option<Duration>,
}

impl CrawlOptionArgs {
    /// Returns the crawl's settings, without checking them.
    pub(super) fn settings(&self) -> CrawlSettings {
        // Name every option, so that the compiler reports a forgotten one.
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
            delay,
            delay_factor,
            max_delay,
            sitemaps,
            nofollow,
            // The caller sets filters and again, because this needs the database.
            filters: _,
            search,
            duration,
            max_store,
            again: _,
            store_again_after,
            duplicates,
            retries,
            host_patience,
        } = self.clone();
        let default = CrawlSettings::default();
        CrawlSettings {
            scope,
            depth: depth.unwrap_or(default.depth),
            limit,
            site_pages,
            trap_pages,
            include,
            exclude,
            priorities,
            media,
            media_bytes: usize::try_from(media_bytes.0).unwrap_or(usize::MAX),
            types,
            max_bytes: usize::try_from(max_bytes.0).unwrap_or(usize::MAX),
            delay_ms: millis(delay),
            delay_factor,
            max_delay_ms: millis(max_delay),
            sitemaps,
            nofollow,
            search,
            duration_s: duration.map(whole_seconds),
            max_store_bytes: max_store.map(|bytes| bytes.0),
            store_again_after_s: whole_seconds(store_again_after),
            duplicates,
            retries,
            host_patience_s: host_patience.map(whole_seconds),
            ..default
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use clap::{Command, FromArgMatches as _};

    use super::*;

    fn settings(arguments: &[&str]) -> CrawlSettings {
        let command = CrawlOptionArgs::augment_args(Command::new("start"));
        let matches = command.get_matches_from([&["start"], arguments].concat());
        CrawlOptionArgs::from_arg_matches(&matches).unwrap().settings()
    }

    #[test]
    fn without_options_the_settings_are_the_defaults() {
        assert_eq!(settings(&[]), CrawlSettings::default());
    }

    #[test]
    fn every_option_becomes_its_setting() {
        let found = settings(&[
            "--scope=any",
            "--depth=3",
            "--limit=9",
            "--site-pages=7",
            "--trap-pages=9",
            "--include=a.com",
            "--include=re:b{1,2}",
            "--exclude=c.com",
            "--priority=news=2",
            "--media=images",
            "--media-bytes=1MiB",
            "--types=html,pdf",
            "--max-bytes=500KiB",
            "--delay=0",
            "--delay-factor=0.5",
            "--max-delay=5m",
            "--sitemaps=also",
            "--nofollow=ignore",
            "--search=on",
            "--for=7d",
            "--max-store=2TiB",
            "--store-again-after=2h",
            "--duplicates=reject",
            "--retries=5",
            "--host-patience=1h",
        ]);
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let expected = CrawlSettings {
            scope: Scope::Any,
            depth: 3,
            limit: Some(9),
            site_pages: 7,
            trap_pages: 9,
            include: texts(&["a.com", "re:b{1,2}"]),
            exclude: texts(&["c.com"]),
            priorities: texts(&["news=2"]),
            media: MediaOption::Images,
            media_bytes: 1 << 20,
            types: texts(&["html", "pdf"]),
            max_bytes: 500 << 10,
            delay_ms: 0,
            delay_factor: 0.5,
            max_delay_ms: 300_000,
            sitemaps: SitemapsOption::Also,
            nofollow: NofollowOption::Ignore,
            search: SearchOption::On,
            duration_s: Some(7 * 86_400),
            max_store_bytes: Some(2 << 40),
            store_again_after_s: 7_200,
            duplicates: DuplicatesOption::Reject,
            retries: 5,
            host_patience_s: Some(3_600),
            ..CrawlSettings::default()
        };
        assert_eq!(found, expected);
        let refused = expected.check().map_err(|error| error.to_string());
        assert!(refused.unwrap_err().starts_with("--duplicates: reject requires --again"));
        let again = CrawlSettings { again: Some(uuid::Uuid::nil()), ..expected };
        assert_eq!(again.check(), Ok(()));
    }
}
