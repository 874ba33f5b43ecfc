//! The names of everything that jobs count, except fetch outcomes. The names are stable, because
//! the database stores them and readers use them in `stats.json`.

macro_rules! names {
    (
        $(#[$doc:meta])*
        $type:ident { $($(#[$entry_doc:meta])* $variant:ident $name:literal;)+ }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $type { $($(#[$entry_doc])* $variant,)+ }

        impl $type {
            /// Every value, in declaration order.
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
    /// All jobs with one kind. The values are in pipeline order.
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
        /// Drawing the map's tiles.
        Map "map";
        /// Publishing the site.
        Publish "publish";
        /// Writing a live crawl's indexes.
        CrawlIndex "crawl-index";
        /// Writing a live crawl's lists.
        CrawlClose "crawl-close";
    }
}

names! {
    /// A stage's inputs. Every input has exactly one outcome.
    InputName {
        /// Rows in index files.
        Rows "rows";
        /// Hosts whose home page is read.
        Hosts "hosts";
        /// Icon candidates to fetch.
        Candidates "candidates";
        /// Parsed home pages.
        Pages "pages";
        /// Hostnames with a tab.
        Hostnames "hostnames";
        /// Bundles in the scan, or in a map region.
        Bundles "bundles";
        /// A live crawl's records.
        Records "records";
        /// A live crawl's archives.
        Archives "archives";
    }
}

names! {
    /// A stage input's outcome, except for fetch outcomes.
    OutcomeName {
        /// An index row that is not a home page.
        NotHomePage "not_home_page";
        /// An index row that became a host's capture.
        Capture "capture";
        /// An index row whose host has a better capture in the same file.
        Duplicate "duplicate";
        /// A malformed index row.
        Malformed "malformed";
        /// An index row beyond the scan's host limit.
        BeyondLimit "beyond_limit";
        /// A home page with a title.
        Ok "ok";
        /// A home page whose title has no visible character.
        TitleEmpty "title_empty";
        /// A home page without a title.
        TitleAbsent "title_absent";
        /// A blocklisted host or page.
        OptedOut "opted_out";
        /// A host whose WARC record is missing in the source.
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
        /// A discarded shard's bundle, which the map shows empty.
        LeftEmpty "left_empty";
        /// A bundle that the published manifest counts.
        Published "published";
        /// A record in its crawl's indexes.
        Indexed "indexed";
        /// A record that cannot be indexed.
        NotIndexed "not_indexed";
        /// An archive in its crawl's lists.
        InList "in_list";
        /// An archive to which fetches refer, but which is missing in its store.
        ArchiveMissing "archive_missing";
    }
}

names! {
    /// A count other than inputs and outcomes.
    CountName {
        /// Hosts found in an index file.
        Hosts "hosts";
        /// Bytes read from the source.
        BytesRead "bytes_read";
        /// Byte ranges that were read from index files.
        RangesRead "ranges_read";
        /// Row groups that were read from index files.
        RowGroupsRead "row_groups_read";
        /// A host's captures beyond its best one.
        DuplicateCaptures "duplicate_captures";
        /// Home pages over HTTPS.
        Https "https";
        /// Home pages over HTTP only.
        HttpOnly "http_only";
        /// Home pages that forbid being shown in a frame.
        IframeRestricted "iframe_restricted";
        /// Icon candidates from home pages.
        Candidates "candidates";
        /// Icon candidates that were skipped, such as duplicates.
        CandidatesLeftOut "candidates_left_out";
        /// Home pages that declare an icon for other media.
        WithIconForOtherMedia "with_icon_for_other_media";
        /// Distinct URLs among a shard's candidates.
        DistinctUrls "distinct_urls";
        /// Candidates that share a URL with another one.
        DedupHits "dedup_hits";
        /// URLs that the later pass retried.
        Retried "retried";
        /// Bytes in all fetched bodies.
        BytesDownloaded "bytes_downloaded";
        /// Distinct contents in the archives.
        UniqueIconsStored "unique_icons_stored";
        /// Bytes in the archives.
        ArchiveBytes "archive_bytes";
        /// Icons whose response has an `ETag` or a `Last-Modified`.
        WithValidator "with_validator";
        /// Icons that a private cache may still use after 30 days.
        FreshFor30Days "fresh_for_30_days";
        /// Icons that a private cache may still use after 90 days.
        FreshFor90Days "fresh_for_90_days";
        /// Queries to the resolver.
        Lookups "lookups";
        /// Milliseconds that queries to the resolver took.
        LookupsMs "lookups_ms";
        /// Resolver queries of up to 1 ms.
        LookupsWithin1Ms "lookups_within_1_ms";
        /// Resolver queries of more than 1 and up to 10 ms.
        LookupsWithin10Ms "lookups_within_10_ms";
        /// Resolver queries of more than 10 and up to 100 ms.
        LookupsWithin100Ms "lookups_within_100_ms";
        /// Resolver queries of more than 100 ms and up to a second.
        LookupsWithin1000Ms "lookups_within_1000_ms";
        /// Resolver queries of more than a second.
        LookupsSlower "lookups_slower";
        /// Attempted connections.
        ConnectionsTried "connections_tried";
        /// Requests over an open connection.
        ConnectionsReused "connections_reused";
        /// Times that an address signalled to slow down.
        SlowedDown "slowed_down";
        /// Requests for robots.txt.
        RobotsRequests "robots_requests";
        /// Milliseconds for all fetches, without name resolution.
        OnTheWireMs "on_the_wire_ms";
        /// Milliseconds for fetches that ended in a timeout.
        TimedOutMs "timed_out_ms";
        /// Bundles written.
        Bundles "bundles";
        /// Bytes in the bundles.
        BundleBytes "bundle_bytes";
        /// Tabs whose icon is a plain rectangle.
        Blank "blank";
        /// Search files written, without the indexes.
        SearchFiles "search_files";
        /// Map tiles written.
        MapTiles "map_tiles";
        /// Bytes in the map's tiles.
        MapBytes "map_bytes";
        /// Tabs with an icon whose host had one in the previous scan.
        IconsCompared "icons_compared";
        /// Compared icons whose content is unchanged.
        IconsUnchanged "icons_unchanged";
        /// A live crawl's home pages that redirect within their host.
        HomeRedirects "home_redirects";
        /// A live crawl's captures whose body is in an earlier record.
        Revisits "revisits";
        /// Files in a live crawl's indexes.
        IndexFiles "index_files";
    }
}

names! {
    /// A family of counts, whose names are the family's prefix followed by a member.
    CountFamily {
        /// Index rows that exactly one condition excludes, by this condition.
        LeftOut "left_out_";
        /// Index rows whose hostname is rejected, by reason.
        HostnameRefused "hostname_refused_";
        /// Icons by the candidate's source: `favicon_ico` or `link_rel`.
        Source "source_";
        /// Icons by MIME type.
        Type "type_";
        /// HTTPS fetches by certificate state.
        Certificate "certificate_";
        /// Shards by their maximum requests in flight to one hostname.
        MostPerHost "at_once_per_host_";
        /// Shards by their maximum requests in flight to one address.
        MostPerAddress "at_once_per_address_";
        /// Icons that were not converted, by reason.
        ConversionFailed "conversion_failed_";
        /// Tabs with an icon, by the icon file's format.
        Selected "selected_";
        /// Tabs that show a common icon, by the icon's hash.
        CommonIcon "common_icon_";
        /// Hostnames by top-level domain.
        TopLevelDomain "tld_";
        /// Rows in a live crawl's index by archive kind.
        Subset "subset_";
    }
}

impl CountFamily {
    /// Returns the name for a member's count.
    #[must_use]
    pub fn name_of(self, member: impl std::fmt::Display) -> String {
        format!("{}{member}", self.as_str())
    }

    /// Returns the member in a count's name. `None` if this name belongs to another family.
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
