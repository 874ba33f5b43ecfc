//! A crawl's filters. A URL or page must pass every filter.

use std::sync::Arc;

use everytab_frontier::{
    CanonicalUrl, Link, LinkFilter, LinkFlags, ParameterList, PatternLists, RejectReason,
    UrlMatches, UrlPatterns,
};

use crate::{
    content::PageContent,
    decision::{Decision, FilterVerdict},
    filter::{Filter, UrlParts},
    settings::{ClassifierSettings, FilterError},
};

/// A crawl's filters.
#[derive(Debug, Clone, Default)]
pub struct FilterSet {
    filters: Vec<Filter>,
    /// Compiled rules of all filters in order, possibly with the crawl's other patterns.
    patterns: Arc<UrlPatterns>,
}

/// Result of testing a filter with a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestedUrl {
    /// The URL's normalized key. `None` if this URL cannot be crawled.
    pub key: Option<String>,
    /// `None` if no filter decides, or if the URL cannot be crawled.
    pub decision: Option<Decision>,
    /// Why this URL cannot be crawled.
    pub error: Option<String>,
}

impl FilterSet {
    /// Combines filters, and compiles their patterns.
    ///
    /// # Errors
    /// Returns an error if a pattern is invalid, or if the patterns are too expensive.
    pub fn new(filters: Vec<Filter>) -> Result<Self, FilterError> {
        let rules = filters.iter().map(Filter::patterns).collect();
        let lists = PatternLists { filters: rules, ..PatternLists::default() };
        let patterns = UrlPatterns::compile(&lists);
        let patterns = patterns.map_err(|error| FilterError::new("rules", error))?;
        Ok(Self::with_patterns(filters, Arc::new(patterns)))
    }

    /// Combines filters. `patterns` must contain their rules, in this order.
    #[must_use]
    pub fn with_patterns(filters: Vec<Filter>, patterns: Arc<UrlPatterns>) -> Self {
        Self { filters, patterns }
    }

    /// Returns true if there are no filters.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.filters.is_empty()
    }

    /// Returns true if all lists that these filters name are loaded.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.filters.iter().all(Filter::is_complete)
    }

    /// Returns true if a filter needs a page's language.
    #[must_use]
    pub fn needs_language(&self) -> bool {
        self.filters.iter().any(Filter::needs_language)
    }

    /// Returns true if a filter needs a page's title or text.
    #[must_use]
    pub fn needs_text(&self) -> bool {
        self.filters.iter().any(Filter::needs_text)
    }

    /// Decides about a URL before it is fetched. `is_exempt` is true for submitted URLs, requisites
    /// and sitemaps, which lists and countries with the mode keep never exclude.
    #[must_use]
    pub fn decide_url(&self, url: &CanonicalUrl, is_exempt: bool) -> Option<Decision> {
        self.decide_matched(url, &self.patterns.matches(url), is_exempt)
    }

    fn decide_matched(
        &self,
        url: &CanonicalUrl,
        matches: &UrlMatches,
        is_exempt: bool,
    ) -> Option<Decision> {
        let parts = parts_of(url);
        self.strictest(|number, filter| {
            filter.decide_url(parts, matches.rule_of(number), is_exempt)
        })
    }

    /// Decides about a fetched page, before [`Self::classifiers`] are queried.
    #[must_use]
    pub fn decide_content(&self, url: &CanonicalUrl, page: &PageContent<'_>) -> Option<Decision> {
        let parts = parts_of(url);
        let matches = self.patterns.matches(url);
        self.strictest(|number, filter| filter.decide_content(parts, matches.rule_of(number), page))
    }

    /// Iterates over the classifiers, but skips filters with a pattern that keeps this page.
    pub fn classifiers(
        &self,
        url: &CanonicalUrl,
    ) -> impl Iterator<Item = &ClassifierSettings> + use<'_> {
        let parts = parts_of(url);
        let matches = self.patterns.matches(url);
        let nothing = PageContent::default();
        let asked: Vec<&ClassifierSettings> = self
            .filters
            .iter()
            .enumerate()
            .filter(|(number, filter)| {
                let decision = filter.decide_content(parts, matches.rule_of(*number), &nothing);
                decision.is_none_or(|decision| decision.verdict != FilterVerdict::Keep)
            })
            .filter_map(|(_, filter)| filter.classifier())
            .collect();
        asked.into_iter()
    }

    /// Decides about URLs without fetching them.
    #[must_use]
    pub fn test(
        &self,
        urls: &[&str],
        is_exempt: bool,
        parameters: &ParameterList,
    ) -> Vec<TestedUrl> {
        let test = |text: &&str| match CanonicalUrl::parse(text, parameters) {
            Ok(url) => TestedUrl {
                decision: self.decide_url(&url, is_exempt),
                key: Some(url.key().to_owned()),
                error: None,
            },
            Err(error) => TestedUrl { key: None, decision: None, error: Some(error.to_string()) },
        };
        urls.iter().map(test).collect()
    }

    /// Returns the first drop, else the first nofollow, else the first keep.
    fn strictest(&self, decide: impl Fn(usize, &Filter) -> Option<Decision>) -> Option<Decision> {
        let mut strictest: Option<Decision> = None;
        let filters = self.filters.iter().enumerate();
        for decision in filters.filter_map(|(number, filter)| decide(number, filter)) {
            match (decision.verdict, strictest.map(|before| before.verdict)) {
                (FilterVerdict::Drop, _) => return Some(decision),
                (_, None) | (FilterVerdict::Nofollow, Some(FilterVerdict::Keep)) => {
                    strictest = Some(decision);
                }
                _ => {}
            }
        }
        strictest
    }
}

impl LinkFilter for FilterSet {
    fn refusal(&self, link: &Link, matches: &UrlMatches) -> Option<RejectReason> {
        let flags = link.attributes.flags;
        let is_exempt = flags.contains(LinkFlags::SEED) || flags.is_requisite_or_sitemap();
        let decision = self.decide_matched(&link.url, matches, is_exempt)?;
        decision.is_drop().then(|| decision.by.reason())
    }
}

fn parts_of(url: &CanonicalUrl) -> UrlParts<'_> {
    let text = url.key().split_once("://").map_or("", |(_, text)| text);
    UrlParts { host: url.host(), text }
}
