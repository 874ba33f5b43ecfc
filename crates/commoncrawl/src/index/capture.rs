//! A capture: where the record of one home page lies, and which of two captures is the better.
//!
//! Invariant: the preference is a total order over everything a capture says, so the best of a set
//! does not depend on the order in which its captures were seen.

use std::cmp::{Ordering, Reverse};

/// The scheme a home page was fetched over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// `http`
    Http,
    /// `https`
    Https,
}

impl Protocol {
    /// `http` or `https`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

/// One home page record of the crawl: a row of the index that passed the filter and every check.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Capture {
    /// Lower-case, 1 to 253 bytes (see [`crate::check_hostname`]).
    pub hostname: String,
    /// The scheme of the page's URL.
    pub protocol: Protocol,
    /// Path of the WARC file relative to the crawl's bucket; no empty, `.` or `..` step.
    pub warc_filename: String,
    /// Byte offset of the record's gzip member in that file.
    pub warc_record_offset: u64,
    /// Bytes of the gzip member; at least 1, and the end of the member fits an `i64`.
    pub warc_record_length: u64,
    /// When the page was fetched, in microseconds since 1970-01-01 UTC.
    pub fetch_time_micros: i64,
}

impl Capture {
    /// `Less` where `self` is the better capture of a host: https first, then the newest fetch
    /// time, then the smallest WARC file name (by its bytes), then the smallest offset, then the
    /// smallest length.
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
