//! Handles SIGTERM and SIGINT: the first signal starts a drain, the second ends the process
//! immediately. A notice that EC2 will take the machine away starts a drain too, and does not count
//! as a signal.

use std::process;

use tokio::{
    signal::unix::{SignalKind, signal},
    sync::watch,
};
use url::Url;

use crate::{
    cli_error::{CliError, Exit},
    spot_notice,
};

/// Returns a value that turns true at the first signal. At the second signal, `at_second` runs
/// before the process ends.
///
/// # Errors
/// Returns an error if no signal handler can be installed.
pub fn on_signal(at_second: impl Fn() + Send + 'static) -> Result<watch::Receiver<bool>, CliError> {
    Ok(stop(at_second)?.subscribe())
}

/// Returns a value like [`on_signal`], which also turns true at a notice of the instance metadata
/// service at `metadata`.
///
/// # Errors
/// Returns an error if no signal handler can be installed.
pub fn on_signal_or_notice(metadata: Option<Url>) -> Result<watch::Receiver<bool>, CliError> {
    let sender = stop(|| {})?;
    let receiver = sender.subscribe();
    if let Some(endpoint) = metadata {
        tokio::spawn(async move {
            let why = spot_notice::wait_for_notice(endpoint).await;
            tracing::warn!("asked to stop: {why}");
            sender.send_replace(true);
        });
    }
    Ok(receiver)
}

fn stop(at_second: impl Fn() + Send + 'static) -> Result<watch::Sender<bool>, CliError> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let (sender, _) = watch::channel(false);
    let asked = sender.clone();
    tokio::spawn(async move {
        let mut signals = 0_u32;
        loop {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            signals += 1;
            if signals > 1 {
                at_second();
                process::exit(i32::from(Exit::Drained as u8));
            }
            tracing::info!("asked to stop; a second signal stops immediately");
            asked.send_replace(true);
        }
    });
    Ok(sender)
}
