//! Closed lists of words, as the description has them.
//!
//! Each is made of the list that the code works with, so a new word of a crate is a new word of the
//! description. Values of these fields are strings that Postgres keeps.

use everytab_coordinator::{CRAWL_ENDS, CRAWL_STATES, JobKind, ScanState};
use everytab_crawler::{every_outcome, outcomes_of};
use everytab_fetcher::{Certificate, CutReason};
use everytab_frontier::{Ending, TurnedAway};
use everytab_markdown::PagePart;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, Type},
};

use crate::captures::CaptureForm;

macro_rules! closed_lists {
    ($($doc:literal $name:ident: $words:expr;)+) => {$(
        #[doc = $doc]
        pub(crate) enum $name {}

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let words: Vec<&'static str> = Vec::from_iter($words);
                let list = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words));
                list.description(Some($doc)).into()
            }
        }

        impl ToSchema for $name {}
    )+};
}

closed_lists! {
    "How a URL ended." FetchOutcome: every_outcome();
    "How a URL ended that failed." FailureOutcome: outcomes_of(Ending::Failed);
    "How a URL ended that was refused." RefusalReason: outcomes_of(Ending::Refused);
    "Why a URL was given up: how it ended, or what ended its crawl."
        LeftReason: [outcomes_of(Ending::Left), CRAWL_ENDS.to_vec()].concat();
    "Why a link never became known." LinkRefusal: TurnedAway::ALL.map(TurnedAway::as_str);
    "Whether a crawl is crawled." CrawlState: CRAWL_STATES;
    "What ended a crawl." CrawlEnd: CRAWL_ENDS;
    "What is wrong with a server's certificate." CertificateFault: certificate_faults();
    "Why a body is not whole." Truncation: CutReason::ALL.iter().map(|reason| reason.as_str());
    "As what a capture is served." CaptureAs: CaptureForm::WORDS;
    "Which part of a page becomes Markdown." MarkdownPart: PagePart::ALL.map(PagePart::as_str);
    "How a scan stands." ScanStateWord: ScanState::ALL.map(ScanState::as_str);
    "The kind of jobs of a stage." StageKind: JobKind::ALL.map(JobKind::as_str);
    "What happened to a job: it is performed again, was given up, was given back, or its worker \
     was not heard of." JobEvent: ["retry", "discard", "release", "expired"];
}

/// Returns true for a word of [`FetchOutcome`].
pub(crate) fn is_outcome(text: &str) -> bool {
    every_outcome().contains(&text)
}

fn certificate_faults() -> impl Iterator<Item = &'static str> {
    let faults = Certificate::ALL.iter().filter(|found| **found != Certificate::Verified);
    faults.map(|fault| fault.as_str())
}
