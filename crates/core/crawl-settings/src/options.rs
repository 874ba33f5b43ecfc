//! Crawl options with a fixed set of names.

use serde::{Deserialize, Serialize};

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$word_doc:meta])* $word:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        pub enum $name { $($(#[$word_doc])* $word,)+ }

        impl $name {
            /// All names.
            pub const ALL: [&str; [$($text),+].len()] = [$($text),+];

            /// Returns the stable name.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$word => $text,)+ }
            }

            /// Returns the option with this name.
            #[must_use]
            pub fn parse(name: &str) -> Option<Self> {
                match name { $($text => Some(Self::$word),)+ _ => None }
            }
        }
    };
}

words! {
    /// Which page requisites are stored.
    MediaOption {
        /// No requisites.
        #[default]
        None = "none",
        /// Images.
        Images = "images",
        /// Style sheets, scripts, fonts and other requisites, too.
        All = "all",
    }
}

words! {
    /// Which sitemaps are read.
    SitemapsOption {
        /// No sitemaps.
        Off = "off",
        /// The sitemaps that robots.txt names.
        #[default]
        Robots = "robots",
        /// `/sitemap.xml`, too.
        Also = "also",
    }
}

words! {
    /// How `nofollow` on links and pages is handled.
    NofollowOption {
        /// Links marked `nofollow` are not followed.
        #[default]
        Obey = "obey",
        /// Links marked `nofollow` are followed like all others.
        Ignore = "ignore",
    }
}

words! {
    /// How the crawl handles a page that is identical to its earlier copy.
    DuplicatesOption {
        /// The page is captured, and its record refers to the earlier one.
        #[default]
        Revisit = "revisit",
        /// The page is refused and gets no record.
        Reject = "reject",
    }
}

words! {
    /// Whether page text is indexed for search.
    SearchOption {
        /// The text is not indexed.
        #[default]
        Off = "off",
        /// The text is indexed.
        On = "on",
    }
}
