//! Which icon URLs of a page are worth asking for, and in which order.
//!
//! The order of the list is canonical: `/favicon.ico` of the document (never of the base) first,
//! then the declared icons as they stand in the page, then the apple-touch icons. It is a pure
//! function of the page. What a limit leaves out is counted.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use url::Url;

use crate::data_url;
use crate::icons::{IconClass, IconLink};
use crate::page::Page;
use crate::url_rules::{MAX_URL_BYTES, without_userinfo_and_fragment};

/// Declared icons of a host at most.
pub const MAX_DECLARED: usize = 50;
/// The longest `data:` URL of an icon.
pub const MAX_DATA_URL_BYTES: usize = 16 << 10;
/// All `data:` URLs of a host.
pub const MAX_DATA_URL_BYTES_PER_HOST: usize = 64 << 10;

/// Who named a candidate. In JSON it is a flag: whether it is the well-known place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "bool", into = "bool")]
pub enum CandidateSource {
    /// The well-known place, `/favicon.ico`.
    FaviconIco,
    /// A `link` of the page.
    #[default]
    LinkRel,
}

impl CandidateSource {
    /// The stable name, in snake case.
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

/// An icon URL of a host. Its JSON, which Postgres stores some 76 million times, has names of one
/// letter and leaves out what is absent or false.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// The http, https or data URL; normalised, without user info and fragment.
    #[serde(rename = "u")]
    pub url: String,
    /// Who named it.
    #[serde(rename = "f", default, skip_serializing_if = "CandidateSource::is_link")]
    pub source: CandidateSource,
    /// Whether the link was an apple-touch-icon: such icons rank after all others.
    #[serde(rename = "a", default, skip_serializing_if = "std::ops::Not::not")]
    pub apple_touch: bool,
    /// The `type` of the link.
    #[serde(rename = "t", default, skip_serializing_if = "Option::is_none")]
    pub declared_type: Option<String>,
    /// The `sizes` of the link, as written.
    #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
    pub declared_sizes: Option<String>,
}

/// How many declared icons did not become candidates, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// The same URL was there already.
    pub duplicate: usize,
    /// Neither http, https nor data.
    pub scheme: usize,
    /// The URL is longer than its kind may be.
    pub too_long: usize,
    /// The host's `data:` URLs came to too much.
    pub data_total: usize,
    /// Fifty were there already, or the page had more links than are read.
    pub over_limit: usize,
    /// No href, an empty one, or one that is no URL.
    pub no_url: usize,
    /// An empty `data:` URL, which says "no icon".
    pub no_icon: usize,
}

/// The candidates of a page in canonical order, and what was left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Candidates {
    /// At most 51, each URL once.
    pub list: Vec<Candidate>,
    /// What was left out.
    pub left_out: LeftOut,
}

/// True for `data:,` and its like: an icon without bytes, the idiom for "no icon, and do not ask
/// for /favicon.ico".
pub(crate) fn says_no_icon(href: &str) -> bool {
    href.len() <= 64
        && href.starts_with("data:")
        && match data_url::decode(href, 64) {
            Ok(found) => found.bytes.is_empty(),
            // `data:;base64,=` is the same idiom, and not base64.
            Err(_) => href.ends_with(";base64,="),
        }
}

/// The candidates of a page.
#[must_use]
pub fn candidates(page: &Page) -> Candidates {
    let mut chosen = Chosen::default();
    chosen.left_out.over_limit = page.icons_over_limit;
    chosen.left_out.no_url = page.icons_without_url;
    let favicon = page.url.as_ref().filter(|url| matches!(url.scheme(), "http" | "https"));
    if !page.no_favicon
        && let Some(url) = favicon.and_then(|url| url.join("/favicon.ico").ok())
    {
        let url = without_userinfo_and_fragment(url);
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
        if says_no_icon(&icon.href) {
            self.left_out.no_icon += 1;
            return;
        }
        let Ok(url) = Url::parse(&icon.href) else {
            self.left_out.no_url += 1;
            return;
        };
        let url = without_userinfo_and_fragment(url);
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
            self.hint(url.as_str(), icon);
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

    /// A link that declares what is a candidate already still tells its type and sizes, if
    /// nothing has told them: so does a link to /favicon.ico itself.
    fn hint(&mut self, url: &str, icon: &IconLink) {
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
