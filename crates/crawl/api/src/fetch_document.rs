//! A crawl's URL and its state, in the HTTP API.
//!
//! Invariant: the document has no field that concerns only the operator, such as stores, slots and
//! crawl numbers.

use chrono::{DateTime, Utc};
use everytab_coordinator::ApiFetch;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{
    captures::Contents,
    closed_lists::{CertificateFault, CrawlEnd, FetchOutcome, Truncation},
    tokens::url_id,
};

/// The state of a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum UrlState {
    /// It is not fetched yet.
    Due,
    /// It was fetched, and its record is stored.
    Captured,
    /// Its fetch failed, or the response was an error such as 404.
    Failed,
    /// It must not be fetched, or its response must not be stored.
    Refused,
    /// It was given up before it was fetched.
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

/// A record's location in the crawl's store.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct RecordPlace {
    /// Name of the WARC file.
    pub(crate) object: String,
    /// The record's offset in the file, in bytes.
    pub(crate) offset: i64,
    /// The record's length, in bytes.
    pub(crate) length: i32,
}

/// A URL of a crawl. The fields about its fetch are absent while the URL is due.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UrlDocument {
    /// The URL's ID.
    pub(crate) id: String,
    /// The URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    /// The crawl's ID.
    pub(crate) crawl: Uuid,
    /// The URL's state.
    pub(crate) state: UrlState,
    /// The outcome, such as ok, http_404_410 or robots_disallowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<FetchOutcome>)]
    pub(crate) outcome: Option<String>,
    /// What ended the crawl, if the URL was left because the crawl ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<CrawlEnd>)]
    pub(crate) reason: Option<String>,
    /// Time of the fetch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<DateTime<Utc>>,
    /// How long the response took, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) duration_ms: Option<i32>,
    /// Number of links from a submitted URL to this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) depth: Option<i16>,
    /// The URL whose link or redirect led here. Absent for submitted URLs, and for a `/sitemap.xml`
    /// that robots.txt does not name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) via: Option<String>,
    /// The HTTP status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<i16>,
    /// Target of the redirect.
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
    /// The page's title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    /// The body's size in bytes, after decoding and truncation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bytes: Option<i32>,
    /// SHA-256 of this body, in hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sha256: Option<String>,
    /// What is wrong with the server's certificate: expired, self_signed, wrong_name,
    /// unknown_issuer or faulty.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<CertificateFault>)]
    pub(crate) certificate: Option<String>,
    /// Why the body is incomplete: it exceeded a limit (`length`, `time`), or the connection closed
    /// early (`disconnect`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Truncation>)]
    pub(crate) truncated: Option<String>,
    /// The record's location.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) record: Option<RecordPlace>,
    /// The page's content, if the request includes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) contents: Option<Contents>,
}

impl UrlDocument {
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

    /// The ID in the document is valid for the key with this secret.
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

pub(crate) fn is_settled(fetch: &ApiFetch) -> bool {
    UrlState::parse(&fetch.state) != UrlState::Due
}
