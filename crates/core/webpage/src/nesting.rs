//! Tracks the namespace of each tag, and whether it is in a template or frameset (WHATWG HTML
//! 13.2.6).
//!
//! HTML elements are not tracked. If foreign content contains an end tag for a common container,
//! such as `div`, we assume that this container is open.

use crate::tokens::{ByteRange, Tag};

/// Maximum open elements that are tracked. Real SVG drawings nest about a dozen deep.
const MAX_DEPTH: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ElementKind {
    Html,
    Foreign,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Namespace {
    Svg,
    MathMl,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenKind {
    /// A foreign element that contains foreign elements.
    Foreign(Namespace),
    /// A foreign element that contains HTML.
    IntegrationPoint,
    Template,
}

#[derive(Debug)]
struct OpenElement {
    kind: OpenKind,
    name: ByteRange,
}

#[derive(Debug, Default)]
pub(crate) struct Nesting {
    open: Vec<OpenElement>,
    templates: usize,
    framesets: usize,
}

impl Nesting {
    fn foreign(&self) -> Option<Namespace> {
        match self.open.last()?.kind {
            OpenKind::Foreign(namespace) => Some(namespace),
            OpenKind::IntegrationPoint | OpenKind::Template => None,
        }
    }

    pub(crate) fn is_foreign(&self) -> bool {
        self.foreign().is_some()
    }

    /// Returns true outside templates, whose content is a separate document.
    pub(crate) fn is_in_document(&self) -> bool {
        self.templates == 0
    }

    /// Returns true outside templates, drawings and formulas.
    pub(crate) fn is_plain(&self) -> bool {
        self.open.is_empty()
    }

    pub(crate) fn is_in_frameset(&self) -> bool {
        self.framesets > 0
    }

    fn push(&mut self, kind: OpenKind, tag: &Tag) {
        if self.open.len() < MAX_DEPTH {
            self.templates += usize::from(kind == OpenKind::Template);
            self.open.push(OpenElement { kind, name: tag.name_span() });
        }
    }

    fn truncate(&mut self, length: usize) {
        let closed = self.open.drain(length..);
        self.templates -= closed.filter(|open| open.kind == OpenKind::Template).count();
    }

    fn leave_foreign(&mut self) {
        while self.is_foreign() {
            self.open.pop();
        }
    }

    #[inline(always)]
    pub(crate) fn start(&mut self, html: &[u8], tag: &Tag) -> ElementKind {
        let name = tag.name(html);
        if let Some(namespace) = self.foreign() {
            if !leaves_foreign(name, tag, html) {
                self.start_foreign(namespace, name, html, tag);
                return ElementKind::Foreign;
            }
            self.leave_foreign();
        }
        let namespace = match name.len() {
            3 if name.eq_ignore_ascii_case(b"svg") => Namespace::Svg,
            4 if name.eq_ignore_ascii_case(b"math") => Namespace::MathMl,
            8 if name.eq_ignore_ascii_case(b"template") => {
                self.push(OpenKind::Template, tag);
                return ElementKind::Html;
            }
            8 if name.eq_ignore_ascii_case(b"frameset") => {
                self.framesets += 1;
                return ElementKind::Html;
            }
            _ => return ElementKind::Html,
        };
        if !tag.is_self_closing {
            self.push(OpenKind::Foreign(namespace), tag);
        }
        ElementKind::Foreign
    }

    fn start_foreign(&mut self, namespace: Namespace, name: &[u8], html: &[u8], tag: &Tag) {
        if tag.is_self_closing {
            return;
        }
        let is = |names: &[&str]| names.iter().any(|n| name.eq_ignore_ascii_case(n.as_bytes()));
        let kind = match namespace {
            Namespace::Svg if is(&["foreignobject", "desc", "title"]) => OpenKind::IntegrationPoint,
            Namespace::MathMl if is(&["mi", "mo", "mn", "ms", "mtext"]) => {
                OpenKind::IntegrationPoint
            }
            Namespace::MathMl if is(&["annotation-xml"]) && holds_html(html, tag) => {
                OpenKind::IntegrationPoint
            }
            Namespace::MathMl if is(&["svg"]) && self.is_in_annotation(html) => {
                OpenKind::Foreign(Namespace::Svg)
            }
            same => OpenKind::Foreign(same),
        };
        self.push(kind, tag);
    }

    fn is_in_annotation(&self, html: &[u8]) -> bool {
        let name = self.open.last().and_then(|open| html.get(open.name.clone()));
        name.is_some_and(|name| name.eq_ignore_ascii_case(b"annotation-xml"))
    }

    #[inline]
    pub(crate) fn end(&mut self, html: &[u8], tag: &Tag) {
        if self.framesets > 0 && tag.name(html).eq_ignore_ascii_case(b"frameset") {
            self.framesets -= 1;
        }
        if !self.open.is_empty() {
            self.end_nested(html, tag.name(html));
        }
    }

    fn end_nested(&mut self, html: &[u8], name: &[u8]) {
        if name.eq_ignore_ascii_case(b"template") && self.templates > 0 {
            let innermost = self.open.iter().rposition(|open| open.kind == OpenKind::Template);
            return self.truncate(innermost.unwrap_or(self.open.len()));
        }
        if !self.is_foreign() {
            let ends = |open: &OpenElement| {
                open.kind == OpenKind::IntegrationPoint && is_named(html, open, name)
            };
            if self.open.last().is_some_and(ends) {
                self.open.pop();
            }
            return;
        }
        if is_one_of(name, &["br", "p"]) {
            return self.leave_foreign();
        }
        let below = self.open.iter().rposition(|open| open.kind == OpenKind::Template);
        let above = self.open.get(below.map_or(0, |at| at + 1)..).unwrap_or_default();
        match above.iter().rposition(|open| is_named(html, open, name)) {
            Some(found) => self.truncate(self.open.len() - above.len() + found),
            None if is_one_of(name, &CONTAINERS) => self.leave_foreign(),
            None => {}
        }
    }
}

fn is_named(html: &[u8], open: &OpenElement, name: &[u8]) -> bool {
    open.name.len() == name.len()
        && html.get(open.name.clone()).is_some_and(|other| other.eq_ignore_ascii_case(name))
}

fn is_one_of(name: &[u8], sorted_names: &[&str]) -> bool {
    /// Length of the longest name in these lists (`blockquote`).
    const MAX_NAME_LENGTH: usize = 10;
    let mut lower = [0; MAX_NAME_LENGTH];
    let Some(lower) = lower.get_mut(..name.len()) else { return false };
    lower.copy_from_slice(name);
    lower.make_ascii_lowercase();
    sorted_names.binary_search_by(|other| other.as_bytes().cmp(lower)).is_ok()
}

/// Start tags that end foreign content (13.2.6.5), sorted.
const NEVER_FOREIGN: [&str; 44] = [
    "b",
    "big",
    "blockquote",
    "body",
    "br",
    "center",
    "code",
    "dd",
    "div",
    "dl",
    "dt",
    "em",
    "embed",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "hr",
    "i",
    "img",
    "li",
    "listing",
    "menu",
    "meta",
    "nobr",
    "ol",
    "p",
    "pre",
    "ruby",
    "s",
    "small",
    "span",
    "strike",
    "strong",
    "sub",
    "sup",
    "table",
    "tt",
    "u",
    "ul",
    "var",
];

/// Elements that commonly contain others, sorted. Their end tag closes the open elements in them.
const CONTAINERS: [&str; 41] = [
    "a",
    "article",
    "aside",
    "b",
    "blockquote",
    "button",
    "center",
    "dd",
    "div",
    "dl",
    "dt",
    "em",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "i",
    "label",
    "li",
    "main",
    "nav",
    "ol",
    "pre",
    "section",
    "small",
    "span",
    "strong",
    "table",
    "tbody",
    "td",
    "th",
    "tr",
    "ul",
];

fn leaves_foreign(name: &[u8], tag: &Tag, html: &[u8]) -> bool {
    let has_font_attribute = || {
        let is_one = |name: &[u8]| is_one_of(name, &["color", "face", "size"]);
        tag.attributes(html).any(|(name, _)| is_one(name))
    };
    is_one_of(name, &NEVER_FOREIGN) || (name.eq_ignore_ascii_case(b"font") && has_font_attribute())
}

fn holds_html(html: &[u8], tag: &Tag) -> bool {
    let encoding = tag.attributes(html).find(|(name, _)| name.eq_ignore_ascii_case(b"encoding"));
    encoding.and_then(|(_, value)| html.get(value)).is_some_and(|value| {
        value.eq_ignore_ascii_case(b"text/html")
            || value.eq_ignore_ascii_case(b"application/xhtml+xml")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::Tokens;

    fn html_tags(html: &str) -> String {
        let bytes = html.as_bytes();
        let mut tokens = Tokens::new(bytes);
        let mut nesting = Nesting::default();
        let mut names = Vec::new();
        while let Some(tag) = tokens.next(nesting.is_foreign()) {
            if tag.is_end_tag {
                nesting.end(bytes, &tag);
            } else if nesting.start(bytes, &tag) == ElementKind::Html && nesting.is_in_document() {
                names.push(String::from_utf8_lossy(tag.name(bytes)).into_owned());
            }
        }
        names.join(" ")
    }

    #[test]
    fn the_lists_are_sorted_for_binary_search() {
        assert!(NEVER_FOREIGN.is_sorted() && CONTAINERS.is_sorted());
    }

    #[test]
    fn a_tag_has_the_same_namespace_as_in_a_browser() {
        for (html, expected) in [
            ("<a><svg><x></svg><c>", "a c"),
            ("<svg/><a>", "a"),
            ("<svg x/><a>", "a"),
            ("<svg x='y'/><a>", "a"),
            ("<svg x=y/><z></svg><a>", "a"),
            ("<svg/ ><z></svg><a>", "a"),
            ("<SVG><g/><g><x></g></Svg><a>", "a"),
            ("<svg><svg></svg><x></svg><a>", "a"),
            ("<svg><math><x></svg><a>", "a"),
            ("<svg><p><a>", "p a"),
            ("<svg><g></p><a>", "a"),
            ("<svg><font><x></svg>", ""),
            ("<svg><font SIZE=1><a>", "font a"),
            ("<div><svg><x></div><a>", "div a"),
            ("<svg><x></g></y><z>", ""),
            ("<svg><desc><a></desc><x>", "a"),
            ("<svg><desc/><x>", ""),
            ("<svg><title><a><svg><x></title><y></svg><b>", "a b"),
            ("<svg><foreignObject><a></svg><b></foreignobject><x>", "a b"),
            ("<math><mi><a></mi><x></math><b>", "a b"),
            ("<math><annotation-xml><x></math>", ""),
            ("<math><annotation-xml encoding=Text/HTML><a></annotation-xml><x>", "a"),
            ("<math><annotation-xml><svg><desc><a>", "a"),
            ("<template><a></template><b>", "b"),
            ("<template><svg></template><b>", "b"),
            ("<template><template></template><a></template></template><b>", "b"),
            ("<svg><template><x></svg><a>", "a"),
            ("<svg><![CDATA[<a></svg>]]><x></svg><b><![CDATA[<x><c>]]>", "b c"),
            ("<svg><desc><![CDATA[<x><a>]]><b>", "a b"),
        ] {
            assert_eq!(html_tags(html), expected, "{html}");
        }
    }

    #[test]
    fn elements_that_are_too_deep_are_not_kept() {
        let html = format!("<svg>{}</svg><a>", "<g>".repeat(10 * MAX_DEPTH));
        assert_eq!(html_tags(&html), "a");
        let html = format!("{0}<x>{1}<a>", "<template>".repeat(99), "</template>".repeat(99));
        assert_eq!(html_tags(&html), "a");
    }
}
