//! The workers of a storm: processes of their own, each behind its own wires, started again when
//! they end before the scan does.

use std::{
    fs::{self, File},
    io::Write as _,
    path::PathBuf,
    time::{Duration, Instant},
};

use super::wire::{Mode, Proxy};
use crate::{
    netns::{self, Uplink},
    places::with_s3,
    setup::{Running, wait_for, worker},
};

const FILLING: &str = "everything-else";

/// What all workers of a storm are started with.
#[derive(Debug)]
pub(crate) struct Orders {
    /// Ordinary options of `run`.
    pub(crate) arguments: Vec<String>,
    /// The database's name.
    pub(crate) database: String,
    /// Where S3 is.
    pub(crate) s3: String,
}

/// One place for a worker, and the worker in it.
#[derive(Debug)]
pub(crate) struct Member {
    /// Its own way to Postgres.
    pub(crate) database: Proxy,
    /// Its own way to everything, where namespaces can be made.
    pub(crate) uplink: Option<Uplink>,
    /// For its temporary files.
    pub(crate) temporary: PathBuf,
    /// Whether that is a small file system of its own.
    pub(crate) is_small: bool,
    /// The limit of open files from the next start on.
    pub(crate) files: Option<u64>,
    running: Option<Running>,
    start_at: Instant,
    /// What ended workers said, with how they ended.
    pub(crate) said: Vec<(String, String)>,
}

impl Member {
    pub(crate) fn new(database: Proxy, uplink: Option<Uplink>, temporary: PathBuf) -> Self {
        Self {
            database,
            uplink,
            temporary,
            is_small: false,
            files: None,
            running: None,
            start_at: Instant::now(),
            said: Vec::new(),
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

    /// kill -9, and another start after a while.
    pub(crate) fn kill(&mut self, rest: Duration) {
        if let Some(mut running) = self.running.take() {
            running.kill();
            self.said.push(("killed".to_owned(), running.said()));
        }
        self.start_at = Instant::now() + rest;
    }

    /// Writes to the worker's folder until there is no room.
    pub(crate) fn fill_disk(&self) {
        let mut file = File::create(self.temporary.join(FILLING)).unwrap();
        while file.write_all(&[1; 64 << 10]).is_ok() {}
    }

    /// Makes files in the worker's folder until there can be none more.
    pub(crate) fn take_all_files(&self) {
        let name = |number: usize| self.temporary.join(format!("file-{number}"));
        let taken = (0..).take_while(|number| File::create(name(*number)).is_ok()).count();
        assert!(taken > 0, "no file could be made in {}", self.temporary.display());
    }

    pub(crate) fn give_files_back(&self) {
        for entry in fs::read_dir(&self.temporary).unwrap().flatten() {
            if entry.file_name().to_string_lossy().starts_with("file-") {
                fs::remove_file(entry.path()).unwrap();
            }
        }
    }

    pub(crate) fn free_disk(&self) {
        fs::remove_file(self.temporary.join(FILLING)).unwrap();
    }

    fn start(&mut self, orders: &Orders) {
        let mut command = worker(["run", "--exit-when-done"]);
        command.args(&orders.arguments).arg("--temporary").arg(&self.temporary);
        let place = self.database.address;
        let url = format!("postgres://everytab_worker@{place}/{}?sslmode=disable", orders.database);
        command.env("DATABASE_URL", url);
        with_s3(&mut command, &orders.s3);
        if let Some(uplink) = &self.uplink {
            uplink.confine(&mut command);
        }
        if let Some(files) = self.files {
            netns::few_files(&mut command, files);
        }
        self.running = Some(Running::start(command));
    }

    /// Starts a worker where there is none and its time has come; answers how the last one ended,
    /// if it just did by itself.
    pub(crate) fn tend(&mut self, orders: &Orders) -> Option<i32> {
        if self.running.as_mut().is_some_and(Running::has_ended) {
            let ended = self.running.take()?.finish();
            let code = ended.code();
            self.said.push((format!("{code:?}"), ended.stderr));
            self.start_at = Instant::now() + Duration::from_millis(300);
            return code.or(Some(-1));
        }
        if self.running.is_none() && Instant::now() >= self.start_at {
            self.start(orders);
        }
        None
    }

    /// Waits until a worker that was left alone has ended.
    pub(crate) fn wait_for_end(&mut self) {
        self.database.set(Mode::Pass);
        let Some(mut running) = self.running.take() else { return };
        wait_for("the end of a worker whose scan is finished", || {
            running.has_ended().then_some(())
        });
        let ended = running.finish();
        self.said.push((format!("{:?}", ended.code()), ended.stderr));
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.running = None;
        if self.is_small {
            // The mount goes with the thread's mounts at the latest.
            let _ = netns::unmount(&self.temporary);
        }
    }
}
