//! The referrers of a host's pending URLs, each with a count of the URLs that have it.

use std::{collections::HashMap, sync::Arc};

use crate::chunk::MAX_REFERRER_BYTES;

#[derive(Debug, Clone, Default)]
pub(super) struct Referrers {
    uses: HashMap<Arc<str>, u32>,
    bytes: usize,
}

impl Referrers {
    /// Counts one more use for this referrer and returns the shared string. `None` if the memory
    /// limit is reached.
    pub(super) fn add(&mut self, via: Arc<str>) -> Option<Arc<str>> {
        if let Some((known, _)) = self.uses.get_key_value(&via) {
            let known = Arc::clone(known);
            *self.uses.entry(Arc::clone(&known)).or_default() += 1;
            return Some(known);
        }
        if self.bytes + via.len() > MAX_REFERRER_BYTES {
            return None;
        }
        self.bytes += via.len();
        self.uses.insert(Arc::clone(&via), 1);
        Some(via)
    }

    pub(super) fn remove(&mut self, via: &Arc<str>) {
        let Some(uses) = self.uses.get_mut(via) else { return };
        *uses -= 1;
        if *uses == 0 {
            self.uses.remove(via);
            self.bytes -= via.len();
        }
    }

    #[cfg(test)]
    pub(super) fn check<'a>(&self, vias: impl Iterator<Item = &'a Arc<str>>) {
        let mut uses: HashMap<Arc<str>, u32> = HashMap::new();
        vias.for_each(|via| *uses.entry(Arc::clone(via)).or_default() += 1);
        assert_eq!(self.uses, uses);
        assert_eq!(self.bytes, uses.keys().map(|via| via.len()).sum::<usize>());
    }

    pub(super) fn memory_bytes(&self) -> usize {
        // Each string is preceded by two counters, and a map may have room for twice its entries.
        let each = size_of::<(Arc<str>, u32)>() * 2 + size_of::<usize>() * 2;
        self.bytes + each * self.uses.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_referrer_is_kept_once_while_any_url_names_it() {
        let mut referrers = Referrers::default();
        let first = referrers.add("https://a.example/".into()).unwrap();
        let second = referrers.add("https://a.example/".into()).unwrap();
        assert!(Arc::ptr_eq(&first, &second));
        assert_eq!((referrers.uses.len(), referrers.bytes), (1, 18));
        referrers.remove(&first);
        assert_eq!(referrers.bytes, 18);
        referrers.remove(&second);
        assert_eq!((referrers.uses.len(), referrers.bytes), (0, 0));
    }

    #[test]
    fn referrers_are_bounded() {
        let mut referrers = Referrers::default();
        let long = |n: usize| format!("{n:06}{}", "x".repeat((1 << 20) - 6)).into();
        let kept = (0..20).filter(|n| referrers.add(long(*n)).is_some()).count();
        assert_eq!((kept, referrers.bytes), (16, MAX_REFERRER_BYTES));
    }
}
