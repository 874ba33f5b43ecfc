//! PgBouncer in transaction mode in front of a test run's server.

#![allow(clippy::panic, clippy::unwrap_used)]

use std::{
    env,
    fs::{self, File},
    net::TcpListener,
    os::unix::fs::{MetadataExt as _, chown},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::Duration,
};

use crate::testing::shared_for_tests;

/// Interval at which the log is read while PgBouncer starts.
const POLL: Duration = Duration::from_millis(10);
/// Maximum number of these reads, which take a minute.
const POLLS: usize = 6_000;

/// A running PgBouncer. Dropping this value stops it.
#[derive(Debug)]
pub struct Pooler {
    child: Child,
    user: String,
    port: u16,
    log: PathBuf,
}

impl Drop for Pooler {
    fn drop(&mut self) {
        // If PgBouncer has already stopped, these calls fail, which is harmless.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Pooler {
    /// Starts PgBouncer, with at most `sessions` sessions of `user`, and further settings, one per
    /// line. Its files are in the new directory `folder`. Returns `None` if PgBouncer is not
    /// installed.
    ///
    /// # Panics
    ///
    /// Panics if PgBouncer does not start.
    pub fn start(folder: &Path, user: &str, sessions: usize, settings: &str) -> Option<Self> {
        let program = program()?;
        let socket = shared_for_tests().socket();
        let sockets = socket.parent().unwrap();
        fs::create_dir(folder).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let users = folder.join("users.txt");
        fs::write(&users, format!("\"{user}\" \"\"\n")).unwrap();
        let file = folder.join("pgbouncer.ini");
        let text = format!(
            "[databases]\n* = host={} port=5432\n\
             [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
             auth_type = trust\nauth_file = {}\npool_mode = transaction\n\
             default_pool_size = {sessions}\nserver_reset_query =\n{settings}\n",
            sockets.display(),
            users.display()
        );
        fs::write(&file, text).unwrap();
        let log = folder.join("log");
        let mut command = Command::new("setpriv");
        // The kernel kills PgBouncer when this thread ends.
        command.args(["--pdeathsig", "KILL"]);
        if fs::metadata("/proc/self").unwrap().uid() == 0 {
            // PgBouncer refuses to run as root, and only the server's user may enter its socket's
            // directory.
            let owner = fs::metadata(sockets).unwrap();
            for path in [folder, &users, &file] {
                chown(path, Some(owner.uid()), Some(owner.gid())).unwrap();
            }
            let (uid, gid) = (owner.uid().to_string(), owner.gid().to_string());
            command.args(["--reuid", &uid, "--regid", &gid, "--clear-groups"]);
        }
        command.arg(program).arg(&file).stdin(Stdio::null()).stdout(Stdio::null());
        let child = command.stderr(File::create(&log).unwrap()).spawn().unwrap();
        let pooler = Self { child, user: user.to_owned(), port, log };
        for _ in 0..POLLS {
            if pooler.log_text().contains("process up") {
                return Some(pooler);
            }
            sleep(POLL);
        }
        panic!("PgBouncer did not start: {}", pooler.log_text());
    }

    /// Returns PgBouncer's log.
    ///
    /// # Panics
    ///
    /// Panics if the log cannot be read.
    pub fn log_text(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    /// Returns a database's URL on the shared server, through this pooler.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://{}@127.0.0.1:{}/{database}", self.user, self.port)
    }
}

fn program() -> Option<PathBuf> {
    let folders = env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = env::split_paths(&folders).collect();
    folders.push("/usr/sbin".into());
    let found = folders.iter().map(|folder| folder.join("pgbouncer")).find(|path| path.is_file());
    if found.is_none() {
        println!("skipped: no pgbouncer; scripts/install/test.sh installs it");
    }
    found
}
