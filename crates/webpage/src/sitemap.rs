//! Reads a sitemap: the pages that a site lists, and the sitemaps that an index lists.
//!
//! Read are the XML forms of the sitemap protocol (`urlset` and `sitemapindex`), its text form of
//! one URL a line, and RSS and Atom, each gzipped as a file or not. Elements are told by their
//! local names, whatever namespace they are in. Of entities only the five of XML and character
//! references are resolved: a URL with another one is counted as unparsable, and no declaration of
//! a DTD is read. Anything else, such as HTML, gives nothing.
//!
//! Invariants: every URL is http or https, of at most [`crate::url_rules::MAX_URL_BYTES`], without
//! user name, password and fragment; no list has more than [`MAX_SITEMAP_ENTRIES`], or a URL twice;
//! what is left out is counted; a file costs at most what [`MAX_UNPACKED_BYTES`] cost, and is never
//! in memory unpacked.
//! Must not know: which URLs are asked for, robots.txt.
//!
//! Source: <https://www.sitemaps.org/protocol.html>.

mod input;
mod reading;
mod xml;

use std::io::BufRead;

pub use self::{
    input::MAX_UNPACKED_BYTES,
    reading::{MAX_SITEMAP_ENTRIES, Sitemap, SitemapFormat},
};
use self::{
    input::SitemapInput,
    reading::{Reading, UrlText},
};

/// Reads a file, without its Content-Encoding. Any bytes give a result.
#[must_use]
pub fn read_sitemap(body: &[u8]) -> Sitemap {
    let mut input = SitemapInput::new(body);
    let mut reading = Reading::default();
    match first_byte(&mut input) {
        Some(b'<') => xml::read(&mut input, &mut reading),
        Some(_) => read_lines(&mut input, &mut reading),
        None => {}
    }
    reading.sitemap.is_cut |= input.is_cut();
    reading.finish()
}

/// The first byte that is no whitespace, which stays where it is.
fn first_byte(input: &mut SitemapInput<'_>) -> Option<u8> {
    loop {
        let bytes = input.fill_buf().ok().filter(|bytes| !bytes.is_empty())?;
        let length = bytes.len();
        let at = bytes.iter().position(|byte| !byte.is_ascii_whitespace());
        let found = at.and_then(|at| bytes.get(at).copied());
        input.consume(at.unwrap_or(length));
        if found.is_some() {
            return found;
        }
    }
}

/// Reads URLs, one a line. A file without any is no sitemap.
fn read_lines(input: &mut SitemapInput<'_>, reading: &mut Reading) {
    reading.sitemap.format = SitemapFormat::Text;
    let mut text = UrlText::default();
    while let Ok(bytes) = input.fill_buf()
        && !bytes.is_empty()
    {
        let end = memchr::memchr2(b'\n', b'\r', bytes);
        let line = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
        let length = line.len() + usize::from(end.is_some());
        text.push(&String::from_utf8_lossy(line));
        input.consume(length);
        input.begin_event();
        if end.is_some() {
            reading.line(&mut text);
        }
    }
    reading.line(&mut text);
    if reading.sitemap.pages.is_empty() {
        *reading = Reading::default();
    }
}

#[cfg(test)]
mod tests;
