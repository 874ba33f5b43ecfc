//! Compares a map that jobs draw region by region with the same map drawn in a single piece.

use everytab_bundler::map::{BACKGROUND, part::write_part};
use everytab_icon::{
    mosaic::{Mosaic, Rect},
    picture::Picture,
    thumbnail::Thumbnail,
};
use everytab_storage::{PutOptions, StoreSettings};
use uuid::Uuid;

use super::*;

/// 60 x 60 bundles: four regions, and two coarse levels.
const BUNDLES: u32 = 3_600;
const PER_SHARD: u32 = 7;

fn icon(number: u32) -> Thumbnail {
    let colour = number.wrapping_mul(0x9e37_79b9).to_be_bytes();
    let mut thumbnail = everytab_icon::thumbnail::empty_thumbnail(BACKGROUND);
    for (i, pixel) in thumbnail.as_chunks_mut::<3>().0.iter_mut().enumerate() {
        *pixel = if i % 8 < 4 { [colour[0], colour[1], colour[2]] } else { [colour[3]; 3] };
    }
    thumbnail
}

const MISSING: i32 = 100;

async fn map(folder: &tempfile::TempDir) -> ScanMap {
    let url = |name: &str| format!("file://{}/{name}", folder.path().display());
    let open = |name| {
        let url = url(name);
        async move { everytab_storage::open(&url, &StoreSettings::default()).await.unwrap() }
    };
    let (archive, site) = (open("archive").await, open("site").await);
    let scan_id = Uuid::nil();
    let shards: BTreeSet<i32> =
        (0..BUNDLES.div_ceil(PER_SHARD).cast_signed()).filter(|shard| *shard != MISSING).collect();
    for &shard in &shards {
        let first = shard.unsigned_abs() * PER_SHARD;
        let tabs: Vec<[Thumbnail; 1]> = (first..first + PER_SHARD).map(|n| [icon(n)]).collect();
        let part = write_part(tabs.iter().map(|tabs| &tabs[..]));
        archive.put(&map_part(scan_id, shard), part.into(), PutOptions::default()).await.unwrap();
    }
    let layout = MapLayout::new(BUNDLES.into(), 1).unwrap();
    let bundles_per_shard = PER_SHARD;
    ScanMap { archive, site, scan_id, shards, bundles: BUNDLES, bundles_per_shard, layout }
}

fn in_one_piece(layout: MapLayout) -> Vec<Picture> {
    let mut world = Picture::plain(64 * 48, BACKGROUND);
    for number in (0..BUNDLES).filter(|n| n / PER_SHARD != MISSING.unsigned_abs()) {
        let (column, row) = (number % 60, number / 60);
        world.paste(column as usize * 8, row as usize * 8, 8, &icon(number));
    }
    let halves = std::iter::successors(Some(world), Picture::halved);
    halves.take(layout.levels() as usize).collect()
}

fn cut(world: &Picture, tile: TileNumber, side: usize) -> Vec<u8> {
    let rows = (0..side).flat_map(|y| {
        let from = (tile.row as usize * side + y) * world.side() + tile.column as usize * side;
        world.rgb()[from * 3..(from + side) * 3].to_vec()
    });
    rows.collect()
}

#[tokio::test]
async fn four_regions_and_the_coarse_levels_show_what_one_picture_shows() {
    let folder = tempfile::TempDir::new().unwrap();
    let map = map(&folder).await;
    let layout = map.layout;
    let heartbeat = Heartbeat::default();
    assert_eq!((layout.levels(), layout.region(4)), (5, None));
    let mut total = DrawnRegion::default();
    for part in [3, 0, 2, 1] {
        let drawn = map.draw_region(part, &heartbeat).await.unwrap();
        total.bundles += drawn.bundles;
        total.left_empty += drawn.left_empty;
        total.tiles += drawn.tiles;
    }
    assert_eq!(total.left_empty, u64::from(PER_SHARD));
    assert_eq!(total.bundles + total.left_empty, u64::from(BUNDLES));
    assert_eq!(total.tiles, 100 + 25 + 9 + 4);
    let prefix = scan_prefix(map.scan_id);
    draw_coarse(&*map.site, &prefix, layout, &heartbeat).await.unwrap();
    let side = layout.tile_pixels();
    for (level, world) in (0..).zip(in_one_piece(layout)) {
        for tile in layout.tiles_of(level) {
            let bytes = map.site.get(&(prefix.clone() + &tile.path())).await.unwrap();
            let expected = cut(&world, tile, side);
            if level <= layout.region_level() {
                let drawn = Mosaic::from_rgb(side, side, &expected).unwrap().write();
                assert!(drawn == bytes, "{tile:?}");
                continue;
            }
            // Coarse levels are drawn from tiles with lossy compression.
            let shown = Mosaic::read(&bytes).unwrap().rgb();
            let apart = shown.iter().zip(&expected).map(|(a, b)| u64::from(a.abs_diff(*b)));
            let mean = apart.sum::<u64>() as f64 / shown.len() as f64;
            assert!(mean < 9.0, "{tile:?} is {mean} apart");
        }
    }
}

#[tokio::test]
async fn a_region_that_is_drawn_again_has_the_same_bytes_and_a_lost_part_is_named() {
    let folder = tempfile::TempDir::new().unwrap();
    let map = map(&folder).await;
    let heartbeat = Heartbeat::default();
    let first = map.draw_region(3, &heartbeat).await.unwrap();
    let prefix = scan_prefix(map.scan_id);
    let tiles = map.site.list_all(&prefix).await.unwrap();
    let mut before = Vec::new();
    for tile in &tiles {
        before.push(map.site.get(&tile.key).await.unwrap());
    }
    assert_eq!(map.draw_region(3, &heartbeat).await.unwrap(), first);
    for (tile, before) in tiles.iter().zip(before) {
        assert_eq!(map.site.get(&tile.key).await.unwrap(), before, "{}", tile.key);
    }
    let part = map_part(map.scan_id, 513);
    for bytes in [Some("no part"), None] {
        match bytes {
            Some(bytes) => {
                map.archive.put(&part, bytes.into(), PutOptions::default()).await.unwrap();
            }
            None => map.archive.delete(std::slice::from_ref(&part)).await.unwrap(),
        }
        let error = map.draw_region(3, &heartbeat).await.unwrap_err().to_string();
        assert!(error.contains("map/513.bin"), "{error}");
    }
}

#[test]
fn a_tile_of_the_background_shows_exactly_its_colour() {
    let plain = Picture::plain(48, BACKGROUND);
    let mosaic = Mosaic::from_rgb(48, 48, plain.rgb()).unwrap();
    assert_eq!(mosaic.rgb(), plain.rgb());
    let mut painted = Mosaic::from_rgb(48, 48, &[7; 48 * 48 * 3]).unwrap();
    let rect = Rect { left: 0, top: 0, width: 48, height: 48 };
    painted.paint(rect, plain.rgb());
    assert_eq!(painted.rgb(), plain.rgb());
}
