//! What a worker did since its last line about what it crawls, and what held it back.
//!
//! Does not depend on what a bound is: whoever decides what is requested next names it.

use std::time::{Duration, Instant};

use everytab_frontier::Ending;

/// How often a line is logged while crawls are open: a day has 1,440 of them.
const LOG_INTERVAL: Duration = Duration::from_secs(60);
/// What holds back the next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bound {
    /// Each host has its delay, its pause, or nothing due.
    Delays,
    /// All requests are in flight that the fetcher may make.
    Permits,
    /// The rates of crawls and keys.
    Rates,
    /// The memory for what is known of hosts.
    Memory,
    /// Stores that do not take archives, or a disk that fails.
    Puts,
    /// Records that wait to be written.
    Writing,
    /// Checkpoints that Postgres does not record in time.
    Checkpoints,
    /// Events that wait until this process comes to them.
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

    /// Returns the name in the log.
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

/// What was done since the last line.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// When it began. `None` if nothing was counted.
    pub began_at: Option<Instant>,
    /// URLs that were captured.
    pub pages: u64,
    /// URLs that failed.
    pub failed: u64,
    /// How often each of [`Bound::ALL`] held back the next request.
    bounds: [u64; Bound::ALL.len()],
}

impl Progress {
    /// Counts a URL that is answered.
    pub(crate) fn answered(&mut self, ending: Ending) {
        self.pages += u64::from(ending == Ending::Captured);
        self.failed += u64::from(ending == Ending::Failed);
    }

    /// Counts what holds back the next request, and returns true if it is time for a line.
    pub(crate) fn note(&mut self, bound: Bound, now: Instant) -> bool {
        let began_at = *self.began_at.get_or_insert(now);
        if let Some(count) = self.bounds.get_mut(bound as usize) {
            *count += 1;
        }
        now.saturating_duration_since(began_at) >= LOG_INTERVAL
    }

    /// Returns true if a URL was captured or failed.
    pub(crate) fn has_any(&self) -> bool {
        self.pages + self.failed > 0
    }

    /// Returns what held back requests most often.
    pub(crate) fn bound(&self) -> Bound {
        let most = Bound::ALL.into_iter().zip(self.bounds).rev().max_by_key(|(_, count)| *count);
        most.map_or(Bound::Delays, |(bound, _)| bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_due_each_minute_and_names_what_held_back_most() {
        let (mut progress, begun) = (Progress::default(), Instant::now());
        let at = |seconds| begun + Duration::from_secs(seconds);
        assert_eq!(progress.bound(), Bound::Delays);
        assert!(!progress.note(Bound::Delays, at(0)));
        assert!(!progress.note(Bound::Puts, at(30)));
        assert!(!progress.note(Bound::Puts, at(59)));
        assert!(progress.note(Bound::Delays, at(60)));
        assert_eq!(progress.bound(), Bound::Delays, "the first of two that are alike");
        progress.note(Bound::Cpu, at(61));
        progress.note(Bound::Cpu, at(62));
        progress.note(Bound::Cpu, at(63));
        assert_eq!(progress.bound(), Bound::Cpu);
        for (place, bound) in Bound::ALL.into_iter().enumerate() {
            assert_eq!(bound as usize, place, "{bound:?}");
        }
    }
}
