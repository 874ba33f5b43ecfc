//! What a crawl follows: its frozen settings, in compiled form.
//!
//! Order: scope where a link is found; port, exclude, include, filters, depth and traps where it is
//! merged, of which the first that applies is counted. Patterns and words are compared with the
//! key, so the answer is the same for all spellings of a URL. Must not know: what is known, how a
//! filter decides.

use std::{fmt, sync::Arc};

use crate::{
    budget::{DEFAULT_TRAP_PAGES, MAX_TRAP_PAGES, SiteBudget},
    link::{Link, LinkFlags, MAX_HOPS},
    patterns::{UrlMatches, UrlPatterns},
    priority::PriorityWords,
    scope::{Scope, SiteSet},
    suffixes::SuffixList,
    trap::trap,
    turned_away::TurnedAway,
};

/// Greatest depth of a crawl. Deeper links are made by traps.
pub const MAX_DEPTH: u16 = 1_000;

/// Depth of a crawl whose user names none: deeper than nearly every page of a site.
const DEFAULT_DEPTH: u16 = 16;

/// Greatest budget of a site that can be set: so many known URLs have 1,000 full hosts.
const MAX_SITE_BUDGET: u64 = 1_000_000_000;

/// The reason why settings are not acceptable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RulesError {
    /// The depth is greater than [`MAX_DEPTH`].
    #[error("the depth is greater than {MAX_DEPTH}")]
    Depth,
    /// The budget of a site is 0 or greater than [`MAX_SITE_BUDGET`].
    #[error("the pages of a site are not from 1 to {MAX_SITE_BUDGET}")]
    SitePages,
    /// The pages of a trap are 0 or more than [`MAX_TRAP_PAGES`].
    #[error("the pages of a trap are not from 1 to {MAX_TRAP_PAGES}")]
    TrapPages,
}

/// What turns links away beside the rules of a crawl: its filters. The same link always gets the
/// same answer.
pub trait LinkFilter: fmt::Debug + Send + Sync {
    /// Returns why a link is not followed; `None` if it may be. Takes what matches the URL.
    fn refusal(&self, link: &Link, matches: &UrlMatches) -> Option<TurnedAway>;
}

/// What a crawl follows.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Which links are followed.
    pub scope: Scope,
    /// The sites of the seeds; only the scope [`Scope::List`] needs them.
    pub list: SiteSet,
    /// The ports of URLs that are followed. If empty, any port is.
    pub ports: Vec<u16>,
    /// Greatest depth, 0 to [`MAX_DEPTH`]; 0: only the seeds.
    pub depth: u16,
    /// Patterns to exclude and to include, the rules of the filter, and the words of `priorities`.
    /// Seeds, requisites and sitemaps need not be included.
    pub patterns: Arc<UrlPatterns>,
    /// Whether no link is followed, because nobody can match the patterns that were given.
    pub is_closed: bool,
    /// What else turns links away.
    pub filter: Option<Arc<dyn LinkFilter>>,
    /// Words that raise or lower the priority.
    pub priorities: PriorityWords,
    /// The number of pages of a site.
    pub site_budget: SiteBudget,
    /// The number of pages by which those of a shape of URLs that repeat others may outnumber those
    /// that say something new, before the shape is closed.
    pub trap_pages: u32,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            scope: Scope::default(),
            list: SiteSet::default(),
            ports: Vec::new(),
            depth: DEFAULT_DEPTH,
            patterns: Arc::default(),
            is_closed: false,
            filter: None,
            priorities: PriorityWords::default(),
            site_budget: SiteBudget::default(),
            trap_pages: DEFAULT_TRAP_PAGES,
        }
    }
}

impl Rules {
    /// Checks the numbers.
    ///
    /// # Errors
    /// The first that is out of its bounds.
    pub fn check(&self) -> Result<(), RulesError> {
        if self.depth > MAX_DEPTH {
            return Err(RulesError::Depth);
        }
        if !(1..=MAX_SITE_BUDGET).contains(&self.site_budget.0) {
            return Err(RulesError::SitePages);
        }
        if !(1..=MAX_TRAP_PAGES).contains(&self.trap_pages) {
            return Err(RulesError::TrapPages);
        }
        Ok(())
    }

    /// Returns true if a link from one host to another is in scope.
    #[must_use]
    pub fn is_in_scope(&self, from_host: &str, to_host: &str, suffixes: &SuffixList) -> bool {
        match self.scope {
            Scope::Page => false,
            Scope::Host => from_host == to_host,
            Scope::Site => {
                from_host == to_host || suffixes.site_of(from_host) == suffixes.site_of(to_host)
            }
            // A page of another site is where a seed redirects to.
            Scope::List => {
                let (from, to) = (suffixes.site_of(from_host), suffixes.site_of(to_host));
                from == to || self.list.contains(to)
            }
            Scope::Any => true,
        }
    }

    /// Returns what matches the URL of a link.
    #[must_use]
    pub fn matches(&self, link: &Link) -> UrlMatches {
        self.patterns.matches(&link.url)
    }

    /// Returns why a link in scope is not followed, by the link and what matches its URL alone;
    /// `None` if it may be.
    #[must_use]
    pub fn refusal(&self, link: &Link, matches: &UrlMatches) -> Option<TurnedAway> {
        let Link { url, attributes, .. } = link;
        if !self.ports.is_empty() && !self.ports.contains(&url.port()) {
            return Some(TurnedAway::Port);
        }
        if self.is_closed {
            return Some(TurnedAway::PatternCost);
        }
        if let Some(reason) = self.pattern_refusal(matches, attributes.flags) {
            return Some(reason);
        }
        let filter = self.filter.as_ref();
        if let Some(reason) = filter.and_then(|filter| filter.refusal(link, matches)) {
            return Some(reason);
        }
        if attributes.depth > self.depth {
            return Some(TurnedAway::Depth);
        }
        if attributes.hops > MAX_HOPS {
            return Some(TurnedAway::Redirects);
        }
        trap(url)
    }

    /// Returns why the include and exclude patterns do not let a URL be followed, by what matches
    /// it; `None` if they do.
    #[must_use]
    pub fn pattern_refusal(&self, matches: &UrlMatches, flags: LinkFlags) -> Option<TurnedAway> {
        if matches.is_excluded() {
            return Some(TurnedAway::Excluded);
        }
        let is_exempt = flags.contains(LinkFlags::SEED) || flags.is_no_page();
        let is_left_out = !is_exempt && self.patterns.has_include() && !matches.is_included();
        is_left_out.then_some(TurnedAway::NotIncluded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        canonical::CanonicalUrl, parameters::ParameterList, patterns::PatternLists, site::site_hash,
    };

    fn refused(rules: &Rules, link: &Link) -> Option<TurnedAway> {
        rules.refusal(link, &rules.matches(link))
    }

    fn link(url: &str, depth: u16) -> Link {
        let url = CanonicalUrl::parse(url, &ParameterList::default()).unwrap();
        let mut link = Link::submitted(url, false, 0);
        link.attributes.depth = depth;
        link.attributes.flags = LinkFlags::default();
        link
    }

    #[test]
    fn a_scope_says_which_hosts_are_followed() {
        let suffixes = SuffixList::default();
        let list = SiteSet::new(vec![site_hash("b.example")]);
        // To the own host, to another of the site, to a site of the list, to any other.
        let hosts = ["www.a.com", "x.a.com", "b.example", "c.com"];
        for (scope, expected) in [
            (Scope::Page, [false, false, false, false]),
            (Scope::Host, [true, false, false, false]),
            (Scope::Site, [true, true, false, false]),
            (Scope::List, [true, true, true, false]),
            (Scope::Any, [true, true, true, true]),
        ] {
            let rules = Rules { scope, list: list.clone(), ..Rules::default() };
            let found = hosts.map(|host| rules.is_in_scope("www.a.com", host, &suffixes));
            assert_eq!(found, expected, "{scope:?}");
        }
    }

    #[test]
    fn exclude_wins_over_include_and_seeds_need_no_include() {
        let patterns = PatternLists {
            include: vec!["*/blog/*"],
            exclude: vec!["re:[?]print="],
            ..PatternLists::default()
        };
        let rules = Rules {
            patterns: Arc::new(UrlPatterns::compile(&patterns).unwrap()),
            depth: 2,
            ..Rules::default()
        };
        let refusal = |url: &str, depth| refused(&rules, &link(url, depth));
        assert_eq!(refusal("http://a.com/blog/1", 1), None);
        assert_eq!(refusal("http://a.com/blog/1?print=1", 1), Some(TurnedAway::Excluded));
        assert_eq!(refusal("http://a.com/shop/1", 1), Some(TurnedAway::NotIncluded));
        assert_eq!(refusal("http://a.com/blog/1", 3), Some(TurnedAway::Depth));
        assert_eq!(refusal("http://a.com/blog/x/x/x", 1), Some(TurnedAway::TrapRepeatedSegment));
        let mut seed = link("http://a.com/shop/1", 0);
        seed.attributes.flags = LinkFlags::SEED;
        assert_eq!(refused(&rules, &seed), None);
        seed.url = link("http://a.com/blog/1?print=1", 0).url;
        assert_eq!(refused(&rules, &seed), Some(TurnedAway::Excluded));
        let mut hopped = link("http://a.com/blog/", 0);
        hopped.attributes.hops = 6;
        assert_eq!(refused(&rules, &hopped), Some(TurnedAway::Redirects));
    }

    #[test]
    fn a_port_that_is_not_of_the_crawl_turns_seeds_away_too() {
        let rules = Rules { ports: vec![80, 443, 8081], ..Rules::default() };
        let mut seed = link("http://a.com:8080/", 0);
        seed.attributes.flags = LinkFlags::SEED;
        assert_eq!(refused(&rules, &seed), Some(TurnedAway::Port));
        for url in ["http://a.com/", "https://a.com/", "https://a.com:8081/x", "http://a.com:443/"]
        {
            assert_eq!(refused(&rules, &link(url, 0)), None, "{url}");
        }
        assert_eq!(refused(&Rules::default(), &seed), None);
    }

    #[test]
    fn numbers_out_of_bounds_are_errors() {
        assert_eq!(Rules::default().check(), Ok(()));
        let deep = Rules { depth: 1_001, ..Rules::default() };
        assert_eq!(deep.check(), Err(RulesError::Depth));
        for pages in [0, u64::MAX] {
            let rules = Rules { site_budget: SiteBudget(pages), ..Rules::default() };
            assert_eq!(rules.check(), Err(RulesError::SitePages));
        }
    }
}
