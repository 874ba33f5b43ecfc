//! Tests the leaky bucket: concurrent requests never exceed the burst and the rate of a key.

use std::time::Instant;

use everytab_coordinator::{ApiError, NewApiKey};

use super::service::{Service, code, new_key, standing, submission};
use crate::session::{Session, query};

fn slow(burst: i32) -> NewApiKey {
    NewApiKey { requests_per_second: 0.01, burst, ..new_key(0) }
}

#[tokio::test]
async fn concurrent_requests_do_not_exceed_burst_and_rate() {
    let service = Service::new().await;
    let limited = NewApiKey { requests_per_second: 20.0, burst: 15, ..new_key(0) };
    let caller = service.add(limited).await;
    let began = Instant::now();
    let mut admitted = 0.0;
    let mut requests = tokio::task::JoinSet::new();
    for number in 0..8 {
        let other = service.another().await;
        let caller = caller.clone();
        requests.spawn(async move {
            let mut admitted = 0_u32;
            for round in 0..20 {
                if number % 2 == 0 {
                    admitted += u32::from(other.api_admit(&caller).await.is_ok());
                } else {
                    let group: Vec<_> = (0..3)
                        .map(|n| submission(&caller, 5 + 256 * (number * 100 + round + n)))
                        .collect();
                    let answers = other.api_submit(&standing(), &group).await.unwrap();
                    admitted +=
                        u32::try_from(answers.iter().filter(|a| a.is_ok()).count()).unwrap();
                }
            }
            admitted
        });
    }
    while let Some(some) = requests.join_next().await {
        admitted += f64::from(some.unwrap());
    }
    let allowed = 15.0 + 20.0 * began.elapsed().as_secs_f64();
    assert!((15.0..=allowed).contains(&admitted), "{admitted} of {allowed}");
}

#[tokio::test]
async fn a_full_bucket_returns_when_to_retry_and_leaks_until_then() {
    let service = Service::new().await;
    let caller = service.add(slow(2)).await;
    for _ in 0..2 {
        service.api.api_admit(&caller).await.unwrap();
    }
    let Err(ApiError::Refused(refused)) = service.api.api_admit(&caller).await else {
        panic!("a bucket for two accepted three requests")
    };
    assert_eq!(refused.code, "throttled");
    let after = refused.detail["retry_after_s"].as_i64().unwrap();
    assert!((90..=100).contains(&after), "{after}");
    service.leak(&caller, after).await;
    service.api.api_admit(&caller).await.unwrap();
    assert_eq!(code(service.api.api_admit(&caller).await), "throttled");
    service.leak(&caller, 1_000_000).await;
    for _ in 0..2 {
        service.api.api_admit(&caller).await.unwrap();
    }
    assert_eq!(code(service.api.api_admit(&caller).await), "throttled");
    service.leak(&caller, -1_000).await;
    assert_eq!(code(service.api.api_admit(&caller).await), "throttled");
}

#[tokio::test]
async fn a_list_costs_by_its_length_and_a_rejected_request_costs_nothing() {
    let service = Service::new().await;
    let caller = service.add(NewApiKey { urls_a_day: Some(500), ..slow(10) }).await;
    let level = "select level from everytab.api_usage where $1 = 0";
    let urls: Vec<u64> = (0..400).collect();
    service.extend(&caller, None, &urls).await.unwrap();
    let full = service.database.value::<f64>(level, 0).await;
    assert!((4.9..=5.0).contains(&full), "{full}");
    assert_eq!(code(service.extend(&caller, None, &urls).await), "quota_urls");
    assert_eq!(code(service.start(&caller, &urls).await), "quota_urls");
    assert_eq!(service.database.value::<f64>(level, 0).await, full);
    let everything = "update everytab.api_keys set urls_a_day = null";
    service.database.run(everything).await;
    let urls: Vec<u64> = (0..5_000).collect();
    assert_eq!(code(service.extend(&caller, None, &urls).await), "throttled");
    service.leak(&caller, 1_000).await;
    service.extend(&caller, None, &urls).await.unwrap();
    assert_eq!(code(service.api.api_admit(&caller).await), "throttled");
}

#[tokio::test]
async fn sixty_urls_per_minute_are_urgent_and_the_others_are_accepted_too() {
    let service = Service::new().await;
    let caller = service.caller(0).await;
    let submit = async |urls: std::ops::Range<u64>| {
        let all: Vec<_> = urls.map(|url| submission(&caller, url)).collect();
        let answers = service.api.api_submit(&standing(), &all).await.unwrap();
        answers.into_iter().filter(|answer| answer.as_ref().unwrap().is_urgent).count()
    };
    let urgent = submit(0..50).await + submit(50..150).await;
    assert!((60..65).contains(&urgent), "{urgent}");
    service.leak(&caller, 20).await;
    let urgent = submit(150..250).await;
    assert!((20..25).contains(&urgent), "{urgent}");
    let sql = "select count(*), count(*) filter (where is_urgent) from everytab.links";
    let (all, urgent): (i64, i64) = query(sql).row(&service.database.pool).await;
    assert_eq!(all, 250);
    assert!((80..90).contains(&urgent), "{urgent}");
    let mut rows = super::service::links(&[1, 2]);
    for row in &mut rows {
        row.is_urgent = true;
    }
    service.api.api_add_links(&caller, (None, &standing()), None, &rows, false).await.unwrap();
    let sql = "select count(*) filter (where is_urgent) from everytab.links where $1 = 0";
    assert_eq!(service.database.value::<i64>(sql, 0).await, urgent);
}

/// The functions are listed by name, because they may write only the bucket's level.
#[tokio::test]
async fn only_requests_that_write_wait_for_the_wal_flush() {
    let service = Service::new().await;
    let sql = "select p.proname::text from pg_proc p
                 join pg_namespace n on n.oid = p.pronamespace
                where n.nspname = 'api' and p.prosrc like '%api.check_reader(%' order by 1";
    let readers: Vec<String> = query(sql).column(&service.database.pool).await;
    assert_eq!(
        readers,
        [
            "admit",
            "admit_captures",
            "admit_named",
            "crawl_hosts",
            "crawls",
            "failed_urls",
            "feed",
            "feed_tail",
            "fetch_state",
            "filter_lists",
            "filters",
            "find_capture",
            "list_robots",
            "list_schedules",
            "list_webhooks",
            "overview",
            "own_key",
            "search",
        ]
    );
    let caller = service.add(new_key(0)).await;
    let url = service.database.worker_url.replace("everytab_worker", "everytab_api");
    let session = Session::connect(&url).await;
    for (call, commit) in
        [("api.admit($1, $2, 0)", "off"), ("api.set_rate($1, $2, null, 'rate', null)", "on")]
    {
        // The test server turns `synchronous_commit` off, so turn it on first.
        session.0.batch_execute("set synchronous_commit = on; begin").await.unwrap();
        let secret = caller.secret_sha256.as_slice();
        session.0.query(&format!("select {call}"), &[&caller.key, &secret]).await.unwrap();
        let row = session.0.query_one("show synchronous_commit", &[]).await.unwrap();
        assert_eq!(row.get::<_, &str>(0), commit, "{call}");
        session.0.batch_execute("commit").await.unwrap();
    }
}
