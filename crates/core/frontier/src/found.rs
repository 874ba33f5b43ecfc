//! Sorts a page's links, or a redirect's target, into links to its own host, links for other slots,
//! and rejected links.

use std::{collections::HashSet, sync::Arc};

use crate::{
    canonical::CanonicalUrl,
    link::{Attributes, Link, LinkFlags, MAX_HOPS},
    parameters::ParameterList,
    reject_reason::{RejectCounts, RejectReason},
    rules::Rules,
    site::slot_of_site,
    suffixes::SuffixList,
};

/// Maximum links to read from a page. Links beyond this limit are rejected.
pub const MAX_LINKS_PER_PAGE: usize = 5_000;

/// The page that contains these links.
#[derive(Debug, Clone, Copy)]
pub struct Referrer<'a> {
    /// Requested URL.
    pub url: &'a str,
    /// Host in this URL, in the form of [`CanonicalUrl::host`].
    pub host: &'a str,
    /// The URL's attributes.
    pub attributes: Attributes,
}

/// A page's links.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FoundLinks {
    /// Links to the page's own host.
    pub own_host: Vec<Link>,
    /// Links to other hosts, with the slots of their sites.
    pub elsewhere: Vec<(u8, Link)>,
    /// Rejected links by reason.
    pub rejected: RejectCounts,
}

impl FoundLinks {
    /// Sorts a page's links, which are absolute URLs with [`LinkFlags::REQUISITE`],
    /// [`LinkFlags::SITEMAP`] or no flag.
    #[must_use]
    pub fn of_page<'a>(
        links: impl IntoIterator<Item = (&'a str, LinkFlags)>,
        referrer: &Referrer<'_>,
        rules: &Rules,
        parameters: &ParameterList,
        suffixes: &SuffixList,
    ) -> Self {
        let mut found = Self::default();
        let mut seen = HashSet::new();
        let via = Arc::from(referrer.url);
        for (index, (text, flags)) in links.into_iter().enumerate() {
            if index >= MAX_LINKS_PER_PAGE {
                found.rejected.count(RejectReason::TrapPageLinks);
                continue;
            }
            let is_deeper = u16::from(!flags.is_requisite_or_sitemap());
            let depth = referrer.attributes.depth.saturating_add(is_deeper);
            let attributes = Attributes { depth, flags, ..Attributes::default() };
            match CanonicalUrl::parse(text, parameters) {
                Ok(url) => {
                    let is_in_scope = flags.contains(LinkFlags::REQUISITE)
                        || rules.is_in_scope(referrer.host, url.host(), suffixes);
                    if seen.insert((url.hash(), flags.bits())) {
                        let link = Link { url, attributes, via: Some(Arc::clone(&via)) };
                        found.put(link, is_in_scope, referrer.host, suffixes);
                    }
                }
                Err(error) => found.rejected.count(error.into()),
            }
        }
        found
    }

    /// Sorts a redirect's target. This link inherits the depth, priority and flags of the
    /// redirecting URL, except [`LinkFlags::BARE`] and [`LinkFlags::IN_PROGRESS`].
    #[must_use]
    pub fn of_redirect(
        target: &str,
        referrer: &Referrer<'_>,
        rules: &Rules,
        parameters: &ParameterList,
        suffixes: &SuffixList,
    ) -> Self {
        let mut found = Self::default();
        let hops = referrer.attributes.hops.saturating_add(1);
        let flags = referrer.attributes.flags.without(LinkFlags::BARE);
        let flags = flags.without(LinkFlags::IN_PROGRESS).with_deaths(0);
        let attributes = Attributes { hops, flags, ..referrer.attributes };
        match CanonicalUrl::parse(target, parameters) {
            Ok(_) if hops > MAX_HOPS => found.rejected.count(RejectReason::Redirects),
            Ok(url) => {
                let is_in_scope = flags.contains(LinkFlags::SEED)
                    || flags.contains(LinkFlags::REQUISITE)
                    || url.host() == referrer.host
                    || rules.is_in_scope(referrer.host, url.host(), suffixes);
                let link = Link { url, attributes, via: Some(referrer.url.into()) };
                found.put(link, is_in_scope, referrer.host, suffixes);
            }
            Err(error) => found.rejected.count(error.into()),
        }
        found
    }

    pub(crate) fn put(
        &mut self,
        link: Link,
        is_in_scope: bool,
        own_host: &str,
        suffixes: &SuffixList,
    ) {
        if !is_in_scope {
            self.rejected.count(RejectReason::Scope);
        } else if link.url.host() == own_host {
            self.own_host.push(link);
        } else {
            let slot = slot_of_site(suffixes.site_of(link.url.host()));
            self.elsewhere.push((slot, link));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::Scope;

    fn referrer(flags: LinkFlags) -> Referrer<'static> {
        let attributes = Attributes { depth: 3, priority: 2, hops: 1, flags };
        Referrer { url: "http://www.a.com/from", host: "www.a.com", attributes }
    }

    fn keys(links: &[Link]) -> Vec<&str> {
        links.iter().map(|link| link.url.key()).collect()
    }

    #[test]
    fn links_are_sorted_by_host_and_counted_by_reason() {
        let none = LinkFlags::default();
        let links = [
            ("http://www.a.com/1", none),
            ("http://www.a.com/1#again", none),
            ("http://x.a.com/", none),
            ("http://b.com/", none),
            ("http://cdn.com/i.png", LinkFlags::REQUISITE),
            ("mailto:a@b", none),
            ("nonsense", none),
        ];
        let parameters = ParameterList::default();
        let suffixes = SuffixList::default();
        let from = referrer(none);
        let found = FoundLinks::of_page(links, &from, &Rules::default(), &parameters, &suffixes);
        assert_eq!(keys(&found.own_host), ["http://www.a.com/1"]);
        assert_eq!(found.own_host[0].attributes, Attributes { depth: 4, ..Attributes::default() });
        let (slots, links): (Vec<u8>, Vec<Link>) = found.elsewhere.into_iter().unzip();
        assert_eq!(slots, [slot_of_site("a.com"), slot_of_site("cdn.com")]);
        assert_eq!(keys(&links), ["http://x.a.com/", "http://cdn.com/i.png"]);
        assert_eq!(links[1].attributes.depth, 3);
        let vias = links.iter().chain(&found.own_host).map(|link| link.via.as_deref());
        assert!(vias.into_iter().all(|via| via == Some(from.url)));
        let counted: Vec<_> = found.rejected.iter().collect();
        let reasons = [RejectReason::Unparsable, RejectReason::Scheme, RejectReason::Scope];
        assert_eq!(counted, reasons.map(|reason| (reason, 1)));
    }

    #[test]
    fn links_after_the_5000th_are_counted_but_not_parsed() {
        let links: Vec<String> = (0..6_000).map(|n| format!("http://www.a.com/{n}")).collect();
        let links = links.iter().map(|link| (link.as_str(), LinkFlags::default()));
        let parameters = ParameterList::default();
        let suffixes = SuffixList::default();
        let from = referrer(LinkFlags::default());
        let found = FoundLinks::of_page(links, &from, &Rules::default(), &parameters, &suffixes);
        assert_eq!(found.own_host.len(), 5_000);
        assert_eq!(found.rejected.of(RejectReason::TrapPageLinks), 1_000);
    }

    #[test]
    fn the_redirect_of_a_seed_is_a_seed_in_any_scope() {
        let rules = Rules { scope: Scope::Page, ..Rules::default() };
        let parameters = ParameterList::default();
        let suffixes = SuffixList::default();
        let redirect = |target: &str, flags| {
            FoundLinks::of_redirect(target, &referrer(flags), &rules, &parameters, &suffixes)
        };
        let found = redirect("https://b.com/", LinkFlags::SEED);
        let expected = Attributes { hops: 2, ..referrer(LinkFlags::SEED).attributes };
        assert_eq!(found.elsewhere[0].1.attributes, expected);
        assert_eq!(found.elsewhere[0].1.via.as_deref(), Some("http://www.a.com/from"));
        let killer = LinkFlags::SEED.with(LinkFlags::IN_PROGRESS).with_deaths(2);
        assert_eq!(redirect("https://b.com/", killer).elsewhere[0].1.attributes, expected);
        let none = LinkFlags::default();
        assert_eq!(redirect("https://b.com/", none).rejected.of(RejectReason::Scope), 1);
        assert_eq!(redirect("https://www.a.com/x", none).own_host.len(), 1);
        assert_eq!(redirect("data:,", none).rejected.of(RejectReason::Scheme), 1);
        let mut last = referrer(none);
        last.attributes.hops = 5;
        let target = "https://www.a.com/";
        let found = FoundLinks::of_redirect(target, &last, &rules, &parameters, &suffixes);
        assert_eq!(found.rejected.of(RejectReason::Redirects), 1);
    }
}
