//! Collects a sitemap's URLs.
//!
//! This module does not depend on the form in which URLs are listed.

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
};

use serde::Serialize;
use url::Url;

use crate::{
    links::LinksLeftOut,
    url_rules::{MAX_URL_BYTES, requested_form},
};

/// Maximum pages, alternates and child sitemaps, each, that are read from one sitemap: the
/// protocol's limit.
pub const MAX_SITEMAP_ENTRIES: usize = 50_000;

/// Maximum bytes in a URL as written, without the whitespace before it.
const MAX_TEXT_BYTES: usize = 4 * MAX_URL_BYTES;

/// A file's format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SitemapFormat {
    /// XML that lists pages.
    Urlset,
    /// XML that lists sitemaps.
    Index,
    /// Text that lists pages, one per line.
    Text,
    /// RSS or Atom.
    Feed,
    /// Not a sitemap.
    #[default]
    Other,
}

impl SitemapFormat {
    /// Returns the stable name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Urlset => "urlset",
            Self::Index => "index",
            Self::Text => "text",
            Self::Feed => "feed",
            Self::Other => "other",
        }
    }
}

/// A sitemap's content, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sitemap {
    /// The file's format.
    pub format: SitemapFormat,
    /// The pages.
    pub pages: Vec<String>,
    /// The pages that are listed as another form of a page, for example in another language,
    /// without those that [`Self::pages`] contains.
    pub alternates: Vec<String>,
    /// The sitemaps that an index lists.
    pub sitemaps: Vec<String>,
    /// How many URLs were skipped, by reason; `over_limit` counts those after the first
    /// [`MAX_SITEMAP_ENTRIES`] in a list.
    pub left_out: LinksLeftOut,
    /// True if the file is truncated or broken, or exceeds a limit. The part before this point was
    /// read.
    pub is_cut: bool,
}

/// A URL while it is being read.
#[derive(Debug, Default)]
pub(super) struct UrlText {
    text: String,
    is_too_long: bool,
    /// Whether this URL contains an entity that is not resolved.
    pub(super) is_broken: bool,
}

impl UrlText {
    pub(super) fn push(&mut self, text: &str) {
        let text = if self.text.is_empty() { text.trim_start() } else { text };
        if self.text.len() + text.len() <= MAX_TEXT_BYTES {
            self.text.push_str(text);
        } else {
            self.is_too_long |= !text.trim_end().is_empty();
        }
    }

    pub(super) fn clear(&mut self) {
        self.text.clear();
        (self.is_too_long, self.is_broken) = (false, false);
    }
}

/// The lists in a sitemap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UrlList {
    Pages,
    Alternates,
    Sitemaps,
}

/// A sitemap while it is being read.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub(super) sitemap: Sitemap,
    /// Hashes of the URLs in each list, in the order of [`UrlList`].
    seen: [HashSet<u64>; 3],
}

impl Reading {
    pub(super) fn line(&mut self, text: &mut UrlText) {
        if !text.text.trim_end().is_empty() || text.is_too_long {
            self.add(UrlList::Pages, text);
        }
        text.clear();
    }

    /// Adds a URL to a list, or counts why this URL is skipped.
    pub(super) fn add(&mut self, list: UrlList, text: &UrlText) {
        let Sitemap { pages, alternates, sitemaps, left_out, .. } = &mut self.sitemap;
        let urls = match list {
            UrlList::Pages => pages,
            UrlList::Alternates => alternates,
            UrlList::Sitemaps => sitemaps,
        };
        if urls.len() >= MAX_SITEMAP_ENTRIES {
            left_out.over_limit += 1;
            return;
        }
        let count = match text {
            UrlText { is_broken: true, .. } => &mut left_out.unparsable,
            UrlText { is_too_long: true, .. } => &mut left_out.too_long,
            UrlText { text, .. } if text.trim_end().is_empty() => &mut left_out.empty,
            UrlText { text, .. } => match Url::parse(text) {
                Err(_) => &mut left_out.unparsable,
                Ok(url) if !matches!(url.scheme(), "http" | "https") => &mut left_out.other_scheme,
                Ok(url) => {
                    let url = String::from(requested_form(url));
                    if url.len() <= MAX_URL_BYTES {
                        if self.seen[list as usize].insert(hash_of(&url)) {
                            urls.push(url);
                        }
                        return;
                    }
                    &mut left_out.too_long
                }
            },
        };
        *count += 1;
    }

    pub(super) fn finish(self) -> Sitemap {
        let Self { mut sitemap, seen: [pages, ..] } = self;
        sitemap.alternates.retain(|url| !pages.contains(&hash_of(url)));
        sitemap
    }
}

fn hash_of(url: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    url.hash(&mut hasher);
    hasher.finish()
}
