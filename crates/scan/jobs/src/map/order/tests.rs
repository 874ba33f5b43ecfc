//! Compares orders drawn by jobs with all tabs sorted in memory and drawn in one piece.

use everytab_bundler::{
    map::{MapLayout, part::write_part},
    map_order::OrderIndex,
    search::part::write_part as write_search_part,
};
use everytab_icon::{mosaic::Mosaic, thumbnail::empty_thumbnail};
use everytab_storage::{PutOptions, StoreSettings};
use tempfile::TempDir;
use uuid::Uuid;

use super::*;

/// 60 x 60 bundles of 40 tabs on average: more tabs than a places file holds, and three levels.
const BUNDLES: u32 = 3_600;
const PER_SHARD: u32 = 60;
const MOST_TABS: u32 = 44;
const MISSING: i32 = 7;
const DOMAINS: [&str; 4] = ["de", "com", "1", "com"];

fn tabs_of(bundle: u32) -> u32 {
    36 + bundle % 9
}

fn icon(bundle: u32, slot: u32) -> Thumbnail {
    let number = bundle * MOST_TABS + slot;
    let [red, green, blue, kind] = number.wrapping_mul(0x9e37_79b9).to_be_bytes();
    match kind % 4 {
        0 => empty_thumbnail(BACKGROUND),
        1 => empty_thumbnail([red; 3]),
        _ => {
            let mut thumbnail = empty_thumbnail([red, green, blue]);
            thumbnail[..96].fill(green);
            thumbnail
        }
    }
}

fn host(bundle: u32, slot: u32) -> String {
    format!("h{bundle}-{slot}.{}", DOMAINS[((bundle + slot) % 4) as usize])
}

fn all_tabs() -> impl Iterator<Item = (u32, u32)> {
    let bundles = (0..BUNDLES).filter(|bundle| bundle / PER_SHARD != MISSING.unsigned_abs());
    bundles.flat_map(|bundle| (0..tabs_of(bundle)).map(move |slot| (bundle, slot)))
}

fn by_tint(tabs: impl Iterator<Item = (u32, u32)>) -> Vec<(u32, u32)> {
    let mut areas = Areas::new(MapOrder::Colour);
    let mut tint = |(bundle, slot)| {
        areas.of_tabs(&[icon(bundle, slot)], &BTreeMap::new(), &HostRanks::default())[0]
    };
    let mut tabs: Vec<_> = tabs.map(|tab| (tint(tab), tab)).collect();
    tabs.sort_unstable();
    tabs.into_iter().map(|(_, tab)| tab).collect()
}

async fn map(folder: &TempDir) -> ScanMap {
    let open = |name: &str| {
        let url = format!("file://{}/{name}", folder.path().display());
        async move { everytab_storage::open(&url, &StoreSettings::default()).await.unwrap() }
    };
    let (archive, site) = (open("archive").await, open("site").await);
    let scan_id = Uuid::nil();
    let shards = (0..(BUNDLES / PER_SHARD).cast_signed()).filter(|shard| *shard != MISSING);
    for shard in shards.clone() {
        let first = shard.unsigned_abs() * PER_SHARD;
        let (mut thumbnails, mut entries) = (Vec::new(), Vec::new());
        for bundle in first..first + PER_SHARD {
            let slots = 0..tabs_of(bundle);
            thumbnails.push(slots.clone().map(|slot| icon(bundle, slot)).collect::<Vec<_>>());
            let entry = |slot: u32| {
                let (bundle, slot) = (bundle.cast_signed(), slot.cast_signed());
                SearchEntry::new(host(bundle.unsigned_abs(), slot.unsigned_abs()), bundle, slot)
            };
            entries.extend(slots.map(entry));
        }
        let put = async |key: String, bytes: Bytes| {
            archive.put(&key, bytes, PutOptions::default()).await.unwrap();
        };
        let part = write_part(thumbnails.iter().map(Vec::as_slice));
        put(map_part(scan_id, shard), part.into()).await;
        put(search_part(scan_id, shard), write_search_part(entries).into()).await;
    }
    let layout = MapLayout::new(BUNDLES.into(), MOST_TABS).unwrap();
    let (bundles, bundles_per_shard) = (BUNDLES, PER_SHARD);
    ScanMap { archive, site, scan_id, shards: shards.collect(), bundles, bundles_per_shard, layout }
}

async fn published(map: &ScanMap, path: &str) -> Bytes {
    map.site.get(&(scan_prefix(map.scan_id) + path)).await.unwrap()
}

async fn index(map: &ScanMap, order: MapOrder) -> OrderIndex {
    let bytes = published(map, &map_order_index_path(order.name())).await;
    serde_json::from_slice(&bytes).unwrap()
}

async fn places(map: &ScanMap, order: MapOrder) -> Vec<u64> {
    let layout = OrderLayout::new(map.layout, index(map, order).await.tabs);
    let mut places = Vec::new();
    for file in 0..layout.tabs().div_ceil(TABS_PER_FILE) {
        let bytes = published(map, &map_places_path(order.name(), file)).await;
        places.extend(layout.read_places(&bytes).unwrap());
    }
    places
}

async fn assert_shows(map: &ScanMap, order: MapOrder, tabs: &[(u32, u32)]) {
    let layout = OrderLayout::new(map.layout, tabs.len() as u64);
    let width = layout.width() as usize;
    let side = map.layout.tile_pixels();
    let mut world = Picture::plain(side * 4, BACKGROUND);
    for (place, (bundle, slot)) in tabs.iter().enumerate() {
        let small = small_icon(&icon(*bundle, *slot));
        world.paste(place % width * ICON_PIXELS, place / width * ICON_PIXELS, ICON_PIXELS, &small);
    }
    let mut tiles = 0;
    for level in FINEST_LEVEL..layout.levels() {
        let (across, down) = layout.tiles_at(level);
        for (column, row) in (0..down).flat_map(|y| (0..across).map(move |x| (x, y))) {
            let tile = TileNumber { level, column, row };
            let mut expected = Picture::plain(side, BACKGROUND);
            for y in 0..side {
                let from = (row as usize * side + y) * world.side() + column as usize * side;
                expected.paste(0, y, side, &world.rgb()[from * 3..(from + side) * 3]);
            }
            let drawn = published(map, &tile.path_in(&map_order_folder(order.name()))).await;
            assert!(encoded(&expected) == drawn, "{order:?} {tile:?}");
            tiles += 1;
        }
        world = world.halved().unwrap();
    }
    assert_eq!(tiles, 9 + 4 + 1);
}

#[tokio::test]
async fn every_tab_is_at_its_place_in_the_tiles_of_every_level() {
    let folder = TempDir::new().unwrap();
    let map = map(&folder).await;
    let heartbeat = Heartbeat::default();
    let draw = async |order| {
        map.draw_order(order, HostRanks::default(), folder.path(), &heartbeat).await.unwrap()
    };
    let drawn = draw(MapOrder::Colour).await;
    assert_eq!((drawn.tiles, drawn.bundles, drawn.left_empty), (14, 0, 0));
    let tabs = by_tint(all_tabs());
    assert!(tabs.len() as u64 > TABS_PER_FILE);
    assert_shows(&map, MapOrder::Colour, &tabs).await;
    let layout = OrderLayout::new(map.layout, tabs.len() as u64);
    let numbers = tabs.iter().map(|(bundle, slot)| layout.tab_number(*bundle, *slot as u16));
    assert!(places(&map, MapOrder::Colour).await == numbers.collect::<Vec<_>>());
    let index = index(&map, MapOrder::Colour).await;
    assert_eq!(index.areas.first().map(|(name, _)| name.as_str()), Some("red"));
    assert_eq!(index.areas.last().map(|(name, _)| name.as_str()), Some("none"));
    assert_eq!((index.areas.len(), index.tabs), (12 + 4 + 1, tabs.len() as u64));

    let prefix = scan_prefix(map.scan_id);
    let files = map.site.list_all(&prefix).await.unwrap();
    let mut before = Vec::new();
    for file in &files {
        before.push(map.site.get(&file.key).await.unwrap());
    }
    assert_eq!(draw(MapOrder::Colour).await, drawn);
    for (file, before) in files.iter().zip(before) {
        assert!(map.site.get(&file.key).await.unwrap() == before, "{}", file.key);
    }
}

#[tokio::test]
async fn domains_and_ranks_are_those_of_the_search_parts() {
    let folder = TempDir::new().unwrap();
    let map = map(&folder).await;
    let heartbeat = Heartbeat::default();
    let draw = async |order, ranks| map.draw_order(order, ranks, folder.path(), &heartbeat).await;
    draw(MapOrder::Domain, HostRanks::default()).await.unwrap();
    let areas = [1, 3, 0, 2].map(|kind| all_tabs().filter(move |(b, s)| (b + s) % 4 == kind));
    let [com, more_com, de, none] = areas;
    let (com, de, none) = (by_tint(com.chain(more_com)), by_tint(de), by_tint(none));
    let index_of_domains = index(&map, MapOrder::Domain).await;
    let expected = [("com", &com), ("de", &de), ("none", &none)];
    let expected = expected.map(|(name, tabs)| (name.to_owned(), tabs.len() as u64));
    assert_eq!(index_of_domains.areas, expected);
    assert_shows(&map, MapOrder::Domain, &[com, de, none].concat()).await;

    draw(MapOrder::Rank, HostRanks::default()).await.unwrap();
    let prefix = scan_prefix(map.scan_id);
    let drawn = drawn_orders(&*map.site, &prefix).await.unwrap();
    assert_eq!(drawn, BTreeMap::from([("domain".to_owned(), "map/domain/index.json".to_owned())]));
    let ranked = HostRanks::write(&[host(99, 3), host(1, 1)]);
    draw(MapOrder::Rank, HostRanks::read(ranked.as_bytes(), |_| true)).await.unwrap();
    let mut first = places(&map, MapOrder::Rank).await[..2].to_vec();
    first.sort_unstable();
    assert_eq!(first, [50, 99 * 49 + 3]);
    let best = index(&map, MapOrder::Rank).await.areas[0].clone();
    assert_eq!(best, ("1".to_owned(), 2));

    let part = search_part(map.scan_id, 3);
    let latest = map.archive.get(&map_part(map.scan_id, 3)).await.unwrap();
    map.archive.put(&part, latest, PutOptions::default()).await.unwrap();
    let error = draw(MapOrder::Domain, HostRanks::default()).await.unwrap_err().to_string();
    assert!(error.contains("search/3.tsv is not a search part"), "{error}");
    let part = map_part(map.scan_id, 4);
    map.archive.delete(std::slice::from_ref(&part)).await.unwrap();
    let error = draw(MapOrder::Colour, HostRanks::default()).await.unwrap_err().to_string();
    assert!(error.contains("map/4.bin"), "{error}");
}

#[test]
fn a_small_icon_is_what_the_maps_own_tiles_show_at_that_level() {
    let shown = icon(1, 1);
    let picture = Picture::new(8, shown.to_vec()).unwrap();
    let halved = picture.halved().unwrap().halved().unwrap();
    assert_eq!(halved.rgb(), small_icon(&shown));
    let plain = Mosaic::from_rgb(8, 8, &[BACKGROUND; 64].concat()).unwrap();
    assert_eq!(small_icon(&empty_thumbnail(BACKGROUND)), plain.rgb()[..ICON_BYTES]);
}
