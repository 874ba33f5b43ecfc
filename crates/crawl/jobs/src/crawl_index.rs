//! `crawl-index`: writes a finished live crawl's columnar index and CDXJ index, for one range of
//! slots.
//!
//! Rows come from Postgres without an order, and from the robots.txt archives, because fetches do
//! not name these. They are sorted on disk and written in one pass, so that memory is bounded.

mod files;
mod home_redirects;
mod index_row;
mod robots;
mod sorted_rows;

use everytab_bundler::stats_names::{CountFamily, CountName, InputName, OutcomeName};
use everytab_commoncrawl::{crawl_layout::ArchiveSubset, crawl_objects::COLLINFO};
use everytab_coordinator::{Coordinator, Output};
use everytab_frontier::SLOTS;
use everytab_job_result::{JobError, PerformedJob, Stats, blocking};
use everytab_storage::Store;

pub(crate) use self::index_row::subset_of;
use self::{
    files::{CDXJ_TYPE, IndexFiles, PARQUET_TYPE, WrittenIndex},
    home_redirects::HomeRedirects,
    index_row::{NotIndexed, RowReader, StoredRow},
    robots::read_robots_archive,
    sorted_rows::RowSorter,
};
use crate::{
    context::Context,
    crawl_run::{CrawlAssignment, put_options},
};

/// Maximum concurrent crawl-index jobs in a worker. Each holds up to four row groups in memory.
pub(crate) const CONCURRENT_JOBS: usize = 1;

pub(crate) struct CrawlIndexInput {
    sorter: RowSorter,
    reader: RowReader,
    stats: Stats,
}

pub(crate) async fn load(
    coordinator: &Coordinator,
    context: &Context,
    job: &CrawlAssignment,
) -> Result<CrawlIndexInput, JobError> {
    // If the store is unreachable or denies access, fail before the rows are read. This object is
    // the only one outside the archives that a crawler may read.
    job.main_store(context).await?.head(COLLINFO).await?;
    let reader = RowReader::new(job.name.clone());
    let sorter = RowSorter::new(&context.temporary);
    let mut input = CrawlIndexInput { sorter, reader, stats: Stats::default() };
    let mut redirects = HomeRedirects::default();
    let slots = slots_of(job.part, job.crawl.parts);
    let mut rows = coordinator.open_index_rows(job.crawl.crawl, slots).await?;
    loop {
        let come = rows.next().await?;
        if come.is_empty() {
            break;
        }
        job.heartbeat.beat();
        redirects.note(&come);
        let revisits = come.iter().filter(|row| row.is_revisit).count();
        input.stats.count(CountName::Revisits, revisits as u64);
        input = blocking(move || {
            for row in &come {
                input.push(input.reader.of_fetch(row))?;
            }
            Ok::<_, JobError>(input)
        })
        .await??;
    }
    rows.end().await?;
    while !redirects.is_empty() {
        let pages = redirects.take().resolve(coordinator, job.crawl.crawl).await?;
        job.heartbeat.beat();
        input.stats.count(CountName::HomeRedirects, pages.len() as u64);
        for page in &pages {
            input.push(input.reader.of_home_redirect(page))?;
        }
    }
    Ok(input)
}

impl CrawlIndexInput {
    fn push(&mut self, row: Result<StoredRow, NotIndexed>) -> Result<(), JobError> {
        self.stats.input(InputName::Records, 1);
        match row {
            Ok(row) => {
                self.stats.outcome(OutcomeName::Indexed.as_str(), 1);
                self.stats.count_member(CountFamily::Subset, row.subset, 1);
                self.sorter.push(row)
            }
            Err(error) => {
                tracing::warn!(%error, "cannot index a record");
                self.stats.outcome(OutcomeName::NotIndexed.as_str(), 1);
                Ok(())
            }
        }
    }
}

pub(crate) async fn perform(
    context: &Context,
    job: &CrawlAssignment,
    mut input: CrawlIndexInput,
) -> Result<PerformedJob, JobError> {
    for store in job.stores(context).await? {
        for object in robots_archives(&*store, job).await? {
            let bytes = store.get(&object).await?;
            job.heartbeat.beat();
            input = blocking(move || {
                for row in read_robots_archive(&input.reader, &object, &bytes) {
                    input.push(row)?;
                }
                Ok::<_, JobError>(input)
            })
            .await??;
        }
    }
    let CrawlIndexInput { sorter, mut stats, .. } = input;
    let (temporary, heartbeat) = (context.temporary.clone(), job.heartbeat.clone());
    let part = job.part.unsigned_abs();
    let written = blocking(move || {
        let mut files = IndexFiles::new(&temporary);
        let mut rows = sorter.sorted()?;
        while let Some(row) = rows.next()? {
            files.write(&row)?;
            heartbeat.beat();
        }
        files.finish(part)
    })
    .await??;
    put_files(context, job, written, &mut stats).await?;
    Ok(PerformedJob { output: Output::Nothing, stats })
}

/// A repeated job uploads identical files, because the rows of a finished crawl do not change.
async fn put_files(
    context: &Context,
    job: &CrawlAssignment,
    written: WrittenIndex,
    stats: &mut Stats,
) -> Result<(), JobError> {
    let store = job.main_store(context).await?;
    let part = job.part.unsigned_abs();
    for (subset, file) in &written.tables {
        let object = job.name.table_part(*subset, part);
        store.put_file(&object, file, put_options(PARQUET_TYPE)).await?;
        stats.count(CountName::IndexFiles, 1);
        job.heartbeat.beat();
    }
    if let Some((cdxj, cluster)) = written.cdxj {
        store.put_file(&job.name.cdxj_part(part), &cdxj, put_options(CDXJ_TYPE)).await?;
        let object = job.name.cluster_index(part, job.crawl.parts.unsigned_abs());
        store.put(&object, cluster.into(), put_options("text/plain; charset=utf-8")).await?;
        stats.count(CountName::IndexFiles, 1);
    }
    Ok(())
}

/// Lists the robots.txt archives in a store that this job indexes. With n parts, a job indexes
/// every n-th archive.
async fn robots_archives(
    store: &dyn Store,
    job: &CrawlAssignment,
) -> Result<Vec<String>, JobError> {
    let mut objects: Vec<String> = store
        .list_all(&job.name.segments())
        .await?
        .into_iter()
        .map(|object| object.key)
        .filter(|key| subset_of(key) == Some(ArchiveSubset::RobotsTxt))
        .collect();
    objects.sort_unstable();
    let parts = usize::try_from(job.crawl.parts).unwrap_or(1).max(1);
    let part = usize::try_from(job.part).unwrap_or_default();
    Ok(objects.into_iter().skip(part).step_by(parts).collect())
}

fn slots_of(part: i32, parts: i32) -> std::ops::RangeInclusive<i16> {
    let slots = i32::try_from(SLOTS).unwrap_or(i32::MAX);
    let start = |part: i32| i16::try_from(part * slots / parts.max(1)).unwrap_or(i16::MAX);
    start(part)..=start(part + 1) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_have_every_slot_once() {
        for parts in 1..=256 {
            let slots: Vec<i16> = (0..parts).flat_map(|part| slots_of(part, parts)).collect();
            assert_eq!(slots, (0..256).collect::<Vec<i16>>(), "{parts}");
        }
    }
}
