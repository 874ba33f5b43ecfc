//! Drains a queue of no-op jobs with several processes, alternately with our queue and the peer on
//! the same server.

use std::{
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    drainer::LeaseMode,
    median,
    peer::Peer,
    say,
    server::{Server, start_sharded},
    setting,
};

pub(crate) async fn run() {
    let processes = setting("PROCESSES", 4);
    let rounds = setting("ROUNDS", 3);
    let profile = setting("PROFILE", 0) > 0;
    let preload =
        [("shared_preload_libraries", "pg_stat_statements"), ("pg_stat_statements.track", "all")];
    let server = Server::start(if profile { &preload } else { &[] });
    let peer = if setting("PEER", 1) > 0 { Peer::install() } else { None };
    say("calibration", &server.calibration());
    for (mode, jobs) in [
        (LeaseMode::Batched, setting("JOBS", 200_000)),
        (LeaseMode::Single, setting("SINGLE_JOBS", 30_000)),
        (LeaseMode::Alone, setting("ALONE_JOBS", 10_000)),
    ] {
        if jobs == 0 {
            continue;
        }
        let (mut own, mut other) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let figures = drain(&server, jobs, processes, mode, profile).await;
            say(mode.as_str(), &figures);
            own.push(figures["jobs_per_s"].as_f64().unwrap());
            if let Some(peer) = &peer {
                server.sql("postgres", "checkpoint");
                let before = server.usage();
                let mut figures = peer.drain(&server, jobs, processes, mode == LeaseMode::Batched);
                let used = server.used_since(&before);
                figures["server_cores"] = json!(used.cores);
                figures["wal_bytes_per_job"] = json!(used.wal_bytes / i64::from(jobs));
                say("peer", &figures);
                other.push(figures["jobs_per_s"].as_f64().unwrap());
            }
        }
        let (own, other) = (median(own), median(other));
        let ratio = if peer.is_some() { json!(own / other) } else { Value::Null };
        say(
            "median",
            &json!({"way": mode.as_str(), "jobs_per_s": own, "peer_jobs_per_s": other,
                              "ratio": ratio}),
        );
    }
    say("calibration", &server.calibration());
    server.end();
}

async fn drain(
    server: &Server,
    jobs: u32,
    processes: u32,
    mode: LeaseMode,
    profile: bool,
) -> Value {
    server.sql("postgres", "drop database if exists ours with (force)");
    let owner = server.migrated("ours").await;
    let scan = start_sharded(&owner, 1, 300_000).await;
    let begun = Instant::now();
    // Completing a search job enqueues no other job. When the stage ends, it opens the publish
    // stage.
    server.sql("ours", &format!("select coordinator.open_stage({scan}, 'search', {jobs})"));
    let enqueued = begun.elapsed();
    server.sql("ours", "analyze everytab.jobs");
    server.sql("postgres", "checkpoint");
    if profile {
        server.sql("postgres", "create extension if not exists pg_stat_statements");
        server.sql("postgres", "select pg_stat_statements_reset()");
    }
    let before = server.usage();
    let started = Instant::now();
    let url = server.url("ours", "everytab_worker");
    let children: Vec<Child> = (0..processes).map(|_| drainer(&url, mode)).collect();
    let session = server.session("ours").await;
    let mut waits = std::collections::BTreeMap::new();
    let outstanding = "select outstanding from everytab.stages where run = $1 and kind = 'search'";
    loop {
        let left: i32 = session.query_one(outstanding, &[&scan]).await.unwrap().get(0);
        if left == 0 {
            break;
        }
        if profile {
            let sql = "select coalesce(wait_event_type || ':' || wait_event, 'cpu') \
                || ' ' || substring(query from 'coordinator.(\\w+)') from pg_stat_activity \
                where state = 'active' and pid <> pg_backend_pid() and datname = 'ours'";
            for row in session.query(sql, &[]).await.unwrap() {
                if let Some(wait) = row.get::<_, Option<String>>(0) {
                    *waits.entry(wait).or_insert(0_u64) += 1;
                }
            }
        }
        tokio::time::sleep(Duration::from_millis(if profile { 10 } else { 50 })).await;
    }
    let elapsed = started.elapsed();
    let used = server.used_since(&before);
    for mut child in children {
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success(), "a drainer failed");
    }
    drop(session);
    audit(server, scan, jobs);
    owner.close().await;
    if profile {
        eprintln!("{}", server.sql("postgres", STATEMENTS));
        let mut waits: Vec<_> = waits.into_iter().collect();
        waits.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
        eprintln!("{waits:#?}");
    }
    let per_second = |elapsed: Duration| (f64::from(jobs) / elapsed.as_secs_f64()).round();
    json!({"jobs": jobs, "processes": processes, "enqueue_per_s": per_second(enqueued),
           "jobs_per_s": per_second(elapsed), "seconds": elapsed.as_secs_f64(),
           "server_cores": used.cores, "wal_bytes_per_job": used.wal_bytes / i64::from(jobs),
           "commits": used.commits})
}

const STATEMENTS: &str = "select round(total_exec_time::numeric, 0), calls,
    round((1000 * mean_exec_time)::numeric, 1) as us, wal_bytes,
    left(regexp_replace(query, '\\s+', ' ', 'g'), 110)
    from pg_stat_statements order by total_exec_time desc limit 25";

fn drainer(url: &str, mode: LeaseMode) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["drainer", url, mode.as_str()])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap()
}

fn audit(server: &Server, scan: i32, jobs: u32) {
    let sql = format!(
        "select (select count(*) from everytab.job_results where kind = 'search'),
                (select count(distinct job_id) from everytab.job_results where kind = 'search'),
                (select count(*) from everytab.jobs where kind = 'search' and state = 'completed'),
                (select done from everytab.stages where run = {scan} and kind = 'search'),
                (select count(*) from everytab.jobs where kind = 'publish')"
    );
    let found = server.sql("ours", &sql);
    assert_eq!(found, format!("{jobs}|{jobs}|{jobs}|{jobs}|1"), "the run was wrong");
    let drift = server.sql("ours", &format!("select * from coordinator.audit_run({scan})"));
    assert!(drift.lines().all(|line| !line.starts_with("search")), "drift: {drift}");
}
