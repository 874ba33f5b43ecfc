//! Parses a `Crawl-delay` line's value. No standard defines this line, but robots that obey it
//! expect seconds, usually with decimals.

use std::time::Duration;

/// Maximum delay that a robot obeys. With a longer delay, a host should not be fetched at all,
/// because a thousand pages would take too long.
pub const MAX_CRAWL_DELAY: Duration = Duration::from_mins(5);

/// Maximum bytes to read from a value.
const MAX_NUMBER_BYTES: usize = 64;

/// Delay between two requests, ordered by length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CrawlDelay {
    /// Delay up to [`MAX_CRAWL_DELAY`], rounded up to milliseconds.
    Wait(Duration),
    /// Delay longer than [`MAX_CRAWL_DELAY`].
    TooLong,
}

impl CrawlDelay {
    /// Parses the seconds at the start of a value, such as `0.5`, `1,5`, `2e1` or `10 seconds`.
    #[must_use]
    pub fn parse(value: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(value.get(..MAX_NUMBER_BYTES).unwrap_or(value));
        let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',');
        let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
        let (mantissa, after) = text.split_at_checked(end)?;
        let mantissa = mantissa.replacen(',', ".", 1);
        let mantissa = mantissa.trim_end_matches(['.', ',']);
        let exponent = exponent(after);
        // Digits, a point and an exponent are never parsed as NaN.
        let seconds: f64 = format!("{mantissa}{exponent}").parse().ok()?;
        if seconds > MAX_CRAWL_DELAY.as_secs_f64() {
            return Some(Self::TooLong);
        }
        let milliseconds = (seconds * 1_000.0).ceil();
        Some(Self::Wait(Duration::from_millis(milliseconds as u64)))
    }
}

fn exponent(text: &str) -> &str {
    let Some(rest) = text.strip_prefix(['e', 'E']) else { return "" };
    let digits = rest.strip_prefix(['+', '-']).unwrap_or(rest);
    let length = digits.bytes().take_while(u8::is_ascii_digit).count();
    let end = text.len() - digits.len() + length;
    if length == 0 { "" } else { text.get(..end).unwrap_or_default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_is_seconds_with_decimals_and_invalid_ones_have_no_effect() {
        let wait = |milliseconds| Some(CrawlDelay::Wait(Duration::from_millis(milliseconds)));
        let too_long = Some(CrawlDelay::TooLong);
        for (value, expected) in [
            ("10", wait(10_000)),
            ("0", wait(0)),
            ("0.5", wait(500)),
            (".5", wait(500)),
            ("1.", wait(1_000)),
            ("1,5", wait(1_500)),
            ("1.0001", wait(1_001)),
            ("1e-9", wait(1)),
            ("2e1", wait(20_000)),
            ("10s", wait(10_000)),
            ("10 seconds", wait(10_000)),
            ("5e", wait(5_000)),
            ("5en", wait(5_000)),
            ("300", wait(300_000)),
            ("300.0001", too_long),
            ("3600", too_long),
            ("1e9", too_long),
            ("1e400", too_long),
            ("99999999999999999999999999999999999999999999999999999999999999999999", too_long),
            ("18446744073709551616", too_long),
            ("", None),
            (".", None),
            (",", None),
            ("1.2.3", None),
            ("-1", None),
            ("-0", None),
            ("+1", None),
            ("nan", None),
            ("NaN", None),
            ("inf", None),
            ("infinity", None),
            ("0x10", wait(0)),
            ("ten", None),
            ("e9", None),
            ("\u{663}", None),
        ] {
            assert_eq!(CrawlDelay::parse(value.as_bytes()), expected, "{value:?}");
        }
        assert_eq!(CrawlDelay::parse(b"\xff"), None);
        assert!(CrawlDelay::TooLong > CrawlDelay::Wait(MAX_CRAWL_DELAY));
    }
}
