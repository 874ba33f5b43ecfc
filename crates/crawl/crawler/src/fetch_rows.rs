//! Builds the row and the WARC record for a fetch.

use std::{sync::Arc, time::Duration};

use chrono::Utc;
use everytab_commoncrawl::crawl_layout::ArchiveSubset;
use everytab_coordinator::{FetchRow, Via};
use everytab_fetcher::{Certificate, Outcome};
use everytab_frontier::{
    CanonicalUrl, FinalState, LinkFlags, ParameterList, PendingUrl, UrlHash, is_home_page,
    site_hash,
};

use crate::{
    archives::{DedupScope, WarcRecord},
    crawl::Crawl,
    fetch::{DUPLICATE, FetchOutput, is_whole},
    repeat::BodySource,
    stored_bodies::BodyLocation,
};

pub(crate) const CRASHED: &str = "crashed";
/// The reason to leave a host's URLs when its robots.txt sets a delay that is too long to obey.
pub(crate) const CRAWL_DELAY_TOO_LONG: &str = "crawl_delay_too_long";
/// Minimum body size, in bytes, for which a record refers to another record with the same body. For
/// a shorter body, a full record is hardly longer than a revisit record.
const MIN_NAMED_BYTES: usize = 1_024;
/// Maximum size of a stored title, in bytes.
const MAX_TITLE_BYTES: usize = 1_024;

/// Converts a referrer to hashes if its row is recorded no later than this URL's row, which
/// `is_finished` tests for a referrer on the same host. A referrer on another host is always
/// recorded together with its links, and a robots.txt has no row.
pub(crate) fn named_via(
    via: Via,
    own_host: u64,
    parameters: &ParameterList,
    is_finished: impl FnOnce(UrlHash) -> bool,
) -> Via {
    let Via::Url(text) = &via else { return via };
    let Ok(url) = CanonicalUrl::parse(text, parameters) else { return via };
    let host_hash = site_hash(url.host());
    let is_recorded = if host_hash == own_host { is_finished(url.hash()) } else { true };
    if is_recorded && url.path() != "/robots.txt" {
        return Via::Recorded(host_hash, url.hash().0);
    }
    via
}

/// `has_body` is true if part of the body was received.
pub(crate) fn final_state_of(outcome: Outcome, has_body: bool) -> FinalState {
    match outcome {
        Outcome::BodyTruncated | Outcome::BodyReset | Outcome::H1Parse | Outcome::TotalTimeout
            if has_body =>
        {
            FinalState::Captured
        }
        Outcome::Ok | Outcome::Redirected | Outcome::EmptyBody | Outcome::NotModified => {
            FinalState::Captured
        }
        Outcome::TypeRefused
        | Outcome::RobotsDisallowed
        | Outcome::OptedOut
        | Outcome::IpBlocked
        | Outcome::UrlUnparsable
        | Outcome::UrlTooLong
        | Outcome::UrlScheme
        | Outcome::UrlPort
        | Outcome::UrlCredentials => FinalState::Refused,
        _ => FinalState::Failed,
    }
}

pub(crate) fn empty_row(crawl: i32, host_hash: u64, pending: &PendingUrl) -> FetchRow {
    FetchRow {
        crawl,
        host_hash,
        url_hash: pending.hash.0,
        url: pending.url.clone(),
        at: Utc::now(),
        duration_ms: None,
        depth: i16::try_from(pending.attributes.depth).unwrap_or(i16::MAX),
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
        is_no_page: pending.attributes.flags.is_requisite_or_sitemap(),
        via: pending.via.as_deref().map(|via| Via::Url(via.to_owned())),
        certificate: None,
    }
}

fn fault_of(certificate: Option<Certificate>) -> Option<&'static str> {
    certificate.filter(|found| *found != Certificate::Verified).map(Certificate::as_str)
}

pub(crate) fn row_of(
    crawl: i32,
    host_hash: u64,
    pending: &PendingUrl,
    output: &FetchOutput,
) -> FetchRow {
    let FetchOutput { fetched, facts, sha256, body, refused } = output;
    let exchange = output.exchange();
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
        ..empty_row(crawl, host_hash, pending)
    };
    // A refused page's row takes nothing from an earlier copy, unless it was refused as a
    // duplicate.
    if refused.is_none_or(|outcome| outcome == DUPLICATE) { with_copy(row, body) } else { row }
}

fn with_copy(mut row: FetchRow, body: &BodySource) -> FetchRow {
    let Some(copy) = body.copy() else { return row };
    if let Some(location) = BodyLocation::of_earlier(copy) {
        name_body(&mut row, &location);
    }
    if matches!(body, BodySource::NotModified(_)) {
        row.bytes = copy.bytes;
        row.mime.clone_from(&copy.mime);
        row.charset = row.charset.or_else(|| copy.charset.clone());
        row.language = row.language.or_else(|| copy.language.clone());
        row.title = row.title.or_else(|| copy.title.clone());
        row.etag = row.etag.or_else(|| copy.etag.clone());
        row.last_modified = row.last_modified.or_else(|| copy.last_modified.clone());
    }
    row
}

pub(crate) fn name_body(row: &mut FetchRow, body: &BodyLocation) {
    row.body_object = Some(body.object.to_string());
    row.body_offset = i64::try_from(body.position.offset).ok();
    row.body_length = i32::try_from(body.position.length).ok();
    row.body_at = Some(body.at);
    row.body_url = Some(body.url.to_string()).filter(|url| *url != row.url);
    row.body_hashes = Some(body.hashes).filter(|hashes| *hashes != (row.host_hash, row.url_hash));
}

/// Returns true if a record may refer to another URL's record on the site. Home pages, and redirect
/// targets because most home pages redirect, need their own records: a scan resolves a home page's
/// links against the record's URL.
fn may_name_another(output: &FetchOutput, pending: &PendingUrl) -> bool {
    let FetchOutput { fetched, body, .. } = output;
    matches!(body, BodySource::Own)
        && is_whole(fetched)
        && fetched.body.len() >= MIN_NAMED_BYTES
        && pending.attributes.hops == 0
        && !is_home_page(&pending.url)
}

/// `None` if no response was received, or if its body was lost. `of` is `None` for a robots.txt.
pub(crate) fn record_of(
    crawl: &Arc<Crawl>,
    (subset, slot): (ArchiveSubset, i16),
    output: FetchOutput,
    of: Option<(&PendingUrl, DedupScope)>,
    delay: Duration,
) -> Option<WarcRecord> {
    let sha256 = output.sha256?;
    let dedup_scope =
        of.filter(|(pending, _)| may_name_another(&output, pending)).map(|(_, copies)| copies);
    let found = of.map(|(pending, _)| pending.attributes);
    let FetchOutput { mut fetched, facts, body, .. } = output;
    let exchange = fetched.exchanges.pop()?;
    Some(WarcRecord {
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
        dedup_scope,
        duration: exchange.duration,
        delay,
        depth: found.map(|found| found.depth),
        via: of.and_then(|(pending, _)| pending.via.clone()),
        certificate: fault_of(fetched.certificate),
        fetched,
        is_urgent: found.is_some_and(|found| found.flags.contains(LinkFlags::URGENT)),
        charset: facts.charset,
    })
}

#[cfg(test)]
mod tests {
    use everytab_postgres::shared_for_tests;

    use super::{CRASHED, FinalState, Outcome, final_state_of};
    use crate::outcomes::{NO_RECORD, outcomes_of};

    /// A URL's state in the HTTP service must agree with the crawl's counts.
    #[test]
    fn postgres_and_the_crawler_agree_on_final_states() {
        let server = shared_for_tests();
        let database = server.fresh_database(None);
        let function = include_str!("../../../../coordinator-sql/functions/crawl/ending_of.sql");
        let make = format!("create schema coordinator; {function}");
        server.psql(&database, &make).unwrap();
        let word = |final_state| match final_state {
            FinalState::Captured => "captured",
            FinalState::Failed => "failed",
            FinalState::Refused => "refused",
            FinalState::Left => "left",
        };
        let all = Outcome::ALL.iter().flat_map(|outcome| {
            [("null", false), ("0", false), ("1", true)]
                .map(|(bytes, has)| (outcome.as_str(), bytes, word(final_state_of(*outcome, has))))
        });
        let others = [FinalState::Refused, FinalState::Left].into_iter().flat_map(|final_state| {
            outcomes_of(final_state).iter().map(move |outcome| (*outcome, "1", word(final_state)))
        });
        let failed = [(CRASHED, "null", "failed"), (NO_RECORD, "1", "failed")];
        for (outcome, bytes, expected) in all.chain(others).chain(failed) {
            let sql = format!("select coordinator.ending_of('{outcome}', {bytes})");
            assert_eq!(server.psql(&database, &sql).unwrap().trim(), expected, "{outcome}");
        }
    }
}
