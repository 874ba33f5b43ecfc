//! Closed name lists for the OpenAPI description. Each is built from the list that the code uses,
//! so that a new name in a crate also appears in the description.

use everytab_coordinator::{CRAWL_ENDS, CRAWL_STATES, JobKind, ScanState};
use everytab_crawl_settings::{
    CERTIFICATE_FAULTS, FAILED_OUTCOMES, LEFT_OUTCOMES, REFUSED_OUTCOMES, TRUNCATIONS,
    every_outcome,
};
use everytab_frontier::RejectReason;
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
    "The outcome of a URL." FetchOutcome: every_outcome();
    "The outcome of a failed URL." FailureOutcome: FAILED_OUTCOMES.iter().copied();
    "The outcome of a refused URL." RefusalReason: REFUSED_OUTCOMES.iter().copied();
    "Why a URL was left: its outcome, or what ended its crawl."
        LeftReason: [LEFT_OUTCOMES, &CRAWL_ENDS].concat();
    "Why a link was not added to the crawl."
        LinkRefusal: RejectReason::ALL.map(RejectReason::as_str);
    "The state of a crawl." CrawlState: CRAWL_STATES;
    "What ended a crawl." CrawlEnd: CRAWL_ENDS;
    "The problem with a server's certificate." CertificateFault: CERTIFICATE_FAULTS.iter().copied();
    "Why a body is incomplete." Truncation: TRUNCATIONS.iter().copied();
    "The format in which a capture is served." CaptureAs: CaptureForm::WORDS;
    "The part of a page that is converted to Markdown."
        MarkdownPart: PagePart::ALL.map(PagePart::as_str);
    "The state of a scan." ScanStateWord: ScanState::ALL.map(ScanState::as_str);
    "The kind of a stage's jobs." StageKind: JobKind::ALL.map(JobKind::as_str);
    "What happened to a job: it is retried, was given up, was released by its worker, or its \
     lease expired." JobEvent: ["retry", "discard", "release", "expired"];
}

pub(crate) fn is_outcome(text: &str) -> bool {
    every_outcome().contains(&text)
}
