//! `warc`: reads a shard's home pages by their byte ranges, and extracts titles and icon links.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use bytes::Bytes;
use everytab_bundler::stats_names::{CountName, InputName, OutcomeName};
use everytab_commoncrawl::warc::{self, RecordType};
use everytab_coordinator::{Coordinator, Output, PageRow, WarcHost};
use everytab_fetcher::{Heartbeat, ItemIsolation};
use everytab_job_result::{JobError, PerformedJob, Stats, StoreFailure, blocking};
use everytab_storage::{StorageError, StorageErrorKind, Store};
use everytab_webpage::{
    Candidate, Candidates, TitleState, candidates, iframe_ok, page::Page, tab_title, understand,
};
use futures_util::{StreamExt, stream};

use crate::{
    context::Context,
    job::{Job, ScanAssignment},
    outage::known_object_is_read,
};

/// Maximum concurrent warc jobs per worker: one waits for bytes while the other parses.
pub const CONCURRENT_JOBS: usize = 2;
/// WARC records that a job requests concurrently.
pub const CONCURRENT_RECORDS: usize = 24;
/// Pages per batch. Pages are batched, because passing work to a blocking thread and back takes a
/// third as long as parsing a page.
const PAGES_PER_BATCH: usize = 8;
/// Fewer denied records than this do not count as a store failure.
const MOST_REFUSED: usize = 10;
const _: () = assert!(CONCURRENT_RECORDS * CONCURRENT_JOBS <= 50);
const _: () = assert!(PAGES_PER_BATCH < CONCURRENT_RECORDS);

pub(crate) struct Warc;

impl Job for Warc {
    type Input = Vec<WarcHost>;

    async fn load(
        coordinator: &Coordinator,
        job: &ScanAssignment,
    ) -> Result<Self::Input, JobError> {
        Ok(coordinator.load_warc(job.scan, job.part).await?)
    }

    async fn perform(
        context: &Context,
        job: &ScanAssignment,
        hosts: Vec<WarcHost>,
    ) -> Result<PerformedJob, JobError> {
        let store = context.source(&job.settings).await?;
        let source = RecordSource { store, crawl: job.info.crawl.clone() };
        let (rows, stats) = read_home_pages(&source, hosts, &job.heartbeat, &job.isolation).await?;
        Ok(PerformedJob { output: Output::Pages(rows), stats })
    }
}

/// The location of a crawl's records.
#[derive(Debug, Clone)]
pub struct RecordSource {
    /// The crawl's bucket.
    pub store: Arc<dyn Store>,
    /// The crawl's id. The list of this crawl's index files is known to exist in the store.
    pub crawl: String,
}

/// Reads the records of a shard's hosts from `source`, and returns a row for each host.
///
/// # Errors
///
/// Returns an error if the store fails, denies access to most records, or lacks most of them.
pub async fn read_home_pages(
    source: &RecordSource,
    mut hosts: Vec<WarcHost>,
    heartbeat: &Heartbeat,
    isolation: &ItemIsolation,
) -> Result<(Vec<PageRow>, Stats), JobError> {
    let mut stats = Stats::default();
    stats.input(InputName::Hosts, hosts.len() as u64);
    let asked = hosts.iter().filter(|host| !host.blocked).count();
    let mut missing = 0_usize;
    let mut refused = Refusals::default();
    hosts.sort_by_key(|host| !isolation.is_suspect(host.host_no.into()));
    let reads: Vec<_> = hosts
        .into_iter()
        .map(|host| read_member(source.clone(), host, isolation.clone()))
        .collect();
    // In isolation, each record is parsed before the next one is read.
    let (in_flight, batch) =
        if isolation.is_on() { (1, 1) } else { (CONCURRENT_RECORDS, PAGES_PER_BATCH) };
    let mut reads = stream::iter(reads).buffer_unordered(in_flight).ready_chunks(batch);
    let mut rows = Vec::new();
    while let Some(come) = reads.next().await {
        let mut members = Vec::with_capacity(come.len());
        for read in come {
            let (host, member) = read?;
            stats.count(CountName::DuplicateCaptures, host.duplicates.unsigned_abs().into());
            stats.count(CountName::BytesRead, member.bytes());
            missing += usize::from(matches!(member, RequestedMember::Missing));
            refused.count(&member, &source.store)?;
            members.push((host, member));
        }
        let beating = heartbeat.clone();
        let understood = blocking(move || page_rows(&members, &beating)).await?;
        for (row, counts) in understood {
            stats.outcome(&row.outcome, 1);
            stats.count(if row.https { CountName::Https } else { CountName::HttpOnly }, 1);
            stats
                .count(CountName::IframeRestricted, u64::from(row.outcome == OK && !row.frameable));
            stats.count(CountName::Candidates, counts.candidates);
            stats.count(CountName::CandidatesLeftOut, counts.left_out);
            let for_other_media = u64::from(counts.has_icon_for_other_media);
            stats.count(CountName::WithIconForOtherMedia, for_other_media);
            rows.push(row);
        }
    }
    if missing * 2 > asked {
        return Err(JobError::Discard(format!(
            "{missing} of {asked} WARC records are not in {}: is this the crawl's bucket?",
            source.store.url()
        )));
    }
    rows.sort_by_key(|row| row.host_no);
    Ok((rows, stats))
}

pub(crate) const OK: &str = OutcomeName::Ok.as_str();
const TITLE_EMPTY: &str = OutcomeName::TitleEmpty.as_str();
const TITLE_ABSENT: &str = OutcomeName::TitleAbsent.as_str();
pub(crate) const OPTED_OUT: &str = OutcomeName::OptedOut.as_str();
const WARC_MISSING: &str = OutcomeName::WarcMissing.as_str();
const WARC_REFUSED: &str = OutcomeName::WarcRefused.as_str();
const WARC_CORRUPT: &str = OutcomeName::WarcCorrupt.as_str();
const CRASHED: &str = OutcomeName::Crashed.as_str();
const NOT_A_RESPONSE: &str = OutcomeName::NotAResponse.as_str();

enum RequestedMember {
    Bytes(Bytes),
    Missing,
    Refused,
    OptedOut,
    Crashed,
}

impl RequestedMember {
    fn bytes(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Missing | Self::Refused | Self::OptedOut | Self::Crashed => 0,
        }
    }
}

#[derive(Debug, Default)]
struct Refusals {
    given: usize,
    refused: usize,
}

impl Refusals {
    /// Fails if most records so far were denied, although the store serves the crawl's list.
    fn count(&mut self, member: &RequestedMember, store: &Arc<dyn Store>) -> Result<(), JobError> {
        match member {
            RequestedMember::Refused => self.refused += 1,
            RequestedMember::Bytes(_) | RequestedMember::Missing => self.given += 1,
            RequestedMember::OptedOut | RequestedMember::Crashed => {}
        }
        let Self { given, refused } = *self;
        if refused < MOST_REFUSED || refused <= given {
            return Ok(());
        }
        Err(JobError::Store(StoreFailure {
            place: store.url().to_owned(),
            reason: format!(
                "{} denies access to {refused} of {} WARC records, but serves the crawl's list; \
                 check the right to read crawl-data/*",
                store.url(),
                refused + given
            ),
            is_refused: true,
            is_of_the_store: true,
        }))
    }
}

async fn read_member(
    source: RecordSource,
    host: WarcHost,
    isolation: ItemIsolation,
) -> Result<(WarcHost, RequestedMember), StorageError> {
    if host.blocked {
        return Ok((host, RequestedMember::OptedOut));
    }
    let item = i64::from(host.host_no);
    if isolation.has_crashed(item) {
        return Ok((host, RequestedMember::Crashed));
    }
    isolation.checkpoint_item(item).await;
    let start = host.warc_offset.unsigned_abs();
    let end = start.saturating_add(host.warc_length.unsigned_abs());
    let read = match source.store.get_range(&host.warc_path, start..end).await {
        Err(error) if error.kind() == StorageErrorKind::Denied => {
            // Only this record is denied if the store serves its canary and then denies the record
            // again.
            known_object_is_read(&*source.store, &source.crawl).await?;
            source.store.get_range(&host.warc_path, start..end).await
        }
        read => read,
    };
    match read {
        Ok(bytes) => Ok((host, RequestedMember::Bytes(bytes))),
        Err(error) if error.kind() == StorageErrorKind::Denied => {
            tracing::debug!(%error, "access to a record is denied");
            Ok((host, RequestedMember::Refused))
        }
        Err(error)
            if matches!(error.kind(), StorageErrorKind::NotFound | StorageErrorKind::Invalid) =>
        {
            Ok((host, RequestedMember::Missing))
        }
        Err(error) => Err(error),
    }
}

#[derive(Default)]
struct PageCounts {
    candidates: u64,
    left_out: u64,
    has_icon_for_other_media: bool,
}

/// If a member causes a panic, only that member gets the outcome `crashed`.
fn page_rows(
    members: &[(WarcHost, RequestedMember)],
    heartbeat: &Heartbeat,
) -> Vec<(PageRow, PageCounts)> {
    let row = |(host, member): &(WarcHost, RequestedMember)| {
        let row = catch_unwind(AssertUnwindSafe(|| page_row(host, member)));
        heartbeat.beat();
        row.unwrap_or_else(|_| (without_page(host, CRASHED), PageCounts::default()))
    };
    members.iter().map(row).collect()
}

fn page_row(host: &WarcHost, member: &RequestedMember) -> (PageRow, PageCounts) {
    let bytes = match member {
        RequestedMember::Bytes(bytes) => bytes,
        RequestedMember::Missing => {
            return (without_page(host, WARC_MISSING), PageCounts::default());
        }
        RequestedMember::Refused => {
            return (without_page(host, WARC_REFUSED), PageCounts::default());
        }
        RequestedMember::OptedOut => return (without_page(host, OPTED_OUT), PageCounts::default()),
        RequestedMember::Crashed => return (without_page(host, CRASHED), PageCounts::default()),
    };
    match read_page(host, bytes) {
        Ok(page) => with_page(host, &page),
        Err(outcome) => (without_page(host, outcome), PageCounts::default()),
    }
}

/// Returns an outcome if the record does not contain a page.
fn read_page(host: &WarcHost, member: &[u8]) -> Result<Page, &'static str> {
    let record = warc::read_record(member, warc::Limits::default()).map_err(|_| WARC_CORRUPT)?;
    // A revisit has no body of its own, and refers to another record's.
    if record.record_type != RecordType::Response {
        return Err(NOT_A_RESPONSE);
    }
    let response = record.http_response().map_err(|_| NOT_A_RESPONSE)?;
    let url =
        record.target_uri().unwrap_or_else(|| format!("{}/", home_url(&host.hostname, host.https)));
    Ok(understand(&url, response.headers.fields(), &response.body))
}

pub(crate) fn home_url(hostname: &str, https: bool) -> String {
    format!("{}://{hostname}", if https { "https" } else { "http" })
}

fn with_page(host: &WarcHost, page: &Page) -> (PageRow, PageCounts) {
    let Candidates { list, left_out } = candidates(page);
    let short_hints = |candidate: Candidate| Candidate {
        declared_type: candidate.declared_type.as_deref().map(short),
        declared_sizes: candidate.declared_sizes.as_deref().map(short),
        ..candidate
    };
    let list: Vec<Candidate> = list.into_iter().map(short_hints).collect();
    let counts = PageCounts {
        candidates: list.len() as u64,
        left_out: (left_out.duplicate
            + left_out.scheme
            + left_out.too_long
            + left_out.data_total
            + left_out.over_limit
            + left_out.no_url
            + left_out.no_icon
            + left_out.other_media) as u64,
        has_icon_for_other_media: left_out.other_media > 0,
    };
    let title = tab_title(&page.title.text);
    let outcome = match (page.title.state, title.is_empty()) {
        (TitleState::Absent, _) => TITLE_ABSENT,
        (_, true) => TITLE_EMPTY,
        (_, false) => OK,
    };
    let protocol = if host.https { "https" } else { "http" };
    let row = PageRow {
        host_no: host.host_no,
        hostname: host.hostname.clone(),
        https: host.https,
        frameable: iframe_ok(protocol, &page.framing, None),
        framing_rule: page.framing.rule.to_owned(),
        charset: Some(page.charset.clone()),
        title_state: title_state(page.title.state).to_owned(),
        title: (!title.is_empty()).then_some(title),
        candidates: json_without_nul(&list),
        outcome: outcome.to_owned(),
    };
    (row, counts)
}

fn title_state(state: TitleState) -> &'static str {
    match state {
        TitleState::Ok => "ok",
        TitleState::Empty => "empty",
        TitleState::Absent => "absent",
        TitleState::Truncated => "truncated",
    }
}

fn without_page(host: &WarcHost, outcome: &str) -> PageRow {
    PageRow {
        host_no: host.host_no,
        hostname: host.hostname.clone(),
        https: host.https,
        frameable: false,
        framing_rule: "no_page".into(),
        charset: None,
        title_state: "no_page".into(),
        title: None,
        candidates: "[]".into(),
        outcome: outcome.into(),
    }
}

fn short(value: &str) -> String {
    value.chars().filter(|character| !character.is_control()).take(100).collect()
}

/// The result has no NUL, which Postgres rejects, because URLs are percent-encoded and hints
/// contain no control characters.
fn json_without_nul(candidates: &[Candidate]) -> String {
    serde_json::to_string(candidates).unwrap_or_else(|_| "[]".into())
}

#[cfg(test)]
mod tests {
    use everytab_storage::StoreSettings;

    use super::*;

    const PAGE: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>a page</title>";

    fn record(kind: &str, block: &str) -> String {
        let length = block.len();
        format!("WARC/1.0\r\nWARC-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{block}\r\n\r\n")
    }

    async fn outcomes(records: &[String]) -> Result<(Vec<String>, Stats), JobError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        std::fs::write(folder.path().join("a.warc"), records.concat()).unwrap();
        let store = everytab_storage::open(path, &StoreSettings::default()).await.unwrap();
        let mut offset = 0;
        let host = |(number, record): (usize, &String)| {
            offset += record.len();
            WarcHost {
                host_no: number as i32,
                hostname: format!("h{number}.example"),
                https: true,
                warc_path: if record.is_empty() { "none.warc" } else { "a.warc" }.to_owned(),
                warc_offset: (offset - record.len()) as i64,
                warc_length: record.len().max(1) as i64,
                blocked: false,
                duplicates: 0,
            }
        };
        let hosts: Vec<_> = records.iter().enumerate().map(host).collect();
        let heartbeat = Heartbeat::default();
        let isolation = ItemIsolation::default();
        let source = RecordSource { store, crawl: "CC-MAIN-2026-05".to_owned() };
        let (rows, stats) = read_home_pages(&source, hosts, &heartbeat, &isolation).await?;
        assert!(stats.adds_up());
        assert_eq!(heartbeat.count(), rows.len() as u64);
        let numbers: Vec<_> = rows.iter().map(|row| row.host_no as usize).collect();
        assert_eq!(numbers, (0..records.len()).collect::<Vec<_>>());
        Ok((rows.into_iter().map(|row| row.outcome).collect(), stats))
    }

    #[tokio::test]
    async fn each_host_has_one_row_whatever_its_record_is() {
        let mut records = vec![
            record("response", PAGE),
            record("revisit", PAGE),
            record("request", "GET / HTTP/1.1\r\n\r\n"),
            record("response", "no http"),
            "no record".to_owned(),
            String::new(),
        ];
        records.extend((0..100).map(|_| record("response", PAGE)));
        let (outcomes, _) = outcomes(&records).await.unwrap();
        assert_eq!(
            outcomes[..6],
            [
                "ok",
                "not_a_response",
                "not_a_response",
                "not_a_response",
                "warc_corrupt",
                "warc_missing"
            ]
        );
        assert!(outcomes[6..].iter().all(|outcome| outcome == "ok"));
    }

    #[tokio::test]
    async fn home_pages_with_an_icon_for_dark_pages_are_counted() {
        let icon = |media: &str| format!("{PAGE}<link rel=icon href=/{media} media='{media}'>");
        let [light, dark] = ["light", "dark"].map(|scheme| {
            let media = format!("(prefers-color-scheme: {scheme})");
            icon(&media)
        });
        let pages = [PAGE.to_owned(), light.clone(), dark.clone(), light + &dark.repeat(3)];
        let records = pages.map(|page| record("response", &page));
        let (_, stats) = outcomes(&records).await.unwrap();
        let counts = serde_json::to_value(&stats).unwrap()["counts"].take();
        assert_eq!(counts["with_icon_for_other_media"], 2, "{counts}");
        assert_eq!(counts["candidates_left_out"], 1 + 3, "{counts}");
    }

    #[tokio::test]
    async fn a_store_without_most_records_is_not_the_crawls() {
        let records = [record("response", PAGE), String::new(), String::new()];
        assert!(matches!(outcomes(&records).await, Err(JobError::Discard(_))));
    }
}
