//! A chaos test's workers. Each has its own proxies, and is restarted if it exits before the scan
//! ends.

use std::{
    fs::{self, File},
    io::Write as _,
    path::PathBuf,
    time::{Duration, Instant},
};

use super::fault_proxy::{FaultProxy, Mode};
use crate::{
    environment::with_s3,
    netns::{self, WorkerNetwork},
    setup::{Running, wait_for, worker},
};

const FILL_FILE: &str = "fill";

#[derive(Debug)]
pub(crate) struct WorkerOptions {
    pub(crate) arguments: Vec<String>,
    pub(crate) database: String,
    pub(crate) s3: String,
}

#[derive(Debug)]
pub(crate) struct ChaosWorker {
    pub(crate) database: FaultProxy,
    /// The worker's network namespace, if the kernel allows one.
    pub(crate) network: Option<WorkerNetwork>,
    pub(crate) temporary: PathBuf,
    /// Whether this directory is a separate small file system.
    pub(crate) is_small: bool,
    pub(crate) files: Option<u64>,
    running: Option<Running>,
    start_at: Instant,
    /// The exit status and log of each ended process.
    pub(crate) ended_logs: Vec<(String, String)>,
}

impl ChaosWorker {
    pub(crate) fn new(
        database: FaultProxy,
        network: Option<WorkerNetwork>,
        temporary: PathBuf,
    ) -> Self {
        Self {
            database,
            network,
            temporary,
            is_small: false,
            files: None,
            running: None,
            start_at: Instant::now(),
            ended_logs: Vec::new(),
        }
    }

    pub(crate) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    pub(crate) fn signal(&self, name: &str) {
        if let Some(running) = &self.running {
            running.signal(name);
        }
    }

    pub(crate) fn kill(&mut self, pause: Duration) {
        if let Some(mut running) = self.running.take() {
            running.kill();
            self.ended_logs.push(("killed".to_owned(), running.stderr_text()));
        }
        self.start_at = Instant::now() + pause;
    }

    pub(crate) fn fill_disk(&self) {
        let mut file = File::create(self.temporary.join(FILL_FILE)).unwrap();
        while file.write_all(&[1; 64 << 10]).is_ok() {}
    }

    /// Takes all inodes of the worker's file system.
    pub(crate) fn take_all_files(&self) {
        let name = |number: usize| self.temporary.join(format!("file-{number}"));
        let taken = (0..).take_while(|number| File::create(name(*number)).is_ok()).count();
        assert!(taken > 0, "no file could be created in {}", self.temporary.display());
    }

    pub(crate) fn give_files_back(&self) {
        for entry in fs::read_dir(&self.temporary).unwrap().flatten() {
            if entry.file_name().to_string_lossy().starts_with("file-") {
                fs::remove_file(entry.path()).unwrap();
            }
        }
    }

    pub(crate) fn free_disk(&self) {
        fs::remove_file(self.temporary.join(FILL_FILE)).unwrap();
    }

    fn start(&mut self, options: &WorkerOptions) {
        let mut command = worker(["run", "--exit-when-done"]);
        command.args(&options.arguments).arg("--temporary").arg(&self.temporary);
        let place = self.database.address;
        let url =
            format!("postgres://everytab_worker@{place}/{}?sslmode=disable", options.database);
        command.env("DATABASE_URL", url);
        with_s3(&mut command, &options.s3);
        if let Some(network) = &self.network {
            network.confine(&mut command);
        }
        if let Some(files) = self.files {
            netns::limit_open_files(&mut command, files);
        }
        self.running = Some(Running::start(command));
    }

    /// Starts the worker if its pause is over. Returns the exit code if it has just exited by
    /// itself, or -1 after a signal.
    pub(crate) fn restart_if_ended(&mut self, options: &WorkerOptions) -> Option<i32> {
        if self.running.as_mut().is_some_and(Running::has_ended) {
            let ended = self.running.take()?.finish();
            let code = ended.code();
            self.ended_logs.push((format!("{code:?}"), ended.stderr));
            self.start_at = Instant::now() + Duration::from_millis(300);
            return code.or(Some(-1));
        }
        if self.running.is_none() && Instant::now() >= self.start_at {
            self.start(options);
        }
        None
    }

    /// Forwards all bytes, and waits until the worker has exited.
    pub(crate) fn wait_for_end(&mut self) {
        self.database.set(Mode::Pass);
        let Some(mut running) = self.running.take() else { return };
        wait_for("the end of a worker whose scan is finished", || {
            running.has_ended().then_some(())
        });
        let ended = running.finish();
        self.ended_logs.push((format!("{:?}", ended.code()), ended.stderr));
    }
}

impl Drop for ChaosWorker {
    fn drop(&mut self) {
        self.running = None;
        if self.is_small {
            // Otherwise, the mount disappears with the thread's mount namespace.
            let _ = netns::unmount(&self.temporary);
        }
    }
}
