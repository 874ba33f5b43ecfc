//! `crawl report`: the results for a crawl's URLs, as tables or as CSV.

use std::{collections::BTreeMap, fmt::Write as _};

use clap::Args;
use everytab_coordinator::CrawlStatus;
use everytab_crawl_operations::crawl_report::{CrawlReport, Endings, report as count};
use everytab_operations::progress::layout::{printable, width, wrapped};

use super::status::known;
use crate::{
    cli_error::{CliResult, Exit},
    commands::{
        one_crawl::{self, OneCrawl},
        stdout,
    },
    display::frame::Stream,
};

/// Maximum lines in a table. The CSV output has no limit.
const MAX_LINES: usize = 40;
/// Width of a name, so that a line has 79 columns.
const NAME_COLUMNS: usize = 39;
const REASONS_COLUMN: usize = 22;

#[derive(Debug, Args)]
pub(super) struct ReportArgs {
    #[command(flatten)]
    crawl: OneCrawl,
    /// Print the whole report as CSV
    #[arg(long, env = "EVERYTAB_CRAWL_CSV")]
    csv: bool,
}

/// Shows the results for a crawl's URLs.
///
/// # Errors
/// Returns an error if Postgres is unreachable, or if there is no such crawl.
pub(super) async fn report(args: ReportArgs) -> CliResult {
    let (coordinator, crawl) = args.crawl.find().await?;
    let status = one_crawl::status_of(&coordinator, &crawl).await?;
    let report = count(&coordinator, &status).await?;
    let text = if args.csv {
        csv(&report)
    } else {
        picture(&status, &report, Stream::Stdout.columns()).join("\n") + "\n"
    };
    stdout::print(text)?;
    if report.outcomes.is_empty() {
        eprintln!("no fetches are recorded yet");
    }
    if report.hosts_uncertainty > 0 {
        eprintln!(
            "because many hosts had failures, each count may be too low by up to {}",
            report.hosts_uncertainty
        );
    }
    Ok(Exit::Done)
}

fn tables(report: &CrawlReport) -> [(&'static str, Vec<(&str, Endings)>); 5] {
    [
        ("outcome", by_amount(&report.outcomes)),
        ("status", by_number(&report.statuses)),
        ("type", by_amount(&report.types)),
        ("depth", by_number(&report.depths)),
        ("hour", rows_of(&report.hours)),
    ]
}

fn rows_of(names: &BTreeMap<String, Endings>) -> Vec<(&str, Endings)> {
    names.iter().map(|(name, endings)| (name.as_str(), *endings)).collect()
}

fn by_amount(names: &BTreeMap<String, Endings>) -> Vec<(&str, Endings)> {
    let mut rows = rows_of(names);
    rows.sort_by_key(|(_, endings)| std::cmp::Reverse(endings.total()));
    rows
}

/// Returns a table's rows in numerical order, and rows without a number last.
fn by_number(names: &BTreeMap<String, Endings>) -> Vec<(&str, Endings)> {
    let mut rows = rows_of(names);
    rows.sort_by_key(|(name, _)| name.parse().unwrap_or(u32::MAX));
    rows
}

fn picture(status: &CrawlStatus, report: &CrawlReport, columns: usize) -> Vec<String> {
    let mut lines = wrapped("", 0, &format!("{}: {}", status.name, known(status)), columns);
    for (by, rows) in tables(report) {
        if rows.is_empty() {
            continue;
        }
        let title = format!("by {by}");
        lines.push(String::new());
        let endings = ["captured", "failed", "refused", "left"];
        lines.extend(table_lines(&title, endings.map(str::to_owned)));
        for (name, Endings { captured, failed, refused, left }) in rows.iter().take(MAX_LINES) {
            let numbers = [captured, failed, refused, left].map(|number| match number {
                0 => "-".to_owned(),
                number => number.to_string(),
            });
            lines.extend(table_lines(&printable(name), numbers));
        }
        if rows.len() > MAX_LINES {
            lines.push(format!("and {} more; --csv prints all", rows.len() - MAX_LINES));
        }
    }
    if !report.hosts.is_empty() {
        lines.push(String::new());
        lines.push(format!("{:>9} {:>9}  {}", "failed", "left", "the worst hosts, and why"));
        for host in &report.hosts {
            let Endings { failed, left, .. } = host.endings;
            let label = format!("{failed:>9} {left:>9}");
            let text = format!("{}: {}", host.hostname, reasons(&host.outcomes));
            lines.extend(wrapped(&label, REASONS_COLUMN, &text, columns));
        }
    }
    lines
}

fn table_lines(name: &str, numbers: [String; 4]) -> Vec<String> {
    let [captured, failed, refused, left] = numbers;
    let (before, name) =
        if width(name) > NAME_COLUMNS { (Some(name.to_owned()), "") } else { (None, name) };
    let line = format!("{name:<NAME_COLUMNS$} {captured:>9} {failed:>9} {refused:>9} {left:>9}");
    before.into_iter().chain([line]).collect()
}

/// Formats outcomes such as `timeout 12 + tls 3`.
fn reasons(outcomes: &[(String, u64)]) -> String {
    let texts: Vec<String> =
        outcomes.iter().map(|(outcome, amount)| format!("{outcome} {amount}")).collect();
    texts.join(" + ")
}

/// Formats the whole report as CSV (RFC 4180).
fn csv(report: &CrawlReport) -> String {
    let mut text = "by,value,captured,failed,refused,left,reasons\n".to_owned();
    for (by, rows) in tables(report) {
        for (name, endings) in rows {
            csv_line(&mut text, (by, name), &endings, "");
        }
    }
    for host in &report.hosts {
        csv_line(&mut text, ("host", &host.hostname), &host.endings, &reasons(&host.outcomes));
    }
    text
}

fn csv_line(text: &mut String, (by, name): (&str, &str), endings: &Endings, reasons: &str) {
    let Endings { captured, failed, refused, left } = endings;
    let name = quoted(name);
    writeln!(text, "{by},{name},{captured},{failed},{refused},{left},{reasons}").ok();
}

/// Quotes a field. Strangers choose hostnames and content types, so this adds an apostrophe to a
/// field that a spreadsheet would run as a formula.
fn quoted(value: &str) -> String {
    let is_formula = value.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let value = format!("{}{value}", if is_formula { "'" } else { "" });
    if value.contains(['"', ',', '\r', '\n']) {
        format!("\"{}\"", value.replace('"', "\"\""))
    } else {
        value
    }
}

#[cfg(test)]
mod tests {
    use everytab_crawl_operations::crawl_report::WorstHost;

    use super::*;

    fn counted() -> CrawlReport {
        let captured = |captured| Endings { captured, ..Endings::default() };
        let failed = |failed| Endings { failed, ..Endings::default() };
        let names = |rows: &[(&str, Endings)]| {
            rows.iter().map(|(name, endings)| ((*name).to_owned(), *endings)).collect()
        };
        let long = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
        CrawlReport {
            outcomes: names(&[("dns_timeout", failed(3)), ("ok", captured(4_000_000))]),
            statuses: names(&[("200", captured(9)), ("404", failed(2)), ("none", failed(3))]),
            types: names(&[(long, captured(5)), ("text/html", captured(12))]),
            depths: names(&[("0", captured(1)), ("10", captured(2)), ("9", captured(3))]),
            hours: (0..50).map(|hour| (format!("2026-01-01 {hour:02}:00"), captured(1))).collect(),
            hosts: vec![WorstHost {
                hostname: "www.a-host-with-a-rather-long-name.example".to_owned(),
                endings: Endings { failed: 3, left: 40, ..Endings::default() },
                outcomes: vec![("host_dead".to_owned(), 40), ("dns_timeout".to_owned(), 3)],
            }],
            hosts_uncertainty: 0,
        }
    }

    #[test]
    fn the_tables_fit_eighty_columns() {
        let lines = picture(&super::super::status::tests::crawl(), &counted(), 80);
        assert!(lines.iter().all(|line| width(line) <= 80), "{lines:#?}");
        let text = lines.join("\n");
        for part in [
            "by outcome                               captured    failed   refused      left\n\
             ok                                        4000000         -         -         -\n\
             dns_timeout                                     -         3         -         -\n",
            "wordprocessingml.document\n   ",
            "9                                               3         -         -         -\n10 ",
            "and 10 more; --csv prints all",
            "        3        40   www.a-host-with-a-rather-long-name.example: host_dead 40 +\n\
             \x20                     dns_timeout 3",
        ] {
            assert!(text.contains(part), "{part}\n\n{text}");
        }
    }

    #[test]
    fn the_csv_has_a_line_for_everything() {
        let text = csv(&counted());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "by,value,captured,failed,refused,left,reasons");
        assert_eq!(lines.len(), 1 + 2 + 3 + 2 + 3 + 50 + 1);
        assert!(lines.contains(&"status,404,0,2,0,0,"));
        assert!(lines.last().unwrap().ends_with(".example,0,3,0,40,host_dead 40 + dns_timeout 3"));
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
        for formula in ["=1+1", "+1", "-1", "@SUM(1)", "\t=1"] {
            assert_eq!(quoted(formula), format!("'{formula}"));
        }
    }
}
