//! Waits between attempts: exponential back-off with full jitter and a limit.

use std::time::Duration;

/// Maximum wait before the first retry.
const FIRST: Duration = Duration::from_millis(200);
/// Maximum wait before any retry, as in the AWS SDK's default.
const LONGEST: Duration = Duration::from_secs(20);

pub(crate) fn bound(retry: u32) -> Duration {
    let doublings = retry.saturating_sub(1).min(16);
    FIRST.saturating_mul(1_u32 << doublings).min(LONGEST)
}

/// Returns a random wait between zero and [`bound`], so that clients that failed together do not
/// retry together.
pub(crate) fn jittered(retry: u32) -> Duration {
    let (high, _) = uuid::Uuid::new_v4().as_u64_pair();
    // The top bits of a UUID contain neither its version nor its variant.
    let share = u32::try_from(high >> 48).unwrap_or(0);
    bound(retry).saturating_mul(share) / 65_536
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_doubles_up_to_a_limit() {
        let bounds: Vec<_> = (1..=9).map(|retry| bound(retry).as_millis()).collect();
        assert_eq!(bounds, [200, 400, 800, 1600, 3200, 6400, 12_800, 20_000, 20_000]);
        assert_eq!(bound(u32::MAX), LONGEST);
    }

    #[test]
    fn a_wait_stays_within_its_bound_and_varies() {
        let waits: std::collections::HashSet<_> = (0..64).map(|_| jittered(4)).collect();
        assert!(waits.iter().all(|wait| *wait <= bound(4)));
        assert!(waits.len() > 8, "64 draws gave {} distinct waits", waits.len());
    }
}
