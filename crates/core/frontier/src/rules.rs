//! The rules by which a crawl follows links: its frozen settings in compiled form.
//!
//! The scope is checked where a link is found, and the other rules where it is merged.

use std::{fmt, sync::Arc};

use crate::{
    budget::{DEFAULT_TRAP_PAGES, MAX_TRAP_PAGES, SiteBudget},
    link::{Link, LinkFlags, MAX_HOPS},
    patterns::{UrlMatches, UrlPatterns},
    priority::PriorityWords,
    reject_reason::RejectReason,
    scope::{Scope, SiteSet},
    suffixes::SuffixList,
    trap::trap,
};

/// Maximum depth that a crawl can set.
pub const MAX_DEPTH: u16 = 1_000;

/// Default depth. Nearly all pages on a site are less deep.
const DEFAULT_DEPTH: u16 = 16;

/// Maximum page budget per site.
const MAX_SITE_BUDGET: u64 = 1_000_000_000;

/// Why rules are invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RulesError {
    /// The depth is greater than [`MAX_DEPTH`].
    #[error("the depth is greater than {MAX_DEPTH}")]
    Depth,
    /// The site budget is 0 or greater than [`MAX_SITE_BUDGET`].
    #[error("the pages per site must be from 1 to {MAX_SITE_BUDGET}")]
    SitePages,
    /// The setting `trap_pages` is 0 or more than [`MAX_TRAP_PAGES`].
    #[error("the trap pages must be from 1 to {MAX_TRAP_PAGES}")]
    TrapPages,
}

/// Rejects links in addition to a crawl's rules. The result must be identical for identical links.
pub trait LinkFilter: fmt::Debug + Send + Sync {
    /// Returns why a link is rejected. `matches` are the patterns that match its URL.
    fn refusal(&self, link: &Link, matches: &UrlMatches) -> Option<RejectReason>;
}

/// A crawl's compiled rules.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Which links are in scope.
    pub scope: Scope,
    /// The seeds' sites, which only [`Scope::List`] needs.
    pub list: SiteSet,
    /// Ports that URLs may have. If empty, any port is allowed.
    pub ports: Vec<u16>,
    /// Maximum depth, 0 to [`MAX_DEPTH`]. With 0, no links are followed.
    pub depth: u16,
    /// Compiled patterns and words. Include patterns do not apply to seeds, requisites and
    /// sitemaps.
    pub patterns: Arc<UrlPatterns>,
    /// Whether no links are followed, because the patterns are too expensive.
    pub is_closed: bool,
    /// Filters, which reject further links.
    pub filter: Option<Arc<dyn LinkFilter>>,
    /// Words that raise or lower the priority.
    pub priorities: PriorityWords,
    /// Maximum pages per site.
    pub site_budget: SiteBudget,
    /// After this many repetitive pages, not offset by pages with new content, a shape is closed as
    /// a trap.
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
    /// Checks that all numbers are within bounds.
    ///
    /// # Errors
    /// Returns an error for the first number that is out of bounds.
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
            // A seed may redirect to another site, so links within the page's site are also in
            // scope.
            Scope::List => {
                let (from, to) = (suffixes.site_of(from_host), suffixes.site_of(to_host));
                from == to || self.list.contains(to)
            }
            Scope::Any => true,
        }
    }

    /// Returns the patterns and words that match the link's URL.
    #[must_use]
    pub fn matches(&self, link: &Link) -> UrlMatches {
        self.patterns.matches(&link.url)
    }

    /// Returns why a link in scope is rejected, without regard to other links.
    #[must_use]
    pub fn refusal(&self, link: &Link, matches: &UrlMatches) -> Option<RejectReason> {
        let Link { url, attributes, .. } = link;
        if !self.ports.is_empty() && !self.ports.contains(&url.port()) {
            return Some(RejectReason::Port);
        }
        if self.is_closed {
            return Some(RejectReason::PatternCost);
        }
        if let Some(reason) = self.pattern_refusal(matches, attributes.flags) {
            return Some(reason);
        }
        let filter = self.filter.as_ref();
        if let Some(reason) = filter.and_then(|filter| filter.refusal(link, matches)) {
            return Some(reason);
        }
        if attributes.depth > self.depth {
            return Some(RejectReason::Depth);
        }
        if attributes.hops > MAX_HOPS {
            return Some(RejectReason::Redirects);
        }
        trap(url)
    }

    /// Returns why the include and exclude patterns reject a URL with these matches.
    #[must_use]
    pub fn pattern_refusal(&self, matches: &UrlMatches, flags: LinkFlags) -> Option<RejectReason> {
        if matches.is_excluded() {
            return Some(RejectReason::Excluded);
        }
        let is_exempt = flags.contains(LinkFlags::SEED) || flags.is_requisite_or_sitemap();
        let is_left_out = !is_exempt && self.patterns.has_include() && !matches.is_included();
        is_left_out.then_some(RejectReason::NotIncluded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        canonical::CanonicalUrl, parameters::ParameterList, patterns::PatternLists, site::site_hash,
    };

    fn refused(rules: &Rules, link: &Link) -> Option<RejectReason> {
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
    fn a_scope_determines_the_hosts_to_follow() {
        let suffixes = SuffixList::default();
        let list = SiteSet::new(vec![site_hash("b.example")]);
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
        assert_eq!(refusal("http://a.com/blog/1?print=1", 1), Some(RejectReason::Excluded));
        assert_eq!(refusal("http://a.com/shop/1", 1), Some(RejectReason::NotIncluded));
        assert_eq!(refusal("http://a.com/blog/1", 3), Some(RejectReason::Depth));
        assert_eq!(refusal("http://a.com/blog/x/x/x", 1), Some(RejectReason::TrapRepeatedSegment));
        let mut seed = link("http://a.com/shop/1", 0);
        seed.attributes.flags = LinkFlags::SEED;
        assert_eq!(refused(&rules, &seed), None);
        seed.url = link("http://a.com/blog/1?print=1", 0).url;
        assert_eq!(refused(&rules, &seed), Some(RejectReason::Excluded));
        let mut hopped = link("http://a.com/blog/", 0);
        hopped.attributes.hops = 6;
        assert_eq!(refused(&rules, &hopped), Some(RejectReason::Redirects));
    }

    #[test]
    fn a_port_outside_the_crawl_rejects_seeds_too() {
        let rules = Rules { ports: vec![80, 443, 8081], ..Rules::default() };
        let mut seed = link("http://a.com:8080/", 0);
        seed.attributes.flags = LinkFlags::SEED;
        assert_eq!(refused(&rules, &seed), Some(RejectReason::Port));
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
