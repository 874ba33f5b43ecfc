//! Merges links into their host's state.
//!
//! A link to a known URL is counted without evaluating rules, because most links on a page are
//! known.

use super::host_state::{HostState, MAX_KNOWN_PER_HOST, MAX_PENDING_BYTES, Pending};
use crate::{
    budget::{MAX_HOSTS_PER_SITE, SiteUsage},
    link::{Attributes, Link, LinkFlags},
    patterns::UrlMatches,
    priority::{MAX_PRIORITY, PriorityWords},
    reject_reason::{RejectCounts, RejectReason},
    rules::Rules,
    shape::Shapes,
};

/// This shape counts a host's sitemaps, so that their limit holds across holders.
const SITEMAP_SHAPE: u32 = u32::from_be_bytes(*b"smap");

/// Result of merging a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeOutcome {
    /// The URL was unknown and is pending now.
    New,
    /// The URL was known.
    Known,
    /// The link was rejected.
    Rejected(RejectReason),
}

/// Merged links by result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Merged {
    /// Links that were unknown and are pending now.
    pub new: u64,
    /// Links that were known.
    pub known: u64,
    /// Rejected links by reason.
    pub rejected: RejectCounts,
}

impl Merged {
    /// Counts one link.
    pub fn count(&mut self, outcome: MergeOutcome) {
        match outcome {
            MergeOutcome::New => self.new += 1,
            MergeOutcome::Known => self.known += 1,
            MergeOutcome::Rejected(reason) => self.rejected.count(reason),
        }
    }
}

impl HostState {
    /// Merges links in order, and updates `site`, the budget usage for the host's site. Every link
    /// is counted once.
    pub fn merge(
        &mut self,
        links: impl IntoIterator<Item = Link>,
        rules: &Rules,
        site: &mut SiteUsage,
    ) -> Merged {
        let mut merged = Merged::default();
        for link in links {
            merged.count(self.merge_link(link, rules, site));
        }
        merged
    }

    /// Merges one link. Rejects a link to another host.
    pub fn merge_link(&mut self, link: Link, rules: &Rules, site: &mut SiteUsage) -> MergeOutcome {
        let hash = link.url.hash();
        if *self.host != *link.url.host() {
            return MergeOutcome::Rejected(RejectReason::Host);
        }
        if self.finished.contains(&hash) {
            return MergeOutcome::Known;
        }
        let is_pending = self.pending.contains_key(&hash);
        // For a pending URL, only words matter, because they can raise its priority.
        let is_read = !is_pending || rules.patterns.has_words();
        let matches = if is_read { rules.matches(&link) } else { UrlMatches::default() };
        let attributes = with_priority(&link, &rules.priorities, &matches);
        if is_pending {
            self.raise(&link, attributes, rules, site);
            return MergeOutcome::Known;
        }
        let is_page = !attributes.flags.is_requisite_or_sitemap();
        let shapes = Shapes::of(link.url.path_and_query());
        let over_budget = || match attributes.flags {
            flags if flags.contains(LinkFlags::SITEMAP) => self.over_sitemaps(rules),
            // Accept a redirect within the host even if links have used up the budget, so that the
            // crawl passes cookie walls.
            _ if is_page && !self.redirects_to(&link) => {
                self.over_budget((&link, shapes), rules, site)
            }
            _ => None,
        };
        let refusal = rules.refusal(&link, &matches);
        let refusal = refusal.or_else(over_budget).or_else(|| self.over_limit(&link, site));
        if let Some(reason) = refusal {
            return MergeOutcome::Rejected(reason);
        }
        site.hosts += u64::from(self.is_unknown());
        if is_page {
            self.count_page(shapes, site);
        } else if attributes.flags.contains(LinkFlags::SITEMAP) {
            self.shapes.add(SITEMAP_SHAPE);
        }
        let url = link.url.into_fetched().into_boxed_str();
        let via = link.via;
        self.insert_pending(hash, Pending { url, attributes, via, retries: 0, not_before_s: 0 });
        self.changed.insert(hash);
        MergeOutcome::New
    }

    fn redirects_to(&self, link: &Link) -> bool {
        let authority = link.via.as_deref().and_then(|via| via.split("://").nth(1));
        let rest = authority.and_then(|authority| authority.strip_prefix(&*self.host));
        link.attributes.hops > 0 && rest.is_some_and(|rest| rest.starts_with(['/', ':', '?']))
    }

    fn is_unknown(&self) -> bool {
        self.pending.is_empty() && self.finished.is_empty()
    }

    fn over_budget(
        &self,
        (link, shapes): (&Link, Shapes),
        rules: &Rules,
        site: &SiteUsage,
    ) -> Option<RejectReason> {
        let is_seed = link.attributes.flags.contains(LinkFlags::SEED);
        // The reserve for the largest host limits links, but not submitted URLs.
        let pages = if is_seed { site.largest } else { self.pages };
        if rules.site_budget.is_used_up(pages, *site) {
            return Some(RejectReason::TrapSitePages);
        }
        let count = shapes.own.map_or(0, |own| self.shapes.count(own));
        let is_full = u64::from(count) >= rules.site_budget.of_shape();
        let is_refused = !is_seed && (is_full || self.shapes.are_closed(shapes, rules));
        is_refused.then_some(RejectReason::TrapShape)
    }

    fn over_sitemaps(&self, rules: &Rules) -> Option<RejectReason> {
        let known = u64::from(self.shapes.count(SITEMAP_SHAPE));
        (known >= rules.site_budget.of_sitemaps()).then_some(RejectReason::TrapSitemaps)
    }

    fn over_limit(&self, link: &Link, site: &SiteUsage) -> Option<RejectReason> {
        if self.is_unknown() && site.hosts >= MAX_HOSTS_PER_SITE {
            return Some(RejectReason::TrapSiteHosts);
        }
        let known = self.pending.len() + self.finished.len();
        let bytes = self.pending_bytes + link.url.fetched().len();
        (known >= MAX_KNOWN_PER_HOST || bytes > MAX_PENDING_BYTES)
            .then_some(RejectReason::TrapHostKnown)
    }

    fn count_page(&mut self, shapes: Shapes, site: &mut SiteUsage) {
        self.pages += 1;
        site.add_page(self.pages);
        shapes.iter().for_each(|(shape, _)| self.shapes.add(shape));
    }

    /// Updates a pending URL's attributes from another link to it. Depth and referrer do not
    /// change, because they describe the path by which the URL was first reached.
    fn raise(&mut self, link: &Link, more: Attributes, rules: &Rules, site: &mut SiteUsage) {
        let hash = link.url.hash();
        let Some(pending) = self.pending.get(&hash) else { return };
        let before = pending.attributes;
        let not_before_s = pending.not_before_s;
        let mut after = Attributes {
            priority: before.priority.max(more.priority),
            flags: together(before.flags, more.flags),
            ..before
        };
        let stays = self.in_flight.contains(&hash) || self.over_sitemaps(rules).is_some();
        let becomes_sitemap = |after: Attributes| {
            let is_one = |of: Attributes| of.flags.contains(LinkFlags::SITEMAP);
            is_one(after) && !is_one(before)
        };
        if becomes_sitemap(after) && stays {
            after.flags = after.flags.without(LinkFlags::SITEMAP);
            if before.flags.contains(LinkFlags::REQUISITE) {
                after.flags = after.flags.with(LinkFlags::REQUISITE);
            }
        }
        if after == before {
            return;
        }
        if after.flags.contains(LinkFlags::BARE) && !before.flags.contains(LinkFlags::BARE) {
            self.bare.insert(hash);
        }
        let was_queued = self.unqueue(hash);
        if let Some(pending) = self.pending.get_mut(&hash) {
            pending.attributes = after;
        }
        if was_queued {
            self.queue(hash, not_before_s);
        }
        self.changed.insert(hash);
        if before.flags.is_requisite_or_sitemap() && !after.flags.is_requisite_or_sitemap() {
            self.count_page(Shapes::of(link.url.path_and_query()), site);
        }
        if becomes_sitemap(after) {
            self.shapes.add(SITEMAP_SHAPE);
            if !before.flags.is_requisite_or_sitemap() {
                self.pages = self.pages.saturating_sub(1);
                site.remove_page();
            }
        }
    }
}

/// Adds the words' values to a link's priority. A redirect's source already has them, so its target
/// gets the source's priority or the total of its own words, whichever is greater.
fn with_priority(link: &Link, words: &PriorityWords, matches: &UrlMatches) -> Attributes {
    let given = link.attributes.priority;
    let of_words = |base| words.priority(matches, base);
    let is_target = link.attributes.hops > 0;
    let priority = if is_target { of_words(0).max(given) } else { of_words(given) };
    Attributes { priority: priority.min(MAX_PRIORITY), ..link.attributes }
}

/// Combines the flags from two links to a URL. It is a requisite only if both links are. It is a
/// sitemap if one link is and neither is a seed, because sites also link to their sitemaps like to
/// pages.
fn together(one: LinkFlags, other: LinkFlags) -> LinkFlags {
    let mut flags = LinkFlags::default().with_deaths(one.deaths().max(other.deaths()));
    let raised = [LinkFlags::URGENT, LinkFlags::SEED, LinkFlags::BARE, LinkFlags::IN_PROGRESS];
    for raising in raised {
        if one.contains(raising) || other.contains(raising) {
            flags = flags.with(raising);
        }
    }
    let is_sitemap = |flags: LinkFlags| flags.contains(LinkFlags::SITEMAP);
    if (is_sitemap(one) || is_sitemap(other)) && !flags.contains(LinkFlags::SEED) {
        return flags.with(LinkFlags::SITEMAP);
    }
    if one.contains(LinkFlags::REQUISITE) && other.contains(LinkFlags::REQUISITE) {
        flags = flags.with(LinkFlags::REQUISITE);
    }
    flags
}
