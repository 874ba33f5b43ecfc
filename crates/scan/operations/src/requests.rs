//! Lists the requests that a scan sent to a host. This reads the request tables of all shards,
//! because a page in any shard may have named an icon on the host.

use chrono::{DateTime, SecondsFormat, Utc};
use everytab_bundler::{object_names, request_files::RequestLine};
use everytab_commoncrawl::hostname_hash;
use everytab_console::{LineSink, OperationError};
use everytab_coordinator::{Coordinator, JobKind};
use everytab_jobs::{
    blocked_pattern::hostname,
    request_table::{FoundTable, left_out, read_table, requests},
    scan_settings::ScanSettings,
};
use everytab_storage::{Store, StoreSettings};
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::Serialize;
use uuid::Uuid;

use crate::scan_start::check_tokens;

/// Tables that are read concurrently.
const CONCURRENT_TABLES: usize = 32;

/// One request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct AskedOnce {
    /// The time in UTC, such as `2026-05-03T12:00:01Z`.
    pub asked_at: String,
    /// The requested URL.
    pub url: String,
    /// `GET`, or `-` if no connection was established and nothing was sent.
    pub method: String,
    /// The fetch's outcome. It is `redirected` or `sent_again` if another request followed, and
    /// `unfinished` if the fetch was cancelled before the response.
    pub outcome: String,
    /// The response's status code. `None` if there was no response.
    pub status: Option<u16>,
    /// Number of bytes that were read from the decoded body.
    pub bytes: u64,
}

/// An attempt at the host's own shard that ended early.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EarlyEnd {
    /// The time in UTC.
    pub at: String,
    /// How the attempt ended, such as `expired` or `released`.
    pub event: String,
}

/// The gaps in the tables.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Untold {
    /// Shards whose icons are not all fetched. A shard's table is written on its completion.
    pub shards_not_completed: u64,
    /// Shards whose icons were fetched by a version without tables.
    pub shards_without_table: u64,
    /// Shards whose archive was removed.
    pub shards_without_archive: u64,
    /// Requests to any host that did not fit into the tables.
    pub requests_without_room: u64,
    /// Attempts at the host's own shard that ended early. Their requests are in no table.
    pub early_ends: Vec<EarlyEnd>,
    /// Early ends in other shards, whose pages may name icons on the host.
    pub early_ends_elsewhere: u64,
}

/// The requests that a scan sent to a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostRequests {
    /// The scan's id.
    pub scan: Uuid,
    /// The host's name.
    pub host: String,
    /// The User-Agent in these requests. `None` if each worker used its own.
    pub user_agent: Option<String>,
    /// The requests, sorted by time.
    pub requests: Vec<AskedOnce>,
    /// The gaps in the tables.
    pub untold: Untold,
}

struct FromShard {
    requests: Vec<AskedOnce>,
    untold: Untold,
}

/// Returns the requests that a scan sent to a host.
///
/// # Errors
/// Returns an error if the name is invalid, or the database or the archive cannot be read.
pub async fn of_host(
    coordinator: &Coordinator,
    scan: i32,
    name: &str,
) -> Result<HostRequests, OperationError> {
    let host = hostname(name).map_err(OperationError::usage)?;
    let info = coordinator.load_scan(scan).await?;
    let settings: ScanSettings = serde_json::from_value(info.settings)?;
    check_tokens([&settings.archive], info.scan_id).await?;
    let archive = everytab_storage::open(&settings.archive, &StoreSettings::default()).await?;
    let completed = coordinator.referenced_archives(scan).await?;
    let shards = u64::from(info.shards.unwrap_or(0).unsigned_abs());
    let early_ends = early_ends(coordinator, scan, &host).await?;
    let all_early_ends = coordinator.count_early_ends(scan, JobKind::Icon).await?.unsigned_abs();
    let mut untold = Untold {
        shards_not_completed: shards.saturating_sub(completed.len() as u64),
        early_ends_elsewhere: all_early_ends.saturating_sub(early_ends.len() as u64),
        early_ends,
        ..Untold::default()
    };
    let keys = completed
        .into_iter()
        .map(|of| object_names::archive(info.scan_id, of.shard, of.lease_number, of.token));
    let store = &*archive;
    let wanted = host.as_str();
    let mut reading = stream::iter(keys)
        .map(|key| async move { from_shard(store, &key, wanted).await })
        .buffer_unordered(CONCURRENT_TABLES);
    let mut requests = Vec::new();
    while let Some(shard) = reading.try_next().await? {
        requests.extend(shard.requests);
        untold.shards_without_table += shard.untold.shards_without_table;
        untold.shards_without_archive += shard.untold.shards_without_archive;
        untold.requests_without_room += shard.untold.requests_without_room;
    }
    drop(reading);
    requests.sort();
    let user_agent = settings.user_agent;
    Ok(HostRequests { scan: info.scan_id, host, user_agent, requests, untold })
}

async fn from_shard(store: &dyn Store, key: &str, host: &str) -> Result<FromShard, OperationError> {
    let mut told = FromShard { requests: Vec::new(), untold: Untold::default() };
    match read_table(store, key).await? {
        FoundTable::Table(table) => {
            let of_host = requests(&table).filter(|request| request.host == host);
            told.requests.extend(of_host.map(asked_once));
            told.untold.requests_without_room = left_out(&table);
        }
        FoundTable::NotKept => told.untold.shards_without_table = 1,
        FoundTable::NoArchive => told.untold.shards_without_archive = 1,
    }
    Ok(told)
}

fn asked_once(request: RequestLine<'_>) -> AskedOnce {
    let RequestLine { asked_at, method, outcome, status, bytes, url, .. } = request;
    AskedOnce {
        asked_at: asked_at.to_owned(),
        url: url.to_owned(),
        method: method.to_owned(),
        outcome: outcome.to_owned(),
        status: status.parse().ok(),
        bytes: bytes.parse().unwrap_or(0),
    }
}

async fn early_ends(
    coordinator: &Coordinator,
    scan: i32,
    host: &str,
) -> Result<Vec<EarlyEnd>, OperationError> {
    let hash = hostname_hash(host);
    let Some(job) = coordinator.find_host_job(scan, JobKind::Icon, hash).await? else {
        return Ok(Vec::new());
    };
    let events = coordinator.job_history(job).await?.into_iter();
    let early = events.filter(|event| event.event != "completed");
    Ok(early.map(|event| EarlyEnd { at: time(event.at), event: event.event }).collect())
}

fn time(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Secs, true)
}

impl HostRequests {
    /// Prints the requests as lines of data, and the rest as notes.
    ///
    /// # Errors
    /// Returns an error if a line cannot be written.
    pub fn tell(&self, sink: &dyn LineSink) -> Result<(), OperationError> {
        let as_whom = self.user_agent.as_deref().unwrap_or("the User-Agent of each worker");
        let scan = self.scan;
        let host = &self.host;
        let count = self.requests.len();
        sink.note(format_args!("scan {scan} sent {count} requests to {host}, as {as_whom}"));
        for AskedOnce { asked_at, url, method, outcome, status, bytes } in &self.requests {
            let status = status.map_or("-".to_owned(), |status| status.to_string());
            sink.data(format_args!("{asked_at}\t{method}\t{url}\t{status}\t{outcome}\t{bytes}"))?;
        }
        self.untold.tell(sink);
        Ok(())
    }
}

impl Untold {
    fn tell(&self, sink: &dyn LineSink) {
        let counts = [
            (self.shards_not_completed, "shards are not completed; repeat this when they are"),
            (
                self.shards_without_table,
                "shards were fetched by a version that did not record requests",
            ),
            (self.shards_without_archive, "shards' archives are gone; a backup may contain them"),
            (self.early_ends_elsewhere, "attempts at other shards ended early"),
            (self.requests_without_room, "requests to any host did not fit into a table"),
        ];
        for (count, what) in counts.iter().filter(|(count, _)| *count > 0) {
            sink.note(format_args!("may be missing: {count} {what}"));
        }
        for EarlyEnd { at, event } in &self.early_ends {
            sink.note(format_args!(
                "may be missing: an attempt at the host's shard ended early at {at} ({event}); \
                 its requests were repeated later"
            ));
        }
    }
}
