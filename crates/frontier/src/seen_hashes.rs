//! What was said on a host lately: hashes in two sets, of which the older one is forgotten when the
//! newer one is full.
//!
//! Invariant: sets change by [`SeenHashes::insert`] and [`SeenHashes::packed`] alone, in an order
//! that chunks have, so a state and what is unpacked of it have the same sets. Does not depend on
//! what is hashed.

/// The hashes of one kind.
#[derive(Debug, Clone)]
pub(crate) struct SeenHashes {
    /// The number of hashes from which on the newer set becomes the older one.
    capacity: usize,
    /// Ascending.
    older: Vec<u32>,
    /// Ascending.
    newer: Vec<u32>,
    /// Those of the newer set that were inserted since the last pack.
    unpacked: Vec<u32>,
}

/// Two are equal if they know the same hashes; what is packed does not matter.
impl PartialEq for SeenHashes {
    fn eq(&self, other: &Self) -> bool {
        self.older == other.older && self.newer == other.newer
    }
}

impl SeenHashes {
    /// Makes sets that are empty, and change places when one has `capacity` hashes.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, older: Vec::new(), newer: Vec::new(), unpacked: Vec::new() }
    }

    /// Returns the maximum number of hashes that a set has, however many come between two packs.
    pub(crate) fn limit(&self) -> usize {
        2 * self.capacity
    }

    /// Returns true if a hash was inserted and is not forgotten.
    pub(crate) fn contains(&self, hash: u32) -> bool {
        self.newer.binary_search(&hash).is_ok() || self.older.binary_search(&hash).is_ok()
    }

    /// Inserts a hash, if there is room for it.
    pub(crate) fn insert(&mut self, hash: u32) {
        if let Err(at) = self.newer.binary_search(&hash)
            && self.newer.len() < self.limit()
        {
            self.newer.insert(at, hash);
            self.unpacked.push(hash);
        }
    }

    /// Returns both sets, the older one first.
    pub(crate) fn all(&self) -> [&[u32]; 2] {
        [&self.older, &self.newer]
    }

    /// Returns what was inserted since the last pack.
    pub(crate) fn unpacked(&self) -> &[u32] {
        &self.unpacked
    }

    /// Takes the older set that a snapshot has; the newer one is inserted.
    pub(crate) fn restore_older(&mut self, older: Vec<u32>) {
        self.older = older;
    }

    /// Notes that a chunk has all that was inserted. Then the newer set becomes the older one, if
    /// it is full.
    pub(crate) fn packed(&mut self) {
        self.unpacked.clear();
        if self.newer.len() >= self.capacity {
            self.older = std::mem::take(&mut self.newer);
        }
    }

    /// Returns about how many bytes of memory they take.
    pub(crate) fn memory_bytes(&self) -> usize {
        let hashes = self.older.capacity() + self.newer.capacity() + self.unpacked.capacity();
        hashes * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_inserted_is_seen_until_two_sets_are_full() {
        let mut seen = SeenHashes::new(3);
        for hash in [5, 1, 9, 5] {
            seen.insert(hash);
        }
        assert_eq!((seen.unpacked(), seen.all()), (&[5, 1, 9][..], [&[][..], &[1, 5, 9]]));
        seen.packed();
        assert_eq!((seen.unpacked(), seen.all()), (&[][..], [&[1, 5, 9][..], &[]]));
        for hash in 10..20 {
            seen.insert(hash);
        }
        assert!(seen.contains(1) && seen.contains(15) && !seen.contains(16), "{seen:?}");
        seen.packed();
        assert!(!seen.contains(1) && seen.contains(15));
    }
}
