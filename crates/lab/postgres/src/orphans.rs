//! Stops the processes that a killed owner left in a cluster's directory. They are recognized by
//! their program and working directory, because a process ID in a stale file may now belong to
//! another process. The caller must hold the directory's lock.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::Path,
    thread::sleep,
    time::{Duration, Instant},
};

use crate::{
    error::PostgresError,
    process::{self, Signal},
};

/// Time limit for a fast shutdown, which writes a checkpoint.
pub(crate) const FAST_SHUTDOWN_LIMIT: Duration = Duration::from_secs(60);
/// Time limit for an immediate shutdown, which writes nothing, and for a kill.
pub(crate) const IMMEDIATE_SHUTDOWN_LIMIT: Duration = Duration::from_secs(10);
/// Interval at which processes are listed.
const POLL: Duration = Duration::from_millis(10);

pub(crate) fn stop_all_in(data: &Path) -> Result<(), PostgresError> {
    if !data.exists() {
        return Ok(());
    }
    let left = in_folder(data)?;
    if !left.is_empty() {
        tracing::info!("stopping the Postgres that a killed owner left in {}", data.display());
    }
    let escalation = [
        (Signal::FastShutdown, FAST_SHUTDOWN_LIMIT),
        (Signal::ImmediateShutdown, IMMEDIATE_SHUTDOWN_LIMIT),
        (Signal::Kill, IMMEDIATE_SHUTDOWN_LIMIT),
    ];
    for (signal, limit) in escalation {
        if signal_and_wait(data, signal, limit)? {
            // This file now names a dead or an unrelated process. Delete it, because Postgres does
            // not start while it names a live one.
            let stale = data.join("postmaster.pid");
            return match fs::remove_file(&stale) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    Err(PostgresError::io("delete", &stale)(error))
                }
                _ => Ok(()),
            };
        }
    }
    let left = in_folder(data)?;
    left.first().map_or(Ok(()), |pid| Err(PostgresError::DoesNotStop(*pid)))
}

/// While the postmaster runs, signals only this process. Otherwise, and for SIGKILL, signals each
/// remaining process. Returns true if none remains.
fn signal_and_wait(data: &Path, signal: Signal, limit: Duration) -> Result<bool, PostgresError> {
    let deadline = Instant::now() + limit;
    let mut signalled = Vec::new();
    loop {
        let left = in_folder(data)?;
        if left.is_empty() {
            return Ok(true);
        }
        if Instant::now() >= deadline {
            return Ok(false);
        }
        let postmaster = postmaster_of(data).filter(|pid| left.contains(pid));
        let targets = match postmaster {
            Some(pid) if signal != Signal::Kill => vec![pid],
            _ => left,
        };
        for pid in targets {
            if !signalled.contains(&pid) {
                process::send(pid, signal).map_err(PostgresError::io("stop", data))?;
                signalled.push(pid);
            }
        }
        sleep(POLL);
    }
}

fn postmaster_of(data: &Path) -> Option<u32> {
    fs::read_to_string(data.join("postmaster.pid")).ok()?.lines().next()?.trim().parse().ok()
}

fn in_folder(data: &Path) -> Result<Vec<u32>, PostgresError> {
    let ours = fs::metadata(data).map_err(PostgresError::io("look at", data))?;
    let processes = Path::new("/proc");
    let entries = fs::read_dir(processes).map_err(PostgresError::io("read", processes))?;
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let Ok(program) = fs::read_link(entry.path().join("exe")) else { continue };
        // The kernel appends " (deleted)" when a package upgrade replaced the file.
        let name = program.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !matches!(name.trim_end_matches(" (deleted)"), "postgres" | "initdb") {
            continue;
        }
        let Ok(folder) = fs::metadata(entry.path().join("cwd")) else { continue };
        if folder.dev() == ours.dev() && folder.ino() == ours.ino() {
            found.push(pid);
        }
    }
    Ok(found)
}
