//! Reads a sitemap: the pages that a site lists, and the sitemaps that an index lists.
//!
//! This reads the sitemap protocol's XML forms (`urlset` and `sitemapindex`), its text form with
//! one URL per line, and RSS and Atom, each optionally as a gzip file. Elements are recognized by
//! their local names in any namespace. Only character references and XML's five entities are
//! resolved: a URL with another entity is counted as unparsable, and DTD declarations are not read.
//! Anything else, such as HTML, gives nothing.
//!
//! Invariants: every URL is http or https, with at most [`crate::url_rules::MAX_URL_BYTES`],
//! without user name, password and fragment; no list has more than [`MAX_SITEMAP_ENTRIES`], or a
//! URL twice; skipped URLs are counted; at most [`MAX_UNPACKED_BYTES`] are read from a file, and
//! this never unpacks a whole file in memory. This module does not depend on which URLs are
//! fetched, or on robots.txt.
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

/// Reads a file after its Content-Encoding has been decoded. Any bytes give a result.
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

/// Returns the first byte that is not whitespace, without consuming it.
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

/// Reads one URL per line. A file without any URL is not a sitemap.
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
