//! `inspect robots`: shows a robots.txt's rules for this robot.

use std::io::{self, Write as _};

use clap::Args;
use everytab_webpage::{CrawlDelay, RobotsGroup, RobotsTxt};
use serde::Serialize;
use url::{Position, Url};

use super::{
    input::{AddressKind, Input, InputArgs, Unread},
    lines::Lines,
};
use crate::cli_error::{CliError, CliResult};

#[derive(Debug, Args)]
pub(super) struct RobotsArgs {
    /// URL, or path of a URL, to check against the rules; may be repeated
    #[arg(long = "url", value_name = "URL")]
    urls: Vec<String>,
    #[command(flatten)]
    input: InputArgs,
}

#[derive(Debug, Default, Serialize)]
struct RobotsLine {
    file: String,
    robot: Option<String>,
    /// Whether the file is unavailable but may have rules, so that a crawl would send no requests.
    unavailable: Option<bool>,
    /// `named`, `everyone` or `none`.
    group: Option<&'static str>,
    /// Seconds. Null without a delay, or if it is over the limit.
    crawl_delay: Option<f64>,
    crawl_delay_too_long: Option<bool>,
    sitemaps: Option<Vec<String>>,
    sitemaps_left_out: Option<usize>,
    urls: Option<Vec<Checked>>,
    error: Option<String>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Checked {
    url: String,
    allowed: bool,
    /// The deciding rule in normal form. Null if no rule matches.
    rule: Option<String>,
}

/// Prints each input's rules.
///
/// # Errors
/// Returns an error if stdout cannot be written, or if an option is invalid.
pub(super) async fn run(args: RobotsArgs) -> CliResult {
    let RobotsArgs { input, urls } = args;
    let paths: Vec<(String, String)> = urls
        .into_iter()
        .map(|url| path_of(&url).map(|path| (url, path)))
        .collect::<Result<_, _>>()?;
    let robot = input.robot();
    let is_json = input.json;
    let print = |loaded: Result<Input, Unread>, lines: &mut Lines| match loaded {
        Ok(input) if is_json => lines.print(&line(&input, &robot, &paths)),
        Ok(input) => show(&line(&input, &robot, &paths), &input, lines),
        Err(Unread { name, error }) if is_json => {
            let error = Some(error);
            lines.fail(&RobotsLine { file: name, error, ..RobotsLine::default() })
        }
        Err(Unread { name, error }) => {
            lines.complain(&name, &error);
            Ok(())
        }
    };
    input.each(AddressKind::Robots, file_of, print).await
}

fn file_of(address: &str) -> Result<String, String> {
    let url = Url::parse(address).map_err(|error| error.to_string())?;
    url.join("/robots.txt").map(String::from).map_err(|error| error.to_string())
}

fn path_of(url: &str) -> Result<String, CliError> {
    let base = Url::parse("https://example.com/").ok();
    let parsed =
        if url.starts_with('/') { base.and_then(|base| base.join(url).ok()) } else { None };
    let parsed = parsed.or_else(|| Url::parse(url).ok());
    match parsed.filter(|url| matches!(url.scheme(), "http" | "https")) {
        Some(url) => Ok(url[Position::BeforePath..Position::AfterQuery].to_owned()),
        None => Err(CliError::usage(format!(
            "--url {url:?} is not a URL; give one such as https://example.com/path or /path"
        ))),
    }
}

fn line(input: &Input, robot: &str, paths: &[(String, String)]) -> RobotsLine {
    let rules = RobotsTxt::parse(&input.body);
    let delay = rules.crawl_delay(robot);
    let checked = |(url, path): &(String, String)| Checked {
        url: url.clone(),
        allowed: !input.is_unavailable && rules.allowed(robot, path),
        rule: rules.deciding_rule(robot, path).map(|rule| {
            format!("{}: {}", if rule.allow { "allow" } else { "disallow" }, rule.pattern)
        }),
    };
    RobotsLine {
        file: input.url.as_ref().unwrap_or(&input.name).clone(),
        robot: Some(robot.to_owned()),
        unavailable: Some(input.is_unavailable),
        group: Some(match rules.group(robot) {
            RobotsGroup::Named => "named",
            RobotsGroup::Everyone => "everyone",
            RobotsGroup::None => "none",
        }),
        crawl_delay: match delay {
            Some(CrawlDelay::Wait(delay)) => Some(delay.as_secs_f64()),
            _ => None,
        },
        crawl_delay_too_long: Some(delay == Some(CrawlDelay::TooLong)),
        sitemaps: Some(rules.sitemaps().to_vec()),
        sitemaps_left_out: Some(rules.sitemaps_left_out()),
        urls: Some(paths.iter().map(checked).collect()),
        error: None,
    }
}

fn show(line: &RobotsLine, input: &Input, lines: &mut Lines) -> io::Result<()> {
    let out = &mut lines.out;
    writeln!(out, "file\t{}", line.file)?;
    if let Some(status) = input.status.filter(|status| *status >= 400) {
        let said = if input.is_unavailable {
            "so no requests are sent until it is available"
        } else {
            "so everything is allowed"
        };
        writeln!(out, "status\t{status}, {said}")?;
    }
    let robot = line.robot.as_deref().unwrap_or_default();
    let group = match line.group {
        Some("named") => format!("the groups that name {robot}"),
        Some("everyone") => "the groups for all robots".to_owned(),
        _ if input.is_unavailable => "unknown".to_owned(),
        _ => "none, so everything is allowed".to_owned(),
    };
    writeln!(out, "group\t{group}")?;
    match (line.crawl_delay, line.crawl_delay_too_long) {
        (Some(seconds), _) => writeln!(out, "crawl-delay\t{seconds} s")?,
        (None, Some(true)) => {
            writeln!(out, "crawl-delay\tmore than 5 minutes, so the host is skipped")?;
        }
        (None, _) => writeln!(out, "crawl-delay\tnone")?,
    }
    for sitemap in line.sitemaps.iter().flatten() {
        writeln!(out, "sitemap\t{sitemap}")?;
    }
    if let Some(count) = line.sitemaps_left_out.filter(|count| *count > 0) {
        writeln!(out, "sitemaps left out\t{count}")?;
    }
    let reason = if input.is_unavailable { "robots.txt is unavailable" } else { "no rule matches" };
    for Checked { url, allowed, rule } in line.urls.iter().flatten() {
        let verdict = if *allowed { "allowed" } else { "disallowed" };
        writeln!(out, "{verdict}\t{url}\t{}", rule.as_deref().unwrap_or(reason))?;
    }
    Ok(())
}
