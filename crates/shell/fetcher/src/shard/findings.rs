//! Findings from earlier candidates of an origin that a later candidate may use.
//!
//! Candidate n uses the findings of candidate 0 and of candidates 1 to `n - window`. The candidates
//! in between may still be in flight, so using their findings would make the outcome depend on
//! timing.

use std::collections::VecDeque;

use crate::{health::dead_origins::DeadOrigins, outcome::Outcome, shard::url_fetch::UrlFetch};

#[derive(Clone, Default)]
pub(crate) struct PriorFindings {
    pub(crate) dead_origins: DeadOrigins,
    pub(crate) asked_to_wait: Option<UrlFetch>,
}

#[derive(Default)]
pub(crate) struct Findings {
    known: PriorFindings,
    fresh: VecDeque<Finding>,
}

struct Finding {
    position: usize,
    dead_origin: Option<(String, Outcome)>,
    asked_to_wait: Option<UrlFetch>,
}

impl Findings {
    /// `defers` is true if the origin sent a `Retry-After` that defers its other URLs to the later
    /// pass.
    pub(crate) fn add(&mut self, position: usize, result: &UrlFetch, defers: bool) {
        let asked_to_wait = defers.then(|| result.clone());
        let dead_origin = result.dead_origin.clone();
        self.fresh.push_back(Finding { position, dead_origin, asked_to_wait });
    }

    /// Positions must not decrease between calls.
    pub(crate) fn known_at(&mut self, position: usize, window: usize) -> PriorFindings {
        let visible = (position + 1).saturating_sub(window).max(1);
        while self.fresh.front().is_some_and(|finding| finding.position < visible) {
            let Some(finding) = self.fresh.pop_front() else { break };
            if let Some((origin, outcome)) = finding.dead_origin {
                self.known.dead_origins.add(&origin, outcome);
            }
            let earlier = self.known.asked_to_wait.take();
            self.known.asked_to_wait = earlier.or(finding.asked_to_wait);
        }
        self.known.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dead(origin: &str) -> UrlFetch {
        let dead_origin = Some((origin.to_owned(), Outcome::ConnectTimeout));
        UrlFetch { dead_origin, ..UrlFetch::untried(Outcome::ConnectTimeout) }
    }

    #[test]
    fn a_candidate_uses_findings_of_the_first_and_of_finished_ones() {
        let mut findings = Findings::default();
        let known = |findings: &mut Findings, position| {
            let known = findings.known_at(position, 2);
            ["a", "b", "c"].map(|origin| known.dead_origins.verdict(origin).is_some())
        };
        assert_eq!(known(&mut findings, 0), [false; 3]);
        findings.add(0, &dead("a"), false);
        assert_eq!(
            known(&mut findings, 1),
            [true, false, false],
            "the first candidate is fetched alone"
        );
        findings.add(1, &dead("b"), false);
        assert_eq!(known(&mut findings, 2), [true, false, false], "candidate 1 may be in flight");
        findings.add(2, &dead("c"), true);
        assert_eq!(known(&mut findings, 3), [true, true, false]);
        assert!(findings.known_at(3, 2).asked_to_wait.is_none());
        assert!(findings.known_at(4, 2).asked_to_wait.is_some());
    }
}
