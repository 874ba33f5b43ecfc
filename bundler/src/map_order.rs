//! Orders of the map: all icons again, sorted so that the map shows a pattern.
//!
//! An order divides the tabs into areas, such as hues, which fill the cells row by row. A tab's
//! position in this sequence is its place. A takedown does not change the places, because a place
//! belongs to the bundle's slot.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::map::{MapLayout, TileNumber, part::CELL_PIXELS};

/// An order's most detailed level. An icon takes about 2 bytes at this level, and 9 bytes at the
/// next finer one, which exceeds the map files' budget.
pub const FINEST_LEVEL: u32 = 2;
/// An icon's width and height at [`FINEST_LEVEL`] in pixels.
pub const ICON_PIXELS: usize = (CELL_PIXELS >> FINEST_LEVEL) as usize;
/// An icon's size at [`FINEST_LEVEL`] in bytes: red, green and blue for each pixel.
pub const ICON_BYTES: usize = ICON_PIXELS * ICON_PIXELS * 3;
/// Tabs per places file, which then has about 150 KB. The page fetches one file when a visitor taps
/// the map.
pub const TABS_PER_FILE: u64 = 131_072;
/// Maximum bytes to read for a number in a places file. Numbers have at most 42 bits, so we write
/// at most 6 bytes.
const MAX_NUMBER_BYTES: u32 = 7;

/// An order in which the map shows the icons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MapOrder {
    /// By the icon's hue.
    Colour,
    /// By top-level domain.
    Domain,
    /// By the host's rank.
    Rank,
}

impl MapOrder {
    /// All orders, in the sequence in which map jobs draw them.
    pub const ALL: [Self; 3] = [Self::Colour, Self::Domain, Self::Rank];

    /// Returns the name in paths, in the manifest and in the page's addresses.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Colour => "colour",
            Self::Domain => "domain",
            Self::Rank => "rank",
        }
    }
}

/// The contents of an order's `index.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderIndex {
    /// Places in this order.
    pub tabs: u64,
    /// Places per places file.
    pub per_file: u64,
    /// Each area's name and place count, in sequence.
    pub areas: Vec<(String, u64)>,
    /// Tiles that a takedown painted over, as in [`crate::map::MapManifest::overrides`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub overrides: BTreeMap<String, String>,
}

impl OrderIndex {
    /// Creates the index for areas, and merges adjacent areas with the same name.
    #[must_use]
    pub fn new(areas: impl IntoIterator<Item = (String, u64)>) -> Self {
        let mut merged: Vec<(String, u64)> = Vec::new();
        for (name, tabs) in areas.into_iter().filter(|(_, tabs)| *tabs > 0) {
            match merged.last_mut() {
                Some((last, sum)) if *last == name => *sum += tabs,
                _ => merged.push((name, tabs)),
            }
        }
        let tabs = merged.iter().map(|(_, tabs)| tabs).sum();
        Self { tabs, per_file: TABS_PER_FILE, areas: merged, overrides: BTreeMap::new() }
    }

    /// Serializes the index.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        // Strings and numbers can always be serialized.
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// An order's tile layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrderLayout {
    map: MapLayout,
    tabs: u64,
}

impl OrderLayout {
    /// Returns the layout for an order with this many places.
    #[must_use]
    pub fn new(map: MapLayout, tabs: u64) -> Self {
        Self { map, tabs }
    }

    /// Returns the number of places.
    #[must_use]
    pub fn tabs(&self) -> u64 {
        self.tabs
    }

    /// Returns the number of cells per row.
    #[must_use]
    pub fn width(&self) -> u64 {
        (self.map.side() * self.map.grid()) as u64
    }

    /// Returns the number of cells along a tile's edge at [`FINEST_LEVEL`].
    #[must_use]
    pub fn cells_of_a_tile(&self) -> u64 {
        (self.map.tile_pixels() / ICON_PIXELS) as u64
    }

    /// Returns the number of levels, including those finer than [`FINEST_LEVEL`].
    #[must_use]
    pub fn levels(&self) -> u32 {
        self.map.levels().max(FINEST_LEVEL + 1)
    }

    /// Returns the numbers of tiles per row and per column at a level.
    #[must_use]
    pub fn tiles_at(&self, level: u32) -> (u32, u32) {
        let cells = self.cells_of_a_tile() << (level.max(FINEST_LEVEL) - FINEST_LEVEL);
        let rows = self.tabs.div_ceil(self.width().max(1));
        let tiles = |cells_in_all: u64| {
            u32::try_from(cells_in_all.div_ceil(cells.max(1))).unwrap_or(u32::MAX)
        };
        (tiles(self.width()), tiles(rows))
    }

    /// Returns the tile that shows a place at [`FINEST_LEVEL`], and the icon's first pixel in it.
    #[must_use]
    pub fn position(&self, place: u64) -> (TileNumber, (usize, usize)) {
        let (width, cells) = (self.width().max(1), self.cells_of_a_tile().max(1));
        let (column, row) = (place % width, place / width);
        let number = |at: u64| u32::try_from(at / cells).unwrap_or(u32::MAX);
        let pixel = |at: u64| (at % cells) as usize * ICON_PIXELS;
        let tile = TileNumber { level: FINEST_LEVEL, column: number(column), row: number(row) };
        (tile, (pixel(column), pixel(row)))
    }

    /// Returns the tab number for a bundle's slot.
    #[must_use]
    pub fn tab_number(&self, bundle: u32, slot: u16) -> u64 {
        u64::from(bundle) * self.cells_of_a_bundle() + u64::from(slot)
    }

    /// Returns the bundle and the slot for a tab number.
    #[must_use]
    pub fn bundle_and_slot(&self, number: u64) -> (u64, u64) {
        let cells = self.cells_of_a_bundle().max(1);
        (number / cells, number % cells)
    }

    /// Writes a places file: the tab numbers at consecutive places. Each number is stored as its
    /// distance from the previous one, modulo the square of the width, in 7 bits per byte, lowest
    /// bits first. Every byte except the last has its top bit set.
    #[must_use]
    pub fn write_places(&self, numbers: &[u64]) -> Vec<u8> {
        let modulus = self.modulus();
        let mut bytes = Vec::with_capacity(numbers.len() * 2);
        let mut before = 0;
        for &number in numbers {
            let mut left = (number + modulus - before) % modulus;
            while left > 0x7f {
                bytes.push((left & 0x7f) as u8 | 0x80);
                left >>= 7;
            }
            bytes.push(left as u8);
            before = number;
        }
        bytes
    }

    /// Reads a places file. `None` if it is malformed.
    #[must_use]
    pub fn read_places(&self, bytes: &[u8]) -> Option<Vec<u64>> {
        let modulus = self.modulus();
        let mut numbers = Vec::with_capacity(bytes.len());
        let (mut before, mut distance, mut digits) = (0, 0u64, 0);
        for byte in bytes {
            distance |= u64::from(byte & 0x7f) << (7 * digits);
            digits += 1;
            if byte & 0x80 == 0 {
                before = (before + distance) % modulus;
                numbers.push(before);
                (distance, digits) = (0, 0);
            } else if digits == MAX_NUMBER_BYTES {
                return None;
            }
        }
        (digits == 0).then_some(numbers)
    }

    fn cells_of_a_bundle(&self) -> u64 {
        (self.map.grid() * self.map.grid()) as u64
    }

    fn modulus(&self) -> u64 {
        (self.width() * self.width()).max(1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn layout(bundles: u64, most_tabs: u32, tabs: u64) -> OrderLayout {
        OrderLayout::new(MapLayout::new(bundles, most_tabs).unwrap(), tabs)
    }

    #[test]
    fn three_orders_of_thirty_million_tabs_fit_with_the_map_into_12_000_files() {
        let order = layout(250_000, 136, 30_000_000);
        assert_eq!((order.width(), order.cells_of_a_tile(), order.levels()), (6_000, 288, 8));
        let tiles: Vec<_> = (FINEST_LEVEL..8).map(|level| order.tiles_at(level)).collect();
        assert_eq!(tiles, [(21, 18), (11, 9), (6, 5), (3, 3), (2, 2), (1, 1)]);
        let tiles: u32 = tiles.iter().map(|(across, down)| across * down).sum();
        let files = u64::from(tiles) + 30_000_000_u64.div_ceil(TABS_PER_FILE) + 1;
        assert_eq!(files, 751);
        assert!(9_432 + 3 * files < 12_000);
    }

    #[test]
    fn a_place_is_a_cell_of_the_maps_width() {
        let order = layout(3_600, 9, 20_000);
        assert_eq!((order.width(), order.cells_of_a_tile()), (180, 72));
        let tile = |column, row| TileNumber { level: FINEST_LEVEL, column, row };
        assert_eq!(order.position(0), (tile(0, 0), (0, 0)));
        assert_eq!(order.position(180 * 72 + 73), (tile(1, 1), (2, 0)));
        assert_eq!(order.tab_number(7, 5), 68);
        assert_eq!(order.bundle_and_slot(68), (7, 5));
        let small = layout(5, 3, 9);
        assert_eq!((small.levels(), small.tiles_at(2)), (3, (1, 1)));
        assert_eq!(layout(5, 3, 0).tiles_at(2), (1, 0));
    }

    #[test]
    fn adjacent_areas_of_one_name_are_one_and_empty_ones_are_omitted() {
        let areas = [("red", 2), ("red", 3), ("blue", 0), ("red", 1), ("grey", 4)];
        let index = OrderIndex::new(areas.map(|(name, tabs)| (name.to_owned(), tabs)));
        let json =
            concat!(r#"{"tabs":10,"per_file":131072,"#, r#""areas":[["red",6],["grey",4]]}"#,);
        assert_eq!(String::from_utf8(index.to_bytes()).unwrap(), json);
        assert_eq!(serde_json::from_str::<OrderIndex>(json).unwrap(), index);
    }

    #[test]
    fn damaged_places_are_rejected() {
        let order = layout(100, 9, 900);
        for bytes in [&[0x80][..], &[0xff; 7], &[1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]] {
            assert_eq!(order.read_places(bytes), None);
        }
        assert_eq!(order.read_places(&[]), Some(Vec::new()));
        assert_eq!(order.write_places(&[3, 130, 2]), [3, 127, 0x84, 6]);
    }

    proptest! {
        #[test]
        fn places_are_read_as_they_were_written(
            bundles in 1u64..100_000,
            at in prop::collection::vec(any::<prop::sample::Index>(), 0..50),
        ) {
            let order = layout(bundles, 136, 1_000);
            let numbers: Vec<u64> =
                at.iter().map(|at| at.index(bundles as usize * 144) as u64).collect();
            prop_assert_eq!(order.read_places(&order.write_places(&numbers)), Some(numbers));
        }
    }
}
