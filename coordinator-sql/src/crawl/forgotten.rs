//! URLs and sites that live crawls must forget.
//!
//! Does not depend on archives, or on what a site is.

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::{
    bind::bind, coordinator::Coordinator, error::Error, record::signed_hash, row::from_row,
    sql_calls::sql_calls,
};

/// A URL or site to forget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewForgotten<'a> {
    /// A URL: its normalized key, and the hashes of its host and of the key.
    Url {
        /// The normalized key.
        key: &'a str,
        /// Hash of the host.
        host_hash: u64,
        /// Hash of the key.
        url_hash: u64,
    },
    /// All URLs of a site.
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
    /// url or site.
    pub kind: String,
    /// The normalized key of the URL, or the name of the site.
    pub name: String,
    /// Everything stored up to this time is forgotten.
    pub forgotten_at: DateTime<Utc>,
}

/// An archive with records of a forgotten URL or site, or a crawl that fetched it.
#[derive(Debug, Clone, PartialEq)]
pub struct ForgottenArchive {
    /// The site's name. `None` for a crawl that fetched it and stored nothing.
    pub object: Option<String>,
    /// Name of the crawl that wrote it.
    pub crawl_name: String,
    /// That crawl's store URL.
    pub store: String,
    /// That crawl's settings, which may contain further stores.
    pub settings: Value,
}

from_row!(Forgotten { number, kind, name, forgotten_at });
from_row!(ForgottenArchive { object, crawl_name, store, settings });

sql_calls! {
    /// Returns forgotten URLs and sites that may still be in archives.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn uncleared() -> Result<Vec<Forgotten>, Error>
        = operator_rows("select * from coordinator.uncleared()");

    /// Returns the archives that have records of a forgotten URL or site.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn forgotten_archives(number: i32) -> Result<Vec<ForgottenArchive>, Error>
        = operator_rows("select * from coordinator.forgotten_archives($1)", number);

    /// Records that no archive contains these URLs and sites any longer, and removes them from
    /// rows. Returns how many it cleared. It skips those that were forgotten again since, and
    /// clears nothing while an index that may contain some of them is being written.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
    pub async fn clear_forgotten(forgotten: &[Forgotten]) -> Result<i32, Error>
        = operator_value(
            "select coordinator.clear_forgotten($1, $2)",
            forgotten.iter().map(|one| one.number).collect::<Vec<_>>(),
            forgotten.iter().map(|one| one.forgotten_at).collect::<Vec<_>>(),
        );
}

impl Coordinator {
    /// Forgets what live crawls have stored for a URL or site up to now. From then on no function
    /// returns it. Returns how many captures there were.
    ///
    /// # Errors
    /// Returns an error if Postgres cannot be reached.
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
