//! A capture of a home page, and the preference between captures, which is a total order.

use std::cmp::{Ordering, Reverse};

/// The scheme with which a home page was fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// `http`.
    Http,
    /// `https`.
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

/// Where a home page's record is in the crawl.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Capture {
    /// Hostname in its canonical form (see [`crate::canonical_hostname`]).
    pub hostname: String,
    /// Scheme in this page's URL.
    pub protocol: Protocol,
    /// Path of the WARC file relative to the crawl's bucket, without empty, `.` or `..` segments.
    pub warc_filename: String,
    /// Byte offset of this record's gzip member in the file.
    pub warc_record_offset: u64,
    /// The gzip member's length in bytes, at least 1. Its end offset fits in an `i64`.
    pub warc_record_length: u64,
    /// Fetch time, in microseconds since 1970 UTC.
    pub fetch_time_micros: i64,
}

impl Capture {
    /// Compares two captures for one host. `Less` means that `self` is better: https before http,
    /// then the newest fetch time, then the smallest file name, offset and length.
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
