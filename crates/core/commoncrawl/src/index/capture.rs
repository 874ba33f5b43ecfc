//! A capture: the location of one home page's record, and the preference between two captures.
//!
//! Invariant: the preference is a total order over all fields, so a set's best capture does not
//! depend on the order in which captures were read.

use std::cmp::{Ordering, Reverse};

/// The scheme with which a home page was fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// `http`
    Http,
    /// `https`
    Https,
}

impl Protocol {
    /// Returns `http` or `https`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

/// A home page's record in the crawl: an index row that passed the filter and all checks.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Capture {
    /// Hostname in its canonical form, 1 to 253 bytes (see [`crate::canonical_hostname`]).
    pub hostname: String,
    /// The scheme in the page's URL.
    pub protocol: Protocol,
    /// Path to the WARC file relative to the crawl's bucket, without empty, `.` or `..` segments.
    pub warc_filename: String,
    /// Byte offset of the record's gzip member in this file.
    pub warc_record_offset: u64,
    /// Length of the gzip member in bytes. This is at least 1, and the member's end fits an `i64`.
    pub warc_record_length: u64,
    /// When the page was fetched, in microseconds since 1970-01-01 UTC.
    pub fetch_time_micros: i64,
}

impl Capture {
    /// Compares two captures with the same host; `Less` means that `self` is better. https is
    /// better than http, then the newest fetch time, then the smallest WARC file name (by bytes),
    /// then the smallest offset, then the smallest length.
    pub fn preference(&self, other: &Self) -> Ordering {
        self.preference_key().cmp(&other.preference_key())
    }

    fn preference_key(&self) -> impl Ord + '_ {
        (
            Reverse(self.protocol),
            Reverse(self.fetch_time_micros),
            self.warc_filename.as_bytes(),
            self.warc_record_offset,
            self.warc_record_length,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_decides_where_those_before_it_tie() {
        let best = Capture {
            hostname: "a.example".into(),
            protocol: Protocol::Https,
            warc_filename: "b.warc.gz".into(),
            warc_record_offset: 5,
            warc_record_length: 9,
            fetch_time_micros: 100,
        };
        let worse = [
            Capture { protocol: Protocol::Http, fetch_time_micros: 900, ..best.clone() },
            Capture { fetch_time_micros: 99, warc_filename: "a".into(), ..best.clone() },
            Capture { warc_filename: "c.warc.gz".into(), warc_record_offset: 0, ..best.clone() },
            Capture { warc_record_offset: 6, warc_record_length: 1, ..best.clone() },
            Capture { warc_record_length: 10, ..best.clone() },
        ];
        for other in worse {
            assert_eq!(best.preference(&other), Ordering::Less, "{other:?}");
            assert_eq!(other.preference(&best), Ordering::Greater, "{other:?}");
        }
        assert_eq!(best.preference(&best.clone()), Ordering::Equal);
    }
}
