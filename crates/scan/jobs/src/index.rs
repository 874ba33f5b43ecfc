//! `index`: reads one of the crawl's index files, and returns its home page captures.

use chrono::{DateTime, Utc};
use everytab_bundler::stats_names::{CountFamily, CountName, InputName, OutcomeName};
use everytab_commoncrawl::{
    hostname_hash,
    index::{Capture, IndexCounts, IndexOptions, Protocol},
};
use everytab_coordinator::{Coordinator, CrawlFile, HostRow, Output};
use everytab_fetcher::Heartbeat;
use everytab_job_result::{JobError, PerformedJob, Stats};
use everytab_storage::Store;

use crate::{
    context::Context,
    index_file::{IndexFile, IndexFileError, index_options},
    job::{Job, ScanAssignment},
};

/// Maximum concurrent index jobs per worker. Each waits for bytes ten times as long as it parses
/// rows.
pub const CONCURRENT_JOBS: usize = 4;

pub(crate) struct Index;

impl Job for Index {
    type Input = CrawlFile;

    async fn load(coordinator: &Coordinator, job: &ScanAssignment) -> Result<CrawlFile, JobError> {
        Ok(coordinator.load_index(job.scan, job.part).await?)
    }

    async fn perform(
        context: &Context,
        job: &ScanAssignment,
        file: CrawlFile,
    ) -> Result<PerformedJob, JobError> {
        let store = context.source(&job.settings).await?;
        let about = |error: JobError| match error {
            JobError::Discard(reason) => {
                JobError::Discard(format!("index file {}: {reason}", file.path))
            }
            other => other,
        };
        let (rows, counts) = read(&*store, &file, &job.heartbeat).await.map_err(about)?;
        Ok(PerformedJob { output: Output::Hosts(rows), stats: stats(&counts) })
    }
}

async fn read(
    store: &dyn Store,
    file: &CrawlFile,
    heartbeat: &Heartbeat,
) -> Result<(Vec<HostRow>, IndexCounts), JobError> {
    let info = store.head(&file.path).await?.ok_or_else(|| {
        JobError::Discard(format!("it is not in {}; check the crawl and --source", store.url()))
    })?;
    let max_captures = file.max_captures.map(i64::unsigned_abs);
    let options = IndexOptions { max_captures, ..index_options() };
    let mut index = IndexFile::new(store, &file.path, info.size, options);
    let mut rows = Vec::new();
    loop {
        let captures = index.next().await?;
        heartbeat.beat();
        if captures.is_empty() {
            return Ok((rows, index.counts()));
        }
        rows.extend(captures.into_iter().map(host_row));
    }
}

impl From<IndexFileError> for JobError {
    fn from(error: IndexFileError) -> Self {
        match error {
            IndexFileError::Store(error) => error.into(),
            IndexFileError::Index(error) => error.into(),
            IndexFileError::Ended(_) => Self::Retry(error.to_string()),
        }
    }
}

fn host_row(capture: Capture) -> HostRow {
    HostRow {
        hash: hostname_hash(&capture.hostname),
        https: capture.protocol == Protocol::Https,
        fetch_time: DateTime::<Utc>::from_timestamp_micros(capture.fetch_time_micros)
            .unwrap_or(DateTime::UNIX_EPOCH),
        warc_path: capture.warc_filename,
        warc_offset: i64::try_from(capture.warc_record_offset).unwrap_or(i64::MAX),
        warc_length: i64::try_from(capture.warc_record_length).unwrap_or(i64::MAX),
        hostname: capture.hostname,
    }
}

fn stats(counts: &IndexCounts) -> Stats {
    let mut stats = Stats::default();
    stats.input(InputName::Rows, counts.rows);
    stats.outcome(OutcomeName::NotHomePage.as_str(), counts.not_home_pages);
    stats.outcome(OutcomeName::Capture.as_str(), counts.captures);
    stats.outcome(OutcomeName::Duplicate.as_str(), counts.duplicates_removed);
    stats.outcome(OutcomeName::Malformed.as_str(), counts.malformed);
    stats.outcome(OutcomeName::BeyondLimit.as_str(), counts.beyond_limit);
    stats.count(CountName::Hosts, counts.captures);
    stats.count(CountName::BytesRead, counts.bytes_read);
    stats.count(CountName::RangesRead, counts.ranges_read);
    stats.count(CountName::RowGroupsRead, counts.row_groups_read);
    for (reason, amount) in counts.left_out().filter(|(_, amount)| *amount > 0) {
        stats.count_member(CountFamily::LeftOut, reason.as_str(), amount);
    }
    for (reason, amount) in counts.hostnames_refused().filter(|(_, amount)| *amount > 0) {
        stats.count_member(CountFamily::HostnameRefused, reason.as_str(), amount);
    }
    stats
}
