//! URLs and sites that live crawls must forget.

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::{
    client::{coordinator::Coordinator, sql_calls::sql_calls},
    connection::{bind::bind, hash::signed_hash, row::from_row},
    error::Error,
};

/// A URL or site to forget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewForgotten<'a> {
    /// A URL.
    Url {
        /// The normalized key.
        key: &'a str,
        /// Hash of the host.
        host_hash: u64,
        /// Hash of the key.
        url_hash: u64,
    },
    /// All URLs on a site.
    Site {
        /// The site's name.
        name: &'a str,
        /// Hash of the name.
        site_hash: u64,
        /// The site's slot.
        slot: u8,
    },
}

/// A forgotten URL or site that may still be in archives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forgotten {
    /// Its number.
    pub number: i32,
    /// `url` or `site`.
    pub kind: String,
    /// The URL's normalized key, or the site's name.
    pub name: String,
    /// Everything that was stored up to this time is forgotten.
    pub forgotten_at: DateTime<Utc>,
}

/// An archive with records of a forgotten URL or site, or a crawl that has fetched it.
#[derive(Debug, Clone, PartialEq)]
pub struct ForgottenArchive {
    /// The archive's object name. `None` in the additional row for each crawl.
    pub object: Option<String>,
    /// The crawl's name.
    pub crawl_name: String,
    /// The crawl's store URL.
    pub store: String,
    /// The crawl's settings, which may contain further stores.
    pub settings: Value,
}

from_row!(Forgotten { number, kind, name, forgotten_at });
from_row!(ForgottenArchive { object, crawl_name, store, settings });

sql_calls! {
    /// Returns the forgotten URLs and sites that archives may still contain.
    pub async fn uncleared() -> Result<Vec<Forgotten>, Error>
        = operator_rows("select * from coordinator.uncleared()");

    /// Returns the archives that contain records of a forgotten URL or site, and the crawls that
    /// have fetched it.
    pub async fn forgotten_archives(number: i32) -> Result<Vec<ForgottenArchive>, Error>
        = operator_rows("select * from coordinator.forgotten_archives($1)", number);

    /// Deletes what Postgres still stores of forgotten URLs and sites. Call this only when no
    /// archive contains them any longer. Returns how many were cleared, 0 while an index is being
    /// written that may contain one. Skips those that were forgotten again since.
    pub async fn clear_forgotten(forgotten: &[Forgotten]) -> Result<i32, Error>
        = operator_value(
            "select coordinator.clear_forgotten($1, $2)",
            forgotten.iter().map(|one| one.number).collect::<Vec<_>>(),
            forgotten.iter().map(|one| one.forgotten_at).collect::<Vec<_>>(),
        );
}

impl Coordinator {
    /// Forgets everything that live crawls have stored for a URL or site until now, and returns the
    /// number of captures.
    pub async fn forget(&self, what: &NewForgotten<'_>) -> Result<i64, Error> {
        let (kind, name, host, url, slot) = match what {
            NewForgotten::Url { key, host_hash, url_hash } => {
                ("url", *key, signed_hash(*host_hash), Some(signed_hash(*url_hash)), None)
            }
            NewForgotten::Site { name, site_hash, slot } => {
                ("site", *name, signed_hash(*site_hash), None, Some(i16::from(*slot)))
            }
        };
        let sql = "select coordinator.forget($1, $2, $3, $4, $5)";
        let arguments = [bind(&kind), bind(&name), bind(&host), bind(&url), bind(&slot)];
        self.operator_value(sql, &arguments).await
    }
}
