//! Names for the map's tiles and its orders' objects.

/// Prefix for the map's objects.
pub const MAP_PATH: &str = "map/";
/// File extension for tiles.
pub const MAP_TILE_EXTENSION: &str = "jpg";

/// Returns the prefix for an order's objects: `map/<order>/`.
pub fn map_order_folder(order: &str) -> String {
    format!("{MAP_PATH}{order}/")
}

/// Returns the path for an order's areas: `map/<order>/index.json`.
pub fn map_order_index_path(order: &str) -> String {
    map_order_folder(order) + "index.json"
}

/// Returns the path for an order's areas after a takedown: `map/<order>/index-<content hash>.json`.
pub fn rewritten_map_order_index_path(order: &str, content_hash: &str) -> String {
    format!("{}index-{content_hash}.json", map_order_folder(order))
}

/// Returns the path for an order's places file: `map/<order>/places/<n>.bin`.
pub fn map_places_path(order: &str, number: u64) -> String {
    format!("{}places/{number}.bin", map_order_folder(order))
}

/// Returns a tile's path below [`MAP_PATH`] or an order's prefix:
/// `<folder><level>/<column>-<row>.jpg`.
pub fn tile_path_in(folder: &str, level: u32, column: u32, row: u32) -> String {
    format!("{folder}{level}/{column}-{row}.{MAP_TILE_EXTENSION}")
}

/// Returns the path for a tile that a takedown painted over:
/// `<folder><level>/<column>-<row>-<content hash>.jpg`.
pub fn rewritten_tile_path_in(
    folder: &str,
    level: u32,
    column: u32,
    row: u32,
    content_hash: &str,
) -> String {
    format!("{folder}{level}/{column}-{row}-{content_hash}.{MAP_TILE_EXTENSION}")
}

/// Parses a path that [`rewritten_tile_path_in`] returned. Returns the original tile's path, and
/// the prefix for all its repainted versions.
pub fn names_of_rewritten_tile(path: &str) -> Option<(String, String)> {
    let (tile, rest) = path.rsplit_once('-')?;
    rest.strip_suffix(MAP_TILE_EXTENSION)?;
    Some((format!("{tile}.{MAP_TILE_EXTENSION}"), format!("{tile}-")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object_names::map_tile_path;

    #[test]
    fn an_orders_objects_are_below_the_maps_and_its_tiles_are_named_like_the_maps() {
        assert_eq!(map_order_index_path("colour"), "map/colour/index.json");
        assert_eq!(rewritten_map_order_index_path("rank", "0a"), "map/rank/index-0a.json");
        assert_eq!(map_places_path("domain", 7), "map/domain/places/7.bin");
        assert_eq!(tile_path_in("map/colour/", 2, 3, 4), "map/colour/2/3-4.jpg");
        assert_eq!(tile_path_in(MAP_PATH, 2, 3, 4), map_tile_path(2, 3, 4));
        let rewritten = rewritten_tile_path_in(MAP_PATH, 2, 3, 4, "0123abcd");
        assert_eq!(rewritten, "map/2/3-4-0123abcd.jpg");
        let names = (map_tile_path(2, 3, 4), "map/2/3-4-".to_owned());
        assert_eq!(names_of_rewritten_tile(&rewritten), Some(names));
        assert_eq!(names_of_rewritten_tile("map/2/3.jpg"), None);
    }
}
