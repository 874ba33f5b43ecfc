//! What a check found, and the report of all checks.

use serde::Serialize;

use crate::{cli_error::CliError, commands::stdout, scan_settings::ScanSettings};

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Check {
    pub(super) check: &'static str,
    pub(super) ok: bool,
    /// What was found, in one line.
    pub(super) found: String,
    /// What to do, where something is wrong.
    pub(super) remedy: Option<String>,
}

impl Check {
    pub(super) fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self { check, ok: true, found: found.into(), remedy: None }
    }

    pub(super) fn fail(
        check: &'static str,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { check, ok: false, found: found.into(), remedy: Some(remedy.into()) }
    }

    pub(super) fn text(&self) -> String {
        let verdict = if self.ok { "ok  " } else { "FAIL" };
        let remedy = self.remedy.as_ref().map(|remedy| format!("; {remedy}")).unwrap_or_default();
        format!("{verdict}  {:<16} {}{remedy}", self.check, self.found)
    }
}

/// Prints checks as they end, and remembers whether one failed.
pub(super) struct Report {
    pub(super) as_json: bool,
    pub(super) failed: usize,
}

impl Report {
    pub(super) fn add(&mut self, check: &Check) -> Result<(), CliError> {
        self.failed += usize::from(!check.ok);
        if self.as_json {
            stdout::line(serde_json::to_string(check)?)
        } else {
            stdout::line(check.text())
        }
    }

    pub(super) fn extend(
        &mut self,
        checks: impl IntoIterator<Item = Check>,
    ) -> Result<(), CliError> {
        checks.into_iter().try_for_each(|check| self.add(&check))
    }
}

/// What the newest scan says of where things lie.
pub(super) struct NewestScan {
    pub(super) crawl: String,
    pub(super) settings: ScanSettings,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_check_says_what_to_do_on_its_line() {
        let failed = Check::fail("open files", "the limit is 64", "raise it with ulimit -n");
        assert_eq!(
            failed.text(),
            "FAIL  open files       the limit is 64; raise it with ulimit -n"
        );
        assert_eq!(Check::ok("encoder", "ab").text(), "ok    encoder          ab");
        let json = serde_json::to_string(&failed).unwrap();
        assert!(json.starts_with(r#"{"check":"open files","ok":false,"found":"#), "{json}");
    }
}
