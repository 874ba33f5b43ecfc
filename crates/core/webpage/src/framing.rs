//! Decides whether a page with another origin may show this page in a frame.
//!
//! Sources: HTML "X-Frame-Options" and CSP Level 3 `frame-ancestors`. If an enforced policy
//! contains `frame-ancestors`, X-Frame-Options has no effect, and the viewer must match every such
//! policy. Report-only policies and `<meta>` elements have no effect. A download, and a response
//! with another type than HTML, can never be shown in a frame. The verdict keeps the policies, so
//! that it can be evaluated again for another viewer.
//!
//! This depends only on headers, not on scripts that break out of frames.

use serde::Serialize;
use url::Url;

use crate::{
    content_type::ContentType,
    frame_ancestors::{self, AncestorList, ViewerMatch},
    header_values::{self, HeaderList},
};

/// Maximum bytes that are kept from the deciding header, for people who read reports.
const MAX_VALUE_BYTES: usize = 1024;

const FRAME_OPTIONS: &str = "x-frame-options";

/// Whether a page with another origin may show the page in a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every https page may show this page.
    Allowed,
    /// Pages with another origin may not show this page.
    Blocked,
    /// Only the origins that the policies list may show this page.
    Conditional,
    /// Unknown, because there are no response headers.
    Unknown,
}

/// The verdict on a page, and the header that decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Framing {
    /// The verdict for a viewer that does not appear in any list.
    pub verdict: Verdict,
    /// Stable name for the rule that decided, such as `x_frame_options_deny`.
    pub rule: &'static str,
    /// Name of the deciding header, in lower case.
    pub header: Option<&'static str>,
    /// Value of the deciding header, truncated to 1 KiB.
    pub value: Option<String>,
    #[serde(skip)]
    lists: Vec<AncestorList>,
    #[serde(skip)]
    page: Option<Url>,
}

impl Framing {
    /// Returns true if `viewer` may show the page in a frame. `None` means an https origin that
    /// does not appear in any list. As in a browser, a page without response headers may be shown.
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

/// Evaluates a response's headers.
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

/// Returns true if a browser does not show the page, because of its `Content-Disposition`.
///
/// Any type except `inline` is a download (RFC 6266 4.2). As in Chromium, a type that is not a
/// token counts as missing, and a missing type means `inline`. Several different values are an
/// error, so the page is not shown.
fn is_download(values: &[String]) -> bool {
    let Some(first) = values.first() else { return false };
    let kind = first.split(';').next().unwrap_or_default().trim_matches([' ', '\t']);
    let is_type = header_values::is_token(kind) && !kind.eq_ignore_ascii_case("inline");
    is_type || values.iter().any(|value| value != first)
}

/// Evaluates `frame-ancestors` lists.
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

/// Evaluates X-Frame-Options for a viewer with another origin (HTML, "check a navigation response's
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

/// Returns a value in lower case, without the whitespace that Chromium ignores around it.
fn frame_option(value: &str) -> String {
    let is_space = |c: char| c.is_ascii_whitespace() || c == '\u{b}';
    value.trim_matches(is_space).to_ascii_lowercase()
}

#[cfg(test)]
mod tests;
