//! Packs page and line hashes. A snapshot has both sets of each kind, and a delta has the new
//! hashes.

use super::{
    bytes::ChunkReader,
    frame::{ChunkError, ChunkKind},
    hashes::{push_hashes, read_hashes},
};
use crate::{canonical::UrlHash, seen_hashes::SeenHashes};

pub(crate) fn seen_to_pack(kind: ChunkKind, seen: &SeenHashes) -> Vec<Vec<u32>> {
    match kind {
        ChunkKind::Snapshot => seen.all().map(<[u32]>::to_vec).into(),
        _ => vec![seen.unpacked().to_vec()],
    }
}

pub(crate) fn push_seen(out: &mut Vec<u8>, sets: Vec<Vec<u32>>) {
    for set in sets {
        let mut hashes: Vec<UrlHash> = set.into_iter().map(|hash| UrlHash(hash.into())).collect();
        push_hashes(out, &mut hashes);
    }
}

pub(crate) fn read_seen(
    reader: &mut ChunkReader<'_>,
    kind: ChunkKind,
    seen: &mut SeenHashes,
) -> Result<(), ChunkError> {
    let most = seen.limit();
    let mut read = || -> Result<Vec<u32>, ChunkError> {
        let hashes = read_hashes(reader, most)?.into_iter();
        let small = hashes.map(|UrlHash(hash)| u32::try_from(hash));
        small.collect::<Result<_, _>>().map_err(|_| ChunkError::Field("page content"))
    };
    if kind == ChunkKind::Snapshot {
        let older = read()?;
        seen.restore_older(older);
    }
    read()?.into_iter().for_each(|hash| seen.insert(hash));
    seen.packed();
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn chunks_contain_the_packed_sets(
            packs in prop::collection::vec(prop::collection::vec(any::<u32>(), 0..12), 1..8),
            snapshot_at in 0_usize..8,
        ) {
            let (mut seen, mut copy) = (SeenHashes::new(10), SeenHashes::new(10));
            for (number, hashes) in packs.into_iter().enumerate() {
                hashes.into_iter().for_each(|hash| seen.insert(hash));
                let is_snapshot = number == snapshot_at;
                let kind = if is_snapshot { ChunkKind::Snapshot } else { ChunkKind::Delta };
                let mut bytes = Vec::new();
                push_seen(&mut bytes, seen_to_pack(kind, &seen));
                seen.packed();
                if is_snapshot {
                    copy = SeenHashes::new(10);
                }
                let mut reader = ChunkReader::new(&bytes);
                prop_assert_eq!(read_seen(&mut reader, kind, &mut copy), Ok(()));
                prop_assert_eq!((reader.remaining(), &copy), (0, &seen));
                prop_assert!(seen.all().iter().all(|set| set.len() <= seen.limit()));
            }
        }
    }
}
