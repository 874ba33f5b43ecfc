//! The chunk format, in which the database stores a host's URLs and links in transit. Any bytes can
//! be read in bounded memory. Numbers are LEB128.
//!
//! | field | encoding |
//! | --- | --- |
//! | version | 1 byte: 2; version 1 is also readable and has no referrers, debts or page content |
//! | kind | 1 byte: 0 snapshot, 1 delta, 2 links |
//! | checksum | CRC-32 of the kind and everything after the checksum, 4 bytes, big-endian |
//! | generation | number (snapshot, delta) |
//! | captured, failed, refused, left, pages | one number each, current totals (snapshot, delta) |
//! | shapes | floor, mask of changed slots, each slot with its debt (snapshot, delta) |
//! | page content | hashes of pages, then of lines: both sets (snapshot), or new ones (delta) |
//! | finished | number of hashes, then ascending differences (snapshot, delta) |
//! | pending or links | referrers; URLs, attributes, index of the referrer; deflated (all) |
//!
//! The first URL is stored without the prefix `https://host/` (snapshot, delta) or `https://`
//! (links).

mod bytes;
mod entries;
mod frame;
mod hashes;
mod links;
mod seen;
mod shapes;

pub(crate) use bytes::{ChunkReader, push_number};
pub(crate) use entries::{Entry, MAX_REFERRER_BYTES, MAX_TEXT_BYTES, push_entries, read_entries};
pub use frame::{ChunkError, ChunkKind, kind_of_chunk};
pub(crate) use frame::{ChunkFields, close, fields_of, open};
pub(crate) use hashes::{push_hashes, read_hashes};
pub(crate) use links::pack_entries;
pub use links::{MAX_LINKS_PER_CHUNK, UnpackedLinks, pack_links, unpack_links};
pub(crate) use seen::{push_seen, read_seen, seen_to_pack};
pub(crate) use shapes::{push_shapes, read_shapes};
