//! The reasons why a link never becomes known, and their counts.
//!
//! Names are stable: they are keys in the database. Must not know: when a reason applies.

use crate::canonical::UrlError;

macro_rules! reasons {
    ($($(#[$doc:meta])+ $variant:ident = $name:literal,)+) => {
        /// The reason why a link never becomes known.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum TurnedAway {
            $($(#[$doc])+ $variant,)+
        }

        impl TurnedAway {
            /// Every reason.
            pub const ALL: [Self; REASONS] = [$(Self::$variant,)+];

            /// Returns the stable name.
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
    /// The text is no absolute URL.
    Unparsable = "unparsable",
    /// The scheme is neither http nor https.
    Scheme = "scheme",
    /// The URL has no usable host.
    Host = "host",
    /// The port of the URL is not one that the crawl requests.
    Port = "port",
    /// The link leads out of the scope of the crawl.
    Scope = "scope",
    /// The crawl was started before today's limits of what its patterns may cost, and is closed.
    PatternCost = "pattern_cost",
    /// An exclude pattern matches.
    Excluded = "excluded",
    /// There are include patterns, and none matches.
    NotIncluded = "not_included",
    /// A pattern of a filter drops it.
    FilterRule = "filter_rule",
    /// A list of a filter drops it.
    FilterList = "filter_list",
    /// A filter drops the country that its top-level domain stands for.
    FilterCountry = "filter_country",
    /// The link is deeper than the crawl goes.
    Depth = "depth",
    /// More redirects in a row than [`crate::MAX_HOPS`].
    Redirects = "redirects",
    /// The URL is longer than [`crate::MAX_URL_BYTES`].
    TrapLength = "trap_length",
    /// The path has too many segments.
    TrapSegments = "trap_segments",
    /// The query has too many parameters.
    TrapParameters = "trap_parameters",
    /// The path has one segment three times.
    TrapRepeatedSegment = "trap_repeated_segment",
    /// The path has a hostname as a segment: a link without its scheme.
    TrapHostSegment = "trap_host_segment",
    /// The page has more links than [`crate::MAX_LINKS_PER_PAGE`], or the sitemap more URLs than
    /// are read.
    TrapPageLinks = "trap_page_links",
    /// The site has as many pages as its budget allows.
    TrapSitePages = "trap_site_pages",
    /// The site has too many hosts.
    TrapSiteHosts = "trap_site_hosts",
    /// The host has as many pages of this shape as a shape may have.
    TrapShape = "trap_shape",
    /// The host has as many known URLs, or as long ones, as a host may have.
    TrapHostKnown = "trap_host_known",
    /// The host has as many sitemaps as it may have, indexes of sitemaps are nested too deep, or
    /// another host names as a sitemap what does not look like one.
    TrapSitemaps = "trap_sitemaps",
}

impl From<UrlError> for TurnedAway {
    fn from(error: UrlError) -> Self {
        match error {
            UrlError::TooLong => Self::TrapLength,
            UrlError::Unparsable => Self::Unparsable,
            UrlError::Scheme => Self::Scheme,
            UrlError::Host => Self::Host,
        }
    }
}

/// The number of links turned away, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnedAwayCounts {
    counts: [u64; REASONS],
}

impl Default for TurnedAwayCounts {
    fn default() -> Self {
        Self { counts: [0; REASONS] }
    }
}

impl TurnedAwayCounts {
    /// Counts one link.
    pub fn count(&mut self, reason: TurnedAway) {
        self.count_many(reason, 1);
    }

    /// Counts so many links.
    pub fn count_many(&mut self, reason: TurnedAway, number: u64) {
        self.counts[reason as usize] += number;
    }

    /// Adds the counts of another.
    pub fn add(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
        }
    }

    /// Returns the count of a reason.
    #[must_use]
    pub fn of(&self, reason: TurnedAway) -> u64 {
        self.counts[reason as usize]
    }

    /// Returns the sum of all counts.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Iterates over the reasons that were counted, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (TurnedAway, u64)> {
        TurnedAway::ALL.into_iter().zip(self.counts).filter(|(_, count)| *count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_those_that_databases_have() {
        let names = TurnedAway::ALL.map(TurnedAway::as_str).join(" ");
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
        let mut counts = TurnedAwayCounts::default();
        counts.count(TurnedAway::Scope);
        let mut sum = counts;
        sum.count(TurnedAway::TrapHostKnown);
        sum.add(&counts);
        assert_eq!((sum.of(TurnedAway::Scope), sum.total()), (2, 3));
        let found: Vec<_> = sum.iter().collect();
        assert_eq!(found, [(TurnedAway::Scope, 2), (TurnedAway::TrapHostKnown, 1)]);
    }
}
