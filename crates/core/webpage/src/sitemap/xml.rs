//! Reads a sitemap's XML forms. Reading stops at the first parser error.

use quick_xml::{
    Reader,
    escape::{resolve_xml_entity, unescape_with},
    events::{BytesRef, BytesStart, Event},
};

use super::{
    input::SitemapInput,
    reading::{Reading, SitemapFormat, UrlList, UrlText},
};

/// Maximum element nesting. Sitemaps nest 4 deep, and extensions a little deeper. Reading stops at
/// an element beyond this limit.
const MAX_NESTING: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Element {
    Urlset,
    Page,
    Index,
    Child,
    /// `rss`, or `RDF` in the first RSS versions.
    Rss,
    Channel,
    Item,
    Atom,
    Entry,
    /// An element whose text is a URL.
    Text(UrlList),
    Other,
}

impl Element {
    /// Returns the root element and its format. `None` if this element does not belong to a
    /// sitemap.
    fn root(name: &[u8]) -> Option<(Self, SitemapFormat)> {
        let roots = [
            ("urlset", Self::Urlset, SitemapFormat::Urlset),
            ("sitemapindex", Self::Index, SitemapFormat::Index),
            ("rss", Self::Rss, SitemapFormat::Feed),
            ("rdf", Self::Rss, SitemapFormat::Feed),
            ("feed", Self::Atom, SitemapFormat::Feed),
        ];
        let found = roots.into_iter().find(|(root, ..)| is_name(name, root));
        found.map(|(_, element, format)| (element, format))
    }

    fn child(self, name: &[u8]) -> Self {
        match self {
            Self::Urlset if is_name(name, "url") => Self::Page,
            Self::Index if is_name(name, "sitemap") => Self::Child,
            Self::Page if is_name(name, "loc") => Self::Text(UrlList::Pages),
            Self::Child if is_name(name, "loc") => Self::Text(UrlList::Sitemaps),
            Self::Rss if is_name(name, "channel") => Self::Channel,
            Self::Rss | Self::Channel if is_name(name, "item") => Self::Item,
            Self::Item if is_name(name, "link") => Self::Text(UrlList::Pages),
            Self::Atom if is_name(name, "entry") => Self::Entry,
            _ => Self::Other,
        }
    }
}

/// Compares local names without regard to case, because hand-written sitemaps contain both cases.
fn is_name(name: &[u8], expected: &str) -> bool {
    name.eq_ignore_ascii_case(expected.as_bytes())
}

pub(super) fn read(input: &mut SitemapInput<'_>, reading: &mut Reading) {
    let mut reader = Reader::from_reader(input);
    let config = reader.config_mut();
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    config.allow_dangling_amp = true;
    let mut open = Vec::new();
    let mut text = UrlText::default();
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        reader.get_mut().begin_event();
        let is_over = match reader.read_event_into(&mut buffer) {
            Ok(Event::Start(tag)) => !start(&tag, &mut open, &mut text, reading),
            Ok(Event::Empty(tag)) => {
                !start(&tag, &mut open, &mut text, reading) || end(&mut open, &mut text, reading)
            }
            Ok(Event::End(_)) => end(&mut open, &mut text, reading),
            Ok(Event::Text(piece)) => push(&piece, &open, &mut text),
            Ok(Event::CData(piece)) => push(&piece, &open, &mut text),
            Ok(Event::GeneralRef(entity)) => {
                match resolved(&entity) {
                    Some(piece) => push(piece.as_bytes(), &open, &mut text),
                    None => {
                        text.is_broken = true;
                        false
                    }
                };
                false
            }
            Ok(Event::Decl(_) | Event::PI(_) | Event::Comment(_) | Event::DocType(_)) => false,
            Ok(Event::Eof) | Err(_) => {
                // The root element is still open or missing.
                reading.sitemap.is_cut |= reading.sitemap.format != SitemapFormat::Other;
                true
            }
        };
        if is_over {
            return;
        }
    }
}

/// Returns false if the rest must not be read.
fn start(
    tag: &BytesStart<'_>,
    open: &mut Vec<Element>,
    text: &mut UrlText,
    reading: &mut Reading,
) -> bool {
    let name = tag.local_name();
    let element = match open.last() {
        Some(parent) => parent.child(name.as_ref()),
        None => match Element::root(name.as_ref()) {
            Some((element, format)) => {
                reading.sitemap.format = format;
                element
            }
            None => return false,
        },
    };
    if is_name(name.as_ref(), "link") {
        match open.last() {
            Some(Element::Page) => linked(tag, UrlList::Alternates, reading),
            Some(Element::Entry) => linked(tag, UrlList::Pages, reading),
            _ => {}
        }
    }
    if open.len() >= MAX_NESTING {
        reading.sitemap.is_cut = true;
        return false;
    }
    open.push(element);
    text.clear();
    true
}

fn end(open: &mut Vec<Element>, text: &mut UrlText, reading: &mut Reading) -> bool {
    if let Some(Element::Text(list)) = open.pop() {
        reading.add(list, text);
    }
    text.clear();
    open.is_empty() && reading.sitemap.format != SitemapFormat::Other
}

fn push(piece: &[u8], open: &[Element], text: &mut UrlText) -> bool {
    if let Some(Element::Text(_)) = open.last() {
        text.push(&String::from_utf8_lossy(piece));
    }
    false
}

fn resolved(entity: &BytesRef<'_>) -> Option<String> {
    if let Ok(Some(character)) = entity.resolve_char_ref() {
        return Some(character.to_string());
    }
    let name = entity.decode().ok()?;
    resolve_xml_entity(&name).map(str::to_owned)
}

/// Adds a `link` element's URL if its `rel` is `alternate`, or missing in Atom.
fn linked(tag: &BytesStart<'_>, list: UrlList, reading: &mut Reading) {
    let (mut href, mut rel) = (None, None);
    for attribute in tag.attributes().with_checks(false).flatten() {
        let slot = match attribute.key.as_ref() {
            b"href" => &mut href,
            b"rel" => &mut rel,
            _ => continue,
        };
        slot.get_or_insert(attribute.value);
    }
    let is_alternate = match rel {
        Some(rel) => rel.trim_ascii().eq_ignore_ascii_case(b"alternate"),
        None => list == UrlList::Pages,
    };
    let Some(href) = href.filter(|_| is_alternate) else { return };
    let raw = String::from_utf8_lossy(&href);
    let mut text = UrlText::default();
    match unescape_with(&raw, resolve_xml_entity) {
        Ok(plain) => text.push(&plain),
        Err(_) => text.is_broken = true,
    }
    reading.add(list, &text);
}
