//! Compares redrawn bundles with the same map drawn from parts without the removed icons.

use std::sync::Arc;

use everytab_bundler::{
    bundle::{self, BundleIcon, Tab},
    map::part::write_part,
    object_names::{map_part, scan_prefix},
};
use everytab_fetcher::Heartbeat;
use everytab_icon::{Pixels, png, thumbnail::Thumbnail};
use everytab_storage::{PutOptions, Store, StoreSettings};
use uuid::Uuid;

use super::*;
use crate::map::{ScanMap, draw_coarse};

/// 60 x 60 bundles: four regions, and two coarse levels.
const BUNDLES: u32 = 3_600;
const GRID: u32 = 3;
const PER_SHARD: u32 = 60;
const WHITE: [u8; 3] = [255; 3];
const DARK: [u8; 3] = [10, 10, 60];

/// Bundles in `changed` have nine white icons before the change and eight dark ones afterwards.
fn colours(number: u32, changed: &[u32], is_changed: bool) -> Vec<[u8; 3]> {
    let [red, green, blue, _] = number.wrapping_mul(0x9e37_79b9).to_be_bytes();
    match (changed.contains(&number), is_changed) {
        (false, _) => vec![[red, green, blue]; 9],
        (true, false) => vec![WHITE; 9],
        (true, true) => vec![DARK; 8],
    }
}

async fn drawn(folder: &std::path::Path, changed: &[u32], is_changed: bool) -> Arc<dyn Store> {
    let open = |name: &str| format!("file://{}/{name}-{is_changed}", folder.display());
    let settings = StoreSettings::default();
    let archive = everytab_storage::open(&open("archive"), &settings).await.unwrap();
    let site = everytab_storage::open(&open("site"), &settings).await.unwrap();
    let scan_id = Uuid::nil();
    let heartbeat = Heartbeat::default();
    let shards = 0..(BUNDLES / PER_SHARD).cast_signed();
    for shard in shards.clone() {
        let first = shard.unsigned_abs() * PER_SHARD;
        let bundles: Vec<Vec<Thumbnail>> = (first..first + PER_SHARD)
            .map(|number| colours(number, changed, is_changed))
            .map(|colours| colours.into_iter().map(empty_thumbnail).collect())
            .collect();
        let part = write_part(bundles.iter().map(Vec::as_slice));
        archive.put(&map_part(scan_id, shard), part.into(), PutOptions::default()).await.unwrap();
    }
    let map = ScanMap {
        archive,
        site: Arc::clone(&site),
        scan_id,
        shards: shards.collect(),
        bundles: BUNDLES,
        bundles_per_shard: PER_SHARD,
        layout: layout(),
    };
    for part in 0..4 {
        map.draw_region(part, &heartbeat).await.unwrap();
    }
    draw_coarse(&*site, &scan_prefix(scan_id), layout(), &heartbeat).await.unwrap();
    site
}

fn layout() -> MapLayout {
    MapLayout::new(BUNDLES.into(), GRID * GRID).unwrap()
}

fn rewritten(changed: &[u32]) -> Vec<RewrittenBundle> {
    let tab = |[red, green, blue]: [u8; 3]| {
        let pixels = Pixels::new(8, 8, [red, green, blue, 255].repeat(64)).unwrap();
        let icon = Some(BundleIcon { png: png::encode(&pixels), width: 8, height: 8 });
        Tab { url: "https://a.example".into(), title: "A".into(), icon, iframe_ok: true }
    };
    let of = |number: &u32| {
        let tabs: Vec<Tab> = colours(*number, changed, true).into_iter().map(tab).collect();
        let bundle = PublishedBundle::read(&bundle::write(&tabs)).unwrap();
        RewrittenBundle {
            number: number.cast_signed(),
            path: String::new(),
            tabs: 1,
            with_icon: 1,
            bundle,
            slots: BTreeSet::new(),
            any_slot: true,
        }
    };
    changed.iter().map(of).collect()
}

fn apart(one: &Mosaic, other: &Mosaic, bundle: u32, level: u32) -> f64 {
    let (left, top) = layout().offset_in_tile(bundle, level);
    let side = layout().bundle_pixels().div_ceil(1 << level);
    let (one, other, width) = (one.rgb(), other.rgb(), one.width());
    let mut sum = 0;
    for (x, y) in (left..left + side).flat_map(|x| (top..top + side).map(move |y| (x, y))) {
        let at = (y * width + x) * 3;
        sum += (at..at + 3).map(|i| u64::from(one[i].abs_diff(other[i]))).sum::<u64>();
    }
    sum as f64 / (side * side * 3) as f64
}

#[tokio::test]
async fn bundles_in_several_tiles_and_regions_are_drawn_again_at_every_level() {
    // In the first case, two regions share a tile at level 4. The second case has neighbours across
    // edges of tiles, regions and level 4 tiles, and the last bundle.
    for changed in [&[0, 48][..], &[5, 6, 47, 107, 48, 47 * 61, 48 * 61, 3_599]] {
        let folder = tempfile::TempDir::new().unwrap();
        let site = drawn(folder.path(), changed, false).await;
        let anew = drawn(folder.path(), changed, true).await;
        let prefix = scan_prefix(Uuid::nil());
        let heartbeat = Heartbeat::default();
        let objects = ScanObjects::new(&*site, &prefix, &heartbeat);
        let done = objects.rewrite_map(&layout().manifest(), &rewritten(changed)).await.unwrap();
        assert_eq!((done.damaged.len(), done.trouble(&prefix)), (0, None));
        let touched: BTreeSet<TileNumber> = changed
            .iter()
            .flat_map(|bundle| (0..layout().levels()).map(|z| layout().tile_of(*bundle, z)))
            .collect();
        let painted: BTreeSet<TileNumber> = done.tiles.iter().map(|tile| tile.tile).collect();
        assert_eq!((&painted, done.tiles.len()), (&touched, touched.len()));
        for RewrittenTile { tile, path } in &done.tiles {
            let get = |site: Arc<dyn Store>, path: String| {
                let key = format!("{prefix}{path}");
                async move { site.get(&key).await.unwrap() }
            };
            let before = get(Arc::clone(&site), tile.path()).await;
            let now = get(Arc::clone(&site), path.clone()).await;
            let wanted = get(Arc::clone(&anew), tile.path()).await;
            assert!(tile.level > 0 || now == wanted, "{tile:?} is not the tile drawn anew");
            let [before, now, wanted] = [before, now, wanted].map(|b| Mosaic::read(&b).unwrap());
            for bundle in changed.iter().filter(|b| layout().tile_of(**b, tile.level) == *tile) {
                let level = tile.level;
                let was_apart = apart(&before, &wanted, *bundle, level);
                let is_apart = apart(&now, &wanted, *bundle, level);
                println!("{bundle} at {level}: {was_apart:.1} {is_apart:.1}");
                // JPEG halftones change these pixels, but less than other icons do.
                let is_drawn = was_apart > 40.0 && is_apart * 4.0 < was_apart;
                assert!(is_drawn, "bundle {bundle} in {tile:?}: {was_apart}, now {is_apart}");
            }
        }
    }
}

#[tokio::test]
async fn a_damaged_tile_is_named_and_all_others_are_painted() {
    let changed = [0, 48];
    let folder = tempfile::TempDir::new().unwrap();
    let site = drawn(folder.path(), &changed, false).await;
    let prefix = scan_prefix(Uuid::nil());
    let heartbeat = Heartbeat::default();
    let [garbage, small, missing] =
        ["0/0-0", "1/4-0", "4/0-0"].map(|name| format!("{prefix}map/{name}.jpg"));
    let of_another_map = Mosaic::from_rgb(8, 8, &[9; 192]).unwrap().write();
    site.put(&garbage, "no tile".into(), PutOptions::default()).await.unwrap();
    site.put(&small, of_another_map.into(), PutOptions::default()).await.unwrap();
    site.delete(std::slice::from_ref(&missing)).await.unwrap();
    let objects = ScanObjects::new(&*site, &prefix, &heartbeat);
    let done = objects.rewrite_map(&layout().manifest(), &rewritten(&changed)).await.unwrap();
    // Two of the eight tiles below level 4 are damaged. The tiles above the missing one are not
    // reached.
    assert_eq!(done.tiles.len(), 6);
    let [a, b, c] = &done.damaged[..] else { panic!("{:?}", done.damaged) };
    assert!(a.starts_with(&format!("{garbage}: not a map tile's JPEG")), "{a}");
    assert_eq!(*b, format!("{small}: it does not have this map's tile size"));
    assert_eq!(*c, format!("{missing} is missing"));
    let trouble = done.trouble(&prefix).unwrap();
    let said = format!(
        "and 2 more: the map may still show what was removed; `scan retry --scan \
                        {} --kind map`",
        Uuid::nil()
    );
    assert!(trouble.contains(&said), "{trouble}");

    let other = MapManifest { grid: 99, ..layout().manifest() };
    let done = objects.rewrite_map(&other, &rewritten(&[0])).await.unwrap();
    assert!(done.damaged[0].contains("map/index.json: this version does not support"));
    assert!(objects.rewrite_map(&other, &[]).await.unwrap().damaged.is_empty());
    assert!(objects.rewrite_indexed_map(&rewritten(&[0])).await.unwrap().damaged.is_empty());
    let index = format!("{prefix}{MAP_INDEX_PATH}");
    site.put(&index, "{".into(), PutOptions::default()).await.unwrap();
    let done = objects.rewrite_indexed_map(&rewritten(&[0])).await.unwrap();
    assert!(done.damaged[0].starts_with(&format!("{index}: ")), "{:?}", done.damaged);
}
