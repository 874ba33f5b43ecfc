//! Tests the overview: the whole installation's activity, and the pace of a key's own crawl.

use everytab_coordinator::{ApiCaller, CrawlVerb, JobKind, RateChange};
use serde_json::{Value, json};
use uuid::Uuid;

use super::service::{Service, code};
use crate::session::query;

impl Service {
    async fn overview(&self, caller: &ApiCaller, crawl: Option<Uuid>) -> Value {
        self.api.api_overview(caller, crawl).await.unwrap()
    }

    async fn due(&self, crawl: i32, slot: i32, hosts: &str) {
        let sql = "with new as (
                     select row_number() over () + $2::integer * 1000 as hash, h.*
                       from jsonb_to_recordset($3::text::jsonb) as h (
                            raised integer, response integer, asked integer, free integer,
                            pending integer, origins jsonb))
                   , known as (
                     insert into everytab.frontier_hosts (
                         slot, host_hash, site_hash, free_at, delay_ms, response_ms,
                         crawl_delay_ms, origins, hostname)
                     select $2::integer::smallint, n.hash, n.hash,
                            now() + make_interval(secs => coalesce(n.free, 0)),
                            coalesce(n.raised, 0), coalesce(n.response, 0), n.asked, n.origins,
                            n.hash || '.test' from new n)
                   , chunks as (
                     insert into everytab.frontier_chunks (
                         slot, crawl, host_hash, seq, is_snapshot, known, pending, data)
                     select $2::integer::smallint, $1::integer, n.hash, s.seq, s.seq = 1,
                            n.pending, n.pending / s.seq, ''
                       from new n cross join generate_series(1, 2) as s (seq)
                      where n.pending is not null)
                   insert into everytab.frontier_due (slot, crawl, host_hash, next_due)
                   select $2::integer::smallint, $1::integer, n.hash, now() from new n";
        query(sql).bind(crawl).bind(slot).bind(hosts.to_owned()).execute(&self.database.pool).await;
    }
}

#[tokio::test]
async fn the_pace_is_the_sum_of_the_rates_that_the_hosts_delays_allow() {
    let service = Service::new().await;
    let (caller, other) = (service.caller(0).await, service.caller(1).await);
    let (crawl, number) = service.start(&caller, &[1]).await.unwrap();
    let none = service.overview(&caller, Some(crawl.id)).await;
    let expected = json!({
        "hosts": 0, "resting_hosts": 0, "pages_per_second": 0, "is_least": false, "rate": null,
        "paused_origins": {}, "seconds_left": null, "slowest_host": null,
    });
    assert_eq!(none["pace"], expected);

    let settings = json!({ "delay_ms": 500, "delay_factor": 2.0, "max_delay_ms": 3_000 });
    let sql = "update everytab.crawls set settings = $1::text::jsonb where crawl = $2";
    query(sql).bind(settings.to_string()).bind(number).execute(&service.database.pool).await;
    let mut hosts = json!([
        {},                                     // every 500 ms
        { "response": 1_000 },                  // twice its response time, plus the response time
        { "response": 7_000 },                  // `max_delay_ms`, plus the response time
        { "asked": 4_000, "response": 1_000 },  // the delay in robots.txt
        { "raised": 20_000, "free": 15 },       // free within its raised delay
        { "free": 60 },                         // paused
    ]);
    let pause = |outcome: &str, until| json!({ "outcome": outcome, "until": until });
    let (later, before) = ("2999-01-01T00:00:00Z", "2001-01-01T00:00:00Z");
    hosts[0]["origins"] = json!([
        pause("connect_refused", later),
        pause("http_5xx", later),
        pause("http_5xx", before)
    ]);
    service.due(number, 3, &hosts.to_string()).await;
    let (theirs, their_number) = service.start(&other, &[1]).await.unwrap();
    service.due(their_number, 4, "[{}, {}]").await;
    let pace = service.overview(&caller, Some(crawl.id)).await["pace"].clone();
    assert_eq!((&pace["hosts"], &pace["resting_hosts"]), (&json!(5), &json!(1)), "{pace}");
    let sum = 1.0 / 0.5 + 1.0 / 3.0 + 1.0 / 10.0 + 1.0 / 5.0 + 1.0 / 20.0;
    assert!((pace["pages_per_second"].as_f64().unwrap() - sum).abs() < 1e-9, "{pace}");
    assert_eq!((&pace["is_least"], &pace["rate"]), (&json!(false), &json!(null)));
    assert_eq!(pace["paused_origins"], json!({ "connect_refused": 1, "http_5xx": 1 }));
    assert_eq!(code(service.api.api_overview(&caller, Some(theirs.id)).await), "not_found");

    let change = [RateChange::Rate(Some(1.5)), RateChange::MinDelay(Some(10_000))];
    for change in change {
        service.api.api_set_rate(&caller, None, change).await.unwrap();
    }
    let pace = service.overview(&caller, Some(crawl.id)).await["pace"].clone();
    let sum = 1.0 / 10.0 + 1.0 / 11.0 + 1.0 / 17.0 + 1.0 / 11.0 + 1.0 / 20.0;
    assert!((pace["pages_per_second"].as_f64().unwrap() - sum).abs() < 1e-9, "{pace}");
    assert_eq!(pace["rate"], 1.5);

    let many: Vec<Value> = (0..50).map(|_| json!({ "response": 0 })).collect();
    service.due(number, 5, &json!(many).to_string()).await;
    let pace = service.overview(&caller, Some(crawl.id)).await["pace"].clone();
    assert_eq!((&pace["hosts"], &pace["is_least"]), (&json!(45), &json!(true)), "{pace}");
    service.api.api_move_crawl(&caller, crawl.id, CrawlVerb::Cancel).await.unwrap();
    assert_eq!(service.overview(&caller, Some(crawl.id)).await["pace"], Value::Null);
}

#[tokio::test]
async fn the_time_left_is_determined_by_the_slowest_host() {
    let service = Service::new().await;
    let caller = service.caller(0).await;
    let (crawl, number) = service.start(&caller, &[1]).await.unwrap();
    let settings = json!({ "delay_ms": 500, "delay_factor": 0, "max_delay_ms": 0 });
    let sql = "update everytab.crawls set settings = $1::text::jsonb where crawl = $2";
    query(sql).bind(settings.to_string()).bind(number).execute(&service.database.pool).await;
    let hosts = json!([
        { "pending": 2_000 },
        { "pending": 400, "asked": 4_500, "response": 500 },
        { "pending": 2, "free": 900 },
    ]);
    service.due(number, 3, &hosts.to_string()).await;
    let pace = service.overview(&caller, Some(crawl.id)).await["pace"].clone();
    assert_eq!(pace["slowest_host"], "3002.test", "{pace}");
    assert_eq!(pace["seconds_left"], 1_000.0, "{pace}");
    service.due(number, 4, &json!([{ "pending": 2, "free": 7_200 }]).to_string()).await;
    let pace = service.overview(&caller, Some(crawl.id)).await["pace"].clone();
    assert_eq!(pace["slowest_host"], "4001.test", "{pace}");
    assert!(pace["seconds_left"].as_f64() > Some(7_000.0), "{pace}");
}

#[tokio::test]
async fn every_key_sees_how_many_workers_slots_and_scans_there_are_but_no_names() {
    let service = Service::new().await;
    let caller = service.caller(0).await;
    let empty = service.overview(&caller, None).await;
    assert_eq!((&empty["live_workers"], &empty["held_slots"]), (&json!(0), &json!(0)));
    assert_eq!((&empty["slots"], &empty["scans"]), (&json!(256), &json!([])));
    let _lease = service.lease("a secret name").await;
    service.database.start(3).await;
    let lease = service.database.lease(JobKind::Index, 1).await.remove(0);
    let overview = service.overview(&caller, None).await;
    assert_eq!((&overview["live_workers"], &overview["held_slots"]), (&json!(1), &json!(256)));
    let scan = &overview["scans"][0];
    assert_eq!((&scan["state"], &scan["workers"]), (&json!("running"), &json!(1)), "{overview}");
    assert_eq!(scan["errors"], json!({}));
    let stage = &scan["stages"][0];
    assert_eq!((&stage["kind"], &stage["outstanding"]), (&json!("index"), &json!(3)), "{scan}");
    service.database.complete(lease).await;
    let overview = service.overview(&caller, None).await;
    assert_eq!(overview["scans"][0]["stages"][0]["done"], 1, "{overview}");
    let text = overview.to_string();
    assert!(!text.contains("a secret name") && !text.contains("file://"), "{text}");
}
