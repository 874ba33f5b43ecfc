//! Reasons for rejecting a link, and their counts.

use crate::canonical::UrlError;

macro_rules! reasons {
    ($($(#[$doc:meta])+ $variant:ident = $name:literal,)+) => {
        /// Why a link was rejected.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum RejectReason {
            $($(#[$doc])+ $variant,)+
        }

        impl RejectReason {
            /// All variants.
            pub const ALL: [Self; REASONS] = [$(Self::$variant,)+];

            /// Returns a stable name.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }

        /// Number of reasons.
        const REASONS: usize = [$($name,)+].len();
    };
}

reasons! {
    /// The string is not an absolute URL.
    Unparsable = "unparsable",
    /// The scheme is neither http nor https.
    Scheme = "scheme",
    /// The URL has no usable host.
    Host = "host",
    /// The crawl may not use this port.
    Port = "port",
    /// The link leads out of the crawl's scope.
    Scope = "scope",
    /// The crawl's patterns exceed a cost limit that is newer than the crawl.
    PatternCost = "pattern_cost",
    /// An exclude pattern matches.
    Excluded = "excluded",
    /// There are include patterns, but none of them matches.
    NotIncluded = "not_included",
    /// A filter's pattern drops this URL.
    FilterRule = "filter_rule",
    /// A filter's list drops this URL.
    FilterList = "filter_list",
    /// A filter drops the top-level domain's country.
    FilterCountry = "filter_country",
    /// The link exceeds the crawl's maximum depth.
    Depth = "depth",
    /// More than [`crate::MAX_HOPS`] consecutive redirects led to the URL.
    Redirects = "redirects",
    /// The URL is longer than [`crate::MAX_URL_BYTES`].
    TrapLength = "trap_length",
    /// The path has too many segments.
    TrapSegments = "trap_segments",
    /// The query has too many parameters.
    TrapParameters = "trap_parameters",
    /// The path contains a segment at least three times.
    TrapRepeatedSegment = "trap_repeated_segment",
    /// A path segment is a hostname, because the link lacks its scheme.
    TrapHostSegment = "trap_host_segment",
    /// The page or sitemap has too many links.
    TrapPageLinks = "trap_page_links",
    /// The site has reached its page budget.
    TrapSitePages = "trap_site_pages",
    /// The site has too many hosts.
    TrapSiteHosts = "trap_site_hosts",
    /// The URL's shape has reached its page limit on this host, or is closed as a trap.
    TrapShape = "trap_shape",
    /// The host's URLs have reached their maximum number or total length.
    TrapHostKnown = "trap_host_known",
    /// The host has too many sitemaps, they are nested too deep, or a URL does not look like a
    /// sitemap.
    TrapSitemaps = "trap_sitemaps",
}

impl From<UrlError> for RejectReason {
    fn from(error: UrlError) -> Self {
        match error {
            UrlError::TooLong => Self::TrapLength,
            UrlError::Unparsable => Self::Unparsable,
            UrlError::Scheme => Self::Scheme,
            UrlError::Host => Self::Host,
        }
    }
}

/// Rejected links by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RejectCounts {
    counts: [u64; REASONS],
}

impl Default for RejectCounts {
    fn default() -> Self {
        Self { counts: [0; REASONS] }
    }
}

impl RejectCounts {
    /// Counts one link.
    pub fn count(&mut self, reason: RejectReason) {
        self.count_many(reason, 1);
    }

    /// Adds `number` links with this reason.
    pub fn count_many(&mut self, reason: RejectReason, number: u64) {
        self.counts[reason as usize] += number;
    }

    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
        }
    }

    /// Returns the count for a reason.
    #[must_use]
    pub fn of(&self, reason: RejectReason) -> u64 {
        self.counts[reason as usize]
    }

    /// Returns the total count.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Iterates over the counts that are not zero.
    pub fn iter(&self) -> impl Iterator<Item = (RejectReason, u64)> {
        RejectReason::ALL.into_iter().zip(self.counts).filter(|(_, count)| *count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_equal_those_stored_in_databases() {
        let names = RejectReason::ALL.map(RejectReason::as_str).join(" ");
        assert_eq!(
            names,
            "unparsable scheme host port scope pattern_cost excluded not_included filter_rule \
             filter_list filter_country depth redirects trap_length trap_segments trap_parameters \
             trap_repeated_segment trap_host_segment trap_page_links trap_site_pages \
             trap_site_hosts trap_shape trap_host_known trap_sitemaps"
        );
    }

    #[test]
    fn counts_add_up() {
        let mut counts = RejectCounts::default();
        counts.count(RejectReason::Scope);
        let mut sum = counts;
        sum.count(RejectReason::TrapHostKnown);
        sum.add(&counts);
        assert_eq!((sum.of(RejectReason::Scope), sum.total()), (2, 3));
        let found: Vec<_> = sum.iter().collect();
        assert_eq!(found, [(RejectReason::Scope, 2), (RejectReason::TrapHostKnown, 1)]);
    }
}
