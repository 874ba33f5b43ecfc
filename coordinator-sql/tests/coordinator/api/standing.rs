//! Tests a key's standing crawl, which a new crawl replaces each day, and also if a URL must be
//! fetched again.

use everytab_coordinator::{ApiAccepted, ApiCaller};
use serde_json::json;

use super::service::{Service, standing, submission};

impl Service {
    async fn submit_again(&self, caller: &ApiCaller, url: u64, max_age_s: i32) -> ApiAccepted {
        let mut again = submission(caller, url);
        again.max_age_s = Some(max_age_s);
        self.api.api_submit(&standing(), &[again]).await.unwrap().remove(0).unwrap()
    }

    async fn tend(&self) {
        for _ in 0..20 {
            self.database.worker.open_crawls().await.unwrap();
        }
    }
}

#[tokio::test]
async fn urls_of_a_day_share_a_crawl_and_keys_do_not() {
    let service = Service::new().await;
    let (one, other) = (service.caller(0).await, service.caller(1).await);
    let first = service.submit(&one, &[1]).await[0];
    assert_eq!(service.submit(&one, &[1, 2, 3]).await, [first; 3]);
    assert_ne!(service.submit(&other, &[1]).await, [first]);
    let listed = service.extend(&one, None, &[4, 5]).await.unwrap();
    assert_eq!(listed.crawl, first);
    let status = service.status(first).await;
    assert_eq!((status.id, &status.name), (listed.crawl_id, &listed.crawl_name));
    assert_eq!((status.seeds, status.seeding, status.state.as_str()), (6, true, "running"));
    assert_eq!((status.owner, status.store), (format!("key:{}", one.key), standing().store));
    let mut settings = standing().settings;
    settings["ports"] = json!([80, 443, 8080, 8443]);
    assert_eq!(status.settings, settings);
    assert!(status.name.starts_with("LIVE-2") && status.name.len() == 28, "{}", status.name);
    let shown = &status.id.simple().to_string()[..8];
    assert!(status.name.ends_with(shown), "{} {}", status.name, status.id);
    let lease = service.lease("a").await;
    assert!(service.capture(&lease, first, &[1, 2, 3, 4, 5, 6]).await.is_empty());
    service.tend().await;
    assert_eq!(service.submit(&one, &[7]).await, [first]);
}

#[tokio::test]
async fn each_day_has_a_new_crawl_and_the_old_one_ends_with_its_last_url() {
    let service = Service::new().await;
    let caller = service.caller(0).await;
    let lease = service.lease("a").await;
    let old = service.submit(&caller, &[1, 2]).await[0];
    service.capture(&lease, old, &[1]).await;
    service.next_day().await;
    let new = service.submit(&caller, &[1]).await[0];
    assert_ne!(new, old);
    assert_eq!(service.extend(&caller, None, &[5]).await.unwrap().crawl, new);
    service.tend().await;
    let status = service.status(old).await;
    assert_eq!((status.state.as_str(), status.seeding), ("running", false));
    assert_eq!(service.capture(&lease, old, &[2]).await, [old]);
    let status = service.status(old).await;
    assert_eq!((status.ended_by.as_deref(), status.known, status.captured), (Some("empty"), 2, 2));
    service.tend().await;
    assert_eq!(service.status(new).await.state, "running");
    for _ in 0..3 {
        service.next_day().await;
    }
    assert_ne!(service.submit(&caller, &[1]).await, [new]);
    assert_eq!(service.database.owner.crawl_status(None).await.unwrap().len(), 4);
    service.capture(&lease, new, &[1, 5]).await;
    service.tend().await;
    assert_eq!(service.status(new).await.state, "ended");
}

#[tokio::test]
async fn a_fetched_url_is_fetched_again_in_a_new_crawl() {
    let service = Service::new().await;
    let caller = service.caller(0).await;
    let lease = service.lease("a").await;
    let old = service.submit(&caller, &[1, 2]).await[0];
    assert_eq!(service.submit_again(&caller, 1, 0).await.crawl, old);
    service.capture(&lease, old, &[1]).await;
    let urls = async || service.api.api_key(&caller).await.unwrap().urls_today;
    let before = urls().await;
    let answer = service.submit_again(&caller, 1, 3_600).await;
    let capture = answer.capture.unwrap();
    assert_eq!((answer.crawl, capture.state.as_str()), (old, "captured"));
    assert_eq!(capture.url.as_deref(), Some("https://example.com/1"));
    assert_eq!(urls().await, before);
    service.database.run("update everytab.fetches set at = at - interval '2 hours'").await;
    let asked = submission(&caller, 1);
    let settled = service.api.api_submit(&standing(), &[asked]).await.unwrap().remove(0).unwrap();
    assert_eq!((settled.crawl, settled.capture.is_some(), urls().await), (old, true, before));
    let again = service.submit_again(&caller, 1, 3_600).await;
    assert_eq!((again.capture, again.crawl == old), (None, false));
    assert_eq!(service.submit(&caller, &[2, 3]).await, [again.crawl; 2]);
    service.tend().await;
    let status = service.status(old).await;
    assert_eq!((status.state.as_str(), status.seeding, status.seeds), ("running", false, 3));
    let mut rest = crate::frontier::holder::counts(old);
    (rest.known, rest.captured, rest.read) = (1, 1, 2);
    let mut last = crate::frontier::holder::checkpoint(&lease, 2);
    last.counts.push(rest);
    assert_eq!(service.database.record_checkpoint(&last).await, [old]);
    service.capture(&lease, again.crawl, &[1]).await;
    assert_eq!(service.submit_again(&caller, 1, 60).await.capture.unwrap().crawl, again.crawl);
    let other = service.caller(1).await;
    assert_eq!(service.submit_again(&other, 1, 3_600).await.capture, None);
}

#[tokio::test]
async fn a_standing_crawl_that_was_cancelled_is_replaced() {
    let service = Service::new().await;
    let caller = service.caller(0).await;
    let first = service.extend(&caller, None, &[1]).await.unwrap();
    let cancel = everytab_coordinator::CrawlVerb::Cancel;
    let moved = service.api.api_move_crawl(&caller, first.crawl_id, cancel).await.unwrap();
    assert_eq!((moved.state.as_str(), moved.ended_by.as_deref()), ("ended", Some("cancel")));
    let second = service.submit(&caller, &[1]).await[0];
    assert_ne!(second, first.crawl);
    service.tend().await;
    assert_eq!(service.status(first.crawl).await.ended_by.as_deref(), Some("cancel"));
}

#[tokio::test]
async fn a_named_crawl_returns_its_existing_capture_at_any_maximum_age() {
    let service = Service::new().await;
    let caller = service.caller(0).await;
    let lease = service.lease("a").await;
    let named = service.extend(&caller, None, &[1, 2]).await.unwrap();
    service.capture(&lease, named.crawl, &[1]).await;
    let ask = async |url| {
        let mut again = submission(&caller, url);
        (again.crawl, again.max_age_s) = (Some(named.crawl_id), Some(0));
        service.api.api_submit(&standing(), &[again]).await.unwrap().remove(0).unwrap()
    };
    let (settled, due) = (ask(1).await, ask(2).await);
    assert_eq!([settled.crawl, due.crawl], [named.crawl; 2]);
    assert!(settled.capture.is_some(), "the existing capture must be returned");
    assert!(due.capture.is_none());
}

#[tokio::test]
async fn the_number_of_replaced_crawls_that_are_still_open_is_limited() {
    let service = Service::new().await;
    let caller = service.caller(0).await;
    let lease = service.lease("a").await;
    let mut standing_crawl = service.submit(&caller, &[1, 2]).await[0];
    for _ in 0..15 {
        service.capture(&lease, standing_crawl, &[1]).await;
        standing_crawl = service.submit_again(&caller, 1, 0).await.crawl;
        assert_eq!(service.submit(&caller, &[2]).await, [standing_crawl]);
    }
    service.tend().await;
    service.capture(&lease, standing_crawl, &[1]).await;
    let mut again = submission(&caller, 1);
    again.max_age_s = Some(0);
    let refused = service.api.api_submit(&standing(), &[again.clone()]).await.unwrap().remove(0);
    assert_eq!(refused.unwrap_err().code, "throttled");
    service.next_day().await;
    assert_eq!(service.submit(&caller, &[3]).await, [standing_crawl]);
    service.extend(&caller, None, &[4]).await.unwrap();
    let own = service.api.api_crawls(&caller, None, 100, None).await.unwrap();
    let first = own.last().unwrap().crawl;
    assert_eq!(service.capture(&lease, first, &[2]).await, [first]);
    assert_ne!(service.submit(&caller, &[5]).await, [standing_crawl]);
}
