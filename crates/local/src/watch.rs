//! Shows where a local scan stands, until it ends.

use std::{
    io::IsTerminal as _,
    time::{Duration, Instant},
};

use everytab_coordinator::Coordinator;
use everytab_operations::{
    OperationError,
    progress::{self, STATUS_SHARE},
};
use serde_json::Value;
use tokio::sync::watch;

use crate::worker_processes::WorkerProcesses;

/// How often the picture is painted again: twice a second looks alive, and costs one query each.
const REPAINT_INTERVAL: Duration = Duration::from_millis(500);

/// Watches until the scan has ended or `stop` turns true; answers the last status.
///
/// # Errors
/// When workers keep crashing, or the database is gone.
pub(crate) async fn watch_scan(
    coordinator: &Coordinator,
    number: i32,
    processes: &WorkerProcesses,
    stop: &mut watch::Receiver<bool>,
) -> Result<Value, OperationError> {
    let on_terminal = std::io::stderr().is_terminal();
    let mut painted = 0_usize;
    let mut said = String::new();
    loop {
        let asked_at = Instant::now();
        let status = coordinator.scan_status(number).await?;
        let pause = REPAINT_INTERVAL.max(asked_at.elapsed() * STATUS_SHARE);
        if on_terminal {
            painted = repaint(&status, painted);
        } else {
            let line = progress::line(&status);
            if line != said {
                eprintln!("{line}");
                said = line;
            }
        }
        let is_running = matches!(status["state"].as_str(), Some("running" | "paused"));
        if !is_running || *stop.borrow() {
            return Ok(status);
        }
        if processes.restart_crashed()? {
            // They may have finished it since the status was read.
            let status = coordinator.scan_status(number).await?;
            if matches!(status["state"].as_str(), Some("running" | "paused")) {
                return Err(OperationError::new(
                    "all workers have left, and the scan is not finished",
                ));
            }
            return Ok(status);
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            _ = stop.changed() => {}
        }
    }
}

/// Paints over the last picture; answers how many lines this one has.
fn repaint(status: &Value, painted: usize) -> usize {
    let lines = progress::picture(status, progress::terminal_width());
    let up = if painted > 0 { format!("\x1b[{painted}A") } else { String::new() };
    eprint!("{up}{}\x1b[K\n\x1b[J", lines.join("\x1b[K\n"));
    lines.len()
}
