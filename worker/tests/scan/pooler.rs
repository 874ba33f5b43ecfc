//! Workers behind PgBouncer in transaction mode, where each transaction may get another session.

use std::{
    fs::{self, File},
    net::TcpListener,
    os::unix::fs::{MetadataExt as _, chown},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use everytab_postgres::shared_for_tests;
use everytab_testbed::{Behaviour, Mix};

use crate::{
    environment::{Database, Stores, internet},
    outcomes,
    setup::{Running, assert_same, published, run, wait_for},
};

/// Server sessions that all workers share; each worker has up to five client connections.
const SESSIONS: usize = 4;

/// A PgBouncer before the shared Postgres, run by the same user. It ends with its test.
struct Pooler {
    child: Child,
    port: u16,
    log: PathBuf,
}

impl Drop for Pooler {
    fn drop(&mut self) {
        // It has ended already, or ends now.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn program() -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&folders).collect();
    folders.push("/usr/sbin".into());
    let found = folders.iter().map(|folder| folder.join("pgbouncer")).find(|path| path.is_file());
    if found.is_none() {
        println!("skipped: no pgbouncer; scripts/install/test.sh installs it");
    }
    found
}

impl Pooler {
    fn start(folder: &Path) -> Option<Self> {
        let program = program()?;
        let socket = shared_for_tests().socket();
        let sockets = socket.parent().unwrap();
        // Only the Postgres user may enter its socket directory, and PgBouncer refuses to run as
        // root.
        let owner = fs::metadata(sockets).unwrap();
        let folder = folder.join("pooler");
        fs::create_dir(&folder).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let users = folder.join("users.txt");
        fs::write(&users, "\"everytab_worker\" \"\"\n").unwrap();
        let settings = folder.join("pgbouncer.ini");
        let text = format!(
            "[databases]\n* = host={} port=5432\n\
             [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
             auth_type = trust\nauth_file = {}\npool_mode = transaction\n\
             default_pool_size = {SESSIONS}\nserver_reset_query =\nserver_lifetime = 3\n\
             server_idle_timeout = 2\n",
            sockets.display(),
            users.display()
        );
        fs::write(&settings, text).unwrap();
        let log = folder.join("log");
        let mut command = Command::new("setpriv");
        // The kernel kills PgBouncer when this thread ends.
        command.args(["--pdeathsig", "KILL"]);
        if fs::metadata("/proc/self").unwrap().uid() == 0 {
            for path in [&folder, &users, &settings] {
                chown(path, Some(owner.uid()), Some(owner.gid())).unwrap();
            }
            let (user, group) = (owner.uid().to_string(), owner.gid().to_string());
            command.args(["--reuid", &user, "--regid", &group, "--clear-groups"]);
        }
        command.arg(program).arg(&settings).stdin(Stdio::null()).stdout(Stdio::null());
        let child = command.stderr(File::create(&log).unwrap()).spawn().unwrap();
        let pooler = Self { child, port, log };
        wait_for("the pooler", || pooler.log_text().contains("process up").then_some(()));
        Some(pooler)
    }

    fn log_text(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    fn url(&self, database: &str) -> String {
        format!("postgres://everytab_worker@127.0.0.1:{}/{database}", self.port)
    }
}

#[test]
fn a_scan_through_a_pooler_in_transaction_mode_gives_the_same_bytes() {
    let mix = Mix::none().with(Behaviour::NotFound, 100_000).with(Behaviour::Slow, 100_000);
    let internet = internet(300, mix);
    let dir = internet.folder.path();
    let Some(pooler) = Pooler::start(dir) else { return };
    let direct = Database::new(&internet, Stores::folders(&internet, &dir.join("direct")));
    direct.start_scan(internet.crawl(), &[]);
    run(direct.worker(&["--exit-when-done"])).expect_code(0);

    let mut pooled = Database::new(&internet, Stores::folders(&internet, &dir.join("pooled")));
    pooled.worker_url = pooler.url(&pooled.name);
    // No lease may run out, on a busy machine either.
    pooled.start_scan_with_lease(internet.crawl(), "1m", &[]);
    let mut workers: Vec<Running> =
        (0..3).map(|_| Running::start(pooled.worker(&["--exit-when-done"]))).collect();
    let mut most = 0;
    let mut named = 0;
    wait_for("the end of the scan", || {
        let sessions = "select count(*) from pg_stat_activity
                         where datname = current_database() and usename = 'everytab_worker'";
        most = most.max(pooled.psql(sessions).trim().parse::<usize>().unwrap());
        named += prepared_statements(&pooled.worker_url);
        // The exit codes of workers that have ended are checked below.
        let is_over =
            pooled.status()["state"] == "finished" || workers.iter_mut().all(Running::has_ended);
        is_over.then_some(())
    });
    for worker in workers {
        let ended = worker.finish().expect_code(0);
        for message in ["prepared statement", "cannot reach Postgres", "retrying", "ERROR"] {
            assert!(!ended.stderr.contains(message), "{}", ended.stderr);
        }
    }
    assert!((1..=SESSIONS).contains(&most), "{most} sessions");
    assert_eq!(named, 0, "statements were prepared for a session");
    let status = pooled.status();
    assert_eq!(status["drift"].as_array().map(Vec::len), Some(0), "{}", status["drift"]);
    assert_eq!(status["events"], serde_json::json!({}), "{status}");
    let said = pooler.log_text();
    assert!(!said.contains("ERROR") && !said.contains("unsupported"), "{said}");
    let site = dir.join("pooled/site");
    assert_same(&published(&dir.join("direct/site")), &published(&site), "direct and pooled");
    outcomes::assert_totals(&site);
}

/// Returns how many prepared statements one of the pooler's sessions has.
fn prepared_statements(url: &str) -> usize {
    let sql = "select count(*) from pg_prepared_statements";
    let mut psql = Command::new("psql");
    let said = psql.args(["--no-psqlrc", "--tuples-only", "--command", sql, url]).output().unwrap();
    let text = String::from_utf8_lossy(&said.stdout);
    text.trim().parse().unwrap_or_else(|_| panic!("{said:?}"))
}
