//! Writes WARC records into archives, one archive per crawl, subset and store at a time, and
//! uploads them to that store.
//!
//! An archive is uploaded when it is large enough or old enough, or on request. Only then does the
//! scheduler learn where its records are, because a fetch is recorded in Postgres only after its
//! record is in the store. Failed uploads are retried for as long as the process lives. Does not
//! depend on slots or Postgres.

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
    puts_under_way::PutsUnderWay,
    repeat::BodyRecord,
    stored_bodies::{BodyArchive, BodyPlace, LastForgotten, StoredBodies},
};

/// Maximum open archives. A crawl has up to four per store, and each costs a file and a compressor.
const MAX_OPEN: usize = 64;
/// Time after which an archive is uploaded if a client is waiting for one of its records.
const URGENT_AGE: Duration = Duration::from_secs(1);
/// Archives of robots.txt are uploaded this many times sooner than others.
const ROBOTS_SOONER: u32 = 3;
/// Pause before the first retry of an upload. Each further failure doubles it.
const FIRST_PUT_PAUSE: Duration = Duration::from_secs(1);
/// Maximum pause before an upload is retried.
const LONGEST_PUT_PAUSE: Duration = Duration::from_secs(30);
/// Archives per segment, so that people can list the prefix of a segment.
const ARCHIVES_PER_SEGMENT: u64 = 1_000;
/// Maximum records that wait to be written. Each may have a body of several megabytes.
pub(crate) const MAX_WAITING: usize = 64;

/// A response to store as a WARC record.
pub(crate) struct Record {
    /// The crawl.
    pub crawl: Arc<Crawl>,
    /// The kind of archive.
    pub subset: ArchiveSubset,
    /// The slot of its host.
    pub slot: i16,
    /// The requested URL.
    pub url: String,
    /// Time of the request, in microseconds since 1970.
    pub date_micros: i64,
    /// The IP address of the server.
    pub ip_address: Option<IpAddr>,
    /// The request head.
    pub request_head: Vec<u8>,
    /// The response head.
    pub response_head: Vec<u8>,
    /// The response, which holds the permit for the memory of its body until it is written.
    pub fetched: PageFetchResult,
    /// SHA-256 of the body.
    pub sha256: [u8; 32],
    /// Which record has its body: its own, or one of an earlier crawl.
    pub body: BodyRecord,
    /// Where to look for another record with an identical body that this record may name. `None` if
    /// the body is always stored.
    pub copies_of: Option<CopiesOf>,
    /// Response time.
    pub duration: Duration,
    /// The host's delay.
    pub delay: Duration,
    /// Links from a seed to the URL. `None` for robots.txt.
    pub depth: Option<u16>,
    /// The URL whose link or redirect led to it.
    pub via: Option<Arc<str>>,
    /// The fault of the server's certificate, if it has one.
    pub certificate: Option<&'static str>,
    /// Whether a client is waiting for it.
    pub is_urgent: bool,
    /// Name of the character encoding.
    pub charset: Option<String>,
}

/// The records among which to look for an identical body.
#[derive(Clone, Copy)]
pub(crate) struct CopiesOf {
    /// Hash of the site; only its URLs are considered.
    pub site: u64,
    /// The URL's own hashes: host and key.
    pub hashes: (u64, u64),
}

/// A command to the archive task.
pub(crate) enum ArchiveCommand<T> {
    /// Writes a record. The second value is returned when the record is uploaded.
    Write(Box<Record>, T),
    /// Uploads the archive with the robots.txt of a crawl's hosts in a slot, if it has a record.
    PutRobots(Arc<Crawl>, i16),
    /// Uploads all archives that have a record.
    PutAll,
}

/// A record whose archive was uploaded.
pub(crate) struct PutRecord<T> {
    /// The value that was passed along with the record.
    pub told: T,
    /// Name of the object. `None` if the response could not be written as a record, or is lost.
    pub object: Option<Arc<str>>,
    /// Position of the record in the object.
    pub position: Position,
    /// The record of this crawl that has the body, if this one names it.
    pub body: Option<BodyPlace>,
}

/// An archive that was uploaded.
pub(crate) struct PutArchive<T> {
    /// The crawl.
    pub crawl: i32,
    /// Its size in bytes.
    pub bytes: u64,
    /// Whether it is lost because the disk of this host failed. Its URLs must be fetched again.
    pub is_lost: bool,
    /// Its records.
    pub records: Vec<PutRecord<T>>,
}

/// Settings of the archive task.
#[derive(Debug, Clone)]
pub(crate) struct ArchiveSettings {
    /// Directory in which archives are written before they are uploaded.
    pub temporary: PathBuf,
    /// The worker's name in archive names: ASCII letters, digits and `-`, unique in the fleet.
    pub worker: String,
    /// Size from which an archive is uploaded, in bytes.
    pub max_bytes: u64,
    /// Time after which an archive is uploaded.
    pub max_age: Duration,
    /// The operator of the crawl.
    pub operator: String,
    /// The `User-Agent` of the requests.
    pub user_agent: String,
}

/// Selects the archive of a record.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct ArchiveKey {
    crawl: i32,
    subset: ArchiveSubset,
    /// Number of the store.
    store: usize,
}

fn key_of(crawl: &Crawl, subset: ArchiveSubset, slot: i16) -> ArchiveKey {
    let stores = crawl.stores.as_ref();
    let store = stores.map_or(0, |stores| stores.number_of(slot, subset));
    ArchiveKey { crawl: crawl.number, subset, store }
}

/// Identifies a site's body: its crawl, store and archive kind, the site's hash, and a digest of
/// the body and some headers.
type BodyKey = (ArchiveKey, u64, [u8; 32]);

/// Headers that belong to a body. A crawl that repeats this one reads an unchanged page with the
/// headers of the record that is named, so these must be identical, too.
const HEADERS_OF_A_BODY: [&str; 2] = ["content-type", "x-robots-tag"];

/// Returns the key of a record's body. `None` if no other record may be named.
fn body_key(key: ArchiveKey, record: &Record) -> Option<BodyKey> {
    let copies = record.copies_of?;
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

/// A record that was written.
struct WrittenRecord<T> {
    told: T,
    position: Position,
    body: Option<BodyPlace>,
}

struct OpenArchive<T> {
    crawl: Arc<Crawl>,
    store: usize,
    names: BodyArchive,
    path: TempPath,
    writer: ArchiveWriter<BufWriter<File>>,
    /// The latest time of its upload.
    put_at: Instant,
    records: Vec<WrittenRecord<T>>,
}

/// The archive task: writes records into archives and uploads them. It stops when the scheduler
/// drops its sender; uploads that finish after that are not reported.
pub(crate) struct Archives<T> {
    settings: ArchiveSettings,
    open: HashMap<ArchiveKey, OpenArchive<T>>,
    bodies: StoredBodies<BodyKey>,
    number: u64,
    put: mpsc::UnboundedSender<PutArchive<T>>,
    under_way: PutsUnderWay,
    forgotten: LastForgotten,
}

impl<T: Send + 'static> Archives<T> {
    /// Creates the task. It sends uploaded archives to `put` and tracks uploads in `under_way`.
    /// Records that were stored before `forgotten` are not named.
    pub(crate) fn new(
        settings: ArchiveSettings,
        put: mpsc::UnboundedSender<PutArchive<T>>,
        under_way: PutsUnderWay,
        forgotten: LastForgotten,
    ) -> Self {
        let (open, bodies) = (HashMap::new(), StoredBodies::default());
        Self { settings, open, bodies, number: 0, put, under_way, forgotten }
    }

    /// Handles commands until all senders are dropped.
    pub(crate) async fn run(mut self, mut commands: mpsc::Receiver<ArchiveCommand<T>>) {
        let mut tick = tokio::time::interval(Duration::from_millis(200));
        loop {
            tokio::select! {
                command = commands.recv() => match command {
                    Some(ArchiveCommand::Write(record, told)) => self.write(&record, told),
                    Some(ArchiveCommand::PutRobots(crawl, slot)) => self.put_robots(&crawl, slot),
                    Some(ArchiveCommand::PutAll) => self.put_where(|_| true),
                    None => return,
                },
                _ = tick.tick() => {
                    let now = Instant::now();
                    self.put_where(|archive| archive.put_at <= now);
                }
            }
        }
    }

    fn put_robots(&mut self, crawl: &Crawl, slot: i16) {
        if let Some(archive) = self.open.remove(&key_of(crawl, ArchiveSubset::RobotsTxt, slot)) {
            self.put(archive);
        }
    }

    fn write(&mut self, record: &Record, told: T) {
        let key = key_of(&record.crawl, record.subset, record.slot);
        let body_key = body_key(key, record);
        let open = self.open.get(&key).map(|archive| &archive.names);
        let body = body_key.and_then(|body| self.bodies.named(body, open));
        let may_name = |body: &BodyPlace| {
            record.crawl.may_name_record_of(body.at, Utc::now())
                && !self.forgotten.may_concern(body.at)
        };
        let body = body.filter(may_name);
        match self.try_write(key, record, body.as_ref()) {
            Ok((position, size)) => {
                if let Some(archive) = self.open.get_mut(&key) {
                    if record.is_urgent {
                        archive.put_at = archive.put_at.min(Instant::now() + URGENT_AGE);
                    }
                    if let (Some(key), Some(copies), None) = (body_key, record.copies_of, &body) {
                        let place = place_of(record, copies, &archive.names, position);
                        self.bodies.add(key, place, &archive.names);
                    }
                    archive.records.push(WrittenRecord { told, position, body });
                }
                if size >= self.settings.max_bytes
                    && let Some(archive) = self.open.remove(&key)
                {
                    self.put(archive);
                }
            }
            Err(error) => {
                tracing::warn!(url = record.url, %error, "no record can be written");
                let is_lost = matches!(error, WriteError::Output(_));
                // An archive that ends with half a record is lost, with all its records.
                let broken = if is_lost { self.open.remove(&key) } else { None };
                let position = Position { offset: 0, length: 0 };
                let others = broken.into_iter().flat_map(|archive| archive.records);
                let records = others.map(|record| record.told).chain([told]);
                let lost = |told| PutRecord { told, object: None, position, body: None };
                let records = records.map(lost);
                let records = records.collect();
                self.put.send(PutArchive { crawl: key.crawl, bytes: 0, is_lost, records }).ok();
            }
        }
    }

    fn try_write(
        &mut self,
        key: ArchiveKey,
        record: &Record,
        body: Option<&BodyPlace>,
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
        let earlier = record.body.copy().and_then(BodyPlace::of_earlier);
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

    /// Uploads the oldest archive if the maximum number is open.
    fn make_room(&mut self) {
        if self.open.len() < MAX_OPEN {
            return;
        }
        let oldest = self.open.iter().min_by_key(|(_, archive)| archive.put_at);
        if let Some(key) = oldest.map(|(key, _)| *key)
            && let Some(archive) = self.open.remove(&key)
        {
            self.put(archive);
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
        // Fetches wait in memory for the robots.txt of their host.
        let is_robots = key.subset == ArchiveSubset::RobotsTxt;
        let sooner = if is_robots { ROBOTS_SOONER } else { 1 };
        let (crawl, put_at) = (Arc::clone(crawl), Instant::now() + self.settings.max_age / sooner);
        let (names, records) = (BodyArchive::new(&name.object()), Vec::new());
        Ok(OpenArchive { crawl, store: key.store, names, path, writer, put_at, records })
    }

    fn put_where(&mut self, is_put: impl Fn(&OpenArchive<T>) -> bool) {
        let keys = self.open.iter().filter(|(_, archive)| is_put(archive)).map(|(key, _)| *key);
        for key in keys.collect::<Vec<_>>() {
            if let Some(archive) = self.open.remove(&key) {
                self.put(archive);
            }
        }
    }

    fn put(&self, archive: OpenArchive<T>) {
        let (tell, under_way) = (self.put.clone(), self.under_way.clone());
        let number = under_way.begin(archive.crawl.number, Instant::now());
        tokio::spawn(async move {
            let put = put_repeatedly(archive).await;
            under_way.end(number);
            tell.send(put).ok();
        });
    }
}

/// The names by which a revisit record refers to the record that has its body.
struct BodyNames<'a> {
    digest: String,
    record_id: String,
    body: &'a BodyPlace,
}

impl<'a> BodyNames<'a> {
    fn of(sha256: &[u8; 32], body: &'a BodyPlace) -> Self {
        let digest = format!("sha256:{}", hex::encode(sha256));
        let record_id = record_id("response", &body.url, body.at.timestamp_micros(), &digest);
        Self { digest, record_id, body }
    }
}

/// Returns the location of a record that has its own body.
fn place_of(
    record: &Record,
    copies: CopiesOf,
    archive: &BodyArchive,
    position: Position,
) -> BodyPlace {
    let at = DateTime::from_timestamp_micros(record.date_micros).unwrap_or_default();
    let (url, object) = (record.url.as_str().into(), Arc::clone(&archive.object));
    BodyPlace { url, hashes: copies.hashes, at, object, position }
}

/// Returns a response in the form in which it is stored: with its body, or as a revisit of the
/// record that has the body.
fn kept_answer<'a>(record: &'a Record, names: Option<&'a BodyNames<'_>>) -> KeptAnswer<'a> {
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
        (BodyRecord::NotModified(_), Some(revisit)) => KeptAnswer::NotModified(revisit),
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

/// Uploads an archive, and retries until the store accepts it.
async fn put_repeatedly<T>(archive: OpenArchive<T>) -> PutArchive<T> {
    let OpenArchive { crawl, store, names, path, writer, records, .. } = archive;
    let (object, bytes) = (Arc::clone(&names.object), writer.offset());
    let is_lost = match writer.finish() {
        Ok(_) => false,
        Err(error) => {
            tracing::error!(%object, %error, "the archive is lost; its URLs are asked again");
            true
        }
    };
    let options = PutOptions::new("application/warc", "no-store");
    let mut pause = FIRST_PUT_PAUSE;
    // A crawl without a store sends no requests, so it has no archives.
    while !is_lost
        && let Some(store) = crawl.stores.as_ref().and_then(|stores| stores.store(store))
        && let Err(error) = store.put_file(&object, &path, options).await
    {
        tracing::warn!(%object, %error, "the archive cannot be put; trying again");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PUT_PAUSE);
    }
    if !is_lost {
        names.was_put();
    }
    let records = records.into_iter().map(|WrittenRecord { told, position, body }| {
        let object = Some(Arc::clone(&object));
        PutRecord { told, object, position, body }
    });
    let records = records.collect();
    PutArchive { crawl: crawl.number, bytes, is_lost, records }
}
