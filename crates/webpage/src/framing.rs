//! Whether a page of another origin may show this one in a frame.
//!
//! HTML "X-Frame-Options" and CSP Level 3 `frame-ancestors`, in their order: any enforced policy
//! with `frame-ancestors` makes X-Frame-Options void, and the viewer must match every such
//! policy. Report-only policies and `<meta>` forms have no effect. The verdict keeps what it was
//! made from, so that it can be asked again for another viewer.
//!
//! What headers cannot tell, this does not know: scripts that break out of frames.

use serde::Serialize;
use url::Url;

use crate::content_type::ContentType;
use crate::frame_ancestors::{self, AncestorList, Match};
use crate::header_values::{self, Headers};

/// The longest deciding value that is kept.
const MAX_VALUE_BYTES: usize = 1024;

/// Whether a page may be framed by a viewer of another origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// By any https page.
    Allowed,
    /// By none.
    Blocked,
    /// By the origins that its policies list.
    Conditional,
    /// No response headers were there to tell.
    Unknown,
}

/// The verdict on a page, and what decided it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Framing {
    /// The verdict for a viewer that no list names.
    pub verdict: Verdict,
    /// The rule that decided, a stable word.
    pub rule: &'static str,
    /// The field that decided, in lower case.
    pub header: Option<&'static str>,
    /// What it said, at most 1 KiB.
    pub value: Option<String>,
    #[serde(skip)]
    lists: Vec<AncestorList>,
    #[serde(skip)]
    page: Option<Url>,
}

impl Framing {
    /// True if `viewer` may frame the page; `None` stands for an https origin that no list
    /// names. A page of which nothing is known is held to be frameable, as it is to a browser.
    #[must_use]
    pub fn frameable(&self, viewer: Option<&Url>) -> bool {
        match self.verdict {
            Verdict::Allowed | Verdict::Unknown if self.lists.is_empty() => true,
            _ if self.lists.is_empty() => false,
            _ => {
                let who = Match { page: self.page.as_ref(), viewer };
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

/// True if an https site may show the host's tab in a frame: an http page would be mixed
/// content there, whatever it allows.
#[must_use]
pub fn iframe_ok(protocol: &str, framing: &Framing, viewer: Option<&Url>) -> bool {
    protocol.eq_ignore_ascii_case("https") && framing.frameable(viewer)
}

/// Judges a response by its headers.
pub(crate) fn evaluate(
    page: Option<&Url>,
    headers: &Headers,
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
    let disposition = header_values::combined(headers, "content-disposition").unwrap_or_default();
    let kind = disposition.split(';').next().unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case("attachment") {
        return Framing::new(Verdict::Blocked, "attachment")
            .decided_by("content-disposition", kind);
    }
    const POLICY: &str = "content-security-policy";
    let lists: Vec<AncestorList> = header_values::lines(headers, POLICY)
        .flat_map(|value| frame_ancestors::lists(&header_values::isomorphic(value)))
        .collect();
    if !lists.is_empty() {
        return by_ancestors(lists, page, POLICY);
    }
    match header_values::combined(headers, "x-frame-options") {
        Some(value) => by_frame_options(&value),
        None => Framing::new(Verdict::Allowed, "none"),
    }
}

fn by_ancestors(lists: Vec<AncestorList>, page: Option<&Url>, header: &'static str) -> Framing {
    let unknown = Match { page, viewer: None };
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

/// HTML "check a navigation response's adherence to X-Frame-Options", for another origin.
fn by_frame_options(joined: &str) -> Framing {
    let mut values: Vec<String> =
        header_values::split(joined).into_iter().map(str::to_ascii_lowercase).collect();
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
    Framing::new(verdict, rule).decided_by("x-frame-options", joined)
}

#[cfg(test)]
#[path = "framing_tests.rs"]
mod tests;
