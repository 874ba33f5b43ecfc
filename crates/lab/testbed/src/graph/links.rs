//! A page's links: first the links in the trees that make all pages reachable, then random ones.

use super::world::{CHILDREN_OF_A_HOME, GraphPage, PageKind, SiteGraph};
use crate::dice::Dice;

const LINK_DRAW: u64 = 30;
const REDIRECT_DRAW: u64 = 31;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum GraphLinkKind {
    Anchor,
    NofollowAnchor,
    Picture,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct GraphLink {
    pub(super) to: GraphPage,
    pub(super) kind: GraphLinkKind,
}

impl SiteGraph {
    pub(super) fn links(&self, page: GraphPage) -> Vec<GraphLink> {
        let anchor = |to| GraphLink { to, kind: GraphLinkKind::Anchor };
        let mut links: Vec<GraphLink> = self
            .children(page)
            .map(|child| GraphPage { page: child, ..page })
            .map(|to| GraphLink { to, kind: self.kind_of_tree_link(to) })
            .collect();
        if page.page == 0 {
            links.extend(self.hosts_below(page.host).map(|host| anchor(self.home(host))));
        }
        let mut dice = Dice::of_numbers([self.seed, LINK_DRAW, page.host, page.page]);
        let count = (self.settings.links as usize).saturating_sub(links.len());
        links.extend((0..count).map(|_| anchor(self.random_page(page.host, &mut dice))));
        links
    }

    /// The target is always a plain page, so no chain has more than one hop.
    pub(super) fn redirect(&self, page: GraphPage) -> Option<GraphPage> {
        let mut dice = Dice::of_numbers([self.seed, REDIRECT_DRAW, page.host, page.page]);
        let host = match self.kind(page) {
            PageKind::Redirect => page.host,
            PageKind::RedirectAway => dice.below(self.hosts()),
            _ => return None,
        };
        let to = GraphPage { host, page: dice.below(self.pages_of(host)) };
        Some(if self.kind(to) == PageKind::Plain { to } else { self.parent(to) })
    }

    fn kind_of_tree_link(&self, to: GraphPage) -> GraphLinkKind {
        match self.kind(to) {
            PageKind::Hidden => GraphLinkKind::NofollowAnchor,
            PageKind::Image => GraphLinkKind::Picture,
            _ => GraphLinkKind::Anchor,
        }
    }

    /// Returns the hosts below a host in the tree. For a site's first host, these include the first
    /// hosts of the sites below its site.
    fn hosts_below(&self, host: u64) -> impl Iterator<Item = u64> {
        let site = self.site_of(host);
        let first = self.first_host(site);
        let below = |number: u64, count: u64| {
            let child = number * CHILDREN_OF_A_HOME + 1;
            child.min(count)..(child + CHILDREN_OF_A_HOME).min(count)
        };
        let hosts = below(host - first, self.first_host(site + 1) - first);
        let sites = if host == first { below(site, self.sites()) } else { 0..0 };
        hosts.map(move |number| first + number).chain(sites.map(|site| self.first_host(site)))
    }

    fn random_page(&self, host: u64, dice: &mut Dice) -> GraphPage {
        let host = match dice.below(10) {
            0..8 => host,
            8 => {
                let site = self.site_of(host);
                let (first, end) = (self.first_host(site), self.first_host(site + 1));
                first + dice.below(end - first)
            }
            _ => dice.below(self.hosts()),
        };
        let page = GraphPage { host, page: dice.below(self.pages_of(host)) };
        match self.kind(page) {
            PageKind::Hidden | PageKind::Image => self.parent(page),
            _ => page,
        }
    }
}
