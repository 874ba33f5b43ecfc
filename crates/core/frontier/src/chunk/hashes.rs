//! Packs hashes in ascending order, each as the difference from the previous one.

use super::{
    bytes::{ChunkReader, push_number},
    frame::ChunkError,
};
use crate::canonical::UrlHash;

/// Sorts hashes and appends them. There must be no duplicates.
pub(crate) fn push_hashes(out: &mut Vec<u8>, hashes: &mut [UrlHash]) {
    hashes.sort_unstable();
    push_number(out, hashes.len() as u64);
    let mut before = 0;
    for UrlHash(hash) in hashes {
        push_number(out, hash.wrapping_sub(before));
        before = *hash;
    }
}

pub(crate) fn read_hashes(
    reader: &mut ChunkReader<'_>,
    most: usize,
) -> Result<Vec<UrlHash>, ChunkError> {
    let count: usize = reader.small("finished")?;
    if count > most {
        return Err(ChunkError::TooLarge("finished"));
    }
    if count > reader.remaining() {
        return Err(ChunkError::Field("finished"));
    }
    let mut hashes = Vec::with_capacity(count);
    let mut before = 0_u64;
    for index in 0..count {
        let difference = reader.number("finished")?;
        let hash = before.checked_add(difference).ok_or(ChunkError::Field("finished"))?;
        if index > 0 && difference == 0 {
            return Err(ChunkError::Field("finished"));
        }
        hashes.push(UrlHash(hash));
        before = hash;
    }
    Ok(hashes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn hashes_round_trip_sorted(set in prop::collection::btree_set(any::<u64>(), 0..100)) {
            let sorted: Vec<UrlHash> = set.into_iter().map(UrlHash).collect();
            let mut shuffled: Vec<UrlHash> = sorted.iter().rev().copied().collect();
            let mut bytes = Vec::new();
            push_hashes(&mut bytes, &mut shuffled);
            let mut reader = ChunkReader::new(&bytes);
            prop_assert_eq!(read_hashes(&mut reader, 100), Ok(sorted));
            prop_assert_eq!(reader.remaining(), 0);
        }

        #[test]
        fn any_bytes_yield_ascending_hashes_or_an_error(bytes: Vec<u8>) {
            if let Ok(hashes) = read_hashes(&mut ChunkReader::new(&bytes), 50) {
                prop_assert!(hashes.len() <= 50 && hashes.is_sorted_by(|a, b| a < b));
            }
        }
    }

    #[test]
    fn more_than_the_maximum_is_too_large() {
        let mut bytes = Vec::new();
        push_hashes(&mut bytes, &mut [UrlHash(1), UrlHash(2)]);
        let most = |most| read_hashes(&mut ChunkReader::new(&bytes), most).map(|found| found.len());
        assert_eq!(most(2), Ok(2));
        assert_eq!(most(1), Err(ChunkError::TooLarge("finished")));
    }
}
