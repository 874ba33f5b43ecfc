//! Tests a key's limits: pages per day, storage, and open crawls are never exceeded.

use everytab_coordinator::{ApiCaller, ApiError, NewApiKey};
use serde_json::Value;

use super::service::{Service, code, new_key, standing, submission};

async fn refusal_of_one(service: &Service, caller: &ApiCaller, url: u64) -> (String, Value) {
    let one = [submission(caller, url)];
    let refused = service.api.api_submit(&standing(), &one).await.unwrap().remove(0).unwrap_err();
    (refused.code, refused.detail)
}

#[tokio::test]
async fn the_daily_url_quota_is_enforced_and_resets_the_next_day() {
    let service = Service::new().await;
    let caller = service.add(NewApiKey { urls_a_day: Some(10), ..new_key(0) }).await;
    service.extend(&caller, None, &[1, 2, 3]).await.unwrap();
    service.start(&caller, &[1, 2, 3]).await.unwrap();
    assert_eq!(code(service.extend(&caller, None, &[4, 5, 6, 7, 8]).await), "quota_urls");
    let all: Vec<_> = (10..20).map(|url| submission(&caller, url)).collect();
    let answers = service.api.api_submit(&standing(), &all).await.unwrap();
    let taken: Vec<bool> = answers.iter().map(Result::is_ok).collect();
    assert_eq!(taken, [true, true, true, true, false, false, false, false, false, false]);
    let (refused, detail) = refusal_of_one(&service, &caller, 30).await;
    assert_eq!(
        (refused.as_str(), &detail["limit"], &detail["used"]),
        ("quota_urls", &10.into(), &10.into())
    );
    let after = detail["retry_after_s"].as_i64().unwrap();
    assert!((1..=86_400).contains(&after));
    assert_eq!(service.api.api_key(&caller).await.unwrap().urls_today, 10);
    service.next_day().await;
    assert_eq!(service.api.api_key(&caller).await.unwrap().urls_today, 0);
    let ten: Vec<u64> = (0..10).collect();
    service.extend(&caller, None, &ten).await.unwrap();
    assert_eq!(refusal_of_one(&service, &caller, 30).await.0, "quota_urls");
}

#[tokio::test]
async fn pages_of_today_count_even_in_ended_crawls_and_those_of_yesterday_do_not() {
    let service = Service::new().await;
    let caller = service.add(NewApiKey { pages_a_day: Some(5), ..new_key(0) }).await;
    let other = service.caller(1).await;
    let lease = service.lease("a").await;
    let pages = async || {
        service.forget_counts().await;
        service.api.api_key(&caller).await.unwrap().pages_today
    };
    let (_, long) = service.start(&caller, &[1, 2, 3, 4, 5, 6]).await.unwrap();
    let (_, short) = service.start(&caller, &[1, 2]).await.unwrap();
    let (_, foreign) = service.start(&other, &[1]).await.unwrap();
    service.capture(&lease, long, &[1, 2]).await;
    service.capture(&lease, foreign, &[1]).await;
    assert_eq!(pages().await, 2);
    assert_eq!(service.capture(&lease, short, &[1, 2]).await, [short]);
    for _ in 0..3 {
        assert_eq!(pages().await, 4);
    }
    service.extend(&caller, None, &[9]).await.unwrap();
    service.capture(&lease, long, &[3]).await;
    assert_eq!(pages().await, 5);
    let (refused, detail) = refusal_of_one(&service, &caller, 10).await;
    assert_eq!((refused.as_str(), &detail["used"]), ("quota_pages", &5.into()));
    assert_eq!(code(service.extend(&caller, None, &[9]).await), "quota_pages");
    assert_eq!(code(service.start(&caller, &[9]).await), "quota_pages");
    service.api.api_crawls(&caller, None, 10, None).await.unwrap();

    service.next_day().await;
    assert_eq!(pages().await, 0);
    service.extend(&caller, None, &[9]).await.unwrap();
    service.capture(&lease, long, &[4, 5]).await;
    assert_eq!(pages().await, 2);
    assert_eq!(service.capture(&lease, long, &[6]).await, [long]);
    assert_eq!(pages().await, 3);
    // The other key's page counts for yesterday, because it was captured before today's first
    // count.
    assert_eq!(service.api.api_key(&other).await.unwrap().pages_today, 0);
}

#[tokio::test]
async fn the_bytes_of_all_crawls_count_forever() {
    let service = Service::new().await;
    let caller = service.add(NewApiKey { max_bytes: Some(3_000), ..new_key(0) }).await;
    let lease = service.lease("a").await;
    let (_, first) = service.start(&caller, &[1, 2]).await.unwrap();
    assert_eq!(service.capture(&lease, first, &[1, 2]).await, [first]);
    for _ in 0..2 {
        service.forget_counts().await;
        assert_eq!(service.api.api_key(&caller).await.unwrap().bytes_kept, 2_000);
        service.next_day().await;
    }
    let (_, second) = service.start(&caller, &[1]).await.unwrap();
    service.capture(&lease, second, &[1]).await;
    service.forget_counts().await;
    let (refused, detail) = refusal_of_one(&service, &caller, 10).await;
    assert_eq!((refused.as_str(), &detail["limit"]), ("quota_bytes", &3_000.into()));
    assert_eq!(code(service.start(&caller, &[9]).await), "quota_bytes");
}

#[tokio::test]
async fn concurrent_starts_do_not_exceed_the_limit_of_open_crawls() {
    let service = Service::new().await;
    let caller = service.add(NewApiKey { max_crawls: Some(3), ..new_key(0) }).await;
    service.submit(&caller, &[1]).await;
    let mut requests = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let api = service.another().await;
        let caller = caller.clone();
        requests.spawn(async move {
            let crawl = crate::frontier::holder::new_crawl(None);
            let links = super::service::links(&[1]);
            api.api_start_crawl(&caller, &crawl, None, &links, true).await
        });
    }
    let (started, refused): (Vec<_>, Vec<_>) =
        requests.join_all().await.into_iter().partition(Result::is_ok);
    assert_eq!((started.len(), refused.len()), (3, 5));
    for refusal in refused {
        let Err(ApiError::Refused(refusal)) = refusal else { panic!("{refusal:?}") };
        assert_eq!((refusal.code.as_str(), &refusal.detail["used"]), ("quota_crawls", &3.into()));
    }
    let lease = service.lease("a").await;
    let (paused, ends) = (started[0].as_ref().unwrap(), started[1].as_ref().unwrap());
    let pause = everytab_coordinator::CrawlVerb::Pause;
    service.api.api_move_crawl(&caller, paused.crawl_id, pause).await.unwrap();
    assert_eq!(code(service.start(&caller, &[1]).await), "quota_crawls");
    assert_eq!(service.capture(&lease, ends.crawl, &[1]).await, [ends.crawl]);
    service.start(&caller, &[1]).await.unwrap();
    assert_eq!(code(service.start(&caller, &[1]).await), "quota_crawls");
}
