//! Decides which of a page's icon URLs are requested: first the document's `/favicon.ico`, then the
//! declared icons in document order, then the apple-touch-icons.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use url::Url;

use crate::{
    icons::{IconClass, IconLink},
    page::Page,
    url_rules::{MAX_URL_BYTES, requested_form},
};

/// Maximum declared icons per host. Icons beyond this limit are only counted. Real pages declare up
/// to about 30.
pub const MAX_DECLARED: usize = 50;
/// Maximum size in bytes of an icon's `data:` URL. An icon with 32x32 pixels takes less.
pub const MAX_DATA_URL_BYTES: usize = 16 << 10;
/// Maximum total size in bytes of a host's `data:` URLs, because they are stored with its page.
pub const MAX_DATA_URL_BYTES_PER_HOST: usize = 64 << 10;

/// Where a candidate's URL comes from. In JSON, this is true for the default location.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "bool", into = "bool")]
pub enum CandidateSource {
    /// The default location `/favicon.ico`.
    FaviconIco,
    /// A `link` element on the page.
    #[default]
    LinkRel,
}

impl CandidateSource {
    /// Returns a stable name in snake case.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FaviconIco => "favicon_ico",
            Self::LinkRel => "link_rel",
        }
    }

    fn is_link(&self) -> bool {
        *self == Self::LinkRel
    }
}

impl From<bool> for CandidateSource {
    fn from(is_favicon: bool) -> Self {
        if is_favicon { Self::FaviconIco } else { Self::LinkRel }
    }
}

impl From<CandidateSource> for bool {
    fn from(source: CandidateSource) -> Self {
        source == CandidateSource::FaviconIco
    }
}

/// An icon URL that should be fetched for a host. Postgres stores its JSON about 76 million times,
/// so names have one letter, and absent fields are omitted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// Normalized http, https or data URL without user name, password and fragment.
    #[serde(rename = "u")]
    pub url: String,
    /// Where this URL comes from.
    #[serde(rename = "f", default, skip_serializing_if = "CandidateSource::is_link")]
    pub source: CandidateSource,
    /// True for an apple-touch-icon. Such icons rank after all others.
    #[serde(rename = "a", default, skip_serializing_if = "std::ops::Not::not")]
    pub apple_touch: bool,
    /// The link's `type` attribute.
    #[serde(rename = "t", default, skip_serializing_if = "Option::is_none")]
    pub declared_type: Option<String>,
    /// The link's `sizes` attribute as written.
    #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
    pub declared_sizes: Option<String>,
}

/// Declared icons that did not become candidates, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// The URL is already a candidate.
    pub duplicate: usize,
    /// The scheme is neither http, https nor data.
    pub scheme: usize,
    /// The URL is too long for its scheme.
    pub too_long: usize,
    /// The host's `data:` URLs are too long in total.
    pub data_total: usize,
    /// The page declares more icons than [`MAX_DECLARED`], or more icon links than are read.
    pub over_limit: usize,
    /// The `href` is absent, empty or not a URL.
    pub no_url: usize,
    /// The `data:` URL is empty, which declares that there is no icon.
    pub no_icon: usize,
    /// This link is for other media, such as dark pages.
    pub other_media: usize,
}

/// A page's candidates, and the number of icons skipped for each reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Candidates {
    /// Candidates in canonical order, at most 51, each URL once.
    pub list: Vec<Candidate>,
    /// Declared icons that did not become candidates.
    pub left_out: LeftOut,
}

/// Returns a page's candidates.
#[must_use]
pub fn candidates(page: &Page) -> Candidates {
    let mut chosen = Chosen::default();
    chosen.left_out.over_limit = page.icons_over_limit;
    chosen.left_out.no_url = page.icons_without_url;
    let favicon = page.url.as_ref().filter(|url| matches!(url.scheme(), "http" | "https"));
    if !page.no_favicon
        && let Some(url) = favicon.and_then(|url| url.join("/favicon.ico").ok())
    {
        let url = requested_form(url);
        chosen.seen.insert(url.as_str().to_owned());
        chosen.list.push(Candidate {
            url: url.into(),
            source: CandidateSource::FaviconIco,
            declared_type: None,
            declared_sizes: None,
            apple_touch: false,
        });
    }
    for class in [IconClass::Icon, IconClass::AppleTouch] {
        for icon in page.icons.iter().filter(|icon| icon.class == class) {
            chosen.consider(icon);
        }
    }
    Candidates { list: chosen.list, left_out: chosen.left_out }
}

#[derive(Default)]
struct Chosen {
    list: Vec<Candidate>,
    seen: HashSet<String>,
    declared: usize,
    data_bytes: usize,
    left_out: LeftOut,
}

impl Chosen {
    fn consider(&mut self, icon: &IconLink) {
        if !icon.is_for_light_page() {
            self.left_out.other_media += 1;
            return;
        }
        if icon.declares_no_icon() {
            self.left_out.no_icon += 1;
            return;
        }
        let Ok(url) = Url::parse(&icon.href) else {
            self.left_out.no_url += 1;
            return;
        };
        let url = requested_form(url);
        let max_bytes = match url.scheme() {
            "http" | "https" => MAX_URL_BYTES,
            "data" => MAX_DATA_URL_BYTES,
            _ => {
                self.left_out.scheme += 1;
                return;
            }
        };
        let bytes = url.as_str().len();
        let data_bytes = if url.scheme() == "data" { self.data_bytes + bytes } else { 0 };
        let reason = if self.seen.contains(url.as_str()) {
            self.add_hints(url.as_str(), icon);
            &mut self.left_out.duplicate
        } else if bytes > max_bytes {
            &mut self.left_out.too_long
        } else if self.declared >= MAX_DECLARED {
            &mut self.left_out.over_limit
        } else if data_bytes > MAX_DATA_URL_BYTES_PER_HOST {
            &mut self.left_out.data_total
        } else {
            self.declared += 1;
            self.data_bytes = self.data_bytes.max(data_bytes);
            self.seen.insert(url.as_str().to_owned());
            self.list.push(Candidate {
                url: url.into(),
                source: CandidateSource::LinkRel,
                declared_type: icon.mime.clone(),
                declared_sizes: icon.sizes.clone(),
                apple_touch: icon.class == IconClass::AppleTouch,
            });
            return;
        };
        *reason += 1;
    }

    /// A link may repeat a candidate's URL, for example /favicon.ico, and add type and sizes.
    fn add_hints(&mut self, url: &str, icon: &IconLink) {
        if let Some(candidate) = self.list.iter_mut().find(|candidate| candidate.url == url) {
            candidate.declared_type = candidate.declared_type.take().or(icon.mime.clone());
            candidate.declared_sizes = candidate.declared_sizes.take().or(icon.sizes.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_of_a_candidate_is_short_and_read_back() {
        let plain = Candidate {
            url: "https://a.example/i.png".to_owned(),
            source: CandidateSource::LinkRel,
            apple_touch: false,
            declared_type: None,
            declared_sizes: None,
        };
        let full = Candidate {
            source: CandidateSource::FaviconIco,
            apple_touch: true,
            declared_type: Some("image/png".to_owned()),
            declared_sizes: Some("32x32".to_owned()),
            ..plain.clone()
        };
        for (candidate, json) in [
            (plain, r#"{"u":"https://a.example/i.png"}"#),
            (
                full,
                r#"{"u":"https://a.example/i.png","f":true,"a":true,"t":"image/png","s":"32x32"}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&candidate).expect("JSON"), json);
            assert_eq!(serde_json::from_str::<Candidate>(json).expect("a candidate"), candidate);
        }
    }
}
