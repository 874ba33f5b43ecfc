//! Writes simple HTML during the pass over the markup.

use std::borrow::Cow;

use url::Url;

use super::{
    element::{Kind, Role, TRANSPARENT},
    open_tags::{OpenElement, OpenTags},
};
use crate::{
    links::MAX_LINKS_PER_PAGE,
    markup::TagVisitor,
    nesting::Nesting,
    text::{Element, is_hidden},
    tokens::{self, ByteRange, Tag},
    url_rules::MAX_URL_BYTES,
};

/// Maximum elements in the output. A page with 10,000 words has about 2,000.
pub(super) const MAX_ELEMENTS: usize = 60_000;

/// Length in bytes at which an empty `span` splits a text, because some serializers take quadratic
/// time for a long text.
pub(super) const MAX_TEXT_BYTES: usize = 4 << 10;

/// Maximum length in bytes of an attribute with a URL. Character references make it longer than the
/// URL.
const MAX_ATTRIBUTE_BYTES: usize = 4 * MAX_URL_BYTES;

/// Maximum length in bytes of a `class` or `id` that is kept.
const MAX_NAME_BYTES: usize = 128;

/// Maximum length in bytes of an `alt` text that is kept.
const MAX_ALT_BYTES: usize = 1 << 10;

/// A page as simple HTML.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SimpleHtml {
    /// The body's elements, without `html` and `body`.
    pub html: String,
    /// Whether this page has more content or links than a limit allows.
    pub is_truncated: bool,
}

pub(super) struct Simplifier<'a> {
    page: &'a str,
    base: Option<&'a Url>,
    max_bytes: usize,
    out: String,
    open: OpenTags,
    /// Offset in the page after the last tag.
    at: usize,
    elements: usize,
    text_start: usize,
    urls: usize,
    /// True if the output ends with white space, so that further white space is dropped.
    is_after_space: bool,
    is_full: bool,
    is_truncated: bool,
}

impl TagVisitor for Simplifier<'_> {
    fn before_tag(&mut self, html: &[u8], tag: &Tag, nesting: &Nesting) {
        self.texts(html, tag.start, nesting);
        self.at = tag.end;
    }

    fn start_tag(&mut self, html: &[u8], tag: &Tag, nesting: &Nesting) {
        if !nesting.is_plain() || self.is_full {
            return;
        }
        let name = tag.name(html);
        let element = Element::of_name(name);
        let mut kind = Kind::of(name, &element);
        self.end_before(kind.role);
        let is_hidden = kind.role == Role::Hidden || (!element.is_root && is_hidden(html, tag));
        if self.open.is_hidden() || is_hidden {
            return self.hide(element.name, kind, is_hidden);
        }
        if kind.role == Role::TableFrame && self.open.is_in_heading() {
            kind = TRANSPARENT;
        }
        match kind.role {
            Role::Hidden | Role::Transparent => {}
            Role::Apart => self.space(),
            Role::Break => self.line_break(),
            Role::Rule => self.rule(),
            Role::Image => self.image(html, tag),
            Role::Inline => self.inline(element.name, kind),
            Role::Link => self.link(element.name, html, tag),
            _ => self.block(element.name, kind, html, tag),
        }
    }

    fn end_tag(&mut self, html: &[u8], tag: &Tag, nesting: &Nesting) {
        if !nesting.is_plain() || self.is_full {
            return;
        }
        let name = tag.name(html);
        let element = Element::of_name(name);
        let role = Kind::of(name, &element).role;
        if role == Role::Break {
            return self.line_break();
        }
        // An end tag in a cell ends nothing outside it, unless it belongs to a table.
        let is_table = matches!(role, Role::TableFrame | Role::Row | Role::Cell | Role::RowGroup);
        let is_limit =
            |role| matches!(role, Role::TableFrame) || (matches!(role, Role::Cell) && !is_table);
        let found = match role {
            Role::RowGroup => self.open.of_role(Role::Row, is_limit),
            _ => self.open.position(|open| open.source == element.name, is_limit),
        };
        if let Some(found) = found {
            self.close_to(found);
        }
        if role == Role::Apart {
            self.space();
        }
    }

    fn raw_text(&mut self, html: &[u8], tag: &Tag, text: &ByteRange, nesting: &Nesting) {
        self.at = text.end;
        if !nesting.is_plain() || self.is_full {
            return;
        }
        let name = tag.name(html);
        let element = Element::of_name(name);
        if Kind::of(name, &element).role == Role::Preformatted {
            self.text(text.clone(), true);
        }
        if let Some(found) = self.open.position(|open| open.source == element.name, |_| false) {
            self.close_to(found);
        }
    }

    fn end(&mut self, html: &[u8], nesting: &Nesting) {
        self.texts(html, html.len(), nesting);
    }
}

impl<'a> Simplifier<'a> {
    pub(super) fn new(page: &'a str, base: Option<&'a Url>, max_bytes: usize) -> Self {
        Self {
            page,
            base,
            max_bytes,
            out: String::new(),
            open: OpenTags::default(),
            at: 0,
            elements: 0,
            text_start: 0,
            urls: 0,
            is_after_space: true,
            is_full: false,
            is_truncated: false,
        }
    }

    pub(super) fn finish(mut self) -> SimpleHtml {
        self.close_to(0);
        SimpleHtml { html: self.out, is_truncated: self.is_truncated }
    }

    fn texts(&mut self, html: &[u8], end: usize, nesting: &Nesting) {
        let range = self.at..end;
        if range.is_empty() || self.is_full || self.open.is_hidden() || !nesting.is_plain() {
            return;
        }
        tokens::texts(html, &range, |text| self.text(text, false));
    }

    fn text(&mut self, range: ByteRange, is_verbatim: bool) {
        let Some(text) = self.page.get(range) else { return };
        if self.is_full || self.open.is_hidden() || text.is_empty() {
            return;
        }
        if self.is_between_cells() && text.bytes().all(|byte| byte.is_ascii_whitespace()) {
            return;
        }
        self.leave_table();
        let text = if is_verbatim { Cow::Borrowed(text) } else { htmlize::unescape(text) };
        for character in text.chars() {
            if self.out.len() >= self.max_bytes {
                return self.fill();
            }
            self.character(character);
            if self.out.len() - self.text_start >= MAX_TEXT_BYTES {
                self.out.push_str("<span></span>");
                self.text_start = self.out.len();
            }
        }
    }

    fn character(&mut self, character: char) {
        let is_kept = self.open.is_preformatted();
        if character.is_whitespace() && !is_kept {
            return self.space();
        }
        self.is_after_space = false;
        match character {
            '&' => self.out.push_str("&amp;"),
            '<' => self.out.push_str("&lt;"),
            '>' => self.out.push_str("&gt;"),
            '\n' | '\t' => self.out.push(character),
            _ if character.is_control() => {}
            _ => self.out.push(character),
        }
    }

    fn space(&mut self) {
        if !self.is_after_space {
            self.out.push(' ');
            self.is_after_space = true;
        }
    }

    fn fill(&mut self) {
        self.is_full = true;
        self.is_truncated = true;
    }

    fn hide(&mut self, source: u32, kind: Kind, is_hidden: bool) {
        let is_void = matches!(kind.role, Role::Break | Role::Rule | Role::Image);
        // Always track the outermost hidden element, so that its content is not shown.
        if !is_void && (self.open.has_room(Role::Hidden) || !self.open.is_hidden()) {
            // Keep the role, because the same tags end the element.
            let kind = Kind::new("", kind.role);
            self.open.push(OpenElement { source, kind, is_hidden });
        }
    }

    fn open(&mut self, source: u32, kind: Kind, attributes: &str) {
        if !kind.name.is_empty() {
            self.tag(&["<", kind.name, kind.hint, attributes, ">"]);
            if self.is_full {
                return;
            }
        }
        self.is_after_space |= kind.role.is_block();
        self.open.push(OpenElement { source, kind, is_hidden: false });
    }

    fn void(&mut self, tag: &str) {
        self.leave_table();
        self.tag(&[tag]);
    }

    fn tag(&mut self, parts: &[&str]) {
        if self.elements >= MAX_ELEMENTS || self.out.len() >= self.max_bytes {
            return self.fill();
        }
        self.elements += 1;
        parts.iter().for_each(|part| self.out.push_str(part));
        self.text_start = self.out.len();
    }

    fn close_to(&mut self, depth: usize) {
        while self.open.depth() > depth {
            let Some(OpenElement { kind, .. }) = self.open.pop() else { return };
            if !kind.name.is_empty() {
                self.out.push_str("</");
                self.out.push_str(kind.name);
                self.out.push('>');
                self.text_start = self.out.len();
            }
            self.is_after_space |= kind.role.is_block();
        }
    }

    fn is_between_cells(&self) -> bool {
        matches!(self.open.innermost(), Some(Role::Table | Role::Row))
    }

    fn leave_table(&mut self) {
        if !self.is_between_cells() {
            return;
        }
        if let Some(frame) = self.open.of_role(Role::TableFrame, |_| false) {
            self.close_to(frame + 1);
        }
    }

    fn line_break(&mut self) {
        if self.open.is_hidden() {
            return;
        }
        if self.open.is_preformatted() {
            self.out.push('\n');
        } else if self.open.is_in_heading() {
            self.space();
        } else {
            self.void("<br>");
            self.is_after_space = true;
        }
    }

    fn rule(&mut self) {
        if self.open.is_preformatted() || self.open.is_in_heading() {
            return self.line_break();
        }
        self.end_paragraph();
        self.void("<hr>");
        self.is_after_space = true;
    }

    fn inline(&mut self, source: u32, kind: Kind) {
        self.leave_table();
        if self.open.has_room(kind.role) && !self.open.has_inline(kind.name) {
            self.open(source, kind, "");
        }
    }

    fn link(&mut self, source: u32, html: &[u8], tag: &Tag) {
        self.leave_table();
        let is_limit = |role| matches!(role, Role::TableFrame | Role::Cell);
        if let Some(found) = self.open.of_role(Role::Link, is_limit) {
            self.close_to(found);
        }
        if !self.open.has_room(Role::Link) {
            return;
        }
        if let Some(url) = self.url(html, tag, &[b"href"]) {
            self.open(source, Kind::new("a", Role::Link), &format!(" href=\"{url}\""));
        }
    }

    fn image(&mut self, html: &[u8], tag: &Tag) {
        // If a script loads the picture later, `src` is only a placeholder.
        let Some(url) = self.url(html, tag, &[b"data-src", b"src"]) else { return };
        let alt = value_of(self.page, html, tag, b"alt", MAX_ALT_BYTES).unwrap_or_default();
        let alt = alt.split_whitespace().collect::<Vec<_>>().join(" ");
        let alt: String = alt.chars().filter(|character| !character.is_control()).collect();
        self.void(&format!("<img src=\"{url}\" alt=\"{}\">", escaped(&alt)));
        self.is_after_space = false;
    }

    /// Returns an absolute and escaped URL from the first of these attributes that is present.
    /// `None` if it is not http or https, or if a limit is reached.
    fn url(&mut self, html: &[u8], tag: &Tag, names: &[&[u8]]) -> Option<String> {
        let value = names
            .iter()
            .find_map(|name| value_of(self.page, html, tag, name, MAX_ATTRIBUTE_BYTES))?;
        if self.urls >= MAX_LINKS_PER_PAGE {
            self.is_truncated = true;
            return None;
        }
        self.urls += 1;
        let mut url = match self.base {
            Some(base) => base.join(&value),
            None => Url::parse(&value),
        }
        .ok()?;
        if !matches!(url.scheme(), "http" | "https") || url.as_str().len() > MAX_URL_BYTES {
            return None;
        }
        // An http URL has a host, so neither call fails.
        url.set_username("").ok()?;
        url.set_password(None).ok()?;
        Some(escaped(url.as_str()))
    }

    fn end_paragraph(&mut self) {
        let is_other = |role: Role| role.is_block() && role != Role::Paragraph;
        if let Some(found) = self.open.of_role(Role::Paragraph, is_other) {
            self.close_to(found);
        }
    }

    fn end_before(&mut self, role: Role) {
        if !role.is_block() || self.open.is_preformatted() {
            return;
        }
        let is_frame = |role| role == Role::TableFrame;
        if self.open.is_in_heading() && role != Role::Heading {
            return;
        }
        self.end_paragraph();
        let ended = match role {
            Role::Heading => self.open.of_role(Role::Heading, is_frame),
            Role::Item => {
                self.open.of_role(Role::Item, |role| matches!(role, Role::List | Role::Cell))
            }
            Role::Cell => self.open.of_role(Role::Cell, is_frame),
            Role::Row | Role::RowGroup => self.open.of_role(Role::Row, is_frame),
            _ => None,
        };
        if let Some(ended) = ended {
            self.close_to(ended);
        }
    }

    fn block(&mut self, source: u32, kind: Kind, html: &[u8], tag: &Tag) {
        if self.open.is_preformatted() {
            if !self.out.ends_with(['\n', '>']) {
                self.out.push('\n');
            }
            return;
        }
        if self.open.is_in_heading() {
            // A heading keeps the text inside its blocks, but not the blocks.
            return self.space();
        }
        let is_frame = |role| role == Role::TableFrame;
        let kind = match kind.role {
            Role::Row | Role::Cell | Role::RowGroup => return self.table_part(source, kind),
            Role::Item if self.open.of_role(Role::List, is_frame).is_none() => {
                Kind::new("div", Role::Item)
            }
            _ => kind,
        };
        self.start(source, kind, html, tag);
    }

    fn start(&mut self, source: u32, kind: Kind, html: &[u8], tag: &Tag) {
        self.leave_table();
        if !self.open.has_room(kind.role) {
            return self.space();
        }
        let attributes =
            if kind.name.is_empty() { String::new() } else { self.attributes(kind, html, tag) };
        self.open(source, kind, &attributes);
    }

    fn table_part(&mut self, source: u32, kind: Kind) {
        let Some(frame) = self.open.of_role(Role::TableFrame, |_| false) else {
            return self.space();
        };
        let is_frame = |role| role == Role::TableFrame;
        // Write no part of a table if there is no room for a table, a row and a cell.
        let has_room = self.open.has_room(Role::Table) && self.open.has_room_for(3);
        if kind.role == Role::RowGroup || !has_room {
            return;
        }
        let is_in = |role| self.open.of_role(role, is_frame).is_some();
        if !is_in(Role::Table) {
            self.close_to(frame + 1);
            self.open(0, Kind::new("table", Role::Table), "");
        }
        if kind.role == Role::Cell && self.open.of_role(Role::Row, is_frame).is_none() {
            self.open(0, Kind::new("tr", Role::Row), "");
        }
        self.open(source, kind, "");
    }

    /// Returns a list's `start`, and the attributes that help programs find the main content.
    fn attributes(&self, kind: Kind, html: &[u8], tag: &Tag) -> String {
        let mut attributes = String::new();
        let names: [&[u8]; 2] =
            if kind.name == "ol" { [b"start", b"class"] } else { [b"class", b"id"] };
        for name in names {
            let Some(value) = value_of(self.page, html, tag, name, MAX_NAME_BYTES) else {
                continue;
            };
            let is_kept = |c: &char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '-' | '_');
            let value: String = value.chars().filter(is_kept).collect();
            attributes.push(' ');
            attributes.push_str(&String::from_utf8_lossy(name));
            attributes.push_str("=\"");
            attributes.push_str(&value);
            attributes.push('"');
        }
        attributes
    }
}

fn value_of<'a>(
    page: &'a str,
    html: &[u8],
    tag: &Tag,
    wanted: &[u8],
    max_bytes: usize,
) -> Option<Cow<'a, str>> {
    let (_, range) = tag.attributes(html).find(|(name, _)| name.eq_ignore_ascii_case(wanted))?;
    let value = page.get(range)?.trim();
    (!value.is_empty() && value.len() <= max_bytes).then(|| htmlize::unescape_attribute(value))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;")
}
