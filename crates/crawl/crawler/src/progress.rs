//! Counts for the progress line: finished URLs, and the bounds that limited the crawl's speed.

use std::time::{Duration, Instant};

use everytab_frontier::FinalState;

/// Interval between progress lines while crawls are open.
const LOG_INTERVAL: Duration = Duration::from_secs(60);
/// The factor that limits the crawl's speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bound {
    /// Each host waits for its delay or pause, or has no due URL.
    Delays,
    Permits,
    Rates,
    Memory,
    /// Stores that do not accept archives, or a disk that fails.
    Puts,
    /// Records that wait to be written to an archive.
    Writing,
    /// Checkpoints that Postgres does not record in time.
    Checkpoints,
    /// Events that wait for this process.
    Cpu,
}

impl Bound {
    const ALL: [Self; 8] = [
        Self::Delays,
        Self::Permits,
        Self::Rates,
        Self::Memory,
        Self::Puts,
        Self::Writing,
        Self::Checkpoints,
        Self::Cpu,
    ];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Delays => "delays",
            Self::Permits => "permits",
            Self::Rates => "rates",
            Self::Memory => "memory",
            Self::Puts => "puts",
            Self::Writing => "writing",
            Self::Checkpoints => "checkpoints",
            Self::Cpu => "cpu",
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// When counting started. `None` if nothing was counted.
    pub began_at: Option<Instant>,
    pub pages: u64,
    pub failed: u64,
    /// How often each bound in [`Bound::ALL`] was the limiting one.
    bounds: [u64; Bound::ALL.len()],
}

impl Progress {
    pub(crate) fn finished(&mut self, final_state: FinalState) {
        self.pages += u64::from(final_state == FinalState::Captured);
        self.failed += u64::from(final_state == FinalState::Failed);
    }

    /// Returns true if a progress line is due.
    pub(crate) fn note(&mut self, bound: Bound, now: Instant) -> bool {
        let began_at = *self.began_at.get_or_insert(now);
        if let Some(count) = self.bounds.get_mut(bound as usize) {
            *count += 1;
        }
        now.saturating_duration_since(began_at) >= LOG_INTERVAL
    }

    pub(crate) fn has_any(&self) -> bool {
        self.pages + self.failed > 0
    }

    pub(crate) fn bound(&self) -> Bound {
        let most = Bound::ALL.into_iter().zip(self.bounds).rev().max_by_key(|(_, count)| *count);
        most.map_or(Bound::Delays, |(bound, _)| bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_due_every_minute_and_names_the_most_frequent_bound() {
        let mut progress = Progress::default();
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        assert_eq!(progress.bound(), Bound::Delays);
        assert!(!progress.note(Bound::Delays, at(0)));
        assert!(!progress.note(Bound::Puts, at(30)));
        assert!(!progress.note(Bound::Puts, at(59)));
        assert!(progress.note(Bound::Delays, at(60)));
        assert_eq!(progress.bound(), Bound::Delays, "the first of two equally frequent ones");
        progress.note(Bound::Cpu, at(61));
        progress.note(Bound::Cpu, at(62));
        progress.note(Bound::Cpu, at(63));
        assert_eq!(progress.bound(), Bound::Cpu);
        for (place, bound) in Bound::ALL.into_iter().enumerate() {
            assert_eq!(bound as usize, place, "{bound:?}");
        }
    }
}
