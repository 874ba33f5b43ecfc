//! A scan's map: where its parts are, where its tiles are written, and its dimensions.

use std::{collections::BTreeSet, sync::Arc};

use everytab_bundler::map::MapLayout;
use everytab_storage::Store;
use uuid::Uuid;

/// A map's input, and the store for its tiles.
#[derive(Debug)]
pub struct ScanMap {
    /// The store with the shards' parts.
    pub archive: Arc<dyn Store>,
    /// The site's store.
    pub site: Arc<dyn Store>,
    /// The scan's id.
    pub scan_id: Uuid,
    /// The shards whose bundles have been written.
    pub shards: BTreeSet<i32>,
    /// Number of bundles in this scan.
    pub bundles: u32,
    /// Number of bundles per shard.
    pub bundles_per_shard: u32,
    /// The map's dimensions.
    pub layout: MapLayout,
}

/// Counts of a drawn region or order.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct DrawnRegion {
    /// Bundles shown by the tiles.
    pub bundles: u64,
    /// Bundles left empty, because their shard has no part.
    pub left_empty: u64,
    /// Tiles written.
    pub tiles: u64,
    /// Their total size in bytes.
    pub bytes: u64,
}
