//! Collects the URLs in a sitemap.

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

/// Maximum pages, alternates and child sitemaps, each, that are read from a sitemap. This is the
/// protocol's limit.
pub const MAX_SITEMAP_ENTRIES: usize = 50_000;

/// Maximum length in bytes of a URL as written.
const MAX_TEXT_BYTES: usize = 4 * MAX_URL_BYTES;

/// A sitemap's format.
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
    /// Returns a stable name.
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
    /// This file's format.
    pub format: SitemapFormat,
    /// Listed pages.
    pub pages: Vec<String>,
    /// Other forms of these pages, for example in other languages, without those in
    /// [`Self::pages`].
    pub alternates: Vec<String>,
    /// Sitemaps that an index lists.
    pub sitemaps: Vec<String>,
    /// Skipped URLs by reason. `over_limit` counts those after a list's first
    /// [`MAX_SITEMAP_ENTRIES`].
    pub left_out: LinksLeftOut,
    /// True if this file was not read completely, because it is truncated, broken or too large.
    pub is_cut: bool,
}

#[derive(Debug, Default)]
pub(super) struct UrlText {
    text: String,
    is_too_long: bool,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UrlList {
    Pages,
    Alternates,
    Sitemaps,
}

#[derive(Debug, Default)]
pub(super) struct Reading {
    pub(super) sitemap: Sitemap,
    /// URL hashes for each list, in the order of [`UrlList`].
    seen: [HashSet<u64>; 3],
}

impl Reading {
    pub(super) fn line(&mut self, text: &mut UrlText) {
        if !text.text.trim_end().is_empty() || text.is_too_long {
            self.add(UrlList::Pages, text);
        }
        text.clear();
    }

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
