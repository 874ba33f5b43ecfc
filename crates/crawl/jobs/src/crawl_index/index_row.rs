//! An index row between its source (Postgres or an archive) and a file.

use everytab_commoncrawl::{
    crawl_layout::{ArchiveName, ArchiveSubset, LiveCrawlName},
    index::write::{CaptureOrder, CaptureRow, CaptureRowError, HostDomains},
    warc::write::{Position, record_id},
};
use everytab_coordinator::IndexRow;
use everytab_frontier::{DomainLists, ListedDomains};
use serde::{Deserialize, Serialize};

const NOT_MODIFIED: i16 = 304;
const OK: u16 = 200;

#[derive(Debug, thiserror::Error)]
pub(crate) enum NotIndexed {
    #[error("the record of {url} is in {object:?}, which is not one of the crawl's archives")]
    Archive { url: String, object: String },
    #[error(transparent)]
    Row(#[from] CaptureRowError),
    #[error("{object}: {reason}")]
    Record { object: String, reason: String },
}

pub(crate) fn subset_of(object: &str) -> Option<ArchiveSubset> {
    ArchiveName::parse(object).ok().map(|name| name.subset())
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredRow {
    pub(crate) subset: ArchiveSubset,
    /// Whether this row belongs only in the columnar index, because its record belongs to another
    /// URL.
    pub(crate) is_of_table_alone: bool,
    pub(crate) url: String,
    pub(crate) fetch_time_micros: i64,
    pub(crate) status: u16,
    pub(crate) redirect: Option<String>,
    pub(crate) digest: Option<String>,
    pub(crate) mime: Option<String>,
    pub(crate) charset: Option<String>,
    pub(crate) language: Option<String>,
    pub(crate) truncated: Option<String>,
    pub(crate) record_id: String,
    pub(crate) object: String,
    pub(crate) segment: String,
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

impl StoredRow {
    /// Adds the values that are derived from this row's hostname.
    pub(crate) fn row<'a>(&'a self, domains: &'a ListedDomains) -> CaptureRow<'a> {
        let ListedDomains { registry_suffix, registered_domain, private_suffix, private_domain } =
            domains;
        CaptureRow {
            url: &self.url,
            domains: HostDomains {
                registry_suffix: registry_suffix.as_deref(),
                registered_domain: registered_domain.as_deref(),
                private_suffix: private_suffix.as_deref(),
                private_domain: private_domain.as_deref(),
            },
            fetch_time_micros: self.fetch_time_micros,
            status: self.status,
            redirect: self.redirect.as_deref(),
            digest: self.digest.as_deref(),
            mime_type: self.mime.as_deref(),
            mime_detected: None,
            charset: self.charset.as_deref(),
            languages: self.language.as_deref(),
            truncated: self.truncated.as_deref(),
            record_id: &self.record_id,
            warc_filename: &self.object,
            position: Position { offset: self.offset, length: self.length },
            segment: &self.segment,
        }
    }

    pub(crate) fn order(&self) -> Result<CaptureOrder, CaptureRowError> {
        self.row(&ListedDomains::default()).order()
    }
}

pub(crate) struct RowReader(LiveCrawlName);

impl RowReader {
    pub(crate) fn new(crawl: LiveCrawlName) -> Self {
        Self(crawl)
    }

    pub(crate) fn of_fetch(&self, fetch: &IndexRow) -> Result<StoredRow, NotIndexed> {
        let micros = fetch.at.timestamp_micros();
        let digest = fetch.sha256.as_ref().map(|hash| format!("sha256:{}", hex::encode(hash)));
        let stored = fetch.record_at.timestamp_micros();
        let of_body = digest.as_deref().unwrap_or_default();
        let id = record_id("response", &fetch.record_url, stored, of_body);
        let (subset, segment) = if fetch.is_revisit {
            archive(&fetch.url, &fetch.object, |_| true)?
        } else {
            self.archive(&fetch.url, &fetch.object)?
        };
        checked(StoredRow {
            subset,
            is_of_table_alone: false,
            url: fetch.url.clone(),
            fetch_time_micros: micros,
            status: match fetch.status {
                // A revisit refers to a record with the status 200.
                Some(NOT_MODIFIED) if fetch.is_revisit => OK,
                status => status.map_or(0, i16::unsigned_abs),
            },
            redirect: fetch.redirect.clone(),
            digest,
            mime: fetch.mime.clone(),
            charset: fetch.charset.clone(),
            language: fetch.language.clone(),
            truncated: fetch.truncated.clone(),
            record_id: id,
            object: fetch.object.clone(),
            segment,
            offset: fetch.record_offset.unsigned_abs(),
            length: fetch.record_length.unsigned_abs().into(),
        })
    }

    /// Creates a row for a home page that redirects within its host, with the target page's record.
    pub(crate) fn of_home_redirect(
        &self,
        (home, page): &(String, IndexRow),
    ) -> Result<StoredRow, NotIndexed> {
        let row = StoredRow { url: home.clone(), is_of_table_alone: true, ..self.of_fetch(page)? };
        checked(row)
    }

    /// Completes a row whose values were read from an archive.
    pub(crate) fn of_record(&self, row: StoredRow) -> Result<StoredRow, NotIndexed> {
        let (subset, segment) = self.archive(&row.url, &row.object)?;
        checked(StoredRow { subset, segment, ..row })
    }

    fn archive(&self, url: &str, object: &str) -> Result<(ArchiveSubset, String), NotIndexed> {
        archive(url, object, |name| *name.crawl() == self.0)
    }
}

/// Returns an archive's subset and segment. Its name must satisfy `is_so`.
fn archive(
    url: &str,
    object: &str,
    is_so: impl Fn(&ArchiveName) -> bool,
) -> Result<(ArchiveSubset, String), NotIndexed> {
    let name = ArchiveName::parse(object).ok().filter(is_so);
    let name = name.ok_or_else(|| NotIndexed::Archive {
        url: url.chars().take(200).collect(),
        object: object.to_owned(),
    })?;
    Ok((name.subset(), name.segment().to_string()))
}

fn checked(row: StoredRow) -> Result<StoredRow, NotIndexed> {
    row.order()?;
    Ok(row)
}

pub(crate) fn domains_of(lists: &DomainLists, url: &str) -> ListedDomains {
    host_of(url).map(|host| lists.domains_of(host)).unwrap_or_default()
}

/// Returns a URL's host as the URL Standard serializes it, without port and trailing dot. The URL
/// must have no user info.
pub(crate) fn host_of(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?']).next()?;
    if authority.starts_with('[') {
        return authority.split_inclusive(']').next();
    }
    let host = authority.split(':').next()?;
    Some(host.strip_suffix('.').unwrap_or(host)).filter(|host| !host.is_empty())
}
