//! Rewrites the CSS of an SVG that its parser does not support.
//!
//! Icons that follow the system's colours have variables and rules in `@media`. usvg ignores both,
//! so it paints black. This module moves the rules for a light picture of a tab's size out of their
//! blocks, marks the root with an attribute that replaces `:root`, replaces `light-dark` by its
//! first colour, and replaces variables by the values from rules for the root or its style. If a
//! variable has no value, the property that uses it is inherited. `svg_colours` rewrites colours.
//! Does not depend on which elements a rule applies to.

use std::{borrow::Cow, collections::HashMap, ops::Range};

use everytab_webpage::media::matches_light;
use resvg::usvg::roxmltree::{Attribute, Document, Node};

use super::{
    svg_colours::{has_colour_function, name_before, with_known_colours},
    svg_style::without_comments,
    svg_work::{SvgWork, refused},
};
use crate::{error::IconError, limits::TAB_ICON_PIXELS};

/// Maximum depth of nested blocks and of nested variables that is read.
const MAX_DEPTH: usize = 8;
/// Maximum total bytes of values that replace variables.
const MAX_VALUE_BYTES: usize = 256 * 1024;
/// Maximum length in bytes of a media query list. A longer one does not match.
const MAX_QUERY_BYTES: usize = 256;
/// Work of a byte, for reading it several times.
const BYTE_WORK: f64 = 12.0;
/// Work of reading a declaration, and of storing it if it declares a variable.
const DECLARATION_WORK: f64 = 300.0;
/// The viewport of media queries, in CSS pixels.
const VIEWPORT: [f64; 2] = [TAB_ICON_PIXELS as f64; 2];
/// The attribute on the root that replaces `:root` in selectors.
const ROOT_MARK: &str = "everytab-root";
/// Properties that inherit the parent's value if their own is invalid.
const INHERITED: [&str; 3] = ["color", "fill", "stroke"];
/// Properties whose simple `@supports` conditions are true.
const SUPPORTED: [&str; 4] = ["color", "fill", "stroke", "stop-color"];

/// A rule of a style sheet: `selectors { body }`.
struct Rule<'a> {
    selectors: &'a str,
    body: &'a str,
}

/// Returns the document's `text` with rewritten CSS. `None` if nothing has to change.
///
/// # Errors
/// Returns an error if this is more work than an SVG may take, or if variables expand to too much.
pub(crate) fn with_known_css(
    text: &str,
    document: &Document,
    work: &mut SvgWork,
) -> Result<Option<String>, IconError> {
    if !(text.contains("style") && has_unknown_rule(text) || has_unknown_value(text)) {
        return Ok(None);
    }
    work.spend(text.len() as f64 * BYTE_WORK)?;
    let sheets: Vec<(Node, String)> =
        document.descendants().filter(is_sheet).map(|node| (node, sheet_of(node))).collect();
    let rules: Vec<Vec<Rule>> = sheets.iter().map(|(_, sheet)| rules_of(sheet)).collect();
    let variables = variables_of(document.root_element(), rules.iter().flatten(), work)?;
    let mut writer = Writer { variables, left: MAX_VALUE_BYTES, work };
    let mut edits = Vec::new();
    let mut names_root = false;
    for ((node, sheet), rules) in sheets.iter().zip(&rules) {
        // usvg reads the first text node of a style sheet and ignores `media`.
        let is_read = node.attribute("media").is_none() && node.children().count() <= 1;
        if is_read && !has_unknown_rule(sheet) && !has_unknown_value(sheet) {
            continue;
        }
        names_root |= rules.iter().any(|rule| rule.selectors.contains(":root"));
        edits.push((node.range(), format!("<style>{}</style>", escaped(&writer.sheet(rules)?))));
    }
    if names_root {
        edits.extend(
            end_of_name(text, document.root_element())
                .map(|end| (end..end, format!(" {ROOT_MARK}=\"\""))),
        );
    }
    for node in document.descendants().filter(|node| !is_sheet(node)) {
        for attribute in node.attributes().filter(may_change) {
            let written = writer.attribute(&attribute)?;
            let range = value_range(text, &attribute);
            edits.extend(range.zip(written).map(|(range, value)| (range, escaped(&value))));
        }
    }
    Ok(if edits.is_empty() { None } else { edited(text, edits) })
}

/// Returns true if the attribute contains CSS that may be rewritten. References are not CSS.
fn may_change(attribute: &Attribute) -> bool {
    let (name, value) = (attribute.name(), attribute.value());
    let is_css = attribute.namespace().is_none() && name != "href";
    is_css && (has_unknown_value(value) || name == "style" && value.contains("--"))
}

/// Returns the offset after the name of an element.
fn end_of_name(text: &str, element: Node) -> Option<usize> {
    let start = element.range().start;
    let tag = text.get(start..)?;
    Some(start + tag.find(|c: char| c.is_whitespace() || matches!(c, '>' | '/'))?)
}

/// Returns the range of an attribute's value. `None` if it is not quoted in the text.
fn value_range(text: &str, attribute: &Attribute) -> Option<Range<usize>> {
    let range = attribute.range_value();
    let before = text.get(range.start.checked_sub(1)?..range.start)?;
    let is_quoted = matches!(before, "\"" | "'") && text.get(range.end..)?.starts_with(before);
    is_quoted.then_some(range)
}

/// Replaces ranges of a text. `None` if two of them overlap, for example in an entity that is used
/// twice.
fn edited(text: &str, mut edits: Vec<(Range<usize>, String)>) -> Option<String> {
    edits.sort_by_key(|(range, _)| range.start);
    let mut written = String::with_capacity(text.len());
    let mut read = 0;
    for (range, new) in &edits {
        written.push_str(text.get(read..range.start)?);
        written.push_str(new);
        read = range.end;
    }
    written.push_str(text.get(read..)?);
    Some(written)
}

/// Returns true if a style sheet may have variables or rules that must be rewritten.
fn has_unknown_rule(sheet: &str) -> bool {
    ["@", ":root", "media", "--"].iter().any(|word| sheet.contains(word))
}

/// Returns true if the text may have a value that must be rewritten.
fn has_unknown_value(text: &str) -> bool {
    text.contains("var(") || text.contains("light-dark(") || has_colour_function(text)
}

/// Returns true if a node is a style sheet. One that contains elements is left unchanged.
fn is_sheet(node: &Node) -> bool {
    let is_css =
        |node: &Node| node.attribute("type").is_none_or(|kind| matches!(kind, "" | "text/css"));
    let is_named = node.tag_name().name() == "style";
    is_named && is_css(node) && !node.children().any(|child| child.is_element())
}

/// Returns the text of a style sheet without comments. Empty if it is for other media.
fn sheet_of(node: Node) -> String {
    if !matches_tab(node.attribute("media").unwrap_or_default()) {
        return String::new();
    }
    let texts = node.children().filter(Node::is_text);
    let sheet: String = texts.filter_map(|text| text.text()).collect();
    without_comments(&sheet).into_owned()
}

fn matches_tab(media: &str) -> bool {
    media.len() <= MAX_QUERY_BYTES && matches_light(media, VIEWPORT)
}

/// Returns the rules of a style sheet, with those in blocks for a light picture.
fn rules_of(sheet: &str) -> Vec<Rule<'_>> {
    let mut rules = Vec::new();
    read_rules(sheet, MAX_DEPTH, &mut rules);
    rules
}

fn read_rules<'a>(sheet: &'a str, depth: usize, rules: &mut Vec<Rule<'a>>) {
    let mut rest = sheet.trim_start();
    // A rule that starts with an at sign may have no block, such as `@import`.
    while let Some(end) = find_outside(rest, if rest.starts_with('@') { b"{;" } else { b"{" }) {
        let (head, after) = (rest[..end].trim(), &rest[end + 1..]);
        if rest.as_bytes()[end] == b';' {
            rest = after.trim_start();
            continue;
        }
        let end = find_outside(after, b"}").unwrap_or(after.len());
        let block = &after[..end];
        rest = after.get(end + 1..).unwrap_or_default().trim_start();
        let Some(head) = head.strip_prefix('@') else {
            rules.push(Rule { selectors: head, body: block });
            continue;
        };
        let name = head.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
        let condition = head[name.len()..].trim();
        let is_read = match name.to_ascii_lowercase().as_str() {
            "media" => matches_tab(condition),
            "supports" => is_supported(condition),
            _ => false,
        };
        if is_read && depth > 0 {
            read_rules(block, depth - 1, rules);
        }
    }
}

/// Returns true if a condition requires only a colour, which browsers and `svg_colours` support.
fn is_supported(condition: &str) -> bool {
    let inside = condition.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    inside.is_some_and(|inside| {
        let property = inside.split(':').next().unwrap_or_default().trim();
        SUPPORTED.contains(&property) && find_outside(inside, b")").is_none()
    })
}

/// Iterates over the declarations of a rule or an attribute: the property's name, and the whole
/// declaration.
fn declarations(body: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = body;
    std::iter::from_fn(move || {
        let end = find_outside(rest, b";").unwrap_or(rest.len());
        let declaration = rest[..end].trim();
        let is_last = rest.is_empty();
        rest = rest.get(end + 1..).unwrap_or_default();
        let property = declaration.split(':').next().unwrap_or_default().trim();
        (!is_last).then_some((property, declaration))
    })
}

fn is_variable(property: &str) -> bool {
    property.starts_with("--")
}

/// Returns the values of the root's variables.
fn variables_of<'a>(
    root: Node<'a, '_>,
    rules: impl Iterator<Item = &'a Rule<'a>>,
    work: &mut SvgWork,
) -> Result<HashMap<&'a str, &'a str>, IconError> {
    let is_root = |one: &str| matches!(one.trim(), ":root" | "svg" | "svg:root" | "*");
    let bodies = rules
        .filter(|rule| rule.body.contains("--") && rule.selectors.split(',').any(is_root))
        .map(|rule| rule.body);
    let mut variables = HashMap::new();
    for (property, declaration) in bodies.chain(root.attribute("style")).flat_map(declarations) {
        work.spend(DECLARATION_WORK)?;
        if is_variable(property) {
            let (_, value) = declaration.split_once(':').unwrap_or_default();
            variables.insert(property, value.trim().trim_end_matches("!important").trim_end());
        }
    }
    Ok(variables)
}

/// Writes the new CSS.
struct Writer<'a> {
    variables: HashMap<&'a str, &'a str>,
    /// Remaining bytes of values that may replace variables.
    left: usize,
    work: &'a mut SvgWork,
}

impl Writer<'_> {
    fn sheet(&mut self, rules: &[Rule]) -> Result<String, IconError> {
        let mut written = String::new();
        for Rule { selectors, body } in rules {
            // In quotes, `:root` is only text.
            let selectors = match selectors.contains(['"', '\'']) {
                true => Cow::Borrowed(*selectors),
                false => Cow::Owned(selectors.replace(":root", &format!("[{ROOT_MARK}]"))),
            };
            let body = self.declarations(body)?;
            written.extend([&selectors, "{", body.as_str(), "}"]);
        }
        Ok(with_known_colours(&written, self.work)?.into_owned())
    }

    /// Returns the new value of an attribute. `None` if it does not change.
    fn attribute(&mut self, attribute: &Attribute) -> Result<Option<String>, IconError> {
        let (name, value) = (attribute.name(), attribute.value());
        let written = match name {
            "style" => Some(self.declarations(value)?),
            _ => self.value(value, MAX_DEPTH)?,
        };
        let inherited = || INHERITED.contains(&name).then(|| "inherit".to_owned());
        let Some(written) = written.or_else(inherited) else { return Ok(None) };
        let written = with_known_colours(&written, self.work)?;
        Ok((written != value).then(|| written.into_owned()))
    }

    /// Writes declarations except those of variables, because usvg ignores all declarations after
    /// one.
    fn declarations(&mut self, body: &str) -> Result<String, IconError> {
        let mut written = String::new();
        for (property, declaration) in declarations(body) {
            self.work.spend(DECLARATION_WORK)?;
            if is_variable(property) {
                continue;
            }
            match self.value(declaration, MAX_DEPTH)? {
                Some(declaration) => written.extend([&declaration, ";"]),
                None if INHERITED.contains(&property) => {
                    written.extend([property, ":inherit;"]);
                }
                None => {}
            }
        }
        Ok(written)
    }

    /// Replaces `var()` and `light-dark()` by values. `None` if a variable has no value.
    fn value(&mut self, text: &str, depth: usize) -> Result<Option<String>, IconError> {
        self.work.spend(text.len() as f64 * BYTE_WORK)?;
        let mut written = String::new();
        let mut rest = text;
        let mut seen = 0;
        while let Some(at) = rest[seen..].find('(').map(|at| seen + at) {
            let (name, arguments) = (name_before(rest, at), &rest[at + 1..]);
            seen = at + 1;
            if !matches!(name, "var" | "light-dark") {
                continue;
            }
            // Parentheses that are open at the end of the text are closed there.
            let end = find_outside(arguments, b")").unwrap_or(arguments.len());
            let (arguments, after) = arguments.split_at(end);
            let comma = find_outside(arguments, b",").unwrap_or(arguments.len());
            let (first, second) = (arguments[..comma].trim(), arguments.get(comma + 1..));
            let value = match name {
                "var" => self.variables.get(first).copied().or(second),
                _ => Some(first),
            };
            let Some(value) = value.filter(|_| depth > 0) else { return Ok(None) };
            self.left =
                self.left.checked_sub(value.len()).ok_or_else(|| refused("style variables"))?;
            let Some(value) = self.value(value.trim(), depth - 1)? else { return Ok(None) };
            written.push_str(&rest[..at - name.len()]);
            written.push_str(&value);
            rest = after.get(1..).unwrap_or_default();
            seen = 0;
        }
        written.push_str(rest);
        Ok(Some(written))
    }
}

/// Returns the offset of the first of `ends` outside strings, parentheses and blocks.
fn find_outside(text: &str, ends: &[u8]) -> Option<usize> {
    let (mut quote, mut open) = (None, 0_usize);
    let mut bytes = text.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match (quote, byte) {
            (_, b'\\') => {
                bytes.next();
            }
            (Some(quoted), _) if quoted != byte => {}
            (Some(_), _) => quote = None,
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, _) if open == 0 && ends.contains(&byte) => return Some(at),
            (None, b'(' | b'[' | b'{') => open += 1,
            (None, b')' | b']' | b'}') => open = open.saturating_sub(1),
            (None, _) => {}
        }
    }
    None
}

/// Escapes a text for XML, also inside quotes.
fn escaped(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => written.push_str("&amp;"),
            '<' => written.push_str("&lt;"),
            '>' => written.push_str("&gt;"),
            '"' => written.push_str("&quot;"),
            '\'' => written.push_str("&apos;"),
            _ => written.push(c),
        }
    }
    written
}
