//! Shows the progress of a local scan until it ends.

use std::time::{Duration, Instant};

use everytab_console::{LineSink, OperationError};
use everytab_coordinator::{Coordinator, ScanStatus};
use everytab_operations::progress::{self, STATUS_SHARE};
use tokio::sync::watch;

use crate::worker_processes::WorkerProcesses;

/// Interval between repaints. Two repaints per second look smooth, and each takes one query.
pub(crate) const REPAINT_INTERVAL: Duration = Duration::from_millis(500);

pub(crate) async fn watch_scan(
    coordinator: &Coordinator,
    number: i32,
    processes: &WorkerProcesses,
    stop: &mut watch::Receiver<bool>,
    sink: &dyn LineSink,
) -> Result<ScanStatus, OperationError> {
    let mut said = String::new();
    loop {
        let asked_at = Instant::now();
        let status = coordinator.scan_status(number).await?;
        let pause = REPAINT_INTERVAL.max(asked_at.elapsed() * STATUS_SHARE);
        if !sink.paint(&|columns| progress::picture(&status, columns)) {
            let line = progress::line(&status);
            if line != said {
                sink.note(format_args!("{line}"));
                said = line;
            }
        }
        let is_running = status.state.is_open();
        if !is_running || *stop.borrow() {
            return Ok(status);
        }
        if processes.restart_crashed()? {
            // The workers may have finished the scan after the status was read.
            if coordinator.scan_status(number).await?.state.is_open() {
                return Err(OperationError::new("all workers exited before the scan was finished"));
            }
            continue;
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            _ = stop.changed() => {}
        }
    }
}
