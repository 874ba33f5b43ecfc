//! Tests that a scan publishes the same bytes after its workers were killed by SIGKILL in each
//! stage.

use std::{fs, path::Path, thread, time::Duration};

use everytab_testbed::{Behaviour, Mix};

use crate::{
    environment::{Database, Stores, internet, stage},
    holding_proxy::HoldingProxy,
    outcomes,
    setup::{Running, assert_same, folder, published, run, scan_locally, wait_for, worker},
};

/// When to kill a worker: a job kind, and a request that only these jobs send, with its method, a
/// part of its head, and how many pass before one is held.
pub(crate) type KillPoint = (&'static str, &'static str, &'static str, usize);

const KILL_POINTS: [KillPoint; 7] = [
    ("index", "GET", "/cc-index/", 3),
    ("warc", "GET", "/segments/", 100),
    ("icon", "PUT", ".warc.gz", 0),
    ("icon", "PUT", ".warc.gz", 1),
    ("bundle-shard", "PUT", "/tabs/", 1),
    ("search", "PUT", "index.tsv", 3),
    ("publish", "PUT", "/manifest.json", 0),
];

#[test]
fn the_only_worker_killed_in_the_middle_of_each_stage_costs_nothing() {
    let mix = Mix::none().with(Behaviour::Slow, 100_000).with(Behaviour::NotFound, 100_000);
    let internet = internet(300, mix);
    let undisturbed = internet.folder.path().join("undisturbed");
    let expected = {
        let database = Database::new(&internet, Stores::folders(&internet, &undisturbed));
        database.start_scan(internet.crawl(), &[]);
        run(database.worker(&["--exit-when-done"])).expect_code(0);
        published(&undisturbed.join("site"))
    };
    let s3 = internet.s3();
    let proxy = HoldingProxy::before(&s3.endpoint);
    let database = Database::new(&internet, Stores::s3(&proxy.endpoint));
    database.start_scan(internet.crawl(), &[]);
    for point in KILL_POINTS {
        kill_at(point, &proxy, &database, &["--exit-when-done"], || {
            let status = database.status();
            stage(&status, point.0)["leased"].as_u64() > Some(0)
        });
    }
    let ended = run(database.worker(&["--exit-when-done"])).expect_code(0);
    let status = database.status();
    assert_eq!(status["state"], "finished", "{status}\n{}", ended.stderr);
    assert_eq!(status["drift"].as_array().map(Vec::len), Some(0), "{}", status["drift"]);
    let expired = status["events"]["expired"].as_u64().unwrap_or(0);
    assert!(expired >= KILL_POINTS.len() as u64, "only {expired} leases expired: {status}");
    let site = internet.folder.path().join("s3/everytab/site");
    assert_same(&expected, &published(&site), "undisturbed and killed");
    outcomes::assert_totals(&site);
}

/// Starts a worker, and kills it when a request is held at this point. `is_at_work` returns whether
/// it was doing the intended work.
pub(crate) fn kill_at(
    (what, method, part, passing): KillPoint,
    proxy: &HoldingProxy,
    database: &Database,
    arguments: &[&str],
    is_at_work: impl FnOnce() -> bool,
) {
    proxy.hold(method, part, passing);
    let mut worker = Running::start(database.worker(arguments));
    proxy.wait_until_held();
    assert!(is_at_work(), "{what}: {}", worker.stderr_text());
    assert!(!worker.has_ended(), "{what}: {}", worker.stderr_text());
    worker.kill();
    proxy.release();
}

fn draws(seed: u64) -> impl Iterator<Item = u64> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        // Knuth's MMIX generator, of which only the upper bits are random enough.
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % 1_000
    })
}

#[test]
fn local_killed_at_random_times_continues_to_the_same_bytes_and_leaves_no_process() {
    let (killed, undisturbed) = (folder(), folder());
    let sample = ["--sample", "--sample-hosts", "250", "--sample-mix", "none"];
    let dir = killed.path().display().to_string();
    for (kill, draw) in draws(20_260_101).take(5).enumerate() {
        let mut arguments = vec!["local", "--dir", &dir, "--workers", "2", "--exit-when-done"];
        arguments.extend(sample);
        let mut running = Running::start(worker(arguments));
        // The first kill happens while Postgres starts, and the others during the scan.
        if kill > 0 {
            wait_for("its first line about the scan", || {
                running.stderr_text().contains(": index ").then_some(())
            });
        }
        thread::sleep(Duration::from_millis(draw));
        if running.has_ended() {
            println!("the scan was over before it could be killed for the {}th time", kill + 1);
            running.finish().expect_code(0);
            break;
        }
        running.kill();
        wait_for("the end of its workers and its Postgres", || {
            processes_of(killed.path()).is_empty().then_some(())
        });
    }
    scan_locally(killed.path(), 2, &sample);
    scan_locally(undisturbed.path(), 1, &sample);
    let left = published(&killed.path().join("site"));
    assert_same(&left, &published(&undisturbed.path().join("site")), "killed and undisturbed");
    outcomes::assert_totals(&killed.path().join("site"));
    assert_eq!(processes_of(killed.path()), Vec::<String>::new());
}

pub(crate) fn processes_of(folder: &Path) -> Vec<String> {
    let name = folder.display().to_string();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let is_process =
            entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit());
        if !is_process {
            continue;
        }
        // Both are empty if the process has just ended.
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let works_in = fs::read_link(entry.path().join("cwd")).unwrap_or_default();
        if line.contains(&name) || works_in.starts_with(folder) {
            found.push(format!("{} {line}", entry.file_name().display()));
        }
    }
    found
}
