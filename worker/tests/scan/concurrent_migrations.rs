//! Tests that hosts that start together can migrate one database, and that migrating names the role
//! settings that it resets.

use std::collections::BTreeSet;

use everytab_postgres::shared_for_tests;

use crate::setup::{Running, run, worker};

#[test]
fn hosts_that_migrate_an_empty_database_concurrently_create_one_schema() {
    let name = shared_for_tests().fresh_database(None);
    let url = shared_for_tests().url(&name, "postgres");
    let migrate = || Running::start(worker(["migrate", "--database-url", &url]));
    let machines: Vec<Running> = (0..8).map(|_| migrate()).collect();
    let said: Vec<String> =
        machines.into_iter().map(|machine| machine.finish().expect_code(0).stdout).collect();
    let schema =
        |text: &str| text.lines().last().and_then(|it| it.split(' ').nth(1)).map(str::to_owned);
    let schemas: BTreeSet<_> = said.iter().map(|text| schema(text)).collect();
    assert_eq!(schemas.len(), 1, "{said:?}");
    assert_eq!(said.iter().filter(|text| text.contains("applied 0001")).count(), 1, "{said:?}");
    let psql = |sql: &str| shared_for_tests().psql(&name, sql).unwrap();
    assert_eq!(psql("select count(*) from everytab.scans").trim(), "0");
}

#[test]
fn role_settings_that_migrating_resets_are_named_once() {
    let name = shared_for_tests().fresh_database(None);
    let url = shared_for_tests().url(&name, "postgres");
    let migrate = || run(worker(["migrate", "--database-url", &url])).expect_code(0).stderr;
    migrate();
    // For this database only, because roles belong to the whole server.
    let set = format!("alter role everytab_worker_site in database \"{name}\" set work_mem = 64");
    shared_for_tests().psql(&name, &set).unwrap();
    let said = migrate();
    for part in ["everytab_worker_site", "work_mem=64 in this database"] {
        assert!(said.contains(part), "{said}");
    }
    assert!(!migrate().contains("everytab_worker_site"));
}
