//! `inspect`: prints how the product reads files and URLs, as one JSON object per line on stdout.
//! The commands for crawls print lines for people unless `--json` is given.
//!
//! Invariants: all lines of a kind have the same fields, and a field is null where it does not
//! apply. Bad input gives a line with `error` (on stderr in the output for people), and the command
//! continues. Skipped records are counted on stderr. Each command reads as little of a file as it
//! needs, and never more than [`files::MAX_FILE_BYTES`].

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

/// Options of `inspect`.
#[derive(Debug, Args)]
pub struct InspectArgs {
    #[command(subcommand)]
    command: InspectCommand,
}

#[derive(Debug, Subcommand)]
enum InspectCommand {
    /// Home pages in files of the crawl's index
    Index {
        /// Parquet files
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Responses in web archives
    Warc {
        /// WARC files, gzipped or not
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// HTML files
    Page {
        /// HTML files, gzipped or not
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Address of the pages
        #[arg(long, env = "EVERYTAB_URL", default_value = "https://example.com/")]
        url: String,
    },
    /// Icon files, and the tab icons they become
    Icon {
        /// Icon files of any format
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Icons fetched from their addresses
    Url(Box<icons::UrlArgs>),
    /// What pages link to: kind, markup, follow or nofollow, normalized key
    Links(Box<links::LinksArgs>),
    /// The text of pages that people see, one JSON object a page
    Text(Box<text::TextArgs>),
    /// What a robots.txt says to the robot: group, delay, sitemaps, and whether it may ask for URLs
    Robots(Box<robots::RobotsArgs>),
    /// What a sitemap lists: page, alternate or sitemap, and the URL
    Sitemap(Box<sitemap::SitemapArgs>),
    /// Which part of a filter decides URLs: verdict, part, URL
    Filter(filter::FilterArgs),
    /// How a crawl files URLs: normalized key, host, site, hash, slot
    Normalize(normalize::NormalizeArgs),
}

/// Inspects the inputs one after the other.
///
/// # Errors
/// Returns an error if stdout cannot be written, or if an option is wrong. After bad input, the
/// exit code is 1.
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

/// Runs `print` on a thread that may block. Returns whether an input failed.
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
