//! Removes the removed tabs' icons from the map's tiles.
//!
//! A rewritten bundle is redrawn from its icons, in one tile per level up to the regions' level.
//! Above the finest level, the blocks that it shares with its neighbours are compressed again. In
//! the coarse levels, the changed area is copied from the repainted tile below, at half its size.
//!
//! A `map` job that runs later draws from parts that still have the removed icons. Therefore every
//! removal leaves a note for each rewritten bundle, and publishing redraws it.
//!
//! A damaged tile does not prevent the removal of any tab.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use bytes::Bytes;
use everytab_bundler::{
    PublishedBundle,
    map::{BACKGROUND, MapLayout, MapManifest, TileNumber},
    object_names::{
        MAP_INDEX_PATH, MAP_PATH, MAP_REPAINT_PATH, SCANS_PREFIX, content_hash, map_repaint_number,
        map_repaint_path, names_of_rewritten_tile, rewritten_tile_path_in,
    },
};
use everytab_icon::{
    mosaic::{Mosaic, Rect},
    picture::Picture,
    thumbnail::{Thumbnail, empty_thumbnail, thumbnail},
};
use everytab_job_result::blocking;
use everytab_storage::StorageError;
use futures_util::{StreamExt, TryStreamExt, stream};

use super::search_files::{RemovalError, ScanObjects};
use crate::{
    map::{bundle_picture, halved_of},
    site_objects::{CONCURRENT_OBJECTS, put_changed, put_options},
};

/// A bundle without its removed tabs.
#[derive(Debug)]
pub struct RewrittenBundle {
    /// The bundle's number.
    pub number: i32,
    /// The bundle's path below the scan's prefix, derived from its content.
    pub path: String,
    /// Number of removed tabs.
    pub tabs: u64,
    /// Number of removed tabs with an icon.
    pub with_icon: u64,
    pub(super) bundle: PublishedBundle,
    /// The slots that may contain another tab now.
    pub(super) slots: BTreeSet<usize>,
    /// Whether earlier removals changed other slots, which the map may still show as before.
    pub(super) any_slot: bool,
}

/// A repainted tile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewrittenTile {
    /// The tile.
    pub tile: TileNumber,
    /// The tile's path below the scan's prefix, derived from its content.
    pub path: String,
}

/// The result of repainting the tiles that show rewritten bundles.
#[derive(Debug, Default)]
pub struct RewrittenMap {
    /// The repainted tiles.
    pub tiles: Vec<RewrittenTile>,
    /// The repainted orders.
    pub orders: Vec<RewrittenOrder>,
    /// The keys of map objects that are missing or damaged, each with the reason. The map may still
    /// show what was removed.
    pub damaged: Vec<String>,
}

/// An order of the map with repainted tiles.
#[derive(Debug)]
pub struct RewrittenOrder {
    /// The order's name.
    pub name: String,
    /// The path of its new index below the scan's prefix, derived from its content.
    pub path: String,
    /// The repainted tiles, which the new index names.
    pub tiles: Vec<RewrittenTile>,
}

impl RewrittenMap {
    /// Adds the repainted tiles to a map's entry in the manifest.
    pub fn name_in(&self, map: &mut MapManifest) {
        let tiles = self.tiles.iter().map(|tile| (tile.tile.name(), tile.path.clone()));
        map.overrides.extend(tiles);
        let orders = self.orders.iter().map(|order| (order.name.clone(), order.path.clone()));
        map.orders.extend(orders);
    }

    /// Returns the repainted tiles of the map and of its orders.
    #[must_use]
    pub fn all_tiles(&self) -> Vec<&RewrittenTile> {
        let of_orders = self.orders.iter().flat_map(|order| &order.tiles);
        self.tiles.iter().chain(of_orders).collect()
    }

    /// Returns a message for the operator, or `None` if nothing is damaged. `prefix` is the scan's.
    #[must_use]
    pub fn trouble(&self, prefix: &str) -> Option<String> {
        let first = self.damaged.first()?;
        let more = match self.damaged.len() - 1 {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        let scan = prefix.trim_start_matches(SCANS_PREFIX).trim_end_matches('/');
        Some(format!(
            "{first}{more}: the map may still show what was removed; `scan retry --scan {scan} \
             --kind map` and a worker draw it again"
        ))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Patch {
    pub(super) rect: Rect,
    pub(super) rgb: Vec<u8>,
}

pub(super) type Patches = BTreeMap<TileNumber, Vec<Patch>>;

#[derive(Debug, Clone)]
pub(super) struct TileFolder<'a> {
    pub(super) folder: String,
    pub(super) overrides: &'a BTreeMap<String, String>,
    pub(super) tile_pixels: usize,
    /// The levels that are painted from the decoded tiles of the level below.
    pub(super) joined: Range<u32>,
}

impl TileFolder<'_> {
    fn path(&self, tile: TileNumber) -> String {
        let overridden = self.overrides.get(&tile.name()).cloned();
        overridden.unwrap_or_else(|| tile.path_in(&self.folder))
    }
}

impl ScanObjects<'_> {
    /// Redraws the rewritten bundles on every level of the map that `map/index.json` describes.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub async fn rewrite_indexed_map(
        &self,
        rewritten: &[RewrittenBundle],
    ) -> Result<RewrittenMap, RemovalError> {
        let mut done = RewrittenMap::default();
        let key = format!("{}{MAP_INDEX_PATH}", self.prefix);
        if let Some(found) = self.site.get_tagged(&key).await? {
            match serde_json::from_slice(&found.bytes) {
                Ok(map) => done = self.rewrite_map(&map, rewritten).await?,
                Err(error) => done.damaged.push(format!("{key}: {error}")),
            }
        }
        Ok(done)
    }

    /// Redraws the rewritten bundles in every level's tiles, under new names. Skips a missing or
    /// damaged tile, and reports it in the result.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub async fn rewrite_map(
        &self,
        map: &MapManifest,
        rewritten: &[RewrittenBundle],
    ) -> Result<RewrittenMap, RemovalError> {
        let mut done = RewrittenMap::default();
        if rewritten.is_empty() {
            return Ok(done);
        }
        let Some(layout) = map.layout() else {
            let key = format!("{}{MAP_INDEX_PATH}", self.prefix);
            done.damaged.push(format!("{key}: this version does not support the map's layout"));
            return Ok(done);
        };
        let region_level = layout.region_level();
        let folder = TileFolder {
            folder: MAP_PATH.to_owned(),
            overrides: &map.overrides,
            tile_pixels: layout.tile_pixels(),
            joined: region_level + 1..layout.levels(),
        };
        let mut regions: BTreeMap<TileNumber, Vec<&RewrittenBundle>> = BTreeMap::new();
        for bundle in rewritten {
            let region = layout.tile_of(bundle.number.unsigned_abs(), region_level);
            regions.entry(region).or_default().push(bundle);
        }
        let mut coarse = Patches::new();
        for bundles in regions.into_values() {
            let mut levels: BTreeMap<u32, Patches> = BTreeMap::new();
            for RewrittenBundle { number, bundle, .. } in bundles {
                let number = number.unsigned_abs();
                let bundle = bundle.clone();
                let drawing = blocking(move || drawn_again(layout, number, &bundle));
                for (tile, patch) in drawing.await.map_err(RemovalError::interrupted)? {
                    let patches = levels.entry(tile.level).or_default();
                    patches.entry(tile).or_default().push(patch);
                }
                self.heartbeat.beat();
            }
            for patches in levels.into_values() {
                let painted = self.paint_level(&folder, patches).await?;
                let above = done.take(painted);
                for (tile, patches) in above {
                    coarse.entry(tile).or_default().extend(patches);
                }
            }
        }
        while !coarse.is_empty() {
            coarse = done.take(self.paint_level(&folder, coarse).await?);
        }
        self.rewrite_orders(map, layout, rewritten, &mut done).await?;
        Ok(done)
    }

    pub(super) async fn paint_level(
        &self,
        folder: &TileFolder<'_>,
        patches: Patches,
    ) -> Result<PaintedLevel, RemovalError> {
        let paints: Vec<_> =
            patches.into_iter().map(|(tile, patches)| self.paint(folder, tile, patches)).collect();
        let painted: Vec<_> =
            stream::iter(paints).buffered(CONCURRENT_OBJECTS).try_collect().await?;
        let mut level = PaintedLevel::default();
        for painted in painted {
            match painted {
                Ok((rewritten, patches)) => {
                    if !patches.is_empty() {
                        level.above.entry(rewritten.tile.parent()).or_default().extend(patches);
                    }
                    level.tiles.push(rewritten);
                }
                Err(reason) => level.damaged.push(reason),
            }
        }
        Ok(level)
    }

    /// The inner error explains why the tile cannot be painted.
    async fn paint(
        &self,
        folder: &TileFolder<'_>,
        tile: TileNumber,
        patches: Vec<Patch>,
    ) -> Result<Result<(RewrittenTile, Vec<Patch>), String>, RemovalError> {
        let key = format!("{}{}", self.prefix, folder.path(tile));
        let Some(found) = self.site.get_tagged(&key).await? else {
            return Ok(Err(format!("{key} is missing")));
        };
        let side = folder.tile_pixels;
        let has_coarser = folder.joined.contains(&(tile.level + 1));
        let painting =
            blocking(move || painted_over(&found.bytes, side, tile, &patches, has_coarser));
        let (bytes, above) = match painting.await.map_err(RemovalError::interrupted)? {
            Ok(painted) => painted,
            Err(reason) => return Ok(Err(format!("{key}: {reason}"))),
        };
        let hash = content_hash(&bytes);
        let path = rewritten_tile_path_in(&folder.folder, tile.level, tile.column, tile.row, &hash);
        let key = format!("{}{path}", self.prefix);
        self.site.put(&key, bytes.into(), put_options(&key)).await?;
        self.heartbeat.beat();
        Ok(Ok((RewrittenTile { tile, path }, above)))
    }

    /// Overwrites the tiles' objects under their other names.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub async fn overwrite_old_tiles(&self, map: &RewrittenMap) -> Result<(), StorageError> {
        let overwrites: Vec<_> =
            map.all_tiles().into_iter().map(|tile| self.overwrite_tile(tile)).collect();
        stream::iter(overwrites).buffered(CONCURRENT_OBJECTS).try_collect().await
    }

    async fn overwrite_tile(&self, rewritten: &RewrittenTile) -> Result<(), StorageError> {
        let path = &rewritten.path;
        let own = format!("{}{path}", self.prefix);
        let bytes = self.site.get(&own).await?;
        let (original, before) = names_of_rewritten_tile(path).unwrap_or_default();
        let listed = self.site.list_all(&format!("{}{before}", self.prefix)).await?;
        let mut old: BTreeSet<String> = listed.into_iter().map(|object| object.key).collect();
        old.insert(format!("{}{original}", self.prefix));
        old.remove(&own);
        for key in &old {
            self.site.put(key, bytes.clone(), put_options(key)).await?;
            self.heartbeat.beat();
        }
        Ok(())
    }

    /// Notes bundles whose tiles may be drawn later, so that publishing redraws them. Call this
    /// before [`Self::rewrite_indexed_map`], because publishing writes the index and then reads the
    /// notes, and before the removal's last step, because the tabs cannot be found again after it.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub async fn note_for_map(&self, rewritten: &[RewrittenBundle]) -> Result<(), StorageError> {
        let note = |bundle: &RewrittenBundle| {
            let key = format!("{}{}", self.prefix, map_repaint_path(bundle.number));
            async move { put_changed(self.site, &key, Bytes::new()).await }
        };
        let notes: Vec<_> = rewritten.iter().map(note).collect();
        stream::iter(notes).buffer_unordered(CONCURRENT_OBJECTS).try_collect().await
    }

    /// Returns the bundles that [`Self::note_for_map`] noted.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub async fn noted_for_map(&self) -> Result<Vec<i32>, StorageError> {
        let listed = self.site.list_all(&format!("{}{MAP_REPAINT_PATH}", self.prefix)).await?;
        let number = |key: &str| map_repaint_number(key.strip_prefix(self.prefix)?);
        Ok(listed.iter().filter_map(|object| number(&object.key)).collect())
    }
}

#[derive(Debug, Default)]
pub(super) struct PaintedLevel {
    pub(super) tiles: Vec<RewrittenTile>,
    pub(super) damaged: Vec<String>,
    pub(super) above: Patches,
}

impl RewrittenMap {
    fn take(&mut self, level: PaintedLevel) -> Patches {
        self.tiles.extend(level.tiles);
        self.damaged.extend(level.damaged);
        level.above
    }
}

pub(super) fn thumbnails_of(bundle: &PublishedBundle) -> Vec<Thumbnail> {
    let show = |icon: Option<Vec<u8>>| match icon {
        Some(png) => thumbnail(&png, BACKGROUND),
        None => empty_thumbnail(BACKGROUND),
    };
    bundle.icons().map(show).collect()
}

fn drawn_again(
    layout: MapLayout,
    number: u32,
    bundle: &PublishedBundle,
) -> Vec<(TileNumber, Patch)> {
    let mut picture = bundle_picture(layout, &thumbnails_of(bundle));
    let mut drawn = Vec::new();
    for level in 0..=layout.region_level() {
        let (left, top) = layout.offset_in_tile(number, level);
        let rect = Rect { left, top, width: picture.side(), height: picture.side() };
        let patch = Patch { rect, rgb: picture.rgb().to_vec() };
        drawn.push((layout.tile_of(number, level), patch));
        if level < layout.region_level() {
            picture = halved_of(&picture);
        }
    }
    drawn
}

/// Below the regions' level there are no patches for the level above, which is also drawn from the
/// icons.
fn painted_over(
    file: &[u8],
    tile_pixels: usize,
    tile: TileNumber,
    patches: &[Patch],
    has_coarser: bool,
) -> Result<(Vec<u8>, Vec<Patch>), String> {
    let mut mosaic = Mosaic::read(file).map_err(|error| error.to_string())?;
    if (mosaic.width(), mosaic.height()) != (tile_pixels, tile_pixels) {
        return Err("it does not have this map's tile size".to_owned());
    }
    for Patch { rect, rgb } in patches {
        mosaic.paint(*rect, rgb);
    }
    let above = if has_coarser { halved_patches(tile, &mosaic, patches) } else { Vec::new() };
    Ok((mosaic.write(), above))
}

fn halved_patches(tile: TileNumber, mosaic: &Mosaic, patches: &[Patch]) -> Vec<Patch> {
    let Some(picture) = Picture::new(mosaic.width(), mosaic.rgb()) else { return Vec::new() };
    let half = |at: u32| (at % 2) as usize * (mosaic.width() / 2);
    let halved = |Patch { rect, .. }: &Patch| {
        let (left, top) = (rect.left / 2, rect.top / 2);
        let (right, bottom) =
            ((rect.left + rect.width).div_ceil(2), (rect.top + rect.height).div_ceil(2));
        let part = Rect { left, top, width: right - left, height: bottom - top };
        let rgb = picture.halved_part(part);
        let rect = Rect { left: left + half(tile.column), top: top + half(tile.row), ..part };
        Patch { rect, rgb }
    };
    patches.iter().map(halved).collect()
}

#[cfg(test)]
mod tests;
