//! Tests the map's orders: each tab is at one place in its area, and the tile shows it there.

use std::{collections::BTreeSet, fs, path::Path};

use everytab_bundler::{
    map::{MapManifest, TileNumber},
    map_order::{FINEST_LEVEL, ICON_PIXELS, OrderIndex, OrderLayout},
    object_names::{map_order_folder, map_places_path},
    search::files::top_level,
};
use everytab_icon::{mosaic::Mosaic, picture::Picture};
use serde_json::Value;

use crate::{
    map::{apart, thumbnail_of},
    setup::{folder, manifest, run, scan_locally, worker},
};

/// Maximum mean difference over all channels between tiles and the icons before JPEG compression. A
/// JPEG block contains 16 icons, so they blur.
const MEAN_ERROR: f64 = 30.0;

struct PublishedOrder {
    name: String,
    index: OrderIndex,
    layout: OrderLayout,
    /// The bundle and slot of the tab at each place.
    places: Vec<(u64, usize)>,
    /// The icon at each place, as its tile shows it.
    shown: Vec<Vec<u8>>,
}

fn map_of(site: &Path) -> MapManifest {
    serde_json::from_value(manifest(site)["map"].clone()).unwrap()
}

fn entries(site: &Path, bundle: u64) -> Vec<Value> {
    let manifest = manifest(site);
    let original = format!("tabs/{bundle}.json");
    let path = manifest["overrides"][bundle.to_string()].as_str().unwrap_or(&original);
    let prefix = site.join(manifest["prefix"].as_str().unwrap());
    let bundle: Value = serde_json::from_slice(&fs::read(prefix.join(path)).unwrap()).unwrap();
    bundle["entries"].as_array().unwrap().clone()
}

/// Returns an entry's icon in the size of a tile, before compression.
fn small_icon(entry: &Value) -> Vec<u8> {
    let picture = Picture::new(8, thumbnail_of(entry).to_vec()).unwrap();
    picture.halved().unwrap().halved().unwrap().rgb().to_vec()
}

fn read_orders(site: &Path) -> Vec<PublishedOrder> {
    let map = map_of(site);
    let prefix = site.join(manifest(site)["prefix"].as_str().unwrap());
    let read = |(name, path): (&String, &String)| {
        let index: OrderIndex =
            serde_json::from_slice(&fs::read(prefix.join(path)).unwrap()).unwrap();
        let layout = OrderLayout::new(map.layout().unwrap(), index.tabs);
        let files = 0..index.tabs.div_ceil(index.per_file);
        let files = files.map(|file| fs::read(prefix.join(map_places_path(name, file))).unwrap());
        let numbers: Vec<u64> = files.flat_map(|file| layout.read_places(&file).unwrap()).collect();
        let place_of = |number: &u64| {
            let (bundle, slot) = layout.bundle_and_slot(*number);
            (bundle, usize::try_from(slot).unwrap())
        };
        let places = numbers.iter().map(place_of).collect();
        let tile_of = |tile: TileNumber| {
            let path = tile.path_in(&map_order_folder(name));
            let path = index.overrides.get(&tile.name()).unwrap_or(&path);
            Mosaic::read(&fs::read(prefix.join(path)).unwrap()).unwrap()
        };
        for level in FINEST_LEVEL..layout.levels() {
            let (across, down) = layout.tiles_at(level);
            for (column, row) in (0..down).flat_map(|y| (0..across).map(move |x| (x, y))) {
                tile_of(TileNumber { level, column, row });
            }
        }
        let mut last: Option<(TileNumber, Vec<u8>, usize)> = None;
        let shown = (0..index.tabs).map(|place| {
            let (tile, (left, top)) = layout.position(place);
            if last.as_ref().is_none_or(|(number, ..)| *number != tile) {
                let mosaic = tile_of(tile);
                last = Some((tile, mosaic.rgb(), mosaic.width()));
            }
            let (_, rgb, width) = last.as_ref().unwrap();
            let line = |y: usize| &rgb[((top + y) * width + left) * 3..][..ICON_PIXELS * 3];
            (0..ICON_PIXELS).flat_map(line).copied().collect()
        });
        let shown = shown.collect();
        PublishedOrder { name: name.clone(), index, layout, places, shown }
    };
    map.orders.iter().map(read).collect()
}

/// Compares each place of each order with the tab in its slot.
pub(crate) fn assert_shown(site: &Path) {
    let bundles = manifest(site)["bundles"].as_u64().unwrap();
    let entries: Vec<Vec<Value>> = (0..bundles).map(|bundle| entries(site, bundle)).collect();
    let nothing = serde_json::json!({"icon": ""});
    let orders = read_orders(site);
    assert!(orders.iter().map(|order| order.name.as_str()).take(2).eq(["colour", "domain"]));
    for order in orders {
        assert_eq!(order.places.len() as u64, order.index.tabs);
        let distinct: BTreeSet<_> = order.places.iter().collect();
        assert_eq!(distinct.len(), order.places.len(), "{}: a tab is at two places", order.name);
        let all = (0..)
            .zip(&entries)
            .flat_map(|(bundle, entries)| (0..entries.len()).map(move |slot| (bundle, slot)));
        for tab in all {
            assert!(distinct.contains(&tab), "{}: {tab:?} has no place", order.name);
        }
        let icon_at = |(bundle, slot): &(u64, usize)| {
            let bundle = &entries[usize::try_from(*bundle).unwrap()];
            small_icon(bundle.get(*slot).unwrap_or(&nothing))
        };
        let expected: Vec<u8> = order.places.iter().flat_map(icon_at).collect();
        let mean = apart(&order.shown.concat(), &expected);
        println!("{}: {mean:.1} apart", order.name);
        assert!(mean < MEAN_ERROR, "{} is {mean} apart", order.name);
        // The icons shifted by one place must differ more.
        let shifted = [&expected[12..], &expected[..12]].concat();
        assert!(apart(&order.shown.concat(), &shifted) > mean * 1.2, "{}", order.name);
    }
}

const SAMPLE: [&str; 5] = ["--sample", "--sample-hosts", "900", "--entries-per-bundle", "3"];

#[test]
fn each_tab_is_in_the_area_of_its_colour_and_of_its_domain() {
    let folder = folder();
    scan_locally(folder.path(), 2, &SAMPLE);
    let site = folder.path().join("site");
    assert_shown(&site);
    for order in read_orders(&site) {
        let areas = order.index.areas.iter();
        let areas = areas.flat_map(|(name, tabs)| std::iter::repeat_n(name, *tabs as usize));
        let mut named = BTreeSet::new();
        for ((bundle, slot), area) in order.places.iter().zip(areas) {
            let entry = &entries(&site, *bundle)[*slot];
            let host = entry["url"].as_str().unwrap().split("//").nth(1).unwrap();
            match order.name.as_str() {
                "domain" => assert_eq!(top_level(host), area),
                "colour" if entry["icon"] == "" => assert_eq!(area, "none"),
                _ => {}
            }
            named.insert(area.clone());
        }
        assert_eq!(order.places.len() as u64, manifest(&site)["hosts"].as_u64().unwrap());
        assert!(order.name != "colour" || named.len() > 5, "{named:?}");
        // The scan is small, so its finest level is one tile.
        assert_eq!(order.layout.tiles_at(FINEST_LEVEL), (1, 1));
    }
}

#[test]
fn a_takedown_paints_the_icon_over_in_every_order_and_under_every_name() {
    let folder = folder();
    scan_locally(folder.path(), 2, &SAMPLE);
    let site = folder.path().join("site");
    let before = read_orders(&site);
    // A tab whose icon differs from that of the bundle's last tab, which takes its slot.
    let bundles = manifest(&site)["bundles"].as_u64().unwrap();
    let change = |bundle: &u64| {
        let entries = entries(&site, *bundle);
        match &entries[..] {
            [first, .., last] => apart(&small_icon(first), &small_icon(last)) as u64,
            _ => 0,
        }
    };
    let bundle = (0..bundles).max_by_key(change).unwrap();
    let tabs = entries(&site, bundle);
    let host = tabs[0]["url"].as_str().unwrap().split("//").nth(1).unwrap();
    let store = site.display().to_string();
    run(worker(["takedown", host, "--site", &store])).expect_code(0);
    assert_shown(&site);
    let after = read_orders(&site);
    let prefix = site.join(manifest(&site)["prefix"].as_str().unwrap());
    for (before, after) in before.iter().zip(&after) {
        assert_eq!((&before.index.areas, &before.places), (&after.index.areas, &after.places));
        let removed = small_icon(&tabs[0]);
        let place = after.places.iter().position(|place| *place == (bundle, 0)).unwrap();
        let was = apart(&before.shown[place], &removed);
        let is = apart(&after.shown[place], &removed);
        println!("{}: {was:.1} from the removed icon before, {is:.1} after", after.name);
        assert!(is > was + 15.0, "{}: {was} before, {is} after", after.name);
        let levels = FINEST_LEVEL..after.layout.levels();
        assert_eq!(after.index.overrides.len(), levels.len());
        for (name, path) in &after.index.overrides {
            let original = map_order_folder(&after.name) + name + ".jpg";
            let [original, own] = [&original, path].map(|path| fs::read(prefix.join(path)));
            assert_eq!(original.unwrap(), own.unwrap(), "{name}");
        }
    }
    let now = manifest(&site);
    run(worker(["takedown", host, "--site", &store]));
    assert_eq!(manifest(&site), now);
}
