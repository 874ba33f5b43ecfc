//! What a check found.

use everytab_jobs::scan_settings::ScanSettings;
use serde::Serialize;

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What was checked.
    pub check: &'static str,
    /// Whether it is as it must be.
    pub ok: bool,
    /// What was found, in one line.
    pub found: String,
    /// What to do, where something is wrong.
    pub remedy: Option<String>,
}

impl Check {
    /// A check that found what it must find.
    pub fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self { check, ok: true, found: found.into(), remedy: None }
    }

    /// A check that found something wrong, and what to do.
    pub fn fail(check: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { check, ok: false, found: found.into(), remedy: Some(remedy.into()) }
    }

    /// The check as one line for a person.
    pub fn text(&self) -> String {
        let verdict = if self.ok { "ok  " } else { "FAIL" };
        let remedy = self.remedy.as_ref().map(|remedy| format!("; {remedy}")).unwrap_or_default();
        format!("{verdict}  {:<16} {}{remedy}", self.check, self.found)
    }
}

/// Where the newest scan of the database reads and writes.
#[derive(Debug, Clone)]
pub struct NewestScan {
    /// The id of its crawl.
    pub crawl: String,
    /// Its settings.
    pub settings: ScanSettings,
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
