//! The names of everything that jobs count: the keys of `stages` in `stats.json`.
//!
//! In Rust, names are defined only here, except for the outcomes of fetches, which are
//! `everytab_fetcher::Outcome`. So a job cannot count under a name that nothing reads. Names are
//! stable: the database stores them, and readers of `stats.json` know them.

macro_rules! names {
    (
        $(#[$doc:meta])*
        $type:ident { $($(#[$entry_doc:meta])* $variant:ident $name:literal;)+ }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $type { $($(#[$entry_doc])* $variant,)+ }

        impl $type {
            /// Every value, in the order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Returns the stable name.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }
        }
    };
}

names! {
    /// A stage of a scan or a live crawl: all jobs of one kind. The values are in pipeline order.
    StageName {
        /// Reading the crawl's index files.
        Index "index";
        /// Reading and parsing home pages.
        Warc "warc";
        /// Fetching icon candidates.
        Icon "icon";
        /// Converting icons and writing bundles.
        BundleShard "bundle-shard";
        /// Merging the search files.
        Search "search";
        /// Drawing the tiles of the map.
        Map "map";
        /// Publishing the site.
        Publish "publish";
        /// Writing the indexes of a live crawl.
        CrawlIndex "crawl-index";
        /// Writing the lists of a live crawl.
        CrawlClose "crawl-close";
    }
}

names! {
    /// The inputs of a stage. Every input has exactly one outcome.
    InputName {
        /// Rows of index files.
        Rows "rows";
        /// Hosts whose home page is read.
        Hosts "hosts";
        /// Icon candidates to fetch.
        Candidates "candidates";
        /// Parsed home pages.
        Pages "pages";
        /// Hostnames with a tab.
        Hostnames "hostnames";
        /// Bundles of the scan, or of a region of the map.
        Bundles "bundles";
        /// Records of a live crawl.
        Records "records";
        /// Archives of a live crawl.
        Archives "archives";
    }
}

names! {
    /// The outcome of a stage's input. The outcomes of fetches have a separate closed list,
    /// `everytab_fetcher::Outcome`.
    OutcomeName {
        /// A row of the index that is not a home page.
        NotHomePage "not_home_page";
        /// A row of the index that became a host's capture.
        Capture "capture";
        /// A row of the index whose host has a better capture in the same file.
        Duplicate "duplicate";
        /// A malformed row of the index.
        Malformed "malformed";
        /// A row of the index beyond the scan's host limit.
        BeyondLimit "beyond_limit";
        /// A home page with a title.
        Ok "ok";
        /// A home page whose title has no visible character.
        TitleEmpty "title_empty";
        /// A home page without a title.
        TitleAbsent "title_absent";
        /// A host or page that is on the blocklist.
        OptedOut "opted_out";
        /// A host whose WARC record is not in the source.
        WarcMissing "warc_missing";
        /// A page whose WARC record the store denies, although it returns others.
        WarcRefused "warc_refused";
        /// A host whose WARC record cannot be read.
        WarcCorrupt "warc_corrupt";
        /// A host whose WARC record is not an HTTP response.
        NotAResponse "not_a_response";
        /// An item that crashed the worker's process, or panicked.
        Crashed "crashed";
        /// A page that gets no tab because it has no title.
        ExcludedNoTitle "excluded_no_title";
        /// A tab with an icon.
        TabWithIcon "tab_with_icon";
        /// A tab without an icon.
        TabWithoutIcon "tab_without_icon";
        /// A hostname in the published search files.
        Listed "listed";
        /// A bundle that the map shows.
        Drawn "drawn";
        /// A bundle of a discarded shard, which the map shows empty.
        LeftEmpty "left_empty";
        /// A bundle that the published manifest counts.
        Published "published";
        /// A record in the indexes of its crawl.
        Indexed "indexed";
        /// A record that cannot be indexed.
        NotIndexed "not_indexed";
        /// An archive in the lists of its crawl.
        InList "in_list";
        /// An archive that fetches refer to, but that is missing in its store.
        ArchiveMissing "archive_missing";
    }
}

names! {
    /// A number that a job counts in addition to inputs and outcomes.
    CountName {
        /// Hosts found in an index file.
        Hosts "hosts";
        /// Bytes read from the source.
        BytesRead "bytes_read";
        /// Ranges of an index file that were read.
        RangesRead "ranges_read";
        /// Row groups of an index file that were read.
        RowGroupsRead "row_groups_read";
        /// Captures of a host beyond its best one, over all index files.
        DuplicateCaptures "duplicate_captures";
        /// Home pages over HTTPS.
        Https "https";
        /// Home pages over HTTP only.
        HttpOnly "http_only";
        /// Home pages that forbid being shown in a frame.
        IframeRestricted "iframe_restricted";
        /// Icon candidates of home pages.
        Candidates "candidates";
        /// Icon candidates that were skipped, such as duplicates and those over the limit.
        CandidatesLeftOut "candidates_left_out";
        /// Home pages that declare an icon for other media, such as dark pages.
        WithIconForOtherMedia "with_icon_for_other_media";
        /// Distinct URLs among a shard's candidates.
        DistinctUrls "distinct_urls";
        /// Candidates whose URL is shared with another candidate of the shard.
        DedupHits "dedup_hits";
        /// URLs that the later pass retried.
        Retried "retried";
        /// Bytes of all fetched bodies.
        BytesDownloaded "bytes_downloaded";
        /// Distinct contents in the archives.
        UniqueIconsStored "unique_icons_stored";
        /// Bytes of the archives.
        ArchiveBytes "archive_bytes";
        /// Icons whose response has an `ETag` or a `Last-Modified`.
        WithValidator "with_validator";
        /// Icons that a private cache may still use after 30 days without a request.
        FreshFor30Days "fresh_for_30_days";
        /// Icons that a private cache may still use after 90 days without a request.
        FreshFor90Days "fresh_for_90_days";
        /// Queries to the resolver.
        Lookups "lookups";
        /// Milliseconds that queries to the resolver took.
        LookupsMs "lookups_ms";
        /// Queries to the resolver that took up to 1 ms.
        LookupsWithin1Ms "lookups_within_1_ms";
        /// Queries to the resolver that took more than 1 and up to 10 ms.
        LookupsWithin10Ms "lookups_within_10_ms";
        /// Queries to the resolver that took more than 10 and up to 100 ms.
        LookupsWithin100Ms "lookups_within_100_ms";
        /// Queries to the resolver that took more than 100 ms and up to a second.
        LookupsWithin1000Ms "lookups_within_1000_ms";
        /// Queries to the resolver that took more than a second.
        LookupsSlower "lookups_slower";
        /// Attempted connections.
        ConnectionsTried "connections_tried";
        /// Requests over an open connection.
        ConnectionsReused "connections_reused";
        /// Times that an address signalled to slow down.
        SlowedDown "slowed_down";
        /// Requests for robots.txt.
        RobotsRequests "robots_requests";
        /// Milliseconds of all fetches, without name resolution.
        OnTheWireMs "on_the_wire_ms";
        /// Milliseconds of fetches that ended in a timeout.
        TimedOutMs "timed_out_ms";
        /// Bundles written.
        Bundles "bundles";
        /// Bytes of the bundles.
        BundleBytes "bundle_bytes";
        /// Tabs whose icon is a plain rectangle.
        Blank "blank";
        /// Search files written, without the indexes.
        SearchFiles "search_files";
        /// Tiles of the map written.
        MapTiles "map_tiles";
        /// Bytes of the map's tiles.
        MapBytes "map_bytes";
        /// Tabs with an icon whose host had one in the scan that was published before.
        IconsCompared "icons_compared";
        /// Compared icons whose content is unchanged.
        IconsUnchanged "icons_unchanged";
        /// Home pages of a live crawl that redirect within their host, to a page that was kept.
        HomeRedirects "home_redirects";
        /// Captures of a live crawl whose body is in an earlier record.
        Revisits "revisits";
        /// Files of a live crawl's indexes.
        IndexFiles "index_files";
    }
}

names! {
    /// Counts with an open list of members: the name of a count is the family's prefix and the
    /// member.
    CountFamily {
        /// Rows of the index that exactly one condition excludes, by that condition.
        LeftOut "left_out_";
        /// Rows of the index whose hostname is rejected, by reason.
        HostnameRefused "hostname_refused_";
        /// Icons by the source of the candidate: `favicon_ico` or `link_rel`.
        Source "source_";
        /// Icons by MIME type.
        Type "type_";
        /// HTTPS fetches by the state of the certificate.
        Certificate "certificate_";
        /// Shards by the maximum number of requests in flight to one hostname.
        MostPerHost "at_once_per_host_";
        /// Shards by the maximum number of requests in flight to one address.
        MostPerAddress "at_once_per_address_";
        /// Icons that were not converted, by reason.
        ConversionFailed "conversion_failed_";
        /// Tabs with an icon, by the format of the icon's file.
        Selected "selected_";
        /// Tabs that show one of the common icons, by the icon's hash.
        CommonIcon "common_icon_";
        /// Hostnames by top-level domain.
        TopLevelDomain "tld_";
        /// Rows of a live crawl's index by kind of archive.
        Subset "subset_";
    }
}

impl CountFamily {
    /// Returns the name of a member's count.
    #[must_use]
    pub fn name_of(self, member: impl std::fmt::Display) -> String {
        format!("{}{member}", self.as_str())
    }

    /// Returns the member in a count's name. `None` if it is not of this family.
    #[must_use]
    pub fn member(self, name: &str) -> Option<&str> {
        name.strip_prefix(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_different_and_begins_with_no_familys_prefix() {
        let names: Vec<&str> = CountName::ALL.iter().map(|name| name.as_str()).collect();
        for (index, name) in names.iter().enumerate() {
            assert!(!names[..index].contains(name), "{name} twice");
            assert!(CountFamily::ALL.iter().all(|family| family.member(name).is_none()), "{name}");
        }
    }

    #[test]
    fn a_family_knows_its_members() {
        assert_eq!(CountFamily::MostPerHost.name_of(7), "at_once_per_host_7");
        assert_eq!(CountFamily::MostPerHost.member("at_once_per_host_7"), Some("7"));
        assert_eq!(CountFamily::MostPerHost.member("at_once_per_address_7"), None);
    }
}
