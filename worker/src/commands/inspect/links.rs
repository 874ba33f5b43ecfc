//! `inspect links`: prints the links of pages, as a crawl extracts them.

use std::io::{self, Write as _};

use clap::Args;
use everytab_frontier::{CanonicalUrl, ParameterList};
use everytab_webpage::{
    LinkKind, LinkOrigin, LinkRequest, PageLinks, RobotsDirectives, links::LinksLeftOut,
    understand_with_links,
};
use serde::Serialize;
use url::Url;

use super::{
    input::{AddressKind, Input, InputArgs, Unread},
    lines::Lines,
};
use crate::cli_error::{CliError, CliResult};

#[derive(Debug, Args)]
pub(super) struct LinksArgs {
    /// URL of the pages in files
    #[arg(long, env = "EVERYTAB_URL", default_value = "https://example.com/")]
    url: String,
    #[command(flatten)]
    input: InputArgs,
}

#[derive(Debug, Serialize)]
struct LinkLine<'a> {
    kind: LinkKind,
    origin: LinkOrigin,
    nofollow: bool,
    url: &'a str,
    /// The normalized URL. Null if a crawl would reject it.
    key: Option<&'a str>,
    error: Option<String>,
}

#[derive(Debug, Default, Serialize)]
struct LinksPageLine {
    page: String,
    pages: Option<usize>,
    requisites: Option<usize>,
    left_out: Option<LinksLeftOut>,
    robots: Option<RobotsDirectives>,
    error: Option<String>,
}

/// Prints each input's links.
///
/// # Errors
/// Returns an error if stdout cannot be written, or if an option is invalid.
pub(super) async fn run(args: LinksArgs) -> CliResult {
    let LinksArgs { input, url } = args;
    let url = page_url(&url)?;
    let robot = input.robot();
    let is_json = input.json;
    let same = |address: &str| Ok(address.to_owned());
    let print = |loaded: Result<Input, Unread>, lines: &mut Lines| match loaded
        .and_then(|input| input.into_page())
    {
        Ok(input) => print(&input, &url, &robot, is_json, lines),
        Err(Unread { name, error }) if is_json => {
            let error = Some(error);
            lines.fail(&LinksPageLine { page: name, error, ..LinksPageLine::default() })
        }
        Err(Unread { name, error }) => {
            lines.complain(&name, &error);
            Ok(())
        }
    };
    input.each(AddressKind::Page, same, print).await
}

pub(super) fn page_url(url: &str) -> Result<Url, CliError> {
    let parsed = Url::parse(url).map_err(|error| error.to_string());
    let parsed = parsed.and_then(|url| match url.scheme() {
        "http" | "https" => Ok(url),
        _ => Err("the scheme is neither http nor https".to_owned()),
    });
    parsed.map_err(|error| {
        CliError::usage(format!("--url {url:?}: {error}; give one like https://example.com/"))
    })
}

impl Input {
    pub(super) fn into_page(self) -> Result<Self, Unread> {
        let error = match self.status {
            Some(status) if status >= 400 => format!("the response has status {status}"),
            _ if self.body.is_empty() => "it is empty; expected an HTML page".to_owned(),
            _ => return Ok(self),
        };
        Err(Unread { name: self.name, error })
    }
}

fn print(
    input: &Input,
    url: &Url,
    robot: &str,
    is_json: bool,
    lines: &mut Lines,
) -> io::Result<()> {
    let url = input.url.as_deref().unwrap_or(url.as_str());
    let request = LinkRequest { robot, with_requisites: true };
    let found = understand_with_links(url, &input.headers, &input.body, &request).1;
    let parameters = ParameterList::default();
    for link in &found.links {
        let canonical = CanonicalUrl::of(link.url.clone(), &parameters);
        let kind = link.origin.kind();
        let key = canonical.as_ref().ok().map(CanonicalUrl::key);
        if is_json {
            lines.print(&LinkLine {
                kind,
                origin: link.origin,
                nofollow: link.is_nofollow,
                url: link.url.as_str(),
                key,
                error: canonical.as_ref().err().map(ToString::to_string),
            })?;
        } else {
            let kind = if kind == LinkKind::Page { "page" } else { "requisite" };
            let follow = if link.is_nofollow { "nofollow" } else { "follow" };
            let shown = key.unwrap_or("- (refused)");
            writeln!(lines.out, "{kind}\t{}\t{follow}\t{shown}", link.origin.as_str())?;
        }
    }
    let pages = found.links.iter().filter(|link| link.origin.kind() == LinkKind::Page).count();
    let requisites = found.links.len() - pages;
    if is_json {
        return lines.print(&LinksPageLine {
            page: url.to_owned(),
            pages: Some(pages),
            requisites: Some(requisites),
            left_out: Some(found.left_out),
            robots: Some(found.robots),
            error: None,
        });
    }
    lines.out.flush()?;
    eprintln!("{}: {pages} links to pages, {requisites} requisites{}", input.name, about(&found));
    Ok(())
}

fn about(found: &PageLinks) -> String {
    let LinksLeftOut { over_limit, too_long, other_scheme, unparsable, empty } = found.left_out;
    let RobotsDirectives { is_noindex, is_nofollow, is_noarchive } = found.robots;
    let counts = [
        (over_limit, "over the limit"),
        (too_long, "too long"),
        (other_scheme, "with another scheme"),
        (unparsable, "not a URL"),
        (empty, "empty"),
    ];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, reason)| format!("{count} {reason}")).collect();
    let words = [(is_noindex, "noindex"), (is_nofollow, "nofollow"), (is_noarchive, "noarchive")];
    let words: Vec<&str> = words.iter().filter(|(is_set, _)| *is_set).map(|(_, w)| *w).collect();
    let mut text = String::new();
    if !counts.is_empty() {
        text = format!("; skipped: {}", counts.join(", "));
    }
    if !words.is_empty() {
        text.push_str("; robots directives: ");
        text.push_str(&words.join(", "));
    }
    text
}
