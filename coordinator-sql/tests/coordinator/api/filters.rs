//! Tests filters that belong to API keys.

use everytab_coordinator::{IdempotencyKey, StoredFilter};
use serde_json::{Value, json};
use uuid::Uuid;

use super::service::{Service, code};

#[tokio::test]
async fn a_key_keeps_its_own_filters_and_sees_no_others() {
    let service = Service::new().await;
    let (one, other) = (service.caller(0).await, service.caller(1).await);
    let api = &service.api;
    let body = json!({ "languages": { "keep": ["de"] } });
    let (first, _) = api.api_add_filter(&one, "mine", &body, None).await.unwrap();
    assert_eq!((first.version, first.owner), (1, format!("key:{}", one.key)));
    assert_eq!(code(api.api_add_filter(&one, "mine", &body, None).await), "name_taken");
    api.api_add_filter(&other, "mine", &body, None).await.unwrap();
    let changed = api.api_change_filter(&one, first.id, &json!({})).await.unwrap();
    assert_eq!((changed.version, changed.id), (2, first.id));
    let listed = api.api_filters(&one, None, None).await.unwrap();
    assert_eq!(listed, [StoredFilter { body: Value::Null, ..changed.clone() }]);
    let named = api.api_filters(&one, None, Some(&["mine", "none"])).await.unwrap();
    assert_eq!(named, [changed]);
    for id in [first.id, Uuid::nil()] {
        assert_eq!(code(api.api_filters(&other, Some(id), None).await), "not_found");
        assert_eq!(code(api.api_change_filter(&other, id, &body).await), "not_found");
        assert_eq!(code(api.api_remove_filter(&other, id).await), "not_found");
    }
    api.api_remove_filter(&one, first.id).await.unwrap();
    assert_eq!(code(api.api_filters(&one, Some(first.id), None).await), "not_found");
    assert_eq!(api.api_filters(&other, None, None).await.unwrap().len(), 1);
    assert_eq!(api.api_filter_lists(&one, None).await.unwrap(), []);
}

#[tokio::test]
async fn a_key_cannot_name_a_classifier_on_the_workers_hosts() {
    let service = Service::new().await;
    let caller = service.caller(0).await;
    let api = &service.api;
    let body = json!({ "classifier": { "socket": "/run/docker.sock" } });
    assert_eq!(code(api.api_add_filter(&caller, "a", &body, None).await), "not_allowed");
    let (kept, _) = api.api_add_filter(&caller, "a", &json!({}), None).await.unwrap();
    assert_eq!(code(api.api_change_filter(&caller, kept.id, &body).await), "not_allowed");
    assert_eq!(code(api.api_add_filter(&caller, "b", &json!([]), None).await), "not_allowed");
}

#[tokio::test]
async fn a_repeated_request_adds_a_filter_once_and_gets_the_same_result() {
    let service = Service::new().await;
    let (caller, other) = (service.caller(0).await, service.caller(1).await);
    let api = &service.api;
    let request = IdempotencyKey { name: "one".to_owned(), request_sha256: [1; 32] };
    let body = json!({ "languages": { "keep": ["de"] } });
    let add = async |caller, name, request| api.api_add_filter(caller, name, &body, request).await;
    let (first, is_repeated) = add(&caller, "mine", Some(&request)).await.unwrap();
    assert!(!is_repeated);
    api.api_change_filter(&caller, first.id, &json!({})).await.unwrap();
    assert_eq!(add(&caller, "mine", Some(&request)).await.unwrap(), (first.clone(), true));
    api.api_remove_filter(&caller, first.id).await.unwrap();
    assert_eq!(add(&caller, "mine", Some(&request)).await.unwrap(), (first.clone(), true));
    assert_eq!(api.api_filters(&caller, None, None).await.unwrap(), []);
    let another = IdempotencyKey { request_sha256: [2; 32], ..request.clone() };
    assert_eq!(code(add(&caller, "b", Some(&another)).await), "idempotency_mismatch");
    assert!(!add(&other, "mine", Some(&another)).await.unwrap().1);
}
