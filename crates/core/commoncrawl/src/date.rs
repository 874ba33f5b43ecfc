//! Formats times, in microseconds since 1970, for WARC headers and indexes.

const SECOND_MICROS: i64 = 1_000_000;
const DAY_SECONDS: i64 = 86_400;

/// Formats a time as `YYYY-MM-DDThh:mm:ssZ` in UTC (WARC 1.1 5.4, RFC 3339), rounded down to
/// seconds.
pub fn format_seconds(micros: i64) -> String {
    let seconds = micros.div_euclid(SECOND_MICROS);
    let (year, month, day) = civil_from_days(seconds.div_euclid(DAY_SECONDS));
    let second_of_day = seconds.rem_euclid(DAY_SECONDS);
    let (hour, minute, second) =
        (second_of_day / 3_600, second_of_day / 60 % 60, second_of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Formats a time as the 14 digits `YYYYMMDDhhmmss` in UTC, rounded down to seconds. `None` if the
/// year does not have four digits.
pub fn format_digits(micros: i64) -> Option<String> {
    let time = format_seconds(micros);
    let digits: String = time.chars().filter(char::is_ascii_digit).collect();
    (digits.len() == 14 && !time.starts_with('-')).then_some(digits)
}

/// Formats a time like [`format_seconds`], with six decimals unless it is a whole second.
pub fn format_micros(micros: i64) -> String {
    let mut text = format_seconds(micros);
    let fraction = micros.rem_euclid(SECOND_MICROS);
    if fraction != 0 {
        text.truncate(text.len() - 1);
        text.push_str(&format!(".{fraction:06}Z"));
    }
    text
}

/// Converts days since 1970-01-01 to a Gregorian year, month and day (H. Hinnant,
/// "chrono-Compatible Low-Level Date Algorithms").
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_times_are_formatted() {
        // date -u -d @N +%FT%TZ
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_767_225_599, "2025-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
        ] {
            assert_eq!(format_seconds(seconds * SECOND_MICROS), text);
            assert_eq!(format_micros(seconds * SECOND_MICROS), text);
            let digits: String = text.chars().filter(char::is_ascii_digit).collect();
            assert_eq!(format_digits(seconds * SECOND_MICROS), Some(digits));
        }
        assert_eq!(format_micros(1), "1970-01-01T00:00:00.000001Z");
        assert_eq!(format_seconds(1), "1970-01-01T00:00:00Z");
    }

    #[test]
    fn extreme_times_are_formatted() {
        assert!(format_micros(i64::MIN).starts_with("-290308-12-21T19:59:05"));
        assert!(format_micros(i64::MAX).starts_with("294247-01-10T04:00:54"));
        assert_eq!([i64::MIN, i64::MAX].map(format_digits), [None, None]);
    }
}
