//! Finding what is kept of a URL.

use std::time::Duration;

use chrono::Utc;
use uuid::Uuid;

use super::service::{HOST, Service, code};
use crate::frontier::holder::fetch;

#[tokio::test]
async fn the_nearest_capture_that_is_kept_is_found_in_a_keys_own_crawls() {
    let service = Service::new().await;
    let (caller, other) = (service.caller(0).await, service.caller(1).await);
    let lease = service.lease("a").await;
    let now = Utc::now();
    let mut crawls = Vec::new();
    // By hours ago. The newest crawl has not the newest capture.
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
