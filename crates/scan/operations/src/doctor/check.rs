//! A check's result, and the newest scan.

use everytab_jobs::scan_settings::ScanSettings;
use serde::Serialize;
use uuid::Uuid;

/// A check's result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// This check's name.
    pub check: &'static str,
    /// Whether this check passed.
    pub ok: bool,
    /// The finding, in one line.
    pub found: String,
    /// The advice, if this check failed.
    pub remedy: Option<String>,
}

impl Check {
    /// Creates a check that passed.
    pub fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self { check, ok: true, found: found.into(), remedy: None }
    }

    /// Creates a check that failed, with advice.
    pub fn fail(check: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { check, ok: false, found: found.into(), remedy: Some(remedy.into()) }
    }

    /// Formats this check as one line for people.
    pub fn text(&self) -> String {
        let verdict = if self.ok { "ok  " } else { "FAIL" };
        let remedy = self.remedy.as_ref().map(|remedy| format!("; {remedy}")).unwrap_or_default();
        format!("{verdict}  {:<16} {}{remedy}", self.check, self.found)
    }
}

/// The newest scan in the database.
#[derive(Debug, Clone)]
pub struct NewestScan {
    /// The crawl's id.
    pub crawl: String,
    /// The scan's settings, which contain its source and stores.
    pub settings: ScanSettings,
    /// The scan's id.
    pub id: Uuid,
    /// Whether the scan has not finished, so that workers use its stores.
    pub is_open: bool,
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
