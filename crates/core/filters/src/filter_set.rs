//! A crawl's filters. A URL or page must pass all of them.
//!
//! This module does not depend on where filters are stored.

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
    /// The compiled patterns of all filters' rules, in order. Other patterns of the crawl may be
    /// included.
    patterns: Arc<UrlPatterns>,
}

/// The result when a filter is tested with a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestedUrl {
    /// The URL's normalized key. `None` if the URL cannot be crawled.
    pub key: Option<String>,
    /// The decision. `None` if no filter decides, or if the URL cannot be crawled.
    pub decision: Option<Decision>,
    /// Why the URL cannot be crawled.
    pub error: Option<String>,
}

impl FilterSet {
    /// Combines filters, and compiles their patterns.
    ///
    /// # Errors
    /// Returns an error if a pattern is invalid, or if the patterns together cost too much.
    pub fn new(filters: Vec<Filter>) -> Result<Self, FilterError> {
        let rules = filters.iter().map(Filter::patterns).collect();
        let lists = PatternLists { filters: rules, ..PatternLists::default() };
        let patterns = UrlPatterns::compile(&lists);
        let patterns = patterns.map_err(|error| FilterError::new("rules", error))?;
        Ok(Self::with_patterns(filters, Arc::new(patterns)))
    }

    /// Combines filters. `patterns` must contain their patterns, in this order.
    #[must_use]
    pub fn with_patterns(filters: Vec<Filter>, patterns: Arc<UrlPatterns>) -> Self {
        Self { filters, patterns }
    }

    /// Returns true if there are no filters.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.filters.is_empty()
    }

    /// Returns true if all lists that the filters name are loaded.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.filters.iter().all(Filter::is_complete)
    }

    /// Returns true if a filter needs page languages.
    #[must_use]
    pub fn needs_language(&self) -> bool {
        self.filters.iter().any(Filter::needs_language)
    }

    /// Returns true if a filter needs page text.
    #[must_use]
    pub fn needs_text(&self) -> bool {
        self.filters.iter().any(Filter::needs_text)
    }

    /// Decides about a URL before it is fetched. `None` if no filter decides. `is_exempt` is for
    /// submitted URLs and for requisites and sitemaps: lists and countries with the mode keep do
    /// not apply to them.
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

    /// Decides about a fetched page. `None` if no filter decides. Unless the page is dropped, the
    /// caller then sends requests to the classifiers ([`Self::classifiers`]).
    #[must_use]
    pub fn decide_content(&self, url: &CanonicalUrl, page: &PageContent<'_>) -> Option<Decision> {
        let parts = parts_of(url);
        let matches = self.patterns.matches(url);
        self.strictest(|number, filter| filter.decide_content(parts, matches.rule_of(number), page))
    }

    /// Yields the classifiers for a page that is not dropped, except the classifiers of filters
    /// with a pattern that keeps the page.
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

    /// Decides about URLs without fetching them, as links or as submitted URLs.
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
