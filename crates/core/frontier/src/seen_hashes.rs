//! Remembers hashes of a host's recent content in two sets. When the newer set is full, it replaces
//! the older set, whose hashes are forgotten.
//!
//! Invariant: the sets change only by [`SeenHashes::insert`] and [`SeenHashes::packed`], and when a
//! snapshot is read. Chunks preserve the order of these changes, so an unpacked state has the same
//! sets. This module does not depend on the content that is hashed.

/// Hashes of one kind.
#[derive(Debug, Clone)]
pub(crate) struct SeenHashes {
    /// At this size, the newer set replaces the older one with the next pack.
    capacity: usize,
    /// Hashes in ascending order.
    older: Vec<u32>,
    /// Hashes in ascending order.
    newer: Vec<u32>,
    /// Hashes that were inserted since the last pack.
    unpacked: Vec<u32>,
}

/// Two values are equal if their sets are equal, even if different hashes are packed.
impl PartialEq for SeenHashes {
    fn eq(&self, other: &Self) -> bool {
        self.older == other.older && self.newer == other.newer
    }
}

impl SeenHashes {
    /// Creates empty sets that rotate when the newer one has `capacity` hashes.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, older: Vec::new(), newer: Vec::new(), unpacked: Vec::new() }
    }

    /// Returns the maximum size of a set. A set may exceed its capacity until the next pack.
    pub(crate) fn limit(&self) -> usize {
        2 * self.capacity
    }

    /// Returns true if a hash was inserted and is not forgotten.
    pub(crate) fn contains(&self, hash: u32) -> bool {
        self.newer.binary_search(&hash).is_ok() || self.older.binary_search(&hash).is_ok()
    }

    /// Inserts a hash if the newer set does not contain it and has room.
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

    /// Returns the hashes that were inserted since the last pack.
    pub(crate) fn unpacked(&self) -> &[u32] {
        &self.unpacked
    }

    /// Sets the older set from a snapshot. The caller then inserts the hashes of the newer set.
    pub(crate) fn restore_older(&mut self, older: Vec<u32>) {
        self.older = older;
    }

    /// Records that all inserted hashes are in a chunk. If the newer set is full, it then becomes
    /// the older set.
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
