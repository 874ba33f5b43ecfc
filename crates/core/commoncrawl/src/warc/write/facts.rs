//! The named values in `warcinfo` and `metadata` records. Their names come from WARC 1.1 (6.1,
//! 6.6), or else from Common Crawl's archives.

use super::fields::{Fields, WriteError};

/// A crawl's description of itself, for each archive's `warcinfo` record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CrawlInfo<'a> {
    /// Program and version, such as `everytab-worker/0.1.0`.
    pub software: &'a str,
    /// The crawl's operator, with contact details.
    pub operator: &'a str,
    /// The `User-Agent` header in requests.
    pub user_agent: &'a str,
    /// The robots.txt policy, such as `obey`.
    pub robots: &'a str,
    /// The crawl's name.
    pub crawl: &'a str,
}

impl<'a> CrawlInfo<'a> {
    /// Returns the names and values for [`ArchiveInfo::fields`](super::ArchiveInfo::fields).
    #[must_use]
    pub fn fields(&self) -> [(&'static str, &'a str); 7] {
        [
            ("isPartOf", self.crawl),
            ("operator", self.operator),
            ("software", self.software),
            ("robots", self.robots),
            ("http-header-user-agent", self.user_agent),
            ("format", "WARC File Format 1.1"),
            (
                "conformsTo",
                "http://iipc.github.io/warc-specifications/specifications/warc-format/\
                            warc-1.1/",
            ),
        ]
    }
}

/// Facts about one fetch that neither the request nor the response contains. `None` values are not
/// written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FetchFacts<'a> {
    /// Time from the request until the response ends, in milliseconds.
    pub fetch_time_ms: Option<u64>,
    /// The host's delay before the request, in milliseconds.
    pub delay_ms: Option<u64>,
    /// Number of links between a seed and this URL.
    pub depth: Option<u16>,
    /// URL of the page or redirect where this URL was first found.
    pub via: Option<&'a str>,
    /// Why the server's certificate is invalid, as one word.
    pub certificate: Option<&'a str>,
    /// Character encoding, with its name in the Encoding Standard.
    pub charset: Option<&'a str>,
    /// The content's language as an ISO 639-3 code.
    pub language: Option<&'a str>,
}

impl FetchFacts<'_> {
    pub(super) fn block(&self) -> Result<Vec<u8>, WriteError> {
        let number = |value: Option<u64>| value.map(|value| value.to_string());
        let text = |value: Option<&str>| value.map(str::to_owned);
        let values = [
            ("fetchTimeMs", number(self.fetch_time_ms)),
            ("delayMs", number(self.delay_ms)),
            ("depth", number(self.depth.map(u64::from))),
            ("via", text(self.via)),
            ("certificate-fault", text(self.certificate)),
            ("charset-detected", text(self.charset)),
            ("language", text(self.language)),
        ];
        let mut block = String::new();
        for (name, value) in values {
            if let Some(value) = value {
                block.push_str(&Fields::line(name, &value)?);
            }
        }
        Ok(block.into_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_values_are_omitted_and_values_cannot_break_their_line() {
        let facts = FetchFacts {
            fetch_time_ms: Some(12),
            depth: Some(0),
            via: Some("https://a.example/?x=ü"),
            certificate: Some("expired"),
            ..FetchFacts::default()
        };
        let block = String::from_utf8(facts.block().unwrap()).unwrap();
        let expected = "fetchTimeMs: 12\r\ndepth: 0\r\nvia: https://a.example/?x=ü\r\n\
                        certificate-fault: expired\r\n";
        assert_eq!(block, expected);
        assert_eq!(FetchFacts::default().block().unwrap(), b"");
        let facts = FetchFacts { language: Some("eng\r\nvia: x"), ..facts };
        assert!(matches!(facts.block(), Err(WriteError::Field { .. })));
    }
}
