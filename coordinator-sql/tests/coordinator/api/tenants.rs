//! Tests a key's settings for its own crawls, and that quotas pause crawls.

use everytab_coordinator::{
    CrawlVerb, IdempotencyKey, NewApiKey, NewSchedule, RateChange, RobotsOverrideRow, ScheduleTimes,
};
use serde_json::json;
use uuid::Uuid;

use super::service::{Service, code, links, new_key};

pub(super) fn schedule(name: &str) -> NewSchedule {
    NewSchedule {
        id: Uuid::new_v4(),
        owner: "another".into(),
        name: name.into(),
        times: ScheduleTimes::Every { every_s: 3_600, first_at: None },
        store: "file:///kept".into(),
        settings: json!({ "scope": "any" }),
        links: links(&[1, 2, 3]),
    }
}

async fn standing_of(service: &Service, crawl: i32) -> (String, Option<String>) {
    service.database.worker.open_crawls().await.unwrap();
    let status = service.status(crawl).await;
    (status.state, status.paused_by)
}

fn paused(by: &str) -> (String, Option<String>) {
    ("paused".to_owned(), Some(by.to_owned()))
}

fn running() -> (String, Option<String>) {
    ("running".to_owned(), None)
}

#[tokio::test]
async fn crawls_of_a_revoked_key_pause_permanently() {
    let service = Service::new().await;
    let (caller, other) = (service.caller(0).await, service.caller(1).await);
    let (new, crawl) = service.start(&caller, &[1, 2]).await.unwrap();
    let (_, of_other) = service.start(&other, &[1, 2]).await.unwrap();
    assert_eq!(standing_of(&service, crawl).await, running());
    assert!(service.database.owner.revoke_key(&caller.key).await.unwrap());
    assert_eq!(standing_of(&service, crawl).await, paused("key_revoked"));
    assert_eq!(standing_of(&service, of_other).await, running());
    let moved = service.database.owner.move_crawl(new.id, CrawlVerb::Resume).await.unwrap();
    assert_eq!(moved.unwrap().paused_by.as_deref(), Some("key_revoked"));
    let moved = service.database.owner.move_crawl(new.id, CrawlVerb::Cancel).await.unwrap();
    let moved = moved.unwrap();
    assert_eq!((moved.state.as_str(), moved.paused_by), ("ended", None));
}

#[tokio::test]
async fn crawls_of_a_key_over_its_page_quota_pause_until_the_next_day() {
    let service = Service::new().await;
    let caller = service.add(NewApiKey { pages_a_day: Some(2), ..new_key(0) }).await;
    let (new, crawl) = service.start(&caller, &[1, 2, 3, 4]).await.unwrap();
    let (held, by_hand) = service.start(&caller, &[5]).await.unwrap();
    service.database.owner.move_crawl(held.id, CrawlVerb::Pause).await.unwrap();
    let lease = service.lease("a").await;
    service.capture(&lease, crawl, &[1, 2]).await;
    service.forget_counts().await;
    assert_eq!(standing_of(&service, crawl).await, paused("quota_pages"));
    let resumed = service.api.api_move_crawl(&caller, new.id, CrawlVerb::Resume).await;
    assert_eq!(code(resumed), "quota_pages");
    assert_eq!(standing_of(&service, crawl).await, paused("quota_pages"));
    service.next_day().await;
    assert_eq!(standing_of(&service, crawl).await, running());
    assert_eq!(
        standing_of(&service, by_hand).await,
        paused("operator"),
        "the operator's pause must remain"
    );
    service.api.api_move_crawl(&caller, held.id, CrawlVerb::Resume).await.unwrap();
    assert_eq!(standing_of(&service, by_hand).await, running());
}

#[tokio::test]
async fn crawls_of_a_key_over_its_storage_quota_pause_until_it_is_raised() {
    let service = Service::new().await;
    let caller = service.add(NewApiKey { max_bytes: Some(1_500), ..new_key(0) }).await;
    let (_, crawl) = service.start(&caller, &[1, 2, 3, 4]).await.unwrap();
    let lease = service.lease("a").await;
    service.capture(&lease, crawl, &[1]).await;
    service.forget_counts().await;
    assert_eq!(standing_of(&service, crawl).await, running());
    service.capture(&lease, crawl, &[2]).await;
    service.forget_counts().await;
    assert_eq!(standing_of(&service, crawl).await, paused("quota_bytes"));
    service.next_day().await;
    assert_eq!(standing_of(&service, crawl).await, paused("quota_bytes"));
    service.database.run("update everytab.api_keys set max_bytes = 5000").await;
    assert_eq!(standing_of(&service, crawl).await, running());
}

#[tokio::test]
async fn a_key_sets_rates_within_the_operators_limits() {
    let service = Service::new().await;
    let allowed = NewApiKey { rate: Some(10), min_delay_ms: 500, ..new_key(0) };
    let (caller, other) = (service.add(allowed).await, service.caller(1).await);
    let (new, crawl) = service.start(&caller, &[1]).await.unwrap();
    let open = async || {
        let all = service.database.worker.open_crawls().await.unwrap();
        all.into_iter().find(|open| open.crawl == crawl).unwrap()
    };
    let first = open().await;
    assert_eq!((first.owner_rate, first.owner_min_delay_ms), (Some(10.0), Some(500)));
    let set = async |caller, id, change| service.api.api_set_rate(caller, id, change).await;
    set(&caller, None, RateChange::Rate(Some(4.0))).await.unwrap();
    set(&caller, Some(new.id), RateChange::MinDelay(Some(900))).await.unwrap();
    let changed = open().await;
    assert_eq!((changed.owner_rate, changed.min_delay_ms), (Some(4.0), Some(900)));
    let refused = set(&caller, None, RateChange::Rate(Some(10.5))).await;
    assert_eq!(code(refused), "not_allowed");
    let refused = set(&caller, Some(new.id), RateChange::MinDelay(Some(100))).await;
    assert_eq!(code(refused), "not_allowed");
    set(&caller, None, RateChange::Rate(None)).await.unwrap();
    assert_eq!(open().await.owner_rate, Some(10.0));
    let refused = set(&other, Some(new.id), RateChange::Rate(Some(1.0))).await;
    assert_eq!(code(refused), "not_found");
}

#[tokio::test]
async fn overrides_and_schedules_of_another_key_are_not_found() {
    let service = Service::new().await;
    let (caller, other) = (service.caller(0).await, service.caller(1).await);
    let row = RobotsOverrideRow {
        id: Uuid::new_v4(),
        owner: "another".into(),
        site: None,
        user_agent: None,
        rules: Some("Disallow: /x".into()),
        delay_ms: None,
    };
    service.api.api_add_robots(&caller, &row).await.unwrap();
    let found = service.api.api_list_robots(&caller).await.unwrap();
    assert_eq!((found.len(), found[0].owner.clone()), (1, format!("key:{}", caller.key)));
    assert_eq!(service.api.api_list_robots(&other).await.unwrap(), []);
    assert_eq!(code(service.api.api_drop_robots(&other, row.id).await), "not_found");
    service.api.api_drop_robots(&caller, row.id).await.unwrap();
    let new = schedule("daily");
    service.api.api_add_schedule(&caller, &new, None).await.unwrap();
    assert_eq!(code(service.api.api_list_schedules(&other, Some(new.id)).await), "not_found");
    assert_eq!(code(service.api.api_drop_schedule(&other, new.id).await), "not_found");
    let found = service.api.api_list_schedules(&caller, Some(new.id)).await.unwrap();
    assert_eq!((found[0].id, found[0].seeds), (new.id, 3));
    service.api.api_drop_schedule(&caller, new.id).await.unwrap();
    assert_eq!(service.api.api_list_schedules(&caller, None).await.unwrap(), []);
}

#[tokio::test]
async fn adding_a_schedule_twice_with_one_idempotency_key_adds_it_once() {
    let service = Service::new().await;
    let caller = service.caller(0).await;
    let request = IdempotencyKey { name: "one".into(), request_sha256: [7; 32] };
    let first = schedule("daily");
    let added = service.api.api_add_schedule(&caller, &first, Some(&request)).await.unwrap();
    let again = schedule("daily");
    let repeated = service.api.api_add_schedule(&caller, &again, Some(&request)).await.unwrap();
    assert_eq!((repeated.id, repeated.next_at), (added.id, added.next_at));
    assert!(repeated.is_repeated && !added.is_repeated);
    assert_eq!(code(service.api.api_add_schedule(&caller, &again, None).await), "name_taken");
    let another = IdempotencyKey { request_sha256: [8; 32], ..request };
    let refused = service.api.api_add_schedule(&caller, &again, Some(&another)).await;
    assert_eq!(code(refused), "idempotency_mismatch");
}

#[tokio::test]
async fn a_schedule_is_skipped_while_it_would_exceed_its_keys_quota() {
    let service = Service::new().await;
    let limits = NewApiKey { urls_a_day: Some(5), max_crawls: Some(2), ..new_key(0) };
    let caller = service.add(limits).await;
    service.api.api_add_schedule(&caller, &schedule("daily"), None).await.unwrap();
    let fire = async || {
        service.forget_counts().await;
        service
            .database
            .run("update everytab.schedules set next_at = now() - interval '1 s'")
            .await;
        let open = service.database.worker.open_crawls().await.unwrap().pop();
        let row = service.api.api_list_schedules(&caller, None).await.unwrap().remove(0);
        (open, row.fired, row.skipped, row.last_error)
    };
    let (open, fired, ..) = fire().await;
    assert_eq!(fired, 1);
    service.database.owner.move_crawl(open.unwrap().id, CrawlVerb::Cancel).await.unwrap();
    // The schedule has three seeds, but today's quota has only two URLs left.
    let (open, fired, skipped, why) = fire().await;
    assert_eq!((open, fired, skipped, why.as_deref()), (None, 1, 1, Some("quota_urls")));
    service.next_day().await;
    let (open, fired, _, why) = fire().await;
    assert_eq!((fired, why), (2, None));
    service.database.owner.move_crawl(open.unwrap().id, CrawlVerb::Cancel).await.unwrap();
    assert!(service.database.owner.revoke_key(&caller.key).await.unwrap());
    service.database.run("update everytab.schedules set next_at = now() - interval '1 s'").await;
    assert_eq!(service.database.worker.open_crawls().await.unwrap(), []);
}
