//! Edits the blocklist for later scans. A running scan keeps the list from its start. When it is
//! published, tabs that match a later pattern are removed.

pub mod import;

pub use everytab_bundler::takedown_list::PatternKind;
use everytab_console::{LineSink, OperationError};
use everytab_coordinator::Coordinator;
use everytab_jobs::blocked_pattern;

/// Normalized patterns of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patterns {
    kind: PatternKind,
    patterns: Vec<String>,
}

impl Patterns {
    /// Validates and normalizes all patterns.
    ///
    /// # Errors
    /// Returns an error if a pattern cannot match anything, or would match everything.
    pub fn check(kind: PatternKind, patterns: &[String]) -> Result<Self, OperationError> {
        let check = |pattern: &String| blocked_pattern::check(kind, pattern);
        let checked = patterns.iter().map(check).collect::<Result<_, _>>();
        Ok(Self { kind, patterns: checked.map_err(OperationError::usage)? })
    }

    /// Normalizes patterns to remove from a list. Accepts invalid ones, because an earlier version
    /// may have added them.
    #[must_use]
    pub fn listed(kind: PatternKind, patterns: &[String]) -> Self {
        let listed = |pattern: &String| {
            blocked_pattern::check(kind, pattern).unwrap_or_else(|_| pattern.trim().to_owned())
        };
        Self { kind, patterns: patterns.iter().map(listed).collect() }
    }

    /// Returns the patterns' kind.
    #[must_use]
    pub fn kind(&self) -> PatternKind {
        self.kind
    }

    /// Returns the patterns.
    #[must_use]
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }

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

/// Adds patterns to the list, and prints each.
///
/// # Errors
/// Returns an error if the database fails.
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
                "{pattern:?} has no %, so it only matches titles that equal it"
            ));
        }
    }
    sink.note(format_args!(
        "later scans exclude these patterns; to change a published site immediately, use `takedown`"
    ));
    Ok(())
}

/// Removes patterns from the list, and prints each that was on it.
///
/// # Errors
/// Returns an error if a pattern is not on the list, or the database fails.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_empty_the_site_is_refused_but_can_be_taken_off_the_list() {
        for (kind, pattern) in [
            (PatternKind::Suffix, "*.example"),
            (PatternKind::Suffix, "*"),
            (PatternKind::Hostname, "*.x.example"),
            (PatternKind::Title, "_%"),
        ] {
            let patterns = [pattern.to_owned()];
            let refused = Patterns::check(kind, &patterns).unwrap_err();
            assert!(refused.is_usage && refused.message.contains(pattern), "{}", refused.message);
            assert_eq!(Patterns::listed(kind, &patterns).patterns(), patterns);
        }
        let listed = Patterns::listed(PatternKind::Suffix, &["*.Shop.Example".to_owned()]);
        assert_eq!(listed.patterns(), ["shop.example"]);
    }
}
