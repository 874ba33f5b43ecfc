//! The map: every icon in a scan on one plane, in tiles at several levels.
//!
//! Bundle `b` is in column `b % side` and row `b / side`. Within the bundle's square, the tab in
//! slot `s` is in column `s % grid` and row `s / grid`. At level 0 a cell has 8x8 pixels, and each
//! further level halves its width and height. A tile's side has `48 * grid` pixels at every level.

pub mod landmarks;
pub mod part;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use self::part::CELL_PIXELS;
use crate::object_names;

const BUNDLES_OF_A_TILE: u32 = 6;
/// The coarsest level at which a pixel shows at most one cell. Map jobs draw the levels up to this
/// one, and publishing draws the others.
pub const CELL_LEVEL: u32 = 3;
/// The region that a map job draws has this many bundles per side. The database counts the map jobs
/// with the same number.
const BUNDLES_OF_A_REGION: u32 = BUNDLES_OF_A_TILE << CELL_LEVEL;
/// Maximum cells along a bundle's edge, for up to 1,024 tabs. A scan with larger bundles has no
/// map, because the map jobs' memory grows with this number's square.
const MAX_GRID: u32 = 32;
/// The background colour. White and black icons are visible on this grey, and a tile can represent
/// it exactly.
pub const BACKGROUND: [u8; 3] = [219, 219, 219];

/// A tile: its level, column and row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TileNumber {
    /// The level, 0 for the most detailed.
    pub level: u32,
    /// The column, counted in tiles at this level.
    pub column: u32,
    /// The row, counted in tiles at this level.
    pub row: u32,
}

impl TileNumber {
    /// Returns this tile's path below the scan's prefix.
    #[must_use]
    pub fn path(self) -> String {
        object_names::map_tile_path(self.level, self.column, self.row)
    }

    /// Returns this tile's path in an order's tile directory.
    #[must_use]
    pub fn path_in(self, folder: &str) -> String {
        object_names::tile_path_in(folder, self.level, self.column, self.row)
    }

    /// Returns this tile's name in the manifest's overrides.
    #[must_use]
    pub fn name(self) -> String {
        format!("{}/{}-{}", self.level, self.column, self.row)
    }

    /// Returns the tile at the next coarser level that contains this tile.
    #[must_use]
    pub fn parent(self) -> Self {
        Self { level: self.level + 1, column: self.column / 2, row: self.row / 2 }
    }

    /// Returns the four tiles at the next more detailed level, row by row. Some may be outside the
    /// map.
    #[must_use]
    pub fn children(self) -> Vec<Self> {
        let Some(level) = self.level.checked_sub(1) else { return Vec::new() };
        let of = |(x, y)| Self { level, column: self.column * 2 + x, row: self.row * 2 + y };
        [(0, 0), (1, 0), (0, 1), (1, 1)].map(of).to_vec()
    }
}

/// Everything that the page needs to read the map.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapManifest {
    /// Bundles per row.
    pub side: u32,
    /// Cells per row in a bundle.
    pub grid: u32,
    /// Number of levels.
    pub levels: u32,
    /// A tile's width and height in pixels.
    pub tile: u32,
    /// File extension for tiles.
    pub extension: String,
    /// Colour of cells without an icon, as `#rrggbb`.
    pub background: String,
    /// Whether there are landmarks in `map/landmarks.tsv`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub landmarks: bool,
    /// Maps each tile that a takedown painted over, as `<level>/<column>-<row>`, to its path.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub overrides: BTreeMap<String, String>,
    /// Maps each order's name to the path of its `index.json`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub orders: BTreeMap<String, String>,
}

impl MapManifest {
    /// Returns a tile's path. A takedown's override takes precedence.
    #[must_use]
    pub fn tile_path(&self, tile: TileNumber) -> String {
        self.overrides.get(&tile.name()).cloned().unwrap_or_else(|| tile.path())
    }

    /// Returns this map's layout. `None` if this program version does not write maps with these
    /// dimensions and this format.
    #[must_use]
    pub fn layout(&self) -> Option<MapLayout> {
        let layout = MapLayout { side: self.side, grid: self.grid };
        let is_ours = (1..=MAX_SIDE).contains(&self.side) && (1..=MAX_GRID).contains(&self.grid);
        let same = |ours: &Self| {
            (ours.levels, ours.tile, &ours.extension) == (self.levels, self.tile, &self.extension)
        };
        (is_ours && same(&layout.manifest())).then_some(layout)
    }
}

/// Maximum bundles per row, because bundle numbers have 31 bits.
const MAX_SIDE: u32 = 46_341;

/// A map's layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MapLayout {
    side: u32,
    grid: u32,
}

impl MapLayout {
    /// Returns the layout for this many bundles with at most `most_tabs` tabs each. `None` if there
    /// are no tabs, or if the bundles are too large or too many.
    #[must_use]
    pub fn new(bundles: u64, most_tabs: u32) -> Option<Self> {
        let side = u32::try_from(ceil_sqrt(bundles)).ok()?;
        let grid = u32::try_from(ceil_sqrt(u64::from(most_tabs))).ok()?;
        let fits = (1..=MAX_SIDE).contains(&side) && (1..=MAX_GRID).contains(&grid);
        fits.then_some(Self { side, grid })
    }

    /// Returns the map's entry in the manifest.
    #[must_use]
    pub fn manifest(&self) -> MapManifest {
        let [red, green, blue] = BACKGROUND;
        MapManifest {
            side: self.side,
            grid: self.grid,
            levels: self.levels(),
            tile: self.tile_pixels() as u32,
            extension: object_names::MAP_TILE_EXTENSION.to_owned(),
            background: format!("#{red:02x}{green:02x}{blue:02x}"),
            landmarks: false,
            overrides: BTreeMap::new(),
            orders: BTreeMap::new(),
        }
    }

    /// Returns the number of bundles per row.
    #[must_use]
    pub fn side(&self) -> usize {
        self.side as usize
    }

    /// Returns the number of cells per row in a bundle.
    #[must_use]
    pub fn grid(&self) -> usize {
        self.grid as usize
    }

    /// Returns a tile's width and height in pixels.
    #[must_use]
    pub fn tile_pixels(&self) -> usize {
        (BUNDLES_OF_A_TILE * CELL_PIXELS * self.grid) as usize
    }

    /// Returns a bundle's width and height at level 0 in pixels.
    #[must_use]
    pub fn bundle_pixels(&self) -> usize {
        (CELL_PIXELS * self.grid) as usize
    }

    /// Returns the number of levels. One tile at the last level shows everything.
    #[must_use]
    pub fn levels(&self) -> u32 {
        let enough = |level: &u32| BUNDLES_OF_A_TILE << level >= self.side;
        1 + (0..16).find(enough).unwrap_or(16)
    }

    /// Returns the coarsest level that map jobs draw.
    #[must_use]
    pub fn region_level(&self) -> u32 {
        CELL_LEVEL.min(self.levels() - 1)
    }

    /// Returns the number of tiles per row at a level.
    #[must_use]
    pub fn tiles_across(&self, level: u32) -> u32 {
        self.side.div_ceil(BUNDLES_OF_A_TILE << level)
    }

    /// Returns true if this tile shows a part of this map.
    #[must_use]
    pub fn has(&self, tile: TileNumber) -> bool {
        let across = self.tiles_across(tile.level);
        tile.level < self.levels() && tile.column < across && tile.row < across
    }

    /// Iterates over a level's tiles, row by row.
    pub fn tiles_of(&self, level: u32) -> impl Iterator<Item = TileNumber> {
        let across = self.tiles_across(level);
        (0..across)
            .flat_map(move |row| (0..across).map(move |column| TileNumber { level, column, row }))
    }

    /// Returns the number of regions. The map jobs from this number on draw the orders.
    #[must_use]
    pub fn regions(&self) -> u32 {
        self.side.div_ceil(BUNDLES_OF_A_REGION).pow(2)
    }

    /// Returns the tile that map job `part` draws with all its more detailed tiles. `None` if this
    /// job draws no region.
    #[must_use]
    pub fn region(&self, part: u32) -> Option<TileNumber> {
        let across = self.side.div_ceil(BUNDLES_OF_A_REGION);
        let (column, row) = (part % across, part / across);
        (row < across).then(|| TileNumber { level: self.region_level(), column, row })
    }

    /// Returns the tile that contains a bundle at this level.
    #[must_use]
    pub fn tile_of(&self, bundle: u32, level: u32) -> TileNumber {
        let size = BUNDLES_OF_A_TILE << level;
        let (column, row) = (bundle % self.side, bundle / self.side);
        TileNumber { level, column: column / size, row: row / size }
    }

    /// Returns the pixel at which a bundle starts in its tile, from the left and the top.
    #[must_use]
    pub fn offset_in_tile(&self, bundle: u32, level: u32) -> (usize, usize) {
        let size = BUNDLES_OF_A_TILE << level;
        let offset = |at: u32| ((at % size) as usize * self.bundle_pixels()) >> level;
        (offset(bundle % self.side), offset(bundle / self.side))
    }

    /// Returns the numbers of the first `bundles` bundles that a tile shows, row by row.
    #[must_use]
    pub fn bundles_in(&self, tile: TileNumber, bundles: u32) -> Vec<u32> {
        let size = BUNDLES_OF_A_TILE << tile.level;
        let span = |at: u32| at * size..(at * size).saturating_add(size).min(self.side);
        let rows = span(tile.row).map(|row| row.saturating_mul(self.side));
        rows.flat_map(|first| span(tile.column).map(move |column| first.saturating_add(column)))
            .filter(|number| *number < bundles)
            .collect()
    }
}

fn ceil_sqrt(number: u64) -> u64 {
    let root = number.isqrt();
    root + u64::from(root * root < number)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn thirty_million_tabs_make_fewer_than_ten_thousand_tiles() {
        let layout = MapLayout::new(250_000, 136).unwrap();
        let manifest = layout.manifest();
        assert_eq!(
            (manifest.side, manifest.grid, manifest.levels, manifest.tile),
            (500, 12, 8, 576)
        );
        let tiles: Vec<u32> = (0..8).map(|level| layout.tiles_across(level).pow(2)).collect();
        assert_eq!(tiles, [7_056, 1_764, 441, 121, 36, 9, 4, 1]);
        assert!(tiles.iter().sum::<u32>() < 10_000);
        assert_eq!(layout.region(120).unwrap().path(), "map/3/10-10.jpg");
        assert_eq!((layout.region(121), layout.regions()), (None, 121));
        assert_eq!(manifest.layout(), Some(layout));
    }

    #[test]
    fn a_small_scan_has_one_tile_and_one_without_tabs_no_map() {
        let layout = MapLayout::new(5, 3).unwrap();
        let tiles: Vec<TileNumber> = layout.tiles_of(0).collect();
        assert_eq!((layout.levels(), tiles.len(), layout.region_level()), (1, 1, 0));
        assert_eq!(layout.region(0), Some(tiles[0]));
        assert_eq!(layout.bundles_in(tiles[0], 5), [0, 1, 2, 3, 4]);
        assert_eq!(layout.offset_in_tile(4, 0), (16, 16));
        let layout = MapLayout::new(3_600, 9).unwrap();
        let offsets = [0, 3, 4].map(|level| layout.offset_in_tile(63, level));
        assert_eq!(offsets, [(72, 24), (9, 3), (4, 1)]);
        for (bundles, tabs) in [(0, 5), (5, 0), (5, 1_025), (u64::MAX, 1)] {
            assert_eq!(MapLayout::new(bundles, tabs), None);
        }
    }

    #[test]
    fn a_manifest_of_other_sizes_is_not_understood() {
        let ours = MapLayout::new(250_000, 136).unwrap().manifest();
        for other in [
            MapManifest { levels: 7, ..ours.clone() },
            MapManifest { tile: 512, ..ours.clone() },
            MapManifest { side: 0, ..ours.clone() },
            MapManifest { grid: 33, ..ours.clone() },
            MapManifest { extension: "webp".to_owned(), ..ours },
        ] {
            assert_eq!(other.layout(), None, "{other:?}");
        }
    }

    proptest! {
        #[test]
        fn every_bundle_is_in_one_tile_of_each_level(
            bundles in 1u32..5_000, tabs in 1u32..200, at in any::<prop::sample::Index>(),
        ) {
            let layout = MapLayout::new(bundles.into(), tabs).unwrap();
            let bundle = at.index(bundles as usize) as u32;
            for level in 0..layout.levels() {
                let holds = |tile: &TileNumber| layout.bundles_in(*tile, bundles).contains(&bundle);
                let tiles: Vec<TileNumber> = layout.tiles_of(level).filter(holds).collect();
                prop_assert_eq!(&tiles, &[layout.tile_of(bundle, level)]);
                prop_assert!(layout.has(tiles[0]));
                if level > 0 {
                    prop_assert!(tiles[0].children().contains(&layout.tile_of(bundle, level - 1)));
                    prop_assert_eq!(layout.tile_of(bundle, level - 1).parent(), tiles[0]);
                }
            }
            prop_assert_eq!(layout.tiles_across(layout.levels() - 1), 1);
        }
    }
}
