//! Writes WARC records into archives, and uploads the archives until their stores accept them.
//!
//! The scheduler learns a record's position only after the upload, because a fetch is recorded in
//! Postgres only when its record is in the store.

use std::{
    collections::HashMap,
    fs::File,
    io::BufWriter,
    net::IpAddr,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use chrono::{DateTime, Utc};
use everytab_commoncrawl::{
    crawl_layout::{ArchiveName, ArchiveSubset},
    warc::write::{
        ArchiveInfo, ArchiveWriter, ArchivedFetch, CrawlInfo, FetchFacts, KeptAnswer, Position,
        Response, Revisit, TruncatedBecause, WriteError, record_id,
    },
};
use everytab_fetcher::{CutReason, PageFetchResult};
use everytab_storage::PutOptions;
use sha2::{Digest as _, Sha256};
use tempfile::TempPath;
use tokio::sync::mpsc;

use crate::{
    crawl::Crawl,
    pending_uploads::PendingUploads,
    repeat::BodySource,
    stored_bodies::{BodyArchive, BodyLocation, LastForgetTime, StoredBodies},
};

/// Maximum open archives. A crawl has up to four per store, and each costs a file and a compressor.
const MAX_OPEN: usize = 64;
/// Time after which an archive is uploaded if a client is waiting for a record in it.
const URGENT_AGE: Duration = Duration::from_secs(1);
/// robots.txt archives are uploaded this many times sooner than others.
const ROBOTS_SOONER: u32 = 3;
/// Pause before the first retry of an upload. Each further failure doubles it.
const FIRST_UPLOAD_PAUSE: Duration = Duration::from_secs(1);
/// Maximum pause before an upload is retried.
const MAX_UPLOAD_PAUSE: Duration = Duration::from_secs(30);
/// Archives per segment, so that people can list the prefix of a segment.
const ARCHIVES_PER_SEGMENT: u64 = 1_000;
/// Maximum records that wait to be written. Each may have a body with several megabytes.
pub(crate) const MAX_WAITING: usize = 64;

pub(crate) struct WarcRecord {
    pub crawl: Arc<Crawl>,
    pub subset: ArchiveSubset,
    pub slot: i16,
    pub url: String,
    /// Request time, in microseconds since 1970.
    pub date_micros: i64,
    pub ip_address: Option<IpAddr>,
    pub request_head: Vec<u8>,
    pub response_head: Vec<u8>,
    /// Holds the permit for its body's memory until the record is written.
    pub fetched: PageFetchResult,
    pub sha256: [u8; 32],
    pub body: BodySource,
    /// Where to search for an identical body to refer to. `None` if the record must not refer to
    /// another URL's record.
    pub dedup_scope: Option<DedupScope>,
    pub duration: Duration,
    pub delay: Duration,
    /// Number of links from a seed to the URL. `None` for robots.txt.
    pub depth: Option<u16>,
    /// The URL of the page that links or redirects here.
    pub via: Option<Arc<str>>,
    pub certificate: Option<&'static str>,
    pub is_urgent: bool,
    pub charset: Option<String>,
}

#[derive(Clone, Copy)]
pub(crate) struct DedupScope {
    pub site: u64,
    pub hashes: (u64, u64),
}

pub(crate) enum ArchiveCommand<T> {
    /// Writes a record. The second value is returned with the [`UploadedRecord`].
    Write(Box<WarcRecord>, T),
    UploadRobots(Arc<Crawl>, i16),
    UploadAll,
}

pub(crate) struct UploadedRecord<T> {
    pub tag: T,
    /// `None` if the record could not be written.
    pub object: Option<Arc<str>>,
    pub position: Position,
    pub body: Option<BodyLocation>,
}

pub(crate) struct UploadedArchive<T> {
    pub crawl: i32,
    pub bytes: u64,
    /// Whether the archive is lost because this host's disk failed. Its URLs must be fetched again.
    pub is_lost: bool,
    pub records: Vec<UploadedRecord<T>>,
}

#[derive(Debug, Clone)]
pub(crate) struct ArchiveSettings {
    pub temporary: PathBuf,
    /// The worker's name in archive names: ASCII letters, digits and `-`, unique in the fleet.
    pub worker: String,
    /// Size from which an archive is uploaded, in bytes.
    pub max_bytes: u64,
    pub max_age: Duration,
    pub operator: String,
    pub user_agent: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct ArchiveKey {
    crawl: i32,
    subset: ArchiveSubset,
    store: usize,
}

fn key_of(crawl: &Crawl, subset: ArchiveSubset, slot: i16) -> ArchiveKey {
    let stores = crawl.stores.as_ref();
    let store = stores.map_or(0, |stores| stores.number_of(slot, subset));
    ArchiveKey { crawl: crawl.number, subset, store }
}

/// The archive, the site's hash, and a digest of the body and [`HEADERS_OF_A_BODY`].
type BodyKey = (ArchiveKey, u64, [u8; 32]);

/// Headers that must also be identical, because a later crawl may parse an unchanged page with the
/// other record's headers.
const HEADERS_OF_A_BODY: [&str; 2] = ["content-type", "x-robots-tag"];

fn body_key(key: ArchiveKey, record: &WarcRecord) -> Option<BodyKey> {
    let copies = record.dedup_scope?;
    let mut digest = Sha256::new_with_prefix(record.sha256);
    for name in HEADERS_OF_A_BODY {
        digest.update([0]);
        for value in record.fetched.headers.get_all(name) {
            digest.update(value.as_bytes());
            digest.update([b'\n']);
        }
    }
    Some((key, copies.site, digest.finalize().into()))
}

struct WrittenRecord<T> {
    tag: T,
    position: Position,
    body: Option<BodyLocation>,
}

struct OpenArchive<T> {
    crawl: Arc<Crawl>,
    store: usize,
    names: BodyArchive,
    path: TempPath,
    writer: ArchiveWriter<BufWriter<File>>,
    upload_at: Instant,
    records: Vec<WrittenRecord<T>>,
}

/// Writes and uploads archives in one task. This task stops when the scheduler drops its sender,
/// and uploads that finish later are not reported.
pub(crate) struct Archives<T> {
    settings: ArchiveSettings,
    open: HashMap<ArchiveKey, OpenArchive<T>>,
    bodies: StoredBodies<BodyKey>,
    number: u64,
    uploaded: mpsc::UnboundedSender<UploadedArchive<T>>,
    pending_uploads: PendingUploads,
    forgotten: LastForgetTime,
}

impl<T: Send + 'static> Archives<T> {
    /// Creates the task. No record refers to one that was stored before `forgotten`.
    pub(crate) fn new(
        settings: ArchiveSettings,
        uploaded: mpsc::UnboundedSender<UploadedArchive<T>>,
        pending_uploads: PendingUploads,
        forgotten: LastForgetTime,
    ) -> Self {
        let open = HashMap::new();
        let bodies = StoredBodies::default();
        Self { settings, open, bodies, number: 0, uploaded, pending_uploads, forgotten }
    }

    pub(crate) async fn run(mut self, mut commands: mpsc::Receiver<ArchiveCommand<T>>) {
        let mut tick = tokio::time::interval(Duration::from_millis(200));
        loop {
            tokio::select! {
                command = commands.recv() => match command {
                    Some(ArchiveCommand::Write(record, tag)) => self.write(&record, tag),
                    Some(ArchiveCommand::UploadRobots(of, slot)) => self.upload_robots(&of, slot),
                    Some(ArchiveCommand::UploadAll) => self.upload_where(|_| true),
                    None => return,
                },
                _ = tick.tick() => {
                    let now = Instant::now();
                    self.upload_where(|archive| archive.upload_at <= now);
                }
            }
        }
    }

    fn upload_robots(&mut self, crawl: &Crawl, slot: i16) {
        if let Some(archive) = self.open.remove(&key_of(crawl, ArchiveSubset::RobotsTxt, slot)) {
            self.upload(archive);
        }
    }

    fn write(&mut self, record: &WarcRecord, tag: T) {
        let key = key_of(&record.crawl, record.subset, record.slot);
        let body_key = body_key(key, record);
        let open = self.open.get(&key).map(|archive| &archive.names);
        let body = body_key.and_then(|body| self.bodies.named(body, open));
        let may_name = |body: &BodyLocation| {
            record.crawl.may_name_record_of(body.at, Utc::now())
                && !self.forgotten.may_concern(body.at)
        };
        let body = body.filter(may_name);
        match self.try_write(key, record, body.as_ref()) {
            Ok((position, size)) => {
                if let Some(archive) = self.open.get_mut(&key) {
                    if record.is_urgent {
                        archive.upload_at = archive.upload_at.min(Instant::now() + URGENT_AGE);
                    }
                    if let (Some(key), Some(copies), None) = (body_key, record.dedup_scope, &body) {
                        let location = location_of(record, copies, &archive.names, position);
                        self.bodies.add(key, location, &archive.names);
                    }
                    archive.records.push(WrittenRecord { tag, position, body });
                }
                if size >= self.settings.max_bytes
                    && let Some(archive) = self.open.remove(&key)
                {
                    self.upload(archive);
                }
            }
            Err(error) => {
                tracing::warn!(url = record.url, %error, "cannot write the WARC record");
                let is_lost = matches!(error, WriteError::Output(_));
                // If a write stops within a record, the archive is lost with all its records.
                let broken = if is_lost { self.open.remove(&key) } else { None };
                let position = Position { offset: 0, length: 0 };
                let others = broken.into_iter().flat_map(|archive| archive.records);
                let records = others.map(|record| record.tag).chain([tag]);
                let lost = |tag| UploadedRecord { tag, object: None, position, body: None };
                let records = records.map(lost).collect();
                self.uploaded
                    .send(UploadedArchive { crawl: key.crawl, bytes: 0, is_lost, records })
                    .ok();
            }
        }
    }

    fn try_write(
        &mut self,
        key: ArchiveKey,
        record: &WarcRecord,
        body: Option<&BodyLocation>,
    ) -> Result<(Position, u64), WriteError> {
        if !self.open.contains_key(&key) {
            self.make_room();
            let archive = self.begin(&record.crawl, key)?;
            self.open.insert(key, archive);
        }
        let Some(archive) = self.open.get_mut(&key) else {
            return Ok((Position { offset: 0, length: 0 }, 0));
        };
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).ok();
        let earlier = record.body.copy().and_then(BodyLocation::of_earlier);
        let names = body.or(earlier.as_ref()).map(|body| BodyNames::of(&record.sha256, body));
        let written = archive.writer.exchange(&ArchivedFetch {
            request_head: &record.request_head,
            answer: kept_answer(record, names.as_ref()),
            facts: FetchFacts {
                fetch_time_ms: milliseconds(record.duration),
                delay_ms: milliseconds(record.delay),
                depth: record.depth,
                via: record.via.as_deref(),
                certificate: record.certificate,
                charset: record.charset.as_deref(),
                ..FetchFacts::default()
            },
        })?;
        Ok((written.position, archive.writer.offset()))
    }

    fn make_room(&mut self) {
        if self.open.len() < MAX_OPEN {
            return;
        }
        let oldest = self.open.iter().min_by_key(|(_, archive)| archive.upload_at);
        if let Some(key) = oldest.map(|(key, _)| *key)
            && let Some(archive) = self.open.remove(&key)
        {
            self.upload(archive);
        }
    }

    fn begin(&mut self, crawl: &Arc<Crawl>, key: ArchiveKey) -> Result<OpenArchive<T>, WriteError> {
        self.number += 1;
        let ArchiveSettings { temporary, worker, operator, user_agent, .. } = &self.settings;
        let segment = self.number / ARCHIVES_PER_SEGMENT;
        let name = ArchiveName::new(crawl.name.clone(), key.subset, segment, worker, self.number)
            .map_err(|error| WriteError::Output(std::io::Error::other(error)))?;
        let (file, path) = tempfile::Builder::new()
            .prefix("everytab-crawl-")
            .suffix(".warc.gz")
            .tempfile_in(temporary)?
            .into_parts();
        let info = CrawlInfo {
            software: concat!("everytab-worker/", env!("CARGO_PKG_VERSION")),
            operator,
            user_agent,
            robots: "obey",
            crawl: crawl.name.as_str(),
        };
        let info = ArchiveInfo {
            file_name: &name.file(),
            date_micros: Utc::now().timestamp_micros(),
            fields: &info.fields(),
        };
        let writer = ArchiveWriter::new(BufWriter::new(file), &info)?;
        // Fetches wait in memory for their host's robots.txt record, so upload it sooner.
        let is_robots = key.subset == ArchiveSubset::RobotsTxt;
        let sooner = if is_robots { ROBOTS_SOONER } else { 1 };
        let crawl = Arc::clone(crawl);
        let upload_at = Instant::now() + self.settings.max_age / sooner;
        let names = BodyArchive::new(&name.object());
        let records = Vec::new();
        Ok(OpenArchive { crawl, store: key.store, names, path, writer, upload_at, records })
    }

    fn upload_where(&mut self, is_due: impl Fn(&OpenArchive<T>) -> bool) {
        let keys = self.open.iter().filter(|(_, archive)| is_due(archive)).map(|(key, _)| *key);
        for key in keys.collect::<Vec<_>>() {
            if let Some(archive) = self.open.remove(&key) {
                self.upload(archive);
            }
        }
    }

    fn upload(&self, archive: OpenArchive<T>) {
        let (sender, uploads) = (self.uploaded.clone(), self.pending_uploads.clone());
        let number = uploads.begin(archive.crawl.number, Instant::now());
        tokio::spawn(async move {
            let archive = upload_with_retries(archive).await;
            uploads.end(number);
            sender.send(archive).ok();
        });
    }
}

struct BodyNames<'a> {
    digest: String,
    record_id: String,
    body: &'a BodyLocation,
}

impl<'a> BodyNames<'a> {
    fn of(sha256: &[u8; 32], body: &'a BodyLocation) -> Self {
        let digest = format!("sha256:{}", hex::encode(sha256));
        let record_id = record_id("response", &body.url, body.at.timestamp_micros(), &digest);
        Self { digest, record_id, body }
    }
}

fn location_of(
    record: &WarcRecord,
    scope: DedupScope,
    archive: &BodyArchive,
    position: Position,
) -> BodyLocation {
    let at = DateTime::from_timestamp_micros(record.date_micros).unwrap_or_default();
    let url = record.url.as_str().into();
    let object = Arc::clone(&archive.object);
    BodyLocation { url, hashes: scope.hashes, at, object, position }
}

fn kept_answer<'a>(record: &'a WarcRecord, names: Option<&'a BodyNames<'_>>) -> KeptAnswer<'a> {
    let revisit = names.map(|BodyNames { digest, record_id, body }| Revisit {
        target_uri: &record.url,
        date_micros: record.date_micros,
        ip_address: record.ip_address,
        http_head: &record.response_head,
        payload_digest: digest,
        refers_to_record_id: record_id,
        refers_to_target_uri: &body.url,
        refers_to_date_micros: body.at.timestamp_micros(),
    });
    match (&record.body, revisit) {
        (BodySource::NotModified(_), Some(revisit)) => KeptAnswer::NotModified(revisit),
        (_, Some(revisit)) => KeptAnswer::Identical(revisit),
        (_, None) => KeptAnswer::Response(Response {
            target_uri: &record.url,
            date_micros: record.date_micros,
            ip_address: record.ip_address,
            http_head: &record.response_head,
            body: &record.fetched.body,
            truncated: record.fetched.truncated.map(truncated_because),
        }),
    }
}

fn truncated_because(reason: CutReason) -> TruncatedBecause {
    match reason {
        CutReason::Length => TruncatedBecause::Length,
        CutReason::Time => TruncatedBecause::Time,
        CutReason::Disconnect => TruncatedBecause::Disconnect,
    }
}

async fn upload_with_retries<T>(archive: OpenArchive<T>) -> UploadedArchive<T> {
    let OpenArchive { crawl, store, names, path, writer, records, .. } = archive;
    let object = Arc::clone(&names.object);
    let bytes = writer.offset();
    let is_lost = match writer.finish() {
        Ok(_) => false,
        Err(error) => {
            tracing::error!(%object, %error, "cannot finish the archive; fetching its URLs again");
            true
        }
    };
    let options = PutOptions::new("application/warc", "no-store");
    let mut pause = FIRST_UPLOAD_PAUSE;
    // A crawl without a store sends no requests, so it has no archives.
    while !is_lost
        && let Some(store) = crawl.stores.as_ref().and_then(|stores| stores.store(store))
        && let Err(error) = store.put_file(&object, &path, options).await
    {
        tracing::warn!(%object, %error, "cannot upload the archive; retrying");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(MAX_UPLOAD_PAUSE);
    }
    if !is_lost {
        names.set_uploaded();
    }
    let records = records.into_iter().map(|WrittenRecord { tag, position, body }| {
        let object = Some(Arc::clone(&object));
        UploadedRecord { tag, object, position, body }
    });
    let records = records.collect();
    UploadedArchive { crawl: crawl.number, bytes, is_lost, records }
}
