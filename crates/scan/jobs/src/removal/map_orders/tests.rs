//! Compares the places of rewritten bundles before and after they are repainted.

use std::sync::Arc;

use everytab_bundler::{
    PublishedBundle,
    bundle::{self, BundleIcon, Tab},
    map::{TileNumber, part::write_part},
    object_names::{map_order_index_path, map_part, scan_prefix},
    search::ranks::HostRanks,
};
use everytab_fetcher::Heartbeat;
use everytab_icon::{Pixels, mosaic::Mosaic, png, thumbnail::Thumbnail};
use everytab_storage::{PutOptions, Store, StoreSettings};
use tempfile::TempDir;
use uuid::Uuid;

use super::*;
use crate::map::ScanMap;

/// 60 x 60 bundles with nine tabs each: nine tiles, and two coarser levels.
const BUNDLES: u32 = 3_600;
const TABS: u32 = 9;
const PER_SHARD: u32 = 60;
const WHITE: [u8; 3] = [255; 3];
const DARK: [u8; 3] = [10, 10, 60];
/// The rewritten bundles. They have nine white icons before, and eight dark ones afterwards.
const CHANGED: [u32; 3] = [0, 700, 3_599];
/// Maximum difference of a channel's mean over an icon from the icon's colour, because of JPEG.
const MAX_APART: u32 = 40;
/// Like [`MAX_APART`], at the next level, where an icon is one of 64 pixels in a block.
const MAX_APART_OF_A_PIXEL: u32 = 100;

fn layout() -> MapLayout {
    MapLayout::new(BUNDLES.into(), TABS).unwrap()
}

fn order_layout() -> OrderLayout {
    OrderLayout::new(layout(), u64::from(BUNDLES * TABS))
}

async fn drawn(folder: &TempDir) -> (Arc<dyn Store>, MapManifest) {
    let open = |name: &str| {
        let url = format!("file://{}/{name}", folder.path().display());
        async move { everytab_storage::open(&url, &StoreSettings::default()).await.unwrap() }
    };
    let (archive, site) = (open("archive").await, open("site").await);
    let shards = 0..(BUNDLES / PER_SHARD).cast_signed();
    for shard in shards.clone() {
        let first = shard.unsigned_abs() * PER_SHARD;
        let icon = |tab: u32| {
            if CHANGED.contains(&(tab / TABS)) {
                empty_thumbnail(WHITE)
            } else {
                let [red, green, blue, _] = tab.wrapping_mul(0x9e37_79b9).to_be_bytes();
                empty_thumbnail([red, green, blue])
            }
        };
        let tabs = |bundle: u32| (bundle * TABS..(bundle + 1) * TABS).map(icon).collect();
        let bundles: Vec<Vec<Thumbnail>> = (first..first + PER_SHARD).map(tabs).collect();
        let part = write_part(bundles.iter().map(Vec::as_slice));
        let key = map_part(Uuid::nil(), shard);
        archive.put(&key, part.into(), PutOptions::default()).await.unwrap();
    }
    let map = ScanMap {
        archive,
        site: Arc::clone(&site),
        scan_id: Uuid::nil(),
        shards: shards.collect(),
        bundles: BUNDLES,
        bundles_per_shard: PER_SHARD,
        layout: layout(),
    };
    let ranks = HostRanks::default();
    let heartbeat = Heartbeat::default();
    map.draw_order(MapOrder::Colour, ranks, folder.path(), &heartbeat).await.unwrap();
    let mut manifest = layout().manifest();
    manifest.orders.insert("colour".to_owned(), map_order_index_path("colour"));
    (site, manifest)
}

fn rewritten() -> Vec<RewrittenBundle> {
    let pixels = Pixels::new(8, 8, [DARK[0], DARK[1], DARK[2], 255].repeat(64)).unwrap();
    let icon = Some(BundleIcon { png: png::encode(&pixels), width: 8, height: 8 });
    let tab = Tab { url: "https://a.example".into(), title: "A".into(), icon, iframe_ok: true };
    let bundle = PublishedBundle::read(&bundle::write(&vec![tab; TABS as usize - 1])).unwrap();
    let of = |number: u32| RewrittenBundle {
        number: number.cast_signed(),
        path: String::new(),
        tabs: 1,
        with_icon: 1,
        bundle: bundle.clone(),
        slots: BTreeSet::new(),
        any_slot: true,
    };
    CHANGED.map(of).into()
}

async fn read_tile(site: &dyn Store, path: &str) -> Mosaic {
    let bytes = site.get(&(scan_prefix(Uuid::nil()) + path)).await.unwrap();
    Mosaic::read(&bytes).unwrap()
}

fn apart(tile: &Mosaic, (left, top): (usize, usize), side: usize, colour: [u8; 3]) -> u32 {
    let (rgb, width) = (tile.rgb(), tile.width());
    let mut sum = 0;
    for (x, y) in (left..left + side).flat_map(|x| (top..top + side).map(move |y| (x, y))) {
        let pixel = &rgb[(y * width + x) * 3..][..3];
        sum += pixel.iter().zip(colour).map(|(a, b)| u32::from(a.abs_diff(b))).sum::<u32>();
    }
    sum / (side * side * 3) as u32
}

fn assert_painted(tile: TileNumber, before: &Mosaic, now: &Mosaic, changed: &[(u64, u64)]) {
    let level = tile.level - FINEST_LEVEL;
    let mut touched = BTreeSet::new();
    for (place, slot) in changed {
        let (fine, (left, top)) = order_layout().position(*place);
        if (if level == 0 { fine } else { fine.parent() }) != tile {
            continue;
        }
        let half = |at: u32, pixel: usize| match level {
            0 => pixel,
            _ => (at % 2) as usize * (now.width() / 2) + pixel / 2,
        };
        let at = (half(fine.column, left), half(fine.row, top));
        let colour = if *slot < u64::from(TABS) - 1 { DARK } else { BACKGROUND };
        let is_apart = apart(now, at, ICON_PIXELS >> level, colour);
        let most = if level == 0 { MAX_APART } else { MAX_APART_OF_A_PIXEL };
        assert!(is_apart < most, "place {place} in {tile:?}: {is_apart}");
        touched.insert((at.0 / 8, at.1 / 8));
    }
    let (rgb, same, width) = (now.rgb(), before.rgb(), now.width());
    for (x, y) in (0..width).flat_map(|x| (0..width).map(move |y| (x, y))) {
        if !touched.contains(&(x / 8, y / 8)) {
            let at = (y * width + x) * 3;
            assert_eq!(rgb[at..at + 3], same[at..at + 3], "{tile:?} at {x}, {y}");
        }
    }
}

#[tokio::test]
async fn all_places_of_a_rewritten_bundle_show_the_tabs_that_it_has_now() {
    let folder = TempDir::new().unwrap();
    let (site, manifest) = drawn(&folder).await;
    let prefix = scan_prefix(Uuid::nil());
    let heartbeat = Heartbeat::default();
    let objects = ScanObjects::new(&*site, &prefix, &heartbeat);
    let order = order_layout();
    let places = site.get(&(prefix.clone() + &map_places_path("colour", 0))).await.unwrap();
    let numbers = order.read_places(&places).unwrap();
    let is_changed = |number: &u64| CHANGED.contains(&(order.bundle_and_slot(*number).0 as u32));
    let changed: Vec<(u64, u64)> = (0..)
        .zip(&numbers)
        .filter(|(_, number)| is_changed(number))
        .map(|(place, number)| (place, order.bundle_and_slot(*number).1))
        .collect();
    assert_eq!(changed.len(), CHANGED.len() * TABS as usize);

    let mut done = RewrittenMap::default();
    objects.rewrite_orders(&manifest, layout(), &rewritten(), &mut done).await.unwrap();
    assert_eq!((done.tiles.len(), done.damaged.as_slice()), (0, &[][..]));
    let [painted] = &done.orders[..] else { panic!("{:?}", done.orders) };
    assert_eq!(painted.name, "colour");
    let named: BTreeSet<TileNumber> = painted.tiles.iter().map(|tile| tile.tile).collect();
    let shown = changed.iter().map(|(place, _)| order.position(*place).0);
    let mut expected: BTreeSet<TileNumber> = shown.collect();
    for level in FINEST_LEVEL..order.levels() - 1 {
        let parents = expected.iter().filter(|tile| tile.level == level).map(|tile| tile.parent());
        let parents: Vec<TileNumber> = parents.collect();
        expected.extend(parents);
    }
    assert_eq!(named, expected);

    let mut after = manifest.clone();
    done.name_in(&mut after);
    let path = &after.orders["colour"];
    assert!(path.starts_with("map/colour/index-"), "{path}");
    let index: OrderIndex =
        serde_json::from_slice(&site.get(&(prefix.clone() + path)).await.unwrap()).unwrap();
    for tile in &painted.tiles {
        assert_eq!(index.overrides[&tile.tile.name()], tile.path);
    }
    assert_eq!((index.overrides.len(), after.overrides.len()), (painted.tiles.len(), 0));

    for tile in painted.tiles.iter().filter(|tile| tile.tile.level <= FINEST_LEVEL + 1) {
        let original = tile.tile.path_in(&map_order_folder("colour"));
        let before = read_tile(&*site, &original).await;
        assert_painted(tile.tile, &before, &read_tile(&*site, &tile.path).await, &changed);
    }

    objects.overwrite_old_tiles(&done).await.unwrap();
    for tile in &painted.tiles {
        let original = tile.tile.path_in(&map_order_folder("colour"));
        let [now, old] = [&tile.path, &original].map(|path| format!("{prefix}{path}"));
        assert!(site.get(&now).await.unwrap() == site.get(&old).await.unwrap(), "{original}");
    }
}

#[tokio::test]
async fn a_removal_paints_the_places_of_the_slots_that_it_changed() {
    let folder = TempDir::new().unwrap();
    let (site, manifest) = drawn(&folder).await;
    let prefix = scan_prefix(Uuid::nil());
    let heartbeat = Heartbeat::default();
    let objects = ScanObjects::new(&*site, &prefix, &heartbeat);
    let [mut first, ..] = <[RewrittenBundle; 3]>::try_from(rewritten()).unwrap();
    (first.any_slot, first.slots) = (false, BTreeSet::from([2]));
    let mut done = RewrittenMap::default();
    objects.rewrite_orders(&manifest, layout(), &[first], &mut done).await.unwrap();
    // The tabs of a bundle with one tint are in one tile.
    let tile = done.orders[0].tiles.iter().find(|tile| tile.tile.level == FINEST_LEVEL).unwrap();
    let now = read_tile(&*site, &tile.path).await;
    let places = site.get(&(prefix.clone() + &map_places_path("colour", 0))).await.unwrap();
    let numbers = order_layout().read_places(&places).unwrap();
    for slot in 0..u64::from(TABS) {
        let place = numbers.iter().position(|number| *number == slot).unwrap() as u64;
        let (of_tile, at) = order_layout().position(place);
        assert_eq!(of_tile, tile.tile);
        let colour = match slot {
            2 => DARK,
            8 => BACKGROUND,
            _ => WHITE,
        };
        let is_apart = apart(&now, at, ICON_PIXELS, colour);
        assert!(is_apart < MAX_APART, "slot {slot}: {is_apart}");
    }
}

#[tokio::test]
async fn damaged_objects_of_an_order_are_named_and_the_others_are_painted() {
    let folder = TempDir::new().unwrap();
    let (site, mut manifest) = drawn(&folder).await;
    let prefix = scan_prefix(Uuid::nil());
    let heartbeat = Heartbeat::default();
    let objects = ScanObjects::new(&*site, &prefix, &heartbeat);
    let again = async |manifest: &MapManifest| {
        let mut done = RewrittenMap::default();
        objects.rewrite_orders(manifest, layout(), &rewritten(), &mut done).await.unwrap();
        done
    };
    let put = async |path: &str, bytes: &'static str| {
        let key = format!("{prefix}{path}");
        site.put(&key, bytes.into(), PutOptions::default()).await.unwrap();
    };
    put("map/colour/4/0-0.jpg", "no tile").await;
    let done = again(&manifest).await;
    let [damaged] = &done.damaged[..] else { panic!("{:?}", done.damaged) };
    assert!(damaged.contains("map/colour/4/0-0.jpg: "), "{damaged}");
    assert!(done.orders[0].tiles.len() > 2);
    for (name, path) in [("later", "map/later/index.json"), ("rank", "map/rank/index.json")] {
        manifest.orders.insert(name.to_owned(), path.to_owned());
    }
    put("map/colour/places/0.bin", "\u{80}").await;
    let done = again(&manifest).await;
    let expected = [
        "map/colour/places/0.bin is not a valid places file",
        "map/later/index.json: this version does not know the order",
        "map/rank/index.json is missing",
    ];
    assert_eq!(done.damaged, expected.map(|reason| format!("{prefix}{reason}")));
    put("map/colour/index.json", "{").await;
    let done = again(&manifest).await;
    assert!(done.damaged[0].contains("map/colour/index.json: EOF"), "{:?}", done.damaged);
    assert!(done.trouble(&prefix).unwrap().contains("--kind map"));
}
