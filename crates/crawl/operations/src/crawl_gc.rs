//! `crawl gc`: blanks forgotten records in live crawls' archives.
//!
//! A record is replaced by an empty record with the same length, so that all other records keep
//! their offsets. Forgotten entries are marked as cleared only after every archive with their
//! records was written, so that the next run completes an interrupted one.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    future::ready,
    sync::Arc,
};

use bytes::Bytes;
use chrono::DateTime;
use everytab_commoncrawl::{
    crawl_layout::{ArchiveName, ArchiveSubset, LiveCrawlName},
    warc::{Limits, Record, RecordType, Records, write::blank_member},
};
use everytab_console::{LineSink, OperationError};
use everytab_coordinator::{Coordinator, Forgotten, ForgottenArchive};
use everytab_crawl_jobs::store_urls;
use everytab_frontier::{CanonicalUrl, DEFAULT_SUFFIX_LIST, ParameterList, SuffixList};
use everytab_storage::{ObjectChange, PutOptions, Store, StoreSettings, Tagged};
use futures_util::TryStreamExt as _;

/// Maximum bytes in memory from a record's block. This can be small, because only headers are
/// checked.
const MAX_BLOCK_BYTES: u64 = 4 << 10;

/// Blanks forgotten records in all archives. Prints each changed archive with its number of blanked
/// records. With `dry_run`, only reports the changes. Returns false if a record could not be
/// cleared, or if an entry could not be marked as cleared.
///
/// # Errors
/// Returns an error if the database or a store cannot be reached. Changes that were already made
/// remain.
pub async fn clear(
    coordinator: &Coordinator,
    dry_run: bool,
    sink: &dyn LineSink,
) -> Result<bool, OperationError> {
    let suffixes = SuffixList::parse(DEFAULT_SUFFIX_LIST, &[])
        .map_err(|error| OperationError::new(error.to_string()))?;
    let mut sweep = Sweep { stores: BTreeMap::new(), dry_run, records: 0, archives: 0, sink };
    let mut is_whole = true;
    let mut cleared = Vec::new();
    for forgotten in coordinator.uncleared().await? {
        let matcher = Matcher::new(&forgotten, &suffixes);
        let archives = coordinator.forgotten_archives(forgotten.number).await?;
        if sweep.clear_archives(&matcher, &archives).await? {
            cleared.push(forgotten);
        } else {
            is_whole = false;
        }
    }
    if !dry_run
        && usize::try_from(coordinator.clear_forgotten(&cleared).await?) != Ok(cleared.len())
    {
        let why = "captures were forgotten meanwhile, or an index is being written";
        sink.note(format_args!("{why}; run `crawl gc` again"));
        is_whole = false;
    }
    let Sweep { records, archives, .. } = sweep;
    let done = if dry_run { "would be removed" } else { "removed" };
    sink.note(format_args!("{records} records {done} from {archives} archives"));
    Ok(is_whole)
}

struct Matcher<'a> {
    forgotten: &'a Forgotten,
    parameters: ParameterList,
    suffixes: &'a SuffixList,
}

impl<'a> Matcher<'a> {
    fn new(forgotten: &'a Forgotten, suffixes: &'a SuffixList) -> Self {
        Self { forgotten, parameters: ParameterList::default(), suffixes }
    }

    fn is_site(&self) -> bool {
        self.forgotten.kind == "site"
    }

    /// Returns true if the record (a request, response or metadata) belongs to a forgotten URL.
    fn matches(&self, record: &Record) -> bool {
        self.is_forgotten(record.target_uri(), record.date())
    }

    fn names_forgotten(&self, record: &Record) -> bool {
        let header = |name| record.headers.text(name);
        record.record_type == RecordType::Revisit
            && self.is_forgotten(header("warc-refers-to-target-uri"), header("warc-refers-to-date"))
    }

    fn is_forgotten(&self, url: Option<String>, date: Option<String>) -> bool {
        let date = date.and_then(|date| DateTime::parse_from_rfc3339(&date).ok());
        let is_later = date.is_some_and(|date| date > self.forgotten.forgotten_at);
        let url = url.and_then(|url| CanonicalUrl::parse(&url, &self.parameters).ok());
        url.filter(|_| !is_later).is_some_and(|url| {
            if self.is_site() {
                self.suffixes.site_of(url.host()) == self.forgotten.name
            } else {
                url.key() == self.forgotten.name
            }
        })
    }

    /// Returns an archive with its forgotten records blanked. Only record offsets and ids are kept,
    /// because an unpacked archive may have hundreds of megabytes.
    fn blanked(&self, archive: &Bytes) -> Blanked {
        let limits = Limits { max_block_bytes: MAX_BLOCK_BYTES, ..Limits::default() };
        let mut places = Vec::new();
        let mut unreadable = 0;
        // Ids of revisits whose bodies are forgotten. Requests and metadata refer to these ids.
        let mut copies = HashSet::new();
        for (offset, record) in Records::new(archive, limits) {
            let (mut is_forgotten, mut belongs_to) = (false, None);
            match record {
                Ok(record) if self.names_forgotten(&record) => {
                    is_forgotten = true;
                    copies.extend(record.record_id());
                }
                Ok(record) => {
                    is_forgotten =
                        record.record_type != RecordType::Warcinfo && self.matches(&record);
                    belongs_to = record.headers.text("warc-concurrent-to");
                }
                Err(_) => unreadable += 1,
            }
            let start = usize::try_from(offset).unwrap_or(usize::MAX);
            places.push((start, is_forgotten, belongs_to));
        }
        let is_of_copy = |answer: Option<String>| answer.is_some_and(|id| copies.contains(&id));
        let places: Vec<(usize, bool)> = places
            .into_iter()
            .map(|(start, is_one, belongs_to)| (start, is_one || is_of_copy(belongs_to)))
            .collect();
        let mut bytes = archive.to_vec();
        let mut taken = 0;
        for (index, (start, _)) in places.iter().enumerate().filter(|(_, (_, is_one))| *is_one) {
            let end = places.get(index + 1).map_or(archive.len(), |(next, _)| *next);
            let member = bytes.get_mut(*start..end);
            match member.and_then(|member| Some((blank_member(member.len())?, member))) {
                Some((blank, member)) => {
                    member.copy_from_slice(&blank);
                    taken += 1;
                }
                None => unreadable += 1,
            }
        }
        Blanked { bytes: bytes.into(), taken, unreadable }
    }
}

struct Blanked {
    bytes: Bytes,
    taken: u64,
    /// Records that cannot be read, or that are too short to be replaced.
    unreadable: u64,
}

struct Sweep<'a> {
    stores: BTreeMap<String, Arc<dyn Store>>,
    dry_run: bool,
    records: u64,
    archives: u64,
    sink: &'a dyn LineSink,
}

impl Sweep<'_> {
    async fn store(&mut self, url: &str) -> Result<Arc<dyn Store>, OperationError> {
        if let Some(store) = self.stores.get(url) {
            return Ok(Arc::clone(store));
        }
        let store = everytab_storage::open(url, &StoreSettings::default()).await?;
        self.stores.insert(url.to_owned(), Arc::clone(&store));
        Ok(store)
    }

    async fn clear_archives(
        &mut self,
        matcher: &Matcher<'_>,
        archives: &[ForgottenArchive],
    ) -> Result<bool, OperationError> {
        let mut crawls = BTreeMap::new();
        let mut is_cleared = true;
        for archive in archives {
            let urls = store_urls(&archive.store, &archive.settings);
            if let Some(object) = &archive.object {
                is_cleared &= self.clear_object(matcher, object, &urls).await?;
            }
            crawls.insert(archive.crawl_name.clone(), urls);
        }
        // Fetches do not name robots.txt records, so search all robots.txt archives.
        for (crawl, urls) in crawls.iter().filter(|_| matcher.is_site()) {
            let Ok(name) = LiveCrawlName::parse(crawl) else { continue };
            for url in urls {
                for object in self.robots_archives(url, &name).await? {
                    let urls = BTreeSet::from([url.clone()]);
                    is_cleared &= self.clear_object(matcher, &object, &urls).await?;
                }
            }
        }
        Ok(is_cleared)
    }

    async fn robots_archives(
        &mut self,
        url: &str,
        crawl: &LiveCrawlName,
    ) -> Result<Vec<String>, OperationError> {
        let store = self.store(url).await?;
        let objects: Vec<_> = store.list(&crawl.segments()).try_collect().await?;
        let is_robots = |object: &String| {
            let name = ArchiveName::parse(object).ok();
            name.is_some_and(|name| name.subset() == ArchiveSubset::RobotsTxt)
        };
        Ok(objects.into_iter().map(|object| object.key).filter(is_robots).collect())
    }

    /// Clears an object in the first store in `urls` that has it. Returns false if a record cannot
    /// be cleared. An object that is in no store counts as cleared.
    async fn clear_object(
        &mut self,
        matcher: &Matcher<'_>,
        object: &str,
        urls: &BTreeSet<String>,
    ) -> Result<bool, OperationError> {
        let dry_run = self.dry_run;
        for url in urls {
            let store = self.store(url).await?;
            let options = PutOptions::new("application/warc", "no-store");
            let change = |before: Option<Tagged>| {
                let blanked = before.map(|before| matcher.blanked(&before.bytes));
                ready(Ok::<_, OperationError>(match blanked {
                    Some(blanked) if blanked.taken > 0 && !dry_run => {
                        let Blanked { bytes, taken, unreadable } = blanked;
                        ObjectChange::Write(bytes, Some((taken, unreadable)))
                    }
                    Some(Blanked { taken, unreadable, .. }) => {
                        ObjectChange::Keep(Some((taken, unreadable)))
                    }
                    None => ObjectChange::Keep(None),
                }))
            };
            let Some((taken, unreadable)) = store.update(object, options, change).await? else {
                continue;
            };
            if taken > 0 {
                self.records += taken;
                self.archives += 1;
                self.sink.data(format_args!("{object}\t{taken}"))?;
            }
            if unreadable > 0 {
                let what = "records cannot be read or replaced";
                self.sink.note(format_args!("{object}: {unreadable} {what}"));
            }
            return Ok(unreadable == 0);
        }
        self.sink.note(format_args!("{object} was not found in any store"));
        Ok(true)
    }
}
