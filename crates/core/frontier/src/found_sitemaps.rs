//! Sorts the URLs in a sitemap, and the sitemaps that a robots.txt names. Sitemap indexes nest at
//! most [`MAX_HOPS`] deep.

use std::{collections::HashSet, sync::Arc};

use crate::{
    canonical::CanonicalUrl,
    found::{FoundLinks, Referrer},
    link::{Attributes, Link, LinkFlags, MAX_HOPS},
    parameters::ParameterList,
    reject_reason::RejectReason,
    rules::Rules,
    suffixes::SuffixList,
};

/// URLs in a sitemap.
#[derive(Debug, Clone, Copy, Default)]
pub struct SitemapLinks<'a> {
    /// Page URLs.
    pub pages: &'a [String],
    /// Other versions of pages, such as translations.
    pub alternates: &'a [String],
    /// Sitemap URLs.
    pub sitemaps: &'a [String],
}

impl FoundLinks {
    /// Sorts the URLs in a sitemap. `referrer` is this sitemap's URL.
    #[must_use]
    pub fn of_sitemap(
        links: &SitemapLinks<'_>,
        referrer: &Referrer<'_>,
        rules: &Rules,
        parameters: &ParameterList,
        suffixes: &SuffixList,
    ) -> Self {
        let depth = referrer.attributes.depth.saturating_add(1);
        let page = Attributes { depth, ..Attributes::default() };
        let hops = referrer.attributes.hops.saturating_add(1);
        let mut sorting = Sorting::new(referrer, rules, parameters, suffixes);
        for text in links.pages.iter().chain(links.alternates) {
            sorting.add(text, page);
        }
        for text in links.sitemaps {
            sorting.add(text, sitemap_of(referrer, hops));
        }
        sorting.found
    }

    /// Sorts the target of a sitemap's redirect. This target is also a sitemap, with one more hop.
    #[must_use]
    pub fn of_sitemap_redirect(
        target: &str,
        referrer: &Referrer<'_>,
        rules: &Rules,
        parameters: &ParameterList,
        suffixes: &SuffixList,
    ) -> Self {
        let hops = referrer.attributes.hops.saturating_add(1);
        let mut sorting = Sorting::new(referrer, rules, parameters, suffixes);
        sorting.add(target, sitemap_of(referrer, hops));
        sorting.found
    }

    /// Sorts the sitemaps that a robots.txt names. `referrer` is the robots.txt.
    #[must_use]
    pub fn of_robots(
        sitemaps: &[String],
        referrer: &Referrer<'_>,
        rules: &Rules,
        parameters: &ParameterList,
        suffixes: &SuffixList,
    ) -> Self {
        let mut sorting = Sorting::new(referrer, rules, parameters, suffixes);
        for text in sitemaps {
            sorting.add(text, sitemap_of(referrer, 0));
        }
        sorting.found
    }
}

fn sitemap_of(referrer: &Referrer<'_>, hops: u8) -> Attributes {
    let depth = referrer.attributes.depth;
    let flags = LinkFlags::SITEMAP;
    Attributes { depth, priority: 0, hops, flags }
}

struct Sorting<'a> {
    found: FoundLinks,
    seen: HashSet<(u64, u8)>,
    own_host: &'a str,
    via: Arc<str>,
    rules: &'a Rules,
    parameters: &'a ParameterList,
    suffixes: &'a SuffixList,
}

impl<'a> Sorting<'a> {
    fn new(
        referrer: &Referrer<'a>,
        rules: &'a Rules,
        parameters: &'a ParameterList,
        suffixes: &'a SuffixList,
    ) -> Self {
        let found = FoundLinks::default();
        let seen = HashSet::new();
        let own_host = referrer.host;
        let via = referrer.url.into();
        Self { found, seen, own_host, via, rules, parameters, suffixes }
    }

    fn add(&mut self, text: &str, attributes: Attributes) {
        let url = match CanonicalUrl::parse(text, self.parameters) {
            Ok(url) => url,
            Err(error) => return self.found.rejected.count(error.into()),
        };
        let is_sitemap = attributes.flags.contains(LinkFlags::SITEMAP);
        let is_own = url.host() == self.own_host;
        if is_sitemap && (attributes.hops > MAX_HOPS || !(is_own || looks_like_sitemap(&url))) {
            self.found.rejected.count(RejectReason::TrapSitemaps);
        } else if self.seen.insert((url.hash().0, attributes.flags.bits())) {
            let is_in_scope = is_own && is_sitemap
                || self.rules.is_in_scope(self.own_host, url.host(), self.suffixes);
            let link = Link { url, attributes, via: Some(Arc::clone(&self.via)) };
            self.found.put(link, is_in_scope, self.own_host, self.suffixes);
        }
    }
}

/// On another host, only URLs that look like sitemaps are accepted, because a page that is fetched
/// as a sitemap is not recorded as a page.
fn looks_like_sitemap(url: &CanonicalUrl) -> bool {
    [".xml", ".gz", ".txt"].iter().any(|end| url.path().ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{scope::Scope, site::slot_of_site};

    fn referrer(hops: u8) -> Referrer<'static> {
        let attributes = Attributes { depth: 3, priority: 5, hops, flags: LinkFlags::SITEMAP };
        Referrer { url: "https://www.a.com/sitemap.xml", host: "www.a.com", attributes }
    }

    fn owned(urls: &[&str]) -> Vec<String> {
        urls.iter().map(|url| (*url).to_owned()).collect()
    }

    fn sorted(links: &SitemapLinks<'_>, hops: u8) -> FoundLinks {
        let parameters = ParameterList::default();
        let suffixes = SuffixList::default();
        FoundLinks::of_sitemap(links, &referrer(hops), &Rules::default(), &parameters, &suffixes)
    }

    #[test]
    fn pages_are_one_link_deeper_and_sitemaps_one_hop_further() {
        let pages = owned(&["http://www.a.com/1", "http://www.a.com/1#x", "http://b.com/"]);
        let alternates = owned(&["http://de.a.com/1", "http://www.a.com/1"]);
        let sitemaps = owned(&["http://www.a.com/s", "http://x.a.com/2.xml", "http://x.a.com/p"]);
        let links = SitemapLinks { pages: &pages, alternates: &alternates, sitemaps: &sitemaps };
        let found = sorted(&links, 1);
        let page = Attributes { depth: 4, ..Attributes::default() };
        let sitemap = Attributes { depth: 3, priority: 0, hops: 2, flags: LinkFlags::SITEMAP };
        let own = found.own_host.iter().map(|link| (link.url.key(), link.attributes));
        let expected = [("http://www.a.com/1", page), ("http://www.a.com/s", sitemap)];
        assert_eq!(own.collect::<Vec<_>>(), expected);
        let elsewhere = found.elsewhere.iter();
        let elsewhere: Vec<_> =
            elsewhere.map(|(slot, link)| (*slot, link.url.key(), link.attributes)).collect();
        let slot = slot_of_site("a.com");
        let expected = [(slot, "http://de.a.com/1", page), (slot, "http://x.a.com/2.xml", sitemap)];
        assert_eq!(elsewhere, expected);
        let counted: Vec<_> = found.rejected.iter().collect();
        assert_eq!(counted, [(RejectReason::Scope, 1), (RejectReason::TrapSitemaps, 1)]);
        let found = sorted(&links, MAX_HOPS);
        assert_eq!(found.rejected.of(RejectReason::TrapSitemaps), 3);
        let parameters = ParameterList::default();
        let suffixes = SuffixList::default();
        for (target, own, elsewhere) in [
            ("http://www.a.com/t", 1, 0),
            ("http://x.a.com/t.gz", 0, 1),
            ("http://b.com/t.gz", 0, 0),
        ] {
            let referrer = referrer(1);
            let rules = Rules::default();
            let found =
                FoundLinks::of_sitemap_redirect(target, &referrer, &rules, &parameters, &suffixes);
            assert_eq!((found.own_host.len(), found.elsewhere.len()), (own, elsewhere), "{target}");
            assert!(found.own_host.iter().all(|link| link.attributes == sitemap));
        }
    }

    #[test]
    fn sitemaps_in_robots_txt_are_in_scope_like_links_or_if_on_its_host() {
        let named =
            owned(&["http://www.a.com/map", "http://x.a.com/map.xml", "http://c.com/m.xml"]);
        let parameters = ParameterList::default();
        let suffixes = SuffixList::default();
        for (scope, elsewhere) in [(Scope::Host, 0), (Scope::Site, 1), (Scope::Any, 2)] {
            let rules = Rules { scope, ..Rules::default() };
            let found = FoundLinks::of_robots(&named, &referrer(0), &rules, &parameters, &suffixes);
            assert_eq!((found.own_host.len(), found.elsewhere.len()), (1, elsewhere), "{scope:?}");
            assert_eq!(found.rejected.of(RejectReason::Scope), 2 - elsewhere as u64);
        }
    }
}
