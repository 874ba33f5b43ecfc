//! A schedule's times in the HTTP API: a period, or a time of day on some weekdays.
//!
//! Invariant: all times are UTC.

use chrono::{NaiveTime, Timelike as _};
use everytab_coordinator::ScheduleTimes;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::problem::{Problem, ProblemCode};

/// Minimum period in seconds.
const MIN_PERIOD_SECONDS: u64 = 60;
/// Maximum period in seconds: 365 days.
const MAX_PERIOD_SECONDS: u64 = 365 * 86_400;
/// Period units in seconds, largest first.
const UNITS: [(&str, u64); 4] = [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)];
const EVERY_DAY: i16 = 0b111_1111;

/// A weekday.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DayWord {
    /// Monday.
    Mon,
    /// Tuesday.
    Tue,
    /// Wednesday.
    Wed,
    /// Thursday.
    Thu,
    /// Friday.
    Fri,
    /// Saturday.
    Sat,
    /// Sunday.
    Sun,
}

impl DayWord {
    const ALL: [Self; 7] =
        [Self::Mon, Self::Tue, Self::Wed, Self::Thu, Self::Fri, Self::Sat, Self::Sun];

    /// The mask's lowest bit is Monday.
    const fn bit(self) -> i16 {
        1 << self as u8
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TimesInWords {
    pub(crate) every: Option<String>,
    pub(crate) at: Option<String>,
    pub(crate) days: Option<Vec<DayWord>>,
}

impl TimesInWords {
    /// Returns a problem that names the field that is invalid or that conflicts with another.
    pub(crate) fn read(&self) -> Result<ScheduleTimes, Problem> {
        let wrong =
            |field, detail| Err(Problem::of_field(ProblemCode::InvalidParameter, field, detail));
        match (&self.every, &self.at, &self.days) {
            (Some(every), None, None) => period(every)
                .map(|every_s| ScheduleTimes::Every { every_s, first_at: None })
                .map_or_else(|detail| wrong("every", detail), Ok),
            (Some(_), None, Some(_)) => wrong("days", "days is only valid with at".to_owned()),
            (None, Some(at), days) => {
                let Some(at_s) = time_of_day(at) else {
                    let detail = format!("invalid at {at:?}: expected a time such as 03:00");
                    return wrong("at", detail);
                };
                let weekdays = match days.as_deref() {
                    None => EVERY_DAY,
                    Some([]) => {
                        return wrong("days", "days is empty; omit it for every day".to_owned());
                    }
                    Some(days) => days.iter().fold(0, |mask, day| mask | day.bit()),
                };
                Ok(ScheduleTimes::Daily { at_s, weekdays })
            }
            (None, None, _) | (Some(_), Some(_), _) => {
                wrong("every", "expected either every or at".to_owned())
            }
        }
    }

    /// Creates the fields from the period in seconds, or from the second of the day and the weekday
    /// mask.
    pub(crate) fn show(every_s: Option<i32>, at_s: Option<i32>, weekdays: Option<i16>) -> Self {
        let time = |at_s: i32| {
            let seconds = u32::try_from(at_s).unwrap_or_default();
            let time = NaiveTime::from_num_seconds_from_midnight_opt(seconds, 0)?;
            let format = if time.second() == 0 { "%H:%M" } else { "%H:%M:%S" };
            Some(time.format(format).to_string())
        };
        let named = |mask: i16| {
            let days = DayWord::ALL.into_iter().filter(|day| mask & day.bit() != 0);
            (mask != EVERY_DAY).then(|| days.collect())
        };
        Self {
            every: every_s.map(shown_period),
            at: at_s.and_then(time),
            days: weekdays.and_then(named),
        }
    }
}

/// Parses a period such as `90s`, `5m`, `24h` or `7d`, into seconds.
fn period(text: &str) -> Result<i32, String> {
    let seconds = UNITS.iter().find_map(|(unit, seconds)| {
        let number = text.strip_suffix(unit)?;
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        number.parse::<u64>().ok().filter(|_| is_number)?.checked_mul(*seconds)
    });
    let bounds = MIN_PERIOD_SECONDS..=MAX_PERIOD_SECONDS;
    let within = seconds.filter(|seconds| bounds.contains(seconds));
    within.and_then(|seconds| i32::try_from(seconds).ok()).ok_or_else(|| {
        let text: String = text.chars().take(32).collect();
        format!("invalid every {text:?}: expected 60s to 365d, such as 90m, 24h or 7d")
    })
}

fn shown_period(every_s: i32) -> String {
    let seconds = u64::try_from(every_s).unwrap_or_default();
    let unit = UNITS.iter().find(|(_, unit)| seconds.is_multiple_of(*unit));
    unit.map_or_else(|| format!("{seconds}s"), |(name, unit)| format!("{}{name}", seconds / unit))
}

/// Parses a time such as `03:00`, into seconds since midnight.
fn time_of_day(text: &str) -> Option<i32> {
    let is_digit = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    let is_written_so = text.len() == 5 && [0, 1, 3, 4].into_iter().all(is_digit);
    let time = NaiveTime::parse_from_str(text, "%H:%M").ok().filter(|_| is_written_so)?;
    i32::try_from(time.num_seconds_from_midnight()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(every: Option<&str>, at: Option<&str>, days: Option<&[DayWord]>) -> TimesInWords {
        let text = |text: &str| text.to_owned();
        TimesInWords { every: every.map(text), at: at.map(text), days: days.map(<[_]>::to_vec) }
    }

    #[test]
    fn schedule_times_round_trip() {
        for (written, read) in [
            (times(Some("24h"), None, None), "1d"),
            (times(Some("90m"), None, None), "90m"),
            (times(Some("60s"), None, None), "1m"),
            (times(Some("61s"), None, None), "61s"),
            (times(Some("365d"), None, None), "365d"),
            (times(None, Some("03:00"), None), "03:00"),
            (times(None, Some("23:59"), Some(&[DayWord::Sun, DayWord::Mon])), "23:59"),
        ] {
            let shown = match written.read().unwrap() {
                ScheduleTimes::Every { every_s, .. } => {
                    TimesInWords::show(Some(every_s), None, None)
                }
                ScheduleTimes::Daily { at_s, weekdays } => {
                    TimesInWords::show(None, Some(at_s), Some(weekdays))
                }
            };
            assert_eq!(shown.every.or(shown.at).as_deref(), Some(read));
            let days = written.days.map(|_| vec![DayWord::Mon, DayWord::Sun]);
            assert_eq!(shown.days, days);
        }
        let all = times(None, Some("00:00"), Some(&DayWord::ALL)).read().unwrap();
        assert_eq!(all, ScheduleTimes::Daily { at_s: 0, weekdays: EVERY_DAY });
        assert_eq!(TimesInWords::show(None, Some(1), Some(1)).at.as_deref(), Some("00:00:01"));
    }

    #[test]
    fn an_invalid_time_names_its_field() {
        for (every, at, days, field) in [
            (None, None, None, "every"),
            (Some("24h"), Some("03:00"), None, "every"),
            (Some("24h"), None, Some(&[DayWord::Mon][..]), "days"),
            (None, Some("03:00"), Some(&[]), "days"),
            (None, None, Some(&[DayWord::Mon]), "every"),
        ] {
            let problem = times(every, at, days).read().unwrap_err();
            assert_eq!(problem.errors[0].field.as_deref(), Some(field));
        }
        for wrong in ["", "h", "24", "59s", "366d", "1.5h", "-1h", "+1h", "24 h", "1w", "1h30m"] {
            let problem = times(Some(wrong), None, None).read().unwrap_err();
            assert_eq!(problem.errors[0].field.as_deref(), Some("every"), "{wrong}");
        }
        let huge = format!("{}s", u64::MAX);
        assert!(times(Some(&huge), None, None).read().is_err());
        assert!(times(Some("99999999999999999999d"), None, None).read().is_err());
        for wrong in ["", "3:00", "24:00", "03:60", "03:00:00", "0300", "03:0x", "+3:00", "03h00"] {
            let problem = times(None, Some(wrong), None).read().unwrap_err();
            assert_eq!(problem.errors[0].field.as_deref(), Some("at"), "{wrong}");
        }
    }
}
