//! One running server: starting it, knowing when it is ready, and stopping it.
//!
//! A thread of its own (the keeper) starts the server and waits for its end, because the kernel's
//! parent-death signal belongs to the thread that forked: a server started on a test's thread, or
//! on one of tokio's that idles out, would be told to shut down when that thread ends.
//! The server's process number is used only under the lock that its reaping takes too, so a signal
//! never goes to a stranger who got the number later.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use crate::PostgresSettings;
use crate::binaries::Binaries;
use crate::cluster;
use crate::error::PostgresError;
use crate::orphans::{FAST_SHUTDOWN_LIMIT, IMMEDIATE_SHUTDOWN_LIMIT};
use crate::place::{self, Place};
use crate::process::{self, Signal};
use crate::psql::PORT;

/// Recovery after a crash reads at most max_wal_size (1 GB) of log; a slow disk needs minutes.
const START_LIMIT: Duration = Duration::from_secs(300);
const POLL: Duration = Duration::from_millis(10);

/// None while it runs.
type Ended = Option<io::Result<ExitStatus>>;

#[derive(Debug, Default)]
struct Life {
    ended: Mutex<Ended>,
    changed: Condvar,
}

impl Life {
    fn lock(&self) -> MutexGuard<'_, Ended> {
        // The value is written whole in one assignment: a panicking holder leaves it right.
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A server's process.
#[derive(Debug)]
pub(crate) struct Server {
    pid: u32,
    life: Arc<Life>,
}

impl Server {
    /// Starts the server and waits until it takes connections.
    pub(crate) fn start(
        place: &Place,
        binaries: &Binaries,
        settings: &PostgresSettings,
    ) -> Result<Self, PostgresError> {
        let log = place::open_log(&place.log)?;
        let program = binaries.program("postgres");
        let command = command(place, &program, settings, log)?;
        let life = Arc::new(Life::default());
        let (sender, receiver) = mpsc::sync_channel(1);
        let keeper_life = Arc::clone(&life);
        thread::Builder::new()
            .name("postgres-keeper".to_owned())
            .spawn(move || keep(command, &sender, &keeper_life))
            .map_err(PostgresError::io("start a thread for", &program))?;
        let pid = receiver
            .recv()
            .unwrap_or_else(|_| Err(io::Error::other("its thread ended")))
            .map_err(PostgresError::io("run", &program))?;
        let server = Self { pid, life };
        let ready = server.wait_until_ready(place);
        if ready.is_err() {
            let _ = server.stop();
        }
        ready.map(|()| server)
    }

    fn wait_until_ready(&self, place: &Place) -> Result<(), PostgresError> {
        let started = Instant::now();
        let mut told = false;
        while started.elapsed() < START_LIMIT {
            if is_ready(&place.data, self.pid) {
                return Ok(());
            }
            if !self.is_running() {
                let said = fs::read_to_string(&place.log).unwrap_or_default();
                return Err(PostgresError::from_complaint(&said, &place.data, |complaint| {
                    PostgresError::Start { complaint, log: place.log.clone() }
                }));
            }
            if !told && started.elapsed() > Duration::from_secs(5) {
                told = true;
                tracing::info!("Postgres is still recovering in {}", place.data.display());
            }
            sleep(POLL);
        }
        let complaint = format!("not ready after {} s", START_LIMIT.as_secs());
        Err(PostgresError::Start { complaint, log: place.log.clone() })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    pub(crate) fn is_running(&self) -> bool {
        self.life.lock().is_none()
    }

    /// Fast shutdown, then harder. Stopping twice is stopping once.
    pub(crate) fn stop(&self) -> Result<(), PostgresError> {
        let escalation = [
            (Signal::FastShutdown, FAST_SHUTDOWN_LIMIT),
            (Signal::ImmediateShutdown, IMMEDIATE_SHUTDOWN_LIMIT),
            (Signal::Kill, IMMEDIATE_SHUTDOWN_LIMIT),
        ];
        for (signal, limit) in escalation {
            let ended = self.life.lock();
            if ended.is_none() {
                // A refusal (the server runs as another user by now) shows as a timeout.
                let _ = process::send(self.pid, signal);
            }
            let waited =
                self.life.changed.wait_timeout_while(ended, limit, |ended| ended.is_none());
            if waited.unwrap_or_else(PoisonError::into_inner).0.is_some() {
                return Ok(());
            }
        }
        Err(PostgresError::DoesNotStop(self.pid))
    }
}

/// The keeper's life: fork, say so, wait, reap.
fn keep(mut command: Command, sender: &mpsc::SyncSender<io::Result<u32>>, life: &Life) {
    let child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            *life.lock() = Some(Err(io::Error::from(error.kind())));
            let _ = sender.send(Err(error));
            return;
        }
    };
    let _ = sender.send(Ok(child.id()));
    let waited = process::wait_without_reaping(child.id());
    let mut ended = life.lock();
    *ended = Some(waited.and_then(|()| reap(child)));
    life.changed.notify_all();
}

fn reap(mut child: Child) -> io::Result<ExitStatus> {
    child.wait()
}

fn command(
    place: &Place,
    program: &Path,
    settings: &PostgresSettings,
    log: File,
) -> Result<Command, PostgresError> {
    let also_log = log.try_clone().map_err(PostgresError::io("write", &place.log))?;
    let mut command = Command::new(program);
    command.arg("-D").arg(&place.data);
    for (name, value) in server_settings(place, settings) {
        command.arg("-c").arg(format!("{name}={value}"));
    }
    command.current_dir(&place.data).stdin(Stdio::null()).stdout(log).stderr(also_log);
    cluster::set_environment(&mut command);
    place.user.runs(&mut command);
    process::ends_with_its_parent(&mut command, Signal::FastShutdown);
    Ok(command)
}

/// On the command line, so that they hold at every start whatever the cluster's own files say.
fn server_settings(place: &Place, settings: &PostgresSettings) -> Vec<(String, String)> {
    let sockets = place.socket_folder.display().to_string();
    let connections = settings.max_connections.to_string();
    let port = PORT.to_string();
    let mut all = vec![
        ("listen_addresses", ""),
        ("unix_socket_directories", &sockets),
        ("unix_socket_permissions", "0700"),
        ("port", &port),
        ("max_connections", &connections),
        ("timezone", "UTC"),
        ("log_timezone", "UTC"),
        ("logging_collector", "off"),
        ("log_destination", "stderr"),
    ];
    if !settings.durable {
        all.extend([("fsync", "off"), ("full_page_writes", "off"), ("synchronous_commit", "off")]);
    }
    let own = all.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    own.chain(settings.extra.iter().cloned()).collect()
}

/// Postgres writes its state into the eighth line of its process file (pg_ctl reads it there).
fn is_ready(data: &Path, pid: u32) -> bool {
    let Ok(text) = fs::read_to_string(data.join("postmaster.pid")) else { return false };
    let mut lines = text.lines();
    let writer = lines.next().and_then(|line| line.trim().parse().ok());
    writer == Some(pid) && lines.nth(6).is_some_and(|line| line.trim() == "ready")
}
