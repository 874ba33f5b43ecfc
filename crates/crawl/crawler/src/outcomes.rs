//! The closed lists of outcomes, which tests compare with the code that records outcomes.

use everytab_crawl_settings::{
    CAPTURED_OUTCOMES, FAILED_OUTCOMES, LEFT_OUTCOMES, REFUSED_OUTCOMES,
};
use everytab_frontier::FinalState;

/// The outcome for a URL whose response could not be written to an archive.
pub(crate) const NO_RECORD: &str = "no_record";

pub(crate) const fn outcomes_of(final_state: FinalState) -> &'static [&'static str] {
    match final_state {
        FinalState::Captured => CAPTURED_OUTCOMES,
        FinalState::Failed => FAILED_OUTCOMES,
        FinalState::Refused => REFUSED_OUTCOMES,
        FinalState::Left => LEFT_OUTCOMES,
    }
}

#[cfg(test)]
mod tests {
    use everytab_crawl_settings::{CERTIFICATE_FAULTS, TRUNCATIONS};
    use everytab_fetcher::{Certificate, CutReason, Outcome};
    use everytab_filters::DecidedBy;
    use everytab_frontier::{FinalState, RejectReason};

    use super::{NO_RECORD, outcomes_of};
    use crate::{
        fetch::DUPLICATE,
        fetch_rows::{CRAWL_DELAY_TOO_LONG, final_state_of},
        filters::judge::NOARCHIVE,
        origins::GivenUp,
    };

    const LEFT_BY_RULES: [RejectReason; 3] =
        [RejectReason::Excluded, RejectReason::NotIncluded, RejectReason::TrapShape];

    /// Returns every outcome for which a URL gets this state, in alphabetical order. Outcomes of a
    /// cut body are in two lists, because the URL is captured if part of the body was received.
    fn recorded_outcomes_of(final_state: FinalState) -> Vec<&'static str> {
        let ends_so = |outcome: &&Outcome| {
            [false, true]
                .into_iter()
                .any(|has_body| final_state_of(**outcome, has_body) == final_state)
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

    #[test]
    fn the_closed_lists_have_exactly_their_states_outcomes() {
        for final_state in
            [FinalState::Captured, FinalState::Failed, FinalState::Refused, FinalState::Left]
        {
            assert_eq!(
                recorded_outcomes_of(final_state),
                outcomes_of(final_state),
                "{final_state:?}"
            );
        }
    }

    #[test]
    fn the_closed_lists_have_every_certificate_fault_and_truncation_reason() {
        let faults = Certificate::ALL.iter().filter(|found| **found != Certificate::Verified);
        assert_eq!(faults.map(|fault| fault.as_str()).collect::<Vec<_>>(), CERTIFICATE_FAULTS);
        let reasons = CutReason::ALL.iter().map(|reason| reason.as_str());
        assert_eq!(reasons.collect::<Vec<_>>(), TRUNCATIONS);
    }
}
