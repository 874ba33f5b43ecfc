//! A link: a URL as found or submitted, with what the frontier keeps of it.
//!
//! Must not know: which links are followed.

use std::sync::Arc;

use crate::canonical::CanonicalUrl;

/// Greatest number of redirects in a row that lead to a URL: RFC 9309 asks for five at least, and
/// browsers follow 20.
pub const MAX_HOPS: u8 = 5;

/// What is special about a link; several can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct LinkFlags(u8);

impl LinkFlags {
    /// A user waits for it: it is asked before all others of its host.
    pub const URGENT: Self = Self(1);
    /// It was submitted, or is where a submitted URL redirects to: exempt from include patterns.
    pub const SEED: Self = Self(2);
    /// An image, style sheet or alike of a page, which is no page.
    pub const REQUISITE: Self = Self(4);
    /// A sitemap, which is read for its links and is no page.
    pub const SITEMAP: Self = Self(8);

    /// It is being asked by a holder of whom it is not sure that it survives that.
    pub const WRITTEN_DOWN: Self = Self(16);

    /// The place of the two bits that count the holders that died while it was written down.
    const DEATHS_AT: u32 = 5;

    /// It was submitted without a scheme: where https cannot be reached, http is requested too.
    pub const BARE: Self = Self(128);

    /// The greatest number of such deaths.
    pub const MAX_DEATHS: u8 = 3;

    /// Returns both sets together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the flags of this set that are not in the other one.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns the flags of this set that are in the other one, too.
    #[must_use]
    pub(crate) const fn only(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns true if all flags of `other` are set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns true for what is no page: a requisite or a sitemap.
    #[must_use]
    pub const fn is_no_page(self) -> bool {
        self.0 & (Self::REQUISITE.0 | Self::SITEMAP.0) != 0
    }

    /// Returns how many holders died while it was written down, up to [`Self::MAX_DEATHS`].
    #[must_use]
    pub const fn deaths(self) -> u8 {
        (self.0 >> Self::DEATHS_AT) & Self::MAX_DEATHS
    }

    /// Returns the flags with another number of deaths, of up to [`Self::MAX_DEATHS`].
    #[must_use]
    pub(crate) const fn with_deaths(self, deaths: u8) -> Self {
        let deaths = if deaths > Self::MAX_DEATHS { Self::MAX_DEATHS } else { deaths };
        Self(self.0 & !(Self::MAX_DEATHS << Self::DEATHS_AT) | deaths << Self::DEATHS_AT)
    }

    pub(crate) const fn bits(self) -> u8 {
        self.0
    }

    /// Returns the flags with these bits, each of which is one.
    pub(crate) const fn of_bits(bits: u8) -> Self {
        Self(bits)
    }
}

/// What the frontier keeps of a link beside its URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Attributes {
    /// Number of links from a seed to the URL, by the path on which it was first reached.
    pub depth: u16,
    /// 0 to [`crate::MAX_PRIORITY`]; a greater one is asked first.
    pub priority: u8,
    /// Number of redirects in a row that led to the URL, 0 to [`MAX_HOPS`].
    pub hops: u8,
    /// What is special about it.
    pub flags: LinkFlags,
}

/// A URL as found or submitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The URL with its key.
    pub url: CanonicalUrl,
    /// What is kept of it.
    pub attributes: Attributes,
    /// The URL whose link or redirect led to it; `None` if it was submitted.
    pub via: Option<Arc<str>>,
}

impl Link {
    /// Makes the link of a URL that a user submitted: depth 0, a seed.
    #[must_use]
    pub fn submitted(url: CanonicalUrl, is_urgent: bool, priority: u8) -> Self {
        let flags =
            if is_urgent { LinkFlags::SEED.with(LinkFlags::URGENT) } else { LinkFlags::SEED };
        let attributes = Attributes { priority, flags, ..Attributes::default() };
        Self { url, attributes, via: None }
    }

    /// Has http requested too where https cannot be reached, because the user named no scheme.
    #[must_use]
    pub fn bare(mut self) -> Self {
        self.attributes.flags = self.attributes.flags.with(LinkFlags::BARE);
        self
    }
}
