//! `crawl robots`: overrides that the operator's crawls obey in addition to robots.txt.

use std::time::Duration;

use clap::{Args, Subcommand};
use everytab_api::{
    Problem,
    robots_rules::{check_delay, check_rules, check_user_agent, site_of},
};
use everytab_coordinator::{OPERATOR, RobotsOverrideRow};
use everytab_frontier::ParameterList;
use uuid::Uuid;

use crate::{
    cli_error::{CliError, CliResult, Exit},
    commands::{database, stdout},
    options::{DatabaseArgs, parse_time},
};

#[derive(Debug, Args)]
pub(super) struct RobotsOverrideArgs {
    #[command(subcommand)]
    command: RobotsCommand,
}

#[derive(Debug, Subcommand)]
enum RobotsCommand {
    /// Add rules, obey the rules for another robot, or set a longer delay; prints the id
    Add(AddArgs),
    /// List the overrides, tab-separated: id, site, robot, delay and rules
    List {
        #[command(flatten)]
        database: DatabaseArgs,
        /// Print one JSON object per line
        #[arg(long, env = "EVERYTAB_JSON")]
        json: bool,
    },
    /// Remove an override
    Remove {
        #[command(flatten)]
        database: DatabaseArgs,
        /// The override's id, as listed by `crawl robots list`
        id: Uuid,
    },
}

#[derive(Debug, Args)]
struct AddArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    /// Domain to which the override applies, including all hosts below it [default: all hosts]
    #[arg(long, env = "EVERYTAB_ROBOTS_SITE", value_name = "DOMAIN")]
    site: Option<String>,
    /// Product token of another robot whose rules are obeyed too, such as `GPTBot`
    #[arg(long, env = "EVERYTAB_ROBOTS_OBEY", value_name = "TOKEN")]
    obey: Option<String>,
    /// Lines in robots.txt syntax: Disallow, Allow and Crawl-delay
    #[arg(long, env = "EVERYTAB_ROBOTS_RULES", value_name = "LINES")]
    rules: Option<String>,
    /// Minimum pause between two requests to a host, up to 5m
    #[arg(long, env = "EVERYTAB_ROBOTS_DELAY", value_name = "DURATION", value_parser = parse_time)]
    delay: Option<Duration>,
}

/// Adds, lists or removes overrides.
///
/// # Errors
/// Returns an error if a value is invalid, if Postgres rejects it, or if there is no such override.
pub(super) async fn run(args: RobotsOverrideArgs) -> CliResult {
    match args.command {
        RobotsCommand::Add(args) => add(args).await?,
        RobotsCommand::List { database, json } => {
            for row in database::connect(&database).await?.list_robots_overrides(OPERATOR).await? {
                if json {
                    stdout::line(serde_json::to_string(&row)?)?;
                    continue;
                }
                let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
                let (site, token) = (or_none(row.site), or_none(row.user_agent));
                let delay = or_none(row.delay_ms.map(|delay_ms| format!("{delay_ms}ms")));
                let rules = or_none(row.rules.map(|rules| format!("{rules:?}")));
                stdout::line(format_args!("{}\t{site}\t{token}\t{delay}\t{rules}", row.id))?;
            }
        }
        RobotsCommand::Remove { database, id } => {
            let coordinator = database::connect(&database).await?;
            if !coordinator.drop_robots_override(OPERATOR, id).await? {
                let error = format!("unknown override {id}; `crawl robots list` shows all");
                return Err(CliError::new(error));
            }
            stdout::line(id)?;
        }
    }
    Ok(Exit::Done)
}

async fn add(args: AddArgs) -> Result<(), CliError> {
    let wrong = |problem: Problem| CliError::usage(problem.detail.unwrap_or_default());
    let AddArgs { database, site, obey, rules, delay } = args;
    if obey.is_none() && rules.is_none() && delay.is_none() {
        return Err(CliError::usage("give --rules, --obey or --delay"));
    }
    obey.as_deref().map(check_user_agent).transpose().map_err(wrong)?;
    rules.as_deref().map(check_rules).transpose().map_err(wrong)?;
    let delay_ms = delay.map(|delay| i32::try_from(delay.as_millis()).unwrap_or(i32::MAX));
    delay_ms.map(check_delay).transpose().map_err(wrong)?;
    let parameters = ParameterList::default();
    let site = site.map(|site| site_of(&site, &parameters)).transpose().map_err(wrong)?;
    let id = Uuid::now_v7();
    let owner = OPERATOR.to_owned();
    let row = RobotsOverrideRow { id, owner, site, user_agent: obey, rules, delay_ms };
    if !database::connect(&database).await?.add_robots_override(&row).await? {
        return Err(CliError::new(
            "the maximum of 64 overrides is reached; remove one with `crawl robots remove`",
        ));
    }
    stdout::line(id)
}
