//! Repaints the places of removed tabs in the orders of the map. A place belongs to a slot of a
//! bundle forever, so that the places files never change: the tab that took a removed tab's slot is
//! shown at that place, and the place of the last slot becomes empty.

use std::collections::{BTreeSet, HashMap};

use everytab_bundler::{
    map::{BACKGROUND, MapLayout, MapManifest},
    map_order::{FINEST_LEVEL, ICON_BYTES, ICON_PIXELS, MapOrder, OrderIndex, OrderLayout},
    object_names::{
        content_hash, map_order_folder, map_places_path, rewritten_map_order_index_path,
    },
};
use everytab_icon::{mosaic::Rect, thumbnail::empty_thumbnail};
use everytab_job_result::blocking;
use futures_util::{StreamExt, TryStreamExt, stream};

use super::{
    map_tiles::{
        Patch, Patches, RewrittenBundle, RewrittenMap, RewrittenOrder, TileFolder, thumbnails_of,
    },
    search_files::{RemovalError, ScanObjects},
};
use crate::{
    map::small_icon,
    site_objects::{CONCURRENT_OBJECTS, put_object},
};

/// A rewritten bundle's icons by slot, and the slots that may have changed. `None` means any slot.
type BundleIcons = (Vec<[u8; ICON_BYTES]>, Option<BTreeSet<usize>>);
type Icons = HashMap<u64, BundleIcons>;

impl ScanObjects<'_> {
    pub(super) async fn rewrite_orders(
        &self,
        map: &MapManifest,
        layout: MapLayout,
        rewritten: &[RewrittenBundle],
        done: &mut RewrittenMap,
    ) -> Result<(), RemovalError> {
        if map.orders.is_empty() {
            return Ok(());
        }
        let icons: Icons = {
            let bundles: Vec<_> = rewritten
                .iter()
                .map(|bundle| {
                    let slots = (!bundle.any_slot).then(|| bundle.slots.clone());
                    (u64::from(bundle.number.unsigned_abs()), bundle.bundle.clone(), slots)
                })
                .collect();
            let drawing = blocking(move || {
                let icons = |(number, bundle, slots)| {
                    (number, (thumbnails_of(&bundle).iter().map(small_icon).collect(), slots))
                };
                bundles.into_iter().map(icons).collect()
            });
            drawing.await.map_err(RemovalError::interrupted)?
        };
        for (name, path) in &map.orders {
            if !MapOrder::ALL.iter().any(|order| order.name() == name) {
                let key = format!("{}{path}", self.prefix);
                done.damaged.push(format!("{key}: this version does not know the order"));
                continue;
            }
            if let Some(order) = self.rewrite_order(name, path, layout, &icons, done).await? {
                done.orders.push(order);
            }
        }
        Ok(())
    }

    async fn rewrite_order(
        &self,
        name: &str,
        path: &str,
        layout: MapLayout,
        icons: &Icons,
        done: &mut RewrittenMap,
    ) -> Result<Option<RewrittenOrder>, RemovalError> {
        let key = format!("{}{path}", self.prefix);
        let found = self.site.get_tagged(&key).await?;
        let read = found.map(|found| serde_json::from_slice::<OrderIndex>(&found.bytes));
        let mut index = match read {
            Some(Ok(index)) => index,
            Some(Err(error)) => {
                done.damaged.push(format!("{key}: {error}"));
                return Ok(None);
            }
            None => {
                done.damaged.push(format!("{key} is missing"));
                return Ok(None);
            }
        };
        let order = OrderLayout::new(layout, index.tabs);
        let mut patches = self.patches_of(name, order, index.per_file, icons, done).await?;
        let overrides = index.overrides.clone();
        let folder = TileFolder {
            folder: map_order_folder(name),
            overrides: &overrides,
            tile_pixels: layout.tile_pixels(),
            joined: FINEST_LEVEL + 1..order.levels(),
        };
        let mut tiles = Vec::new();
        while !patches.is_empty() {
            let level = self.paint_level(&folder, patches).await?;
            tiles.extend(level.tiles);
            done.damaged.extend(level.damaged);
            patches = level.above;
        }
        index.overrides.extend(tiles.iter().map(|tile| (tile.tile.name(), tile.path.clone())));
        let bytes = index.to_bytes();
        let path = rewritten_map_order_index_path(name, &content_hash(&bytes));
        put_object(self.site, &format!("{}{path}", self.prefix), bytes).await?;
        Ok(Some(RewrittenOrder { name: name.to_owned(), path, tiles }))
    }

    async fn patches_of(
        &self,
        name: &str,
        order: OrderLayout,
        per_file: u64,
        icons: &Icons,
        done: &mut RewrittenMap,
    ) -> Result<Patches, RemovalError> {
        let files = order.tabs().div_ceil(per_file.max(1));
        let reads: Vec<_> = (0..files)
            .map(|number| async move {
                let key = format!("{}{}", self.prefix, map_places_path(name, number));
                let found = self.site.get_tagged(&key).await?;
                self.heartbeat.beat();
                Ok::<_, RemovalError>((number, key, found))
            })
            .collect();
        let mut reads = stream::iter(reads).buffered(CONCURRENT_OBJECTS);
        let mut patches = Patches::new();
        let nothing = small_icon(&empty_thumbnail(BACKGROUND));
        while let Some((number, key, found)) = reads.try_next().await? {
            let Some(found) = found else {
                done.damaged.push(format!("{key} is missing"));
                continue;
            };
            let Some(numbers) = order.read_places(&found.bytes) else {
                done.damaged.push(format!("{key} is not a valid places file"));
                continue;
            };
            for (place, tab) in (number * per_file..).zip(numbers) {
                let (bundle, slot) = order.bundle_and_slot(tab);
                let Some((tabs, changed)) = icons.get(&bundle) else { continue };
                let slot = usize::try_from(slot).unwrap_or(usize::MAX);
                let is_kept = slot < tabs.len()
                    && changed.as_ref().is_some_and(|changed| !changed.contains(&slot));
                if is_kept {
                    continue;
                }
                let icon = tabs.get(slot).unwrap_or(&nothing);
                let (tile, (left, top)) = order.position(place);
                let rect = Rect { left, top, width: ICON_PIXELS, height: ICON_PIXELS };
                patches.entry(tile).or_default().push(Patch { rect, rgb: icon.to_vec() });
            }
        }
        Ok(patches)
    }
}

#[cfg(test)]
mod tests;
