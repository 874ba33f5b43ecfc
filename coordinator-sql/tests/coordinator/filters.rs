//! Tests filters and imported lists: versions and owners.

use everytab_coordinator::{NewFilterList, OPERATOR};
use serde_json::json;

use crate::setup::Database;

fn list(name: &str, digest: u8) -> NewFilterList {
    NewFilterList {
        name: name.to_owned(),
        kind: "names".to_owned(),
        store: "file:///lists".to_owned(),
        object: format!("lists/{name}/{digest}.list"),
        sha256: vec![digest; 32],
        entries: 3,
        bytes: 24,
        categories: json!({ "adult": 3 }),
        source: "test".to_owned(),
    }
}

#[tokio::test]
async fn a_list_has_a_version_each_time_its_content_changes() {
    let database = Database::new().await;
    let owner = &database.owner;
    for (name, digest, version) in [("a", 1, 1), ("a", 1, 1), ("a", 2, 2), ("b", 1, 1), ("a", 1, 3)]
    {
        assert_eq!(owner.add_filter_list(&list(name, digest)).await.unwrap(), version);
    }
    let newest = owner.filter_lists(None).await.unwrap();
    let shown: Vec<_> =
        newest.iter().map(|list| (list.name.as_str(), list.version, list.sha256[0])).collect();
    assert_eq!(shown, [("a", 3, 1), ("b", 1, 1)]);
    assert_eq!(newest[0].categories, json!({ "adult": 3 }));
    let one = owner.filter_lists(Some(&["b", "none"])).await.unwrap();
    assert_eq!(one.len(), 1);
    for bad in ["", "../a", ".a", "a/b"] {
        assert!(owner.add_filter_list(&list(bad, 1)).await.is_err(), "{bad}");
    }
}

#[tokio::test]
async fn a_filter_belongs_to_its_owner_and_keeps_its_id_when_changed() {
    let database = Database::new().await;
    let owner = &database.owner;
    let first = owner.put_filter(OPERATOR, "a", &json!({})).await.unwrap();
    let body = json!({ "languages": { "keep": ["de"] } });
    let second = owner.put_filter(OPERATOR, "a", &body).await.unwrap();
    assert_eq!((first.version, second.version, first.id), (1, 2, second.id));
    let other = owner.put_filter("key:abc", "a", &json!({})).await.unwrap();
    assert_ne!(other.id, first.id);
    let listed = owner.list_filters(OPERATOR, None).await.unwrap();
    assert_eq!(listed, [second]);
    assert_eq!(owner.list_filters(OPERATOR, Some(&["b"])).await.unwrap(), []);
    assert!(owner.remove_filter(OPERATOR, "a").await.unwrap());
    assert!(!owner.remove_filter(OPERATOR, "a").await.unwrap());
    assert_eq!(owner.list_filters("key:abc", None).await.unwrap(), [other]);
}
