//! Counts a scan's objects, the requests by which its jobs read them, and its search and map jobs.

use std::collections::BTreeSet;

use everytab_bundler::{
    map::MapLayout,
    map_order::{FINEST_LEVEL, MapOrder, OrderLayout, TABS_PER_FILE},
    search::{RANGES, files::HOSTNAMES_PER_FILE, ranks::RANKED_HOSTS},
};

/// Archive objects per shard: icons, search part, map part.
const ARCHIVED_OF_A_SHARD: u64 = 3;
/// Requests for a shard's archive: one for its size and one for its bytes.
const ARCHIVE_READS: u64 = 2;
/// Requests per range for a search part: one for the header and one for the lines.
const RANGE_READS: u64 = 2;
/// Requests of the orders for a shard's parts: its map part for each of three orders, and its
/// search part for two.
const READS_OF_ORDERS: u64 = 5;
/// Number of sorted name files per file of best results, measured with 30 million names.
const NAMES_A_BEST_FILE: u64 = 5;
/// Ranked hosts per word file, measured with a million hosts.
const RANKED_HOSTS_A_FILE: u64 = 100;
const FILES_OF_THE_PAGE: u64 = 12;
/// The tile level at which a map job reads parts, as in `everytab_jobs::map`.
const LEVEL_OF_READS: u32 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Objects {
    pub(super) hosts: u64,
    pub(super) shards: u64,
    pub(super) bundles: u64,
    pub(super) entries_per_bundle: u32,
}

impl Objects {
    pub(super) fn archived(&self) -> u64 {
        ARCHIVED_OF_A_SHARD * self.shards
    }

    pub(super) fn published(&self) -> u64 {
        let map = self.tiles() + self.objects_of_orders();
        self.bundles + self.shards + self.search_files() + map + FILES_OF_THE_PAGE
    }

    /// Backups do not contain link pages.
    pub(super) fn link_pages(&self) -> u64 {
        self.bundles
    }

    fn search_files(&self) -> u64 {
        let names = self.name_files();
        let words = self.ranked() / RANKED_HOSTS_A_FILE;
        names + names / NAMES_A_BEST_FILE + words + 2 * RANGES as u64 + 1
    }

    fn name_files(&self) -> u64 {
        self.hosts.div_ceil(HOSTNAMES_PER_FILE as u64)
    }

    pub(super) fn ranked(&self) -> u64 {
        self.hosts.min(RANKED_HOSTS as u64)
    }

    fn layout(&self) -> Option<MapLayout> {
        MapLayout::new(self.bundles, self.entries_per_bundle)
    }

    fn tiles(&self) -> u64 {
        let layout = self.layout();
        layout.map_or(0, |layout| (0..layout.levels()).map(|level| tiles_of(&layout, level)).sum())
    }

    fn objects_of_orders(&self) -> u64 {
        let Some(order) = self.layout().map(|layout| OrderLayout::new(layout, self.hosts)) else {
            return 0;
        };
        let tiles = (FINEST_LEVEL..order.levels()).map(|level| order.tiles_at(level));
        let tiles: u64 = tiles.map(|(across, down)| u64::from(across) * u64::from(down)).sum();
        orders() * (tiles + self.hosts.div_ceil(TABS_PER_FILE) + 1)
    }

    pub(super) fn closing_jobs(&self) -> u64 {
        let orders = self.layout().map_or(0, |_| orders());
        RANGES as u64 + 1 + self.regions() + orders
    }

    fn regions(&self) -> u64 {
        self.layout().map_or(0, |layout| tiles_of(&layout, layout.region_level()))
    }

    /// Returns the number of requests for the scan's objects.
    pub(super) fn reads(&self) -> u64 {
        let of_a_shard = ARCHIVE_READS + RANGE_READS * RANGES as u64 + 1 + READS_OF_ORDERS;
        let names = self.name_files() + RANGES as u64;
        let of_links = names + self.link_pages();
        of_a_shard * self.shards + self.part_reads() + self.regions() + of_links
    }

    /// For each tile at [`LEVEL_OF_READS`], a map job reads the parts of all shards with a bundle
    /// there.
    fn part_reads(&self) -> u64 {
        let (Some(layout), Ok(bundles)) = (self.layout(), u32::try_from(self.bundles)) else {
            return 0;
        };
        let per_shard = (self.bundles / self.shards.max(1)).max(1);
        let shards = |tile| -> BTreeSet<u64> {
            let bundles = layout.bundles_in(tile, bundles).into_iter();
            bundles.map(|bundle| u64::from(bundle) / per_shard).collect()
        };
        let tiles = layout.tiles_of(LEVEL_OF_READS.min(layout.region_level()));
        tiles.map(|tile| shards(tile).len() as u64).sum()
    }
}

fn orders() -> u64 {
    MapOrder::ALL.len() as u64
}

fn tiles_of(layout: &MapLayout, level: u32) -> u64 {
    u64::from(layout.tiles_across(level)).pow(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirty_million_hosts_have_the_objects_that_the_records_count() {
        let objects = Objects {
            hosts: 30_000_000,
            shards: 25_000,
            bundles: 250_000,
            entries_per_bundle: 120,
        };
        assert_eq!(objects.closing_jobs(), 28 + 1 + 121 + 3);
        assert_eq!(objects.search_files(), 30_000 + 6_000 + 10_000 + 57);
        assert_eq!(objects.tiles(), 9_432);
        assert_eq!(objects.archived(), 75_000);
        assert_eq!(objects.objects_of_orders(), 3 * 842);
        assert_eq!(objects.published(), 250_000 + 25_000 + 46_057 + 9_432 + 2_526 + 12);
        let parts = objects.part_reads();
        assert!((30_000..36_000).contains(&parts), "{parts}");
        let of_links = 30_000 + 28 + 250_000;
        assert_eq!(objects.reads(), 25_000 * 64 + parts + 121 + of_links);
    }

    #[test]
    fn a_scan_without_hosts_has_the_page_alone() {
        let none = Objects { hosts: 0, shards: 0, bundles: 0, entries_per_bundle: 120 };
        assert_eq!((none.archived(), none.published()), (0, 12 + 57));
        assert_eq!((none.reads(), none.closing_jobs()), (28, 29));
    }
}
