//! Migrating: again, concurrently, and what refuses a schema that is not this program's.

use everytab_coordinator::{Coordinator, Error, migrations, schema_digest};
use everytab_postgres::{ADMIN_USER, shared_for_tests};

use crate::{
    schema::dump,
    setup::{Database, settings, sqlstate},
};

async fn empty_database() -> (String, Coordinator) {
    let server = shared_for_tests();
    let name = server.fresh_database(None);
    let url = server.url(&name, ADMIN_USER);
    (name, Coordinator::connect(&url, &settings()).await.unwrap())
}

#[tokio::test]
async fn migrating_twice_changes_nothing() {
    let (name, coordinator) = empty_database().await;
    assert_eq!(coordinator.migrate().await.unwrap(), migrations());
    let before = dump(&name);
    // Who made each function, as the catalogue counts: a function made again is another row.
    let made = "select md5(string_agg(oid || ' ' || xmin, ',' order by oid)) from pg_proc
                 where pronamespace = 'coordinator'::regnamespace";
    let functions = shared_for_tests().psql(&name, made).unwrap();
    assert!(coordinator.migrate().await.unwrap().is_empty());
    assert_eq!(dump(&name), before);
    assert_eq!(shared_for_tests().psql(&name, made).unwrap(), functions);
    coordinator.check_schema().await.unwrap();
}

#[tokio::test]
async fn migrating_in_the_middle_of_a_scan_loses_nothing() {
    let database = Database::new().await;
    let scan = database.start_sharded(2).await;
    let lease = database.lease_one(everytab_coordinator::JobKind::Warc).await;
    let before = database.contents().await;
    // As a program with other functions and the same tables finds it.
    database.run("update everytab.migrations set digest = 'another'").await;
    assert!(database.owner.migrate().await.unwrap().is_empty());
    assert_eq!(database.contents().await, before);
    database.complete(lease).await;
    database.work().await;
    assert_eq!(database.state_of_scan(scan).await, "finished");
}

#[tokio::test]
async fn migrating_one_database_from_four_connections_at_once_works() {
    let (name, _) = empty_database().await;
    let url = shared_for_tests().url(&name, ADMIN_USER);
    let mut running = Vec::new();
    for _ in 0..4 {
        let coordinator = Coordinator::connect(&url, &settings()).await.unwrap();
        running.push(tokio::spawn(async move { coordinator.migrate().await.unwrap().len() }));
    }
    let mut applied = 0;
    for migration in running {
        applied += migration.await.unwrap();
    }
    assert_eq!(applied, migrations().len(), "one of them applied the tables");
}

#[tokio::test]
async fn migrating_two_databases_of_one_cluster_at_once_works() {
    let (_, one) = empty_database().await;
    let (_, other) = empty_database().await;
    let (first, second) = tokio::join!(one.migrate(), other.migrate());
    let all = migrations().len();
    assert_eq!((first.unwrap().len(), second.unwrap().len()), (all, all));
}

#[tokio::test]
async fn a_migration_that_fails_changes_nothing() {
    let (name, coordinator) = empty_database().await;
    let server = shared_for_tests();
    // Stands where a function is to be made.
    server
        .psql(
            &name,
            "create schema coordinator; create table coordinator.kept ();
            create procedure coordinator.schema_digest() language sql as ''",
        )
        .unwrap();
    assert_eq!(sqlstate(coordinator.migrate().await), "42809");
    let left = server.psql(&name, "select count(*) from pg_namespace where nspname = 'everytab'");
    assert_eq!(left.unwrap(), "0");
}

#[tokio::test]
async fn an_absent_schema_is_refused() {
    let (_, coordinator) = empty_database().await;
    let error = coordinator.check_schema().await.unwrap_err();
    assert!(matches!(&error, Error::NoSchema), "{error}");
    assert!(error.to_string().contains("everytab-worker migrate"), "{error}");
}

#[tokio::test]
async fn another_programs_schema_is_refused() {
    let database = Database::new().await;
    database.run("update everytab.migrations set digest = 'of another version'").await;
    for role in [&database.owner, &database.worker] {
        let error = role.check_schema().await.unwrap_err();
        assert!(!error.is_transient());
        let Error::Schema { found, own } = error else { panic!("{error}") };
        assert_eq!((found.as_str(), own), ("of another version", schema_digest()));
    }
}

#[tokio::test]
async fn a_database_that_is_not_there_is_named_without_its_password() {
    let url = shared_for_tests().url("not-there", ADMIN_USER);
    let error = Coordinator::connect(&url, &settings()).await.unwrap_err();
    assert!(!error.is_transient(), "{error}");
    assert!(error.to_string().contains("not-there"), "{error}");
    let error = Coordinator::connect("postgres://me:secret@", &settings()).await;
    assert!(error.is_err_and(|error| !error.to_string().contains("secret")));
}
