//! Hosts' sitemaps. They list hidden pages, to which no followed link leads, and some other pages.

use std::fmt::Write;

use bytes::Bytes;
use flate2::{Compression, GzBuilder, write::GzEncoder};

use super::{
    reply::GraphAnswer,
    settings::GraphSettings,
    world::{GraphPage, PageKind, SiteGraph},
};
use crate::dice::Dice;

const LISTED_PAGES: u64 = 10_000;
const SITEMAP_DRAW: u64 = 70;
const KIND_DRAW: u64 = 71;

/// How a host publishes its list of pages.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum SitemapKind {
    /// robots.txt names a list in XML.
    Urlset,
    /// robots.txt names an index with two lists, one gzipped.
    Index,
    /// robots.txt names a list in text.
    Text,
    /// robots.txt names a list in XML. Half of its pages appear only as other pages' alternates.
    Alternates,
    /// `/sitemap.xml` exists, but robots.txt does not name it.
    WellKnown,
    /// robots.txt names a list on the site's first host.
    Elsewhere,
    /// robots.txt names a URL that redirects to a list in XML.
    Moved,
}

impl SitemapKind {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::Urlset,
        Self::Index,
        Self::Text,
        Self::Alternates,
        Self::WellKnown,
        Self::Elsewhere,
        Self::Moved,
    ];
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct GraphSitemap {
    pub(super) at: u64,
    pub(super) file: SitemapFile,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum SitemapFile {
    /// `/sitemap.xml`, which a crawler may request although nothing names it.
    WellKnown,
    Index,
    Plain,
    Packed,
    Text,
    Alternates,
    Of(u64),
    Old,
    New,
}

impl SitemapFile {
    fn target(self) -> String {
        match self {
            Self::WellKnown => "/sitemap.xml".to_owned(),
            Self::Index => "/sitemaps/index.xml".to_owned(),
            Self::Plain => "/sitemaps/plain.xml".to_owned(),
            Self::Packed => "/sitemaps/packed.xml.gz".to_owned(),
            Self::Text => "/sitemap.txt".to_owned(),
            Self::Alternates => "/sitemap-languages.xml".to_owned(),
            Self::Of(host) => format!("/sitemaps/of/{host}.xml"),
            Self::Old => "/sitemaps/old.xml".to_owned(),
            Self::New => "/sitemaps/new.xml".to_owned(),
        }
    }
}

impl SiteGraph {
    /// Returns how a host publishes its list of pages, if it has sitemaps.
    #[must_use]
    pub fn sitemap_kind(&self, host: u64) -> Option<SitemapKind> {
        let GraphSettings { sitemaps, .. } = self.settings;
        let has_any =
            Dice::of_numbers([self.seed, SITEMAP_DRAW, host]).permille(u64::from(sitemaps));
        if !has_any {
            return None;
        }
        let kind = Dice::of_numbers([self.seed, KIND_DRAW, host]).pick(&SitemapKind::ALL);
        Some(if self.has_robots(host) { kind } else { SitemapKind::WellKnown })
    }

    pub(super) fn named_sitemap(&self, host: u64) -> Option<GraphSitemap> {
        let file = match self.sitemap_kind(host)? {
            SitemapKind::Urlset => SitemapFile::WellKnown,
            SitemapKind::Index => SitemapFile::Index,
            SitemapKind::Text => SitemapFile::Text,
            SitemapKind::Alternates => SitemapFile::Alternates,
            SitemapKind::WellKnown => return None,
            SitemapKind::Moved => SitemapFile::Old,
            SitemapKind::Elsewhere => {
                let at = self.first_host(self.site_of(host));
                return Some(GraphSitemap { at, file: SitemapFile::Of(host) });
            }
        };
        Some(GraphSitemap { at: host, file })
    }

    pub(super) fn sitemap_url(&self, sitemap: GraphSitemap) -> String {
        format!("{}{}", self.origin(sitemap.at), sitemap.file.target())
    }

    pub(super) fn has_sitemap(&self, GraphSitemap { at, file }: GraphSitemap) -> bool {
        let kind = match file {
            SitemapFile::WellKnown => {
                let kind = self.sitemap_kind(at);
                return matches!(kind, Some(SitemapKind::Urlset | SitemapKind::WellKnown));
            }
            SitemapFile::Index | SitemapFile::Plain | SitemapFile::Packed => SitemapKind::Index,
            SitemapFile::Text => SitemapKind::Text,
            SitemapFile::Alternates => SitemapKind::Alternates,
            SitemapFile::Old | SitemapFile::New => SitemapKind::Moved,
            SitemapFile::Of(host) => {
                let is_here = host < self.hosts() && self.first_host(self.site_of(host)) == at;
                return is_here && self.sitemap_kind(host) == Some(SitemapKind::Elsewhere);
            }
        };
        self.sitemap_kind(at) == Some(kind)
    }

    pub(super) fn sitemaps_in(&self, GraphSitemap { at, file }: GraphSitemap) -> Vec<GraphSitemap> {
        let files: &[SitemapFile] = match file {
            SitemapFile::Index => &[SitemapFile::Plain, SitemapFile::Packed],
            SitemapFile::Old => &[SitemapFile::New],
            _ => &[],
        };
        files.iter().map(|file| GraphSitemap { at, file: *file }).collect()
    }

    /// The lists at `/sitemap.xml` and on another host also contain the next host's home page,
    /// which is out of scope.
    pub(super) fn pages_in(&self, sitemap: GraphSitemap) -> Vec<GraphPage> {
        let GraphSitemap { at, file } = sitemap;
        let host = match file {
            SitemapFile::Index | SitemapFile::Old => return Vec::new(),
            SitemapFile::Of(host) => host,
            _ => at,
        };
        let is_listed = |page: &GraphPage| match self.kind(*page) {
            PageKind::Hidden => true,
            // An image's outcome depends on whether a crawler first finds it on a page or in a
            // sitemap.
            PageKind::Image => false,
            _ => page.page.is_multiple_of(3),
        };
        let is_here = |page: &GraphPage| match file {
            SitemapFile::Plain => page.page.is_multiple_of(2),
            SitemapFile::Packed => !page.page.is_multiple_of(2),
            _ => true,
        };
        let pages = (0..self.pages_of(host).min(LISTED_PAGES)).map(|page| GraphPage { host, page });
        let mut pages: Vec<GraphPage> = pages.filter(is_listed).filter(is_here).collect();
        if matches!(file, SitemapFile::WellKnown | SitemapFile::Of(_)) {
            pages.push(self.home((host + 1) % self.hosts()));
        }
        pages
    }

    pub(super) fn sitemap_at(&self, host: u64, target: &str) -> Option<GraphAnswer> {
        let of_host = || {
            let number = target.strip_prefix("/sitemaps/of/")?.strip_suffix(".xml")?;
            number.parse().ok().map(SitemapFile::Of)
        };
        let files = [
            SitemapFile::WellKnown,
            SitemapFile::Index,
            SitemapFile::Plain,
            SitemapFile::Packed,
            SitemapFile::Text,
            SitemapFile::Alternates,
            SitemapFile::Old,
            SitemapFile::New,
        ];
        let file = files.into_iter().find(|file| file.target() == target).or_else(of_host)?;
        let sitemap = GraphSitemap { at: host, file };
        self.has_sitemap(sitemap).then(|| self.sitemap(sitemap))
    }

    pub(super) fn sitemap(&self, sitemap: GraphSitemap) -> GraphAnswer {
        if !self.has_sitemap(sitemap) {
            return GraphAnswer::page(404, "Not Found");
        }
        let children = self.sitemaps_in(sitemap);
        let pages: Vec<String> =
            self.pages_in(sitemap).into_iter().map(|page| self.url(page)).collect();
        match sitemap.file {
            SitemapFile::Index => {
                let children: Vec<_> = children.iter().map(|one| self.sitemap_url(*one)).collect();
                GraphAnswer::new(200, "application/xml", index(&children))
            }
            SitemapFile::Old => {
                let moved = children.first().map(|one| self.sitemap_url(*one));
                GraphAnswer::redirect(301, moved.unwrap_or_default())
            }
            SitemapFile::Text => GraphAnswer::new(200, "text/plain", pages.join("\n") + "\n"),
            SitemapFile::Packed => GraphAnswer::new(200, "application/gzip", gzip(&urlset(&pages))),
            SitemapFile::Alternates => {
                GraphAnswer::new(200, "text/xml; charset=utf-8", with_alternates(&pages))
            }
            _ => GraphAnswer::new(200, "application/xml", urlset(&pages)),
        }
    }
}

pub(super) const DECLARATION: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";

pub(super) fn urlset<T: AsRef<str>>(pages: &[T]) -> String {
    let mut xml =
        format!("{DECLARATION}<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n");
    for page in pages {
        let _ = writeln!(xml, "<url><loc>{}</loc></url>", escaped(page.as_ref()));
    }
    xml.push_str("</urlset>\n");
    xml
}

pub(super) fn index<T: AsRef<str>>(sitemaps: &[T]) -> String {
    let mut xml = format!(
        "{DECLARATION}<sitemapindex xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n"
    );
    for sitemap in sitemaps {
        let _ = writeln!(xml, "<sitemap><loc>{}</loc></sitemap>", escaped(sitemap.as_ref()));
    }
    xml.push_str("</sitemapindex>\n");
    xml
}

fn with_alternates(pages: &[String]) -> String {
    let mut xml = format!(
        "{DECLARATION}<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\" \
         xmlns:xhtml=\"http://www.w3.org/1999/xhtml\">\n"
    );
    for pair in pages.chunks(2) {
        let [page, others @ ..] = pair else { continue };
        let _ = writeln!(xml, "<url><loc>{}</loc>", escaped(page));
        for other in others {
            let _ = writeln!(
                xml,
                "<xhtml:link rel=\"alternate\" hreflang=\"de\" href=\"{}\"/>",
                escaped(other)
            );
        }
        xml.push_str("</url>\n");
    }
    xml.push_str("</urlset>\n");
    xml
}

fn escaped(url: &str) -> String {
    url.replace('&', "&amp;")
}

fn gzip(text: &str) -> Bytes {
    let mut packed: GzEncoder<Vec<u8>> =
        GzBuilder::new().mtime(0).write(Vec::new(), Compression::default());
    let written = std::io::Write::write_all(&mut packed, text.as_bytes());
    written.and_then(|()| packed.finish()).unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_there_and_what_robots_txt_names_is_served() {
        let settings = GraphSettings { sitemaps: 700, hosts: 180, sites: 80, ..settings() };
        let graph = SiteGraph::new(1, settings).unwrap();
        let kinds = SitemapKind::ALL.map(|kind| {
            (0..graph.hosts()).filter(|host| graph.sitemap_kind(*host) == Some(kind)).count()
        });
        assert!(kinds.iter().all(|count| *count > 2), "{kinds:?}");
        for host in 0..graph.hosts() {
            let Some(sitemap) = graph.named_sitemap(host) else { continue };
            let url = graph.sitemap_url(sitemap);
            let target = url.strip_prefix(&graph.origin(sitemap.at)).unwrap();
            let answer = graph.sitemap_at(sitemap.at, target).unwrap();
            let status = if sitemap.file == SitemapFile::Old { 301 } else { 200 };
            assert_eq!((answer.status, &answer), (status, &graph.sitemap(sitemap)), "{url}");
        }
    }

    #[test]
    fn a_world_without_sitemaps_has_none() {
        let graph = SiteGraph::new(1, settings()).unwrap();
        for host in 0..graph.hosts() {
            assert_eq!((graph.sitemap_kind(host), graph.named_sitemap(host)), (None, None));
            assert_eq!(graph.sitemap_at(host, "/sitemap.xml"), None);
        }
    }

    fn settings() -> GraphSettings {
        GraphSettings::default()
    }
}
