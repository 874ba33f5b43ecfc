//! Tests finding the captures of a URL.

use std::time::Duration;

use chrono::Utc;
use everytab_coordinator::{ApiCaller, NewApiKey};
use uuid::Uuid;

use super::service::{HOST, Service, code, id_of, new_key};
use crate::frontier::holder::fetch;

#[tokio::test]
async fn a_key_reads_captures_of_its_own_crawls_for_one_request_each() {
    let service = Service::new().await;
    let slow = NewApiKey { requests_per_second: 0.001, burst: 20, ..new_key(0) };
    let (caller, other) = (service.add(slow).await, service.caller(1).await);
    let lease = service.lease("a").await;
    let (_, own) = service.start(&caller, &[1, 2, 3]).await.unwrap();
    let (_, foreign) = service.start(&other, &[1]).await.unwrap();
    service.record(&lease, own, vec![fetch(own, 1, "ok"), fetch(own, 3, "ok")]).await;
    service.record(&lease, foreign, vec![fetch(foreign, 1, "ok")]).await;
    let asked = [id_of(own, 3), id_of(own, 2), id_of(foreign, 1), id_of(own, 1)];
    let admitted = || service.api.api_admit_captures(&caller, &asked);
    assert_eq!(admitted().await.unwrap(), [true, false, false, true]);
    service.database.owner.block("hostname", "example.com", None).await.unwrap();
    assert_eq!(admitted().await.unwrap(), [false; 4]);
    let wrong = ApiCaller { secret_sha256: [9; 32], ..caller.clone() };
    assert_eq!(code(service.api.api_admit_captures(&wrong, &asked).await), "unauthorized");
    assert!(admitted().await.is_ok() && admitted().await.is_ok());
    assert_eq!(code(admitted().await), "throttled");
}

#[tokio::test]
async fn the_nearest_stored_capture_is_found_among_a_keys_own_crawls() {
    let service = Service::new().await;
    let (caller, other) = (service.caller(0).await, service.caller(1).await);
    let lease = service.lease("a").await;
    let now = Utc::now();
    let mut crawls = Vec::new();
    // The crawl that started last does not have the newest capture.
    for (caller, hours, is_kept) in [
        (&caller, 50, true),
        (&caller, 2, true),
        (&caller, 10, true),
        (&other, 1, true),
        (&caller, 0, false),
    ] {
        let (crawl, number) = service.start(caller, &[1, 2]).await.unwrap();
        let mut row = fetch(number, 1, "ok");
        row.at = now - Duration::from_secs(hours * 3_600);
        if !is_kept {
            (row.object, row.outcome) = (None, "http_404_410".into());
        }
        service.record(&lease, number, vec![row]).await;
        crawls.push(crawl.id);
    }
    let find = async |crawl, at| {
        let found = service.api.api_find_capture(&caller, crawl, (HOST, 1), at).await.unwrap();
        found.map(|found| found.crawl_id)
    };
    let at = |hours: u64| Some(now - Duration::from_secs(hours * 3_600));
    assert_eq!(find(None, None).await, Some(crawls[1]));
    assert_eq!(find(None, at(0)).await, Some(crawls[1]));
    assert_eq!(find(None, at(9)).await, Some(crawls[2]));
    assert_eq!(find(None, at(1_000)).await, Some(crawls[0]));
    assert_eq!(find(Some(crawls[0]), at(0)).await, Some(crawls[0]));
    assert_eq!(find(Some(crawls[4]), None).await, None);
    let foreign = service.api.api_find_capture(&caller, Some(crawls[3]), (HOST, 1), None).await;
    assert_eq!(code(foreign), "not_found");
    let unknown = service.api.api_find_capture(&caller, Some(Uuid::new_v4()), (HOST, 1), None);
    assert_eq!(code(unknown.await), "not_found");
    for hashes in [(HOST, 2), (HOST + 1, 1), (u64::MAX, u64::MAX)] {
        let none = service.api.api_find_capture(&caller, None, hashes, None).await.unwrap();
        assert_eq!(none, None);
    }
}
