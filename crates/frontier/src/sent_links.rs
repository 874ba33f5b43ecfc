//! Links to hosts of other slots until a checkpoint sends them: thousands of pages' links wait for
//! the archives of their pages, so each takes its text and 24 bytes, and no memory of its own.
//!
//! Must not know: pages, checkpoints.

use crate::{
    canonical::UrlHash,
    chunk::{Entry, MAX_LINKS_PER_CHUNK, pack_entries},
    link::{Attributes, Link},
};

/// Links for several slots, in the order in which they were pushed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SentLinks {
    /// The URLs, one behind the other.
    text: String,
    entries: Vec<SentEntry>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SentEntry {
    hash: UrlHash,
    /// Where its URL ends in the text.
    end: usize,
    attributes: Attributes,
    slot: u8,
}

/// A link for a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentLink<'a> {
    /// The slot.
    pub slot: u8,
    /// The hash of the normalized key.
    pub hash: UrlHash,
    /// The URL as it is fetched.
    pub url: &'a str,
    /// What is kept of it.
    pub attributes: Attributes,
}

/// Some of the links, packed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedLinks {
    /// The slots that they are for, ascending, each once.
    pub slots: Vec<u8>,
    /// Number of links.
    pub amount: usize,
    /// The chunk, as [`crate::unpack_links`] reads it.
    pub bytes: Vec<u8>,
}

impl SentLinks {
    /// Appends a link.
    pub fn push(&mut self, link: SentLink<'_>) {
        let SentLink { slot, hash, url, attributes } = link;
        self.text.push_str(url);
        self.entries.push(SentEntry { hash, end: self.text.len(), attributes, slot });
    }

    /// Number of links.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no link.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The links.
    pub fn iter(&self) -> impl Iterator<Item = SentLink<'_>> {
        let mut start = 0;
        self.entries.iter().map(move |entry| {
            let SentEntry { hash, end, attributes, slot } = *entry;
            let url = self.text.get(start..end).unwrap_or_default();
            start = end;
            SentLink { slot, hash, url, attributes }
        })
    }

    /// Packs the links into chunks of at most [`MAX_LINKS_PER_CHUNK`].
    #[must_use]
    pub fn pack(&self) -> Vec<PackedLinks> {
        let mut links = self.iter().peekable();
        let mut packed = Vec::new();
        while links.peek().is_some() {
            let (mut slots, mut entries) = (Vec::new(), Vec::new());
            for SentLink { slot, url, attributes, .. } in links.by_ref().take(MAX_LINKS_PER_CHUNK) {
                slots.push(slot);
                entries.push(Entry { url, attributes, retries: 0, not_before_s: 0 });
            }
            slots.sort_unstable();
            slots.dedup();
            let amount = entries.len();
            packed.push(PackedLinks { slots, amount, bytes: pack_entries(&mut entries) });
        }
        packed
    }
}

impl<'a> FromIterator<&'a (u8, Link)> for SentLinks {
    fn from_iter<I: IntoIterator<Item = &'a (u8, Link)>>(links: I) -> Self {
        let mut sent = Self::default();
        for (slot, Link { url, attributes }) in links {
            let (hash, url, attributes) = (url.hash(), url.fetched(), *attributes);
            sent.push(SentLink { slot: *slot, hash, url, attributes });
        }
        sent.text.shrink_to_fit();
        sent.entries.shrink_to_fit();
        sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        canonical::CanonicalUrl, chunk::unpack_links, link::LinkFlags, parameters::ParameterList,
    };

    fn links(number: usize) -> Vec<(u8, Link)> {
        let link = |number: usize| {
            let url = format!("https://{}.example/{number}?utm_source=é", number % 7);
            let url = CanonicalUrl::parse(&url, &ParameterList::default()).unwrap();
            let depth = u16::try_from(number % 9).unwrap();
            let attributes = Attributes { depth, flags: LinkFlags::SEED, ..Attributes::default() };
            (u8::try_from(number % 7 * 16).unwrap(), Link { url, attributes })
        };
        (0..number).map(link).collect()
    }

    #[test]
    fn links_wait_as_they_were_found() {
        let found = links(30);
        let sent: SentLinks = found.iter().collect();
        assert_eq!((sent.len(), sent.is_empty()), (30, false));
        for (one, (slot, link)) in sent.iter().zip(&found) {
            assert_eq!((one.slot, one.hash, one.url), (*slot, link.url.hash(), link.url.fetched()));
            assert_eq!(one.attributes, link.attributes);
        }
        assert_eq!(sent.iter().count(), 30);
        assert_eq!(SentLinks::default().pack(), []);
    }

    #[test]
    fn a_chunk_has_at_most_so_many_links_and_names_their_slots() {
        let found = links(MAX_LINKS_PER_CHUNK + 3);
        let packed = found.iter().collect::<SentLinks>().pack();
        let amounts: Vec<usize> = packed.iter().map(|one| one.amount).collect();
        assert_eq!(amounts, [MAX_LINKS_PER_CHUNK, 3]);
        assert_eq!(packed[0].slots, [0, 16, 32, 48, 64, 80, 96]);
        let rest = found[MAX_LINKS_PER_CHUNK..].iter();
        let mut slots: Vec<u8> = rest.clone().map(|(slot, _)| *slot).collect();
        slots.sort_unstable();
        assert_eq!(packed[1].slots, slots);
        let mut expected: Vec<Link> = rest.map(|(_, link)| link.clone()).collect();
        expected.sort_unstable_by(|a, b| a.url.fetched().cmp(b.url.fetched()));
        let read = unpack_links(&packed[1].bytes, &ParameterList::default()).unwrap();
        assert_eq!(read.links, expected);
    }
}
