//! Shared setup for the API tests: a service with its own role, keys, submissions, and a slot
//! holder that records fetches.

use everytab_coordinator::{
    ApiCaller, ApiError, ApiSubmission, ApiTarget, Coordinator, CrawlStatus, FetchId, FetchRow,
    LinksRow, NewApiKey, NewCrawl, SlotLease, StandingCrawl,
};
use serde_json::json;
use uuid::Uuid;

use crate::{
    frontier::{
        holder::{checkpoint, counts, fetch, new_crawl, rows_of_links},
        links::slot_of,
    },
    session::query,
    setup::{Database, settings},
};

/// Host hash of all URLs in these tests, see [`fetch`].
pub(super) const HOST: u64 = 7;

pub(super) struct Service {
    pub(super) database: Database,
    pub(super) api: Coordinator,
}

pub(super) fn new_key(number: u8) -> NewApiKey {
    NewApiKey {
        key: format!("{}aaaaaaaaaaa", char::from(b'a' + number)),
        secret_sha256: [number; 32],
        name: format!("key {number}"),
        requests_per_second: 1_000.0,
        burst: 10_000,
        urls_a_day: None,
        pages_a_day: None,
        max_bytes: None,
        max_crawls: None,
        rate: None,
        min_delay_ms: 0,
        ports: vec![80, 443, 8080, 8443],
    }
}

pub(super) fn standing() -> StandingCrawl {
    StandingCrawl { store: "file:///kept".into(), settings: json!({"scope": "page", "depth": 0}) }
}

fn number_of(url: u64) -> i32 {
    i32::try_from(url).unwrap()
}

pub(super) fn links(urls: &[u64]) -> Vec<LinksRow> {
    let numbers: Vec<i32> = urls.iter().map(|url| number_of(*url)).collect();
    rows_of_links(0, &numbers, slot_of, false)
}

pub(super) fn submission(caller: &ApiCaller, url: u64) -> ApiSubmission {
    let link = links(&[url]).pop().unwrap();
    ApiSubmission {
        caller: caller.clone(),
        crawl: None,
        host_hash: HOST,
        url_hash: url,
        max_age_s: None,
        urgent_data: Some(link.data.clone()),
        link,
    }
}

pub(super) fn id_of(crawl: i32, url: u64) -> FetchId {
    FetchId { crawl, host_hash: HOST, url_hash: url }
}

pub(super) fn code<T: std::fmt::Debug>(result: Result<T, ApiError>) -> String {
    match result {
        Err(ApiError::Refused(refusal)) => refusal.code,
        other => panic!("expected a rejection, got {other:?}"),
    }
}

impl Service {
    pub(super) async fn new() -> Self {
        Self::over(Database::new().await).await
    }

    pub(super) async fn over(database: Database) -> Self {
        let url = database.worker_url.replace("everytab_worker", "everytab_api");
        let api = Coordinator::connect(&url, &settings()).await.unwrap();
        Self { database, api }
    }

    pub(super) async fn another(&self) -> Coordinator {
        let url = self.database.worker_url.replace("everytab_worker", "everytab_api");
        Coordinator::connect(&url, &settings()).await.unwrap()
    }

    pub(super) async fn add(&self, key: NewApiKey) -> ApiCaller {
        self.database.owner.add_key(&key).await.unwrap();
        ApiCaller { key: key.key, secret_sha256: key.secret_sha256 }
    }

    pub(super) async fn caller(&self, number: u8) -> ApiCaller {
        self.add(new_key(number)).await
    }

    pub(super) async fn submit(&self, caller: &ApiCaller, urls: &[u64]) -> Vec<i32> {
        let all: Vec<_> = urls.iter().map(|url| submission(caller, *url)).collect();
        let answers = self.api.api_submit(&standing(), &all).await.unwrap();
        answers.into_iter().map(|answer| answer.unwrap().crawl).collect()
    }

    pub(super) async fn start(
        &self,
        caller: &ApiCaller,
        seeds: &[u64],
    ) -> Result<(NewCrawl, i32), ApiError> {
        let crawl = new_crawl(None);
        let started = self.api.api_start_crawl(caller, &crawl, None, &links(seeds), true).await?;
        assert_eq!((started.crawl_id, started.is_repeated), (crawl.id, false));
        Ok((crawl, started.crawl))
    }

    pub(super) async fn extend(
        &self,
        caller: &ApiCaller,
        crawl: Option<Uuid>,
        urls: &[u64],
    ) -> Result<ApiTarget, ApiError> {
        self.api.api_add_links(caller, (crawl, &standing()), None, &links(urls), false).await
    }

    pub(super) async fn status(&self, crawl: i32) -> CrawlStatus {
        let all = self.database.owner.crawl_status(None).await.unwrap();
        all.into_iter().find(|status| status.crawl == crawl).unwrap()
    }

    /// Records fetches as if each had come from a link. Returns the crawls that have ended.
    pub(super) async fn record(
        &self,
        lease: &SlotLease,
        crawl: i32,
        rows: Vec<FetchRow>,
    ) -> Vec<i32> {
        let sql = "select checkpoint + 1 from everytab.slots where slot = $1";
        let number = self.database.value(sql, i32::from(lease.fence.slot)).await;
        let mut next = checkpoint(lease, number);
        let amount = i64::try_from(rows.len()).unwrap();
        let mut sums = counts(crawl);
        (sums.known, sums.captured, sums.read) = (amount, amount, amount);
        sums.stored_bytes = 1_000 * amount;
        next.counts.push(sums);
        next.fetches = rows;
        self.database.record_checkpoint(&next).await
    }

    /// Returns the crawls that have ended.
    pub(super) async fn capture(&self, lease: &SlotLease, crawl: i32, urls: &[u64]) -> Vec<i32> {
        let rows = urls.iter().map(|url| fetch(crawl, number_of(*url), "ok")).collect();
        self.record(lease, crawl, rows).await
    }

    /// Slots are leased only while a crawl is open.
    pub(super) async fn lease(&self, worker: &str) -> SlotLease {
        self.database.owner.start_crawl(&new_crawl(None)).await.unwrap();
        self.database.lease_all_slots(worker).await.swap_remove(5)
    }

    pub(super) async fn forget_counts(&self) {
        self.database
            .run("update everytab.api_usage set counted_at = counted_at - interval '6 s'")
            .await;
    }

    /// This locks key rows in order and before crawl rows, as submissions do.
    pub(super) async fn next_day(&self) {
        self.database
            .run(
                "do $$ begin
                     perform from everytab.api_usage order by key for no key update;
                     update everytab.api_usage
                        set urls_day = urls_day - 1, ended_day = ended_day - 1,
                            standing_day = standing_day - 1,
                            counted_at = counted_at - interval '1 day';
                     update everytab.api_crawls set day = day - 1;
                 end $$",
            )
            .await;
    }

    pub(super) async fn leak(&self, caller: &ApiCaller, seconds: i64) {
        let sql = "update everytab.api_usage
                      set at = at - make_interval(secs => $2::double precision),
                          urgent_at = urgent_at - make_interval(secs => $2::double precision)
                    where key = $1";
        query(sql).bind(caller.key.clone()).bind(seconds).execute(&self.database.pool).await;
    }
}
