//! Reads a sitemap: the pages that a site lists, and the sitemaps that an index lists
//! (<https://www.sitemaps.org/protocol.html>).
//!
//! Its form may be `urlset` or `sitemapindex`, text with one URL per line, RSS or Atom, each
//! optionally as a gzip file. Anything else, such as HTML, yields an empty sitemap.

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

/// Reads a file after its Content-Encoding has been decoded.
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
