//! Builds the response for a record: the body as it is, as bytes, text or Markdown, or the record
//! itself.
//!
//! Invariant: the content type is from a closed list, and no header from the archived server gets
//! into the response.

use bytes::Bytes;
use everytab_commoncrawl::crawl_layout::{ArchiveName, ArchiveSubset};
use everytab_coordinator::ApiFetch;
use everytab_markdown::{ConversionFailed, Markdown, PagePart, markdown};
use everytab_webpage::{PageText, TextRequest, plain_text, understand, understand_with_text};

use super::record::ArchivedRecord;

/// Maximum bytes in a capture's text or Markdown.
const MAX_TEXT_BYTES: usize = 4 << 20;

/// Content types that a capture keeps when it is served unchanged. All others are served as bytes,
/// because browsers execute some of them, such as scripts.
const SERVED_TYPES: [&str; 31] = [
    "application/pdf",
    "application/xhtml+xml",
    "audio/aac",
    "audio/mp4",
    "audio/mpeg",
    "audio/ogg",
    "audio/wav",
    "audio/webm",
    "font/otf",
    "font/ttf",
    "font/woff",
    "font/woff2",
    "image/apng",
    "image/avif",
    "image/bmp",
    "image/gif",
    "image/jpeg",
    "image/jxl",
    "image/png",
    "image/svg+xml",
    "image/tiff",
    "image/vnd.microsoft.icon",
    "image/webp",
    "image/x-icon",
    "text/css",
    "text/html",
    "text/plain",
    "text/vtt",
    "video/mp4",
    "video/ogg",
    "video/webm",
];

const BYTES_TYPE: &str = "application/octet-stream";
const RECORD_TYPE: &str = "application/gzip";
const MARKDOWN_TYPE: &str = "text/markdown";

/// Lists every content type that a capture may have, without parameters. The type for bytes comes
/// first, because client generators use the first type that they know, and a text type would make
/// them decode the body.
pub(crate) fn capture_types() -> impl Iterator<Item = &'static str> {
    [BYTES_TYPE, RECORD_TYPE, MARKDOWN_TYPE].into_iter().chain(SERVED_TYPES)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum CaptureForm {
    #[default]
    Html,
    Markdown,
    Raw,
    Text,
    Warc,
}

impl CaptureForm {
    pub(crate) const WORDS: [&str; 5] = ["html", "markdown", "raw", "text", "warc"];

    pub(crate) fn parse(word: &str) -> Option<Self> {
        match word {
            "html" => Some(Self::Html),
            "markdown" => Some(Self::Markdown),
            "raw" => Some(Self::Raw),
            "text" => Some(Self::Text),
            "warc" => Some(Self::Warc),
            _ => None,
        }
    }

    pub(crate) fn is_of_text(self) -> bool {
        matches!(self, Self::Markdown | Self::Text)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CaptureParts {
    pub(crate) content_type: String,
    pub(crate) file_name: &'static str,
    pub(crate) body: Bytes,
    pub(crate) truncated: Option<String>,
}

pub(super) fn is_media(fetch: &ApiFetch) -> bool {
    subset(fetch) == Some(ArchiveSubset::Media)
}

fn subset(fetch: &ApiFetch) -> Option<ArchiveSubset> {
    Some(ArchiveName::parse(fetch.object.as_deref()?).ok()?.subset())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CaptureKind {
    Page,
    Media,
}

impl CaptureKind {
    /// `None` for a robots.txt.
    pub(crate) fn of(fetch: &ApiFetch) -> Option<Self> {
        match subset(fetch)? {
            ArchiveSubset::Warc | ArchiveSubset::CrawlDiagnostics => Some(Self::Page),
            ArchiveSubset::Media => Some(Self::Media),
            ArchiveSubset::RobotsTxt => None,
        }
    }
}

pub(crate) fn has_text(mime: Option<&str>) -> bool {
    mime.is_none_or(|mime| is_html(mime) || mime.starts_with("text/"))
}

fn is_html(mime: &str) -> bool {
    matches!(mime, "text/html" | "application/xhtml+xml")
}

impl ArchivedRecord {
    /// Returns an error if the capture cannot be converted to Markdown.
    pub(crate) fn into_parts(
        self,
        fetch: &ApiFetch,
        form: CaptureForm,
        content: PagePart,
    ) -> Result<CaptureParts, ConversionFailed> {
        let truncated = fetch.truncated.clone();
        let cut = |is_truncated: bool| is_truncated.then(|| "length".to_owned());
        let Self { member, response } = self;
        Ok(match form {
            CaptureForm::Warc => CaptureParts {
                content_type: RECORD_TYPE.to_owned(),
                file_name: "capture.warc.gz",
                body: member,
                truncated,
            },
            CaptureForm::Raw => CaptureParts {
                content_type: BYTES_TYPE.to_owned(),
                file_name: "capture.bin",
                body: response.body.into(),
                truncated,
            },
            CaptureForm::Html => CaptureParts {
                content_type: content_type(fetch),
                file_name: if is_served_html(fetch) { "capture.html" } else { "capture" },
                body: response.body.into(),
                truncated,
            },
            CaptureForm::Text => {
                let text = text(fetch, response.headers.fields(), &response.body);
                CaptureParts {
                    content_type: "text/plain; charset=utf-8".to_owned(),
                    file_name: "capture.txt",
                    truncated: truncated.or_else(|| cut(text.is_truncated)),
                    body: text.text.into(),
                }
            }
            CaptureForm::Markdown => {
                let text = as_markdown(fetch, response.headers.fields(), &response.body, content)?;
                CaptureParts {
                    content_type: format!("{MARKDOWN_TYPE}; charset=utf-8"),
                    file_name: "capture.md",
                    truncated: truncated.or_else(|| cut(text.is_truncated)),
                    body: text.text.into(),
                }
            }
        })
    }
}

/// Plain text becomes a code block, so that nothing in it counts as markup.
fn as_markdown(
    fetch: &ApiFetch,
    headers: &[(String, Vec<u8>)],
    body: &[u8],
    content: PagePart,
) -> Result<Markdown, ConversionFailed> {
    if !is_served_html(fetch) {
        let PageText { text, is_truncated, .. } = text(fetch, headers, body);
        return Ok(Markdown { text: fenced(&text), is_truncated });
    }
    let page = understand(fetch.url.as_deref().unwrap_or_default(), headers, body);
    markdown(&page, body, content, MAX_TEXT_BYTES)
}

/// The fences are longer than any run of backticks in the text.
pub(super) fn fenced(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{text}\n{fence}\n")
}

pub(super) fn is_served_html(fetch: &ApiFetch) -> bool {
    fetch.mime.as_deref().is_none_or(is_html)
}

/// A capture without a recorded type is HTML, because the crawler parsed it as HTML.
fn content_type(fetch: &ApiFetch) -> String {
    let mime = fetch.mime.as_deref().unwrap_or("text/html");
    let Some(mime) = SERVED_TYPES.iter().find(|served| **served == mime) else {
        return BYTES_TYPE.to_owned();
    };
    // Charset names of the Encoding Standard have only these characters. Others could change the
    // header's syntax.
    let is_name =
        |name: &&str| name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
    match fetch.charset.as_deref().filter(is_name) {
        Some(charset) => format!("{mime}; charset={charset}"),
        None => (*mime).to_owned(),
    }
}

fn text(fetch: &ApiFetch, headers: &[(String, Vec<u8>)], body: &[u8]) -> PageText {
    let request = TextRequest { max_bytes: MAX_TEXT_BYTES };
    if is_served_html(fetch) {
        let url = fetch.url.as_deref().unwrap_or_default();
        return understand_with_text(url, headers, body, &request).1;
    }
    plain_text(headers, body, &request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn served_types_are_sorted_and_form_names_are_parsed() {
        assert!(SERVED_TYPES.is_sorted());
        for (index, word) in CaptureForm::WORDS.iter().enumerate() {
            assert_eq!(CaptureForm::parse(word).map(|form| form as usize), Some(index));
        }
        assert_eq!(CaptureForm::parse("HTML"), None);
        assert!(has_text(None) && has_text(Some("text/csv")) && !has_text(Some("image/png")));
    }
}
