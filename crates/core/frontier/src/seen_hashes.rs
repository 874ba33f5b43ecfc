//! Remembers recent hashes in two sets. When the newer set is full, it replaces the older set.

#[derive(Debug, Clone)]
pub(crate) struct SeenHashes {
    /// Size at which the newer set replaces the older one with the next pack.
    capacity: usize,
    /// Ascending.
    older: Vec<u32>,
    /// Ascending.
    newer: Vec<u32>,
    unpacked: Vec<u32>,
}

/// Two values are equal if their sets are equal, even if different hashes are unpacked.
impl PartialEq for SeenHashes {
    fn eq(&self, other: &Self) -> bool {
        self.older == other.older && self.newer == other.newer
    }
}

impl SeenHashes {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, older: Vec::new(), newer: Vec::new(), unpacked: Vec::new() }
    }

    /// Returns a set's maximum size, which may exceed its capacity until the next pack.
    pub(crate) fn limit(&self) -> usize {
        2 * self.capacity
    }

    pub(crate) fn contains(&self, hash: u32) -> bool {
        self.newer.binary_search(&hash).is_ok() || self.older.binary_search(&hash).is_ok()
    }

    pub(crate) fn insert(&mut self, hash: u32) {
        if let Err(at) = self.newer.binary_search(&hash)
            && self.newer.len() < self.limit()
        {
            self.newer.insert(at, hash);
            self.unpacked.push(hash);
        }
    }

    pub(crate) fn all(&self) -> [&[u32]; 2] {
        [&self.older, &self.newer]
    }

    pub(crate) fn unpacked(&self) -> &[u32] {
        &self.unpacked
    }

    /// Restores the older set from a snapshot, before the caller inserts the newer set's hashes.
    pub(crate) fn restore_older(&mut self, older: Vec<u32>) {
        self.older = older;
    }

    /// Rotates the sets if the newer one is full, because all inserted hashes are in a chunk.
    pub(crate) fn packed(&mut self) {
        self.unpacked.clear();
        if self.newer.len() >= self.capacity {
            self.older = std::mem::take(&mut self.newer);
        }
    }

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
