//! Writes records into archives, one a crawl, subset and store at a time, and puts them into that
//! store.
//!
//! An archive is put when it is long or old enough, or when it is asked for. Only then is what its
//! records say told to whoever crawls: a fetch is recorded after its record is where it stays. What
//! cannot be put is tried again for as long as the process lives. Must not know: slots, Postgres.

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
use everytab_fetcher::{CutReason, PageFetched};
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

/// Most archives that are written at a time: a crawl has up to four, and each costs a file and a
/// compressor.
const MAX_OPEN: usize = 64;
/// Time after which an archive is put that has a record for which somebody waits.
const URGENT_AGE: Duration = Duration::from_secs(1);
/// How many times as soon as others an archive of robots.txt is put.
const ROBOTS_SOONER: u32 = 3;
/// Pause before an archive is put again after the first failure; each further one doubles it.
const FIRST_PUT_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause before an archive is put again.
const LONGEST_PUT_PAUSE: Duration = Duration::from_secs(30);
/// Archives of a segment: a folder that people can list.
const ARCHIVES_PER_SEGMENT: u64 = 1_000;
/// Records that wait to be written. Each may have a body of some megabytes.
pub(crate) const MAX_WAITING: usize = 64;

/// An answer that is to be kept.
pub(crate) struct Record {
    /// The crawl.
    pub crawl: Arc<Crawl>,
    /// The kind of its archive.
    pub subset: ArchiveSubset,
    /// The slot of its host.
    pub slot: i16,
    /// The URL that was asked for.
    pub url: String,
    /// When, in microseconds since 1970.
    pub date_micros: i64,
    /// The address that was asked.
    pub ip_address: Option<IpAddr>,
    /// The head of the request.
    pub request_head: Vec<u8>,
    /// The head of the answer.
    pub response_head: Vec<u8>,
    /// The answer, which holds the permit for the memory of its body until it is written.
    pub fetched: PageFetched,
    /// SHA-256 of the body.
    pub sha256: [u8; 32],
    /// Which record of an earlier crawl has its body.
    pub body: BodyRecord,
    /// Where another record may be that has the same body and is named then; none if the body is
    /// stored in any case.
    pub copies_of: Option<CopiesOf>,
    /// Time of the answer.
    pub duration: Duration,
    /// The host's delay.
    pub delay: Duration,
    /// Links from a seed to the URL; none for robots.txt.
    pub depth: Option<u16>,
    /// The URL whose link or redirect led to it.
    pub via: Option<Arc<str>>,
    /// What is wrong with the certificate of the server.
    pub certificate: Option<&'static str>,
    /// Whether somebody waits for it.
    pub is_urgent: bool,
    /// Name of the text's encoding.
    pub charset: Option<String>,
}

/// Among what another record may have the body of a record.
#[derive(Clone, Copy)]
pub(crate) struct CopiesOf {
    /// Hash of the site: among its URLs.
    pub site: u64,
    /// The URL's own hashes, of its host and of its key.
    pub hashes: (u64, u64),
}

/// What is asked of the task that writes.
pub(crate) enum ArchiveCommand<T> {
    /// Writes a record; what comes with it is given back when it is put.
    Write(Box<Record>, T),
    /// Puts the archive of a crawl with the robots.txt of a slot's hosts, if it has a record.
    PutRobots(Arc<Crawl>, i16),
    /// Puts all archives that have a record.
    PutAll,
}

/// A record that is where it stays.
pub(crate) struct PutRecord<T> {
    /// What came with the record.
    pub told: T,
    /// Name of the object; none if the answer cannot be written as a record.
    pub object: Option<Arc<str>>,
    /// Where the record is in it.
    pub position: Position,
    /// The record of this crawl that has the body, where this one names it.
    pub body: Option<BodyPlace>,
}

/// An archive that was put.
pub(crate) struct PutArchive<T> {
    /// The crawl.
    pub crawl: i32,
    /// Its size.
    pub bytes: u64,
    /// Whether it is lost, because this machine's disk failed: its URLs are to be asked again.
    pub is_lost: bool,
    /// Its records.
    pub records: Vec<PutRecord<T>>,
}

/// How archives are written.
#[derive(Debug, Clone)]
pub(crate) struct ArchiveSettings {
    /// Where they are written before they are put.
    pub temporary: PathBuf,
    /// The worker, as it names archives: ASCII letters, digits and `-`, unique in the fleet.
    pub worker: String,
    /// Bytes after which an archive is put.
    pub max_bytes: u64,
    /// Time after which an archive is put.
    pub max_age: Duration,
    /// Who runs the crawl.
    pub operator: String,
    /// The `User-Agent` of the requests.
    pub user_agent: String,
}

/// Which archive a record goes to.
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

/// A body of a site: its crawl, store and kind of archive, the hash of the site, and the digest of
/// the body and of headers.
type BodyKey = (ArchiveKey, u64, [u8; 32]);

/// The headers that belong to a body: a crawl that repeats this one reads a page that has not
/// changed with those of the record that is named.
const HEADERS_OF_A_BODY: [&str; 2] = ["content-type", "x-robots-tag"];

/// The key of a record's body, where another record may have the same one.
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
    /// When it is put at the latest.
    put_at: Instant,
    records: Vec<WrittenRecord<T>>,
}

/// The task that writes. It ends when nobody can ask it any more, and what is put then is told to
/// nobody.
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
    /// Makes the task's state; what is put is told to `put`, and what is being put is noted in
    /// `under_way`. Records that were stored before `forgotten` are not named.
    pub(crate) fn new(
        settings: ArchiveSettings,
        put: mpsc::UnboundedSender<PutArchive<T>>,
        under_way: PutsUnderWay,
        forgotten: LastForgotten,
    ) -> Self {
        let (open, bodies) = (HashMap::new(), StoredBodies::default());
        Self { settings, open, bodies, number: 0, put, under_way, forgotten }
    }

    /// Does what it is asked for.
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
                // An archive that ends in half a record is lost with all that it has.
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

    /// Puts the oldest archive where as many are open as may be.
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
        // Fetches of a host wait in memory for its robots.txt.
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

/// How a revisit names the record that has its body.
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

/// Where a record is that has its own body.
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

/// An answer in the form in which it is kept: with its body, or without the one that another record
/// has.
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

/// Puts an archive, again and again until the store takes it.
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
    // Nothing is asked for a crawl without a store.
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
