//! Packs URLs with their attributes and referrers.
//!
//! URLs are sorted, and each is stored without the prefix that it shares with the previous one.
//! Numbers and strings are in separate sections, which are deflated together.

use std::sync::Arc;

use libdeflater::{CompressionLvl, Compressor, Decompressor};

use super::{
    bytes::{ChunkReader, push_number},
    frame::ChunkError,
};
use crate::{
    canonical::MAX_URL_BYTES,
    link::{Attributes, LinkFlags, MAX_HOPS},
    priority::MAX_PRIORITY,
};

/// Maximum total length in bytes of a chunk's URLs. This limits the memory that a worker uses for
/// one host.
pub(crate) const MAX_TEXT_BYTES: usize = 128 << 20;

/// Maximum total length in bytes of the referrers in a chunk or state. Further referrers are
/// dropped.
pub(crate) const MAX_REFERRER_BYTES: usize = 16 << 20;

/// Maximum size of entries before compression: all strings, and 32 bytes for each of a million
/// entries.
const MAX_SECTION_BYTES: usize = MAX_TEXT_BYTES + MAX_REFERRER_BYTES + (32 << 20);

/// Deflate's maximum compression ratio: 258 bytes from 2 bits.
const MAX_DEFLATE_RATIO: usize = 1_032;

/// Deflate level. The next level saves 0.5 % for URLs and takes a third more time.
const DEFLATE_LEVEL: i32 = 6;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry<T> {
    pub(crate) url: T,
    pub(crate) attributes: Attributes,
    pub(crate) via: Option<Arc<str>>,
    pub(crate) retries: u8,
    /// Due time in seconds since 1970, or 0 if the URL is due.
    pub(crate) not_before_s: u64,
}

/// Bit in an entry's second number, which is set if `not_before_s` follows.
const WAITS: u64 = 1;

/// Sorts entries by URL and appends them, the first one without the prefix `start`. Their total
/// length must be at most [`MAX_TEXT_BYTES`].
pub(crate) fn push_entries<T: AsRef<str>>(
    out: &mut Vec<u8>,
    start: &str,
    entries: &mut [Entry<T>],
) {
    entries.sort_unstable_by(|a, b| a.url.as_ref().cmp(b.url.as_ref()));
    push_number(out, entries.len() as u64);
    if entries.is_empty() {
        return;
    }
    let referrers = referrers_of(entries);
    let (mut numbers, mut texts) = (Vec::new(), Vec::new());
    push_number(&mut numbers, referrers.len() as u64);
    let mut before = start;
    for text in &referrers {
        push_text(&mut numbers, &mut texts, before, text);
        before = text;
    }
    before = start;
    for entry in entries.iter() {
        push_text(&mut numbers, &mut texts, before, entry.url.as_ref());
        push_attributes(&mut numbers, entry);
        let number = entry.via.as_ref().and_then(|via| referrers.binary_search(&&**via).ok());
        push_number(&mut numbers, number.map_or(0, |number| number as u64 + 1));
        before = entry.url.as_ref();
    }
    let mut section = Vec::with_capacity(numbers.len() + texts.len() + 8);
    push_number(&mut section, numbers.len() as u64);
    section.extend_from_slice(&numbers);
    section.extend_from_slice(&texts);
    push_section(out, &section);
}

fn referrers_of<T>(entries: &[Entry<T>]) -> Vec<&str> {
    let vias = entries.iter().filter_map(|entry| entry.via.as_deref());
    let mut referrers: Vec<&str> = vias.filter(|via| via.len() <= MAX_URL_BYTES).collect();
    referrers.sort_unstable();
    referrers.dedup();
    let mut bytes = 0;
    let fits = |text: &&&str| {
        bytes += text.len();
        bytes <= MAX_REFERRER_BYTES
    };
    let count = referrers.iter().take_while(fits).count();
    referrers.truncate(count);
    referrers
}

fn push_text(numbers: &mut Vec<u8>, texts: &mut Vec<u8>, before: &str, text: &str) {
    let shared = shared_length(text, before);
    let suffix = text.get(shared..).unwrap_or_default();
    push_number(numbers, shared as u64);
    push_number(numbers, suffix.len() as u64);
    texts.extend_from_slice(suffix.as_bytes());
}

/// Returns the length of the common prefix in bytes. This prefix ends at a character boundary in
/// both strings.
fn shared_length(one: &str, other: &str) -> usize {
    let same = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    (0..=same)
        .rev()
        .find(|length| one.is_char_boundary(*length) && other.is_char_boundary(*length))
        .unwrap_or(0)
}

/// Appends a section, deflated if this makes it smaller. Readers distinguish the two forms by their
/// lengths.
fn push_section(out: &mut Vec<u8>, section: &[u8]) {
    let level = CompressionLvl::new(DEFLATE_LEVEL).unwrap_or_default();
    let mut compressor = Compressor::new(level);
    let mut deflated = vec![0; compressor.deflate_compress_bound(section.len())];
    let deflated = compressor
        .deflate_compress(section, &mut deflated)
        .ok()
        .and_then(|length| deflated.get(..length))
        .filter(|deflated| deflated.len() < section.len())
        .unwrap_or(section);
    push_number(out, section.len() as u64);
    push_number(out, deflated.len() as u64);
    out.extend_from_slice(deflated);
}

fn push_attributes<T>(out: &mut Vec<u8>, entry: &Entry<T>) {
    let Attributes { depth, priority, hops, flags } = entry.attributes;
    // Priority and hops have three bits each. Too many hops are still too many after clamping.
    let (priority, hops) = (priority.min(7), hops.min(7));
    push_number(out, u64::from(priority) | u64::from(flags.bits()) << 3);
    let waits = u64::from(entry.not_before_s > 0);
    push_number(out, waits | u64::from(hops) << 1 | u64::from(entry.retries) << 4);
    push_number(out, depth.into());
    if waits == WAITS {
        push_number(out, entry.not_before_s);
    }
}

/// Reads up to `most` entries that were appended with the same `start`, in URL order. Version 1 has
/// no referrers.
pub(crate) fn read_entries(
    reader: &mut ChunkReader<'_>,
    (start, has_referrers): (&str, bool),
    most: usize,
    mut take: impl FnMut(Entry<&str>) -> Result<(), ChunkError>,
) -> Result<(), ChunkError> {
    let count: usize = reader.small("number of URLs")?;
    if count > most {
        return Err(ChunkError::TooLarge("number of URLs"));
    }
    if count == 0 {
        return Ok(());
    }
    let section = read_section(reader)?;
    let mut texts = ChunkReader::new(&section);
    let length = texts.small("numbers of URLs")?;
    let mut numbers = ChunkReader::new(texts.take(length, "numbers of URLs")?);
    let mut referrers: Vec<Arc<str>> = Vec::new();
    if has_referrers {
        let number: usize = numbers.small("number of referrers")?;
        if number > count {
            return Err(ChunkError::TooLarge("number of referrers"));
        }
        let most = (number, MAX_REFERRER_BYTES);
        read_texts((&mut numbers, &mut texts), start, most, |_, text| {
            referrers.push(text.into());
            Ok(())
        })?;
    }
    read_texts((&mut numbers, &mut texts), start, (count, MAX_TEXT_BYTES), |numbers, url| {
        let entry = read_attributes(numbers, url)?;
        let number: usize = if has_referrers { numbers.small("number of a referrer")? } else { 0 };
        let via = number
            .checked_sub(1)
            .map(|at| referrers.get(at).cloned().ok_or(ChunkError::Field("number of a referrer")));
        take(Entry { via: via.transpose()?, ..entry })
    })?;
    if numbers.remaining() + texts.remaining() > 0 {
        return Err(ChunkError::Field("end of the URLs"));
    }
    Ok(())
}

/// Reads `count` strings with a limited total length. Passes each to `take`, with the reader for
/// the numbers that follow.
fn read_texts<'a>(
    (numbers, texts): (&mut ChunkReader<'a>, &mut ChunkReader<'a>),
    start: &str,
    (count, max_bytes): (usize, usize),
    mut take: impl FnMut(&mut ChunkReader<'a>, &str) -> Result<(), ChunkError>,
) -> Result<(), ChunkError> {
    let mut url = start.to_owned();
    let mut text_bytes = 0_usize;
    for index in 0..count {
        let shared: usize = numbers.small("shared length")?;
        let length: usize = numbers.small("length of a URL")?;
        let suffix = texts.take(length, "text of a URL")?;
        let suffix = str::from_utf8(suffix).map_err(|_| ChunkError::Field("text of a URL"))?;
        // Strings are sorted, so the part after the shared prefix must not be smaller than in the
        // previous string.
        let is_ascending = url
            .get(shared..)
            .is_some_and(|rest| index == 0 || rest.as_bytes() <= suffix.as_bytes());
        if !is_ascending || shared + suffix.len() > MAX_URL_BYTES {
            return Err(ChunkError::Field("order of URLs"));
        }
        url.truncate(shared);
        url.push_str(suffix);
        text_bytes += url.len();
        if text_bytes > max_bytes {
            return Err(ChunkError::TooLarge("texts of URLs"));
        }
        take(numbers, &url)?;
    }
    Ok(())
}

fn read_section(reader: &mut ChunkReader<'_>) -> Result<Vec<u8>, ChunkError> {
    let length: usize = reader.small("length of the URLs")?;
    let deflated: usize = reader.small("deflated length")?;
    if length > MAX_SECTION_BYTES {
        return Err(ChunkError::TooLarge("length of the URLs"));
    }
    let deflated = reader.take(deflated, "deflated URLs")?;
    if deflated.len() == length {
        return Ok(deflated.to_vec());
    }
    if deflated.len() > length || length / MAX_DEFLATE_RATIO > deflated.len() {
        return Err(ChunkError::Field("length of the URLs"));
    }
    let mut section = vec![0; length];
    match Decompressor::new().deflate_decompress(deflated, &mut section) {
        Ok(written) if written == length => Ok(section),
        _ => Err(ChunkError::Field("deflated URLs")),
    }
}

fn read_attributes<'a>(
    numbers: &mut ChunkReader<'_>,
    url: &'a str,
) -> Result<Entry<&'a str>, ChunkError> {
    const FIELD: &str = "attributes of a URL";
    let first: u16 = numbers.small(FIELD)?;
    let second: u64 = numbers.number(FIELD)?;
    let depth = numbers.small(FIELD)?;
    let bits = u8::try_from(first >> 3).map_err(|_| ChunkError::Field(FIELD))?;
    let flags = LinkFlags::of_bits(bits);
    let priority = (first & u16::from(MAX_PRIORITY)) as u8;
    let hops = ((second >> 1) & 7) as u8;
    let retries = u8::try_from(second >> 4).map_err(|_| ChunkError::Field(FIELD))?;
    let not_before_s = if second & WAITS == WAITS { numbers.number(FIELD)? } else { 0 };
    if second & WAITS != u64::from(not_before_s > 0) {
        return Err(ChunkError::Field(FIELD));
    }
    let attributes = Attributes { depth, priority, hops, flags };
    Ok(Entry { url, attributes, via: None, retries, not_before_s })
}

const _: () = assert!(MAX_PRIORITY == 7, "three bits of the first number");
const _: () = assert!(MAX_HOPS < 7, "three bits of the second number, and one hop more");

#[cfg(test)]
mod tests;
