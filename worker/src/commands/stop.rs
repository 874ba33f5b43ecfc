//! SIGTERM and SIGINT: the first asks for a drain, the second stops at once.

use std::process;

use tokio::{
    signal::unix::{SignalKind, signal},
    sync::watch,
};

use crate::failure::{Exit, Failure};

/// Turns true at the first signal. `at_once` runs at the second, before the process ends.
///
/// # Errors
/// When no signal handler can be installed.
pub fn on_signal(at_once: impl Fn() + Send + 'static) -> Result<watch::Receiver<bool>, Failure> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let (sender, receiver) = watch::channel(false);
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            if sender.send_replace(true) {
                at_once();
                process::exit(i32::from(Exit::Drained as u8));
            }
            tracing::info!("asked to stop; a second signal stops at once");
        }
    });
    Ok(receiver)
}
