//! Builds the row and the WARC record of a fetch.
//!
//! Does not depend on slots or host state.

use std::{sync::Arc, time::Duration};

use chrono::Utc;
use everytab_commoncrawl::crawl_layout::ArchiveSubset;
use everytab_coordinator::{FetchRow, Via};
use everytab_fetcher::{Certificate, Outcome};
use everytab_frontier::{
    CanonicalUrl, Ending, LinkFlags, ParameterList, Turn, UrlHash, is_home_page, site_hash,
};

use crate::{
    archives::{CopiesOf, Record},
    crawl::Crawl,
    repeat::BodyRecord,
    stored_bodies::BodyPlace,
    visit::{Answer, DUPLICATE, is_whole},
};

/// The outcome for a URL on which workers died.
pub(crate) const CRASHED: &str = "crashed";
/// The reason to leave the URLs of a host whose robots.txt sets a delay that is too long to obey.
pub(crate) const CRAWL_DELAY_TOO_LONG: &str = "crawl_delay_too_long";
/// Minimum size of a body, in bytes, for which a record names another one with the same body. The
/// record of a shorter body is hardly longer than a revisit record.
const MIN_NAMED_BYTES: usize = 1_024;
/// Maximum size of a stored title, in bytes. Anything longer is not a title.
const MAX_TITLE_BYTES: usize = 1_024;

/// Returns the referrer of a URL as its row names it: by its hashes if the referrer's row is
/// recorded before that of the URL or with it. On the same host `has_answered` tells this; a
/// referrer on another host is recorded together with its links. Only robots.txt has no row.
pub(crate) fn named_via(
    via: Via,
    own_host: u64,
    parameters: &ParameterList,
    has_answered: impl FnOnce(UrlHash) -> bool,
) -> Via {
    let Via::Url(text) = &via else { return via };
    let Ok(url) = CanonicalUrl::parse(text, parameters) else { return via };
    let host_hash = site_hash(url.host());
    let is_recorded = if host_hash == own_host { has_answered(url.hash()) } else { true };
    if is_recorded && url.path() != "/robots.txt" {
        return Via::Recorded(host_hash, url.hash().0);
    }
    via
}

/// Maps a fetch outcome to its URL's final state. `has_body` says whether part of the body was
/// received.
pub(crate) fn ending_of(outcome: Outcome, has_body: bool) -> Ending {
    match outcome {
        // The part of a page that was received before the failure is stored.
        Outcome::BodyTruncated | Outcome::BodyReset | Outcome::H1Parse | Outcome::TotalTimeout
            if has_body =>
        {
            Ending::Captured
        }
        // An empty page is a page.
        Outcome::Ok | Outcome::Redirected | Outcome::EmptyBody | Outcome::NotModified => {
            Ending::Captured
        }
        Outcome::TypeRefused
        | Outcome::RobotsDisallowed
        | Outcome::OptedOut
        | Outcome::IpBlocked
        | Outcome::UrlUnparsable
        | Outcome::UrlTooLong
        | Outcome::UrlScheme
        | Outcome::UrlPort
        | Outcome::UrlCredentials => Ending::Refused,
        _ => Ending::Failed,
    }
}

/// Returns the row of a URL that was not fetched.
pub(crate) fn empty_row(crawl: i32, host_hash: u64, turn: &Turn) -> FetchRow {
    FetchRow {
        crawl,
        host_hash,
        url_hash: turn.hash.0,
        url: turn.url.clone(),
        at: Utc::now(),
        duration_ms: None,
        depth: i16::try_from(turn.attributes.depth).unwrap_or(i16::MAX),
        status: None,
        outcome: String::new(),
        bytes: None,
        sha256: None,
        mime: None,
        charset: None,
        language: None,
        title: None,
        etag: None,
        last_modified: None,
        redirect: None,
        object: None,
        record_offset: None,
        record_length: None,
        body_object: None,
        body_offset: None,
        body_length: None,
        body_at: None,
        body_url: None,
        body_hashes: None,
        truncated: None,
        text: None,
        is_no_page: turn.attributes.flags.is_no_page(),
        via: turn.via.as_deref().map(|via| Via::Url(via.to_owned())),
        certificate: None,
    }
}

/// Returns the name of a certificate's fault. `None` if it was verified.
fn fault_of(certificate: Option<Certificate>) -> Option<&'static str> {
    certificate.filter(|found| *found != Certificate::Verified).map(Certificate::as_str)
}

/// Returns the row of a fetched URL, without its record's position, which is not known yet.
pub(crate) fn row_of(crawl: i32, host_hash: u64, turn: &Turn, answer: &Answer) -> FetchRow {
    let Answer { fetched, facts, sha256, body, refused } = answer;
    let exchange = answer.exchange();
    let milliseconds = |time: Duration| i32::try_from(time.as_millis()).unwrap_or(i32::MAX);
    let validators = fetched.validators();
    let mut title = facts.title.clone();
    if let Some(title) = &mut title {
        title.truncate(title.floor_char_boundary(MAX_TITLE_BYTES));
    }
    let row = FetchRow {
        at: exchange.map_or_else(Utc::now, |exchange| exchange.asked_at),
        duration_ms: exchange.map(|exchange| milliseconds(exchange.duration)),
        status: fetched.status.and_then(|status| i16::try_from(status).ok()),
        outcome: refused.unwrap_or(fetched.outcome.as_str()).to_owned(),
        bytes: sha256.map(|_| i32::try_from(fetched.body.len()).unwrap_or(i32::MAX)),
        sha256: *sha256,
        mime: fetched.content_type(),
        charset: facts.charset.clone(),
        language: facts.language.map(str::to_owned),
        title,
        etag: validators.etag,
        last_modified: validators.last_modified,
        redirect: fetched.redirect.clone(),
        truncated: fetched.truncated.map(|reason| reason.as_str().to_owned()),
        text: facts.text.clone(),
        certificate: fault_of(fetched.certificate),
        ..empty_row(crawl, host_hash, turn)
    };
    // Nothing of a refused page's body is recorded.
    if refused.is_none_or(|outcome| outcome == DUPLICATE) { with_copy(row, body) } else { row }
}

/// Adds the values of the earlier copy that has the body to a row.
fn with_copy(mut row: FetchRow, body: &BodyRecord) -> FetchRow {
    let Some(copy) = body.copy() else { return row };
    if let Some(place) = BodyPlace::of_earlier(copy) {
        name_body(&mut row, &place);
    }
    if matches!(body, BodyRecord::NotModified(_)) {
        row.bytes = copy.bytes;
        row.mime.clone_from(&copy.mime);
        // A page that was not parsed keeps the values of its copy.
        row.charset = row.charset.or_else(|| copy.charset.clone());
        row.language = row.language.or_else(|| copy.language.clone());
        row.title = row.title.or_else(|| copy.title.clone());
        row.etag = row.etag.or_else(|| copy.etag.clone());
        row.last_modified = row.last_modified.or_else(|| copy.last_modified.clone());
    }
    row
}

/// Stores in a row which record has its body.
pub(crate) fn name_body(row: &mut FetchRow, body: &BodyPlace) {
    row.body_object = Some(body.object.to_string());
    row.body_offset = i64::try_from(body.position.offset).ok();
    row.body_length = i32::try_from(body.position.length).ok();
    row.body_at = Some(body.at);
    row.body_url = Some(body.url.to_string()).filter(|url| *url != row.url);
    row.body_hashes = Some(body.hashes).filter(|hashes| *hashes != (row.host_hash, row.url_hash));
}

/// Returns whether a record may name that of another URL with the same body on its site. A home
/// page has its own record, and so has a redirect target, which is mostly where a home page leads:
/// a scan reads it there, and resolves its links against the URL of the record.
fn may_name_another(answer: &Answer, turn: &Turn) -> bool {
    let Answer { fetched, body, .. } = answer;
    matches!(body, BodyRecord::Own)
        && is_whole(fetched)
        && fetched.body.len() >= MIN_NAMED_BYTES
        && turn.attributes.hops == 0
        && !is_home_page(&turn.url)
}

/// Returns a response's WARC record. `of` has its pending URL and where to look for copies; a
/// robots.txt has neither. `None` if no response came.
pub(crate) fn record_of(
    crawl: &Arc<Crawl>,
    (subset, slot): (ArchiveSubset, i16),
    answer: Answer,
    of: Option<(&Turn, CopiesOf)>,
    delay: Duration,
) -> Option<Record> {
    let sha256 = answer.sha256?;
    let copies_of =
        of.filter(|(turn, _)| may_name_another(&answer, turn)).map(|(_, copies)| copies);
    let found = of.map(|(turn, _)| turn.attributes);
    let Answer { mut fetched, facts, body, .. } = answer;
    let exchange = fetched.exchanges.pop()?;
    Some(Record {
        crawl: Arc::clone(crawl),
        subset,
        slot,
        url: exchange.url,
        date_micros: exchange.asked_at.timestamp_micros(),
        ip_address: Some(exchange.address.ip()),
        request_head: exchange.request_head,
        response_head: exchange.response_head,
        sha256,
        body,
        copies_of,
        duration: exchange.duration,
        delay,
        depth: found.map(|found| found.depth),
        via: of.and_then(|(turn, _)| turn.via.clone()),
        certificate: fault_of(fetched.certificate),
        fetched,
        is_urgent: found.is_some_and(|found| found.flags.contains(LinkFlags::URGENT)),
        charset: facts.charset,
    })
}

#[cfg(test)]
mod tests {
    use everytab_postgres::shared_for_tests;

    use super::{CRASHED, Ending, Outcome, ending_of};
    use crate::outcomes::{NO_RECORD, outcomes_of};

    /// A URL's state in the HTTP service must agree with the crawl's counts.
    #[test]
    fn postgres_knows_how_each_outcome_ends() {
        let server = shared_for_tests();
        let database = server.fresh_database(None);
        let function = include_str!("../../../coordinator-sql/functions/ending_of.sql");
        let make = format!("create schema coordinator; {function}");
        server.psql(&database, &make).unwrap();
        let word = |ending| match ending {
            Ending::Captured => "captured",
            Ending::Failed => "failed",
            Ending::Refused => "refused",
            Ending::Left => "left",
        };
        let all = Outcome::ALL.iter().flat_map(|outcome| {
            [("null", false), ("0", false), ("1", true)]
                .map(|(bytes, has)| (outcome.as_str(), bytes, word(ending_of(*outcome, has))))
        });
        let others = [Ending::Refused, Ending::Left].into_iter().flat_map(|ending| {
            outcomes_of(ending).into_iter().map(move |outcome| (outcome, "1", word(ending)))
        });
        let failed = [(CRASHED, "null", "failed"), (NO_RECORD, "1", "failed")];
        for (outcome, bytes, expected) in all.chain(others).chain(failed) {
            let sql = format!("select coordinator.ending_of('{outcome}', {bytes})");
            assert_eq!(server.psql(&database, &sql).unwrap().trim(), expected, "{outcome}");
        }
    }
}
