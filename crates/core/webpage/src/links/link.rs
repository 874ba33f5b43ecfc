//! A link on a page, the kind of its target, and a caller's request.

use serde::Serialize;
use url::Url;

/// Maximum links per page. A page beyond this limit is probably a crawler trap.
pub const MAX_LINKS_PER_PAGE: usize = 5_000;

/// Which links the caller requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkRequest<'a> {
    /// The robot's product token, which a page may name instead of `robots`.
    pub robot: &'a str,
    /// Whether to return page requisites in addition to links to pages.
    pub with_requisites: bool,
}

/// Kind of a link's target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkKind {
    /// A page.
    Page,
    /// A resource that a browser needs to show the page, such as an image.
    Requisite,
}

/// Element and attribute that contain a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkOrigin {
    /// `href` of an `a` element.
    A,
    /// `href` of an `area` element.
    Area,
    /// `src` of a `frame` element.
    Frame,
    /// `src` of an `iframe` element.
    Iframe,
    /// A `meta` element that refreshes the page.
    Refresh,
    /// A `link` element whose `rel` is `alternate`, `canonical`, `next` or `prev`.
    Link,
    /// `src` of an `img` element.
    Img,
    /// A candidate in the `srcset` of an `img` or `source` element.
    Srcset,
    /// `src` of a `source` element, which is a video or audio file.
    Source,
    /// A `link` element with `rel=stylesheet`.
    Stylesheet,
    /// A `link` element for an icon of either class.
    Icon,
}

impl LinkOrigin {
    /// Returns the kind of this link's target.
    #[must_use]
    pub fn kind(self) -> LinkKind {
        match self {
            Self::A | Self::Area | Self::Frame | Self::Iframe | Self::Refresh | Self::Link => {
                LinkKind::Page
            }
            Self::Img | Self::Srcset | Self::Source | Self::Stylesheet | Self::Icon => {
                LinkKind::Requisite
            }
        }
    }

    /// Returns true if this link leads to an image.
    #[must_use]
    pub fn is_image(self) -> bool {
        matches!(self, Self::Img | Self::Srcset | Self::Icon)
    }

    /// Returns a stable name in snake case.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::A => "a",
            Self::Area => "area",
            Self::Frame => "frame",
            Self::Iframe => "iframe",
            Self::Refresh => "refresh",
            Self::Link => "link",
            Self::Img => "img",
            Self::Srcset => "srcset",
            Self::Source => "source",
            Self::Stylesheet => "stylesheet",
            Self::Icon => "icon",
        }
    }
}

/// A link on a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageLink {
    /// Resolved http or https URL without user name, password and fragment, at most
    /// [`crate::url_rules::MAX_URL_BYTES`] long.
    pub url: Url,
    /// Markup that contains this link.
    pub origin: LinkOrigin,
    /// True if the element's `rel` contains `nofollow`.
    pub is_nofollow: bool,
}
