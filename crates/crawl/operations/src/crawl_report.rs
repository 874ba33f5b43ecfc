//! `crawl report`: counts a crawl's URLs by final state for each outcome, status, type, depth and
//! hour, and lists the hosts with the most failures.
//!
//! Postgres counts the fetches in parts, so memory holds only counts. Host counts are exact only
//! while at most [`worst_hosts::MAX_HOSTS`] hosts have failures, and names beyond [`MAX_NAMES`] are
//! counted together.

mod worst_hosts;

use std::collections::BTreeMap;

use everytab_coordinator::{Coordinator, CrawlStatus, Error, FetchPosition, ReportRow};
use serde_json::Value;

use self::worst_hosts::HostFailures;

/// Maximum hosts in a report.
const WORST_HOSTS: usize = 100;
/// Maximum names in each table that are counted separately, because servers invent MIME types.
const MAX_NAMES: usize = 100_000;
/// The name for a missing value: a status without a response, or a type without a header.
pub const NONE: &str = "none";
/// The name for invalid MIME types, for names beyond [`MAX_NAMES`], and for hosts whose name is not
/// found.
pub const OTHER: &str = "other";

/// URL counts by final state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Endings {
    /// URLs that were fetched and stored.
    pub captured: u64,
    /// URLs that failed.
    pub failed: u64,
    /// URLs refused by a rule: robots.txt, a filter, or the content type, for example.
    pub refused: u64,
    /// URLs that were given up without a result, because the crawl ended, their host failed, or the
    /// patterns changed, for example.
    pub left: u64,
}

impl Endings {
    /// Returns the total for all states.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.captured + self.failed + self.refused + self.left
    }

    fn add(&mut self, ending: &str, amount: u64) {
        match ending {
            "captured" => self.captured += amount,
            "refused" => self.refused += amount,
            "left" => self.left += amount,
            _ => self.failed += amount,
        }
    }
}

/// A host with failed or left URLs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorstHost {
    /// The hostname.
    pub hostname: String,
    /// The host's failed and left URLs, by final state.
    pub endings: Endings,
    /// The host's failed and left URLs by outcome, most frequent first.
    pub outcomes: Vec<(String, u64)>,
}

/// A crawl's counts by final state.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CrawlReport {
    /// Final states by outcome. URLs that were left when the crawl ended are counted under the
    /// reason why it ended.
    pub outcomes: BTreeMap<String, Endings>,
    /// Final states by HTTP status.
    pub statuses: BTreeMap<String, Endings>,
    /// Final states by MIME type.
    pub types: BTreeMap<String, Endings>,
    /// Final states by depth, which counts links from a seed.
    pub depths: BTreeMap<String, Endings>,
    /// Final states by hour, in UTC.
    pub hours: BTreeMap<String, Endings>,
    /// The hosts with the most failed and left URLs, the highest number first.
    pub hosts: Vec<WorstHost>,
    /// A host's count may be too low by up to this number. 0 if all counts are exact.
    pub hosts_uncertainty: u64,
}

/// Counts a crawl's fetches.
///
/// # Errors
/// Returns an error if Postgres cannot be reached.
pub async fn report(coordinator: &Coordinator, status: &CrawlStatus) -> Result<CrawlReport, Error> {
    let mut report = CrawlReport::default();
    let mut hosts = HostFailures::default();
    let mut next = Some(FetchPosition::default());
    while let Some(after) = next {
        let part = coordinator.report_fetches(status.crawl, after).await?;
        for row in part.rows {
            report.add(row, &mut hosts);
        }
        next = part.next;
    }
    report.add_unasked(&status.left);
    let worst = hosts.worst(WORST_HOSTS);
    let hashes: Vec<u64> = worst.iter().map(|(hash, _)| *hash).collect();
    let names: BTreeMap<u64, String> =
        coordinator.hosts_of_fetches(status.crawl, &hashes).await?.into_iter().collect();
    report.hosts_uncertainty = hosts.uncertainty();
    report.hosts = worst
        .into_iter()
        .map(|(hash, counts)| {
            let mut endings = Endings::default();
            for (_, ending, amount) in &counts {
                endings.add(ending, *amount);
            }
            let mut outcomes: Vec<(String, u64)> =
                counts.into_iter().map(|(outcome, _, amount)| (outcome, amount)).collect();
            outcomes.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
            let hostname = names.get(&hash).cloned().unwrap_or_else(|| OTHER.to_owned());
            WorstHost { hostname, endings, outcomes }
        })
        .collect();
    Ok(report)
}

impl CrawlReport {
    fn add(&mut self, row: ReportRow, hosts: &mut HostFailures) {
        let ReportRow { kind, name, host_hash, ending, amount } = row;
        let name = name.unwrap_or_else(|| NONE.to_owned());
        let (names, name) = match &*kind {
            "host" => {
                return hosts.add(host_hash.unwrap_or_default(), (&name, &ending), amount);
            }
            "outcome" => (&mut self.outcomes, name),
            "status" => (&mut self.statuses, name),
            "type" if name == NONE || is_mime_type(&name) => (&mut self.types, name),
            "type" => (&mut self.types, OTHER.to_owned()),
            "depth" => (&mut self.depths, name),
            _ => (&mut self.hours, name),
        };
        let is_room = names.len() < MAX_NAMES || names.contains_key(&name);
        let name = if is_room { name } else { OTHER.to_owned() };
        names.entry(name).or_default().add(&ending, amount);
    }

    fn add_unasked(&mut self, left: &Value) {
        for (reason, amount) in left.as_object().into_iter().flatten() {
            let amount = amount.as_u64().unwrap_or_default();
            if !self.outcomes.contains_key(reason) && amount > 0 {
                self.outcomes.entry(reason.clone()).or_default().left = amount;
            }
        }
    }
}

/// Returns true if this is a type and a subtype with only the characters in RFC 6838, 4.2.
fn is_mime_type(text: &str) -> bool {
    let is_name = |name: &str| {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte);
        name.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
            && name.bytes().all(is_part)
    };
    text.split_once('/').is_some_and(|(kind, name)| is_name(kind) && is_name(name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(kind: &str, name: Option<&str>, ending: &str, amount: u64) -> ReportRow {
        ReportRow {
            kind: kind.to_owned(),
            name: name.map(str::to_owned),
            host_hash: (kind == "host").then_some(7),
            ending: ending.to_owned(),
            amount,
        }
    }

    #[test]
    fn parts_add_up_and_what_no_fetch_says_comes_from_the_sums_of_the_crawl() {
        let mut report = CrawlReport::default();
        let mut hosts = HostFailures::default();
        for row in [
            row("outcome", Some("timeout"), "failed", 2),
            row("outcome", Some("timeout"), "failed", 3),
            row("outcome", Some("host_dead"), "left", 4),
            row("status", None, "failed", 5),
            row("type", Some("text/html"), "captured", 1),
            row("type", Some("=cmd|' /c calc'!a1"), "captured", 6),
            row("type", None, "failed", 5),
            row("host", Some("timeout"), "failed", 5),
        ] {
            report.add(row, &mut hosts);
        }
        report.add_unasked(&json!({ "host_dead": 4, "cancel": 7 }));
        assert_eq!(report.outcomes["timeout"], Endings { failed: 5, ..Endings::default() });
        assert_eq!(report.outcomes["host_dead"].left, 4);
        assert_eq!(report.outcomes["cancel"].left, 7);
        assert_eq!(report.statuses[NONE].failed, 5);
        assert_eq!(report.types.keys().collect::<Vec<_>>(), [NONE, OTHER, "text/html"]);
        assert_eq!(hosts.worst(9)[0], (7, vec![("timeout".into(), "failed".into(), 5)]));
    }
}
