//! Shows where a local scan stands, until it ends.

use std::time::{Duration, Instant};

use everytab_coordinator::{Coordinator, ScanStatus};
use everytab_operations::{
    LineSink, OperationError,
    progress::{self, STATUS_SHARE},
};
use tokio::sync::watch;

use crate::worker_processes::WorkerProcesses;

/// How often the picture is painted again: twice a second looks alive, and costs one query each.
pub(crate) const REPAINT_INTERVAL: Duration = Duration::from_millis(500);

/// Watches until the scan has ended or `stop` turns true; answers the last status.
///
/// # Errors
/// When workers keep crashing, or the database is gone.
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
            // They may have finished it since the status was read.
            let status = coordinator.scan_status(number).await?;
            if status.state.is_open() {
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
