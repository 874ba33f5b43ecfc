//! Checks the properties that keep the queue fast for large scans: narrow rows, HOT updates for
//! renewals, and leasing by an index.

use everytab_coordinator::{Coordinator, JobKind};
use everytab_postgres::{PrivatePostgres, shared_for_tests};

use crate::{
    session::{Session, query},
    setup::{Database, settings},
};

async fn many_jobs(database: &Database) -> i32 {
    let scan = database.start_sharded(1).await;
    query(
        "insert into everytab.jobs (run, kind, part, state)
         select $1, 'icon', n, case when n < 2000 then 'completed' else 'pending' end
                ::everytab.job_state
           from generate_series(1, 20000) n",
    )
    .bind(scan)
    .execute(&database.pool)
    .await;
    scan
}

/// Returns SQL that prepares a function's statement from `start` to before `end`, with the
/// function's variables as parameters.
fn prepared(text: &str, (start, end): (&str, &str), variables: &[(&str, &str)]) -> String {
    let from = text.find(start).unwrap();
    let to = from + text[from..].find(end).unwrap();
    let mut statement = text[from..to].to_owned();
    for (number, (variable, _)) in (1..).zip(variables) {
        assert!(statement.contains(variable), "{variable}");
        statement = statement.replace(variable, &format!("${number}"));
    }
    let kinds: Vec<&str> = variables.iter().map(|(_, kind)| *kind).collect();
    format!("prepare it ({}) as {statement}", kinds.join(", "))
}

/// Checks that a statement's plan uses `index` and never reads the whole table of jobs, with and
/// without statistics, and for custom and generic plans.
async fn assert_planned(statement: &str, values: &str, index: &str) {
    let database = Database::new().await;
    let scan = many_jobs(&database).await;
    database.lease(JobKind::Icon, 200).await;
    for analyzed in [false, true] {
        if analyzed {
            database.run("vacuum analyze everytab.jobs").await;
        }
        for mode in ["force_generic_plan", "force_custom_plan"] {
            let values = values.replace("SCAN", &scan.to_string());
            let sql = format!(
                "set search_path = everytab; {statement}; set plan_cache_mode = {mode};
                 explain (costs off) execute it ({values})"
            );
            let plan = shared_for_tests().psql(&database.name, &sql).unwrap();
            let described = format!("{mode}, analyzed: {analyzed}\n{plan}");
            assert!(plan.contains(index), "{described}");
            assert!(!plan.contains("Seq Scan on jobs"), "{described}");
            assert!(!plan.contains("Sort"), "{described}");
        }
    }
}

#[tokio::test]
async fn a_lease_reads_the_ready_index_without_sorting_or_scanning() {
    let text = include_str!("../../functions/queue/lease.sql");
    let variables = [
        ("target.scan_id", "uuid"),
        ("target.run", "integer"),
        ("target.kind", "job_kind"),
        ("target.priority", "smallint"),
        ("target.cursor", "bigint"),
        ("wanted", "integer"),
        ("p_worker_id", "text"),
        ("target.lease_ms", "integer"),
        ("target.rate", "integer"),
        ("target.archive_rate", "integer"),
    ];
    let statement = prepared(text, ("with ready as materialized", ";"), &variables);
    let values = "null, SCAN, 'icon', 0, 100, 4, 'me', 300000, null, null";
    assert_planned(&statement, values, "Index Scan using jobs_ready").await;
}

#[tokio::test]
async fn a_sweep_reads_the_indexes_of_leased_and_delayed_jobs() {
    let text = include_str!("../../functions/queue/sweep.sql");
    let variables = [("p_limit", "integer")];
    let statement = prepared(text, ("select j.job_id, j.run", "\n    loop"), &variables);
    assert_planned(&statement, "50", "jobs_leased").await;
    let statement = prepared(text, ("with due as materialized", ";"), &variables);
    assert_planned(&statement, "50", "jobs_delayed").await;
}

#[tokio::test]
async fn a_renewal_finds_its_jobs_by_an_index() {
    let text = include_str!("../../functions/queue/renew.sql");
    let variables = [
        ("p_job_ids", "bigint[]"),
        ("p_lease_numbers", "integer[]"),
        ("p_tokens", "uuid[]"),
        ("p_worker_id", "text"),
        ("workers", "integer"),
    ];
    let statement = prepared(text, ("with mine as materialized", ";"), &variables);
    let values = "'{1,2,3}', '{1,1,1}', array_fill(gen_random_uuid(), array[3]), 'me', 3";
    assert_planned(&statement, values, "Index Scan using jobs_").await;
}

#[tokio::test]
async fn a_completion_finds_its_job_by_its_id() {
    let text = include_str!("../../functions/queue/complete.sql");
    let into = "into done, tokens, runs, kinds, parts, counts ";
    assert!(text.contains(into));
    let variables = [
        ("p_job_ids", "bigint[]"),
        ("p_lease_numbers", "integer[]"),
        ("p_tokens", "uuid[]"),
        ("p_stats", "jsonb[]"),
    ];
    let text = text.replace(into, "");
    let statement = prepared(&text, ("with fenced as materialized", ";"), &variables);
    let database = Database::new().await;
    many_jobs(&database).await;
    for mode in ["force_generic_plan", "force_custom_plan"] {
        let sql = format!(
            "set search_path = everytab; {statement}; set plan_cache_mode = {mode};
             explain (costs off)
             execute it ('{{1,2}}', '{{1,1}}', array_fill(gen_random_uuid(), array[2]), '{{}}')"
        );
        let plan = shared_for_tests().psql(&database.name, &sql).unwrap();
        assert!(plan.contains("Index Scan using jobs_"), "{mode}\n{plan}");
        assert!(!plan.contains("Seq Scan on jobs"), "{mode}\n{plan}");
    }
}

/// Without this setting, Postgres plans these functions' statements for each call, which takes more
/// than half of its CPU time.
#[tokio::test]
async fn the_calls_of_every_job_are_planned_once_per_session() {
    let database = Database::new().await;
    let sql = "select p.proname::text from pg_proc p
                where p.pronamespace = 'coordinator'::regnamespace and $1 = 0
                  and 'plan_cache_mode=force_generic_plan' = any (p.proconfig) order by 1";
    let found: Vec<(String,)> = database.rows(sql, 0).await;
    let names: Vec<&str> = found.iter().map(|(name,)| name.as_str()).collect();
    assert_eq!(names, ["complete", "lease", "renew"]);
}

async fn buffers(session: &Session, sql: &str) -> i64 {
    let sql = format!("explain (analyze, buffers, format json) {sql}");
    let plan: serde_json::Value = query(sql).value(session).await;
    let count = |name: &str| plan[0]["Plan"][name].as_i64().unwrap();
    count("Shared Hit Blocks") + count("Shared Read Blocks")
}

#[tokio::test]
async fn a_lease_touches_few_buffers_while_a_long_transaction_keeps_100_000_old_rows() {
    let database = Database::new().await;
    let scan = database.start_sharded(1).await;
    let insert = "insert into everytab.jobs (run, kind, part)
                  select $1, 'icon', n from generate_series(1, 110000) n";
    query(insert).bind(scan).execute(&database.pool).await;
    let pinning = database.session().await;
    for sql in ["begin isolation level repeatable read", "select count(*) from everytab.jobs"] {
        pinning.run(sql).await;
    }
    // Create two new versions of each row, as leasing and completing the jobs would.
    for sql in [
        "update everytab.jobs set state = 'leased', lease_token = gen_random_uuid(),
                worker_id = 'me',
                lease_until = now() + interval '1 hour', leased_at = now()
          where kind = 'icon' and part <= 100000",
        "update everytab.jobs set state = 'completed', lease_token = null, lease_until = null
          where kind = 'icon' and part <= 100000",
        "vacuum analyze everytab.jobs",
    ] {
        database.run(sql).await;
    }
    let old = "select n_dead_tup >= 100000 and $1::bigint = 0 from pg_stat_all_tables
                where relname = 'jobs' and schemaname = 'everytab'";
    assert!(database.value::<bool>(old, 0).await, "the old rows were removed");
    let session = database.session().await;
    let mut measured = Vec::new();
    for is_incremental in [false, true].into_iter().flat_map(|scan| [scan; 6]) {
        let cursor: i64 = if is_incremental {
            let sql = "select max(job_id) from everytab.jobs where state = 'leased'";
            query(sql).value(&session).await
        } else {
            0
        };
        let lease = format!(
            "select * from coordinator.lease('me', '{{icon}}', 1, '{{\"encoder\": \"encoder\"}}',
                                                '{{{cursor}}}')"
        );
        measured.push((is_incremental, buffers(&session, &lease).await));
    }
    println!("buffers per lease call (is it incremental): {measured:?}");
    for (is_incremental, buffers) in &measured[7..] {
        assert!(*is_incremental && *buffers <= 50, "{buffers} buffers: {measured:?}");
    }
    pinning.run("rollback").await;
}

#[tokio::test]
async fn a_job_row_takes_at_most_150_bytes() {
    let database = Database::new().await;
    let scan = many_jobs(&database).await;
    let leases = database.lease_as(&"w".repeat(40), &[JobKind::Icon], 2_000).await;
    assert_eq!(leases.len(), 2_000);
    let sql = "select avg(pg_column_size(j.*))::float8 from everytab.jobs j
                where run = $1 and state = 'leased'";
    let leased: f64 = database.value(sql, scan).await;
    assert!((60.0..=150.0).contains(&leased), "{leased} bytes");
    let sql = "select avg(pg_column_size(j.*))::float8 from everytab.jobs j where run = $1";
    let all: f64 = database.value(sql, scan).await;
    assert!(all < leased, "{all} bytes");
}

#[tokio::test]
async fn renewals_stay_hot() {
    // This needs a private server, because open transactions in other databases delay pruning.
    let server = PrivatePostgres::start_for_tests().unwrap();
    let (owner, worker) = (server.admin_url(), server.url("postgres", "everytab_worker"));
    Coordinator::connect(&owner, &settings()).await.unwrap().migrate().await.unwrap();
    let database = Database::at(owner, worker, "postgres".into()).await;
    many_jobs(&database).await;
    database.run("vacuum analyze everytab.jobs").await;
    let mut held = Vec::new();
    for worker in 0..25 {
        let worker_id = format!("worker-{worker}");
        let leases = database.lease_as(&worker_id, &[JobKind::Icon], 8).await;
        held.push((worker_id, leases));
    }
    let session = Session::connect(&database.owner_url).await;
    let counters = "select n_tup_upd, n_tup_hot_upd from pg_stat_user_tables
                     where relname = 'jobs'";
    let mut measured = Vec::new();
    for rounds in [0, 20] {
        for _ in 0..rounds {
            for (worker_id, leases) in &held {
                let sql = "select count(*) from coordinator.renew($1, $2, $3, $4)";
                let fences = || leases.iter().map(|lease| lease.fence);
                let kept: i64 = query(sql)
                    .bind(worker_id.clone())
                    .bind(fences().map(|fence| fence.job_id).collect::<Vec<_>>())
                    .bind(fences().map(|fence| fence.lease_number).collect::<Vec<_>>())
                    .bind(fences().map(|fence| fence.token).collect::<Vec<_>>())
                    .value(&session)
                    .await;
                assert_eq!(kept, 8);
            }
        }
        let flush = "select pg_stat_force_next_flush()";
        session.run(flush).await;
        measured.push(query(counters).row(&session).await);
    }
    let [(updates, hot), (all_updates, all_hot)]: [(i64, i64); 2] = measured.try_into().unwrap();
    let (updates, hot) = (all_updates - updates, all_hot - hot);
    assert!(updates >= 4_000, "{updates} updates were counted");
    assert!(hot * 100 >= updates * 80, "{hot} of {updates} renewals were HOT");
    drop((session, database));
    server.erase().unwrap();
}
