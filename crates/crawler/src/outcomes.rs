//! The closed list of outcomes for a live crawl's URLs, by final state.
//!
//! Invariant: the list of a URL's state contains its outcome. Does not depend on how a URL is
//! fetched.

use everytab_fetcher::Outcome;
use everytab_filters::DecidedBy;
use everytab_frontier::{FinalState, RejectReason};

use crate::{
    fetch::DUPLICATE,
    fetch_rows::{CRAWL_DELAY_TOO_LONG, final_state_of},
    filters::judge::NOARCHIVE,
    origins::GivenUp,
};

/// The outcome for a URL whose response could not be written to an archive.
pub(crate) const NO_RECORD: &str = "no_record";

/// The reasons to leave a known URL that are also reasons to reject a link.
const LEFT_BY_RULES: [RejectReason; 3] =
    [RejectReason::Excluded, RejectReason::NotIncluded, RejectReason::TrapShape];

/// Returns every outcome that gives its URL this state, in alphabetical order. Some outcomes are in
/// two lists, because the received part of a page is stored even if the page ended early.
#[must_use]
pub fn outcomes_of(final_state: FinalState) -> Vec<&'static str> {
    let ends_so = |outcome: &&Outcome| {
        [false, true].into_iter().any(|has_body| final_state_of(**outcome, has_body) == final_state)
    };
    let fetched = Outcome::ALL.iter().filter(|outcome| !is_of_icons(**outcome)).filter(ends_so);
    let mut outcomes: Vec<_> = fetched.map(|outcome| outcome.as_str()).collect();
    match final_state {
        FinalState::Captured => {}
        FinalState::Failed => outcomes.push(NO_RECORD),
        FinalState::Refused => {
            outcomes.extend(DecidedBy::OUTCOMES);
            outcomes.extend([NOARCHIVE, DUPLICATE]);
        }
        FinalState::Left => {
            outcomes.extend(GivenUp::LEFT.map(GivenUp::as_str));
            outcomes.extend(LEFT_BY_RULES.map(RejectReason::as_str));
            outcomes.push(CRAWL_DELAY_TOO_LONG);
        }
    }
    outcomes.sort_unstable();
    outcomes
}

/// Returns every outcome once, in alphabetical order, without the reasons for which crawls end.
#[must_use]
pub fn every_outcome() -> Vec<&'static str> {
    let endings = [FinalState::Captured, FinalState::Failed, FinalState::Refused, FinalState::Left];
    let mut outcomes: Vec<_> = endings.into_iter().flat_map(outcomes_of).collect();
    outcomes.sort_unstable();
    outcomes.dedup();
    outcomes
}

/// Returns true for outcomes that only a scan's icons have.
const fn is_of_icons(outcome: Outcome) -> bool {
    matches!(
        outcome,
        Outcome::EndpointDead
            | Outcome::NotImageHtml
            | Outcome::NotImageOther
            | Outcome::ImageCorrupt
            | Outcome::ImageTooBig
            | Outcome::SvgRejected
    )
}
