//! Tests a database that was restored from a backup: keys remain valid, their usage is preserved,
//! and feeds continue.

use std::{path::PathBuf, process::Command};

use everytab_coordinator::{Contents, FeedPosition, FetchFilter, NewApiKey};
use everytab_postgres::{ADMIN_USER, shared_for_tests};

use super::{
    feed::urls,
    service::{Service, code, id_of, new_key},
};
use crate::setup::Database;

fn run(program: &str, arguments: &[&str]) {
    let bin =
        shared_for_tests().psql("postgres", "select setting from pg_config where name = 'BINDIR'");
    let ran = Command::new(PathBuf::from(bin.unwrap()).join(program)).args(arguments).output();
    let ran = ran.unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

async fn restored(service: &Service) -> Service {
    let server = shared_for_tests();
    let folder = tempfile::TempDir::new().unwrap();
    let dump = folder.path().join("dump");
    let dump = dump.to_str().unwrap();
    let from = server.url(&service.database.name, ADMIN_USER);
    run(
        "pg_dump",
        &["--format=custom", "--schema=everytab", "--no-owner", "--no-acl", "--file", dump, &from],
    );
    let name = server.fresh_database(None);
    let url = |user| server.url(&name, user);
    run("pg_restore", &["--no-owner", "--exit-on-error", "--dbname", &url(ADMIN_USER), dump]);
    let database = Database::at(url(ADMIN_USER), url("everytab_worker"), name.clone()).await;
    assert_eq!(database.owner.migrate().await.unwrap(), Vec::<&str>::new());
    database.owner.begin_epoch().await.unwrap();
    Service::over(database).await
}

#[tokio::test]
async fn keys_keep_their_usage_and_feeds_continue() {
    let old = Service::new().await;
    assert_eq!(old.database.owner.contents().await.unwrap(), Contents::EmptyTables);
    let caller = old.add(NewApiKey { urls_a_day: Some(10), ..new_key(0) }).await;
    let revoked = old.caller(1).await;
    assert_eq!(old.database.owner.contents().await.unwrap(), Contents::Scans);
    assert!(old.database.owner.revoke_key(&revoked.key).await.unwrap());
    let lease = old.lease("a").await;
    let (crawl, number) = old.start(&caller, &[1, 2, 3]).await.unwrap();
    let standing = old.submit(&caller, &[9]).await[0];
    old.capture(&lease, number, &[1]).await;
    let read = old
        .api
        .api_feed(&caller, crawl.id, &FeedPosition::default(), (9, &FetchFilter::default()), 1)
        .await
        .unwrap();
    old.capture(&lease, number, &[2]).await;

    let new = restored(&old).await;
    let mut snapshots = [
        old.database.owner.snapshot().await.unwrap(),
        new.database.owner.snapshot().await.unwrap(),
    ];
    let [before, after] = &mut snapshots;
    let (before, after) = (before.digests().await.unwrap(), after.digests().await.unwrap());
    for table in ["api_keys", "api_usage", "api_crawls", "api_answers"] {
        let of = |all: &[everytab_coordinator::TableDigest]| {
            all.iter().find(|digest| digest.table == table).unwrap().clone()
        };
        assert_eq!(of(&before), of(&after));
    }
    for snapshot in snapshots {
        snapshot.end().await.unwrap();
    }
    assert_eq!(code(new.api.api_admit(&revoked).await), "unauthorized");
    assert_eq!(new.api.api_key(&caller).await.unwrap().urls_today, 4);
    let state = new.api.api_fetch(&caller, id_of(number, 1)).await.unwrap();
    assert_eq!(state.state, "captured");
    assert_eq!(new.submit(&caller, &[9]).await, [standing]);
    let lease = new.lease("b").await;
    assert_eq!(new.capture(&lease, number, &[3]).await, [number]);
    let rest = new
        .api
        .api_feed(&caller, crawl.id, &read.next, (9, &FetchFilter::default()), 1)
        .await
        .unwrap();
    assert_eq!((urls(&rest), rest.crawl_state.as_str()), (vec![2, 3], "ended"));
}
