//! Changes a running crawl's include and exclude patterns, for `crawl set`.

use clap::Args;
use everytab_coordinator::{Coordinator, FoundCrawl, PatternChange, PatternsChanged};
use everytab_crawl_settings::CrawlSettings;
use serde_json::json;

use crate::{
    cli_error::CliError,
    commands::{one_crawl, stdout},
};

/// Maximum attempts while other commands change the patterns, too.
const TRIES: u32 = 5;

/// Patterns that are added and removed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Patterns")]
pub(super) struct PatternChangeArgs {
    /// Also follow URLs that match this pattern. Pending URLs that match no include get the state
    /// left, except seeds
    #[arg(long, env = "EVERYTAB_CRAWL_ADD_INCLUDE", value_name = "PATTERN")]
    include: Vec<String>,
    /// Do not fetch URLs that match this pattern. Pending URLs that match get the state left
    #[arg(long, env = "EVERYTAB_CRAWL_ADD_EXCLUDE", value_name = "PATTERN")]
    exclude: Vec<String>,
    /// Remove an include pattern from the crawl
    #[arg(long, env = "EVERYTAB_CRAWL_DROP_INCLUDE", value_name = "PATTERN")]
    drop_include: Vec<String>,
    /// Remove an exclude pattern from the crawl. URLs that it excluded keep the state left
    #[arg(long, env = "EVERYTAB_CRAWL_DROP_EXCLUDE", value_name = "PATTERN")]
    drop_exclude: Vec<String>,
}

impl PatternChangeArgs {
    pub(super) const NAMES: [&str; 4] = ["include", "exclude", "drop_include", "drop_exclude"];

    pub(super) fn is_empty(&self) -> bool {
        let Self { include, exclude, drop_include, drop_exclude } = self;
        [include, exclude, drop_include, drop_exclude].iter().all(|patterns| patterns.is_empty())
    }

    /// Checks the given patterns without the crawl's own, so that the position in an error counts
    /// only the given ones.
    ///
    /// # Errors
    /// Returns an error if a pattern is invalid.
    pub(super) fn check(&self) -> Result<(), CliError> {
        let (include, exclude) = (self.include.clone(), self.exclude.clone());
        check(&CrawlSettings { include, exclude, ..CrawlSettings::default() })
    }

    /// Changes a crawl's patterns.
    ///
    /// # Errors
    /// Returns an error if the crawl cannot have these patterns, or if Postgres is unreachable.
    pub(super) async fn apply(
        &self,
        coordinator: &Coordinator,
        crawl: &FoundCrawl,
    ) -> Result<(), CliError> {
        for _ in 0..TRIES {
            let status = one_crawl::status_of(coordinator, crawl).await?;
            let version = status.patterns_version();
            let mut settings =
                one_crawl::settings_of(coordinator, (crawl.crawl, &crawl.name)).await?;
            change("include", &mut settings.include, &self.include, &self.drop_include)?;
            change("exclude", &mut settings.exclude, &self.exclude, &self.drop_exclude)?;
            check(&settings)?;
            let CrawlSettings { include, exclude, .. } = settings;
            let numbers = format!("{} includes, {} excludes", include.len(), exclude.len());
            let (include, exclude) = (json!(include), json!(exclude));
            let change = PatternChange { version, include, exclude };
            match coordinator.change_patterns(crawl.id, &change).await? {
                PatternsChanged::Changed => {
                    return stdout::line(format_args!("version {}: {numbers}", version + 1));
                }
                PatternsChanged::Unchanged => {
                    return stdout::line(format_args!("version {version}: {numbers}"));
                }
                PatternsChanged::Moved => {}
                PatternsChanged::Full => {
                    return Err(CliError::new(format!(
                        "the patterns of crawl {} have changed too often; start another crawl",
                        crawl.name
                    )));
                }
                PatternsChanged::Ended => return Err(one_crawl::has_ended(crawl)),
                PatternsChanged::Unknown => return Err(one_crawl::unknown(&crawl.name)),
            }
        }
        Err(CliError::new(
            "another command changed the crawl's patterns at the same time; try again",
        ))
    }
}

fn check(settings: &CrawlSettings) -> Result<(), CliError> {
    settings.check().map_err(|error| CliError::usage(error.to_string()))
}

fn change(
    option: &str,
    list: &mut Vec<String>,
    added: &[String],
    removed: &[String],
) -> Result<(), CliError> {
    for pattern in removed {
        let before = list.len();
        list.retain(|one| one != pattern);
        if list.len() == before {
            return Err(CliError::new(format!(
                "--drop-{option} {pattern}: the crawl has no such pattern; `crawl status --json` \
                 shows its settings"
            )));
        }
    }
    for pattern in added {
        if !list.contains(pattern) {
            list.push(pattern.clone());
        }
    }
    Ok(())
}
