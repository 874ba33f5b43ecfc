//! `inspect icon` and `inspect url`: describe an icon and its tab icon.

use std::{io, path::PathBuf, sync::Arc};

use clap::Args;
use everytab_fetcher::{FetchResult, Fetcher, RequestSigner, RobotsPolicy, data_bytes, judge};
use everytab_icon::inspect::{IconReport, inspect_icon};
use futures_util::{StreamExt, stream};
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    files::{MAX_SMALL_FILE_BYTES, read_file},
    lines::{Lines, command_result},
};
use crate::{
    cli_error::{CliError, CliResult},
    options::{FetchArgs, RobotsOption, parse_site_url},
};

/// URLs to fetch concurrently. A person inspects few, and politeness limits the requests to each
/// site.
const CONCURRENT_URLS: usize = 8;

#[derive(Debug, Args)]
pub(super) struct UrlArgs {
    /// URLs of icons
    #[arg(required = true)]
    urls: Vec<String>,
    /// Whether to fetch and obey robots.txt
    #[arg(long, env = "EVERYTAB_ROBOTS", value_enum, default_value = "obey")]
    robots: RobotsOption,
    /// URL of the site that publishes the --signing-key; signatures contain this URL
    #[arg(long, env = "EVERYTAB_SITE_URL", value_name = "URL", value_parser = parse_site_url)]
    site_url: Option<String>,
    #[command(flatten)]
    fetch: FetchArgs,
}

/// The line for an unreadable file, with the fields of [`IconReport`].
#[derive(Serialize)]
struct Unreadable {
    file: String,
    content_type: Option<String>,
    width: Option<u32>,
    height: Option<u32>,
    bytes: Option<u64>,
    sha256: Option<String>,
    png_base64: Option<String>,
    png_w: Option<u32>,
    png_h: Option<u32>,
    png_bytes: Option<u64>,
    error: String,
}

impl Unreadable {
    fn new(file: String, error: String) -> Self {
        Self {
            file,
            error,
            content_type: None,
            width: None,
            height: None,
            bytes: None,
            sha256: None,
            png_base64: None,
            png_w: None,
            png_h: None,
            png_bytes: None,
        }
    }
}

pub(super) fn print(files: &[PathBuf], lines: &mut Lines) -> io::Result<()> {
    for path in files {
        let file = path.display().to_string();
        match read_file(path, MAX_SMALL_FILE_BYTES) {
            Ok(bytes) => lines.print(&inspect_icon(&file, &bytes))?,
            Err(error) => lines.fail(&Unreadable::new(file, error))?,
        }
    }
    Ok(())
}

#[derive(Default, Serialize)]
struct UrlLine {
    url: String,
    outcome: Option<&'static str>,
    status: Option<u16>,
    final_url: Option<String>,
    hops: Option<Vec<Value>>,
    timings_ms: Option<Value>,
    certificate: Option<&'static str>,
    downgraded: Option<bool>,
    content_type: Option<String>,
    width: Option<u32>,
    height: Option<u32>,
    bytes: Option<usize>,
    sha256: Option<String>,
    png_base64: Option<String>,
    png_w: Option<u32>,
    png_h: Option<u32>,
    png_bytes: Option<usize>,
    error: Option<String>,
}

impl UrlLine {
    fn new(url: &str) -> Self {
        Self { url: url.to_owned(), ..Self::default() }
    }

    fn with_icon(mut self, bytes: &[u8]) -> Self {
        let report: IconReport = inspect_icon("", bytes);
        self.content_type = report.content_type;
        self.width = report.width;
        self.height = report.height;
        self.bytes = Some(report.bytes);
        self.sha256 = Some(report.sha256);
        self.png_base64 = report.png_base64;
        self.png_w = report.png_w;
        self.png_h = report.png_h;
        self.png_bytes = report.png_bytes;
        self.error = report.error;
        self
    }

    fn with_fetch(mut self, fetched: &FetchResult) -> Self {
        let hop = |hop: &everytab_fetcher::Hop| {
            let url = &hop.url;
            let address = hop.address;
            json!({"url": url, "address": address, "status": hop.status})
        };
        let timings = fetched.timings;
        self.status = fetched.status;
        self.final_url = Some(fetched.final_url.clone());
        self.hops = Some(fetched.hops.iter().map(hop).collect());
        self.timings_ms = Some(json!({
            "dns": timings.dns, "connect": timings.connect, "tls": timings.tls,
            "first_byte": timings.first_byte, "body": timings.body, "total": timings.total,
        }));
        self.certificate = fetched.certificate.map(|certificate| certificate.as_str());
        self.downgraded = Some(fetched.was_downgraded);
        self
    }
}

/// Fetches the URLs and prints a line for each. Only a local failure, such as a missing route,
/// counts as bad input.
pub(super) async fn urls(args: UrlArgs) -> CliResult {
    args.fetch.warn();
    let robots = match args.robots {
        RobotsOption::Obey => RobotsPolicy::Obey,
        RobotsOption::Off => RobotsPolicy::Ignore,
    };
    let fetcher = args.fetch.fetcher(Vec::new())?;
    let signer = signer(&fetcher, args.site_url.as_deref())?;
    let fetches = args.urls.iter().map(|url| inspect_url(&fetcher, url, robots, signer.as_ref()));
    let mut fetches = stream::iter(fetches).buffered(CONCURRENT_URLS);
    let mut lines = Lines::new();
    let mut printed = Ok(());
    while let Some(line) = fetches.next().await {
        printed = match line.outcome {
            Some(_) => lines.print(&line),
            None => lines.fail(&line),
        };
        // A person may be watching the output.
        printed = printed.and_then(|()| io::Write::flush(&mut lines.out));
        if printed.is_err() {
            break;
        }
    }
    command_result(printed.map(|()| lines.has_failed))
}

fn signer(fetcher: &Fetcher, site_url: Option<&str>) -> Result<Option<RequestSigner>, CliError> {
    let Some(key) = fetcher.signing_key() else { return Ok(None) };
    let site_url = site_url.ok_or_else(|| {
        CliError::usage("--signing-key needs --site-url, the address of the site that publishes it")
    })?;
    RequestSigner::new(Arc::clone(key), site_url)
        .map(Some)
        .map_err(|error| CliError::usage(format!("--site-url {error}")))
}

async fn inspect_url(
    fetcher: &Fetcher,
    url: &str,
    robots: RobotsPolicy,
    signer: Option<&RequestSigner>,
) -> UrlLine {
    let line = UrlLine::new(url);
    if url.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:")) {
        return match data_bytes(url) {
            Ok(bytes) => with_body(line, bytes).await,
            Err(outcome) => UrlLine { outcome: Some(outcome.as_str()), ..line },
        };
    }
    match fetcher.fetch_one_as(url, robots, signer).await {
        Ok(fetched) => {
            let line = line.with_fetch(&fetched);
            if fetched.outcome == everytab_fetcher::Outcome::Ok {
                with_body(line, fetched.body.to_vec()).await
            } else {
                UrlLine { outcome: Some(fetched.outcome.as_str()), ..line }
            }
        }
        Err(failure) => UrlLine { error: Some(format!("local failure: {failure}")), ..line },
    }
}

/// Adds the icon in a body to a line. Decoding may take long, so it runs on a blocking thread.
async fn with_body(line: UrlLine, bytes: Vec<u8>) -> UrlLine {
    let url = line.url.clone();
    let judging = tokio::task::spawn_blocking(move || {
        let (outcome, _) = judge(&bytes);
        UrlLine { outcome: Some(outcome.as_str()), ..line.with_icon(&bytes) }
    });
    judging.await.unwrap_or_else(|error| UrlLine {
        error: Some(format!("the decoder failed: {error}")),
        ..UrlLine::new(&url)
    })
}
