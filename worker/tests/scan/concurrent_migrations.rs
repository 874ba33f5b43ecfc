//! Machines that start at the same time all migrate the same database.

use std::collections::BTreeSet;

use everytab_postgres::shared_for_tests;

use crate::setup::{Running, worker};

#[test]
fn machines_that_migrate_an_empty_database_concurrently_leave_one_schema() {
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
