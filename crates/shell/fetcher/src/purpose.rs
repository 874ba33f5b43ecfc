//! The purpose of a request, which determines the accepted responses, the limits, and the handling
//! of redirects.

use std::time::Duration;

use everytab_webpage::{ContentTypes, MAX_MEDIA_BYTES, MAX_PAGE_BYTES, robots::MAX_ROBOTS_BYTES};

use crate::settings::FetchSettings;

/// Size limit for a sitemap in bytes. The sitemap protocol allows 50,000 URLs, and we assume 200
/// bytes for each.
pub const MAX_SITEMAP_BYTES: usize = 10 << 20;

/// Maximum number of redirects for a robots.txt, as RFC 9309 2.3.1.2 recommends.
const MAX_ROBOTS_REDIRECTS: usize = 5;

const PAGE_TIMES: TimeLimits = TimeLimits {
    connect: Duration::from_secs(5),
    first_byte: Duration::from_secs(10),
    total: Duration::from_secs(30),
};
const MEDIA_TIMES: TimeLimits = TimeLimits { total: Duration::from_secs(60), ..PAGE_TIMES };

/// The kind of purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PurposeKind {
    /// A tab's icon. The robots.txt of an icon's origin has the purpose `Robots`.
    Icon,
    /// A page of a crawl.
    Page,
    /// A page requisite, such as an image, a style sheet or a font.
    Media,
    /// A robots.txt.
    Robots,
    /// A sitemap.
    Sitemap,
}

impl PurposeKind {
    /// Returns the stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Icon => "icon",
            Self::Page => "page",
            Self::Media => "media",
            Self::Robots => "robots",
            Self::Sitemap => "sitemap",
        }
    }
}

/// Time limits of a request. Waiting for permits and for the resolver does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeLimits {
    /// For connecting: TCP over all addresses, and the TLS handshake.
    pub connect: Duration,
    /// From sending the request to receiving the response head.
    pub first_byte: Duration,
    /// For the whole fetch: connections, heads, bodies, and followed redirects.
    pub total: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtLimit {
    /// Drop the body and return `BodyTooLarge`, because a truncated image is unusable.
    Reject,
    /// Use the bytes up to the limit, because a truncated page or robots.txt is still useful.
    Cut,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Redirects {
    Follow(usize),
    /// The outcome is `Redirected`, and the caller gets the target.
    Report,
}

/// The purpose of a request. Clones are cheap.
#[derive(Clone, Debug, PartialEq)]
pub struct Purpose {
    pub(crate) kind: PurposeKind,
    pub(crate) accept: &'static str,
    pub(crate) max_bytes: usize,
    pub(crate) at_limit: AtLimit,
    pub(crate) types: ContentTypes,
    pub(crate) times: TimeLimits,
    pub(crate) redirects: Redirects,
}

impl Purpose {
    /// Creates the purpose for a crawl's pages. Bodies are cut at `max_bytes` (at most
    /// [`MAX_PAGE_BYTES`]).
    pub fn page(max_bytes: usize, types: ContentTypes) -> Self {
        Self {
            kind: PurposeKind::Page,
            accept: "text/html,application/xhtml+xml,*/*;q=0.8",
            max_bytes: max_bytes.min(MAX_PAGE_BYTES),
            at_limit: AtLimit::Cut,
            types,
            times: PAGE_TIMES,
            redirects: Redirects::Report,
        }
    }

    /// Creates the purpose for page requisites. Bodies over `max_bytes` (at most
    /// [`MAX_MEDIA_BYTES`]) are rejected.
    pub fn media(max_bytes: usize, types: ContentTypes) -> Self {
        Self {
            kind: PurposeKind::Media,
            accept: "image/*,*/*;q=0.8",
            max_bytes: max_bytes.min(MAX_MEDIA_BYTES),
            at_limit: AtLimit::Reject,
            types,
            times: MEDIA_TIMES,
            redirects: Redirects::Report,
        }
    }

    /// Creates the purpose for a robots.txt.
    pub fn robots() -> Self {
        Self {
            kind: PurposeKind::Robots,
            accept: "text/plain,*/*;q=0.5",
            max_bytes: MAX_ROBOTS_BYTES,
            at_limit: AtLimit::Cut,
            types: ContentTypes::any(),
            times: PAGE_TIMES,
            redirects: Redirects::Follow(MAX_ROBOTS_REDIRECTS),
        }
    }

    /// Creates the purpose for sitemaps.
    pub fn sitemap() -> Self {
        Self {
            kind: PurposeKind::Sitemap,
            accept: "application/xml,text/xml,text/plain;q=0.9,*/*;q=0.5",
            max_bytes: MAX_SITEMAP_BYTES,
            times: MEDIA_TIMES,
            redirects: Redirects::Report,
            ..Self::robots()
        }
    }

    /// Returns this purpose with other time limits.
    #[must_use]
    pub fn within(self, times: TimeLimits) -> Self {
        Self { times, ..self }
    }

    pub(crate) fn icon(settings: &FetchSettings) -> Self {
        Self {
            kind: PurposeKind::Icon,
            accept: "image/*,*/*;q=0.5",
            max_bytes: settings.max_body_bytes,
            at_limit: AtLimit::Reject,
            types: ContentTypes::any(),
            times: TimeLimits {
                connect: settings.connect_timeout,
                first_byte: settings.first_byte_timeout,
                total: settings.total_timeout,
            },
            redirects: Redirects::Follow(settings.max_redirects),
        }
    }

    /// The purpose for an icon's robots.txt has the icon's time limits and redirects.
    pub(crate) fn robots_of_icon(settings: &FetchSettings) -> Self {
        let icon = Self::icon(settings);
        Self { times: icon.times, redirects: icon.redirects, ..Self::robots() }
    }

    /// Returns the purpose's kind.
    pub fn kind(&self) -> PurposeKind {
        self.kind
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_stay_within_their_bounds() {
        assert_eq!(Purpose::page(1, ContentTypes::pages()).max_bytes, 1);
        assert_eq!(Purpose::page(usize::MAX, ContentTypes::pages()).max_bytes, MAX_PAGE_BYTES);
        assert_eq!(Purpose::media(usize::MAX, ContentTypes::any()).max_bytes, MAX_MEDIA_BYTES);
    }

    #[test]
    fn icons_keep_the_limits_of_the_settings() {
        let settings = FetchSettings::default();
        let (icon, robots) = (Purpose::icon(&settings), Purpose::robots_of_icon(&settings));
        assert_eq!(icon.max_bytes, settings.max_body_bytes);
        assert_eq!(icon.redirects, Redirects::Follow(settings.max_redirects));
        assert_eq!((robots.times, robots.redirects), (icon.times, icon.redirects));
        assert_eq!((robots.max_bytes, robots.at_limit), (MAX_ROBOTS_BYTES, AtLimit::Cut));
    }
}
