//! Tests that the map's tiles show the bundles' tabs at every level.

use std::{collections::BTreeMap, fs, path::Path};

use base64::{Engine, engine::general_purpose::STANDARD};
use everytab_bundler::map::{BACKGROUND, MapLayout, MapManifest, TileNumber};
use everytab_icon::{
    mosaic::Mosaic,
    picture::Picture,
    thumbnail::{THUMBNAIL_PIXELS, Thumbnail, empty_thumbnail, thumbnail},
};
use serde_json::Value;

use crate::{
    map_orders,
    setup::{files, folder, manifest, run, scan_locally, tabs, worker},
};

/// Maximum mean difference over all channels between a tile's pixels and those before JPEG
/// compression.
const MEAN_ERROR: f64 = 9.0;
/// The maximum for one bundle, whose icons may compress worse than most.
const MEAN_ERROR_OF_A_BUNDLE: f64 = 45.0;

/// Computes the expected pixels of each tile by drawing the whole map in one piece, and then
/// halving and cutting it.
pub(crate) fn expected(site: &Path) -> (MapLayout, BTreeMap<TileNumber, Picture>) {
    let manifest = manifest(site);
    let map: MapManifest = serde_json::from_value(manifest["map"].clone()).unwrap();
    let layout = map.layout().unwrap();
    let prefix = site.join(manifest["prefix"].as_str().unwrap());
    let bundles = manifest["bundles"].as_u64().unwrap();
    let across = layout.tiles_across(0) as usize;
    let mut world = Picture::plain(across * layout.tile_pixels(), BACKGROUND);
    for number in 0..u32::try_from(bundles).unwrap() {
        let original = format!("tabs/{number}.json");
        let path = manifest["overrides"][number.to_string()].as_str().unwrap_or(&original);
        let bundle: Value = serde_json::from_slice(&fs::read(prefix.join(path)).unwrap()).unwrap();
        let (column, row) = ((number % map.side) as usize, (number / map.side) as usize);
        for (slot, entry) in bundle["entries"].as_array().unwrap().iter().enumerate() {
            let shown = thumbnail_of(entry);
            let cell =
                |at: usize, in_bundle: usize| (at * layout.grid() + in_bundle) * THUMBNAIL_PIXELS;
            let (left, top) = (cell(column, slot % layout.grid()), cell(row, slot / layout.grid()));
            world.paste(left, top, THUMBNAIL_PIXELS, &shown);
        }
    }
    let mut tiles = BTreeMap::new();
    for level in 0..layout.levels() {
        for tile in layout.tiles_of(level) {
            let mut picture = Picture::plain(layout.tile_pixels(), BACKGROUND);
            let at = |number: u32| number as usize * layout.tile_pixels();
            for y in 0..layout.tile_pixels().min(world.side() - at(tile.row)) {
                let from = ((at(tile.row) + y) * world.side() + at(tile.column)) * 3;
                let width = layout.tile_pixels().min(world.side() - at(tile.column));
                picture.paste(0, y, width, &world.rgb()[from..from + width * 3]);
            }
            tiles.insert(tile, picture);
        }
        // If the number of tiles is odd, the last tile's neighbour is background.
        let mut even = Picture::plain(world.side().next_multiple_of(2), BACKGROUND);
        even.paste(0, 0, world.side(), world.rgb());
        world = even.halved().unwrap();
        let whole = world.side().next_multiple_of(layout.tile_pixels());
        let mut padded = Picture::plain(whole, BACKGROUND);
        padded.paste(0, 0, world.side(), world.rgb());
        world = padded;
    }
    (layout, tiles)
}

pub(crate) fn thumbnail_of(entry: &Value) -> Thumbnail {
    let icon = STANDARD.decode(entry["icon"].as_str().unwrap()).unwrap();
    if icon.is_empty() { empty_thumbnail(BACKGROUND) } else { thumbnail(&icon, BACKGROUND) }
}

pub(crate) fn apart(one: &[u8], other: &[u8]) -> f64 {
    let sum: u64 = one.iter().zip(other).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
    sum as f64 / one.len() as f64
}

fn bundle_in(rgb: &[u8], layout: MapLayout, bundle: u32, level: u32) -> Vec<u8> {
    let (left, top) = layout.offset_in_tile(bundle, level);
    let side = layout.bundle_pixels().div_ceil(1 << level);
    let row = |y: usize| {
        let from = ((top + y) * layout.tile_pixels() + left) * 3;
        rgb[from..from + side * 3].to_vec()
    };
    (0..side).flat_map(row).collect()
}

fn shown(site: &Path, layout: MapLayout) -> BTreeMap<TileNumber, Vec<u8>> {
    let manifest = manifest(site);
    let map: MapManifest = serde_json::from_value(manifest["map"].clone()).unwrap();
    let prefix = site.join(manifest["prefix"].as_str().unwrap());
    let tiles = (0..layout.levels()).flat_map(|level| layout.tiles_of(level));
    let read = |tile| fs::read(prefix.join(map.tile_path(tile))).unwrap();
    tiles.map(|tile| (tile, Mosaic::read(&read(tile)).unwrap().rgb())).collect()
}

pub(crate) fn assert_shown(site: &Path) -> MapLayout {
    let (layout, tiles) = expected(site);
    let manifest = manifest(site);
    let map: MapManifest = serde_json::from_value(manifest["map"].clone()).unwrap();
    let prefix = site.join(manifest["prefix"].as_str().unwrap());
    let bundles = u32::try_from(manifest["bundles"].as_u64().unwrap()).unwrap();
    for (tile, expected) in tiles {
        let path = prefix.join(map.tile_path(tile));
        let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mosaic = Mosaic::read(&bytes).unwrap();
        assert_eq!(mosaic.width(), expected.side());
        let shown = mosaic.rgb();
        let mean = apart(&shown, expected.rgb());
        assert!(mean < MEAN_ERROR, "{tile:?} differs by {mean}");
        for bundle in layout.bundles_in(tile, bundles) {
            let [shown, expected] =
                [&shown[..], expected.rgb()].map(|rgb| bundle_in(rgb, layout, bundle, tile.level));
            let mean = apart(&shown, &expected);
            assert!(mean < MEAN_ERROR_OF_A_BUNDLE, "bundle {bundle} of {tile:?} differs by {mean}");
        }
        // At the nearest level, tiles depend only on the bundles, even after removals.
        if tile.level == 0 {
            let side = expected.side();
            let drawn = Mosaic::from_rgb(side, side, expected.rgb()).unwrap().write();
            assert!(drawn == bytes, "{tile:?} does not show the bundles");
        }
    }
    map_orders::assert_shown(site);
    layout
}

#[test]
fn the_map_shows_the_icons_of_all_bundles_at_every_level() {
    let folder = folder();
    let sample = ["--sample", "--sample-hosts", "900", "--entries-per-bundle", "3"];
    scan_locally(folder.path(), 2, &sample);
    let site = folder.path().join("site");
    let layout = assert_shown(&site);
    // There are enough bundles for tiles at several levels.
    assert!(layout.levels() > 1, "{layout:?}");
    let background = manifest(&site)["map"]["background"].clone();
    let [red, green, blue] = BACKGROUND;
    assert_eq!(background, format!("#{red:02x}{green:02x}{blue:02x}"));
}

#[test]
fn a_takedown_paints_the_icon_over_at_every_level_and_under_every_name() {
    let folder = folder();
    let sample = ["--sample", "--sample-hosts", "900", "--entries-per-bundle", "3"];
    scan_locally(folder.path(), 2, &sample);
    let site = folder.path().join("site");
    let prefix = site.join(manifest(&site)["prefix"].as_str().unwrap());
    let entries = |number: u32| -> Vec<Value> {
        let bytes = fs::read(prefix.join(format!("tabs/{number}.json"))).unwrap();
        let bundle: Value = serde_json::from_slice(&bytes).unwrap();
        bundle["entries"].as_array().unwrap().clone()
    };
    // In this bundle the last tab, which replaces the first one, looks quite different.
    let change = |number: &u32| -> u64 {
        let entries = entries(*number);
        match &entries[..] {
            [first, .., last] if first["icon"] != "" => {
                apart(&thumbnail_of(first), &thumbnail_of(last)) as u64
            }
            _ => 0,
        }
    };
    let bundles = u32::try_from(manifest(&site)["bundles"].as_u64().unwrap()).unwrap();
    let number = (0..bundles).max_by_key(change).unwrap();
    let (layout, _) = expected(&site);
    let before = shown(&site, layout);
    let tile = prefix.join(layout.tile_of(number, 0).path());
    let bytes_before = fs::read(&tile).unwrap();
    let url = entries(number)[0]["url"].as_str().unwrap().to_owned();
    let host = url.split("//").nth(1).unwrap();
    let store = site.display().to_string();
    run(worker(["takedown", host, "--site", &store])).expect_code(0);
    assert_eq!(entries(number)[0]["url"].as_str().map(|now| now == url), Some(false));
    assert_shown(&site);
    let (_, expected) = expected(&site);
    let after = shown(&site, layout);
    for level in 0..layout.levels() {
        let tile = layout.tile_of(number, level);
        let [before, after, expected] = [&before[&tile][..], &after[&tile], expected[&tile].rgb()]
            .map(|rgb| bundle_in(rgb, layout, number, level));
        let (was, is) = (apart(&before, &expected), apart(&after, &expected));
        println!("bundle {number} at level {level}: {was:.1} before, {is:.1} after");
        assert!(is * 2.0 < was, "bundle {number} at level {level}: {was} before, {is} after");
    }
    let map: MapManifest = serde_json::from_value(manifest(&site)["map"].clone()).unwrap();
    assert_eq!(map.overrides.len(), layout.levels() as usize);
    for (name, path) in &map.overrides {
        let original = fs::read(prefix.join(format!("map/{name}.jpg"))).unwrap();
        assert_eq!(original, fs::read(prefix.join(path)).unwrap(), "{name}");
    }
    assert_ne!(fs::read(&tile).unwrap(), bytes_before);
    let after = manifest(&site);
    run(worker(["takedown", host, "--site", &store]));
    assert_eq!(manifest(&site), after);
}

#[test]
fn a_damaged_tile_does_not_prevent_a_takedown_and_is_named_with_advice() {
    let folder = folder();
    let sample = ["--sample", "--sample-hosts", "60", "--entries-per-bundle", "3"];
    scan_locally(folder.path(), 1, &sample);
    let site = folder.path().join("site");
    let prefix = site.join(manifest(&site)["prefix"].as_str().unwrap());
    let id = manifest(&site)["scan"].as_str().unwrap().to_owned();
    let mut tabs = tabs(&site).into_iter().map(|tab| tab["url"].as_str().unwrap().to_owned());
    let store = site.display().to_string();
    for damage in [Some("no tile"), None] {
        let tile = prefix.join("map/0/0-0.jpg");
        match damage {
            Some(bytes) => fs::write(&tile, bytes).unwrap(),
            None => fs::remove_file(&tile).unwrap(),
        }
        let url = tabs.next().unwrap();
        let host = url.split("//").nth(1).unwrap();
        let said = run(worker(["takedown", host, "--site", &store])).expect_code(1);
        assert!(said.stdout.contains(&format!("{host}\ttaken down\tbundle ")), "{}", said.stdout);
        let remedy = format!("`scan retry --scan {id} --kind map`");
        for part in ["map/0/0-0.jpg", &remedy] {
            assert!(said.stderr.contains(part), "{}", said.stderr);
        }
        for (name, bytes) in files(&site.join("scans")) {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let named = [format!("{url}\""), format!("\n{host}\t")];
            let text = format!("\n{text}");
            assert!(!named.iter().any(|named| text.contains(named)), "{name} names {host}");
        }
    }
}
