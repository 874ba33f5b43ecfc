//! Starts and stops the server's process.
//!
//! A separate thread (the keeper) starts the server and waits for its exit, because the kernel's
//! parent-death signal belongs to the thread that forked, and a tokio thread exits when it is idle.
//! A signal is sent only under the lock that is held for reaping, so that it never reaches another
//! process with a reused ID.

use std::{
    fs::{self, File},
    io,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, mpsc},
    thread::{self, sleep},
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};

use crate::{
    binaries::Binaries,
    cluster,
    error::PostgresError,
    names::PORT,
    orphans::{FAST_SHUTDOWN_LIMIT, IMMEDIATE_SHUTDOWN_LIMIT},
    process::{self, Signal},
    server_folders::{self, ServerFolders},
    settings::PostgresSettings,
};

/// Time limit for the server's start. Recovery after a crash reads up to max_wal_size (1 GB), which
/// takes minutes on a slow disk.
const START_LIMIT: Duration = Duration::from_secs(300);
/// Interval at which the server's state is read.
const POLL: Duration = Duration::from_millis(10);

#[derive(Debug, Default)]
struct ProcessEnd {
    status: Mutex<Option<io::Result<ExitStatus>>>,
    changed: Condvar,
}

#[derive(Debug)]
pub(crate) struct Server {
    pid: u32,
    end: Arc<ProcessEnd>,
}

impl Server {
    pub(crate) fn start(
        folders: &ServerFolders,
        binaries: &Binaries,
        settings: &PostgresSettings,
    ) -> Result<Self, PostgresError> {
        let log = server_folders::open_log(&folders.log)?;
        let program = binaries.program("postgres");
        let command = command(folders, &program, settings, log)?;
        let end = Arc::new(ProcessEnd::default());
        let (sender, receiver) = mpsc::sync_channel(1);
        let keeper_end = Arc::clone(&end);
        thread::Builder::new()
            .name("postgres-keeper".to_owned())
            .spawn(move || keep(command, &sender, &keeper_end))
            .map_err(PostgresError::io("start a thread for", &program))?;
        let pid = receiver
            .recv()
            .unwrap_or_else(|_| Err(io::Error::other("its thread ended")))
            .map_err(PostgresError::io("run", &program))?;
        let server = Self { pid, end };
        let ready = server.wait_until_ready(folders);
        if ready.is_err() {
            let _ = server.stop();
        }
        ready.map(|()| server)
    }

    fn wait_until_ready(&self, folders: &ServerFolders) -> Result<(), PostgresError> {
        let started = Instant::now();
        let mut announced = false;
        while started.elapsed() < START_LIMIT {
            if is_ready(&folders.data, self.pid) {
                return Ok(());
            }
            if !self.is_running() {
                let messages = fs::read_to_string(&folders.log).unwrap_or_default();
                return Err(PostgresError::from_output(&messages, &folders.data, |message| {
                    PostgresError::Start { message, log: folders.log.clone() }
                }));
            }
            if !announced && started.elapsed() > Duration::from_secs(5) {
                announced = true;
                tracing::info!("Postgres is still recovering in {}", folders.data.display());
            }
            sleep(POLL);
        }
        let message = format!("not ready after {} s", START_LIMIT.as_secs());
        Err(PostgresError::Start { message, log: folders.log.clone() })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    pub(crate) fn is_running(&self) -> bool {
        self.end.status.lock().is_none()
    }

    pub(crate) fn stop(&self) -> Result<(), PostgresError> {
        let escalation = [
            (Signal::FastShutdown, FAST_SHUTDOWN_LIMIT),
            (Signal::ImmediateShutdown, IMMEDIATE_SHUTDOWN_LIMIT),
            (Signal::Kill, IMMEDIATE_SHUTDOWN_LIMIT),
        ];
        for (signal, limit) in escalation {
            let mut status = self.end.status.lock();
            if status.is_none() {
                let _ = process::send(self.pid, signal);
            }
            self.end.changed.wait_while_for(&mut status, |status| status.is_none(), limit);
            if status.is_some() {
                return Ok(());
            }
        }
        Err(PostgresError::DoesNotStop(self.pid))
    }
}

fn keep(mut command: Command, sender: &mpsc::SyncSender<io::Result<u32>>, end: &ProcessEnd) {
    let child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            *end.status.lock() = Some(Err(io::Error::from(error.kind())));
            let _ = sender.send(Err(error));
            return;
        }
    };
    let _ = sender.send(Ok(child.id()));
    let waited = process::wait_without_reaping(child.id());
    let mut status = end.status.lock();
    *status = Some(waited.and_then(|()| reap(child)));
    end.changed.notify_all();
}

fn reap(mut child: Child) -> io::Result<ExitStatus> {
    child.wait()
}

fn command(
    folders: &ServerFolders,
    program: &Path,
    settings: &PostgresSettings,
    log: File,
) -> Result<Command, PostgresError> {
    let also_log = log.try_clone().map_err(PostgresError::io("write", &folders.log))?;
    let mut command = Command::new(program);
    command.arg("-D").arg(&folders.data);
    for (name, value) in server_settings(folders, settings) {
        command.arg("-c").arg(format!("{name}={value}"));
    }
    command.current_dir(&folders.data).stdin(Stdio::null()).stdout(log).stderr(also_log);
    cluster::set_environment(&mut command);
    folders.user.runs(&mut command);
    process::ends_with_its_parent(&mut command, Signal::FastShutdown);
    Ok(command)
}

fn server_settings(folders: &ServerFolders, settings: &PostgresSettings) -> Vec<(String, String)> {
    let sockets = folders.socket_folder.display().to_string();
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

fn is_ready(data: &Path, pid: u32) -> bool {
    let Ok(text) = fs::read_to_string(data.join("postmaster.pid")) else { return false };
    let mut lines = text.lines();
    let writer = lines.next().and_then(|line| line.trim().parse().ok());
    writer == Some(pid) && lines.nth(6).is_some_and(|line| line.trim() == "ready")
}
