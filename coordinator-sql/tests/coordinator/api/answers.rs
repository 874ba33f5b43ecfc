//! Tests idempotency keys: a request with the same key is performed once.

use everytab_coordinator::{ApiCaller, ApiError, ApiStarted, IdempotencyKey, NewApiKey};

use super::service::{Service, code, links, new_key};
use crate::frontier::holder::new_crawl;

fn named(name: &str, request: u8) -> IdempotencyKey {
    IdempotencyKey { name: name.into(), request_sha256: [request; 32] }
}

async fn start(
    service: &Service,
    caller: &ApiCaller,
    request: &IdempotencyKey,
) -> Result<ApiStarted, ApiError> {
    let crawl = new_crawl(None);
    service.api.api_start_crawl(caller, &crawl, Some(request), &links(&[1, 2]), true).await
}

async fn crawls(service: &Service) -> usize {
    service.database.owner.crawl_status(None).await.unwrap().len()
}

#[tokio::test]
async fn a_repeated_request_gets_the_same_result_and_starts_nothing() {
    let service = Service::new().await;
    let (caller, other) = (service.caller(0).await, service.caller(1).await);
    let first = start(&service, &caller, &named("a", 1)).await.unwrap();
    assert!(!first.is_repeated);
    let again = start(&service, &caller, &named("a", 1)).await.unwrap();
    assert_eq!(again, ApiStarted { is_repeated: true, ..first.clone() });
    assert_eq!(service.status(first.crawl).await.seeds, 2);
    assert_eq!(service.api.api_key(&caller).await.unwrap().urls_today, 2);
    let mismatch = start(&service, &caller, &named("a", 2)).await;
    assert_eq!(code(mismatch), "idempotency_mismatch");
    assert_eq!(crawls(&service).await, 1);
    for (caller, name) in [(&other, "a"), (&caller, "b")] {
        assert!(!start(&service, caller, &named(name, 2)).await.unwrap().is_repeated);
    }
    assert_eq!(crawls(&service).await, 3);
}

#[tokio::test]
async fn concurrent_requests_with_one_idempotency_key_start_one_crawl() {
    let service = Service::new().await;
    let caller = service.caller(0).await;
    let mut requests = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let api = service.another().await;
        let caller = caller.clone();
        requests.spawn(async move {
            let crawl = new_crawl(None);
            let request = named("a", 1);
            api.api_start_crawl(&caller, &crawl, Some(&request), &links(&[1]), true).await.unwrap()
        });
    }
    let answers = requests.join_all().await;
    assert_eq!(answers.iter().filter(|answer| !answer.is_repeated).count(), 1);
    assert!(answers.iter().all(|answer| answer.crawl_id == answers[0].crawl_id));
    assert_eq!(crawls(&service).await, 1);
}

#[tokio::test]
async fn a_result_is_kept_for_a_day_but_a_rejection_is_not() {
    let service = Service::new().await;
    let limited = NewApiKey { max_crawls: Some(1), ..new_key(0) };
    let caller = service.add(limited).await;
    let first = start(&service, &caller, &named("a", 1)).await.unwrap();
    assert_eq!(code(start(&service, &caller, &named("b", 1)).await), "quota_crawls");
    service.database.run("update everytab.api_keys set max_crawls = 9").await;
    assert!(!start(&service, &caller, &named("b", 1)).await.unwrap().is_repeated);
    service.database.run("update everytab.api_answers set at = at - interval '23 h 59 min'").await;
    assert!(start(&service, &caller, &named("a", 1)).await.unwrap().is_repeated);
    service.database.run("update everytab.api_answers set at = at - interval '2 min'").await;
    let later = start(&service, &caller, &named("a", 2)).await.unwrap();
    assert!(!later.is_repeated && later.crawl_id != first.crawl_id);
    let kept = "select count(*) from everytab.api_answers where $1 = 0";
    assert_eq!(service.database.value::<i64>(kept, 0).await, 1);
}
