//! A number in the plan of a live crawl: its unit, its formula, and its formatting. Pure.

use serde_json::{Value, json};

/// A number with its unit and formula.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Figure {
    pub(super) name: &'static str,
    pub(super) value: f64,
    pub(super) unit: &'static str,
    pub(super) formula: String,
}

impl Figure {
    /// Formats the number with its unit, scaled to be easy to read.
    pub(super) fn text(&self) -> String {
        match self.unit {
            "bytes" => bytes(self.value),
            "s" => seconds(self.value),
            "" => number(self.value),
            "dollars" => format!("{:.2}", self.value),
            "dollars a month" => format!("{:.2} a month", self.value),
            unit => format!("{} {unit}", number(self.value)),
        }
    }

    pub(super) fn line(&self) -> String {
        format!("  {:<30} {:>18}  {}", self.name, self.text(), self.formula)
    }

    pub(super) fn json(&self) -> Value {
        json!({"name": self.name, "value": rounded(self.value), "unit": self.unit,
               "formula": self.formula})
    }
}

/// Rounds to nine significant digits, because amounts range from microseconds to petabytes.
pub(super) fn rounded(amount: f64) -> f64 {
    if amount == 0.0 || !amount.is_finite() {
        return amount;
    }
    let digits = 8 - amount.abs().log10().floor() as i32;
    let scale = 10_f64.powi(digits.clamp(0, 15));
    (amount * scale).round() / scale
}

/// Formats an amount with three significant digits, and from a thousand on as a whole number with
/// commas.
pub(super) fn number(amount: f64) -> String {
    if amount == 0.0 {
        return "0".into();
    }
    if amount.abs() >= 999.5 {
        return grouped(amount);
    }
    let magnitude = amount.abs().log10().floor() as i32;
    let decimals = usize::try_from(2 - magnitude).unwrap_or(0).min(9);
    let text = format!("{amount:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

fn grouped(amount: f64) -> String {
    let digits = format!("{amount:.0}");
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats bytes in the largest unit that gives at least one.
pub(super) fn bytes(amount: f64) -> String {
    let units = [(1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "KB")];
    match units.into_iter().find(|(size, _)| amount >= *size) {
        Some((size, unit)) => format!("{} {unit}", number(amount / size)),
        None => format!("{} bytes", number(amount)),
    }
}

/// Formats a time in seconds, milliseconds, microseconds or nanoseconds.
pub(super) fn seconds(amount: f64) -> String {
    match amount {
        _ if amount >= 1.0 => format!("{} s", number(amount)),
        _ if amount >= 1e-3 => format!("{} ms", number(amount * 1e3)),
        _ if amount >= 1e-6 => format!("{} µs", number(amount * 1e6)),
        _ => format!("{} ns", number(amount * 1e9)),
    }
}

/// Formats a number with its noun, which gets an s unless the number is 1.
pub(super) fn counted(amount: f64, noun: &str) -> String {
    let text = number(amount);
    let s = if text == "1" { "" } else { "s" };
    format!("{text} {noun}{s}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_a_unit_that_fits() {
        for (amount, text) in [
            (0.0, "0"),
            (0.186, "0.186"),
            (0.7, "0.7"),
            (2.0, "2"),
            (1.15, "1.15"),
            (24.7, "24.7"),
            (430.0, "430"),
            (999.7, "1,000"),
            (10e9, "10,000,000,000"),
        ] {
            assert_eq!(number(amount), text);
        }
        assert_eq!(bytes(4.6e15), "4.6 PB");
        assert_eq!(bytes(86_860.0), "86.9 KB");
        assert_eq!(bytes(24.7), "24.7 bytes");
        assert_eq!(seconds(0.006_97), "6.97 ms");
        assert_eq!(seconds(1.87e-6), "1.87 µs");
        assert_eq!(seconds(1.17e-8), "11.7 ns");
        assert_eq!(counted(1.0, "worker"), "1 worker");
        assert_eq!(counted(12.0, "worker"), "12 workers");
        assert!((rounded(1.234_567_891_23e-5) - 1.234_567_89e-5).abs() < 1e-18);
        assert!((rounded(8.69e14) - 8.69e14).abs() < 1.0);
    }
}
