//! Handles signals: the first SIGTERM or SIGINT starts a drain, and the second ends the process
//! immediately. SIGHUP and EC2's notice also start a drain, but are not counted as the first
//! signal.

use std::{fs, process};

use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
};
use url::Url;

use crate::{
    cli_error::{CliError, Exit},
    spot_notice,
};

/// Returns a value that turns true at the first signal. Calls `at_second` before the second signal
/// ends the process.
///
/// # Errors
/// Returns an error if no signal handler can be installed.
pub fn on_signal(at_second: impl Fn() + Send + 'static) -> Result<watch::Receiver<bool>, CliError> {
    Ok(stop(at_second)?.subscribe())
}

/// Like [`on_signal`], but the value also turns true at a notice from the instance metadata
/// service.
///
/// # Errors
/// Returns an error if no signal handler can be installed.
pub fn on_signal_or_notice(metadata: Option<Url>) -> Result<watch::Receiver<bool>, CliError> {
    let sender = stop(|| {})?;
    let receiver = sender.subscribe();
    if let Some(endpoint) = metadata {
        tokio::spawn(async move {
            let why = spot_notice::wait_for_notice(endpoint).await;
            tracing::warn!("received a request to stop: {why}");
            sender.send_replace(true);
        });
    }
    Ok(receiver)
}

fn stop(at_second: impl Fn() + Send + 'static) -> Result<watch::Sender<bool>, CliError> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    // Installing a handler would override `nohup`.
    let mut hangup = (!ignores_hangup()).then(|| signal(SignalKind::hangup())).transpose()?;
    let (sender, _) = watch::channel(false);
    let asked = sender.clone();
    tokio::spawn(async move {
        let mut signals = 0_u32;
        loop {
            tokio::select! {
                _ = terminate.recv() => signals += 1,
                _ = interrupt.recv() => signals += 1,
                true = received(&mut hangup) => {}
            }
            if signals > 1 {
                at_second();
                process::exit(i32::from(Exit::Drained as u8));
            }
            tracing::info!("received a request to stop; a second signal stops immediately");
            asked.send_replace(true);
        }
    });
    Ok(sender)
}

async fn received(handler: &mut Option<Signal>) -> bool {
    match handler {
        Some(handler) => handler.recv().await.is_some(),
        None => std::future::pending().await,
    }
}

/// Returns whether this process was started with SIGHUP ignored, as `nohup` does.
fn ignores_hangup() -> bool {
    fs::read_to_string("/proc/self/status").is_ok_and(|status| ignores_hangup_in(&status))
}

fn ignores_hangup_in(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // SIGHUP is signal 1, the lowest bit.
    mask.is_some_and(|mask| mask & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sighup_remains_ignored_only_if_it_was_ignored() {
        let status = |mask: &str| format!("Name:\tx\nSigBlk:\t1\nSigIgn:\t{mask}\n");
        assert!(ignores_hangup_in(&status("0000000000000001")));
        assert!(ignores_hangup_in(&status("0000000000001001")));
        for mask in ["0000000000001000", "", "x"] {
            assert!(!ignores_hangup_in(&status(mask)), "{mask}");
        }
    }
}
