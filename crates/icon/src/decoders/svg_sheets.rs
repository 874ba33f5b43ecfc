//! Writes the styles of an SVG that its parser does not know as styles that it does.
//!
//! Icons that follow the colours of the system have rules in `@media` and variables. usvg leaves
//! such rules out and knows no variable: what they paint is black. Here the rules for a light
//! picture of a tab's size are taken out of their blocks, `:root` becomes `svg`, `light-dark` its
//! first colour, and variables become their values. What the root is given counts everywhere, and
//! what only one rule gives too, instead of below its elements; a variable of several values that
//! is not the root's stays as it is.
//! Must not know: to which elements a rule applies.

use std::{borrow::Cow, collections::HashMap, ops::Range};

use everytab_webpage::media::matches_light;
use resvg::usvg::roxmltree::{Attribute, Document, Node};

use super::{
    svg_style::without_comments,
    svg_work::{SvgWork, refused},
};
use crate::{error::IconError, limits::TAB_ICON_PIXELS};

/// Depth to which blocks within blocks and variables within variables are read.
const MAX_DEPTH: usize = 8;
/// Bytes of values that variables stand for.
const MAX_VALUE_BYTES: usize = 256 * 1024;
/// Longest list of media queries that is read.
const MAX_QUERY_BYTES: usize = 256;
/// Reading a byte, at every depth.
const BYTE_WORK: f64 = 30.0;
/// The sides of what a media query is asked of, in CSS pixels.
const VIEWPORT: [f64; 2] = [TAB_ICON_PIXELS as f64; 2];

/// A rule of a style sheet: `selectors { declarations }`.
struct Rule<'a> {
    selectors: Cow<'a, str>,
    declarations: &'a str,
}

/// Returns `text`, the document's, with other styles; `None` if nothing in it has to change.
///
/// # Errors
/// If reading it is more work than an SVG may take, or its variables stand for too much.
pub(crate) fn with_known_styles(
    text: &str,
    document: &Document,
    work: &mut SvgWork,
) -> Result<Option<String>, IconError> {
    if !(has_function(text) || text.contains("style") && is_unknown(text)) {
        return Ok(None);
    }
    let sheets: Vec<(Node, String)> = document.descendants().filter_map(sheet).collect();
    let bytes: usize = sheets.iter().map(|(_, sheet)| sheet.len()).sum();
    work.spend(bytes as f64 * BYTE_WORK)?;
    let sheets: Vec<(Node, Vec<Rule>)> =
        sheets.iter().map(|(node, sheet)| (*node, rules(sheet))).collect();
    let variables = Variables::of(document, &sheets);
    let mut writing = Writing { variables, left: MAX_VALUE_BYTES };
    let mut edits = Vec::new();
    for (node, rules) in &sheets {
        let Some(element) = text.get(node.range()).filter(|text| is_unknown(text)) else {
            continue;
        };
        let mut sheet = String::new();
        for rule in rules {
            sheet.extend([&rule.selectors, "{"]);
            sheet.push_str(&writing.declarations(rule.declarations)?);
            sheet.push('}');
        }
        // An element of an entity may stand elsewhere.
        let Some(tag) = element.strip_prefix('<') else { return Ok(None) };
        let name = tag.split(|c: char| c.is_whitespace() || matches!(c, '>' | '/')).next();
        let Some(name) = name.filter(|name| name.ends_with("style")) else { return Ok(None) };
        edits.push((node.range(), format!("<{name}>{}</{name}>", escaped(&sheet))));
    }
    for node in document.descendants().filter(|node| !is_sheet(*node)) {
        for attribute in node.attributes() {
            let (name, value) = (attribute.name(), attribute.value());
            let value = match name {
                "style" if value.contains("--") || has_function(value) => {
                    writing.declarations(value)?
                }
                _ if has_function(value) => writing.value(value, MAX_DEPTH)?,
                _ => continue,
            };
            let Some(range) = value_range(text, &attribute) else { return Ok(None) };
            edits.push((range, escaped(&value)));
        }
    }
    work.spend((MAX_VALUE_BYTES - writing.left) as f64 * BYTE_WORK)?;
    Ok(edited(text, edits))
}

/// Returns where the value of an attribute stands; `None` where it is not in the text.
fn value_range(text: &str, attribute: &Attribute) -> Option<Range<usize>> {
    let range = attribute.range_value();
    let before = text.get(range.start.checked_sub(1)?..range.start)?;
    let is_quoted = matches!(before, "\"" | "'") && text.get(range.end..)?.starts_with(before);
    is_quoted.then_some(range)
}

/// Replaces parts of a text; `None` if two of them overlap, as of an entity that is used twice.
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
    (!edits.is_empty()).then_some(written)
}

/// Whether there may be a function that is replaced.
fn has_function(text: &str) -> bool {
    text.contains("var(") || text.contains("light-dark(")
}

/// Whether there may be something in a style sheet that is written in another way.
fn is_unknown(text: &str) -> bool {
    has_function(text) || ["@", ":root", "media", "--"].iter().any(|word| text.contains(word))
}

fn is_sheet(node: Node) -> bool {
    let is_css = node.attribute("type").is_none_or(|kind| matches!(kind, "" | "text/css"));
    node.tag_name().name() == "style" && is_css
}

/// Returns an element with a style sheet and what it says, without comments; nothing if it is for
/// other media.
fn sheet<'a, 'input>(node: Node<'a, 'input>) -> Option<(Node<'a, 'input>, String)> {
    if !is_sheet(node) {
        return None;
    }
    if !matches(node.attribute("media").unwrap_or_default()) {
        return Some((node, String::new()));
    }
    let sheet: String = node.children().filter_map(|child| child.text()).collect();
    Some((node, without_comments(&sheet).into_owned()))
}

fn matches(media: &str) -> bool {
    media.len() <= MAX_QUERY_BYTES && matches_light(media, VIEWPORT)
}

/// The rules of a style sheet, those in blocks that are for a light picture among them.
fn rules(sheet: &str) -> Vec<Rule<'_>> {
    let mut rules = Vec::new();
    read_rules(sheet, MAX_DEPTH, &mut rules);
    rules
}

fn read_rules<'a>(sheet: &'a str, depth: usize, rules: &mut Vec<Rule<'a>>) {
    let mut rest = sheet;
    while let Some(end) = find(rest, b"{;") {
        let (head, after) = (rest[..end].trim(), &rest[end + 1..]);
        if rest.as_bytes()[end] == b';' {
            // A rule without a block, such as `@import`.
            rest = after;
            continue;
        }
        let end = find(after, b"}").unwrap_or(after.len());
        let block = &after[..end];
        rest = after.get(end + 1..).unwrap_or_default();
        if let Some(head) = head.strip_prefix('@') {
            let name = head.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
            let condition = head[name.len()..].trim();
            let is_read = match name.to_ascii_lowercase().as_str() {
                "media" => matches(condition),
                "supports" => !condition.starts_with("not"),
                "layer" => true,
                _ => false,
            };
            if is_read && depth > 0 {
                read_rules(block, depth - 1, rules);
            }
        } else {
            let selectors = match head.contains(":root") {
                true => Cow::Owned(head.replace("svg:root", ":root").replace(":root", "svg")),
                false => Cow::Borrowed(head),
            };
            rules.push(Rule { selectors, declarations: block });
        }
    }
}

/// The declarations of a rule or an attribute: the name of the property of each, and all of it.
fn declarations(body: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = body;
    std::iter::from_fn(move || {
        let end = find(rest, b";").unwrap_or(rest.len());
        let declaration = rest[..end].trim();
        let is_last = rest.is_empty();
        rest = rest.get(end + 1..).unwrap_or_default();
        (!is_last)
            .then_some((declaration.split(':').next().unwrap_or_default().trim(), declaration))
    })
}

fn is_variable(property: &str) -> bool {
    property.starts_with("--")
}

/// What the variables of a document stand for.
#[derive(Default)]
struct Variables<'a> {
    of_root: HashMap<&'a str, &'a str>,
    /// What those of other elements stand for; `None` if they have several values.
    of_others: HashMap<&'a str, Option<&'a str>>,
}

impl<'a> Variables<'a> {
    fn of(document: &'a Document, sheets: &'a [(Node, Vec<Rule<'a>>)]) -> Self {
        let mut variables = Self::default();
        for rule in sheets.iter().flat_map(|(_, rules)| rules) {
            let is_root = rule.selectors.split(',').any(|one| matches!(one.trim(), "svg" | "*"));
            variables.read(rule.declarations, is_root);
        }
        for node in document.descendants() {
            let style = node.attribute("style").filter(|style| style.contains("--"));
            variables.read(style.unwrap_or_default(), node == document.root_element());
        }
        variables
    }

    fn read(&mut self, body: &'a str, is_root: bool) {
        let variables = declarations(body).filter(|(name, _)| is_variable(name));
        for (name, declaration) in variables {
            let (_, value) = declaration.split_once(':').unwrap_or_default();
            let value = value.trim().trim_end_matches("!important").trim_end();
            if is_root {
                self.of_root.insert(name, value);
            } else {
                let known = self.of_others.entry(name).or_insert(Some(value));
                *known = known.filter(|known| *known == value);
            }
        }
    }

    fn value(&self, name: &str) -> Option<&'a str> {
        let of_others = || self.of_others.get(name).copied().flatten();
        self.of_root.get(name).copied().or_else(of_others)
    }
}

/// Writes styles anew.
struct Writing<'a> {
    variables: Variables<'a>,
    /// Bytes that may still be read.
    left: usize,
}

impl Writing<'_> {
    fn spend(&mut self, bytes: usize) -> Result<(), IconError> {
        self.left = self.left.checked_sub(bytes).ok_or_else(|| refused("style variables"))?;
        Ok(())
    }

    /// Writes declarations without those of variables: usvg reads none that follow one.
    fn declarations(&mut self, body: &str) -> Result<String, IconError> {
        let mut written = String::new();
        for (_, declaration) in declarations(body).filter(|(name, _)| !is_variable(name)) {
            written.push_str(&self.value(declaration, MAX_DEPTH)?);
            written.push(';');
        }
        Ok(written)
    }

    /// Puts values in the place of `var()` and `light-dark()`.
    fn value(&mut self, text: &str, depth: usize) -> Result<String, IconError> {
        self.spend(text.len())?;
        let mut written = String::new();
        let mut rest = text;
        let mut seen = 0;
        while let Some(at) = rest[seen..].find('(').map(|at| seen + at) {
            let before = rest[..at].trim_end_matches(is_in_name);
            let (name, arguments) = (&rest[before.len()..at], &rest[at + 1..]);
            seen = at + 1;
            if !matches!(name, "var" | "light-dark") {
                continue;
            }
            // What is open at the end of the text is closed there.
            let end = find(arguments, b")").unwrap_or(arguments.len());
            self.spend(end)?;
            let (arguments, after) = arguments.split_at(end);
            let comma = find(arguments, b",").unwrap_or(arguments.len());
            let (first, second) = (arguments[..comma].trim(), arguments.get(comma + 1..));
            let value = match name {
                "var" => self.variables.value(first).or(second),
                _ => Some(first),
            };
            let Some(value) = value.filter(|_| depth > 0) else { continue };
            written.push_str(before);
            written.push_str(&self.value(value.trim(), depth - 1)?);
            rest = after.get(1..).unwrap_or_default();
            seen = 0;
        }
        written.push_str(rest);
        Ok(written)
    }
}

fn is_in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_') || !c.is_ascii()
}

/// Returns where the first of `ends` stands that is in no string, no parentheses and no block.
fn find(text: &str, ends: &[u8]) -> Option<usize> {
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

/// Writes a text so that it can stand in XML, in quotes too.
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
