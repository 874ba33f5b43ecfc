//! Reads an SVG's root element without parsing the whole document. It parses the doctype's
//! entities, too, because Adobe Illustrator writes the namespace as an entity.

use std::borrow::Cow;

/// The SVG namespace.
pub const SVG_NAMESPACE: &str = "http://www.w3.org/2000/svg";
/// Maximum SVG size in bytes, which is also the limit for an icon's HTTP body. A typical SVG icon
/// has a few kilobytes, or a few hundred if it embeds a picture.
pub const MAX_SVG_BYTES: usize = 512 * 1024;
/// Maximum entities to read from a doctype. An SVG that reaches this limit is rejected. Drawing
/// programs write about ten.
const MAX_ENTITIES: usize = 64;
/// Maximum bytes in an attribute after expanding entities. Longer values are truncated to this
/// length, but namespaces and sizes are far shorter.
const MAX_ATTRIBUTE_BYTES: usize = 4096;

/// The root element's attributes that give the picture's size.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SvgRoot {
    /// Attribute `width`, as written.
    pub width: Option<String>,
    /// Attribute `height`, as written.
    pub height: Option<String>,
    /// Attribute `viewBox`, as written.
    pub view_box: Option<String>,
}

/// Decodes an XML document: as UTF-16 if it starts with that byte order mark, else as UTF-8 if it
/// is valid, else as ISO 8859-1. A wrong guess damages only characters outside ASCII.
#[must_use]
pub fn text(bytes: &[u8]) -> Cow<'_, str> {
    let utf_16 = |rest: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = rest.as_chunks::<2>().0.iter().map(|&pair| unit(pair)).collect();
        Cow::Owned(String::from_utf16_lossy(&units))
    };
    match bytes {
        [0xFF, 0xFE, rest @ ..] => utf_16(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => utf_16(rest, u16::from_be_bytes),
        _ => match std::str::from_utf8(bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes)) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => Cow::Owned(bytes.iter().map(|&byte| char::from(byte)).collect()),
        },
    }
}

/// Returns an SVG document's root element. `None` for anything else.
#[must_use]
pub fn find(bytes: &[u8]) -> Option<SvgRoot> {
    // This rejects nearly every body that is not an SVG before anything is copied.
    let first = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes).trim_ascii_start().first();
    if !matches!(first, Some(b'<' | 0xFE | 0xFF)) {
        return None;
    }
    let text = text(&bytes[..bytes.len().min(MAX_SVG_BYTES)]);
    let mut scanner = Scanner { rest: &text, entities: Vec::new() };
    scanner.skip_prolog()?;
    scanner.root()
}

/// Returns an upper bound for the bytes that expanding entities adds to a document. `None` if there
/// are too many entities, if one of them contains another, or if the prolog is malformed.
#[must_use]
pub fn entity_growth(text: &str) -> Option<usize> {
    let mut scanner = Scanner { rest: text, entities: Vec::new() };
    scanner.skip_prolog()?;
    if scanner.entities.len() >= MAX_ENTITIES {
        return None;
    }
    let mut growth = 0usize;
    for (name, value) in &scanner.entities {
        // A character reference (`&#`) is not an entity.
        if value.replace("&#", "").contains('&') {
            return None;
        }
        let uses = text.matches(&format!("&{name};")).count();
        growth = growth.saturating_add(uses.saturating_mul(value.len()));
    }
    Some(growth)
}

struct Scanner<'a> {
    rest: &'a str,
    entities: Vec<(&'a str, &'a str)>,
}

impl<'a> Scanner<'a> {
    fn eat(&mut self, prefix: &str) -> bool {
        let rest = self.rest.strip_prefix(prefix);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn until(&mut self, end: &str) -> Option<&'a str> {
        let (before, after) = self.rest.split_once(end)?;
        self.rest = after;
        Some(before)
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }

    fn name(&mut self) -> Option<&'a str> {
        let ends = |c: char| c.is_ascii_whitespace() || "<>/='\"[]&;".contains(c);
        let (name, rest) = self.rest.split_at(self.rest.find(ends).unwrap_or(self.rest.len()));
        self.rest = rest;
        (!name.is_empty()).then_some(name)
    }

    fn quoted(&mut self) -> Option<&'a str> {
        if self.eat("\"") { self.until("\"") } else { self.eat("'").then(|| self.until("'"))? }
    }

    fn skip_prolog(&mut self) -> Option<()> {
        // An XML declaration is only allowed at the very start (XML 1.0, 2.8).
        if self.eat("<?xml") {
            self.until("?>")?;
        }
        loop {
            self.skip_space();
            if self.eat("<!--") {
                self.until("-->")?;
            } else if self.eat("<!DOCTYPE") {
                self.doctype()?;
            } else if self.rest.starts_with("<?xml ") {
                return None;
            } else if self.eat("<?") {
                self.until("?>")?;
            } else {
                return Some(());
            }
        }
    }

    fn doctype(&mut self) -> Option<()> {
        loop {
            self.skip_space();
            if self.eat(">") {
                return Some(());
            } else if self.eat("[") {
                self.internal_subset()?;
            } else if self.rest.starts_with(['"', '\'']) {
                self.quoted()?;
            } else {
                self.name()?;
            }
        }
    }

    fn internal_subset(&mut self) -> Option<()> {
        loop {
            self.skip_space();
            if self.eat("]") {
                return Some(());
            } else if self.eat("<!--") {
                self.until("-->")?;
            } else if self.eat("<?") {
                self.until("?>")?;
            } else if self.eat("<!ENTITY") {
                self.entity()?;
            } else if self.eat("<!") {
                self.declaration_end()?;
            } else {
                return None;
            }
        }
    }

    fn entity(&mut self) -> Option<()> {
        self.skip_space();
        let name = self.name()?;
        self.skip_space();
        if self.rest.starts_with(['"', '\'']) {
            let value = self.quoted()?;
            if self.entities.len() < MAX_ENTITIES {
                self.entities.push((name, value));
            }
        }
        self.declaration_end()
    }

    /// A `>` in quotes does not close a declaration.
    fn declaration_end(&mut self) -> Option<()> {
        loop {
            let at = self.rest.find(['>', '"', '\''])?;
            self.rest = &self.rest[at..];
            if self.eat(">") {
                return Some(());
            }
            self.quoted()?;
        }
    }

    fn root(&mut self) -> Option<SvgRoot> {
        if !self.eat("<") {
            return None;
        }
        let name = self.name()?;
        let (prefix, local) = name.split_once(':').unwrap_or(("", name));
        let declares =
            if prefix.is_empty() { "xmlns".to_owned() } else { format!("xmlns:{prefix}") };
        if local != "svg" {
            return None;
        }
        let mut root = SvgRoot::default();
        let mut in_namespace = false;
        loop {
            self.skip_space();
            if self.eat(">") || self.eat("/>") {
                return in_namespace.then_some(root);
            }
            let attribute = self.name()?;
            self.skip_space();
            if !self.eat("=") {
                return None;
            }
            self.skip_space();
            let value = self.quoted()?;
            match attribute {
                "width" => root.width = Some(self.expand(value)),
                "height" => root.height = Some(self.expand(value)),
                "viewBox" => root.view_box = Some(self.expand(value)),
                _ if attribute == declares => in_namespace = self.expand(value) == SVG_NAMESPACE,
                _ => {}
            }
        }
    }

    fn expand(&self, value: &str) -> String {
        let mut text = String::new();
        let mut rest = value;
        while let Some((before, after)) = rest.split_once('&') {
            text.push_str(before);
            let (name, tail) = after.split_once(';').unwrap_or((after, ""));
            let known = self.entities.iter().find(|(entity, _)| *entity == name);
            text.push_str(known.map_or("", |(_, value)| value));
            rest = tail;
            if text.len() > MAX_ATTRIBUTE_BYTES {
                break;
            }
        }
        text.push_str(rest);
        text.truncate(text.floor_char_boundary(MAX_ATTRIBUTE_BYTES));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = r#"<svg xmlns="http://www.w3.org/2000/svg" width="1" viewBox='0 0 2 3'/>"#;

    #[test]
    fn the_root_is_found_after_every_kind_of_prolog() {
        let doctype = r#"<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "x>y" [
            <!ENTITY ns_svg "http://www.w3.org/2000/svg"> <!-- ]> --> <!ELEMENT a (b)>
            <!ENTITY other '>'>]>"#;
        let cases = [
            PLAIN.to_owned(),
            format!("\u{feff}<?xml version='1.0'?>\n<!-- <html> --><?style x?>\n{PLAIN}"),
            format!("<?xml version='1.0'?>{doctype}{}", PLAIN.replace(SVG_NAMESPACE, "&ns_svg;")),
            PLAIN.replace("<svg xmlns", "<s:svg xmlns:s"),
        ];
        for case in &cases {
            let root = find(case.as_bytes()).unwrap_or_else(|| panic!("no root in {case}"));
            assert_eq!(root.width.as_deref(), Some("1"));
            assert_eq!(root.view_box.as_deref(), Some("0 0 2 3"));
            assert_eq!(root.height, None);
        }
        let wide: Vec<u8> = "\u{feff}"
            .chars()
            .chain(PLAIN.chars())
            .flat_map(|c| (c as u16).to_le_bytes())
            .collect();
        assert!(find(&wide).is_some());
    }

    #[test]
    fn documents_that_merely_contain_svg_are_not_svg() {
        let cases = [
            "<html><svg xmlns='http://www.w3.org/2000/svg'/></html>",
            "<svg width='1'/>",
            "<svg xmlns='http://www.w3.org/1999/xhtml'/>",
            "<svg xmlns='http://www.w3.org/2000/svg'",
            "<svg xmlns=http://www.w3.org/2000/svg>",
            "\n<?xml version='1.0'?><svg xmlns='http://www.w3.org/2000/svg'/>",
            "<!DOCTYPE html><svg xmlns='http://www.w3.org/2000/svg/extra'>",
            "<!doctype svg><svg xmlns='http://www.w3.org/2000/svg'/>",
            "<",
        ];
        for case in cases {
            assert_eq!(find(case.as_bytes()), None, "{case}");
        }
    }
}
