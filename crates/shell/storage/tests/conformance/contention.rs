//! Properties of a store that many concurrent callers can observe.

use std::sync::Arc;

use bytes::Bytes;
use everytab_storage::{
    Condition, ObjectChange, PutIf, PutOptions, StorageError, Store, StoreSettings, Tagged, open,
};
use tokio::task::JoinSet;

use super::{Place, cases::pattern};

async fn clients(place: &Place, count: usize) -> Vec<Arc<dyn Store>> {
    let settings = place
        .server
        .as_ref()
        .map_or_else(StoreSettings::default, |server| super::s3_settings(&server.endpoint));
    let mut stores = Vec::new();
    for _ in 0..count {
        stores.push(open(place.store.url(), &settings).await.expect("open"));
    }
    stores
}

pub(crate) async fn of_many_writers_of_an_absent_object_one_wins(place: Place) {
    let stores = clients(&place, 24).await;
    for round in 0..8 {
        let key = format!("race/{round}");
        let mut writers = JoinSet::new();
        for (number, store) in stores.iter().enumerate() {
            let store = Arc::clone(store);
            let key = key.clone();
            writers.spawn(async move {
                let bytes = Bytes::from(format!("writer {number}"));
                let put = store.put_if(&key, bytes, Condition::Absent, PutOptions::default());
                (number, put.await.expect("an answer"))
            });
        }
        let ends = writers.join_all().await;
        let winners: Vec<_> =
            ends.iter().filter(|(_, end)| matches!(end, PutIf::Stored { .. })).collect();
        assert_eq!(winners.len(), 1, "round {round}: {ends:?}");
        let stored = place.store.get(&key).await.expect("the winner wrote");
        assert_eq!(stored, format!("writer {}", winners[0].0).as_bytes());
    }
}

pub(crate) async fn no_increment_is_lost_when_many_replace_by_etag(place: Place) {
    const WRITERS: usize = 8;
    const INCREMENTS: usize = 12;
    place.store.put("count", Bytes::from_static(b"0"), PutOptions::default()).await.expect("put");
    let mut writers = JoinSet::new();
    for store in clients(&place, WRITERS).await {
        writers.spawn(async move {
            let mut done = 0;
            while done < INCREMENTS {
                let read = store.get_tagged("count").await.expect("get").expect("it is there");
                let count: usize =
                    std::str::from_utf8(&read.bytes).expect("digits").parse().expect("a number");
                let next = Bytes::from((count + 1).to_string());
                let condition = Condition::Etag(read.etag);
                let put = store.put_if("count", next, condition, PutOptions::default()).await;
                done += usize::from(matches!(put.expect("an answer"), PutIf::Stored { .. }));
            }
        });
    }
    writers.join_all().await;
    let total = place.store.get("count").await.expect("get");
    assert_eq!(total, (WRITERS * INCREMENTS).to_string().as_bytes());
}

pub(crate) async fn no_increment_is_lost_by_updates(place: Place) {
    const WRITERS: usize = 4;
    const INCREMENTS: usize = 6;
    let mut writers = JoinSet::new();
    for store in clients(&place, WRITERS).await {
        writers.spawn(async move {
            for _ in 0..INCREMENTS {
                let increment = async |before: Option<Tagged>| {
                    let bytes = before.map(|tagged| tagged.bytes).unwrap_or_default();
                    let digits = std::str::from_utf8(&bytes).expect("digits");
                    let count: usize = digits.parse().unwrap_or_default();
                    let next = Bytes::from((count + 1).to_string());
                    Ok::<_, StorageError>(ObjectChange::Write(next, ()))
                };
                store.update("count", PutOptions::default(), increment).await.expect("a turn");
            }
        });
    }
    writers.join_all().await;
    let total = place.store.get("count").await.expect("get");
    assert_eq!(total, (WRITERS * INCREMENTS).to_string().as_bytes());
}

pub(crate) async fn readers_see_whole_versions_only(place: Place) {
    let (small, large) = (pattern(300_000), pattern(900_000));
    place.store.put("k", small.clone(), PutOptions::default()).await.expect("put");
    let writer = {
        let store = Arc::clone(&place.store);
        let versions = [large.clone(), small.clone()];
        tokio::spawn(async move {
            for turn in 0..40 {
                let bytes = versions[turn % 2].clone();
                store.put("k", bytes, PutOptions::default()).await.expect("put");
            }
        })
    };
    let mut reads = 0;
    while !writer.is_finished() || reads < 5 {
        let seen = place.store.get("k").await.expect("it is there at every moment");
        assert!(seen == small || seen == large, "a mixture of {} bytes", seen.len());
        let listed = place.store.list_all("").await.expect("list");
        assert_eq!(listed.len(), 1, "{listed:?}");
        assert!([300_000, 900_000].contains(&listed[0].size), "{listed:?}");
        reads += 1;
    }
    writer.await.expect("the writer ended well");
}

pub(crate) async fn writers_and_deleters_in_one_directory_do_not_interfere(place: Place) {
    let mut tasks = JoinSet::new();
    for number in 0..8 {
        let store = Arc::clone(&place.store);
        tasks.spawn(async move {
            let key = format!("deep/er/folder/{number}");
            for _ in 0..25 {
                store.put(&key, pattern(10), PutOptions::default()).await.expect("put");
                assert_eq!(store.get(&key).await.expect("get"), pattern(10));
                store.delete(std::slice::from_ref(&key)).await.expect("delete");
            }
        });
    }
    tasks.join_all().await;
    assert!(place.store.list_all("").await.expect("list").is_empty());
}
