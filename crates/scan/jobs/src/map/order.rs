//! Draws an order of the map: sorts the tabs by area, and draws tile after tile.
//!
//! The first pass spools the tabs to disk and counts the tabs of each area and tint. The counts
//! determine each tab's place, so that nothing is sorted. Each later pass reads the spool and keeps
//! the tabs of one row of tiles in memory.

mod areas;
mod spool;

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
};

use bytes::Bytes;
use everytab_bundler::{
    map::{BACKGROUND, CELL_LEVEL, TileNumber, part::read_part},
    map_order::{FINEST_LEVEL, ICON_BYTES, ICON_PIXELS, MapOrder, OrderLayout, TABS_PER_FILE},
    object_names::{
        map_order_folder, map_order_index_path, map_part, map_places_path, scan_prefix, search_part,
    },
    search::{SearchEntry, part::HEADER_BYTES, ranks::HostRanks, read_lines},
};
use everytab_fetcher::Heartbeat;
use everytab_icon::{
    picture::Picture,
    thumbnail::{THUMBNAIL_PIXELS, Thumbnail},
};
use everytab_job_result::{JobError, blocking};
use everytab_storage::Store;
use futures_util::{StreamExt, TryStreamExt, stream};

use self::{
    areas::Areas,
    spool::{OrderedTab, Spool},
};
use super::{
    coarse::{HalfTile, join},
    draw::{Tile, encoded, halved_of, paste_halved},
    scan_map::{DrawnRegion, ScanMap},
};
use crate::site_objects::{CONCURRENT_OBJECTS, put_all, put_object};

/// Paths below the scan's prefix, and contents.
type Objects = Vec<(String, Vec<u8>)>;

struct ShardParts {
    shard: i32,
    map: (String, Bytes),
    /// `None` for an order that does not depend on hosts.
    search: Option<(String, Bytes)>,
}

impl ScanMap {
    /// Draws the tiles of an order and writes its index. Writes nothing for the order by rank if no
    /// host has a rank.
    ///
    /// # Errors
    ///
    /// Returns an error if a store or the disk fails, or a part is missing or malformed.
    pub async fn draw_order(
        &self,
        order: MapOrder,
        ranks: HostRanks,
        temporary: &Path,
        heartbeat: &Heartbeat,
    ) -> Result<DrawnRegion, JobError> {
        let mut drawn = DrawnRegion::default();
        if order == MapOrder::Rank && ranks.is_empty() {
            return Ok(drawn);
        }
        let sorted = self.sorted(order, ranks, temporary, heartbeat).await?;
        let index = sorted.areas.index();
        let layout = OrderLayout::new(self.layout, index.tabs);
        let mut drawing = OrderDrawing::new(layout, sorted);
        for row in 0..layout.tiles_at(FINEST_LEVEL).1 {
            let (objects, tiles);
            (drawing, objects, tiles) = blocking(move || {
                let row = drawing.draw_row(row)?;
                Ok::<_, std::io::Error>((drawing, row.0, row.1))
            })
            .await?
            .map_err(no_room)?;
            self.put_order(order, objects, tiles, &mut drawn, heartbeat).await?;
        }
        let map = self.layout;
        let last = drawing.unwritten();
        let mut below = drawing.halves;
        self.put_order(order, last, Vec::new(), &mut drawn, heartbeat).await?;
        for level in CELL_LEVEL + 1..layout.levels() {
            let tiles;
            (below, tiles) = blocking(move || join(map, level, &below)).await?;
            self.put_order(order, Vec::new(), tiles, &mut drawn, heartbeat).await?;
        }
        if index.tabs > 0 {
            // Write the index last, because publishing offers the orders that have one.
            let key = scan_prefix(self.scan_id) + &map_order_index_path(order.name());
            put_object(&*self.site, &key, index.to_bytes()).await?;
        }
        Ok(drawn)
    }

    async fn sorted(
        &self,
        order: MapOrder,
        ranks: HostRanks,
        temporary: &Path,
        heartbeat: &Heartbeat,
    ) -> Result<SortedTabs, JobError> {
        let layout = OrderLayout::new(self.layout, 0);
        let spool = Spool::create(temporary).map_err(no_room)?;
        let mut sorted = SortedTabs { areas: Areas::new(order), spool, ranks };
        let per_shard = self.bundles_per_shard;
        let reads: Vec<_> =
            self.shards.iter().map(|shard| self.read_shard(*shard, order)).collect();
        let mut reads = stream::iter(reads).buffered(CONCURRENT_OBJECTS);
        while let Some(parts) = reads.try_next().await? {
            sorted = blocking(move || {
                sorted.add(&parts, per_shard, layout)?;
                Ok::<_, JobError>(sorted)
            })
            .await??;
            heartbeat.beat();
        }
        Ok(sorted)
    }

    async fn read_shard(&self, shard: i32, order: MapOrder) -> Result<ShardParts, JobError> {
        let read = |key: String| async move {
            let bytes = self.archive.get(&key).await?;
            Ok::<_, JobError>((key, bytes))
        };
        let map = read(map_part(self.scan_id, shard)).await?;
        let search = match order {
            MapOrder::Colour => None,
            MapOrder::Domain | MapOrder::Rank => {
                Some(read(search_part(self.scan_id, shard)).await?)
            }
        };
        Ok(ShardParts { shard, map, search })
    }

    async fn put_order(
        &self,
        order: MapOrder,
        objects: Objects,
        tiles: Vec<Tile>,
        drawn: &mut DrawnRegion,
        heartbeat: &Heartbeat,
    ) -> Result<(), JobError> {
        let prefix = scan_prefix(self.scan_id);
        let folder = map_order_folder(order.name());
        drawn.tiles += tiles.len() as u64;
        let tiles = tiles.into_iter().map(|(tile, bytes)| (tile.path_in(&folder), bytes));
        let all: Objects = tiles.chain(objects).collect();
        drawn.bytes += all.iter().map(|(_, bytes)| bytes.len() as u64).sum::<u64>();
        let named = all.into_iter().map(|(path, bytes)| (prefix.clone() + &path, bytes));
        put_all(&*self.site, named, heartbeat).await?;
        Ok(())
    }
}

/// Returns the path of each drawn order's index.
pub(crate) async fn drawn_orders(
    site: &dyn Store,
    prefix: &str,
) -> Result<BTreeMap<String, String>, JobError> {
    let mut drawn = BTreeMap::new();
    for order in MapOrder::ALL {
        let path = map_order_index_path(order.name());
        if site.head(&format!("{prefix}{path}")).await?.is_some() {
            drawn.insert(order.name().to_owned(), path);
        }
    }
    Ok(drawn)
}

fn no_room(error: std::io::Error) -> JobError {
    JobError::NoRoom(format!("cannot use the map's spool: {error}"))
}

struct SortedTabs {
    areas: Areas,
    spool: Spool,
    ranks: HostRanks,
}

impl SortedTabs {
    fn add(
        &mut self,
        parts: &ShardParts,
        per_shard: u32,
        layout: OrderLayout,
    ) -> Result<(), JobError> {
        let (key, bytes) = &parts.map;
        let bundles = read_part(bytes).map_err(|error| {
            JobError::Discard(format!("{key} is not a part of the map: {error}"))
        })?;
        let mut hosts = match &parts.search {
            Some((key, bytes)) => hosts_by_bundle(bytes).map_err(|error| {
                JobError::Discard(format!("{key} is not a search part: {error}"))
            })?,
            None => HashMap::new(),
        };
        let numbers = parts.shard.unsigned_abs().saturating_mul(per_shard)..;
        for (bundle, thumbnails) in numbers.zip(&bundles) {
            let of_bundle = hosts.remove(&bundle).unwrap_or_default();
            let parts = self.areas.of_tabs(thumbnails, &of_bundle, &self.ranks);
            for ((slot, thumbnail), part) in (0..).zip(thumbnails).zip(parts) {
                let number = layout.tab_number(bundle, slot);
                let tab = OrderedTab { number, part, icon: small_icon(thumbnail) };
                self.spool.add(&tab).map_err(no_room)?;
            }
        }
        Ok(())
    }
}

fn hosts_by_bundle(part: &[u8]) -> Result<HashMap<u32, BTreeMap<usize, SearchEntry>>, String> {
    let lines = read_lines(part.get(HEADER_BYTES..).unwrap_or_default());
    let mut bundles: HashMap<u32, BTreeMap<usize, SearchEntry>> = HashMap::new();
    for entry in lines.map_err(|error| error.to_string())? {
        let (bundle, slot) = (entry.bundle.unsigned_abs(), entry.slot.unsigned_abs() as usize);
        bundles.entry(bundle).or_default().insert(slot, entry);
    }
    Ok(bundles)
}

pub(crate) fn small_icon(thumbnail: &Thumbnail) -> [u8; ICON_BYTES] {
    let mut small = [0; ICON_BYTES];
    let picture = Picture::new(THUMBNAIL_PIXELS, thumbnail.to_vec());
    let halved = (0..FINEST_LEVEL).fold(picture, |picture, _| picture.as_ref()?.halved());
    if let Some(picture) = halved {
        small.copy_from_slice(picture.rgb());
    }
    small
}

struct OrderDrawing {
    layout: OrderLayout,
    sorted: SortedTabs,
    first_places: Vec<u64>,
    parents: Vec<Picture>,
    halves: Vec<HalfTile>,
    /// Numbers of tabs that are not in a places file yet.
    numbers: Vec<u64>,
    files: u64,
}

impl OrderDrawing {
    fn new(layout: OrderLayout, sorted: SortedTabs) -> Self {
        Self {
            layout,
            first_places: sorted.areas.first_places(),
            sorted,
            parents: Vec::new(),
            halves: Vec::new(),
            numbers: Vec::new(),
            files: 0,
        }
    }

    fn draw_row(&mut self, row: u32) -> Result<(Objects, Vec<Tile>), std::io::Error> {
        let (across, down) = self.layout.tiles_at(FINEST_LEVEL);
        let (width, cells) = (self.layout.width(), self.layout.cells_of_a_tile());
        let first = u64::from(row) * width * cells;
        let mut icons: Vec<[u8; ICON_BYTES]> = Vec::new();
        let mut numbers = Vec::new();
        let places = first..self.sorted.areas.all_tabs().min(first + width * cells);
        icons.resize((places.end - places.start) as usize, [0; ICON_BYTES]);
        numbers.resize(icons.len(), 0);
        let mut next = self.first_places.clone();
        self.sorted.spool.read(|tab| {
            let place = &mut next[tab.part as usize];
            if places.contains(&*place) {
                let at = (*place - first) as usize;
                (icons[at], numbers[at]) = (tab.icon, tab.number);
            }
            *place += 1;
        })?;
        self.numbers.extend(numbers);
        let mut tiles = Vec::new();
        for column in 0..across {
            let tile = TileNumber { level: FINEST_LEVEL, column, row };
            let picture = self.draw_tile(tile, &icons);
            tiles.push((tile, encoded(&picture)));
            if self.layout.levels() > CELL_LEVEL {
                self.paste_into_parent(tile, &picture);
            }
        }
        let is_last_of_parents = row % 2 == 1 || row + 1 == down;
        if is_last_of_parents {
            for (column, picture) in (0..).zip(std::mem::take(&mut self.parents)) {
                let tile = TileNumber { level: CELL_LEVEL, column, row: row / 2 };
                tiles.push((tile, encoded(&picture)));
                self.halves.push((tile, halved_of(&picture)));
            }
        }
        let mut files = Vec::new();
        while self.numbers.len() as u64 >= TABS_PER_FILE {
            let rest = self.numbers.split_off(TABS_PER_FILE as usize);
            files.extend(self.unwritten());
            self.numbers = rest;
        }
        Ok((files, tiles))
    }

    fn draw_tile(&self, tile: TileNumber, icons: &[[u8; ICON_BYTES]]) -> Picture {
        let (width, cells) = (self.layout.width() as usize, self.layout.cells_of_a_tile() as usize);
        let mut picture = Picture::plain(cells * ICON_PIXELS, BACKGROUND);
        let left = tile.column as usize * cells;
        for (y, line) in icons.chunks(width).enumerate() {
            let part = line.get(left..line.len().min(left + cells)).unwrap_or_default();
            for (x, icon) in part.iter().enumerate() {
                picture.paste(x * ICON_PIXELS, y * ICON_PIXELS, ICON_PIXELS, icon);
            }
        }
        picture
    }

    fn paste_into_parent(&mut self, tile: TileNumber, picture: &Picture) {
        let column = (tile.column / 2) as usize;
        if self.parents.len() <= column {
            self.parents.push(Picture::plain(picture.side(), BACKGROUND));
        }
        paste_halved(&mut self.parents[column], tile, &halved_of(picture));
    }

    fn unwritten(&mut self) -> Objects {
        let numbers = std::mem::take(&mut self.numbers);
        if numbers.is_empty() {
            return Vec::new();
        }
        let path = map_places_path(self.sorted.areas.order().name(), self.files);
        self.files += 1;
        vec![(path, self.layout.write_places(&numbers))]
    }
}

#[cfg(test)]
mod tests;
