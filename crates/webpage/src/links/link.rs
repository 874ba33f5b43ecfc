//! A link of a page, the kind of its target, and the request of a caller.
//!
//! Does not depend on how links are found.

use serde::Serialize;
use url::Url;

/// Maximum number of links per page. Pages for people have fewer; a page with more is a trap.
pub const MAX_LINKS_PER_PAGE: usize = 5_000;

/// Which links the caller requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkRequest<'a> {
    /// The robot's product token, which a page may name instead of `robots`.
    pub robot: &'a str,
    /// Whether requisites are requested, too, and not only links to pages.
    pub with_requisites: bool,
}

/// Kind of a link's target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkKind {
    /// A page.
    Page,
    /// A resource that the page needs to be shown, such as an image.
    Requisite,
}

/// The markup that names a link.
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
    /// A `link` element with another form of the page, or a neighbour: `rel` is `alternate`,
    /// `canonical`, `next` or `prev`.
    Link,
    /// `src` of an `img` element.
    Img,
    /// A candidate in the `srcset` of an `img` or `source` element.
    Srcset,
    /// `src` of a `source` element: a video or audio file.
    Source,
    /// A `link` element with `rel=stylesheet`.
    Stylesheet,
    /// A `link` element with an icon of either class.
    Icon,
}

impl LinkOrigin {
    /// Returns the kind of the target of such a link.
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

    /// Returns true if such a link names an image.
    #[must_use]
    pub fn is_image(self) -> bool {
        matches!(self, Self::Img | Self::Srcset | Self::Icon)
    }

    /// Returns the stable name, in snake case.
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

/// A link of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageLink {
    /// The URL, resolved against the base of the page: http or https, without user name, password
    /// and fragment, at most [`crate::url_rules::MAX_URL_BYTES`].
    pub url: Url,
    /// The markup that contains it.
    pub origin: LinkOrigin,
    /// True if the `rel` of the element contains `nofollow`. Directives for the whole page are in
    /// [`super::PageLinks::robots`].
    pub is_nofollow: bool,
}
