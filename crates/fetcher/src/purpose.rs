//! The purpose of a request, which determines the accepted responses, the limits on size and time,
//! and the handling of redirects.
//!
//! Does not depend on how requests are made, or on which URLs are requested.

use std::time::Duration;

use everytab_webpage::robots::MAX_ROBOTS_BYTES;

use crate::{content_types::ContentTypes, settings::FetchSettings};

/// Default size limit of a page in bytes. Of a thousand pages, a few are longer.
pub const DEFAULT_PAGE_BYTES: usize = 2 << 20;
/// Maximum size limit of a page in bytes that a crawl may set: what one body may take of a worker's
/// memory.
pub const MAX_PAGE_BYTES: usize = 16 << 20;
/// Default size limit in bytes of an image or other requisite of a page.
pub const DEFAULT_MEDIA_BYTES: usize = 4 << 20;
/// Maximum size limit of a requisite in bytes that a crawl may set.
pub const MAX_MEDIA_BYTES: usize = 32 << 20;
/// Size limit of a sitemap in bytes: 50,000 URLs, the maximum for a sitemap, of 200 bytes.
pub const MAX_SITEMAP_BYTES: usize = 10 << 20;

const _: () = assert!(DEFAULT_PAGE_BYTES <= MAX_PAGE_BYTES);
const _: () = assert!(DEFAULT_MEDIA_BYTES <= MAX_MEDIA_BYTES);

/// Maximum number of redirects of a robots.txt, as recommended by RFC 9309 2.3.1.2.
const MAX_ROBOTS_REDIRECTS: usize = 5;

/// Time limits for a page or a robots.txt. Servers that are slow under load still respond.
const PAGE_TIMES: TimeLimits = TimeLimits {
    connect: Duration::from_secs(5),
    first_byte: Duration::from_secs(10),
    total: Duration::from_secs(30),
};
/// Time limits for media and sitemaps, whose bodies are longer.
const MEDIA_TIMES: TimeLimits = TimeLimits { total: Duration::from_secs(60), ..PAGE_TIMES };

/// The kind of a purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PurposeKind {
    /// A tab's icon. The robots.txt of its origin is a separate request.
    Icon,
    /// A page of a crawl.
    Page,
    /// A requisite of a page: an image, a style sheet, a font.
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
    /// For connecting by TCP over all addresses, and for TLS.
    pub connect: Duration,
    /// From the request to the head of the response.
    pub first_byte: Duration,
    /// For connections, heads, bodies, and followed redirects together.
    pub total: Duration,
}

/// How a body that exceeds its limit is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtLimit {
    /// The outcome is `BodyTooLarge`, because a truncated image is unusable.
    Refuse,
    /// The bytes up to the limit are used, because a truncated robots.txt still has rules.
    Cut,
}

/// How a redirect is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Redirects {
    /// It is followed, up to this many in a row.
    Follow(usize),
    /// The outcome is `Redirected`, and the caller gets the target.
    Report,
}

/// The purpose of a request. Clones are cheap.
#[derive(Clone, Debug, PartialEq)]
pub struct Purpose {
    pub(crate) kind: PurposeKind,
    /// The value of `Accept`.
    pub(crate) accept: &'static str,
    pub(crate) max_bytes: usize,
    pub(crate) at_limit: AtLimit,
    /// Content types of bodies to read.
    pub(crate) types: ContentTypes,
    pub(crate) times: TimeLimits,
    pub(crate) redirects: Redirects,
}

impl Purpose {
    /// Creates the purpose of a crawl's page. A body of a type not in `types` is not read, one of
    /// more than `max_bytes` (at most [`MAX_PAGE_BYTES`]) is cut, and redirects are reported.
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

    /// Creates the purpose of a requisite. A body of a type not in `types` is not read, one of more
    /// than `max_bytes` (at most [`MAX_MEDIA_BYTES`]) is rejected, and redirects are reported.
    pub fn media(max_bytes: usize, types: ContentTypes) -> Self {
        Self {
            kind: PurposeKind::Media,
            accept: "image/*,*/*;q=0.8",
            max_bytes: max_bytes.min(MAX_MEDIA_BYTES),
            at_limit: AtLimit::Refuse,
            types,
            times: MEDIA_TIMES,
            redirects: Redirects::Report,
        }
    }

    /// Creates the purpose of a robots.txt. Five redirects are followed, also to other hosts, and a
    /// body of more than [`MAX_ROBOTS_BYTES`] is cut.
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

    /// Creates the purpose of a sitemap. Redirects are reported, and a body of more than
    /// [`MAX_SITEMAP_BYTES`] is cut.
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

    /// Returns the same purpose with other time limits.
    #[must_use]
    pub fn within(self, times: TimeLimits) -> Self {
        Self { times, ..self }
    }

    /// Creates the purpose of a tab's icon.
    pub(crate) fn icon(settings: &FetchSettings) -> Self {
        Self {
            kind: PurposeKind::Icon,
            accept: "image/*,*/*;q=0.5",
            max_bytes: settings.max_body_bytes,
            at_limit: AtLimit::Refuse,
            types: ContentTypes::any(),
            times: TimeLimits {
                connect: settings.connect_timeout,
                first_byte: settings.first_byte_timeout,
                total: settings.total_timeout,
            },
            redirects: Redirects::Follow(settings.max_redirects),
        }
    }

    /// Creates the purpose of an icon origin's robots.txt, with the time limits and redirects of
    /// icons.
    pub(crate) fn robots_of_icon(settings: &FetchSettings) -> Self {
        let icon = Self::icon(settings);
        Self { times: icon.times, redirects: icon.redirects, ..Self::robots() }
    }

    /// Returns the kind of the purpose.
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
