//! Finds the crawl that a command names.

use clap::Args;
use everytab_coordinator::{Coordinator, CrawlStatus, FoundCrawl};
use everytab_crawl_settings::CrawlSettings;

use crate::{cli_error::CliError, commands::database, options::DatabaseArgs};

#[derive(Debug, Args)]
pub(crate) struct OneCrawl {
    #[command(flatten)]
    database: DatabaseArgs,
    /// The crawl's id, a prefix of the id, or its name [default: the newest crawl]
    #[arg(value_name = "ID")]
    crawl: Option<String>,
}

impl OneCrawl {
    /// Returns the database and the crawl.
    ///
    /// # Errors
    /// Returns an error if Postgres is unreachable, or if no crawl or several crawls match.
    pub(crate) async fn find(&self) -> Result<(Coordinator, FoundCrawl), CliError> {
        find(&self.database, self.crawl.as_deref()).await
    }
}

/// Returns the crawl whose name is `text` or whose ID starts with it. Without `text`, returns the
/// newest crawl.
///
/// # Errors
/// Returns an error if Postgres is unreachable, or if no crawl or several crawls match.
pub(crate) async fn find(
    args: &DatabaseArgs,
    text: Option<&str>,
) -> Result<(Coordinator, FoundCrawl), CliError> {
    // A script's unset variable must not select the newest crawl.
    if text.is_some_and(|text| text.trim().is_empty()) {
        return Err(CliError::usage("the crawl's id is empty; `crawl list` shows them"));
    }
    let coordinator = database::connect(args).await?;
    let mut found = coordinator.find_crawls(text).await?;
    let exact = found.iter().position(|crawl| Some(crawl.name.as_str()) == text);
    if let Some(exact) = exact {
        found = vec![found.swap_remove(exact)];
    }
    let ids: Vec<String> = found.iter().map(|crawl| crawl.id.to_string()).collect();
    match (found.pop(), text) {
        (Some(crawl), _) if found.is_empty() => Ok((coordinator, crawl)),
        (Some(_), text) => Err(CliError::new(format!(
            "several crawls have an id that starts with {:?}: {}",
            text.unwrap_or_default(),
            ids.join(", ")
        ))),
        (None, Some(text)) => Err(unknown(text)),
        (None, None) => {
            Err(CliError::new("there is no crawl yet; `everytab-worker crawl start` starts one"))
        }
    }
}

pub(crate) fn unknown(text: &str) -> CliError {
    CliError::new(format!("there is no crawl {text:?}; `crawl list` shows them"))
}

pub(crate) fn has_ended(crawl: &FoundCrawl) -> CliError {
    CliError::new(format!("nothing was changed: crawl {} has ended", crawl.name))
}

/// Returns a crawl's settings.
///
/// # Errors
/// Returns an error if Postgres is unreachable, if the crawl was removed, or if an incompatible
/// version of this program wrote its settings.
pub(crate) async fn settings_of(
    coordinator: &Coordinator,
    (number, name): (i32, &str),
) -> Result<CrawlSettings, CliError> {
    let settings = coordinator.crawl_settings(number).await?.ok_or_else(|| unknown(name))?;
    serde_json::from_value(settings)
        .map_err(|error| CliError::new(format!("the settings of crawl {name}: {error}")))
}

/// Returns a crawl's status.
///
/// # Errors
/// Returns an error if Postgres is unreachable, or if the crawl was removed.
pub(crate) async fn status_of(
    coordinator: &Coordinator,
    crawl: &FoundCrawl,
) -> Result<CrawlStatus, CliError> {
    coordinator.crawl_status(Some(crawl.id)).await?.pop().ok_or_else(|| unknown(&crawl.name))
}
