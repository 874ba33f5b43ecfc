//! Draws the map levels at which a pixel shows more than one icon, from published tiles. The
//! archive is not needed.

use std::collections::BTreeSet;

use everytab_bundler::map::{BACKGROUND, MapLayout, TileNumber};
use everytab_fetcher::Heartbeat;
use everytab_icon::{mosaic::Mosaic, picture::Picture};
use everytab_job_result::{JobError, blocking};
use everytab_storage::Store;
use futures_util::{StreamExt, TryStreamExt, stream};

use super::draw::{encoded, halved_of, paste_halved};
use crate::site_objects::{CONCURRENT_OBJECTS, put_changed};

pub(super) type HalfTile = (TileNumber, Picture);

/// Draws all tiles of the coarser levels.
///
/// # Errors
///
/// Returns an error if the store fails, or a tile is missing or malformed.
pub async fn draw_coarse(
    site: &dyn Store,
    prefix: &str,
    layout: MapLayout,
    heartbeat: &Heartbeat,
) -> Result<(), JobError> {
    let region_level = layout.region_level();
    if region_level + 1 >= layout.levels() {
        return Ok(());
    }
    let reads: Vec<_> =
        layout.tiles_of(region_level).map(|tile| read_halved(site, prefix, tile)).collect();
    let mut below: Vec<HalfTile> = stream::iter(reads)
        .buffered(CONCURRENT_OBJECTS)
        .inspect_ok(|_| heartbeat.beat())
        .try_collect()
        .await?;
    for level in region_level + 1..layout.levels() {
        let (halved, tiles) = blocking(move || join(layout, level, &below)).await?;
        for (tile, bytes) in tiles {
            put_changed(site, &format!("{prefix}{}", tile.path()), bytes.into()).await?;
            heartbeat.beat();
        }
        below = halved;
    }
    Ok(())
}

/// Returns the tiles at half their size, and as files.
pub(super) fn join(
    layout: MapLayout,
    level: u32,
    below: &[HalfTile],
) -> (Vec<HalfTile>, Vec<(TileNumber, Vec<u8>)>) {
    let draw = |tile: TileNumber| {
        let mut picture = Picture::plain(layout.tile_pixels(), BACKGROUND);
        for (child, halved) in below.iter().filter(|(child, _)| child.parent() == tile) {
            paste_halved(&mut picture, *child, halved);
        }
        ((tile, halved_of(&picture)), (tile, encoded(&picture)))
    };
    let parents: BTreeSet<TileNumber> = below.iter().map(|(child, _)| child.parent()).collect();
    layout.tiles_of(level).filter(|tile| parents.contains(tile)).map(draw).unzip()
}

async fn read_halved(
    site: &dyn Store,
    prefix: &str,
    tile: TileNumber,
) -> Result<HalfTile, JobError> {
    let key = format!("{prefix}{}", tile.path());
    let bytes = site.get(&key).await?;
    let refused = |error| JobError::Discard(format!("{key} is not a tile of the map: {error}"));
    let halved = blocking(move || {
        let mosaic = Mosaic::read(&bytes)?;
        Ok(Picture::new(mosaic.width(), mosaic.rgb()).as_ref().map(halved_of))
    });
    let halved = halved
        .await?
        .map_err(|error: everytab_icon::mosaic::MosaicError| refused(error.to_string()))?;
    Ok((tile, halved.ok_or_else(|| refused("it is not square".to_owned()))?))
}
