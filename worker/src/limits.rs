//! Every number with its reason. Relations between them are asserted when the program is compiled.

use std::time::Duration;

/// A lease unless the scan says otherwise. Renewed every third of it.
pub const LEASE: Duration = Duration::from_secs(5 * 60);
/// Renewals a lease: two may fail before the lease runs out.
pub const RENEWALS_PER_LEASE: u32 = 3;
/// A lease is trusted this share less long than Postgres grants it: the request's own way there
/// and the difference of the clocks' rates are far below it.
pub const TRUST_MARGIN_DIVISOR: u32 = 10;

/// Leases taken at once by one call: prefetching more would only delay recovery.
pub const LEASES_PER_CALL: u32 = 1;
/// Leases that are looked for from a hint on, between two that look at all jobs and sweep.
pub const SHORT_LOOKS: u32 = 20;
/// Index jobs at a time: each waits for bytes ten times as long as it reads rows, and holds some
/// 30 MB beside the captures that it found.
pub const INDEX_JOBS: usize = 4;
/// Warc jobs at a time: one waits for bytes while the other is parsed.
pub const WARC_JOBS: usize = 2;
/// Icon jobs at a time at most, for so many requests in flight: a slow tail never idles the rest. A
/// shard is in its tail for half a minute, while the others use the slots that it does not.
pub const fn icon_jobs(in_flight: usize) -> usize {
    match in_flight / 25 {
        ..8 => 8,
        128.. => 128,
        jobs => jobs,
    }
}
/// How often a worker whose slots are full looks whether they still are.
pub const ROOM_LOOK: Duration = Duration::from_millis(100);
/// Search jobs at a time: each holds its range of hostnames in memory.
pub const SEARCH_JOBS: usize = 1;

/// WARC records asked for at once by a job: the HTTPS mirror allows 50 connections.
pub const RECORDS_IN_FLIGHT: usize = 24;
/// Home pages understood in one go on a blocking thread, of those that have come: the way there and
/// back costs as much as a third of a page.
pub const PAGES_AT_ONCE: usize = 8;
/// Hosts whose icons are converted in one go on a blocking thread, for the same reason.
pub const ICONS_AT_ONCE: usize = 16;
/// Parts of an index file asked for at once.
pub const RANGES_IN_FLIGHT: usize = 8;
/// Bundles written at once by a job.
pub const PUTS_IN_FLIGHT: usize = 16;

/// Tries of one request to a store by a worker: with their pauses they outlast an outage of half a
/// minute, which so costs time and no job an attempt.
pub const STORE_ATTEMPTS: u32 = 12;

/// Disk that the icons of one shard may take: 1,200 hosts at 30 KB an icon take about 90 MB.
pub const SPOOL_BYTES: u64 = 2 << 30;
/// An archive up to this size is read whole, a larger one record by record.
pub const ARCHIVE_BYTES_IN_MEMORY: u64 = 64 << 20;

/// How long a worker without work waits before it asks again: doubled up to the second.
pub const IDLE_AT_LEAST: Duration = Duration::from_millis(200);
/// See [`IDLE_AT_LEAST`]: 200 idle workers stay far below 100 queries a second.
pub const IDLE_AT_MOST: Duration = Duration::from_secs(8);
/// How often a person who watches sees where a scan stands.
pub const STATUS_EVERY: Duration = Duration::from_secs(2);
/// Counting all results of a large scan takes a second: whoever watches waits so many times that.
pub const STATUS_SHARE: u32 = 10;
/// How long a drain may take unless `--drain` says otherwise: a spot notice gives two minutes.
pub const DRAIN: Duration = Duration::from_secs(90);
/// How long a run may get nowhere before its lease is no longer renewed: longer than any one wait
/// in it, of which the longest is a server's Retry-After of a minute.
pub const STALL: Duration = Duration::from_secs(5 * 60);
/// How long a run that is ended from outside may take to stop.
pub const ABORT: Duration = Duration::from_secs(10);
/// Workers of a fleet: what a worker that does not know their number assumes of a limited rate.
pub const WORKERS_AT_MOST: u32 = 200;
/// How long a kind of job is left alone after there was no room for one.
pub const NO_ROOM_PAUSE: Duration = Duration::from_secs(5);
/// How long icon jobs are left alone after the network looked broken, before canaries are asked.
pub const CANARY_PAUSE: Duration = Duration::from_secs(3);

/// Tabs of a bundle.
pub const ENTRIES_PER_BUNDLE: u32 = 120;

const _: () = assert!(RENEWALS_PER_LEASE >= 2);
const _: () = assert!(RECORDS_IN_FLIGHT * WARC_JOBS <= 50);
const _: () = assert!(PAGES_AT_ONCE < RECORDS_IN_FLIGHT);
const _: () = assert!(IDLE_AT_LEAST.as_millis() <= IDLE_AT_MOST.as_millis());
const _: () = assert!(LEASE.as_secs() >= 60);
const _: () = assert!(STALL.as_secs() >= 3 * 60);
