//! Tests that the service's role can execute only the functions in schema `api`.

use super::service::Service;
use crate::{
    session::{Session, query},
    setup::Database,
};

const DENIED: &str = "42501";

async fn as_the_service(database: &Database) -> Session {
    Session::connect(&database.worker_url.replace("everytab_worker", "everytab_api")).await
}

async fn refusal(session: &Session, sql: &str) -> Option<String> {
    let error = session.0.batch_execute(sql).await.err()?;
    Some(error.code().unwrap().code().to_owned())
}

/// The functions are listed by name, so that adding one is a deliberate decision.
#[tokio::test]
async fn the_service_executes_these_functions_and_no_others() {
    let database = Database::new().await;
    let sql = "select n.nspname || '.' || p.proname from pg_proc p
                 join pg_namespace n on n.oid = p.pronamespace
                where n.nspname not in ('pg_catalog', 'information_schema')
                  and has_schema_privilege('everytab_api', n.oid, 'usage')
                  and has_function_privilege('everytab_api', p.oid, 'execute') order by 1";
    let allowed: Vec<String> = query(sql).column(&database.pool).await;
    assert_eq!(
        allowed,
        [
            "api.add_failed",
            "api.add_filter",
            "api.add_links",
            "api.add_robots",
            "api.add_schedule",
            "api.add_webhook",
            "api.admit",
            "api.admit_captures",
            "api.admit_named",
            "api.change_filter",
            "api.change_patterns",
            "api.change_webhook",
            "api.crawl_hosts",
            "api.crawl_states",
            "api.crawls",
            "api.drop_robots",
            "api.drop_schedule",
            "api.drop_webhook",
            "api.failed_urls",
            "api.feed",
            "api.feed_news",
            "api.feed_tail",
            "api.fetch_state",
            "api.fetch_states",
            "api.filter_lists",
            "api.filters",
            "api.find_capture",
            "api.key_ports",
            "api.list_robots",
            "api.list_schedules",
            "api.list_webhooks",
            "api.move_crawl",
            "api.overview",
            "api.own_key",
            "api.remove_filter",
            "api.rotate_webhook",
            "api.search",
            "api.set_rate",
            "api.start_crawl",
            "api.submit",
            "api.submit_named",
            "api.test_webhook",
            "api.valid_keys",
            "coordinator.schema_digest",
        ]
    );
    let sql = "select p.proname::text from pg_proc p
                 join pg_namespace n on n.oid = p.pronamespace
                where n.nspname = 'api'
                  and (has_function_privilege('everytab_worker', p.oid, 'execute')
                       or has_function_privilege('public', p.oid, 'execute'))";
    assert_eq!(query(sql).column::<String>(&database.pool).await, Vec::<String>::new());
}

#[tokio::test]
async fn each_api_function_sets_its_search_path_and_needs_the_secret() {
    let database = Database::new().await;
    let sql = "select p.proname::text from pg_proc p
                 join pg_namespace n on n.oid = p.pronamespace
                where n.nspname = 'api' and has_function_privilege('everytab_api', p.oid, 'execute')
                  and not (p.prosecdef and 'search_path=everytab, pg_temp' = any (p.proconfig)
                           and p.proargnames && array['p_secret', 'p_secrets'])";
    assert_eq!(query(sql).column::<String>(&database.pool).await, Vec::<String>::new());
}

#[tokio::test]
async fn the_service_cannot_access_tables_or_create_objects() {
    let service = Service::new().await;
    let database = &service.database;
    database.start(1).await;
    service.caller(0).await;
    database.revoke_temporary().await;
    let sql = "select relname::text, relkind::text from pg_class c
                 join pg_namespace n on n.oid = relnamespace
                where nspname = 'everytab' and relkind in ('r', 'p', 'S') order by 1";
    let tables: Vec<(String, String)> = query(sql).rows(&database.pool).await;
    assert!(tables.iter().any(|(table, _)| table == "api_keys"));
    let session = as_the_service(database).await;
    for (table, kind) in tables {
        let mut tried = vec![format!("select * from everytab.{table}")];
        if kind != "S" {
            tried.push(format!("delete from everytab.{table}"));
            tried.push(format!("insert into everytab.{table} default values"));
            tried.push(format!("copy everytab.{table} to stdout"));
        }
        for sql in tried {
            assert_eq!(refusal(&session, &sql).await.as_deref(), Some(DENIED), "{sql}");
        }
    }
    for sql in [
        "create table everytab.mine ()",
        "create temporary table api_keys ()",
        "create function api.mine() returns integer language sql as 'select 1'",
        "create schema mine",
        "set role postgres",
        "set role everytab_worker",
        "select coordinator.add_key('bbbbbbbbbbbb', '', 'n', 1, 1, 1, 1, 1, 1, 1, 1, '{}')",
        "select coordinator.key_use('aaaaaaaaaaaa')",
        "select api.own_crawl('aaaaaaaaaaaa', gen_random_uuid())",
        "select api.standing_crawl('aaaaaaaaaaaa', '', '{}', true)",
        "select coordinator.crawl_status(null)",
        "select coordinator.start_crawl(null)",
        "select coordinator.add_links(1, true, '{}')",
    ] {
        assert_eq!(refusal(&session, sql).await.as_deref(), Some(DENIED), "{sql}");
    }
    assert!(!service.api.may_migrate().await.unwrap());
    service.api.check_schema().await.unwrap();
}

#[tokio::test]
async fn migrating_again_keeps_the_limits_of_the_role() {
    let database = Database::new().await;
    let sql = "select rolcanlogin and not rolsuper and not rolcreaterole and not rolcreatedb
                      and rolconnlimit = 100 from pg_roles where rolname = 'everytab_api'";
    assert!(query(sql).value::<bool>(&database.pool).await);
    let session = as_the_service(&database).await;
    for (setting, expected) in
        [("statement_timeout", "90000"), ("idle_in_transaction_session_timeout", "60000")]
    {
        let sql = format!("select setting from pg_settings where name = '{setting}'");
        assert_eq!(query(sql).value::<String>(&session).await, expected, "{setting}");
    }
    database.run("update everytab.migrations set digest = 'another'").await;
    database.owner.migrate().await.unwrap();
    assert!(query(sql).value::<bool>(&database.pool).await);
    session.run("select coordinator.schema_digest()").await;
}
