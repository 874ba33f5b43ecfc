//! Tests URL states: due, then the result of the fetch, or the reason why the crawl ended first.

use everytab_coordinator::CrawlVerb;

use super::service::{Service, code, id_of};
use crate::frontier::holder::fetch;

#[tokio::test]
async fn a_url_is_due_until_its_fetch_is_recorded() {
    let service = Service::new().await;
    let caller = service.caller(0).await;
    let lease = service.lease("a").await;
    let (crawl, number) = service.start(&caller, &[1, 2, 3, 4, 5]).await.unwrap();
    let state = async |url| service.api.api_fetch(&caller, id_of(number, url)).await.unwrap();
    let due = state(1).await;
    assert_eq!((due.state.as_str(), &due.reason, &due.outcome), ("due", &None, &None));
    assert_eq!((due.crawl_id, due.id()), (crawl.id, id_of(number, 1)));
    assert_eq!((due.url, due.at), (None, None));
    let ends = [(1, "ok"), (2, "http_404_410"), (3, "robots_disallowed"), (4, "host_dead")];
    let rows = ends.map(|(url, outcome)| fetch(number, url, outcome)).to_vec();
    service.record(&lease, number, rows).await;
    let known = state(1).await;
    assert_eq!((known.state.as_str(), known.outcome.as_deref()), ("captured", Some("ok")));
    assert_eq!((known.status, known.depth, known.bytes), (Some(200), Some(1), Some(1_000)));
    assert_eq!((known.object.as_deref(), known.record_length), (Some("object"), Some(500)));
    assert_eq!((known.crawl_name, known.store), (crawl.name, crawl.store));
    assert_eq!((known.sha256, known.mime.as_deref()), (Some(vec![7; 32]), Some("text/html")));
    for (url, expected) in [(2, "failed"), (3, "refused"), (4, "left"), (5, "due")] {
        assert_eq!(state(url).await.state, expected);
    }
    service.api.api_move_crawl(&caller, crawl.id, CrawlVerb::Cancel).await.unwrap();
    let left = state(5).await;
    assert_eq!((left.state.as_str(), left.reason.as_deref()), ("left", Some("cancel")));
    assert_eq!(left.outcome, None);
    let known = state(4).await;
    assert_eq!((known.reason, known.outcome.as_deref()), (None, Some("host_dead")));
    assert_eq!(code(service.api.api_fetch(&caller, id_of(number + 1, 1)).await), "not_found");
}

#[tokio::test]
async fn one_call_returns_states_for_several_keys_and_costs_nothing() {
    let service = Service::new().await;
    let (one, other) = (service.caller(0).await, service.caller(1).await);
    let lease = service.lease("a").await;
    let (first, first_number) = service.start(&one, &[1, 2]).await.unwrap();
    let (second, second_number) = service.start(&other, &[1]).await.unwrap();
    service.capture(&lease, first_number, &[1]).await;
    service.database.run("update everytab.api_keys set requests_per_second = 0.001").await;
    let level = "select sum(level) from everytab.api_usage where $1 = 0";
    let before = service.database.value::<f64>(level, 0).await;
    let asked = [
        (&other, id_of(second_number, 1)),
        (&one, id_of(first_number, 1)),
        (&other, id_of(first_number, 1)),
        (&one, id_of(first_number, 2)),
        (&one, id_of(first_number, 1)),
    ];
    let states = service.api.api_fetch_states(&asked).await.unwrap();
    let words = states.iter().map(|state| state.as_ref().map(|state| state.state.as_str()));
    let expected = [Some("due"), Some("captured"), None, Some("due"), Some("captured")];
    assert_eq!(words.collect::<Vec<_>>(), expected);
    assert_eq!(service.capture(&lease, second_number, &[1]).await, [second_number]);
    let asked = [(&one, second.id), (&other, second.id), (&one, first.id)];
    let states = service.api.api_crawl_states(&asked).await.unwrap();
    let words = states.iter().map(|state| state.as_ref().map(|state| state.state.as_str()));
    assert_eq!(words.collect::<Vec<_>>(), [None, Some("ended"), Some("running")]);
    assert_eq!(service.database.value::<f64>(level, 0).await, before);
}

#[tokio::test]
async fn crawls_are_listed_newest_first_in_pages_and_only_the_keys_own() {
    let service = Service::new().await;
    let (one, other) = (service.caller(0).await, service.caller(1).await);
    let mut own = Vec::new();
    for number in 0..7 {
        let caller = if number % 3 == 2 { &other } else { &one };
        let (crawl, _) = service.start(caller, &[1]).await.unwrap();
        if number % 3 != 2 {
            own.insert(0, crawl.id);
        }
    }
    let mut found = Vec::new();
    let mut before = None;
    loop {
        let part = service.api.api_crawls(&one, None, 2, before).await.unwrap();
        let Some(last) = part.last() else { break };
        before = Some(last.crawl);
        found.extend(part.iter().map(|status| status.id));
    }
    assert_eq!(found, own);
    let alone = service.api.api_crawls(&one, Some(own[1]), 9, None).await.unwrap();
    assert_eq!(alone, [service.status(alone[0].crawl).await]);
    assert_eq!(alone[0].seeds, 1);
    assert!(service.api.api_crawl_hosts(&one, own[1], 9, None).await.unwrap().is_empty());
}
