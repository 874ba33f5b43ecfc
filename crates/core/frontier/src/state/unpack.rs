//! Unpacks chunks into the state that was packed. A delta must follow the previous chunk, so that a
//! missing chunk causes an error instead of a wrong state.
//!
//! Hashes are computed with the current parameter list, which may make two URLs identical. A later
//! pending URL then replaces an earlier one, and a finished URL wins over a pending one. A pending
//! URL that this program cannot parse keeps the hash of its string.

use super::host_state::{HostState, MAX_KNOWN_PER_HOST, Pending, Sums};
use crate::{
    canonical::{CanonicalUrl, UrlHash, hash_of},
    chunk::{
        ChunkError, ChunkFields, ChunkKind, ChunkReader, Entry, fields_of, read_entries,
        read_hashes, read_seen, read_shapes, unpack_links,
    },
    link::Link,
    parameters::ParameterList,
    reject_reason::RejectCounts,
};

/// Maximum packs per host. A chunk with a greater generation is invalid.
const MAX_GENERATION: u64 = 1 << 32;

/// An unpacked state with links that are not merged.
#[derive(Debug, Clone, PartialEq)]
pub struct Unpacked {
    /// All its pending URLs must be fetched, including those that were in flight when it was
    /// packed.
    pub state: HostState,
    /// Links that were appended after the last pack, in order. The caller must merge them.
    pub unmerged: Vec<Link>,
    /// Appended links that cannot be parsed, by reason (see [`crate::UnpackedLinks`]).
    pub rejected: RejectCounts,
}

impl HostState {
    /// Unpacks a host's chunks in the order in which they were recorded. Without chunks, returns a
    /// new state.
    ///
    /// # Errors
    /// Returns an error for the first chunk that is malformed or out of order.
    pub fn unpack<'a>(
        host: &str,
        chunks: impl IntoIterator<Item = &'a [u8]>,
        parameters: &ParameterList,
    ) -> Result<Unpacked, ChunkError> {
        let mut state = Self::new(host);
        let mut unmerged = Vec::new();
        let mut rejected = RejectCounts::default();
        for chunk in chunks {
            let fields = fields_of(chunk)?;
            let kind = fields.kind;
            if kind == ChunkKind::Links {
                let found = unpack_links(chunk, parameters)?;
                unmerged.extend(found.links);
                rejected.add(&found.rejected);
                continue;
            }
            if kind == ChunkKind::Snapshot {
                state = Self::new(host);
                state.snapshot_bytes = chunk.len();
            } else {
                state.delta_bytes += chunk.len();
            }
            // The holder that packed this chunk had already merged these links.
            unmerged.clear();
            rejected = RejectCounts::default();
            state.apply(&fields, parameters)?;
        }
        state.shapes.forget_changes();
        state.has_unmerged = !unmerged.is_empty() || rejected.total() > 0;
        Ok(Unpacked { state, unmerged, rejected })
    }

    fn apply(
        &mut self,
        &ChunkFields { kind, is_first_version, bytes }: &ChunkFields<'_>,
        parameters: &ParameterList,
    ) -> Result<(), ChunkError> {
        let mut reader = ChunkReader::new(bytes);
        let generation = reader.number("generation")?;
        let follows = self.generation > 0 && self.generation.checked_add(1) == Some(generation);
        if kind == ChunkKind::Delta && !follows {
            return Err(ChunkError::Gap { before: self.generation, found: generation });
        }
        if !(1..=MAX_GENERATION).contains(&generation) {
            return Err(ChunkError::Field("generation"));
        }
        self.generation = generation;
        let mut number = || reader.number("sums");
        let [captured, failed, refused, left] = [number()?, number()?, number()?, number()?];
        self.ended = Sums { captured, failed, refused, left, ..Sums::default() };
        self.pages = number()?;
        if !self.shapes.apply(&read_shapes(&mut reader, !is_first_version)?) {
            return Err(ChunkError::Field("shapes"));
        }
        if !is_first_version {
            read_seen(&mut reader, kind, &mut self.novelty.pages)?;
            read_seen(&mut reader, kind, &mut self.novelty.lines)?;
        }
        for hash in read_hashes(&mut reader, MAX_KNOWN_PER_HOST)? {
            self.remove_pending(hash);
            self.finished.insert(hash);
        }
        let start = self.usual_start();
        read_entries(&mut reader, (&start, !is_first_version), MAX_KNOWN_PER_HOST, |entry| {
            self.take_entry(entry, parameters)
        })?;
        if reader.remaining() > 0 {
            return Err(ChunkError::Field("end of the chunk"));
        }
        let mut ended = [captured, failed, refused, left].into_iter();
        let ended = ended.try_fold(0_u64, u64::checked_add);
        if ended != Some(self.finished.len() as u64) {
            return Err(ChunkError::Field("sums"));
        }
        let known = self.finished.len() + self.pending.len();
        if known > MAX_KNOWN_PER_HOST || self.pages > MAX_KNOWN_PER_HOST as u64 {
            return Err(ChunkError::TooLarge("known URLs"));
        }
        Ok(())
    }

    fn take_entry(
        &mut self,
        entry: Entry<&str>,
        parameters: &ParameterList,
    ) -> Result<(), ChunkError> {
        let (hash, url) = match CanonicalUrl::parse(entry.url, parameters) {
            Ok(url) if url.host() != &*self.host => {
                return Err(ChunkError::Field("host of a pending URL"));
            }
            Ok(url) => (url.hash(), url.into_fetched()),
            Err(_) => (UrlHash(hash_of(entry.url)), entry.url.to_owned()),
        };
        if self.finished.contains(&hash) {
            return Ok(());
        }
        self.remove_pending(hash);
        self.insert_pending(
            hash,
            Pending {
                url: url.into_boxed_str(),
                attributes: entry.attributes,
                via: entry.via,
                retries: entry.retries,
                not_before_s: entry.not_before_s,
            },
        );
        Ok(())
    }
}
