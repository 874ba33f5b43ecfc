//! `crawl forget` and `crawl gc`: stop serving captures, and remove them from the archives.

use clap::Args;
use everytab_coordinator::NewForgotten;
use everytab_crawl_operations::crawl_gc;
use everytab_frontier::{
    CanonicalUrl, DEFAULT_SUFFIX_LIST, ParameterList, SuffixList, site_hash, slot_of_site,
};
use serde_json::json;

use crate::{
    cli_error::{CliError, CliResult, Exit},
    commands::{
        database,
        stdout::{self, StandardStreams},
    },
    options::DatabaseArgs,
};

#[derive(Debug, Args)]
pub(super) struct ForgetArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    #[command(flatten)]
    what: What,
    /// Print one JSON document
    #[arg(long, env = "EVERYTAB_JSON")]
    json: bool,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct What {
    /// All URLs of a site, given as a registered domain such as example.com
    #[arg(long, env = "EVERYTAB_CRAWL_SITE", value_name = "SITE")]
    site: Option<String>,
    /// One URL, and the URLs of its site whose captures refer to its stored body
    #[arg(long, env = "EVERYTAB_CRAWL_URL", value_name = "URL")]
    url: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct ClearArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    /// Print what would be removed, and change nothing
    #[arg(long, env = "EVERYTAB_DRY_RUN")]
    dry_run: bool,
}

/// Forgets a site or a URL.
///
/// # Errors
/// Returns an error if the argument is not a site or a URL, or if Postgres is unreachable.
pub(super) async fn forget(args: ForgetArgs) -> CliResult {
    let ForgetArgs { database, what: What { site, url }, json } = args;
    let name;
    let (kind, what) = if let Some(site) = site {
        name = name_of_site(&site)?;
        let slot = slot_of_site(&name);
        ("site", NewForgotten::Site { name: &name, site_hash: site_hash(&name), slot })
    } else {
        let url = url.unwrap_or_default();
        let url = CanonicalUrl::parse(&url, &ParameterList::default())
            .map_err(|error| CliError::usage(format!("--url {url}: {error}")))?;
        name = url.key().to_owned();
        let (host_hash, url_hash) = (site_hash(url.host()), url.hash().0);
        ("url", NewForgotten::Url { key: &name, host_hash, url_hash })
    };
    let captures = database::connect(&database).await?.forget(&what).await?;
    if json {
        stdout::line(json!({ "kind": kind, "name": name, "captures": captures }))?;
    } else {
        stdout::line(format_args!("{captures} captures of the {kind} {name} are forgotten"))?;
    }
    eprintln!(
        "`crawl gc` removes them from the archives; crawls may fetch these URLs again, unless \
         `blocklist add` blocks the host"
    );
    Ok(Exit::Done)
}

fn name_of_site(text: &str) -> Result<String, CliError> {
    let wrong = |why: String| CliError::usage(format!("--site {text}: {why}"));
    let url = CanonicalUrl::parse(&format!("https://{text}/"), &ParameterList::default());
    let url = url.map_err(|error| wrong(error.to_string()))?;
    if url.path_and_query() != "/" || text.contains('/') {
        return Err(wrong("give a registered domain, such as example.com".to_owned()));
    }
    let suffixes = SuffixList::parse(DEFAULT_SUFFIX_LIST, &[])
        .map_err(|error| CliError::new(format!("cannot read the public suffix list: {error}")))?;
    if suffixes.suffix_of(url.host()) == Some(url.host()) {
        return Err(wrong("it is a public suffix, below which there are many sites".to_owned()));
    }
    let site = suffixes.site_of(url.host());
    if site == url.host() {
        Ok(site.to_owned())
    } else {
        Err(wrong(format!("it is a host of the site {site}; --url forgets one URL")))
    }
}

/// Removes forgotten captures from the archives.
///
/// # Errors
/// Returns an error if Postgres or a store is unreachable, or if some archives were not cleared.
pub(super) async fn gc(args: ClearArgs) -> CliResult {
    let coordinator = database::connect(&args.database).await?;
    if crawl_gc::clear(&coordinator, args.dry_run, &StandardStreams).await? {
        Ok(Exit::Done)
    } else {
        Err(CliError::new("some archives were not cleared; see the messages above"))
    }
}
