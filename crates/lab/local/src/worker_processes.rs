//! The worker processes of a local scan or crawl service. The kernel kills them when this process
//! ends. Ctrl-C reaches only this process, which then drains them.

use std::{
    ffi::OsString,
    path::PathBuf,
    process::{ExitStatus, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use everytab_console::OperationError;
use parking_lot::Mutex;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, ChildStderr, Command},
};

use crate::parent_death;

/// Maximum worker crashes before this process gives up.
const MAX_CRASHES: u32 = 20;
/// Interval between checks for exited workers.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The worker processes of a scan or service. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct WorkerProcesses {
    shared: Arc<Mutex<Processes>>,
}

#[derive(Debug, Default)]
struct Processes {
    start: Option<WorkerStart>,
    running: Vec<Child>,
    crashes: u32,
}

#[derive(Debug, Clone)]
pub(crate) struct WorkerStart {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) database_url: String,
    pub(crate) workers: u16,
    pub(crate) log: &'static str,
    /// Receives the workers' log lines. `None` if they share this process's standard error.
    pub(crate) log_writer: Option<fn(&[u8])>,
}

impl WorkerProcesses {
    /// Call this on a thread that lives until the workers have stopped.
    pub(crate) fn start(&self, start: WorkerStart) -> Result<(), OperationError> {
        let mut shared = self.shared.lock();
        for _ in 0..start.workers {
            shared.running.push(start.spawn()?);
        }
        shared.start = Some(start);
        Ok(())
    }

    /// Restarts crashed workers. Returns true if all workers have exited without a crash, and an
    /// error after too many crashes.
    pub(crate) fn restart_crashed(&self) -> Result<bool, OperationError> {
        let mut shared = self.shared.lock();
        let mut crashed: Vec<ExitStatus> = Vec::new();
        let mut alive = Vec::new();
        for mut child in std::mem::take(&mut shared.running) {
            match child.try_wait()? {
                None => alive.push(child),
                // Exit codes 0 and 3 mean that the scan has ended. Code 4 means that only this
                // worker was drained.
                Some(status) if matches!(status.code(), Some(0 | 3 | 4)) => {}
                Some(status) => crashed.push(status),
            }
        }
        shared.running = alive;
        for status in crashed {
            shared.crashes += 1;
            tracing::warn!(%status, "a worker exited early; restarting it");
            if shared.crashes > MAX_CRASHES {
                return Err(OperationError::new(format!(
                    "workers keep exiting early ({status}); see the last log lines above"
                )));
            }
            if let Some(start) = shared.start.clone() {
                shared.running.push(start.spawn()?);
            }
        }
        Ok(shared.running.is_empty())
    }

    pub(crate) fn first_ended(&self) -> Result<Option<ExitStatus>, OperationError> {
        let mut shared = self.shared.lock();
        let mut ended = None;
        let mut alive = Vec::new();
        for mut child in std::mem::take(&mut shared.running) {
            match child.try_wait()? {
                None => alive.push(child),
                Some(status) => ended = ended.or(Some(status)),
            }
        }
        shared.running = alive;
        Ok(ended)
    }

    pub(crate) async fn stop(&self, patience: Duration) {
        for child in &self.shared.lock().running {
            parent_death::terminate(child);
        }
        let give_up = Instant::now() + patience;
        loop {
            let all_left = {
                let mut shared = self.shared.lock();
                shared.running.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
                shared.running.is_empty()
            };
            if all_left || Instant::now() > give_up {
                break;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        self.kill();
    }

    /// Kills all workers immediately.
    pub fn kill(&self) {
        for child in &mut self.shared.lock().running {
            if let Err(error) = child.start_kill() {
                tracing::debug!(%error, "a worker had already exited");
            }
        }
    }
}

impl WorkerStart {
    fn spawn(&self) -> Result<Child, OperationError> {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .env("DATABASE_URL", &self.database_url)
            .stdin(Stdio::null())
            .process_group(0)
            .kill_on_drop(true);
        if self.workers > 1 {
            // Only one process can listen on the metrics address.
            command.env_remove("EVERYTAB_METRICS");
        }
        if std::env::var_os("EVERYTAB_LOG").is_none() {
            command.env("EVERYTAB_LOG", self.log);
        }
        parent_death::with_parent(&mut command);
        if self.log_writer.is_some() {
            command.stderr(Stdio::piped());
        }
        let mut child = command.spawn().map_err(|error| {
            OperationError::new(format!(
                "the worker {} did not start: {error}",
                self.program.display()
            ))
        })?;
        if let Some((stderr, write)) = child.stderr.take().zip(self.log_writer) {
            tokio::spawn(pass_log_lines(stderr, write));
        }
        Ok(child)
    }
}

async fn pass_log_lines(stderr: ChildStderr, write: fn(&[u8])) {
    let mut lines = BufReader::new(stderr).split(b'\n');
    while let Ok(Some(mut line)) = lines.next_segment().await {
        line.push(b'\n');
        write(&line);
    }
}
