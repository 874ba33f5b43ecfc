//! Remembers a host's recent content: hashes in two sets. When the newer set is full it replaces
//! the older one, which is forgotten.
//!
//! Invariant: sets change only by [`SeenHashes::insert`] and [`SeenHashes::packed`], in an order
//! that chunks preserve, so that an unpacked state has the same sets. Does not depend on what is
//! hashed.

/// Hashes of one kind.
#[derive(Debug, Clone)]
pub(crate) struct SeenHashes {
    /// The newer set becomes the older one when it has this many hashes.
    capacity: usize,
    /// Hashes in ascending order.
    older: Vec<u32>,
    /// Hashes in ascending order.
    newer: Vec<u32>,
    /// Hashes inserted into the newer set since the last pack.
    unpacked: Vec<u32>,
}

/// Two are equal if they contain the same hashes. Packing does not matter.
impl PartialEq for SeenHashes {
    fn eq(&self, other: &Self) -> bool {
        self.older == other.older && self.newer == other.newer
    }
}

impl SeenHashes {
    /// Creates empty sets that rotate when one has `capacity` hashes.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, older: Vec::new(), newer: Vec::new(), unpacked: Vec::new() }
    }

    /// Returns the maximum size of a set, however many hashes are inserted between two packs.
    pub(crate) fn limit(&self) -> usize {
        2 * self.capacity
    }

    /// Returns true if a hash was inserted and is not forgotten.
    pub(crate) fn contains(&self, hash: u32) -> bool {
        self.newer.binary_search(&hash).is_ok() || self.older.binary_search(&hash).is_ok()
    }

    /// Inserts a hash if the set has room.
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

    /// Returns the hashes inserted since the last pack.
    pub(crate) fn unpacked(&self) -> &[u32] {
        &self.unpacked
    }

    /// Sets the older set from a snapshot. The newer set's hashes are inserted.
    pub(crate) fn restore_older(&mut self, older: Vec<u32>) {
        self.older = older;
    }

    /// Notes that all inserted hashes are in a chunk. The newer set then becomes the older one if
    /// it is full.
    pub(crate) fn packed(&mut self) {
        self.unpacked.clear();
        if self.newer.len() >= self.capacity {
            self.older = std::mem::take(&mut self.newer);
        }
    }

    /// Returns the approximate memory, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let hashes = self.older.capacity() + self.newer.capacity() + self.unpacked.capacity();
        hashes * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inserted_hashes_are_seen_until_two_sets_are_full() {
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
