//! Extracts a captured page's contents that are returned with its URL: HTML, text, Markdown and
//! links.

use everytab_coordinator::ApiFetch;
use everytab_markdown::{Markdown, PagePart, markdown};
use everytab_webpage::{
    LinkOrigin, LinkRequest, Page, PageLinks, PageText, TextRequest, plain_text, understand,
    understand_with_links_and_text,
};
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    parts::{fenced, has_text, is_served_html},
    record::ArchivedRecord,
};

/// Maximum bytes in each part: HTML, text, Markdown, or the list of links.
pub(crate) const MAX_PART_BYTES: usize = 2 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Include {
    pub(crate) html: bool,
    pub(crate) text: bool,
    pub(crate) markdown: bool,
    pub(crate) links: bool,
}

impl Include {
    pub(crate) const WORDS: [&str; 4] = ["html", "text", "markdown", "links"];

    /// Parses names separated by commas. `None` if one is unknown, or the list is empty.
    pub(crate) fn parse(list: &str) -> Option<Self> {
        let mut include = Self::default();
        for word in list.split(',') {
            let part = match word {
                "html" => &mut include.html,
                "text" => &mut include.text,
                "markdown" => &mut include.markdown,
                "links" => &mut include.links,
                _ => return None,
            };
            *part = true;
        }
        Some(include)
    }
}

/// Why a part is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MissingWord {
    /// No record is stored for the URL: it is due, was refused or left, or its fetch got no usable
    /// response.
    NotCaptured,
    /// The capture is neither HTML nor text.
    NotText,
    /// The capture is not served: it was forgotten, or the operator blocks its host.
    Withheld,
    /// The store could not be reached. The client may retry the same request.
    StoreUnavailable,
    /// The store does not have the expected record.
    Damaged,
    /// The page could not be converted to Markdown.
    NotConverted,
}

/// Where a link was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LinkOriginWord {
    /// An `a` element.
    A,
    /// An `area` element.
    Area,
    /// A `frame` element.
    Frame,
    /// An `iframe` element.
    Iframe,
    /// A `meta` element that refreshes the page.
    Refresh,
    /// A `link` element: alternate, canonical, next or prev.
    Link,
}

impl LinkOriginWord {
    fn of(origin: LinkOrigin) -> Option<Self> {
        match origin {
            LinkOrigin::A => Some(Self::A),
            LinkOrigin::Area => Some(Self::Area),
            LinkOrigin::Frame => Some(Self::Frame),
            LinkOrigin::Iframe => Some(Self::Iframe),
            LinkOrigin::Refresh => Some(Self::Refresh),
            LinkOrigin::Link => Some(Self::Link),
            LinkOrigin::Img
            | LinkOrigin::Srcset
            | LinkOrigin::Source
            | LinkOrigin::Stylesheet
            | LinkOrigin::Icon => None,
        }
    }
}

/// A link on a page.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct ContentLink {
    /// The absolute URL, without fragment.
    pub(crate) url: String,
    /// Where the link was found.
    pub(crate) origin: LinkOriginWord,
    /// Whether its `rel` contains `nofollow`.
    pub(crate) nofollow: bool,
}

/// A page's content: the parts that `include` lists. Each has at most 2 MiB.
#[derive(Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct Contents {
    /// The HTML, or the text of a capture that is not HTML, decoded to UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) html: Option<String>,
    /// Whether the HTML is truncated.
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) html_truncated: bool,
    /// The visible text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    /// Whether the text is truncated.
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) text_truncated: bool,
    /// The main content as Markdown, or the whole page if no main content is found. Plain text
    /// becomes a code block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) markdown: Option<String>,
    /// Whether the Markdown is truncated.
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) markdown_truncated: bool,
    /// The page's links in document order, at most 5,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) links: Option<Vec<ContentLink>>,
    /// Whether the page has more links.
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) links_truncated: bool,
    /// Why a requested part is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) missing: Option<MissingWord>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

impl Contents {
    pub(crate) fn missing(missing: MissingWord) -> Self {
        Self { missing: Some(missing), ..Self::default() }
    }

    /// Returns the approximate size of these contents in a response, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let parts = [&self.html, &self.text, &self.markdown].into_iter().flatten();
        let links = self.links.iter().flatten().map(ContentLink::bytes);
        parts.map(|part| json_bytes(part)).sum::<usize>() + links.sum::<usize>()
    }
}

impl ContentLink {
    fn bytes(&self) -> usize {
        /// Bytes for the field names, the punctuation and the other values.
        const OTHER_BYTES: usize = 48;
        self.url.len() + OTHER_BYTES
    }
}

/// Returns a string's length in JSON, in bytes, without the quotes.
fn json_bytes(text: &str) -> usize {
    let more = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 1,
        // Control characters are `\u00xx`.
        0..0x20 => 5,
        _ => 0,
    };
    text.bytes().map(|byte| 1 + more(byte)).sum()
}

impl ArchivedRecord {
    pub(super) fn contents(self, fetch: &ApiFetch, include: Include) -> Contents {
        if !has_text(fetch.mime.as_deref()) {
            return Contents::missing(MissingWord::NotText);
        }
        let (headers, body) = (self.response.headers.fields(), self.response.body.as_slice());
        let url = fetch.url.as_deref().unwrap_or_default();
        let is_html = is_served_html(fetch);
        let (page, links, text) = read(url, headers, body, (is_html, include));
        let mut contents = Contents::default();
        if include.html {
            let html = page.decode(body);
            let (html, is_cut) = cut(&html);
            contents.html = Some(html.to_owned());
            contents.html_truncated = is_cut;
        }
        if include.links {
            let (links, is_cut) = content_links(&links);
            contents.links = Some(links);
            contents.links_truncated = is_cut;
        }
        if include.markdown {
            let made = if is_html {
                markdown(&page, body, PagePart::Main, MAX_PART_BYTES)
            } else {
                Ok(Markdown { text: fenced(&text.text), is_truncated: text.is_truncated })
            };
            match made {
                Ok(Markdown { text, is_truncated }) => {
                    contents.markdown = Some(text);
                    contents.markdown_truncated = is_truncated;
                }
                Err(error) => {
                    tracing::error!(url, %error, "cannot convert the page to Markdown");
                    contents.missing = Some(MissingWord::NotConverted);
                }
            }
        }
        if include.text {
            contents.text = Some(text.text);
            contents.text_truncated = text.is_truncated;
        }
        contents
    }
}

fn read(
    url: &str,
    headers: &[(String, Vec<u8>)],
    body: &[u8],
    (is_html, include): (bool, Include),
) -> (Page, PageLinks, PageText) {
    let request = TextRequest { max_bytes: MAX_PART_BYTES };
    if !is_html {
        let page = understand(url, headers, body);
        return (page, PageLinks::default(), plain_text(headers, body, &request));
    }
    if !(include.text || include.links) {
        return (understand(url, headers, body), PageLinks::default(), PageText::default());
    }
    // No robot name, because the client decides whether to follow the links.
    let links = LinkRequest { robot: "", with_requisites: false };
    understand_with_links_and_text(url, headers, body, (&links, &request))
}

/// Returns the links to pages that fit, and whether there are more.
fn content_links(found: &PageLinks) -> (Vec<ContentLink>, bool) {
    let mut links = Vec::new();
    let mut free = MAX_PART_BYTES;
    for link in &found.links {
        let Some(origin) = LinkOriginWord::of(link.origin) else { continue };
        let link = ContentLink { url: link.url.to_string(), origin, nofollow: link.is_nofollow };
        let Some(rest) = free.checked_sub(link.bytes()) else { return (links, true) };
        free = rest;
        links.push(link);
    }
    (links, found.left_out.over_limit > 0)
}

fn cut(text: &str) -> (&str, bool) {
    let end = text.floor_char_boundary(MAX_PART_BYTES);
    (text.get(..end).unwrap_or_default(), end < text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_parsed_from_a_list() {
        for word in Include::WORDS {
            assert!(Include::parse(word).is_some(), "{word}");
        }
        let all = Include { html: true, text: true, markdown: true, links: true };
        assert_eq!(Include::parse("links,html,markdown,text,html"), Some(all));
        for wrong in ["", ",", "html,", "html, text", "HTML", "pdf"] {
            assert_eq!(Include::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_length_of_a_string_in_json_is_known() {
        for text in ["", "a\"b\\c", "\n\r\t", "\u{0}\u{1f}\u{7f}\u{e9}\u{1f600}</script>"] {
            let json = serde_json::to_string(text).unwrap();
            assert_eq!(json_bytes(text) + 2, json.len(), "{text:?}");
        }
    }

    #[test]
    fn links_and_html_are_cut_at_their_length() {
        let long = "\u{e9}".repeat(MAX_PART_BYTES / 2 + 1);
        let (text, is_cut) = cut(&long);
        assert_eq!((text.len(), is_cut), (MAX_PART_BYTES, true));
        assert_eq!(cut("a"), ("a", false));
        let html = format!("<a href='/{}'>", "x".repeat(1_900)).repeat(1_200);
        let request = LinkRequest { robot: "", with_requisites: false };
        let url = "https://a.test/";
        let (_, links) =
            everytab_webpage::understand_with_links(url, &[], html.as_bytes(), &request);
        let (links, is_cut) = content_links(&links);
        assert!(is_cut && links.iter().map(ContentLink::bytes).sum::<usize>() <= MAX_PART_BYTES);
    }
}
