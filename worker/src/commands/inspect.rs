//! `inspect`: prints how this program reads files and URLs.
//!
//! All JSON lines of one kind have the same fields. A field that does not apply is null. Bad input
//! produces a JSON line with `error`, or a message on stderr if the output is human-readable, and
//! the command continues.

mod files;
mod filter;
mod icons;
mod index;
mod input;
mod lines;
mod links;
mod normalize;
mod pages;
mod robots;
mod sitemap;
mod text;

use std::{
    io::{self, Write as _},
    path::PathBuf,
};

use clap::{Args, Subcommand};
use url::Url;

use self::lines::{Lines, command_result};
use crate::cli_error::{CliError, CliResult};

/// Options for `inspect`.
#[derive(Debug, Args)]
pub struct InspectArgs {
    #[command(subcommand)]
    command: InspectCommand,
}

#[derive(Debug, Subcommand)]
enum InspectCommand {
    /// Print the home pages in index files of a crawl
    Index {
        /// Parquet files
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Print the responses in WARC files
    Warc {
        /// WARC files, gzipped or not
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Print the data extracted from HTML files
    Page {
        /// HTML files, gzipped or not
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// URL of the pages
        #[arg(long, env = "EVERYTAB_URL", default_value = "https://example.com/")]
        url: String,
    },
    /// Describe icon files, and the tab icons made from them
    Icon {
        /// Icon files of any format
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Fetch icons and describe them
    Url(Box<icons::UrlArgs>),
    /// Print the links of pages: kind, markup, follow or nofollow, and normalized key
    Links(Box<links::LinksArgs>),
    /// Print the visible text of pages, one JSON object per page
    Text(Box<text::TextArgs>),
    /// Show a robots.txt as this robot applies it: group, delay, sitemaps, and whether URLs are
    /// allowed
    Robots(Box<robots::RobotsArgs>),
    /// Print the URLs in a sitemap, each with its kind: page, alternate or sitemap
    Sitemap(Box<sitemap::SitemapArgs>),
    /// Test URLs against a filter: print the verdict, the deciding part and the URL
    Filter(filter::FilterArgs),
    /// Show how a crawl normalizes and stores URLs: key, host, site, hash and slot
    Normalize(normalize::NormalizeArgs),
}

/// Inspects the inputs in order. Returns exit code 1 if any input was bad.
///
/// # Errors
/// Returns an error if stdout cannot be written, an option is invalid, or the fetcher cannot start.
pub async fn run(args: InspectArgs) -> CliResult {
    let printed = match args.command {
        InspectCommand::Url(args) => return icons::urls(*args).await,
        InspectCommand::Links(args) => return links::run(*args).await,
        InspectCommand::Text(args) => return text::run(*args).await,
        InspectCommand::Robots(args) => return robots::run(*args).await,
        InspectCommand::Sitemap(args) => return sitemap::run(*args).await,
        InspectCommand::Filter(args) => blocking(move |lines| filter::print(&args, lines)).await?,
        InspectCommand::Normalize(args) => {
            blocking(move |lines| normalize::print(&args, lines)).await?
        }
        InspectCommand::Index { files } => {
            blocking(move |lines| index::print(&files, lines)).await?
        }
        InspectCommand::Warc { files } => {
            blocking(move |lines| pages::print_archives(&files, lines)).await?
        }
        InspectCommand::Icon { files } => {
            blocking(move |lines| icons::print(&files, lines)).await?
        }
        InspectCommand::Page { files, url } => {
            let url = Url::parse(&url).map_err(|error| {
                CliError::usage(format!(
                    "--url {url:?}: {error}; give one like https://example.com/"
                ))
            })?;
            blocking(move |lines| pages::print_pages(&files, &url, lines)).await?
        }
    };
    command_result(printed)
}

async fn blocking(
    print: impl FnOnce(&mut Lines) -> io::Result<()> + Send + 'static,
) -> Result<io::Result<bool>, CliError> {
    let printing = tokio::task::spawn_blocking(move || {
        let mut lines = Lines::new();
        print(&mut lines)?;
        lines.out.flush()?;
        Ok(lines.has_failed)
    });
    Ok(printing.await?)
}
