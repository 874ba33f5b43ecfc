//! How a URL of a crawl stands, as clients read it.
//!
//! Invariant: nothing of the operator's (stores, slots, numbers of crawls) is in it. Must not know:
//! how it was asked for.

use chrono::{DateTime, Utc};
use everytab_coordinator::ApiFetch;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{
    captures::Contents,
    closed_lists::{CertificateFault, CrawlEnd, FetchOutcome, Truncation},
    url_id::url_id,
};

/// How a URL stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum UrlState {
    /// It was not fetched yet.
    Due,
    /// Its record is kept.
    Captured,
    /// It could not be had.
    Failed,
    /// It may not be asked for, or its answer is of no use.
    Refused,
    /// It was given up before it was asked for.
    Left,
}

impl UrlState {
    fn parse(text: &str) -> Self {
        match text {
            "captured" => Self::Captured,
            "failed" => Self::Failed,
            "refused" => Self::Refused,
            "left" => Self::Left,
            _ => Self::Due,
        }
    }
}

/// Where a record is, in the store of the crawl.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct RecordPlace {
    /// The name of the WARC file.
    pub(crate) object: String,
    /// Where the record begins in it, in bytes.
    pub(crate) offset: i64,
    /// Its length, in bytes.
    pub(crate) length: i32,
}

/// A URL of a crawl. While it is due, what the fetch says is absent.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UrlDocument {
    /// Its id.
    pub(crate) id: String,
    /// The URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    /// The crawl's id.
    pub(crate) crawl: Uuid,
    /// How it stands.
    pub(crate) state: UrlState,
    /// One word: how it ended, such as ok, http_404_410 or robots_disallowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<FetchOutcome>)]
    pub(crate) outcome: Option<String>,
    /// What ended the crawl, where the URL was left because of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<CrawlEnd>)]
    pub(crate) reason: Option<String>,
    /// When it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<DateTime<Utc>>,
    /// How long the answer took, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) duration_ms: Option<i32>,
    /// Links from a submitted URL to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) depth: Option<i16>,
    /// The URL whose link or redirect led to it; absent if it was submitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) via: Option<String>,
    /// The HTTP status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<i16>,
    /// Where a redirect leads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) redirect: Option<String>,
    /// The MIME type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mime: Option<String>,
    /// The charset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) charset: Option<String>,
    /// The language.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) language: Option<String>,
    /// The title of the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    /// Bytes of the body as it is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bytes: Option<i32>,
    /// SHA-256 of that body, in hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sha256: Option<String>,
    /// What is wrong with the certificate of its server: expired, self_signed, wrong_name,
    /// unknown_issuer or faulty.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<CertificateFault>)]
    pub(crate) certificate: Option<String>,
    /// Why the body is not whole: a limit (`length`, `time`), or it ended early (`disconnect`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Truncation>)]
    pub(crate) truncated: Option<String>,
    /// Where its record is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) record: Option<RecordPlace>,
    /// The content of the page, where the request includes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) contents: Option<Contents>,
}

impl UrlDocument {
    /// A URL of which nothing is known but that it is due.
    pub(crate) fn due(id: String, url: Option<String>, crawl: Uuid) -> Self {
        Self {
            id,
            url,
            crawl,
            state: UrlState::Due,
            outcome: None,
            reason: None,
            at: None,
            duration_ms: None,
            depth: None,
            via: None,
            status: None,
            redirect: None,
            mime: None,
            charset: None,
            language: None,
            title: None,
            bytes: None,
            sha256: None,
            certificate: None,
            truncated: None,
            record: None,
            contents: None,
        }
    }

    /// A URL as the key with this secret sees it.
    pub(crate) fn new(fetch: ApiFetch, secret_sha256: &[u8; 32]) -> Self {
        let id = fetch.id();
        let place = fetch.object.zip(fetch.record_offset).zip(fetch.record_length);
        Self {
            id: url_id(id, secret_sha256),
            url: fetch.url,
            crawl: fetch.crawl_id,
            state: UrlState::parse(&fetch.state),
            outcome: fetch.outcome,
            reason: fetch.reason,
            at: fetch.at,
            duration_ms: fetch.duration_ms,
            depth: fetch.depth,
            via: fetch.via,
            status: fetch.status,
            redirect: fetch.redirect,
            mime: fetch.mime,
            charset: fetch.charset,
            language: fetch.language,
            title: fetch.title,
            bytes: fetch.bytes,
            sha256: fetch.sha256.map(hex::encode),
            certificate: fetch.certificate,
            truncated: fetch.truncated,
            record: place.map(|((object, offset), length)| RecordPlace { object, offset, length }),
            contents: None,
        }
    }
}

/// Whether a URL is no more due.
pub(crate) fn is_settled(fetch: &ApiFetch) -> bool {
    UrlState::parse(&fetch.state) != UrlState::Due
}
