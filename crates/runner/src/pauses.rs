//! Pauses of random length, so that workers do not send requests in step.

use std::time::Duration;

/// Returns a random duration between half the pause and all of it.
pub(crate) fn jittered(pause: Duration) -> Duration {
    let random = f64::from(uuid::Uuid::new_v4().as_u128() as u32) / f64::from(u32::MAX);
    pause.mul_f64(0.5 + random / 2.0)
}
