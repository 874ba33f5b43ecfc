//! Decides from a page's headers whether pages on other origins may show it in a frame (HTML
//! "X-Frame-Options" and CSP Level 3 `frame-ancestors`).

use serde::Serialize;
use url::Url;

use crate::{
    content_type::ContentType,
    frame_ancestors::{self, AncestorList, ViewerMatch},
    header_values::{self, HeaderList},
};

/// Maximum bytes to keep from the deciding header, for people who read reports.
const MAX_VALUE_BYTES: usize = 1024;

const FRAME_OPTIONS: &str = "x-frame-options";

/// Whether a page on another origin may show this page in a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every https page may show this page.
    Allowed,
    /// Pages on other origins may not show this page.
    Blocked,
    /// Only the origins in the policies may show this page.
    Conditional,
    /// Unknown, because there are no response headers.
    Unknown,
}

/// The verdict on a page, and the header that decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Framing {
    /// Verdict for a viewer that no list names.
    pub verdict: Verdict,
    /// The deciding rule's stable name, such as `x_frame_options_deny`.
    pub rule: &'static str,
    /// The deciding header's name, in lower case.
    pub header: Option<&'static str>,
    /// The deciding part of the header, truncated to 1 KiB: the frame-ancestors sources, the MIME
    /// type without parameters, or otherwise the whole value.
    pub value: Option<String>,
    #[serde(skip)]
    lists: Vec<AncestorList>,
    #[serde(skip)]
    page: Option<Url>,
}

impl Framing {
    /// Returns true if `viewer` may show this page in a frame. `None` is an https origin that no
    /// list names.
    #[must_use]
    pub fn frameable(&self, viewer: Option<&Url>) -> bool {
        match self.verdict {
            Verdict::Allowed | Verdict::Unknown if self.lists.is_empty() => true,
            _ if self.lists.is_empty() => false,
            _ => {
                let who = ViewerMatch { page: self.page.as_ref(), viewer };
                self.lists.iter().all(|list| list.allows(&who))
            }
        }
    }

    fn new(verdict: Verdict, rule: &'static str) -> Self {
        Self { verdict, rule, header: None, value: None, lists: Vec::new(), page: None }
    }

    fn decided_by(mut self, header: &'static str, value: &str) -> Self {
        let mut end = value.len().min(MAX_VALUE_BYTES);
        while !value.is_char_boundary(end) {
            end -= 1;
        }
        self.header = Some(header);
        self.value = Some(value.get(..end).unwrap_or_default().replace('\0', "\u{fffd}"));
        self
    }
}

/// Returns true if an https site may show the page in a frame. An http page may never be shown,
/// because this would be mixed content.
#[must_use]
pub fn iframe_ok(protocol: &str, framing: &Framing, viewer: Option<&Url>) -> bool {
    protocol.eq_ignore_ascii_case("https") && framing.frameable(viewer)
}

pub(crate) fn evaluate(
    page: Option<&Url>,
    headers: &HeaderList,
    content_type: Option<&ContentType>,
) -> Framing {
    if headers.is_empty() {
        return Framing::new(Verdict::Unknown, "no_headers");
    }
    if let Some(found) = content_type
        && !matches!(found.essence.as_str(), "text/html" | "application/xhtml+xml")
    {
        return Framing::new(Verdict::Blocked, "not_html")
            .decided_by("content-type", &found.essence);
    }
    const DISPOSITION: &str = "content-disposition";
    let dispositions = header_values::values(headers, DISPOSITION);
    if is_download(&dispositions) {
        let text = dispositions.join(", ");
        return Framing::new(Verdict::Blocked, "attachment").decided_by(DISPOSITION, &text);
    }
    const POLICY: &str = "content-security-policy";
    let lists: Vec<AncestorList> = header_values::lines(headers, POLICY)
        .flat_map(|value| frame_ancestors::lists(&header_values::isomorphic(value)))
        .collect();
    if !lists.is_empty() {
        return by_ancestors(lists, page, POLICY);
    }
    let options = header_values::values(headers, FRAME_OPTIONS);
    if options.is_empty() {
        return Framing::new(Verdict::Allowed, "none");
    }
    by_frame_options(&options)
}

/// Returns true if `Content-Disposition` keeps a browser from showing the page.
///
/// Any type except `inline` is a download (RFC 6266 4.2). As in Chromium, a type that is not a
/// token means `inline`, and several different values are an error.
fn is_download(values: &[String]) -> bool {
    let Some(first) = values.first() else { return false };
    let kind = first.split(';').next().unwrap_or_default().trim_matches([' ', '\t']);
    let is_type = header_values::is_token(kind) && !kind.eq_ignore_ascii_case("inline");
    is_type || values.iter().any(|value| value != first)
}

fn by_ancestors(lists: Vec<AncestorList>, page: Option<&Url>, header: &'static str) -> Framing {
    let unknown = ViewerMatch { page, viewer: None };
    let text: Vec<String> = lists.iter().map(AncestorList::text).collect();
    let refusing: Vec<&AncestorList> = lists.iter().filter(|list| !list.allows(&unknown)).collect();
    let (verdict, rule) = if refusing.is_empty() {
        (Verdict::Allowed, "frame_ancestors_any")
    } else if refusing.iter().all(|list| list.names_hosts()) {
        (Verdict::Conditional, "frame_ancestors_list")
    } else if refusing.iter().any(|list| list.is_none()) {
        (Verdict::Blocked, "frame_ancestors_none")
    } else {
        (Verdict::Blocked, "frame_ancestors_self")
    };
    let mut framing = Framing::new(verdict, rule).decided_by(header, &text.join(", "));
    framing.lists = lists;
    framing.page = page.cloned();
    framing
}

/// Evaluates X-Frame-Options for a viewer on another origin (HTML, "check a navigation response's
/// adherence to X-Frame-Options").
fn by_frame_options(given: &[String]) -> Framing {
    let mut values: Vec<String> = given.iter().map(|value| frame_option(value)).collect();
    values.sort_unstable();
    values.dedup();
    let blocks = |value: &String| matches!(value.as_str(), "deny" | "allowall" | "sameorigin");
    let (verdict, rule) = match values.as_slice() {
        [only] if only == "deny" => (Verdict::Blocked, "x_frame_options_deny"),
        [only] if only == "sameorigin" => (Verdict::Blocked, "x_frame_options_sameorigin"),
        [_] => (Verdict::Allowed, "x_frame_options_invalid"),
        several if several.iter().any(blocks) => (Verdict::Blocked, "x_frame_options_conflict"),
        _ => (Verdict::Allowed, "x_frame_options_invalid"),
    };
    Framing::new(verdict, rule).decided_by(FRAME_OPTIONS, &given.join(", "))
}

/// Trims the whitespace that Chromium ignores, and converts to lower case.
fn frame_option(value: &str) -> String {
    let is_space = |c: char| c.is_ascii_whitespace() || c == '\u{b}';
    value.trim_matches(is_space).to_ascii_lowercase()
}

#[cfg(test)]
mod tests;
