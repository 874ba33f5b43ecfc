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

use chrono::Utc;
use everytab_commoncrawl::{
    crawl_layout::{ArchiveName, ArchiveSubset},
    warc::write::{
        ArchiveInfo, ArchiveWriter, ArchivedFetch, CrawlInfo, FetchFacts, KeptAnswer, Position,
        Response, Revisit, TruncatedBecause, WriteError, record_id,
    },
};
use everytab_coordinator::EarlierFetch;
use everytab_fetcher::{CutReason, PageFetched};
use everytab_storage::PutOptions;
use tempfile::TempPath;
use tokio::sync::mpsc;

use crate::{crawl::Crawl, puts_under_way::PutsUnderWay, repeat::BodyRecord};

/// Most archives that are written at a time: a crawl has up to four, and each costs a file and a
/// compressor.
const MAX_OPEN: usize = 64;
/// Time after which an archive is put that has a record for which somebody waits.
const URGENT_AGE: Duration = Duration::from_secs(1);
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
    /// Which record has its body.
    pub body: BodyRecord,
    /// Time of the answer.
    pub duration: Duration,
    /// The host's delay.
    pub delay: Duration,
    /// Links from a seed to the URL; none for robots.txt.
    pub depth: Option<u16>,
    /// Whether somebody waits for it.
    pub is_urgent: bool,
    /// Name of the text's encoding.
    pub charset: Option<String>,
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

struct OpenArchive<T> {
    crawl: Arc<Crawl>,
    store: usize,
    name: ArchiveName,
    path: TempPath,
    writer: ArchiveWriter<BufWriter<File>>,
    /// When it is put at the latest.
    put_at: Instant,
    records: Vec<(T, Position)>,
}

/// The task that writes. It ends when nobody can ask it any more, and what is put then is told to
/// nobody.
pub(crate) struct Archives<T> {
    settings: ArchiveSettings,
    open: HashMap<ArchiveKey, OpenArchive<T>>,
    number: u64,
    put: mpsc::UnboundedSender<PutArchive<T>>,
    under_way: PutsUnderWay,
}

impl<T: Send + 'static> Archives<T> {
    /// Makes the task's state; what is put is told to `put`, and what is being put is noted in
    /// `under_way`.
    pub(crate) fn new(
        settings: ArchiveSettings,
        put: mpsc::UnboundedSender<PutArchive<T>>,
        under_way: PutsUnderWay,
    ) -> Self {
        Self { settings, open: HashMap::new(), number: 0, put, under_way }
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
        match self.try_write(key, record) {
            Ok((position, size)) => {
                if let Some(archive) = self.open.get_mut(&key) {
                    if record.is_urgent {
                        archive.put_at = archive.put_at.min(Instant::now() + URGENT_AGE);
                    }
                    archive.records.push((told, position));
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
                let records = others.map(|(told, _)| told).chain([told]);
                let records = records.map(|told| PutRecord { told, object: None, position });
                let records = records.collect();
                self.put.send(PutArchive { crawl: key.crawl, bytes: 0, is_lost, records }).ok();
            }
        }
    }

    fn try_write(
        &mut self,
        key: ArchiveKey,
        record: &Record,
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
        let copy = record.body.copy().map(CopyNames::of);
        let written = archive.writer.exchange(&ArchivedFetch {
            request_head: &record.request_head,
            answer: kept_answer(record, copy.as_ref()),
            facts: FetchFacts {
                fetch_time_ms: milliseconds(record.duration),
                delay_ms: milliseconds(record.delay),
                depth: record.depth,
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
        let (crawl, put_at) = (Arc::clone(crawl), Instant::now() + self.settings.max_age);
        Ok(OpenArchive { crawl, store: key.store, name, path, writer, put_at, records: Vec::new() })
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
struct CopyNames<'a> {
    digest: String,
    record_id: String,
    copy: &'a EarlierFetch,
}

impl<'a> CopyNames<'a> {
    fn of(copy: &'a EarlierFetch) -> Self {
        let digest = format!("sha256:{}", hex::encode(copy.sha256));
        let micros = copy.body_at.timestamp_micros();
        let record_id = record_id("response", &copy.body_url, micros, &digest);
        Self { digest, record_id, copy }
    }
}

/// An answer in the form in which it is kept: with its body, or without the one that another record
/// has.
fn kept_answer<'a>(record: &'a Record, copy: Option<&'a CopyNames<'_>>) -> KeptAnswer<'a> {
    let revisit = copy.map(|CopyNames { digest, record_id, copy }| Revisit {
        target_uri: &record.url,
        date_micros: record.date_micros,
        ip_address: record.ip_address,
        http_head: &record.response_head,
        payload_digest: digest,
        refers_to_record_id: record_id,
        refers_to_target_uri: &copy.body_url,
        refers_to_date_micros: copy.body_at.timestamp_micros(),
    });
    match (&record.body, revisit) {
        (BodyRecord::Identical(_), Some(revisit)) => KeptAnswer::Identical(revisit),
        (BodyRecord::NotModified(_), Some(revisit)) => KeptAnswer::NotModified(revisit),
        _ => KeptAnswer::Response(Response {
            target_uri: &record.url,
            date_micros: record.date_micros,
            ip_address: record.ip_address,
            http_head: &record.response_head,
            body: &record.fetched.body,
            truncated: record.fetched.truncated.map(|CutReason::Length| TruncatedBecause::Length),
        }),
    }
}

/// Puts an archive, again and again until the store takes it.
async fn put_repeatedly<T>(archive: OpenArchive<T>) -> PutArchive<T> {
    let OpenArchive { crawl, store, name, path, writer, records, .. } = archive;
    let (object, bytes) = (name.object(), writer.offset());
    let is_lost = match writer.finish() {
        Ok(_) => false,
        Err(error) => {
            tracing::error!(object, %error, "the archive is lost; its URLs are asked again");
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
        tracing::warn!(object, %error, "the archive cannot be put; trying again");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PUT_PAUSE);
    }
    let object: Arc<str> = object.into();
    let record = |(told, position)| PutRecord { told, object: Some(Arc::clone(&object)), position };
    let records = records.into_iter().map(record).collect();
    PutArchive { crawl: crawl.number, bytes, is_lost, records }
}
