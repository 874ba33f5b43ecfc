//! Rust client of Postgres, which is the only coordinator.
//!
//! The SQL functions in `functions/` schedule jobs, and this crate only calls them.
//!
//! Every call has a time limit and needs no state in a session, so that it returns on a dead
//! network and works through a pooler in transaction mode. Every call returns an error if Postgres
//! cannot be reached; an `# Errors` section names other causes. [`Error::is_transient`] tells
//! temporary errors from permanent ones. `examples/one_job.rs` shows a job from its lease to its
//! completion.

mod api;
mod client;
mod connection;
mod crawl;
mod error;
mod operate;
mod queue;
mod scan;

pub use api::{
    caller::{ApiCaller, ApiError, ApiRefusal},
    crawls::{ApiCrawlState, ApiStarted},
    feed::{FeedPage, FeedPosition},
    fetches::{ApiFetch, FetchId},
    idempotency::IdempotencyKey,
    key::ApiKey,
    schedules::ApiScheduled,
    search::{ApiFound, FoundPlace},
    submit::{ApiAccepted, ApiSubmission, ApiTarget, StandingCrawl},
    webhooks::{NewWebhook, WebhookChange},
};
pub use client::coordinator::{ConnectSettings, Coordinator};
pub use connection::database_url::{Transport, transport};
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
    filters::{NewFilterList, OPERATOR, StoredFilter, StoredFilterList},
    forgotten::{Forgotten, ForgottenArchive, NewForgotten},
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
pub use error::Error;
pub use operate::{
    backup::{Contents, Snapshot, TABLES_SCHEMA, TableDigest},
    blocklist::{BlockedHost, BlockedPattern, ImportedList},
    frontier_health::FrontierHealth,
    keys::NewApiKey,
    schema::{migrations, schema_digest},
};
pub use queue::{
    completion::Completion,
    cursor::LeaseCursors,
    digests::{Digests, WithheldRun},
    end::VerbResult,
    job::{Fence, JobKind, Lease},
    lease::Renewal,
    progress::Progress,
    runs::{JobEvent, OutcomeCount},
};
pub use scan::{
    exclusions::ExclusionRow,
    load::{BundleHost, CrawlFile, IconHost, ScanInfo, WarcHost},
    removed_host::HostRecord,
    rows::{BundleRow, HostRow, IconRow, Output, PageRow},
    scans::{NewScan, ReferencedArchive, ScanSummary},
    status::{
        EarlierOutcomes, IsolatedJob, JobFailure, ScanState, ScanStatus, StageDrift, StageOutcomes,
        StageStatus, StoreTrouble, Timestamp, WorkerStatus,
    },
};
