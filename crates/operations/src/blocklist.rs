//! What the next scans leave out: hostnames, domains, titles and icons, checked and brought to the
//! form that the database compares.
//!
//! A scan that runs keeps the list that it began with; hosts that were added since are left out
//! when it is published.

pub mod import;

pub use everytab_bundler::takedown_list::PatternKind;
use everytab_commoncrawl::check_hostname;
use everytab_coordinator::Coordinator;
use url::Host;

use crate::{error::OperationError, line_sink::LineSink};

/// Longest pattern in characters; a CHECK constraint of the database allows no longer one.
const MAX_PATTERN_CHARACTERS: usize = 300;

/// Patterns of one kind in the form that the database compares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patterns {
    kind: PatternKind,
    patterns: Vec<String>,
}

impl Patterns {
    /// Checks all patterns before any is sent.
    ///
    /// # Errors
    /// When a pattern cannot match anything, or would match everything.
    pub fn check(kind: PatternKind, patterns: &[String]) -> Result<Self, OperationError> {
        let check = |pattern: &String| match kind {
            PatternKind::Title => title_pattern(pattern),
            PatternKind::Suffix => {
                hostname(pattern.trim_start_matches("*.").trim_start_matches('.'))
            }
            PatternKind::Hostname => hostname(pattern),
            PatternKind::Sha256 => sha256(pattern),
        };
        let checked = patterns.iter().map(check).collect::<Result<_, _>>();
        Ok(Self { kind, patterns: checked.map_err(OperationError::usage)? })
    }

    /// The kind of all patterns.
    #[must_use]
    pub fn kind(&self) -> PatternKind {
        self.kind
    }

    /// The patterns.
    #[must_use]
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }

    /// Adds the patterns to the database's list.
    pub(crate) async fn block(
        &self,
        coordinator: &Coordinator,
        reason: Option<&str>,
    ) -> Result<(), OperationError> {
        for pattern in &self.patterns {
            coordinator.block(self.kind.name(), pattern, reason).await?;
        }
        Ok(())
    }
}

/// Adds patterns to the list; one line of data for each.
///
/// # Errors
/// When the database refuses.
pub async fn add(
    coordinator: &Coordinator,
    Patterns { kind, patterns }: Patterns,
    reason: Option<&str>,
    sink: &dyn LineSink,
) -> Result<(), OperationError> {
    for pattern in patterns {
        coordinator.block(kind.name(), &pattern, reason).await?;
        sink.data(format_args!("{}\t{pattern}", kind.name()))?;
        if kind == PatternKind::Title && !pattern.contains(['%', '_']) {
            sink.note(format_args!(
                "{pattern:?} has no %: it matches only titles that are exactly so"
            ));
        }
    }
    sink.note(format_args!(
        "left out from the next `scan start` on; `takedown` changes a site immediately"
    ));
    Ok(())
}

/// Takes patterns off the list; one line of data for each that was on it.
///
/// # Errors
/// When a pattern is not on the list, or the database refuses.
pub async fn remove(
    coordinator: &Coordinator,
    Patterns { kind, patterns }: Patterns,
    sink: &dyn LineSink,
) -> Result<(), OperationError> {
    let kind = kind.name();
    let mut absent = Vec::new();
    for pattern in patterns {
        if coordinator.unblock(kind, &pattern).await? {
            sink.data(format_args!("{kind}\t{pattern}"))?;
        } else {
            absent.push(pattern);
        }
    }
    if absent.is_empty() {
        return Ok(());
    }
    let names = absent.join(", ");
    Err(OperationError::new(format!(
        "not on the blocklist as {kind}: {names}; `blocklist list` shows it"
    )))
}

/// A hostname in the form that scans use: lower case, IDNA applied, no dot at the end.
pub(crate) fn hostname(text: &str) -> Result<String, String> {
    let text = text.trim();
    let refused = |reason: &str| format!("{text:?} is no hostname: {reason}");
    if text.contains("://") || text.contains('/') {
        return Err(refused("give it without scheme and path, such as example.com"));
    }
    let host =
        Host::parse(text.trim_end_matches('.')).map_err(|error| refused(&error.to_string()))?;
    let name = host.to_string();
    check_hostname(&name).map_err(|error| refused(&error.to_string()))?;
    Ok(name)
}

/// The SHA-256 of an icon in lower-case hex.
fn sha256(text: &str) -> Result<String, String> {
    let text = text.trim().to_ascii_lowercase();
    match text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        true => Ok(text),
        false => Err(format!("{text:?} is no SHA-256: give 64 hexadecimal digits")),
    }
}

fn title_pattern(text: &str) -> Result<String, String> {
    let characters = text.chars().count();
    if !(1..=MAX_PATTERN_CHARACTERS).contains(&characters) {
        return Err(format!("a title pattern has 1 to {MAX_PATTERN_CHARACTERS} characters"));
    }
    if text.chars().any(char::is_control) {
        return Err(format!("{text:?} holds control characters, which no title does"));
    }
    if text.chars().rev().take_while(|&character| character == '\\').count() % 2 == 1 {
        return Err(format!("{text:?} ends with a backslash, which quotes the character after it"));
    }
    if text.chars().all(|character| character == '%') {
        return Err(format!("{text:?} matches every title"));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostnames_are_written_as_scans_write_them() {
        for (text, name) in [
            ("Example.COM", "example.com"),
            (" www.example.com. ", "www.example.com"),
            ("bücher.example", "xn--bcher-kva.example"),
        ] {
            assert_eq!(hostname(text).as_deref(), Ok(name));
        }
        for bad in ["", ".", "https://example.com/", "example.com/x", "a b", "exa%mple"] {
            assert!(hostname(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_title_pattern_that_would_empty_the_site_is_refused() {
        assert_eq!(title_pattern("%casino%").as_deref(), Ok("%casino%"));
        assert_eq!(title_pattern("a\\\\").as_deref(), Ok("a\\\\"));
        for bad in ["", "%", "%%", "a\nb", "a\\", &"x".repeat(301)] {
            assert!(title_pattern(bad).is_err(), "{bad:?}");
        }
    }
}
