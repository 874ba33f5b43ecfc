//! Retries calls after transient errors.

use std::time::{Duration, Instant};

use crate::error::Error;

/// Pause before the first retry, doubled up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// Maximum pause between two attempts, so that a call continues soon after an outage.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Repeats `step` while its errors are transient and the next attempt would start before `until`.
pub(crate) async fn retry_transient<T, F>(
    until: Instant,
    mut step: impl FnMut() -> F,
) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    let mut pause = FIRST_PAUSE;
    loop {
        match step().await {
            Err(error) if error.is_transient() && Instant::now() + pause < until => {
                tracing::warn!(%error, "retrying");
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            other => return other,
        }
    }
}
