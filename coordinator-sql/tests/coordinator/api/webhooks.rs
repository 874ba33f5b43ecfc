//! Tests webhooks: which events are recorded, which worker sends them, and when an event is
//! dropped.

use everytab_coordinator::{
    ApiCaller, CrawlVerb, NewWebhook, ScheduleTimes, Via, WebhookChange, WebhookLease,
    WebhookRecorded, WebhookState, WebhookTry,
};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    service::{Service, code},
    tenants::schedule,
};
use crate::{
    frontier::holder::{checkpoint, counts, fetch},
    session::query,
};

const ALL: [&str; 3] = ["crawl.ended", "url.done", "schedule.skipped"];

fn new(events: &[&'static str]) -> NewWebhook {
    NewWebhook {
        id: Uuid::new_v4(),
        url: "https://hook.test/".into(),
        events: events.to_vec(),
        description: None,
        secret: vec![1; 32],
    }
}

impl Service {
    async fn hook(&self, caller: &ApiCaller, events: &[&'static str]) -> Uuid {
        let new = new(events);
        self.api.api_add_webhook(caller, &new).await.unwrap();
        new.id
    }

    async fn hook_state(&self, id: Uuid) -> WebhookState {
        let all = self.database.owner.list_webhooks(None).await.unwrap();
        all.into_iter().find(|one| one.id == id).unwrap()
    }

    async fn events(&self, id: Uuid, amount: i32) {
        let sql = format!(
            "insert into everytab.webhook_events (webhook, body)
             select '{id}', '{{}}' from generate_series(1, {amount})"
        );
        self.database.pool.run(&sql).await;
    }

    async fn lease_hooks(&self) -> Vec<WebhookLease> {
        self.database.worker.lease_webhooks(100).await.unwrap()
    }

    async fn end_all(&self, outcome: &'static str, status: Option<i16>) -> WebhookRecorded {
        let lease = self.lease_hooks().await.pop().expect("a webhook is due");
        self.record_hook(&lease, outcome, status, None).await
    }

    async fn record_hook(
        &self,
        lease: &WebhookLease,
        outcome: &'static str,
        status: Option<i16>,
        retry_after_s: Option<i32>,
    ) -> WebhookRecorded {
        let tries =
            lease.numbers.iter().map(|number| WebhookTry { number: *number, outcome, status });
        let tries: Vec<_> = tries.collect();
        self.database.worker.record_webhook(lease, &tries, retry_after_s).await.unwrap()
    }

    async fn pass(&self, time: &str) {
        let sql = format!(
            "update everytab.webhooks set due_at = due_at - interval '{time}',
                    failing_since = failing_since - interval '{time}',
                    leased_until = leased_until - interval '{time}',
                    old_secret_until = old_secret_until - interval '{time}';
             update everytab.webhook_events set due_at = due_at - interval '{time}',
                    first_tried_at = first_tried_at - interval '{time}'"
        );
        self.database.pool.run(&sql).await;
    }

    /// Returns the seconds from the last failure until each event is due, and until the webhook is
    /// due.
    async fn pauses(&self) -> (Vec<f64>, f64) {
        let events = "select extract(epoch from e.due_at - w.last_failure_at)::float8
                        from everytab.webhook_events e
                        join everytab.webhooks w on w.id = e.webhook order by e.number";
        let hook = "select extract(epoch from due_at - last_failure_at)::float8
                      from everytab.webhooks";
        let (events, hook) = (query(events), query(hook));
        (events.column(&self.database.pool).await, hook.value(&self.database.pool).await)
    }

    async fn bodies(&self, id: Uuid) -> Vec<Value> {
        let sql = format!(
            "select body from everytab.webhook_events where webhook = '{id}' order by number"
        );
        let bodies: Vec<String> = query(&sql).column(&self.database.pool).await;
        bodies.iter().map(|body| serde_json::from_str(body).unwrap()).collect()
    }
}

fn types(bodies: &[Value]) -> Vec<&str> {
    bodies.iter().map(|body| body["type"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn events_are_recorded_in_the_transaction_for_the_webhooks_that_want_them() {
    let service = Service::new().await;
    let (caller, other) = (service.caller(0).await, service.caller(1).await);
    let (all, urls) =
        (service.hook(&caller, &ALL).await, service.hook(&caller, &["url.done"]).await);
    let others = service.hook(&other, &ALL).await;
    let (new, crawl) = service.start(&caller, &[1, 2, 3]).await.unwrap();
    let lease = service.lease("a").await;
    let seed = |number: i32, outcome: &str| {
        let row = fetch(crawl, number, outcome);
        everytab_coordinator::FetchRow { depth: 0, ..row }
    };
    let mut linked = seed(3, "ok");
    linked.via = Some(Via::Recorded(7, 1));
    let mut sitemap = seed(5, "ok");
    sitemap.is_no_page = true;
    let rows = vec![seed(1, "ok"), seed(2, "http_5xx"), linked, fetch(crawl, 4, "ok"), sitemap];
    service.record(&lease, crawl, rows).await;
    let told = service.bodies(urls).await;
    assert_eq!(types(&told), ["url.done", "url.done"]);
    let data = &told[0]["data"];
    assert_eq!(
        (&data["url"], &data["state"]),
        (&json!("https://example.com/1"), &json!("captured"))
    );
    assert_eq!((&data["crawl"], &data["status"]), (&json!(new.id), &json!(200)));
    assert_eq!(data["record"], json!({ "object": "object", "offset": 0, "length": 500 }));
    assert_eq!(
        (&told[1]["data"]["state"], &told[1]["data"]["outcome"]),
        (&json!("failed"), &json!("http_5xx"))
    );
    let mut lost = checkpoint(&lease, 9);
    lost.fence.lease_number += 1;
    lost.counts.push(counts(crawl));
    lost.fetches = vec![seed(6, "ok")];
    service.database.worker.checkpoint_slot(&lost).await.unwrap();
    assert_eq!(service.bodies(urls).await.len(), 2);
    service.api.api_move_crawl(&caller, new.id, CrawlVerb::Cancel).await.unwrap();
    service.api.api_move_crawl(&caller, new.id, CrawlVerb::Cancel).await.unwrap();
    let told = service.bodies(all).await;
    assert_eq!(types(&told), ["url.done", "url.done", "crawl.ended"]);
    let data = &told[2]["data"];
    assert_eq!((&data["crawl"], &data["ended_by"]), (&json!(new.id), &json!("cancel")));
    assert_eq!((&data["name"], &data["captured"]), (&json!(new.name), &json!(5)));
    assert_eq!(service.bodies(others).await, Vec::<Value>::new());
    let mut late = checkpoint(&lease, 2);
    late.counts.push(counts(crawl));
    late.fetches = vec![seed(7, "ok")];
    service.database.worker.checkpoint_slot(&late).await.unwrap();
    assert_eq!(service.bodies(urls).await.len(), 2);
}

#[tokio::test]
async fn a_skipped_time_of_a_schedule_is_reported_with_its_reason() {
    let service = Service::new().await;
    let caller = service.caller(0).await;
    let hook = service.hook(&caller, &["schedule.skipped"]).await;
    let mut new = schedule("nightly");
    new.times = ScheduleTimes::Every { every_s: 60, first_at: None };
    service.api.api_add_schedule(&caller, &new, None).await.unwrap();
    let fire = async || {
        service.database.run("update everytab.schedules set next_at = now()").await;
        let sql = "select coordinator.fire_schedules() where $1 = 0";
        service.database.value::<i32>(sql, 0).await
    };
    assert_eq!(fire().await, 1);
    assert_eq!(fire().await, 0);
    service.database.run("update everytab.api_keys set pages_a_day = 0").await;
    assert_eq!(fire().await, 0);
    service.database.run("update everytab.api_keys set pages_a_day = null, urls_a_day = 0").await;
    service.database.run("update everytab.schedules set last_crawl = null").await;
    assert_eq!(fire().await, 0);
    let told = service.bodies(hook).await;
    let reasons: Vec<&Value> = told.iter().map(|one| &one["data"]["reason"]).collect();
    assert_eq!(reasons, ["not_ended", "quota_pages", "quota_urls"]);
    let data = &told[0]["data"];
    assert_eq!((&data["schedule"], &data["name"]), (&json!(new.id), &json!("nightly")));
    assert!(data["next_at"].as_str().unwrap().ends_with('Z'), "{data}");
}

#[tokio::test]
async fn a_webhook_is_leased_to_one_worker_until_it_records_results_or_dies() {
    let service = Service::new().await;
    let caller = service.caller(0).await;
    let (one, two) = (service.hook(&caller, &ALL).await, service.hook(&caller, &ALL).await);
    assert_eq!(service.lease_hooks().await, []);
    service.events(one, 40).await;
    service.events(two, 1).await;
    let leases = service.lease_hooks().await;
    let amounts = |id| leases.iter().find(|lease| lease.id == id).unwrap().numbers.len();
    assert_eq!((leases.len(), amounts(one), amounts(two)), (2, 32, 1));
    assert_eq!(service.lease_hooks().await, [], "both webhooks are leased");
    let dead = leases.into_iter().find(|lease| lease.id == one).unwrap();
    assert_eq!(dead.secrets, [vec![1; 32]]);
    service.pass("1 minute").await;
    let again = service.lease_hooks().await;
    let next = again.iter().find(|lease| lease.id == one).unwrap();
    assert_eq!((&next.numbers, &next.event_ids), (&dead.numbers, &dead.event_ids));
    let lost = service.record_hook(&dead, "ok", Some(200), None).await;
    assert_eq!(lost.word, "lost");
    assert_eq!(service.hook_state(one).await.pending, 40);
    let recorded = service.record_hook(next, "ok", Some(200), None).await;
    assert_eq!((recorded.word.as_str(), recorded.dropped), ("recorded", 0));
    let state = service.hook_state(one).await;
    assert_eq!((state.pending, state.sent, state.failures), (8, 32, 0));
    assert!(state.last_success_at.is_some());
}

#[tokio::test]
async fn failed_events_are_retried_after_growing_pauses_one_event_at_a_time() {
    let service = Service::new().await;
    let caller = service.caller(0).await;
    let id = service.hook(&caller, &ALL).await;
    service.events(id, 2).await;
    let mut pauses = Vec::new();
    // After a failure, only the event with the oldest due time is sent.
    for (attempt, expected) in [(0, 2), (1, 1), (2, 1)] {
        let lease = service.lease_hooks().await.pop().unwrap();
        assert_eq!(lease.numbers.len(), expected, "{attempt}");
        service.record_hook(&lease, "connect_refused", None, None).await;
        let (events, hook) = service.pauses().await;
        pauses.push(hook);
        assert_eq!(events.iter().filter(|event| **event > 0.0).count(), expected, "{events:?}");
        service.pass("10 minutes").await;
    }
    assert!((4.0..6.0).contains(&pauses[0]), "{pauses:?}");
    assert!(pauses[0] < pauses[1] && pauses[1] <= pauses[2] && pauses[2] <= 300.0, "{pauses:?}");
    let state = service.hook_state(id).await;
    assert_eq!((state.failures, state.last_outcome.as_deref()), (4, Some("connect_refused")));
    let lease = service.lease_hooks().await.pop().unwrap();
    service.record_hook(&lease, "ok", Some(200), None).await;
    let lease = service.lease_hooks().await.pop().unwrap();
    service.record_hook(&lease, "ok", Some(200), None).await;
    let state = service.hook_state(id).await;
    assert_eq!((state.failures, state.failing_since, state.pending, state.sent), (0, None, 0, 2));
}

#[tokio::test]
async fn retry_after_is_obeyed_for_at_most_an_hour() {
    let service = Service::new().await;
    let caller = service.caller(0).await;
    let id = service.hook(&caller, &ALL).await;
    service.events(id, 1).await;
    for (asked, least, most) in
        [(120, 115.0, 121.0), (i32::MAX, 3_595.0, 3_601.0), (-5, 0.0, 400.0)]
    {
        let lease = service.lease_hooks().await.pop().unwrap();
        service.record_hook(&lease, "http_429", Some(429), Some(asked)).await;
        let (events, hook) = service.pauses().await;
        assert!((least..most).contains(&hook) && events[0] >= least, "{asked}: {hook} {events:?}");
        service.pass("10 hours").await;
    }
    // A lease that ends without attempts means that the worker had a local failure.
    let lease = service.lease_hooks().await.pop().unwrap();
    service.database.worker.record_webhook(&lease, &[], None).await.unwrap();
    assert_eq!(service.hook_state(id).await.failures, 3);
    service.pass("5 seconds").await;
    assert_eq!(service.lease_hooks().await.len(), 1);
}

#[tokio::test]
async fn an_event_is_dropped_after_a_day_and_a_webhook_that_only_fails_is_disabled() {
    let service = Service::new().await;
    let caller = service.caller(0).await;
    let id = service.hook(&caller, &ALL).await;
    service.events(id, 1).await;
    service.end_all("http_5xx", Some(500)).await;
    service.pass("12 hours").await;
    service.end_all("http_5xx", Some(500)).await;
    service.events(id, 1).await;
    service.pass("10 minutes").await;
    let sent = service.end_all("ok", Some(200)).await;
    assert_eq!((sent.dropped, service.hook_state(id).await.pending), (0, 1));
    service.pass("12 hours").await;
    let given_up = service.end_all("http_5xx", Some(500)).await;
    assert_eq!((given_up.dropped, given_up.disabled_because), (1, None));
    let state = service.hook_state(id).await;
    assert_eq!((state.pending, state.dropped, state.disabled_at), (0, 1, None));
    service.database.run("update everytab.webhooks set failures = 0, failing_since = null").await;
    for attempt in 1..=10 {
        service.events(id, 3).await;
        service.pass("10 minutes").await;
        if attempt == 10 {
            service.pass("23 hours").await;
        }
        let ended = service.end_all("connect_timeout", None).await;
        assert_eq!(ended.disabled_because.is_some(), attempt == 10, "{attempt}: {ended:?}");
    }
    let state = service.hook_state(id).await;
    assert_eq!(state.disabled_because.as_deref(), Some("failing"));
    assert!(state.disabled_at.is_some() && state.pending == 0 && state.dropped >= 20, "{state:?}");
    let (new, _) = service.start(&caller, &[1]).await.unwrap();
    service.api.api_move_crawl(&caller, new.id, CrawlVerb::Cancel).await.unwrap();
    assert_eq!(service.bodies(id).await, Vec::<Value>::new());
    let enable = WebhookChange { enabled: Some(true), ..WebhookChange::default() };
    let enabled = service.api.api_change_webhook(&caller, id, &enable).await.unwrap();
    assert_eq!((enabled.disabled_at, enabled.failures, enabled.failing_since), (None, 0, None));
    let (new, _) = service.start(&caller, &[1]).await.unwrap();
    service.api.api_move_crawl(&caller, new.id, CrawlVerb::Cancel).await.unwrap();
    assert_eq!(types(&service.bodies(id).await), ["crawl.ended"]);
}

#[tokio::test]
async fn the_number_of_pending_events_is_limited_and_dropped_events_are_counted() {
    let service = Service::new().await;
    let caller = service.caller(0).await;
    let id = service.hook(&caller, &ALL).await;
    service.events(id, 100_040).await;
    let ended = service.end_all("http_5xx", Some(500)).await;
    assert_eq!(ended.dropped, 8);
    let state = service.hook_state(id).await;
    assert_eq!((state.pending, state.sent, state.dropped), (100_032, 0, 8));
    let sql = "select max(number) from everytab.webhook_events where $1 = 0";
    assert_eq!(
        service.database.value::<i64>(sql, 0).await,
        100_032,
        "the newest events must be dropped"
    );
    let backlog = service.database.worker.webhook_backlog().await.unwrap();
    assert_eq!((backlog.waiting, backlog.failing), (1, 1));
}

#[tokio::test]
async fn webhooks_of_another_key_are_not_found_and_a_revoked_key_has_none() {
    let service = Service::new().await;
    let (caller, other) = (service.caller(0).await, service.caller(1).await);
    let id = service.hook(&caller, &ALL).await;
    let enable = WebhookChange { enabled: Some(false), ..WebhookChange::default() };
    for id in [id, Uuid::new_v4()] {
        let api = &service.api;
        assert_eq!(code(api.api_list_webhooks(&other, Some(id)).await), "not_found");
        assert_eq!(code(api.api_change_webhook(&other, id, &enable).await), "not_found");
        assert_eq!(code(api.api_rotate_webhook(&other, id, &[3; 32]).await), "not_found");
        assert_eq!(code(api.api_test_webhook(&other, id).await), "not_found");
        assert_eq!(code(api.api_drop_webhook(&other, id).await), "not_found");
    }
    assert_eq!(service.api.api_list_webhooks(&other, None).await.unwrap(), []);
    for _ in 1..10 {
        service.hook(&caller, &ALL).await;
    }
    assert_eq!(code(service.api.api_add_webhook(&caller, &new(&ALL)).await), "not_allowed");
    service.events(id, 5).await;
    assert!(service.database.owner.revoke_key(&caller.key).await.unwrap());
    assert_eq!(code(service.api.api_list_webhooks(&caller, None).await), "unauthorized");
    assert_eq!(service.lease_hooks().await, []);
    let state = service.hook_state(id).await;
    assert_eq!((state.disabled_because.as_deref(), state.pending), (Some("key_revoked"), 0));
    assert!(!service.database.owner.revoke_key(&caller.key).await.unwrap());
}

#[tokio::test]
async fn after_a_rotation_both_secrets_sign_for_a_day() {
    let service = Service::new().await;
    let caller = service.caller(0).await;
    let id = service.hook(&caller, &ALL).await;
    service.api.api_rotate_webhook(&caller, id, &[2; 24]).await.unwrap();
    service.events(id, 2).await;
    let lease = service.lease_hooks().await.pop().unwrap();
    assert_eq!(lease.secrets, [vec![2; 24], vec![1; 32]]);
    service.pass("24 hours").await;
    let lease = service.lease_hooks().await.pop().unwrap();
    assert_eq!(lease.secrets, [vec![2; 24]]);
}
