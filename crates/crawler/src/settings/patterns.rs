//! Compiles a crawl's patterns together, because one limit applies to all of them.
//!
//! Does not depend on how patterns are used.

use everytab_filters::{FilterVerdict, RuleSettings};
use everytab_frontier::{
    PatternListError, PatternLists, PriorityWords, Rules, UrlPatternList, UrlPatterns,
};

use super::{CompiledSettings, CrawlSettings, CrawlSettingsError};

impl CrawlSettings {
    /// Compiles all patterns of the crawl and its filters together.
    pub(super) fn patterns(
        &self,
        priorities: &PriorityWords,
    ) -> Result<UrlPatterns, PatternListError> {
        let filters = self
            .filters
            .iter()
            .map(|frozen| frozen.filter.rules.iter().map(|rule| rule.pattern.as_str()).collect());
        UrlPatterns::compile(&PatternLists {
            exclude: self.exclude.iter().map(String::as_str).collect(),
            include: self.include.iter().map(String::as_str).collect(),
            filters: filters.collect(),
            words: priorities.words(),
        })
    }

    pub(super) fn pattern_error(&self, error: &PatternListError) -> CrawlSettingsError {
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

    /// Compiles the rules for a crawl that was started before. If its patterns cost more than a
    /// crawl may today, no worker can match them, and they may be excludes, so nothing is followed
    /// any longer: every link and filtered URL is refused, and the crawl ends with the captures
    /// that it has. Returns the effective settings, their rules, and the reason why they differ
    /// from the given ones, if they do.
    ///
    /// # Errors
    /// Returns an error for the first setting that is out of bounds for another reason.
    pub(crate) fn into_rules(mut self) -> CompiledSettings {
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
}
