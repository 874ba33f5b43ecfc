//! Packs seeds into rows of links. A batch contains every pushed seed exactly once, in the row for
//! the slot group of its site.

use everytab_coordinator::LinksRow;
use everytab_crawl_settings::Seed;
use everytab_frontier::{Link, MAX_LINKS_PER_CHUNK, SLOTS, SuffixList, pack_links, slot_of_site};

/// Maximum seeds in a batch. Ten million seeds take 500 calls.
pub const MAX_SEEDS_PER_BATCH: usize = 20_000;
/// Slots per group. A row of links has one bit for each slot of its group.
const GROUP_SLOTS: usize = 16;
const GROUPS: usize = SLOTS / GROUP_SLOTS;

const _: () = assert!(MAX_SEEDS_PER_BATCH <= MAX_LINKS_PER_CHUNK, "a row is one chunk");

/// Seeds that are added in one call.
#[derive(Debug)]
pub struct SeedBatch<'a> {
    suffixes: &'a SuffixList,
    is_urgent: bool,
    groups: [(i32, Vec<Link>); GROUPS],
    seeds: usize,
}

impl<'a> SeedBatch<'a> {
    /// Creates an empty batch. Urgent seeds are fetched before all other URLs of their hosts.
    #[must_use]
    pub fn new(suffixes: &'a SuffixList, is_urgent: bool) -> Self {
        Self { suffixes, is_urgent, groups: Default::default(), seeds: 0 }
    }

    /// Adds a seed.
    pub fn push(&mut self, seed: Seed) {
        self.push_with_priority(seed, 0);
    }

    /// Adds a seed with a priority from 0 to 7. It is fetched before URLs of its host with a lower
    /// priority.
    pub fn push_with_priority(&mut self, seed: Seed, priority: u8) {
        let Seed { url, is_bare } = seed;
        let slot = usize::from(slot_of_site(self.suffixes.site_of(url.host())));
        if let Some((mask, links)) = self.groups.get_mut(slot / GROUP_SLOTS) {
            *mask |= 1 << (slot % GROUP_SLOTS);
            let link = Link::submitted(url, self.is_urgent, priority);
            links.push(if is_bare { link.bare() } else { link });
            self.seeds += 1;
        }
    }

    /// Returns the number of seeds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.seeds
    }

    /// Returns true if there are no seeds.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.seeds == 0
    }

    /// Returns true if the batch has [`MAX_SEEDS_PER_BATCH`] seeds, so the caller should call
    /// [`take`](Self::take).
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.seeds >= MAX_SEEDS_PER_BATCH
    }

    /// Takes the seeds as rows and empties the batch. The caller must set each row's crawl.
    pub fn take(&mut self) -> Vec<LinksRow> {
        let mut rows = Vec::new();
        for (number, group) in self.groups.iter_mut().enumerate() {
            let (slot_mask, links) = std::mem::take(group);
            for (part, data) in links.chunks(MAX_LINKS_PER_CHUNK).zip(pack_links(&links)) {
                rows.push(LinksRow {
                    crawl: 0,
                    slot_group: i16::try_from(number).unwrap_or(i16::MAX),
                    slot_mask,
                    is_urgent: self.is_urgent,
                    amount: i32::try_from(part.len()).unwrap_or(i32::MAX),
                    data,
                });
            }
        }
        self.seeds = 0;
        rows
    }
}

#[cfg(test)]
mod tests {
    use everytab_crawl_settings::parse_seed;
    use everytab_frontier::{LinkFlags, ParameterList, unpack_links};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_seed_is_in_one_row_of_its_slot(
            names in prop::collection::vec("[a-z]{1,3}", 0..200),
            is_urgent: bool,
        ) {
            let parameters = ParameterList::default();
            let suffixes = SuffixList::default();
            let mut batch = SeedBatch::new(&suffixes, is_urgent);
            let mut expected = Vec::new();
            for name in &names {
                let scheme = if name.len() > 1 { "https://" } else { "" };
                let seed = parse_seed(
                    &format!("{scheme}www.{name}.example/{name}"), &parameters,
                ).unwrap();
                expected.push((seed.url.fetched().to_owned(), scheme.is_empty()));
                batch.push(seed);
            }
            prop_assert_eq!(batch.len(), names.len());
            let mut found = Vec::new();
            for row in batch.take() {
                prop_assert_eq!(row.is_urgent, is_urgent);
                let links = unpack_links(&row.data, &parameters).unwrap().links;
                prop_assert_eq!(links.len(), usize::try_from(row.amount).unwrap());
                let mut mask = 0;
                for link in links {
                    let slot = slot_of_site(suffixes.site_of(link.url.host()));
                    prop_assert_eq!(i16::from(slot / 16), row.slot_group);
                    mask |= 1 << (slot % 16);
                    prop_assert_eq!(link.attributes.flags.contains(LinkFlags::URGENT), is_urgent);
                    prop_assert!(link.attributes.flags.contains(LinkFlags::SEED));
                    let is_bare = link.attributes.flags.contains(LinkFlags::BARE);
                    found.push((link.url.into_fetched(), is_bare));
                }
                prop_assert_eq!(mask, row.slot_mask);
            }
            expected.sort();
            found.sort();
            prop_assert_eq!(found, expected);
            prop_assert!(batch.is_empty() && batch.take().is_empty());
        }
    }
}
