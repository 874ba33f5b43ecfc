//! Crawls a list of sites in a directory, so that a scan can read the crawl afterwards.

use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};

use chrono::Utc;
use everytab_console::{LineSink, OperationError};
use everytab_coordinator::{Coordinator, CrawlStatus, CrawlVerb, OPERATOR};
use everytab_crawl_settings::{CrawlSettings, SeedPorts, SeedReader};
use everytab_crawl_start::{SeedBatch, new_crawl};
use everytab_frontier::{ParameterList, SuffixList};
use everytab_operations::{progress::STATUS_SHARE, scan_start};
use everytab_testbed::Running;
use sha2::{Digest, Sha256};
use tokio::{sync::watch, time::Instant};
use uuid::Uuid;

use crate::{watch::REPAINT_INTERVAL, worker_processes::WorkerProcesses};

pub(crate) const CRAWLS: &str = "crawls";
/// Directory with one file per crawl, whose name identifies the list and the depth.
const LISTS: &str = "sites";
/// Maximum size of a list, in bytes.
const MAX_LIST_BYTES: u64 = 64 << 20;
pub(crate) const NO_LIST: &str = "--sites: give a FILE with one site per line, or --sample as well";
/// Maximum rejected lines that are shown.
const MAX_SHOWN: usize = 10;

/// The sites to crawl before the scan.
#[derive(Debug, Clone)]
pub struct SitesOptions {
    /// File with one URL or hostname per line. `None` for all hosts of the small internet.
    pub file: Option<PathBuf>,
    /// Maximum distance of a page from the site's home page, in links. With 0, only home pages are
    /// crawled.
    pub depth: u16,
}

pub(crate) struct CrawledSites {
    pub(crate) name: String,
    pub(crate) store: String,
}

pub(crate) fn read_list(
    sites: &SitesOptions,
    internet: Option<&Running>,
) -> Result<Vec<u8>, OperationError> {
    let Some(file) = &sites.file else {
        let internet = internet.ok_or_else(|| OperationError::usage(NO_LIST))?;
        return Ok(internet.hosts().collect::<Vec<_>>().join("\n").into_bytes());
    };
    let about =
        |error: std::io::Error| OperationError::new(format!("--sites {}: {error}", file.display()));
    let mut list = Vec::new();
    File::open(file)
        .map_err(about)?
        .take(MAX_LIST_BYTES + 1)
        .read_to_end(&mut list)
        .map_err(about)?;
    if list.len() as u64 > MAX_LIST_BYTES {
        return Err(OperationError::usage(format!(
            "--sites {}: more than {MAX_LIST_BYTES} bytes; `crawl start --seeds` takes longer ones",
            file.display()
        )));
    }
    Ok(list)
}

/// Returns the id of the directory's crawl with this list and depth. Starts a new crawl if there is
/// none, if not all of its sites were added, or if `again` is set.
pub(crate) async fn find_or_start(
    coordinator: &Coordinator,
    dir: &Path,
    sites: &SitesOptions,
    list: &[u8],
    (again, sink): (bool, &dyn LineSink),
) -> Result<Uuid, OperationError> {
    let digest = hex::encode(Sha256::digest([list, &sites.depth.to_be_bytes()].concat()));
    let note = dir.join(LISTS).join(&digest);
    let known = std::fs::read_to_string(&note).ok().and_then(|id| id.trim().parse().ok());
    if let Some(id) = known.filter(|_| !again)
        && let Some(status) = coordinator.crawl_status(Some(id)).await?.pop()
    {
        if !status.seeding {
            return Ok(id);
        }
        // The last run stopped before it had added all sites.
        coordinator.move_crawl(id, CrawlVerb::Cancel).await?;
    }
    let parameters = ParameterList::default();
    let suffixes = SuffixList::default();
    let mut batches = Vec::new();
    let mut batch = SeedBatch::new(&suffixes, false);
    let mut added = 0_u64;
    let mut refused = 0_usize;
    let mut ports = SeedPorts::of_operator();
    for line in SeedReader::new(list, &parameters) {
        let line = line?;
        match line.seed.and_then(|seed| ports.check(&seed).map(|()| seed)) {
            Ok(seed) => {
                batch.push(seed);
                added += 1;
            }
            Err(error) => {
                refused += 1;
                if refused <= MAX_SHOWN {
                    let number = line.number;
                    let shown = line.shown;
                    sink.note(format_args!("--sites, line {number}: {shown}: {error}"));
                }
            }
        }
        if batch.is_full() {
            batches.push(batch.take());
        }
    }
    batches.push(batch.take());
    if added == 0 {
        return Err(OperationError::usage("--sites: no line of the list is a URL or a hostname"));
    }
    if refused > MAX_SHOWN {
        sink.note(format_args!("--sites: {refused} lines were rejected"));
    }
    let seed_ports = ports.freeze();
    let settings = CrawlSettings { depth: sites.depth, seed_ports, ..CrawlSettings::default() };
    let store = scan_start::absolute(dir.join(CRAWLS).display().to_string())?;
    let crawl = new_crawl(&settings, OPERATOR, &store, Utc::now())
        .map_err(|error| OperationError::usage(error.to_string()))?;
    std::fs::create_dir_all(dir.join(LISTS))?;
    std::fs::write(note, crawl.id.to_string())?;
    let number = coordinator.start_crawl(&crawl).await?;
    let last = batches.len() - 1;
    for (position, links) in batches.into_iter().enumerate() {
        coordinator.add_links(number, &links, position == last).await?;
    }
    tracing::info!(crawl = crawl.name, sites = added, "crawl started");
    Ok(crawl.id)
}

/// Returns `None` if `stop` becomes true before the crawl's indexes are written.
pub(crate) async fn watch_crawl(
    coordinator: &Coordinator,
    id: Uuid,
    processes: &WorkerProcesses,
    stop: &mut watch::Receiver<bool>,
    sink: &dyn LineSink,
) -> Result<Option<CrawledSites>, OperationError> {
    let mut said = String::new();
    loop {
        let asked_at = Instant::now();
        let found = coordinator.crawl_status(Some(id)).await?.pop();
        let status = found.ok_or_else(|| OperationError::new("the crawl no longer exists"))?;
        let pause = REPAINT_INTERVAL.max(asked_at.elapsed() * STATUS_SHARE);
        let line = line_of(&status);
        if !sink.paint(&|_| vec![line.clone()]) && line != said {
            sink.note(format_args!("{line}"));
            said.clone_from(&line);
        }
        match status.indexes.as_deref() {
            Some("written" | "incomplete") => {
                return Ok(Some(CrawledSites { name: status.name, store: status.store }));
            }
            Some("cancelled" | "none") => {
                return Err(OperationError::new("the crawl was not indexed; give --again"));
            }
            _ => {}
        }
        if *stop.borrow() {
            return Ok(None);
        }
        if processes.restart_crashed()? {
            let found = coordinator.crawl_status(Some(id)).await?.pop();
            let word = found.and_then(|status| status.indexes);
            if !matches!(word.as_deref(), Some("written" | "incomplete")) {
                return Err(OperationError::new(
                    "all workers exited before the crawl was finished",
                ));
            }
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            _ = stop.changed() => {}
        }
    }
}

fn line_of(status: &CrawlStatus) -> String {
    let CrawlStatus { known, pending, captured, failed, .. } = status;
    let done = known - pending;
    let others = done - captured - failed;
    let indexing = if status.state == "ended" { "; writing the indexes" } else { "" };
    format!(
        "crawl    {done} of {known} URLs: {captured} captured, {failed} failed, {others} refused \
         or left{indexing}"
    )
}
