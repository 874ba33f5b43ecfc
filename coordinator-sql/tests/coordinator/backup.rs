//! Tests that backups' digests show any changed row, and that a snapshot shows one moment.

use everytab_coordinator::{Contents, Coordinator, TableDigest};
use everytab_patience::until;

use crate::{
    session::query,
    setup::{Database, sqlstate},
};

async fn digests(coordinator: &Coordinator) -> Vec<TableDigest> {
    let mut snapshot = coordinator.snapshot().await.unwrap();
    let digests = snapshot.digests().await.unwrap();
    snapshot.end().await.unwrap();
    digests
}

fn of<'a>(digests: &'a [TableDigest], table: &str) -> &'a TableDigest {
    digests.iter().find(|digest| digest.table == table).unwrap()
}

#[tokio::test]
async fn digests_show_a_changed_row_but_not_row_order_or_settings() {
    let database = Database::new().await;
    let scan = database.start(2).await;
    database.work().await;
    let before = digests(&database.owner).await;
    for table in ["scans", "stages", "jobs", "job_results", "hosts_1", "pages_1", "icons_1"] {
        assert!(of(&before, table).rows > 0, "{table}: {before:?}");
    }
    assert_eq!(
        of(&before, "hosts_1").rows,
        database.value::<i64>("select count(*) from everytab.hosts where scan = $1", scan).await
    );
    database.run("alter table everytab.hosts_1 set (fillfactor = 50)").await;
    database.run("vacuum full everytab.hosts_1").await;
    database
        .run(
            "do $$ begin execute format(
        'alter database %I set timezone = ''Asia/Tokyo''', current_database()); end $$",
        )
        .await;
    database.run("update everytab.jobs set priority = priority").await;
    let again = Coordinator::connect(&database.owner_url, &crate::setup::settings()).await.unwrap();
    assert_eq!(digests(&again).await, before);
    database
        .run(
            "update everytab.hosts_1 set warc_offset = warc_offset + 1
                   where hostname = (select min(hostname) from everytab.hosts_1)",
        )
        .await;
    let after = digests(&database.owner).await;
    let changed: Vec<&str> = before
        .iter()
        .zip(&after)
        .filter(|(before, after)| before != after)
        .map(|(before, _)| before.table.as_str())
        .collect();
    assert_eq!(changed, ["hosts_1"]);
    assert_eq!(of(&after, "hosts_1").rows, of(&before, "hosts_1").rows);
}

#[tokio::test]
async fn all_readers_of_a_snapshot_see_one_moment() {
    let database = Database::new().await;
    database.start(1).await;
    let mut snapshot = database.owner.snapshot().await.unwrap();
    let before = snapshot.digests().await.unwrap();
    database.start(3).await;
    assert_eq!(snapshot.digests().await.unwrap(), before);
    let other = snapshot.id.clone();
    let session = database.session().await;
    let seen: i64 = {
        let begin =
            format!("begin isolation level repeatable read; set transaction snapshot '{other}'");
        session.run(&begin).await;
        let count = query("select count(*) from everytab.scans");
        count.value(&session).await
    };
    assert_eq!(seen, of(&before, "scans").rows);
    snapshot.end().await.unwrap();
    assert_ne!(digests(&database.owner).await, before);
}

#[tokio::test]
async fn only_empty_tables_are_removed_and_only_the_owner_moves_a_scan() {
    let database = Database::new().await;
    let (owner, worker) = (&database.owner, &database.worker);
    assert_eq!(owner.contents().await.unwrap(), Contents::EmptyTables);
    owner.block("suffix", "bad.example", None).await.unwrap();
    assert_eq!(owner.contents().await.unwrap(), Contents::Scans);
    owner.unblock("suffix", "bad.example").await.unwrap();
    owner.remove_empty_tables().await.unwrap();
    assert_eq!(owner.contents().await.unwrap(), Contents::Nothing);
    owner.migrate().await.unwrap();
    let scan = database.start(1).await;
    assert_eq!(owner.contents().await.unwrap(), Contents::Scans);
    assert_eq!(sqlstate(owner.move_scan(scan, "file:///a", "file:///b").await), "ET005");
    database.work().await;
    assert_eq!(sqlstate(worker.move_scan(scan, "file:///a", "file:///b").await), "42501");
    owner.move_scan(scan, "file:///a", "file:///b").await.unwrap();
    let row = owner.backup_scan(scan).await.unwrap().unwrap();
    assert_eq!(
        (&row["settings"]["site"], &row["settings"]["archive"]),
        (&"file:///a".into(), &"file:///b".into())
    );
    assert_eq!(row["settings"]["entries_per_bundle"], 1);
    assert_eq!(sqlstate(worker.backup_scan(scan).await), "42501");
}

#[tokio::test]
async fn analyzing_a_table_leaves_the_others_unlocked() {
    let database = Database::new().await;
    database.start(1).await;
    let holder = database.session().await;
    holder.run("begin; lock table everytab.warc_files in share update exclusive mode").await;
    let owner = database.owner.clone();
    let analyzing = tokio::spawn(async move { owner.analyze().await });
    let held = "select coalesce(string_agg(distinct held.relation::regclass::text, ' '), '')
                  from pg_locks waiting
                  left join pg_locks held on held.pid = waiting.pid and held.granted
                   and held.mode = 'ShareUpdateExclusiveLock'
                 where not waiting.granted
                   and waiting.relation = 'everytab.warc_files'::regclass
                having count(waiting.pid) > 0";
    let mut locked = None;
    until("analyze to wait for the last table", async || {
        locked = query(held).column::<String>(&database.pool).await.pop();
        locked.is_some()
    })
    .await;
    assert_eq!(locked.unwrap(), "");
    holder.run("commit").await;
    analyzing.await.unwrap().unwrap();
}
