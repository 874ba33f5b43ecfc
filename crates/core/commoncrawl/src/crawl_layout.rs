//! Names for a live crawl and its archives, in the layout of Common Crawl's bucket.
//!
//! ```text
//! crawl-data/LIVE-20261123143329-0a1b2c3d/segments/4/warc/\
//!     LIVE-20261123143329-0a1b2c3d-w1-7.warc.gz
//! ```

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::date::{format_digits, format_seconds};

/// Prefix of live crawl names. Common Crawl's names start with `CC-MAIN-`.
const LIVE: &str = "LIVE-";
const TIME_DIGITS: usize = 14;
const ID_DIGITS: usize = 8;
/// Maximum length in bytes of a worker's name. Names beyond this limit are rejected.
const MAX_WORKER_BYTES: usize = 64;

/// The string is not a name in this layout.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid {what}: {text:?}")]
pub struct LayoutError {
    what: &'static str,
    text: String,
}

impl LayoutError {
    fn new(what: &'static str, text: &str) -> Self {
        Self { what, text: text.chars().take(120).collect() }
    }
}

/// A live crawl's name: `LIVE-<yyyymmddhhmmss>-<8 hex>`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LiveCrawlName(String);

impl LiveCrawlName {
    /// Creates a name from the start time, in microseconds since 1970, and an `id` that
    /// distinguishes crawls that start in the same second.
    ///
    /// # Errors
    /// Returns an error if the year does not have four digits.
    pub fn new(started_micros: i64, id: u32) -> Result<Self, LayoutError> {
        let digits = format_digits(started_micros).ok_or_else(|| {
            LayoutError::new("time for a crawl name", &format_seconds(started_micros))
        })?;
        Ok(Self(format!("{LIVE}{digits}-{id:08x}")))
    }

    /// Parses a name.
    ///
    /// # Errors
    /// Returns an error if the string is not a valid name.
    pub fn parse(text: &str) -> Result<Self, LayoutError> {
        let parts = text.strip_prefix(LIVE).and_then(|rest| rest.split_once('-'));
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let is_name = parts.is_some_and(|(time, id)| {
            let is_time = time.len() == TIME_DIGITS && time.bytes().all(|b| b.is_ascii_digit());
            is_time && id.len() == ID_DIGITS && id.bytes().all(is_hex)
        });
        is_name.then(|| Self(text.to_owned())).ok_or_else(|| LayoutError::new("crawl name", text))
    }

    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for LiveCrawlName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// An archive subset, stored in a separate directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ArchiveSubset {
    /// Responses with status 200.
    Warc,
    /// All other responses.
    CrawlDiagnostics,
    /// Responses to requests for robots.txt.
    RobotsTxt,
    /// Images and other parts that pages use.
    Media,
}

impl ArchiveSubset {
    /// All subsets.
    pub const ALL: [Self; 4] = [Self::Warc, Self::CrawlDiagnostics, Self::RobotsTxt, Self::Media];

    /// Returns the name of this subset's directory, which the index also uses.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Warc => "warc",
            Self::CrawlDiagnostics => "crawldiagnostics",
            Self::RobotsTxt => "robotstxt",
            Self::Media => "media",
        }
    }

    /// Returns the subset with this name. `None` if there is no such subset.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|subset| subset.as_str() == name)
    }

    /// Returns the file name of this subset's archive list, such as `non200responses.paths.gz`.
    #[must_use]
    pub fn list_name(self) -> &'static str {
        match self {
            Self::Warc => "warc.paths.gz",
            Self::CrawlDiagnostics => "non200responses.paths.gz",
            Self::RobotsTxt => "robotstxt.paths.gz",
            Self::Media => "media.paths.gz",
        }
    }
}

impl fmt::Display for ArchiveSubset {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Name of an archive in a live crawl.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ArchiveName {
    crawl: LiveCrawlName,
    subset: ArchiveSubset,
    segment: u64,
    worker: String,
    number: u64,
}

impl ArchiveName {
    /// Creates an archive's name. `number` must be unique for this worker in the crawl.
    ///
    /// # Errors
    /// Returns an error if the worker's name is empty, too long, or has an invalid character.
    pub fn new(
        crawl: LiveCrawlName,
        subset: ArchiveSubset,
        segment: u64,
        worker: &str,
        number: u64,
    ) -> Result<Self, LayoutError> {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        if worker.is_empty() || worker.len() > MAX_WORKER_BYTES || !worker.bytes().all(is_letter) {
            return Err(LayoutError::new("worker name", worker));
        }
        Ok(Self { crawl, subset, segment, worker: worker.to_owned(), number })
    }

    /// Parses a name that [`Self::object`] returned.
    ///
    /// # Errors
    /// Returns an error if the string is not such a name.
    pub fn parse(object: &str) -> Result<Self, LayoutError> {
        let read = || {
            let (crawl, rest) = object.strip_prefix("crawl-data/")?.split_once("/segments/")?;
            let (segment, rest) = rest.split_once('/')?;
            let (subset, file) = rest.split_once('/')?;
            let file = file.strip_prefix(crawl)?.strip_prefix('-')?.strip_suffix(".warc.gz")?;
            let (worker, number) = file.rsplit_once('-')?;
            let crawl = LiveCrawlName::parse(crawl).ok()?;
            let subset = ArchiveSubset::parse(subset)?;
            let (segment, number) = (segment.parse().ok()?, number.parse().ok()?);
            Self::new(crawl, subset, segment, worker, number).ok()
        };
        // Reject other spellings of a number, such as `+1` and `01`.
        let is_same = |name: &Self| name.object() == object;
        read().filter(is_same).ok_or_else(|| LayoutError::new("archive name", object))
    }

    /// Returns this archive's subset.
    #[must_use]
    pub fn subset(&self) -> ArchiveSubset {
        self.subset
    }

    /// Returns the segment.
    #[must_use]
    pub fn segment(&self) -> u64 {
        self.segment
    }

    /// Returns the crawl.
    #[must_use]
    pub fn crawl(&self) -> &LiveCrawlName {
        &self.crawl
    }

    /// Returns the file name without directories.
    #[must_use]
    pub fn file(&self) -> String {
        format!("{}-{}-{}.warc.gz", self.crawl, self.worker, self.number)
    }

    /// Returns the object name of this archive in a store.
    #[must_use]
    pub fn object(&self) -> String {
        let (crawl, segment, subset) = (&self.crawl, self.segment, self.subset.as_str());
        format!("crawl-data/{crawl}/segments/{segment}/{subset}/{}", self.file())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_follow_the_bucket_layout() {
        let crawl = LiveCrawlName::new(1_767_225_599_000_000, 0x0a1b_2c3d).unwrap();
        assert_eq!(crawl.as_str(), "LIVE-20251231235959-0a1b2c3d");
        let name = ArchiveName::new(crawl, ArchiveSubset::CrawlDiagnostics, 4, "w-1", 7).unwrap();
        assert_eq!(
            name.object(),
            "crawl-data/LIVE-20251231235959-0a1b2c3d/segments/4/crawldiagnostics/\
             LIVE-20251231235959-0a1b2c3d-w-1-7.warc.gz"
        );
        for subset in ArchiveSubset::ALL {
            assert_eq!(ArchiveSubset::parse(subset.as_str()), Some(subset));
        }
    }

    #[test]
    fn invalid_names_are_rejected() {
        for text in [
            "",
            "LIVE-",
            "LIVE-20251231235959-0A1B2C3D",
            "LIVE-2025123123595-0a1b2c3d",
            "LIVE-20251231235959-0a1b2c3",
            "CC-MAIN-2026-05",
        ] {
            assert!(LiveCrawlName::parse(text).is_err(), "{text}");
        }
        assert!(LiveCrawlName::new(i64::MIN, 0).is_err());
        assert!(LiveCrawlName::new(i64::MAX, 0).is_err());
        let crawl = LiveCrawlName::new(0, 0).unwrap();
        for worker in ["", "a/b", "..", "a b", "ü", &"w".repeat(65)] {
            let named = ArchiveName::new(crawl.clone(), ArchiveSubset::Warc, 0, worker, 0);
            assert!(named.is_err(), "{worker}");
        }
        let good = ArchiveName::new(crawl, ArchiveSubset::Warc, 1, "w", 1).unwrap().object();
        assert!(ArchiveName::parse(&good).is_ok());
        for (from, to) in [("/1/", "/01/"), ("/1/", "/+1/"), ("/warc/", "/wet/"), ("-1.", "-.")] {
            assert!(ArchiveName::parse(&good.replace(from, to)).is_err(), "{from} {to}");
        }
    }

    proptest! {
        #[test]
        fn names_round_trip(
            micros in 0_i64..250_000_000_000_000_000, id: u32, segment: u64, number: u64,
            worker in "[a-zA-Z0-9_-]{1,64}",
            subset in prop::sample::select(&ArchiveSubset::ALL[..]),
        ) {
            let crawl = LiveCrawlName::new(micros, id).unwrap();
            prop_assert_eq!(LiveCrawlName::parse(crawl.as_str()), Ok(crawl.clone()));
            let name = ArchiveName::new(crawl, subset, segment, &worker, number).unwrap();
            prop_assert_eq!(ArchiveName::parse(&name.object()), Ok(name));
        }

        #[test]
        fn arbitrary_names_never_panic(text in "(crawl-data/|LIVE-|[0-9a-f/-]|\\PC){0,40}") {
            let _ = (LiveCrawlName::parse(&text), ArchiveName::parse(&text));
        }
    }
}
