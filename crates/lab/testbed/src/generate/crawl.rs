//! Writes the crawl's files. A part is a range of hosts that are adjacent in the index, written by
//! one thread.

use std::{
    fs,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use parking_lot::Mutex;

use super::{
    index::IndexFileWriter,
    names::World,
    ranks,
    site::{self, GeneratedCapture, Subset},
    version::CRAWL,
    warc::WarcFile,
};
use crate::{bucket::layout, dice::Dice, error::TestbedError};

const LISTED_PATHS: usize = 901;
const PART_HOSTS: u64 = 10_000;
const WARC_FILES: u64 = 2;
const LEAST_PARTS: u64 = 3;

pub(crate) fn write(world: &World, bucket: &Path) -> Result<(), TestbedError> {
    let parts = world.hosts().div_ceil(PART_HOSTS).max(LEAST_PARTS);
    let next = AtomicU64::new(0);
    let failed = Mutex::new(None);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let part = next.fetch_add(1, Ordering::Relaxed);
                    if part >= parts {
                        break;
                    }
                    if let Err(error) = write_part(world, bucket, part, parts) {
                        next.store(parts, Ordering::Relaxed);
                        failed.lock().get_or_insert(error);
                    }
                }
            });
        }
    });
    if let Some(error) = failed.into_inner() {
        return Err(error);
    }
    let index_files: Vec<_> = Subset::ALL
        .iter()
        .flat_map(|subset| (0..parts).map(|part| index_name(*subset, part)))
        .collect();
    layout::write_paths(bucket, CRAWL, "cc-index-table", &with_odd_lines(index_files))?;
    let subsets = [("warc", Subset::Warc), ("non200responses", Subset::CrawlDiagnostics)];
    for (list, subset) in subsets.into_iter().chain([("robotstxt", Subset::RobotsTxt)]) {
        let names: Vec<_> = (0..parts)
            .flat_map(|part| (0..files_of(subset)).map(move |file| warc_name(subset, part, file)))
            .collect();
        layout::write_paths(bucket, CRAWL, list, &names)?;
    }
    ranks::write(world, bucket)?;
    layout::write_collections(bucket, &[CRAWL.to_owned()])
}

/// Some of the added lines are not valid index file paths.
fn with_odd_lines(mut lines: Vec<String>) -> Vec<String> {
    let folder = format!("cc-index/table/cc-main/warc/crawl={CRAWL}");
    lines.insert(0, format!("{folder}/"));
    lines.extend([format!("{folder}/_SUCCESS"), String::new(), "../no path".to_owned()]);
    let missing = LISTED_PATHS.saturating_sub(lines.len());
    lines.extend(
        (0..missing).map(|part| format!("{folder}/subset=other/part-{part:05}.gz.parquet")),
    );
    lines
}

fn files_of(subset: Subset) -> u64 {
    if subset == Subset::Warc { WARC_FILES } else { 1 }
}

fn index_name(subset: Subset, part: u64) -> String {
    format!(
        "cc-index/table/cc-main/warc/crawl={CRAWL}/subset={}/\
         part-{part:05}-6d1f0a4e-9a1b-4f39-8e7c-3d5b2c6a7f10.c000.gz.parquet",
        subset.name()
    )
}

fn segment(part: u64) -> String {
    format!("{}.{:02}", 1_768_220_000_000_u64 + part * 7_919, part % 100)
}

fn warc_name(subset: Subset, part: u64, file: u64) -> String {
    let hour = part % 240 * 3_600;
    let (from, to) = (site::stamp(hour), site::stamp(hour + 3 * 3_600));
    let folder = subset.name();
    let segment = segment(part);
    let number = part * WARC_FILES + file;
    format!(
        "crawl-data/{CRAWL}/segments/{segment}/{folder}/CC-MAIN-{from}-{to}-{number:05}.warc.gz"
    )
}

struct SubsetFiles {
    index: IndexFileWriter,
    warcs: Vec<WarcFile>,
}

impl SubsetFiles {
    fn create(bucket: &Path, subset: Subset, part: u64) -> Result<Self, TestbedError> {
        let make_folder = |name: &str| -> Result<_, TestbedError> {
            let path = bucket.join(name);
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder).map_err(TestbedError::file(folder))?;
            }
            Ok(path)
        };
        let index = IndexFileWriter::create(&make_folder(&index_name(subset, part))?)?;
        let warcs = (0..files_of(subset))
            .map(|file| {
                let name = warc_name(subset, part, file);
                WarcFile::create(make_folder(&name)?, name)
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { index, warcs })
    }

    fn add(
        &mut self,
        capture: &GeneratedCapture,
        seed: u64,
        segment: &str,
    ) -> Result<(), TestbedError> {
        let files = self.warcs.len() as u64;
        let file = Dice::new(seed, &["warc file", &capture.url(), &capture.date()]).below(files);
        let Some(warc) = self.warcs.get_mut(file as usize) else { return Ok(()) };
        let written = warc.response(capture)?;
        self.index.row(capture, &written, &warc.name, segment)
    }

    fn finish(self) -> Result<(), TestbedError> {
        for warc in self.warcs {
            warc.finish()?;
        }
        self.index.finish()
    }
}

fn write_part(world: &World, bucket: &Path, part: u64, parts: u64) -> Result<(), TestbedError> {
    let mut diagnostics = SubsetFiles::create(bucket, Subset::CrawlDiagnostics, part)?;
    let mut robots = SubsetFiles::create(bucket, Subset::RobotsTxt, part)?;
    let mut warc = SubsetFiles::create(bucket, Subset::Warc, part)?;
    let segment = segment(part);
    let mut index = start(world, part, parts);
    let end = start(world, part + 1, parts);
    while index < end {
        for capture in site::captures(world, index) {
            let files = match capture.subset {
                Subset::CrawlDiagnostics => &mut diagnostics,
                Subset::RobotsTxt => &mut robots,
                Subset::Warc => &mut warc,
            };
            files.add(&capture, world.seed, &segment)?;
        }
        index += if world.are_twins(index) { 2 } else { 1 };
    }
    diagnostics.finish()?;
    robots.finish()?;
    warc.finish()
}

/// The number is even, so that twins are in the same part.
fn start(world: &World, part: u64, parts: u64) -> u64 {
    if part >= parts {
        return world.hosts();
    }
    let at = u128::from(world.hosts()) * u128::from(part) / u128::from(parts);
    at as u64 & !1
}
