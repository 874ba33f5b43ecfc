//! Stores for ranges of slots, for a crawl with several stores.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// Store for the sites in a slot range. Its string form is `00-7f=s3://bucket`, with hexadecimal
/// digits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoreRange {
    /// First slot.
    pub first: u8,
    /// Last slot, included.
    pub last: u8,
    /// Store URL.
    pub store: String,
}

/// The string is not a slot range with a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid store range: expected slots from 00 to ff, as in 00-7f=s3://bucket")]
pub struct StoreRangeError;

impl FromStr for StoreRange {
    type Err = StoreRangeError;

    fn from_str(text: &str) -> Result<Self, StoreRangeError> {
        let (range, store) = text.split_once('=').ok_or(StoreRangeError)?;
        let (first, last) = range.split_once('-').ok_or(StoreRangeError)?;
        let end = |digits: &str| {
            // A sign and one digit also have two characters, so check for digits.
            let is_two_digits =
                digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            let number = u8::from_str_radix(digits, 16).ok().filter(|_| is_two_digits);
            number.ok_or(StoreRangeError)
        };
        let (first, last) = (end(first)?, end(last)?);
        if first > last || store.is_empty() {
            return Err(StoreRangeError);
        }
        Ok(Self { first, last, store: store.to_owned() })
    }
}

impl fmt::Display for StoreRange {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{:02x}-{:02x}={}", self.first, self.last, self.store)
    }
}

/// Checks that the ranges contain each slot exactly once, in any order.
pub(crate) fn check_ranges(ranges: &[StoreRange]) -> Result<(), String> {
    for slot in 0..=u8::MAX {
        let here = |range: &&StoreRange| (range.first..=range.last).contains(&slot);
        match ranges.iter().filter(here).count() {
            1 => {}
            0 => return Err(format!("no store is given for slot {slot:02x}; cover 00 to ff")),
            _ => return Err(format!("slot {slot:02x} has two stores")),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_two_hexadecimal_numbers_and_a_store() {
        let range: StoreRange = "80-fF=file:///a=b".parse().expect("a range");
        let expected = StoreRange { first: 128, last: 255, store: "file:///a=b".to_owned() };
        assert_eq!(range, expected);
        assert_eq!(range.to_string(), "80-ff=file:///a=b");
        for text in ["", "80=a", "0-f=a", "80-7f=a", "00-100=a", "00-ff=", "+1-ff=a", "s3://a"] {
            assert_eq!(text.parse::<StoreRange>(), Err(StoreRangeError), "{text}");
        }
    }

    #[test]
    fn ranges_name_each_slot_once() {
        let check = |texts: &[&str]| {
            let ranges = texts.iter().map(|text| text.parse().expect("a range"));
            check_ranges(&ranges.collect::<Vec<_>>())
        };
        assert_eq!(check(&["80-ff=a", "00-7f=b"]), Ok(()));
        let missing = check(&["00-7e=a", "80-ff=b"]).expect_err("a slot is missing");
        assert!(missing.contains("slot 7f"), "{missing}");
        assert_eq!(check(&["00-80=a", "80-ff=b"]), Err("slot 80 has two stores".to_owned()));
    }
}
