//! A fetch's position in recording order.

use std::{fmt, str::FromStr};

use crate::error::Error;

/// A position in recording order, written as `EPOCH-TRANSACTION-NUMBER`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct FetchPosition {
    /// Number of restores from a backup before this fetch.
    pub epoch: i16,
    /// The id of the transaction that recorded the fetch.
    pub xid: i64,
    /// The fetch's number.
    pub id: i64,
}

impl fmt::Display for FetchPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.epoch, self.xid, self.id)
    }
}

impl FetchPosition {
    pub(crate) fn answered(text: &str) -> Result<Self, Error> {
        text.parse().map_err(|_| Error::Unexpected(format!("the fetch position {text:?}")))
    }
}

/// The string is not a valid fetch position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid position: expected three numbers, such as 0-1234-56 from `crawl fetches`")]
pub struct NoFetchPosition;

impl FromStr for FetchPosition {
    type Err = NoFetchPosition;

    fn from_str(text: &str) -> Result<Self, NoFetchPosition> {
        let read = || {
            let (epoch, rest) = text.split_once('-')?;
            let (xid, id) = rest.split_once('-')?;
            let (epoch, xid, id) = (epoch.parse().ok()?, xid.parse().ok()?, id.parse().ok()?);
            Some(Self { epoch, xid, id })
        };
        let is_same = |position: &Self| position.to_string() == text;
        let is_negative = |p: &Self| p.epoch < 0 || p.xid < 0 || p.id < 0;
        read().filter(|p| is_same(p) && !is_negative(p)).ok_or(NoFetchPosition)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_read_as_it_is_written_and_nothing_else_is() {
        let position = FetchPosition { epoch: 1, xid: 1234, id: 56 };
        assert_eq!(position.to_string(), "1-1234-56");
        assert_eq!("1-1234-56".parse(), Ok(position));
        assert!(FetchPosition::default() < "0-0-1".parse().unwrap());
        for text in ["", "7", "1-2", "1-2-3-4", "-1-2-3", "1--2-3", "1-2--3", "1-+2-3", "01-2-3"] {
            assert_eq!(text.parse::<FetchPosition>(), Err(NoFetchPosition), "{text}");
        }
        for text in ["32768-1-1", "0-9223372036854775808-1", "a-b-c", "0-1-2 "] {
            assert_eq!(text.parse::<FetchPosition>(), Err(NoFetchPosition), "{text}");
        }
    }
}
