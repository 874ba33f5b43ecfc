//! Links that a holder sends to other slots, and links that are appended to a host that is not
//! loaded.

use super::{
    bytes::ChunkReader,
    entries::{Entry, MAX_TEXT_BYTES, push_entries, read_entries},
    frame::{ChunkError, ChunkFields, ChunkKind, close, fields_of, open},
};
use crate::{
    canonical::{CanonicalUrl, MAX_URL_BYTES},
    link::Link,
    parameters::ParameterList,
    reject_reason::RejectCounts,
};

/// Maximum links per chunk. More links are packed into several chunks.
pub const MAX_LINKS_PER_CHUNK: usize = 50_000;

/// Prefix that the first link probably has.
const START: &str = "https://";

const _: () = assert!(MAX_LINKS_PER_CHUNK * MAX_URL_BYTES <= MAX_TEXT_BYTES);

/// Packs links into chunks with at most [`MAX_LINKS_PER_CHUNK`] links, each in URL order.
#[must_use]
pub fn pack_links(links: &[Link]) -> Vec<Vec<u8>> {
    let pack = |links: &[Link]| pack_entries(&mut links.iter().map(entry).collect::<Vec<_>>());
    links.chunks(MAX_LINKS_PER_CHUNK).map(pack).collect()
}

fn entry(Link { url, attributes, via }: &Link) -> Entry<&str> {
    let url = url.fetched();
    let attributes = *attributes;
    let via = via.clone();
    Entry { url, attributes, via, retries: 0, not_before_s: 0 }
}

pub(crate) fn pack_entries(entries: &mut [Entry<&str>]) -> Vec<u8> {
    let mut chunk = open(ChunkKind::Links);
    push_entries(&mut chunk, START, entries);
    close(chunk)
}

/// Links from a chunk.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UnpackedLinks {
    /// Links in URL order.
    pub links: Vec<Link>,
    /// Links that this program cannot parse, by reason.
    pub rejected: RejectCounts,
}

/// Unpacks the links in a chunk.
///
/// # Errors
/// Returns an error for the first invalid byte or field.
pub fn unpack_links(chunk: &[u8], parameters: &ParameterList) -> Result<UnpackedLinks, ChunkError> {
    let ChunkFields { kind, is_first_version, bytes } = fields_of(chunk)?;
    if kind != ChunkKind::Links {
        return Err(ChunkError::Field("kind"));
    }
    let mut reader = ChunkReader::new(bytes);
    let mut found = UnpackedLinks::default();
    read_entries(&mut reader, (START, !is_first_version), MAX_LINKS_PER_CHUNK, |entry| {
        let Entry { url, attributes, via, .. } = entry;
        match CanonicalUrl::parse(url, parameters) {
            Ok(url) => found.links.push(Link { url, attributes, via }),
            Err(error) => found.rejected.count(error.into()),
        }
        Ok(())
    })?;
    if reader.remaining() > 0 {
        return Err(ChunkError::Field("end of the chunk"));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        link::{Attributes, LinkFlags},
        reject_reason::RejectReason,
    };

    #[test]
    fn links_round_trip_with_their_fetched_form_and_attributes() {
        let parameters = ParameterList::default();
        let urls = ["http://b.example/?utm_source=x", "http://a.example/%7e", "http://a.example/"];
        let links = urls.map(|url| Link {
            url: CanonicalUrl::parse(url, &parameters).unwrap(),
            attributes: Attributes { depth: 7, priority: 3, hops: 5, flags: LinkFlags::SEED },
            via: (url.len() > 20).then(|| "https://c.example/".into()),
        });
        let chunks = pack_links(&links);
        let mut expected = links.to_vec();
        expected.reverse();
        let unpacked = unpack_links(&chunks[0], &parameters).unwrap();
        assert_eq!((unpacked.links, unpacked.rejected.total()), (expected, 0));
        assert_eq!((chunks.len(), pack_links(&[]).len()), (1, 0));
        let damaged = close(chunks[0][..20].to_vec());
        assert!(unpack_links(&damaged, &parameters).is_err());
    }

    #[test]
    fn a_string_that_is_no_longer_a_url_costs_only_its_link() {
        let entry = |url| {
            let attributes = Attributes::default();
            Entry { url, attributes, via: None, retries: 0, not_before_s: 0 }
        };
        let mut chunk = open(ChunkKind::Links);
        push_entries(
            &mut chunk,
            START,
            &mut [entry("http://a.example/"), entry("gopher://a.example/")],
        );
        let found = unpack_links(&close(chunk), &ParameterList::default()).unwrap();
        assert_eq!((found.links.len(), found.rejected.of(RejectReason::Scheme)), (1, 1));
    }

    #[test]
    fn numbers_out_of_bounds_affect_no_other_field() {
        let parameters = ParameterList::default();
        let flags = LinkFlags::SEED;
        let attributes = Attributes { depth: u16::MAX, priority: 255, hops: 255, flags };
        let url = CanonicalUrl::parse("http://a.example/", &parameters).unwrap();
        let chunks = pack_links(&[Link { url, attributes, via: None }]);
        let found = unpack_links(&chunks[0], &parameters).unwrap().links;
        let expected = Attributes { depth: u16::MAX, priority: 7, hops: 7, flags };
        assert_eq!(found[0].attributes, expected);
    }

    proptest! {
        #[test]
        fn any_bytes_yield_links_or_an_error(fields: Vec<u8>) {
            let mut chunk = open(ChunkKind::Links);
            chunk.extend(fields);
            unpack_links(&close(chunk), &ParameterList::default()).ok();
        }
    }
}
