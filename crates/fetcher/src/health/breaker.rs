//! Is it us? When most of the last few hundred distinct origins fail by resolver or connect
//! trouble, the network to blame is probably our own. Those that were dialled together time out
//! together, five seconds after the others were done, so it looks back on as many at least as are
//! under way at once.
//!
//! Must not know: what is done about it.

use std::{
    collections::{HashSet, VecDeque},
    hash::{BuildHasher, RandomState},
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::{outcome::Outcome, settings::FetchSettings};

/// Looks back on the last distinct origins of all shards.
pub(crate) struct Breaker {
    window: usize,
    minimum: usize,
    last: Mutex<Last>,
    hasher: RandomState,
}

/// Distinct origins, as hashes, in the order in which they ended.
#[derive(Default)]
struct Last {
    origins: VecDeque<(u64, bool)>,
    known: HashSet<u64>,
    failed: usize,
}

impl Last {
    fn push(&mut self, origin: u64, failed: bool) {
        self.known.insert(origin);
        self.origins.push_back((origin, failed));
        self.failed += usize::from(failed);
    }

    fn remove(&mut self, place: usize) {
        if let Some((origin, failed)) = self.origins.remove(place) {
            self.known.remove(&origin);
            self.failed -= usize::from(failed);
        }
    }
}

impl Breaker {
    pub(crate) fn new(settings: &FetchSettings) -> Breaker {
        let window = settings.breaker_window.max(settings.in_flight).max(1);
        let minimum = settings.breaker_minimum.clamp(1, window);
        Breaker { window, minimum, last: Mutex::default(), hasher: RandomState::new() }
    }

    /// An origin's first fetch ended so.
    pub(crate) fn note(&self, origin: &str, outcome: Outcome) {
        let origin = self.hasher.hash_one(origin);
        let mut last = self.last();
        if last.known.contains(&origin) {
            let place = last.origins.iter().position(|(seen, _)| *seen == origin);
            place.into_iter().for_each(|place| last.remove(place));
        }
        last.push(origin, outcome.resembles_our_trouble());
        if last.origins.len() > self.window {
            last.remove(0);
        }
    }

    /// Whether more than half of them look like our own trouble.
    pub(crate) fn is_open(&self) -> bool {
        let last = self.last();
        last.origins.len() >= self.minimum && last.failed > last.origins.len() / 2
    }

    /// Canaries answered: begin anew.
    pub(crate) fn reset(&self) {
        *self.last() = Last::default();
    }

    fn last(&self) -> MutexGuard<'_, Last> {
        // A window with one origin too few is still a window.
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaker(in_flight: usize) -> Breaker {
        let defaults = FetchSettings::default();
        Breaker::new(&FetchSettings {
            breaker_window: 10,
            breaker_minimum: 6,
            in_flight,
            ..defaults
        })
    }

    #[test]
    fn time_outs_of_those_that_were_dialled_together_do_not_open_it() {
        let breaker = breaker(1_000);
        // All dialled at once: the living have ended before the first time-out comes.
        for number in 0..1_000 {
            let outcome = if number < 880 { Outcome::Ok } else { Outcome::ConnectTimeout };
            breaker.note(&format!("https://{number}.example"), outcome);
            assert!(!breaker.is_open(), "{number}");
        }
        for number in 1_000..1_501 {
            breaker.note(&format!("https://{number}.example"), Outcome::ConnectTimeout);
        }
        assert!(breaker.is_open());
    }

    #[test]
    fn it_opens_when_most_distinct_origins_fail_and_not_for_one_that_fails_often() {
        let breaker = breaker(1);
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
