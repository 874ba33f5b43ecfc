//! Tests authorization: a caller needs a valid key with its secret, and has access only to its
//! own crawls.

use everytab_coordinator::{
    ApiCaller, ApiError, CrawlVerb, FeedPosition, FetchFilter, IdempotencyKey, NewApiKey,
};
use uuid::Uuid;

use super::service::{HOST, Service, code, id_of, links, new_key, standing, submission};
use crate::{frontier::holder::new_crawl, setup::sqlstate};

async fn try_all(service: &Service, caller: &ApiCaller, id: Uuid, crawl: i32) -> Vec<String> {
    fn word<T>(result: Result<T, ApiError>) -> String {
        match result {
            Ok(_) => "ok".into(),
            Err(ApiError::Refused(refusal)) => refusal.code,
            Err(ApiError::Database(error)) => panic!("{error}"),
        }
    }
    let api = &service.api;
    let mut named = submission(caller, 9);
    named.crawl = Some(id);
    let submitted = api.api_submit(&standing(), &[named]).await.unwrap().remove(0);
    let start = FeedPosition::default();
    vec![
        word(api.api_crawls(caller, Some(id), 1, None).await),
        word(api.api_crawl_hosts(caller, id, 1, None).await),
        word(api.api_add_links(caller, (Some(id), &standing()), None, &links(&[1]), true).await),
        word(api.api_fetch(caller, id_of(crawl, 1)).await),
        word(api.api_feed(caller, id, &start, (1, &FetchFilter::default()), 1).await),
        word(api.api_feed_tail(caller, id, 1).await),
        word(api.api_overview(caller, Some(id)).await),
        word(api.api_find_capture(caller, Some(id), (HOST, 1), None).await),
        submitted.map_or_else(|refusal| refusal.code, |_| "ok".into()),
        word(api.api_move_crawl(caller, id, CrawlVerb::Cancel).await),
    ]
}

#[tokio::test]
async fn crawls_of_another_key_are_not_found() {
    let service = Service::new().await;
    let (owner, other) = (service.caller(0).await, service.caller(1).await);
    let (crawl, number) = service.start(&owner, &[1, 2]).await.unwrap();
    let before = service.status(number).await;
    let refused = try_all(&service, &other, crawl.id, number).await;
    assert!(refused.iter().all(|code| code == "not_found"), "{refused:?}");
    assert_eq!(try_all(&service, &other, Uuid::new_v4(), 99).await, refused);
    let operators = new_crawl(None);
    let operators_number = service.database.owner.start_crawl(&operators).await.unwrap();
    assert_eq!(try_all(&service, &owner, operators.id, operators_number).await, refused);

    assert_eq!(service.status(number).await, before);
    assert!(service.api.api_crawls(&other, None, 10, None).await.unwrap().is_empty());
    let api = &service.api;
    let state = api.api_fetch_states(&[(&other, id_of(number, 1))]).await.unwrap();
    assert_eq!(state, [None]);
    assert_eq!(api.api_crawl_states(&[(&other, crawl.id)]).await.unwrap(), [None]);
    let start = FeedPosition::default();
    assert_eq!(api.api_feed_news(&[(&other, crawl.id, &start)]).await.unwrap(), [false]);
    let allowed = try_all(&service, &owner, crawl.id, number).await;
    assert!(allowed.iter().all(|code| code == "ok"), "{allowed:?}");
}

#[tokio::test]
async fn forged_unknown_and_revoked_keys_get_the_same_error_and_change_nothing() {
    let service = Service::new().await;
    let caller = service.caller(0).await;
    let (crawl, number) = service.start(&caller, &[1]).await.unwrap();
    let before = service.status(number).await;
    let forged = ApiCaller { secret_sha256: [9; 32], ..caller.clone() };
    let unknown = ApiCaller { key: "zzzzzzzzzzzz".into(), ..caller.clone() };
    let mut allowed = service.api.api_admit(&caller).await;
    assert!(allowed.is_ok());
    for (name, bad) in [("forged", &forged), ("unknown", &unknown), ("revoked", &caller)] {
        if name == "revoked" {
            assert!(service.database.owner.revoke_key(&caller.key).await.unwrap());
            assert!(!service.database.owner.revoke_key(&caller.key).await.unwrap());
        }
        let refused = try_all(&service, bad, crawl.id, number).await;
        assert!(refused.iter().all(|code| code == "unauthorized"), "{name}: {refused:?}");
        allowed = service.api.api_admit(bad).await;
        assert_eq!(code(allowed), "unauthorized", "{name}");
        assert_eq!(code(service.api.api_key(bad).await), "unauthorized");
        assert_eq!(code(service.start(bad, &[1]).await), "unauthorized");
        let named = IdempotencyKey { name: "n".into(), request_sha256: [1; 32] };
        let crawl = new_crawl(None);
        let again = service.api.api_start_crawl(bad, &crawl, Some(&named), &[], true);
        assert_eq!(code(again.await), "unauthorized");
        let states = service.api.api_fetch_states(&[(bad, id_of(number, 1))]).await.unwrap();
        assert_eq!(states, [None]);
        assert_eq!(service.api.api_crawl_states(&[(bad, crawl.id)]).await.unwrap(), [None]);
    }
    assert_eq!(service.status(number).await, before);
}

#[tokio::test]
async fn only_the_operator_adds_lists_and_revokes_keys() {
    let service = Service::new().await;
    let owner = &service.database.owner;
    let limited =
        NewApiKey { urls_a_day: Some(5), max_crawls: Some(2), rate: Some(3), ..new_key(0) };
    let limited = NewApiKey { ports: vec![443, 8081], ..limited };
    let caller = service.add(limited).await;
    let id = caller.key.clone();
    service.submit(&caller, &[1, 2]).await;
    let seen = service.api.api_key(&caller).await.unwrap();
    assert_eq!((seen.key.as_str(), seen.name.as_str()), (id.as_str(), "key 0"));
    assert_eq!((seen.urls_a_day, seen.max_crawls, seen.rate), (Some(5), Some(2), Some(3)));
    let ports = service.api.api_key_ports(&caller).await.unwrap();
    assert_eq!(
        (ports.as_deref(), seen.ports.as_slice()),
        (Some(&[443, 8081][..]), &[443, 8081][..])
    );
    assert_eq!((seen.urls_today, seen.pages_today, seen.open_crawls), (2, 0, 0));
    assert_eq!(owner.list_keys().await.unwrap(), [seen]);

    let namesake = NewApiKey { name: "key 0".into(), ..new_key(1) };
    assert_eq!(sqlstate(owner.add_key(&namesake).await), "23505");
    assert!(owner.revoke_key(&id).await.unwrap());
    assert!(!owner.revoke_key("nobody").await.unwrap());
    owner.add_key(&namesake).await.unwrap();
    assert_eq!(
        sqlstate(owner.add_key(&NewApiKey { name: "n".into(), ..new_key(0) }).await),
        "23505"
    );
    let keys = owner.list_keys().await.unwrap();
    assert_eq!(keys.iter().map(|key| key.revoked_at.is_some()).collect::<Vec<_>>(), [true, false]);
    for bad in [
        NewApiKey { key: "UPPERCASE000".into(), ..new_key(2) },
        NewApiKey { requests_per_second: f64::NAN, ..new_key(2) },
        NewApiKey { burst: 0, ..new_key(2) },
        NewApiKey { max_bytes: Some(-1), ..new_key(2) },
        NewApiKey { ports: Vec::new(), ..new_key(2) },
        NewApiKey { ports: vec![0], ..new_key(2) },
        NewApiKey { ports: vec![80, 65_536], ..new_key(2) },
    ] {
        assert_eq!(sqlstate(owner.add_key(&bad).await), "23514", "{bad:?}");
    }
    for role in [&service.api, &service.database.worker] {
        assert_eq!(sqlstate(role.add_key(&new_key(3)).await), "42501");
        assert_eq!(sqlstate(role.list_keys().await), "42501");
        assert_eq!(sqlstate(role.revoke_key(&id).await), "42501");
    }
}
