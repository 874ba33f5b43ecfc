//! `map`: draws one region of the map of all icons, in tiles of up to four levels. The last jobs
//! draw the icons once more, one job for each order (`order`).
//!
//! A region is one tile of the coarsest level at which a pixel shows at most one icon, with the
//! tiles below it. It is drawn quarter by quarter, so that a job needs memory for one tile per
//! level and one quarter's thumbnails: at most 576 bundles, or 113 MB with 1,024 cells per bundle.
//! `publish` draws the coarser levels (`coarse`).

mod coarse;
mod draw;
mod landmarks;
mod order;
mod scan_map;

use std::collections::BTreeSet;

use bytes::Bytes;
use everytab_bundler::{
    map::{MapLayout, TileNumber, part::read_part},
    map_order::MapOrder,
    object_names::{map_part, scan_prefix},
    search::{RANGES, ranks::HostRanks},
    stats_names::{CountName, InputName, OutcomeName},
};
use everytab_coordinator::{Coordinator, Output, ScanInfo};
use everytab_fetcher::Heartbeat;
use everytab_job_result::{JobError, PerformedJob, Stats, blocking};
use futures_util::{StreamExt, TryStreamExt, stream};

use self::draw::{QUARTER_LEVEL, Region, Thumbnails, Tile};
pub use self::{
    coarse::draw_coarse,
    scan_map::{DrawnRegion, ScanMap},
};
pub(crate) use self::{
    draw::{bundle_picture, halved_of},
    landmarks::publish_landmarks,
    order::{drawn_orders, small_icon},
};
use crate::{
    context::Context,
    job::{Job, ScanAssignment},
    search::read_ranks,
    site_objects::{CONCURRENT_OBJECTS, put_all},
};

/// Maximum concurrent map jobs per worker. This is low, because each job holds thumbnails in
/// memory.
pub const CONCURRENT_JOBS: usize = 1;

pub(crate) struct DrawMap;

#[derive(Debug)]
pub(crate) struct MapInput {
    shards: Vec<i32>,
    layout: Option<MapLayout>,
}

impl Job for DrawMap {
    type Input = MapInput;

    async fn load(coordinator: &Coordinator, job: &ScanAssignment) -> Result<MapInput, JobError> {
        let shards = coordinator.bundled_shards(job.scan).await?;
        let layout = load_layout(coordinator, job.scan, &job.info).await?;
        Ok(MapInput { shards, layout })
    }

    async fn perform(
        context: &Context,
        job: &ScanAssignment,
        input: MapInput,
    ) -> Result<PerformedJob, JobError> {
        let mut drawn = DrawnRegion::default();
        if let Some(layout) = input.layout {
            let map = ScanMap {
                archive: context.store(&job.settings.archive).await?,
                site: context.store(&job.settings.site).await?,
                scan_id: job.info.scan_id,
                shards: input.shards.into_iter().collect(),
                bundles: u32::try_from(job.info.bundles()).unwrap_or(u32::MAX),
                bundles_per_shard: job.info.bundles_per_shard.unwrap_or(1).unsigned_abs().max(1),
                layout,
            };
            let part = job.part.unsigned_abs();
            let order = part.checked_sub(layout.regions()).map(|number| number as usize);
            drawn = match order.map(|number| MapOrder::ALL.get(number)) {
                None => map.draw_region(part, &job.heartbeat).await?,
                Some(order) => map.draw_numbered(order, context, job).await?,
            };
        }
        let mut stats = Stats::default();
        stats.input(InputName::Bundles, drawn.bundles + drawn.left_empty);
        stats.outcome(OutcomeName::Drawn.as_str(), drawn.bundles);
        stats.outcome(OutcomeName::LeftEmpty.as_str(), drawn.left_empty);
        stats.count(CountName::MapTiles, drawn.tiles);
        stats.count(CountName::MapBytes, drawn.bytes);
        Ok(PerformedJob { output: Output::Nothing, stats })
    }
}

pub(crate) async fn load_layout(
    coordinator: &Coordinator,
    scan: i32,
    info: &ScanInfo,
) -> Result<Option<MapLayout>, JobError> {
    let most_tabs = coordinator.most_tabs(scan).await?;
    Ok(MapLayout::new(info.bundles(), most_tabs.unsigned_abs()))
}

impl ScanMap {
    /// Draws the tiles in the region with this number.
    ///
    /// # Errors
    /// Returns an error if a store fails, or a part is missing or malformed.
    pub async fn draw_region(
        &self,
        part: u32,
        heartbeat: &Heartbeat,
    ) -> Result<DrawnRegion, JobError> {
        let mut drawn = DrawnRegion::default();
        let Some(top) = self.layout.region(part) else { return Ok(drawn) };
        let quarters = if top.level > QUARTER_LEVEL { top.children() } else { vec![top] };
        let mut region = Region::new(self.layout, top);
        for quarter in quarters.into_iter().filter(|quarter| self.layout.has(*quarter)) {
            let thumbnails = self.thumbnails_of(quarter, &mut drawn, heartbeat).await?;
            let beating = heartbeat.clone();
            let drawing = blocking(move || {
                let tiles = region.draw_quarter(quarter, &thumbnails, &beating);
                (region, tiles)
            });
            let tiles;
            (region, tiles) = drawing.await?;
            self.put(tiles, &mut drawn, heartbeat).await?;
        }
        let last = blocking(move || region.finish()).await?;
        self.put(last.into_iter().collect(), &mut drawn, heartbeat).await?;
        Ok(drawn)
    }

    /// `order` is `None` if there is no order with the job's number.
    async fn draw_numbered(
        &self,
        order: Option<&MapOrder>,
        context: &Context,
        job: &ScanAssignment,
    ) -> Result<DrawnRegion, JobError> {
        let Some(order) = order else { return Ok(DrawnRegion::default()) };
        let ranks = match (&job.settings.host_ranks, order) {
            (Some(pinned), MapOrder::Rank) => {
                read_ranks(&*self.archive, self.scan_id, &pinned.sha256, RANGES).await?
            }
            _ => HostRanks::default(),
        };
        self.draw_order(*order, ranks, &context.temporary, &job.heartbeat).await
    }

    async fn thumbnails_of(
        &self,
        tile: TileNumber,
        drawn: &mut DrawnRegion,
        heartbeat: &Heartbeat,
    ) -> Result<Thumbnails, JobError> {
        let per_shard = self.bundles_per_shard;
        let wanted: BTreeSet<u32> =
            self.layout.bundles_in(tile, self.bundles).into_iter().collect();
        let shard_of = |bundle: &u32| i32::try_from(bundle / per_shard).unwrap_or(i32::MAX);
        let shards: BTreeSet<i32> =
            wanted.iter().map(shard_of).filter(|shard| self.shards.contains(shard)).collect();
        let with_part = wanted.iter().filter(|bundle| shards.contains(&shard_of(bundle))).count();
        drawn.bundles += with_part as u64;
        drawn.left_empty += (wanted.len() - with_part) as u64;
        let reads: Vec<_> = shards
            .into_iter()
            .map(|shard| async move {
                let key = map_part(self.scan_id, shard);
                Ok::<_, JobError>((shard, self.archive.get(&key).await?, key))
            })
            .collect();
        let read: Vec<(i32, Bytes, String)> = stream::iter(reads)
            .buffer_unordered(CONCURRENT_OBJECTS)
            .inspect_ok(|_| heartbeat.beat())
            .try_collect()
            .await?;
        blocking(move || unpacked(read, per_shard, &wanted)).await?
    }

    async fn put(
        &self,
        tiles: Vec<Tile>,
        drawn: &mut DrawnRegion,
        heartbeat: &Heartbeat,
    ) -> Result<(), JobError> {
        let prefix = scan_prefix(self.scan_id);
        drawn.tiles += tiles.len() as u64;
        drawn.bytes += tiles.iter().map(|(_, bytes)| bytes.len() as u64).sum::<u64>();
        let named = tiles.into_iter().map(|(tile, bytes)| (prefix.clone() + &tile.path(), bytes));
        put_all(&*self.site, named, heartbeat).await?;
        Ok(())
    }
}

fn unpacked(
    read: Vec<(i32, Bytes, String)>,
    per_shard: u32,
    wanted: &BTreeSet<u32>,
) -> Result<Thumbnails, JobError> {
    let mut thumbnails = Thumbnails::new();
    for (shard, part, key) in read {
        let refused = |error| JobError::Discard(format!("{key} is not a part of the map: {error}"));
        let bundles = read_part(&part).map_err(refused)?;
        let numbers = shard.unsigned_abs().saturating_mul(per_shard)..;
        thumbnails.extend(numbers.zip(bundles).filter(|(number, _)| wanted.contains(number)));
    }
    Ok(thumbnails)
}

#[cfg(test)]
mod tests;
