//! Parses durations and numbers of bytes as a person writes them.

use std::time::Duration;

/// Returns the seconds, rounded up so that a fraction does not become 0.
pub(crate) fn whole_seconds(time: Duration) -> u64 {
    time.as_secs().saturating_add(u64::from(time.subsec_nanos() > 0))
}

/// A number of bytes, displayed in the largest unit that divides it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bytes(pub(crate) u64);

const UNITS: [(&str, u32); 5] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10), ("", 0)];

impl std::fmt::Display for Bytes {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let fits = |(_, bits): &&(&str, u32)| self.0 > 0 && self.0.trailing_zeros() >= *bits;
        let (unit, bits) = UNITS.iter().find(fits).unwrap_or(&("", 0));
        write!(formatter, "{}{unit}", self.0 >> bits)
    }
}

/// Parses `2MiB`, `500GiB`, or a number of bytes.
pub(crate) fn parse_bytes(text: &str) -> Result<Bytes, String> {
    let (number, unit) = split(text);
    let bits = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, bits)| *bits);
    let bytes = bits.zip(number).and_then(|(bits, number)| number.checked_mul(1_u64 << bits));
    bytes.map(Bytes).ok_or_else(|| {
        format!("{text:?} is not a number of bytes such as 2000000, 500KiB, 2MiB, 1GiB or 1TiB")
    })
}

/// Parses `250ms`, `90s`, `5m`, `2h`, `7d`, or a number of seconds, without bounds.
pub(crate) fn parse_time(text: &str) -> Result<Duration, String> {
    let (number, unit) = split(text);
    let unit_ms = match unit {
        "ms" => Some(1),
        "" | "s" => Some(1_000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        "d" => Some(86_400_000),
        _ => None,
    };
    let total = unit_ms.zip(number).and_then(|(unit, number)| number.checked_mul(unit));
    total
        .map(Duration::from_millis)
        .ok_or_else(|| format!("{text:?} is not a duration such as 250ms, 90s, 5m, 2h or 7d"))
}

fn split(text: &str) -> (Option<u64>, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number.parse().ok(), unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_times_have_units() {
        for text in ["0", "7", "1KiB", "3MiB", "5GiB", "2TiB", "1025"] {
            assert_eq!(parse_bytes(text).map(|bytes| bytes.to_string()).as_deref(), Ok(text));
        }
        for bad in ["", "MiB", "1MB", "-1", "1.5MiB", "99999999999999999999", "16777216TiB"] {
            assert!(parse_bytes(bad).is_err(), "{bad}");
        }
        for (text, seconds) in [("250ms", 1), ("0", 0), ("5m", 300), ("2h", 7_200), ("1d", 86_400)]
        {
            assert_eq!(parse_time(text).map(whole_seconds), Ok(seconds), "{text}");
        }
        for bad in ["", "s", "5x", "-1s", "99999999999999999999", "9999999999999999999d"] {
            assert!(parse_time(bad).is_err(), "{bad}");
        }
    }
}
