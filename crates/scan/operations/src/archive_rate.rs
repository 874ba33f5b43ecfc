//! Limits how many requests per second a fleet sends to a crawl's source. Common Crawl's bucket
//! supports "a few thousand requests per second combined for everyone" (status.commoncrawl.org),
//! and its mirror over HTTPS allows each reader fewer than ten.

use std::str::FromStr;

use everytab_console::OperationError;
use url::{Host, Url};

/// Default for the fleet's requests per second to an S3 bucket.
pub const S3_RATE: i32 = 1_000;
/// Default for the fleet's requests per second to a source over HTTPS.
pub const HTTPS_RATE: i32 = 9;
/// Common Crawl's mirror, for which [`HTTPS_RATE`] is the maximum.
const PUBLIC_MIRROR: &str = "data.commoncrawl.org";

/// The operator's setting for a scan's request rate to its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveRate {
    /// No limit.
    Off,
    /// Maximum requests per second for all workers together.
    PerSecond(i32),
}

impl FromStr for ArchiveRate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse()) {
            ("off", _) => Ok(Self::Off),
            (_, Ok(rate @ 1..)) => Ok(Self::PerSecond(rate)),
            _ => Err(format!("{text:?}: give a number of requests per second, or off")),
        }
    }
}

/// Returns the request rate for a scan of `source`. `None` if unlimited.
///
/// # Errors
///
/// Returns an error if the rate exceeds what Common Crawl's mirror allows.
pub fn of_scan(source: &str, wanted: Option<ArchiveRate>) -> Result<Option<i32>, OperationError> {
    let url = Url::parse(source).ok();
    let usual = match url.as_ref().map(Url::scheme) {
        Some("s3") => S3_RATE,
        Some("https" | "http") => HTTPS_RATE,
        _ => return Ok(None),
    };
    let rate = match wanted {
        None => Some(usual),
        Some(ArchiveRate::Off) => None,
        Some(ArchiveRate::PerSecond(rate)) => Some(rate),
    };
    let is_mirror = url.and_then(|url| url.host().map(|host| host == Host::Domain(PUBLIC_MIRROR)));
    if is_mirror == Some(true) && usual == HTTPS_RATE && rate.is_none_or(|rate| rate > HTTPS_RATE) {
        return Err(OperationError::usage(format!(
            "the archive-rate of {source} can be {HTTPS_RATE} at most: Common Crawl asks for fewer \
             than ten requests a second there; read s3://commoncrawl in us-east-1 to read faster"
        )));
    }
    Ok(rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_source_has_the_rate_that_it_bears() {
        let rate = |source: &str, wanted: &str| {
            let wanted = (!wanted.is_empty()).then(|| wanted.parse().unwrap());
            of_scan(source, wanted).map_err(|error| error.message)
        };
        assert_eq!(rate("s3://commoncrawl", ""), Ok(Some(1_000)));
        assert_eq!(rate("s3://commoncrawl/", "300"), Ok(Some(300)));
        assert_eq!(rate("s3://commoncrawl", "off"), Ok(None));
        assert_eq!(rate("https://data.commoncrawl.org/", ""), Ok(Some(9)));
        assert_eq!(rate("https://data.commoncrawl.org", "3"), Ok(Some(3)));
        for wanted in ["10", "off"] {
            let refused = rate("https://data.commoncrawl.org/", wanted).unwrap_err();
            assert!(refused.contains("fewer than ten"), "{refused}");
        }
        assert_eq!(rate("https://mirror.example/", ""), Ok(Some(9)));
        assert_eq!(rate("http://127.0.0.1:8000/", "off"), Ok(None));
        assert_eq!(rate("file:///srv/crawl", "300"), Ok(None));
        assert_eq!(rate("crawl", ""), Ok(None));
        for wrong in ["0", "-1", "fast", ""] {
            assert!(wrong.parse::<ArchiveRate>().is_err(), "{wrong}");
        }
    }
}
