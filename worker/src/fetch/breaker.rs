//! Is it us? When most of the last few hundred distinct origins fail by resolver or connect
//! trouble, the network to blame is probably our own.
//!
//! Must not know: what is done about it.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::outcome::Outcome;
use super::settings::FetchSettings;

/// Looks back on the last distinct origins of all shards.
pub(crate) struct Breaker {
    window: usize,
    minimum: usize,
    /// Origins as hashes: this is asked often.
    last: Mutex<VecDeque<(u64, bool)>>,
    hasher: RandomState,
}

impl Breaker {
    pub(crate) fn new(settings: &FetchSettings) -> Breaker {
        let window = settings.breaker_window.max(1);
        let minimum = settings.breaker_minimum.clamp(1, window);
        Breaker { window, minimum, last: Mutex::default(), hasher: RandomState::new() }
    }

    /// An origin's first fetch ended so.
    pub(crate) fn note(&self, origin: &str, outcome: Outcome) {
        let origin = self.hasher.hash_one(origin);
        let mut last = self.last();
        let known = last.iter().position(|(seen, _)| *seen == origin);
        if let Some(known) = known {
            last.remove(known);
        }
        last.push_back((origin, outcome.resembles_our_trouble()));
        if last.len() > self.window {
            last.pop_front();
        }
    }

    /// Whether more than half of them look like our own trouble.
    pub(crate) fn is_open(&self) -> bool {
        let last = self.last();
        let failed = last.iter().filter(|(_, failed)| *failed).count();
        last.len() >= self.minimum && failed > last.len() / 2
    }

    /// Canaries answered: begin anew.
    pub(crate) fn reset(&self) {
        self.last().clear();
    }

    fn last(&self) -> MutexGuard<'_, VecDeque<(u64, bool)>> {
        // A window with one origin too few is still a window.
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_opens_when_most_distinct_origins_fail_and_not_for_one_that_fails_often() {
        let settings =
            FetchSettings { breaker_window: 10, breaker_minimum: 6, ..FetchSettings::default() };
        let breaker = Breaker::new(&settings);
        for _ in 0..20 {
            breaker.note("https://one.example", Outcome::ConnectTimeout);
        }
        assert!(!breaker.is_open());
        for number in 0..5 {
            breaker.note(&format!("https://{number}.example"), Outcome::Http404410);
        }
        assert!(!breaker.is_open());
        for number in 5..11 {
            breaker.note(&format!("https://{number}.example"), Outcome::DnsTimeout);
        }
        assert!(breaker.is_open());
        breaker.reset();
        assert!(!breaker.is_open());
    }
}
