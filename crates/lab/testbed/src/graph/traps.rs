//! The traps for crawlers: endless URLs, bodies and waiting times, and responses that mislead. A
//! host has at most one trap. Its home page links to the trap's entries, or its robots.txt names
//! them as sitemaps.

macro_rules! traps {
    ($($(#[$doc:meta])* $variant:ident $name:literal $prefix:literal [$($entry:literal)*];)+) => {
        /// A trap kind. The names are stable.
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        pub enum Trap { $($(#[$doc])* $variant,)+ }

        impl Trap {
            /// Every trap, in declaration order.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant,)+];

            /// Returns this trap's stable name, in snake case.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// Returns the prefix that all targets in this trap share, which is empty if there is
            /// none.
            #[must_use]
            pub fn prefix(self) -> &'static str {
                match self { $(Self::$variant => $prefix,)+ }
            }

            /// Returns this trap's entries: the targets to which the home page links, or that
            /// robots.txt names as sitemaps.
            #[must_use]
            pub fn entries(self) -> &'static [&'static str] {
                match self { $(Self::$variant => &[$($entry),*],)+ }
            }
        }
    };
}

// The columns are the name, the prefix of the targets, and the entries.
traps! {
    /// A calendar in which each month links to the next and the previous one.
    Calendar "calendar" "/calendar/" ["/calendar/2026/11"];
    /// Each page links to itself with an additional parameter.
    EndlessQuery "endless_query" "/filter" ["/filter?color=1" "/filter?size=1"];
    /// A relative link that is resolved against each new directory, such as
    /// `/deep/more/more/more/`.
    RepeatedSegments "repeated_segments" "/deep/" ["/deep/"];
    /// Links without a scheme, such as `/about/www.example.com/about/www.example.com/`.
    HostSegment "host_segment" "/about/" ["/about/"];
    /// Each page links to the same pages below a new session id in the path.
    SessionPath "session_path" "/session/" ["/session/0/list"];
    /// Endless hosts below the host's name, each of which links to 20 others.
    LinkFarm "link_farm" "" [];
    /// A page with 12,000 links.
    ManyLinks "many_links" "/many" ["/many"];
    /// Three URLs that redirect to each other.
    RedirectLoop "redirect_loop" "/loop/" ["/loop/0"];
    /// Redirects that never end and never repeat.
    RedirectChain "redirect_chain" "/chain/" ["/chain/0"];
    /// A page that counts requests in a cookie, and redirects to itself each time.
    CookieCounter "cookie_counter" "/counter" ["/counter"];
    /// Three pages that redirect browsers to each other with a meta element.
    MetaRefreshLoop "meta_refresh_loop" "/refresh/" ["/refresh/0"];
    /// Each page has a base URL that is one directory deeper, so its relative links are new URLs.
    BaseGame "base_game" "/base/" ["/base/0/"];
    /// A page whose body does not end.
    EndlessBody "endless_body" "/endless" ["/endless"];
    /// Pages whose bodies end early or whose codings are broken.
    BrokenBodies "broken_bodies" "/broken/" ["/broken/"];
    /// A 1 GiB page that gzip compresses to one MB.
    GzipBomb "gzip_bomb" "/bomb" ["/bomb"];
    /// robots.txt has 30 MB, with its rules in the first bytes.
    RobotsHuge "robots_huge" "" [];
    /// robots.txt is the home page in HTML.
    RobotsHtml "robots_html" "" [];
    /// robots.txt is 503 forever.
    RobotsUnavailable "robots_unavailable" "" [];
    /// robots.txt has a Crawl-delay of 1e9 seconds.
    RobotsDelay "robots_delay" "" [];
    /// Responses whose Content-Type does not match their bytes.
    LyingTypes "lying_types" "/lying/"
        ["/lying/html-as-png" "/lying/png-as-html" "/lying/zip-as-text" "/lying/no-type"];
    /// Pages in UTF-16, with and without a byte order mark.
    Utf16 "utf16" "/utf16/" ["/utf16/le-bom" "/utf16/be-bom" "/utf16/le-header"];
    /// Endless pages whose URLs consist of words, so that no two URLs have the same shape.
    EndlessWords "endless_words" "/words/" ["/words/amber"];
    /// Each page links to a page one directory deeper, whose directory has another name.
    DeepFolders "deep_folders" "/folder/" ["/folder/"];
    /// Each page links to a page whose URL is twice as long.
    LongUrls "long_urls" "/long/" ["/long/x"];
    /// A shop in which each choice of filters shows some of the items, in a different order.
    Facets "facets" "/shop/" ["/shop/"];
    /// Missing pages that report this with status 200, each with links to other missing pages.
    SoftNotFound "soft_not_found" "/missing/" ["/missing/1"];
    /// Sitemap indexes that refer to themselves and each other.
    SitemapLoop "sitemap_loop" "/sitemap-loop/" ["/sitemap-loop/0.xml"];
    /// Endless indexes that list further indexes.
    SitemapTree "sitemap_tree" "/sitemap-tree/" ["/sitemap-tree/0.xml"];
    /// Sitemaps that list other hosts, and addresses outside the public internet.
    SitemapForeign "sitemap_foreign" "/sitemap-foreign/"
        ["/sitemap-foreign/index.xml" "/sitemap-foreign/pages.xml"];
    /// A sitemap with a document type whose entities expand to a billion words, a file and a URL.
    SitemapEntities "sitemap_entities" "/sitemap-entities/" ["/sitemap-entities/list.xml"];
    /// A 1 GiB sitemap that gzip compresses to one MB.
    SitemapBomb "sitemap_bomb" "/sitemap-bomb/" ["/sitemap-bomb/list.xml.gz"];
    /// HTML that is declared as a sitemap.
    SitemapLying "sitemap_lying" "/sitemap-lying/" ["/sitemap-lying/list.xml"];
    /// A sitemap with 200,000 entries.
    SitemapMany "sitemap_many" "/sitemap-many/" ["/sitemap-many/list.xml"];
    /// Sitemaps as long as the protocol allows, with more than a million pages in total.
    SitemapFlood "sitemap_flood" "/sitemap-flood/" ["/sitemap-flood/index.xml"];
}

impl Trap {
    /// Parses a trap's name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|trap| trap.as_str() == name)
    }

    /// Returns true if this trap consists of sitemaps, which robots.txt names.
    #[must_use]
    pub fn is_of_sitemaps(self) -> bool {
        self.as_str().starts_with("sitemap_")
    }

    /// Returns true if this trap prevents crawlers from fetching any page on its host.
    #[must_use]
    pub fn closes_host(self) -> bool {
        matches!(self, Self::RobotsUnavailable | Self::RobotsDelay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trap_is_read_from_its_name_and_its_entries_are_its_own() {
        for trap in Trap::ALL {
            assert_eq!(Trap::parse(trap.as_str()), Some(trap));
            assert!(trap.entries().iter().all(|entry| entry.starts_with(trap.prefix())));
        }
        assert_eq!(Trap::parse("Calendar"), None);
    }
}
