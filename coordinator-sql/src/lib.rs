//! Postgres is the only coordinator. This crate is its Rust client.
//!
//! The SQL functions in `functions/` are the coordinator. This crate calls them and contains no
//! scheduling logic. It is the only crate with SQL in Rust code. It handles leases, fences and
//! recorded rows, but not the work of a job.
//!
//! Every call is one short transaction with a time limit, so that it fails in time on a dead
//! network and works through a pooler in transaction mode. [`Error::is_transient`] distinguishes
//! temporary errors (a restart, a broken connection) from permanent ones.
//! `examples/one_job.rs` shows a job from its lease to its completion.

mod api;
mod backup;
mod bind;
mod blocklist;
mod call;
mod completion;
mod connection;
mod coordinator;
mod crawl;
mod cursor;
mod database_url;
mod digests;
mod error;
mod exclusions;
mod fences;
mod filters;
mod group_commit;
mod host_requests;
mod job;
mod load;
mod migrate;
mod password_file;
mod patient;
mod pool;
mod queue;
mod record;
mod removed_host;
mod replaced_functions;
mod row;
mod rows;
mod scans;
mod schema;
mod server;
mod sql_calls;
mod status;
mod tls;
mod transient;
mod url_parameters;

pub use api::{
    caller::{ApiCaller, ApiError, ApiRefusal},
    crawls::{ApiCrawlState, ApiStarted},
    feed::{FeedPage, FeedPosition},
    fetches::{ApiFetch, FetchId},
    idempotency::IdempotencyKey,
    key::ApiKey,
    operator::NewApiKey,
    schedules::ApiScheduled,
    search::{ApiFound, FoundPlace},
    submit::{ApiAccepted, ApiSubmission, ApiTarget, StandingCrawl},
    webhooks::{NewWebhook, WebhookChange},
};
pub use backup::{Contents, Snapshot, TABLES_SCHEMA, TableDigest};
pub use blocklist::{BlockedPattern, ImportedList};
pub use completion::Completion;
pub use coordinator::{ConnectSettings, Coordinator};
pub use crawl::{
    changes::{CrawlChange, CrawlChanged, FoundCrawl, PatternChange, PatternsChanged, RateChange},
    checkpoint::{Checkpoint, CheckpointResult},
    crawl_fetches::{CrawlFetch, FetchFilter, FetchesPage},
    crawls::{
        CRAWL_ENDS, CRAWL_STATES, CrawlHost, CrawlPace, CrawlStatus, CrawlVerb, MovedCrawl,
        NewCrawl, OpenCrawl,
    },
    dropped::{DropCounts, DropObstacle, DroppedCrawl},
    earlier::{CrawlSeed, EarlierCrawl, EarlierFetch, FailedUrl},
    fetch_position::{FetchPosition, NoFetchPosition},
    forgotten::{Forgotten, ForgottenArchive, NewForgotten},
    health::FrontierHealth,
    indexes::{CrawlRun, IndexRow, IndexRows},
    links::{LinkLane, UnreadLinks, UnreadRow},
    load::{DueHost, SlotSums, StoredChunk},
    report::{ReportPart, ReportRow},
    robots::RobotsOverrideRow,
    rows::{ChunkRow, CrawlCounts, FetchRow, FrontierHostRow, LinksRow, Via},
    schedules::{NewSchedule, ScheduleAdded, ScheduleRow, ScheduleTimes},
    slots::{LinkCursors, SlotFence, SlotLease, SlotRenewal},
    webhooks::{WebhookBacklog, WebhookLease, WebhookRecorded, WebhookState, WebhookTry},
};
pub use cursor::LeaseCursors;
pub use database_url::{Transport, transport};
pub use digests::{Digests, WithheldRun};
pub use error::Error;
pub use exclusions::ExclusionRow;
pub use filters::{NewFilterList, OPERATOR, StoredFilter, StoredFilterList};
pub use job::{Fence, JobKind, Lease};
pub use load::{BlockedHost, BundleHost, CrawlFile, IconHost, OutcomeCount, ScanInfo, WarcHost};
pub use queue::{end::VerbResult, lease::Renewal, progress::Progress};
pub use removed_host::HostRecord;
pub use rows::{BundleRow, HostRow, IconRow, Output, PageRow};
pub use scans::{JobEvent, NewScan, ReferencedArchive, ScanSummary};
pub use schema::{migrations, schema_digest};
pub use status::{
    EarlierOutcomes, IsolatedJob, JobFailure, ScanState, ScanStatus, StageDrift, StageOutcomes,
    StageStatus, StoreTrouble, Timestamp, WorkerStatus,
};
