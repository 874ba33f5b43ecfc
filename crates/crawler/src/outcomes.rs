//! The closed list of outcomes for a live crawl's URLs, by the URL's final state.
//!
//! Invariant: no URL is recorded with an outcome that is not in the list of its state. Does not
//! depend on how a URL is fetched.

use everytab_fetcher::Outcome;
use everytab_filters::DecidedBy;
use everytab_frontier::{Ending, TurnedAway};

use crate::{
    filters::judge::NOARCHIVE,
    origins::GivenUp,
    rows::{CRAWL_DELAY_TOO_LONG, ending_of},
    visit::DUPLICATE,
};

/// The outcome for a URL whose response could not be written to an archive.
pub(crate) const NO_RECORD: &str = "no_record";

/// The reasons to leave a known URL that are also reasons to reject a link.
const LEFT_BY_RULES: [TurnedAway; 3] =
    [TurnedAway::Excluded, TurnedAway::NotIncluded, TurnedAway::TrapShape];

/// Returns every outcome that gives its URL this state, in alphabetical order. Some outcomes are in
/// two lists, because what was received of a page is stored even if it ended early.
#[must_use]
pub fn outcomes_of(ending: Ending) -> Vec<&'static str> {
    let ends_so = |outcome: &&Outcome| {
        [false, true].into_iter().any(|has_body| ending_of(**outcome, has_body) == ending)
    };
    let fetched = Outcome::ALL.iter().filter(|outcome| !is_of_icons(**outcome)).filter(ends_so);
    let mut outcomes: Vec<_> = fetched.map(|outcome| outcome.as_str()).collect();
    match ending {
        Ending::Captured => {}
        Ending::Failed => outcomes.push(NO_RECORD),
        Ending::Refused => {
            outcomes.extend(DecidedBy::OUTCOMES);
            outcomes.extend([NOARCHIVE, DUPLICATE]);
        }
        Ending::Left => {
            outcomes.extend(GivenUp::LEFT.map(GivenUp::as_str));
            outcomes.extend(LEFT_BY_RULES.map(TurnedAway::as_str));
            outcomes.push(CRAWL_DELAY_TOO_LONG);
        }
    }
    outcomes.sort_unstable();
    outcomes
}

/// Returns every outcome once, in alphabetical order, without the reasons for which crawls end.
#[must_use]
pub fn every_outcome() -> Vec<&'static str> {
    let endings = [Ending::Captured, Ending::Failed, Ending::Refused, Ending::Left];
    let mut outcomes: Vec<_> = endings.into_iter().flat_map(outcomes_of).collect();
    outcomes.sort_unstable();
    outcomes.dedup();
    outcomes
}

/// Returns true for outcomes that only icons of a scan have.
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
