//! The inputs of `inspect links`, `text`, `robots` and `sitemap`: files, standard input, or URLs to
//! fetch politely.

use std::{io, path::PathBuf, sync::Arc};

use clap::Args;
use everytab_fetcher::{
    DelaySettings, FetchSettings, Fetcher, HostClient, HostDelay, Outcome, PageFetchResult,
    PageOptions, PageRequest, Purpose, RobotsEffect, RobotsPolicy,
};
use everytab_webpage::RobotsTxt;
use url::{Position, Url};

use super::{
    files::{
        MAX_SMALL_FILE_BYTES, read_file, read_packed_input, read_standard_input, read_unpacked,
    },
    lines::Lines,
};
use crate::{
    cli_error::{CliError, CliResult},
    options::FetchArgs,
};

#[derive(Debug, Args)]
pub(super) struct InputArgs {
    /// Files, gzipped or not, or http:// or https:// URLs; - reads standard input
    #[arg(required = true, value_name = "FILE|URL")]
    inputs: Vec<String>,
    /// Print one JSON object per line
    #[arg(long, env = "EVERYTAB_JSON")]
    pub(super) json: bool,
    #[command(flatten)]
    fetch: FetchArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AddressKind {
    /// A page, which is fetched if robots.txt allows it.
    Page,
    Robots,
    /// A sitemap, which is fetched if robots.txt allows it. The body stays gzipped.
    Sitemap,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Input {
    pub(super) name: String,
    /// The final URL, if the input was fetched.
    pub(super) url: Option<String>,
    pub(super) status: Option<u16>,
    /// The response's header fields. Only a fetched page has them.
    pub(super) headers: Vec<(String, Vec<u8>)>,
    pub(super) body: Vec<u8>,
    /// Whether this is a robots.txt that is unavailable but may have rules, so that a crawl would
    /// send no requests.
    pub(super) is_unavailable: bool,
}

impl InputArgs {
    /// Returns the robot's product token, to which rules in pages and in robots.txt refer.
    pub(super) fn robot(&self) -> String {
        let default = FetchSettings::default().user_agent;
        let user_agent = self.fetch.user_agent.as_deref().unwrap_or(&default);
        let is_part = |c: char| c.is_ascii_alphabetic() || matches!(c, '-' | '_');
        user_agent.chars().take_while(|c| is_part(*c)).collect()
    }

    /// Passes the inputs to `print` in their order. `address` returns the URL to fetch for a given
    /// one.
    ///
    /// # Errors
    /// Returns an error if stdout cannot be written, or if an option is invalid.
    pub(super) async fn each(
        &self,
        kind: AddressKind,
        address: impl Fn(&str) -> Result<String, String>,
        mut print: impl FnMut(Result<Input, Unread>, &mut Lines) -> io::Result<()>,
    ) -> CliResult {
        let mut lines = Lines::new();
        let mut fetcher = None;
        for name in &self.inputs {
            let loaded = if is_address(name) {
                if fetcher.is_none() {
                    self.fetch.warn();
                    fetcher = Some(self.fetch.fetcher(Vec::new())?);
                }
                match (address(name), &fetcher) {
                    (Ok(url), Some(fetcher)) => match kind {
                        AddressKind::Page => page(fetcher, name, &url).await,
                        AddressKind::Robots => robots(fetcher, name, &url).await,
                        AddressKind::Sitemap => sitemap(fetcher, name, &url).await,
                    },
                    (Err(error), _) => Err(error),
                    (_, None) => Err("there is no fetcher".to_owned()),
                }
            } else {
                read(name.clone(), kind).await?
            };
            let loaded = loaded.map_err(|error| Unread { name: name.clone(), error });
            let printed = print(loaded, &mut lines);
            if let Err(error) = printed.and_then(|()| io::Write::flush(&mut lines.out)) {
                return super::command_result(Err(error));
            }
        }
        super::command_result(Ok(lines.has_failed))
    }
}

#[derive(Debug)]
pub(super) struct Unread {
    pub(super) name: String,
    /// The reason and advice, in one line.
    pub(super) error: String,
}

fn is_address(name: &str) -> bool {
    let has = |scheme: &str| {
        name.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    has("http://") || has("https://")
}

async fn read(name: String, kind: AddressKind) -> Result<Result<Input, String>, CliError> {
    let reading = tokio::task::spawn_blocking(move || {
        let is_unpacked = kind != AddressKind::Sitemap;
        let body = match (name.as_str(), is_unpacked) {
            ("-", true) => read_standard_input(MAX_SMALL_FILE_BYTES),
            ("-", false) => read_packed_input(MAX_SMALL_FILE_BYTES),
            (path, true) => read_unpacked(&PathBuf::from(path), MAX_SMALL_FILE_BYTES),
            (path, false) => read_file(&PathBuf::from(path), MAX_SMALL_FILE_BYTES),
        };
        body.map(|body| Input { name, body, ..Input::default() })
    });
    Ok(reading.await?)
}

/// Fetches a page if robots.txt allows it. For a 4xx status, the caller reports the status.
async fn page(fetcher: &Fetcher, name: &str, url: &str) -> Result<Input, String> {
    let fetched = match fetcher.fetch_one(url, RobotsPolicy::Obey).await {
        Ok(fetched) => fetched,
        Err(failure) => return Err(format!("local failure: {failure}")),
    };
    let is_refused = fetched.status.is_some_and(|status| (400..500).contains(&status));
    if fetched.outcome != Outcome::Ok && !is_refused {
        return Err(failed(fetched.outcome));
    }
    Ok(Input {
        name: name.to_owned(),
        url: Some(fetched.final_url.clone()),
        status: fetched.status,
        headers: fields(&fetched.http_head),
        body: fetched.body.to_vec(),
        is_unavailable: false,
    })
}

/// Fetches a robots.txt like a crawl. The body is empty unless the response contains rules.
async fn robots(fetcher: &Fetcher, name: &str, url: &str) -> Result<Input, String> {
    fetch_robots(&mut client_of(fetcher), name, url).await
}

fn client_of(fetcher: &Fetcher) -> HostClient {
    let options = Arc::new(PageOptions::default());
    let delay = HostDelay::default();
    HostClient::new(fetcher, options, delay)
}

async fn fetch(
    client: &mut HostClient,
    url: &str,
    purpose: &Purpose,
) -> Result<PageFetchResult, String> {
    let fetched = client.fetch(&PageRequest::new(url, purpose), &DelaySettings::default()).await;
    fetched.map_err(|failure| format!("local failure: {failure}"))
}

/// Fetches a sitemap like a crawl, after its origin's robots.txt.
async fn sitemap(fetcher: &Fetcher, name: &str, url: &str) -> Result<Input, String> {
    let mut client = client_of(fetcher);
    let parsed = Url::parse(url).map_err(|error| error.to_string())?;
    let of_origin = parsed.join("/robots.txt").map_err(|error| error.to_string())?;
    let rules = match fetch_robots(&mut client, name, of_origin.as_str()).await? {
        Input { is_unavailable: true, .. } => RobotsTxt::disallow_all(),
        Input { body, .. } => RobotsTxt::parse(&body),
    };
    let path = &parsed[Position::BeforePath..Position::AfterQuery];
    if !rules.allowed(fetcher.robot().product(), path) {
        return Err("robots.txt disallows it; download it yourself and give the file".to_owned());
    }
    let fetched = fetch(&mut client, url, &Purpose::sitemap()).await?;
    if let Some(target) = fetched.redirect {
        return Err(format!("it redirects to {target}, which is another sitemap; give this URL"));
    }
    if !matches!(fetched.outcome, Outcome::Ok | Outcome::EmptyBody) {
        return Err(failed(fetched.outcome));
    }
    Ok(Input {
        name: name.to_owned(),
        url: Some(url.to_owned()),
        status: fetched.status,
        body: fetched.body.to_vec(),
        ..Input::default()
    })
}

async fn fetch_robots(client: &mut HostClient, name: &str, url: &str) -> Result<Input, String> {
    let fetched = fetch(client, url, &Purpose::robots()).await?;
    let answer = fetched.outcome.robots_effect();
    if fetched.status.is_none() {
        return Err(failed(fetched.outcome));
    }
    let status = fetched.status;
    let last = fetched.exchanges.last();
    Ok(Input {
        name: name.to_owned(),
        url: Some(last.map_or(url, |exchange| exchange.url.as_str()).to_owned()),
        status,
        body: if answer == RobotsEffect::Rules { fetched.body.to_vec() } else { Vec::new() },
        is_unavailable: matches!(answer, RobotsEffect::Forbidden | RobotsEffect::NoResponse),
        headers: Vec::new(),
    })
}

fn failed(outcome: Outcome) -> String {
    format!("cannot fetch it: {}; download it yourself and give the file", outcome.as_str())
}

fn fields(head: &[u8]) -> Vec<(String, Vec<u8>)> {
    let lines = head.split(|byte| *byte == b'\n').skip(1);
    let field = |line: &[u8]| {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let (name, value) = line.split_at_checked(colon)?;
        let value = value.get(1..)?.trim_ascii();
        Some((String::from_utf8_lossy(name.trim_ascii()).into_owned(), value.to_vec()))
    };
    lines.filter_map(field).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_fields_are_the_lines_after_the_status_line() {
        let head =
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Robots-Tag:a:b \r\nodd\r\n\r\n";
        let expected = [("Content-Type", &b"text/html"[..]), ("X-Robots-Tag", b"a:b")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_vec()));
        assert_eq!(fields(head), expected);
        assert_eq!(fields(b""), []);
    }

    #[test]
    fn an_address_begins_with_a_scheme_that_is_fetched() {
        for (name, expected) in [
            ("http://a", true),
            ("HTTPS://a", true),
            ("http:/a", false),
            ("-", false),
            ("é", false),
        ] {
            assert_eq!(is_address(name), expected, "{name}");
        }
    }
}
