//! Shared setup for the frontier tests. Links and chunks are lists of numbers, because Postgres
//! does not parse them.

use chrono::Utc;
use everytab_coordinator::{
    Checkpoint, CheckpointResult, ChunkRow, CrawlCounts, FetchRow, LinksRow, NewCrawl, SlotLease,
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::setup::Database;

pub(crate) fn new_crawl(page_limit: Option<i64>) -> NewCrawl {
    let id = Uuid::new_v4();
    NewCrawl {
        id,
        name: format!("LIVE-{id}"),
        owner: "test".into(),
        store: "file:///nowhere".into(),
        settings: json!({ "scope": "any" }),
        page_limit,
        ends_at: None,
        max_store_bytes: None,
    }
}

pub(crate) fn rows_of_links(
    crawl: i32,
    numbers: &[i32],
    slot_of: impl Fn(i32) -> i16,
    is_urgent: bool,
) -> Vec<LinksRow> {
    let groups = (0..16).map(|group| {
        let own: Vec<i32> =
            numbers.iter().copied().filter(|number| slot_of(*number) / 16 == group).collect();
        let slot_mask = own.iter().fold(0, |mask, number| mask | 1 << (slot_of(*number) % 16));
        let amount = i32::try_from(own.len()).unwrap();
        LinksRow {
            crawl,
            slot_group: group,
            slot_mask,
            is_urgent,
            amount,
            data: serde_json::to_vec(&own).unwrap(),
        }
    });
    groups.filter(|row| row.amount > 0).collect()
}

pub(crate) fn numbers_in(data: &[u8]) -> Vec<i32> {
    serde_json::from_slice(data).unwrap()
}

pub(crate) fn fetch(crawl: i32, number: i32, outcome: &str) -> FetchRow {
    FetchRow {
        crawl,
        host_hash: 7,
        url_hash: u64::try_from(number).unwrap(),
        url: format!("https://example.com/{number}"),
        at: Utc::now(),
        duration_ms: Some(20),
        depth: 1,
        status: Some(200),
        outcome: outcome.into(),
        bytes: Some(1_000),
        sha256: Some([7; 32]),
        mime: Some("text/html".into()),
        charset: None,
        language: None,
        title: Some("a\0b".into()),
        etag: None,
        last_modified: None,
        redirect: None,
        object: Some("object".into()),
        record_offset: Some(0),
        record_length: Some(500),
        body_object: None,
        body_offset: None,
        body_length: None,
        body_at: None,
        body_url: None,
        body_hashes: None,
        truncated: None,
        text: None,
        is_no_page: false,
        via: None,
        certificate: None,
    }
}

pub(crate) fn chunk(crawl: i32, host_hash: u64, seq: i32, pending: i32, data: Vec<u8>) -> ChunkRow {
    ChunkRow {
        crawl,
        host_hash,
        seq,
        is_snapshot: true,
        next_due: (pending > 0).then(Utc::now),
        known: pending,
        pending,
        data,
    }
}

pub(crate) fn counts(crawl: i32) -> CrawlCounts {
    let none = || json!({});
    CrawlCounts {
        crawl,
        failed: none(),
        refused: none(),
        left: none(),
        links_refused: none(),
        ..CrawlCounts::default()
    }
}

pub(crate) fn checkpoint(lease: &SlotLease, number: i64) -> Checkpoint {
    Checkpoint {
        fence: lease.fence,
        number,
        cursor: None,
        urgent_cursor: None,
        counts: Vec::new(),
        fetches: Vec::new(),
        links: Vec::new(),
        chunks: Vec::new(),
        hosts: Vec::new(),
    }
}

impl Database {
    pub(crate) async fn start_crawl(
        &self,
        page_limit: Option<i64>,
        seeds: &[i32],
        slot_of: impl Fn(i32) -> i16,
    ) -> (i32, Uuid) {
        let new = new_crawl(page_limit);
        let crawl = self.owner.start_crawl(&new).await.unwrap();
        let rows = rows_of_links(crawl, seeds, slot_of, false);
        assert!(self.owner.add_links(crawl, &rows, true).await.unwrap());
        (crawl, new.id)
    }

    pub(crate) async fn lease_all_slots(&self, worker: &str) -> Vec<SlotLease> {
        let mut leases = self.worker.lease_slots(worker, 256).await.unwrap();
        leases.sort_by_key(|lease| lease.fence.slot);
        leases
    }

    /// Returns the crawls that have ended. Panics if the lease is lost.
    pub(crate) async fn record_checkpoint(&self, checkpoint: &Checkpoint) -> Vec<i32> {
        match self.worker.checkpoint_slot(checkpoint).await.unwrap() {
            CheckpointResult::Recorded { ended } => ended,
            CheckpointResult::Lost => panic!("the lease is lost: {checkpoint:?}"),
        }
    }

    /// Returns a crawl's state, its ending, and whether its sums add up.
    pub(crate) async fn ending(&self, id: Uuid) -> (String, Option<String>, bool) {
        let status = self.owner.crawl_status(Some(id)).await.unwrap().pop().unwrap();
        let sum = |counts: &Value| -> i64 {
            counts.as_object().unwrap().values().map(|count| count.as_i64().unwrap()).sum()
        };
        let ended = status.captured + status.failed + sum(&status.refused) + sum(&status.left);
        (status.state, status.ended_by, status.known == status.pending + ended)
    }

    /// The next call by any worker frees these slots.
    pub(crate) async fn expire_slots(&self, worker: &str) {
        let sql = "update everytab.slots set lease_until = now() where holder = $1";
        crate::session::query(sql).bind(worker.to_owned()).execute(&self.pool).await;
    }
}
