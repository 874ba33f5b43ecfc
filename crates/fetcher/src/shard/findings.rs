//! What earlier candidates of an origin found, as far as a later one may know it.
//!
//! A pure value. Candidate n knows the findings of candidate 0 and of candidates 1 to n - `window`,
//! since those after them may still be under way: so its outcome does not depend on timing.
//! Must not know: requests.

use std::collections::VecDeque;

use crate::{health::dead_origins::DeadOrigins, outcome::Outcome, shard::url_result::UrlResult};

/// What a candidate knows before it is fetched.
#[derive(Clone, Default)]
pub(crate) struct KnownBefore {
    pub(crate) dead_origins: DeadOrigins,
    /// The result of an earlier candidate whose server asked to wait, if one did.
    pub(crate) asked_to_wait: Option<UrlResult>,
}

/// What the candidates of an origin have found so far.
#[derive(Default)]
pub(crate) struct Findings {
    known: KnownBefore,
    /// Findings that the next candidate may not know yet, in canonical order.
    fresh: VecDeque<Finding>,
}

/// What the candidate at one position found.
struct Finding {
    position: usize,
    dead_origin: Option<(String, Outcome)>,
    asked_to_wait: Option<UrlResult>,
}

impl Findings {
    /// Adds what the candidate at `position` found. If it `defers`, its origin asked to wait.
    pub(crate) fn add(&mut self, position: usize, result: &UrlResult, defers: bool) {
        let asked_to_wait = defers.then(|| result.clone());
        let dead_origin = result.dead_origin.clone();
        self.fresh.push_back(Finding { position, dead_origin, asked_to_wait });
    }

    /// What the candidate at `position` may know, if `window` candidates are under way together.
    /// Positions are asked for in order.
    pub(crate) fn known_at(&mut self, position: usize, window: usize) -> KnownBefore {
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

    fn dead(origin: &str) -> UrlResult {
        let dead_origin = Some((origin.to_owned(), Outcome::ConnectTimeout));
        UrlResult { dead_origin, ..UrlResult::untried(Outcome::ConnectTimeout) }
    }

    #[test]
    fn a_candidate_knows_the_first_and_those_that_have_certainly_ended() {
        let mut findings = Findings::default();
        let known = |findings: &mut Findings, position| {
            let known = findings.known_at(position, 2);
            ["a", "b", "c"].map(|origin| known.dead_origins.verdict(origin).is_some())
        };
        assert_eq!(known(&mut findings, 0), [false; 3]);
        findings.add(0, &dead("a"), false);
        assert_eq!(known(&mut findings, 1), [true, false, false], "the first ends alone");
        findings.add(1, &dead("b"), false);
        assert_eq!(known(&mut findings, 2), [true, false, false], "1 may be under way");
        findings.add(2, &dead("c"), true);
        assert_eq!(known(&mut findings, 3), [true, true, false]);
        assert!(findings.known_at(3, 2).asked_to_wait.is_none());
        assert!(findings.known_at(4, 2).asked_to_wait.is_some());
    }
}
