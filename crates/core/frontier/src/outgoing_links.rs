//! Links to hosts in other slots, until a checkpoint sends them. Many links wait here, so each
//! takes only its URL and 24 bytes.

use std::sync::Arc;

use crate::{
    canonical::{MAX_URL_BYTES, UrlHash},
    chunk::{Entry, MAX_LINKS_PER_CHUNK, pack_entries},
    link::{Attributes, Link},
};

/// Links for several slots, in insertion order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OutgoingLinks {
    text: String,
    entries: Vec<OutgoingEntry>,
    /// Referrers, each added before the first entry that uses it.
    vias: Vec<Arc<str>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct OutgoingEntry {
    hash: UrlHash,
    /// The referrer's index from 1, or 0 if this link has none.
    vias: u32,
    length: u16,
    attributes: Attributes,
    slot: u8,
}

const _: () = assert!(size_of::<OutgoingEntry>() == 24 && MAX_URL_BYTES <= u16::MAX as usize);

/// A link for a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutgoingLink<'a> {
    /// The slot.
    pub slot: u8,
    /// The normalized key's hash.
    pub hash: UrlHash,
    /// URL to request.
    pub url: &'a str,
    /// The attributes.
    pub attributes: Attributes,
    /// URL that links or redirects to this one.
    pub via: Option<&'a Arc<str>>,
}

/// Packed links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedLinks {
    /// Slots for these links, ascending and without duplicates.
    pub slots: Vec<u8>,
    /// Number of packed links.
    pub amount: usize,
    /// Chunk for [`crate::unpack_links`].
    pub bytes: Vec<u8>,
}

impl OutgoingLinks {
    /// Appends a link.
    pub fn push(&mut self, link: OutgoingLink<'_>) {
        let OutgoingLink { slot, hash, url, attributes, via } = link;
        let Ok(length) = u16::try_from(url.len()) else { return };
        if let Some(via) = via.filter(|via| self.vias.last() != Some(via)) {
            self.vias.push(Arc::clone(via));
        }
        let vias = if via.is_some() { u32::try_from(self.vias.len()).unwrap_or(0) } else { 0 };
        self.text.push_str(url);
        self.entries.push(OutgoingEntry { hash, vias, length, attributes, slot });
    }

    /// Returns the number of links.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if there are no links.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Iterates over the links.
    pub fn iter(&self) -> impl Iterator<Item = OutgoingLink<'_>> {
        let mut start = 0;
        self.entries.iter().map(move |entry| {
            let OutgoingEntry { hash, vias, length, attributes, slot } = *entry;
            let end = start + usize::from(length);
            let url = self.text.get(start..end).unwrap_or_default();
            start = end;
            let via = vias.checked_sub(1).and_then(|at| self.vias.get(at as usize));
            OutgoingLink { slot, hash, url, attributes, via }
        })
    }

    /// Packs the links into chunks with at most [`MAX_LINKS_PER_CHUNK`] links.
    #[must_use]
    pub fn pack(&self) -> Vec<PackedLinks> {
        let mut links = self.iter().peekable();
        let mut packed = Vec::new();
        while links.peek().is_some() {
            let (mut slots, mut entries) = (Vec::new(), Vec::new());
            for link in links.by_ref().take(MAX_LINKS_PER_CHUNK) {
                let OutgoingLink { slot, url, attributes, via, .. } = link;
                slots.push(slot);
                let via = via.cloned();
                entries.push(Entry { url, attributes, via, retries: 0, not_before_s: 0 });
            }
            slots.sort_unstable();
            slots.dedup();
            let amount = entries.len();
            packed.push(PackedLinks { slots, amount, bytes: pack_entries(&mut entries) });
        }
        packed
    }
}

impl<'a> FromIterator<&'a (u8, Link)> for OutgoingLinks {
    fn from_iter<I: IntoIterator<Item = &'a (u8, Link)>>(links: I) -> Self {
        let mut sent = Self::default();
        for (slot, Link { url, attributes, via }) in links {
            let hash = url.hash();
            let url = url.fetched();
            let attributes = *attributes;
            sent.push(OutgoingLink { slot: *slot, hash, url, attributes, via: via.as_ref() });
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
            let via = (!number.is_multiple_of(5))
                .then(|| format!("https://from.example/{}", number / 10).into());
            (u8::try_from(number % 7 * 16).unwrap(), Link { url, attributes, via })
        };
        (0..number).map(link).collect()
    }

    #[test]
    fn links_are_kept_in_the_order_they_were_found() {
        let found = links(30);
        let sent: OutgoingLinks = found.iter().collect();
        assert_eq!((sent.len(), sent.is_empty()), (30, false));
        for (one, (slot, link)) in sent.iter().zip(&found) {
            assert_eq!((one.slot, one.hash, one.url), (*slot, link.url.hash(), link.url.fetched()));
            assert_eq!((one.attributes, one.via), (link.attributes, link.via.as_ref()));
        }
        assert_eq!(sent.iter().count(), 30);
        assert_eq!(OutgoingLinks::default().pack(), []);
    }

    #[test]
    fn a_chunk_has_a_bounded_number_of_links_and_names_their_slots() {
        let found = links(MAX_LINKS_PER_CHUNK + 3);
        let packed = found.iter().collect::<OutgoingLinks>().pack();
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
