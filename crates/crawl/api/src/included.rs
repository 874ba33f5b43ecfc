//! Reads pages' contents from the store, for responses that include them.

use std::collections::HashSet;

use everytab_coordinator::{ApiCaller, ApiFetch, FetchId};
use futures_util::{StreamExt as _, stream};

use crate::{
    captures::{CaptureError, Contents, Include, MissingWord},
    fetch_document::UrlDocument,
    parameters::Parameters,
    problem::{Problem, ProblemCode},
    service::Service,
};

/// Maximum size of the contents in a response, in bytes. A page that would exceed this limit is
/// returned in the next response, unless it is the first page.
const MAX_CONTENTS_BYTES: usize = 16 << 20;

/// Maximum concurrent record reads per response: half of the process's maximum, so that no response
/// blocks all others.
const MAX_READS_OF_ANSWER: usize = 4;

pub(crate) fn include_of(parameters: &Parameters) -> Result<Option<Include>, Problem> {
    let parse = |list: &str| {
        let known = Include::WORDS.join(",");
        let detail =
            || format!("invalid include {list:?}: expected a comma-separated list of {known}");
        let refused = || Problem::of_field(ProblemCode::InvalidParameter, "include", detail());
        Include::parse(list).ok_or_else(refused)
    };
    parameters.text("include").map(parse).transpose()
}

/// Reads the contents of as many URLs as fit into a response, but at least of the first one.
/// Charges the key one request for each URL that has a record.
///
/// # Errors
/// Returns a problem if the key is throttled, or Postgres cannot be reached.
pub(crate) async fn with_contents(
    service: &Service,
    caller: &ApiCaller,
    fetches: Vec<ApiFetch>,
    include: Include,
) -> Result<Vec<UrlDocument>, Problem> {
    let kept: Vec<FetchId> =
        fetches.iter().filter(|fetch| has_record(fetch)).map(ApiFetch::id).collect();
    let mut admitted = HashSet::new();
    if !kept.is_empty() {
        let are_admitted = service.coordinator.api_admit_captures(caller, &kept).await?;
        admitted.extend(kept.iter().zip(are_admitted).filter(|(_, is)| *is).map(|(id, _)| *id));
    }
    let read = |fetch: ApiFetch| {
        let is_admitted = admitted.contains(&fetch.id());
        async move {
            let contents = match (has_record(&fetch), is_admitted) {
                (false, _) => Contents::missing(MissingWord::NotCaptured),
                (true, false) => Contents::missing(MissingWord::Withheld),
                (true, true) => read(service, &fetch, include).await,
            };
            (fetch, contents)
        }
    };
    let mut reads = stream::iter(fetches.into_iter().map(read)).buffered(MAX_READS_OF_ANSWER);
    let mut documents: Vec<UrlDocument> = Vec::new();
    let mut free = MAX_CONTENTS_BYTES;
    while let Some((fetch, contents)) = reads.next().await {
        let bytes = contents.bytes();
        if bytes > free && !documents.is_empty() {
            break;
        }
        free = free.saturating_sub(bytes);
        let mut document = UrlDocument::new(fetch, &caller.secret_sha256);
        document.contents = Some(contents);
        documents.push(document);
    }
    Ok(documents)
}

fn has_record(fetch: &ApiFetch) -> bool {
    fetch.object.is_some()
}

async fn read(service: &Service, fetch: &ApiFetch, include: Include) -> Contents {
    let error = match service.captures.contents(fetch.clone(), include).await {
        Ok(contents) => return contents,
        Err(error) => error,
    };
    let place = format!("{:?} of {:?}", fetch.record_offset, fetch.object);
    if error.is_passing() {
        tracing::warn!(place, %error, "cannot read a stored capture now");
        return Contents::missing(MissingWord::StoreUnavailable);
    }
    tracing::error!(place, %error, "cannot serve a stored capture");
    let missing = match error {
        CaptureError::Conversion(_) => MissingWord::NotConverted,
        _ => MissingWord::Damaged,
    };
    Contents::missing(missing)
}
