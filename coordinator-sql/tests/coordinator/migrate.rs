//! Tests migrating: repeatedly, concurrently, and with objects that others built on the functions.

use everytab_coordinator::{Coordinator, Error, migrations, schema_digest};
use everytab_postgres::{ADMIN_USER, PrivatePostgres, shared_for_tests};

use crate::{
    schema::dump,
    session::query,
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
    // Pretend that a version with other functions has migrated this database.
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
    assert_eq!(applied, migrations().len(), "exactly one connection must create the tables");
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
    // This procedure has a function's name, so that creating the function fails.
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
async fn a_missing_schema_is_rejected() {
    let (_, coordinator) = empty_database().await;
    let error = coordinator.check_schema().await.unwrap_err();
    assert!(matches!(&error, Error::NoSchema), "{error}");
    assert!(error.to_string().contains("everytab-worker migrate"), "{error}");
}

#[tokio::test]
async fn the_schema_of_another_version_is_rejected() {
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
async fn the_error_for_a_missing_database_names_it_but_not_the_password() {
    let url = shared_for_tests().url("not-there", ADMIN_USER);
    let error = Coordinator::connect(&url, &settings()).await.unwrap_err();
    assert!(!error.is_transient(), "{error}");
    assert!(error.to_string().contains("not-there"), "{error}");
    let error = Coordinator::connect("postgres://me:secret@", &settings()).await;
    assert!(error.is_err_and(|error| !error.to_string().contains("secret")));
}

async fn may(database: &Database, role: &str, function: &str) -> bool {
    let sql = format!("select has_function_privilege('{role}', '{function}', 'execute')");
    query(sql).value(&database.pool).await
}

async fn monitoring_role(database: &Database) -> String {
    let role = format!("monitoring_{}", database.name);
    query(format!("create role {role}")).execute(&database.pool).await;
    role
}

#[tokio::test]
async fn migrating_keeps_grants_and_views_of_others_but_not_our_old_grants() {
    let database = Database::new().await;
    let role = monitoring_role(&database).await;
    let listed = "coordinator.list_scans()";
    for sql in [
        format!("grant usage on schema coordinator to {role}"),
        format!("grant execute on function {listed} to {role}"),
        format!("create view public.watch as select * from {listed}"),
        "grant execute on function coordinator.cancel_run(integer) to everytab_worker".to_owned(),
        "update everytab.migrations set digest = 'another'".to_owned(),
    ] {
        query(sql).execute(&database.pool).await;
    }
    assert!(database.owner.migrate().await.unwrap().is_empty());
    assert!(may(&database, &role, listed).await);
    database.run("select * from public.watch").await;
    assert!(may(&database, "everytab_worker", listed).await);
    assert!(!may(&database, "everytab_worker", "coordinator.cancel_run(integer)").await);
}

#[tokio::test]
async fn a_function_with_another_result_type_is_replaced_and_keeps_its_grants() {
    let database = Database::new().await;
    let role = monitoring_role(&database).await;
    for sql in [
        "drop function coordinator.list_scans()".to_owned(),
        "create function coordinator.list_scans() returns integer language sql as 'select 1'"
            .to_owned(),
        format!("grant execute on function coordinator.list_scans() to {role}"),
        "create function coordinator.list_scans(p integer) returns integer language sql
             as 'select 1'"
            .to_owned(),
        "create function api.of_an_older_version() returns integer language sql as 'select 1'"
            .to_owned(),
        "update everytab.migrations set digest = 'another'".to_owned(),
    ] {
        query(sql).execute(&database.pool).await;
    }
    assert!(database.owner.migrate().await.unwrap().is_empty());
    let new = Database::new().await;
    assert_eq!(dump_without(&database.name, &role), dump(&new.name));
    assert!(may(&database, &role, "coordinator.list_scans()").await);
    assert!(database.owner.list_scans().await.unwrap().is_empty());
}

fn dump_without(database: &str, role: &str) -> String {
    let lines = dump(database);
    let kept = lines.lines().filter(|line| !line.contains(role));
    kept.fold(String::new(), |text, line| text + line + "\n")
}

#[tokio::test]
async fn if_a_view_depends_on_a_dropped_function_migrating_fails_and_names_the_view() {
    let database = Database::new().await;
    for sql in [
        "create function coordinator.of_an_older_version() returns integer language sql
             as 'select 1'",
        "create view public.watch as select coordinator.of_an_older_version()",
        "update everytab.migrations set digest = 'another'",
    ] {
        database.run(sql).await;
    }
    let before = dump(&database.name);
    let error = database.owner.migrate().await.unwrap_err().to_string();
    for part in ["coordinator.of_an_older_version()", "view watch depends on", "migrate"] {
        assert!(error.contains(part), "{error}");
    }
    assert_eq!(error.lines().count(), 1, "{error}");
    assert_eq!(dump(&database.name), before);
    database.run("drop view public.watch").await;
    assert!(database.owner.migrate().await.unwrap().is_empty());
    database.owner.check_schema().await.unwrap();
}

#[tokio::test]
async fn a_database_from_before_the_baseline_is_rejected_with_advice() {
    let database = Database::new().await;
    database.run("update everytab.migrations set name = '0001_tables.sql', digest = 'old'").await;
    let before = dump(&database.name);
    let error = database.owner.migrate().await.unwrap_err();
    assert!(matches!(error, Error::BeforeBaseline), "{error}");
    assert!(error.to_string().contains("createdb"), "{error}");
    assert_eq!(dump(&database.name), before);
}

#[tokio::test]
async fn a_database_with_another_encoding_is_rejected_with_advice() {
    let server = shared_for_tests();
    for encoding in ["LATIN1", "SQL_ASCII"] {
        let name = format!("{}_{}", server.fresh_database(None), encoding.to_lowercase());
        let sql = format!(
            "create database \"{name}\" encoding '{encoding}' template template0
                 lc_collate 'C' lc_ctype 'C'"
        );
        server.psql("postgres", &sql).unwrap();
        let url = server.url(&name, ADMIN_USER);
        let coordinator = Coordinator::connect(&url, &settings()).await.unwrap();
        let error = coordinator.migrate().await.unwrap_err();
        assert!(matches!(&error, Error::Encoding(found) if found == encoding), "{error}");
        assert!(error.to_string().contains("createdb --encoding UTF8"), "{error}");
        let left = "select count(*) from pg_namespace where nspname = 'everytab'";
        assert_eq!(server.psql(&name, left).unwrap(), "0");
    }
}

#[tokio::test]
async fn migrating_resets_settings_that_a_role_gave_itself() {
    // This needs a private server, because roles belong to the whole server.
    let server = PrivatePostgres::start_for_tests().unwrap();
    let (owner, worker) = (server.admin_url(), server.url("postgres", "everytab_worker"));
    Coordinator::connect(&owner, &settings()).await.unwrap().migrate().await.unwrap();
    let database = Database::at(owner, worker, "postgres".into()).await;
    let set = "select string_agg(setrole::regrole || ' ' || setdatabase || ' ' || setconfig::text,
                                 '; ' order by setrole::regrole::text, setdatabase)
                 from pg_db_role_setting where $1 = 0";
    let before: String = database.value(set, 0).await;
    assert_eq!(before.matches("statement_timeout=90s").count(), 5, "{before}");
    let mine = "alter role everytab_api in database postgres set search_path = mine";
    database.run(mine).await;
    let error = database.worker.migrate().await.unwrap_err();
    assert!(matches!(&error, Error::RoleSettings { .. }), "{error}");
    let reset = "alter role everytab_api in database postgres reset all;";
    for part in ["everytab_api", "search_path=mine in this database", reset, "as a superuser"] {
        assert!(error.to_string().contains(part), "{error}");
    }
    database.run(reset).await;
    assert_eq!(database.value::<String>(set, 0).await, before);
    for sql in [
        "alter role everytab_worker set default_transaction_read_only = on",
        "alter role everytab_worker_icons set statement_timeout = 0",
        "alter role everytab_worker_site reset all",
    ] {
        let role = sql.split(' ').nth(2).unwrap();
        server.psql("postgres", &format!("set role {role}; {sql}")).unwrap();
    }
    database.run(mine).await;
    assert_ne!(database.value::<String>(set, 0).await, before);
    assert!(database.owner.migrate().await.unwrap().is_empty());
    assert_eq!(database.value::<String>(set, 0).await, before);
    drop(database);
    server.erase().unwrap();
}
