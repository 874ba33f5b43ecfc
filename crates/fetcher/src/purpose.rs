//! What a request is for, and what follows from that: the answers that it accepts, how much of
//! them, for how long, and what becomes of redirects.
//!
//! Must not know: how requests are made, which URLs are asked for.

use std::time::Duration;

use everytab_webpage::robots::MAX_ROBOTS_BYTES;

use crate::{content_types::ContentTypes, settings::FetchSettings};

/// Bytes of a page unless the crawl says otherwise: of a thousand pages, a few are longer.
pub const DEFAULT_PAGE_BYTES: usize = 2 << 20;
/// Most bytes of a page that a crawl may ask for: what one body may take of a worker's memory.
pub const MAX_PAGE_BYTES: usize = 16 << 20;
/// Bytes of a picture or other part of a page unless the crawl says otherwise.
pub const DEFAULT_MEDIA_BYTES: usize = 4 << 20;
/// Most bytes of a part of a page that a crawl may ask for.
pub const MAX_MEDIA_BYTES: usize = 32 << 20;
/// Bytes of a sitemap that are read: 50,000 URLs, which is the most that one may list, of 200
/// bytes.
pub const MAX_SITEMAP_BYTES: usize = 10 << 20;

const _: () = assert!(DEFAULT_PAGE_BYTES <= MAX_PAGE_BYTES);
const _: () = assert!(DEFAULT_MEDIA_BYTES <= MAX_MEDIA_BYTES);

/// Redirects of a robots.txt that are followed: what RFC 9309 2.3.1.2 asks for.
const MAX_ROBOTS_REDIRECTS: usize = 5;

/// The time for a page or a robots.txt: servers that answer slowly under load still answer.
const PAGE_TIMES: TimeLimits = TimeLimits {
    connect: Duration::from_secs(5),
    first_byte: Duration::from_secs(10),
    total: Duration::from_secs(30),
};
/// The time for media and sitemaps, whose bodies are longer.
const MEDIA_TIMES: TimeLimits = TimeLimits { total: Duration::from_secs(60), ..PAGE_TIMES };

/// The kinds of purposes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PurposeKind {
    /// The icon of a tab, and its origin's robots.txt is another request.
    Icon,
    /// A page of a crawl.
    Page,
    /// A part of a page: a picture, a style sheet, a font.
    Media,
    /// A robots.txt.
    Robots,
    /// A sitemap.
    Sitemap,
}

impl PurposeKind {
    /// The stable name.
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

/// How long a request may take. Waiting for permits and for the resolver does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeLimits {
    /// Connecting by TCP over all addresses, and TLS.
    pub connect: Duration,
    /// From the request to the head of the answer.
    pub first_byte: Duration,
    /// Connections, heads, bodies, and redirects that are followed.
    pub total: Duration,
}

/// What happens when a body reaches its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtLimit {
    /// The fetch ends in `BodyTooLarge`: a truncated image is no image.
    Refuse,
    /// The bytes read so far are used: a truncated robots.txt still holds rules.
    Cut,
}

/// What becomes of a redirect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Redirects {
    /// It is followed, up to this many in a row.
    Follow(usize),
    /// The fetch ends in `Redirected`, and the caller is told where to.
    Report,
}

/// What a request is for. Clones are cheap.
#[derive(Clone, Debug, PartialEq)]
pub struct Purpose {
    pub(crate) kind: PurposeKind,
    /// The value of `Accept`.
    pub(crate) accept: &'static str,
    pub(crate) max_bytes: usize,
    pub(crate) at_limit: AtLimit,
    /// The content types whose bodies are read.
    pub(crate) types: ContentTypes,
    pub(crate) times: TimeLimits,
    pub(crate) redirects: Redirects,
}

impl Purpose {
    /// A page of a crawl: a body of another type than `types` is not read, one of more than
    /// `max_bytes` (at most [`MAX_PAGE_BYTES`]) is cut, and redirects are reported.
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

    /// A part of a page: a body of another type than `types` is not read, one of more than
    /// `max_bytes` (at most [`MAX_MEDIA_BYTES`]) is refused, and redirects are reported.
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

    /// The robots.txt of an origin: five redirects are followed, also to other hosts, and a body
    /// of more than [`MAX_ROBOTS_BYTES`] is cut.
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

    /// A sitemap: redirects are reported, and a body of more than [`MAX_SITEMAP_BYTES`] is cut.
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

    /// The same purpose with other time limits.
    #[must_use]
    pub fn within(self, times: TimeLimits) -> Self {
        Self { times, ..self }
    }

    /// An icon of a tab.
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

    /// The robots.txt of an icon's origin, with the time limits and redirects of icons.
    pub(crate) fn robots_of_icon(settings: &FetchSettings) -> Self {
        let icon = Self::icon(settings);
        Self { times: icon.times, redirects: icon.redirects, ..Self::robots() }
    }

    /// What the purpose is.
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
