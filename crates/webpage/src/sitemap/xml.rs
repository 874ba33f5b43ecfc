//! The XML forms of a sitemap.
//!
//! What the parser refuses ends the file. Must not know: gzip, encodings, limits of lists.

use quick_xml::{
    Reader,
    escape::{resolve_xml_entity, unescape_with},
    events::{BytesRef, BytesStart, Event},
};

use super::{
    input::SitemapInput,
    reading::{Reading, SitemapFormat, UrlList, UrlText},
};

/// Greatest nesting of elements. Sitemaps nest 4 deep, and extensions some more.
const MAX_NESTING: usize = 64;

/// An element that is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Element {
    /// `urlset`.
    Urlset,
    /// `url`.
    Page,
    /// `sitemapindex`.
    Index,
    /// `sitemap`.
    Child,
    /// `rss`, or `RDF` of the first versions of RSS.
    Rss,
    /// `channel`.
    Channel,
    /// `item`.
    Item,
    /// `feed` of Atom.
    Atom,
    /// `entry`.
    Entry,
    /// What has the URL of a list as its text.
    Text(UrlList),
    /// Any other.
    Other,
}

impl Element {
    /// The first element of a file; none if it is that of no sitemap.
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

    /// An element in this one.
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

/// Local names, in any case: sitemaps of hand-made programs have both.
fn is_name(name: &[u8], expected: &str) -> bool {
    name.eq_ignore_ascii_case(expected.as_bytes())
}

/// Reads a file.
pub(super) fn read(input: &mut SitemapInput<'_>, reading: &mut Reading) {
    let mut reader = Reader::from_reader(input);
    let config = reader.config_mut();
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    config.allow_dangling_amp = true;
    let (mut open, mut text) = (Vec::new(), UrlText::default());
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
                // The root is open yet, or there is none.
                reading.sitemap.is_cut |= reading.sitemap.format != SitemapFormat::Other;
                true
            }
        };
        if is_over {
            return;
        }
    }
}

/// An element begins; false if the file is not read on.
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

/// An element ends; true if it was the last one.
fn end(open: &mut Vec<Element>, text: &mut UrlText, reading: &mut Reading) -> bool {
    if let Some(Element::Text(list)) = open.pop() {
        reading.add(list, text);
    }
    text.clear();
    open.is_empty() && reading.sitemap.format != SitemapFormat::Other
}

/// A piece of text came; never ends the file.
fn push(piece: &[u8], open: &[Element], text: &mut UrlText) -> bool {
    if let Some(Element::Text(_)) = open.last() {
        text.push(&String::from_utf8_lossy(piece));
    }
    false
}

/// The text of a reference; none for an entity that XML does not have.
fn resolved(entity: &BytesRef<'_>) -> Option<String> {
    if let Ok(Some(character)) = entity.resolve_char_ref() {
        return Some(character.to_string());
    }
    let name = entity.decode().ok()?;
    resolve_xml_entity(&name).map(str::to_owned)
}

/// Adds what a `link` element leads to, if it is the page or another form of it.
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
