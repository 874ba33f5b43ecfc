//! What live crawls are to keep nothing of that they kept: URLs and sites.
//!
//! Must not know: archives, what a site is.

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::{
    bind::bind, coordinator::Coordinator, error::Error, record::signed_hash, row::from_row,
};

/// What is to be forgotten.
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
        /// Its name.
        name: &'a str,
        /// Hash of the name.
        site_hash: u64,
        /// Its slot.
        slot: u8,
    },
}

/// What is forgotten, and may still be in archives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forgotten {
    /// Its number.
    pub number: i32,
    /// url or site.
    pub kind: String,
    /// The normalized key of the URL, or the name of the site.
    pub name: String,
    /// What was kept until then is forgotten.
    pub forgotten_at: DateTime<Utc>,
}

/// An archive that has records of what is forgotten, or a crawl that asked for it.
#[derive(Debug, Clone, PartialEq)]
pub struct ForgottenArchive {
    /// Its name; none of a crawl that asked and kept nothing.
    pub object: Option<String>,
    /// Name of the crawl that wrote it.
    pub crawl_name: String,
    /// The store of that crawl.
    pub store: String,
    /// The settings of that crawl, which name other stores.
    pub settings: Value,
}

from_row!(Forgotten { number, kind, name, forgotten_at });
from_row!(ForgottenArchive { object, crawl_name, store, settings });

impl Coordinator {
    /// Forgets what live crawls kept of a URL or site until now: from then on no function gives it
    /// out. Returns how many captures that are.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
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

    /// What is forgotten, and may still be in archives.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn uncleared(&self) -> Result<Vec<Forgotten>, Error> {
        self.operator_rows("select * from coordinator.uncleared()", &[]).await
    }

    /// The archives that have records of what is forgotten.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn forgotten_archives(&self, number: i32) -> Result<Vec<ForgottenArchive>, Error> {
        let sql = "select * from coordinator.forgotten_archives($1)";
        self.operator_rows(sql, &[bind(&number)]).await
    }

    /// Notes that no archive has what is forgotten, and drops what rows say of it. Returns of how
    /// many: not of what was forgotten again meanwhile, and of nothing while an index is being
    /// written that may have some of it.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
    pub async fn clear_forgotten(&self, forgotten: &[Forgotten]) -> Result<i32, Error> {
        let sql = "select coordinator.clear_forgotten($1, $2)";
        let numbers: Vec<i32> = forgotten.iter().map(|one| one.number).collect();
        let times: Vec<DateTime<Utc>> = forgotten.iter().map(|one| one.forgotten_at).collect();
        self.operator_value(sql, &[bind(&numbers), bind(&times)]).await
    }
}
