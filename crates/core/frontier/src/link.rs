//! A URL as found or submitted, with its attributes in the frontier.

use std::sync::Arc;

use crate::canonical::CanonicalUrl;

/// Maximum consecutive redirects that lead to a URL. RFC 9309 requires at least five.
pub const MAX_HOPS: u8 = 5;

/// A link's flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct LinkFlags(u8);

impl LinkFlags {
    /// A client is waiting for this URL, so it is fetched before other URLs on its host.
    pub const URGENT: Self = Self(1);
    /// This URL was submitted, or a submitted URL redirects to it. Include patterns do not apply to
    /// it.
    pub const SEED: Self = Self(2);
    /// An image, style sheet or similar part of a page.
    pub const REQUISITE: Self = Self(4);
    /// A sitemap. Its links are read, and it does not count as a page.
    pub const SITEMAP: Self = Self(8);

    /// This URL is about to be fetched in an isolated slot, where it may kill its holder.
    pub const IN_PROGRESS: Self = Self(16);

    /// Offset of the two bits that count how many holders died while this URL was marked as in
    /// progress.
    const DEATHS_AT: u32 = 5;

    /// This URL was submitted without a scheme. If https cannot be reached, http is requested, too.
    pub const BARE: Self = Self(128);

    /// Maximum deaths that the flags can count.
    pub const MAX_DEATHS: u8 = 3;

    /// Returns the flags that are in either set.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the flags in this set that are not in the other one.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    #[must_use]
    pub(crate) const fn only(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns true if all flags of `other` are set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns true for requisites and sitemaps.
    #[must_use]
    pub const fn is_requisite_or_sitemap(self) -> bool {
        self.0 & (Self::REQUISITE.0 | Self::SITEMAP.0) != 0
    }

    /// Returns how many holders died while this URL was marked as in progress, up to
    /// [`Self::MAX_DEATHS`].
    #[must_use]
    pub const fn deaths(self) -> u8 {
        (self.0 >> Self::DEATHS_AT) & Self::MAX_DEATHS
    }

    #[must_use]
    pub(crate) const fn with_deaths(self, deaths: u8) -> Self {
        let deaths = if deaths > Self::MAX_DEATHS { Self::MAX_DEATHS } else { deaths };
        Self(self.0 & !(Self::MAX_DEATHS << Self::DEATHS_AT) | deaths << Self::DEATHS_AT)
    }

    pub(crate) const fn bits(self) -> u8 {
        self.0
    }

    /// Every bit is a valid flag.
    pub(crate) const fn of_bits(bits: u8) -> Self {
        Self(bits)
    }
}

/// A link's attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Attributes {
    /// Number of links from a seed to this URL, on the path by which it was first reached.
    pub depth: u16,
    /// Priority from 0 to [`crate::MAX_PRIORITY`]. URLs with a higher priority are fetched first.
    pub priority: u8,
    /// Number of consecutive redirects or sitemap indexes that led to this URL.
    pub hops: u8,
    /// The flags.
    pub flags: LinkFlags,
}

/// A URL as found or submitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// This URL with its key.
    pub url: CanonicalUrl,
    /// The attributes.
    pub attributes: Attributes,
    /// URL that links or redirects to this one. `None` if it was submitted, or if the referrer is
    /// not stored.
    pub via: Option<Arc<str>>,
}

impl Link {
    /// Creates a submitted URL's link: a seed with depth 0.
    #[must_use]
    pub fn submitted(url: CanonicalUrl, is_urgent: bool, priority: u8) -> Self {
        let flags =
            if is_urgent { LinkFlags::SEED.with(LinkFlags::URGENT) } else { LinkFlags::SEED };
        let attributes = Attributes { priority, flags, ..Attributes::default() };
        Self { url, attributes, via: None }
    }

    /// Marks this link as submitted without a scheme.
    #[must_use]
    pub fn bare(mut self) -> Self {
        self.attributes.flags = self.attributes.flags.with(LinkFlags::BARE);
        self
    }
}
