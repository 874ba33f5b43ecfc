//! Ends what an owner left running in a cluster's folder when it was killed.
//!
//! A process is one of ours if its program is called `postgres` or `initdb` and its working folder
//! *is* the cluster's folder (same device and inode): both work there, and a process number read
//! from a stale file may by now be anybody's. The folder's lock must be held.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::error::PostgresError;
use crate::process::{self, Signal};

/// A fast shutdown writes a checkpoint, which may take a while on a slow disk.
pub(crate) const FAST_SHUTDOWN_LIMIT: Duration = Duration::from_secs(60);
/// Ending at once writes nothing.
pub(crate) const IMMEDIATE_SHUTDOWN_LIMIT: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(10);

/// Stops every server process that works in `data`, and removes the process file that a killed
/// one left. Nothing to do is the usual case.
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
            // With nobody working here, the file names a dead process or, by now, a stranger, on
            // whose account Postgres would refuse to start.
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

/// True if nobody is left. The signal goes to the postmaster while it lives (its children follow
/// it), else to each process that outlived it.
fn signal_and_wait(data: &Path, signal: Signal, limit: Duration) -> Result<bool, PostgresError> {
    let deadline = Instant::now() + limit;
    let mut told = Vec::new();
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
            if !told.contains(&pid) {
                process::send(pid, signal).map_err(PostgresError::io("stop", data))?;
                told.push(pid);
            }
        }
        sleep(POLL);
    }
}

fn postmaster_of(data: &Path) -> Option<u32> {
    fs::read_to_string(data.join("postmaster.pid")).ok()?.lines().next()?.trim().parse().ok()
}

/// The living `postgres` and `initdb` processes whose working folder is `data`. (A dead one that
/// nobody has reaped has no program and no folder any more.)
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
        // The kernel adds " (deleted)" when a package upgrade replaced the file.
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
