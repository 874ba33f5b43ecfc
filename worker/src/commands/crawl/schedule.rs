//! `crawl schedule`: the operator's schedules, which start crawls regularly.

use std::time::Duration;

use chrono::{NaiveTime, Timelike as _};
use clap::{Args, Subcommand, ValueEnum};
use everytab_coordinator::{NewSchedule, OPERATOR, ScheduleAdded, ScheduleRow, ScheduleTimes};
use everytab_crawl_start::SeedBatch;
use everytab_frontier::{ParameterList, Scope, SuffixList};
use uuid::Uuid;

use super::{
    option_args::CrawlOptionArgs,
    seeds::SeedArgs,
    start::{check_store, ended_crawl, frozen_filters, seeds_of, stores},
};
use crate::{
    cli_error::{CliError, CliResult, Exit},
    commands::{database, stdout},
    options::{DatabaseArgs, parse_time, whole_seconds},
};

/// Minimum period in seconds, as in Postgres.
const MIN_PERIOD_SECONDS: i32 = 60;
/// Maximum period in seconds, as in Postgres.
const MAX_PERIOD_SECONDS: i32 = 31_536_000;
/// Maximum length of a name, as in its column.
const MAX_NAME_CHARACTERS: usize = 100;

#[derive(Debug, Args)]
pub(super) struct ScheduleArgs {
    #[command(subcommand)]
    command: ScheduleCommand,
}

#[derive(Debug, Subcommand)]
enum ScheduleCommand {
    /// Add a schedule that starts a crawl at an interval or at a time of day; prints the id and the
    /// first time
    Add(Box<AddArgs>),
    /// List the schedules: id, name, time of the next crawl, crawls started and skipped, and the
    /// error if the last crawl could not be started
    List {
        #[command(flatten)]
        database: DatabaseArgs,
        /// Print one JSON object per line
        #[arg(long, env = "EVERYTAB_JSON")]
        json: bool,
    },
    /// Remove a schedule, and keep the crawls that it started
    Remove {
        #[command(flatten)]
        database: DatabaseArgs,
        /// The schedule's id
        id: Uuid,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Weekday {
    Mon,
    Tue,
    Wed,
    Thu,
    Fri,
    Sat,
    Sun,
}

#[derive(Debug, Args)]
struct AddArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    /// The schedule's name, 1 to 100 characters
    #[arg(long, env = "EVERYTAB_SCHEDULE_NAME", value_parser = parse_name)]
    name: String,
    /// Interval between two crawls, 60s to 365d
    #[arg(long, env = "EVERYTAB_SCHEDULE_EVERY", value_name = "DURATION", value_parser = parse_time,
          required_unless_present = "at", conflicts_with = "at")]
    every: Option<Duration>,
    /// Time of day in UTC, such as 03:00
    #[arg(long, env = "EVERYTAB_SCHEDULE_AT", value_name = "HH:MM", value_parser = parse_at)]
    at: Option<NaiveTime>,
    /// Weekdays for --at [default: every day]
    #[arg(long, env = "EVERYTAB_SCHEDULE_DAYS", value_delimiter = ',', requires = "at")]
    days: Vec<Weekday>,
    #[command(flatten)]
    seeds: SeedArgs,
    /// Store for the pages, in the form of `crawl start --to`
    #[arg(long, env = "EVERYTAB_CRAWL_TO", value_name = "STORE", required = true)]
    to: Vec<String>,
    /// Store for page requisites [default: the store of the pages]
    #[arg(long, env = "EVERYTAB_CRAWL_MEDIA_TO", value_name = "STORE")]
    media_to: Option<String>,
    #[command(flatten)]
    options: CrawlOptionArgs,
}

fn parse_name(text: &str) -> Result<String, String> {
    match text.chars().count() {
        1..=MAX_NAME_CHARACTERS => Ok(text.to_owned()),
        count => Err(format!("it has {count} characters; expected 1 to {MAX_NAME_CHARACTERS}")),
    }
}

fn parse_at(text: &str) -> Result<NaiveTime, String> {
    NaiveTime::parse_from_str(text, "%H:%M")
        .map_err(|_| format!("{text:?} is not a time of day such as 03:00"))
}

impl AddArgs {
    fn times(&self) -> Result<ScheduleTimes, CliError> {
        if let Some(at) = self.at {
            let mask = self.days.iter().fold(0, |mask, day| mask | 1 << (*day as u8));
            let at_s = i32::try_from(at.num_seconds_from_midnight()).unwrap_or_default();
            let weekdays = if mask == 0 { 0b111_1111 } else { mask };
            return Ok(ScheduleTimes::Daily { at_s, weekdays });
        }
        let every_s = whole_seconds(self.every.unwrap_or_default());
        let bounds = MIN_PERIOD_SECONDS..=MAX_PERIOD_SECONDS;
        let every_s = i32::try_from(every_s).ok().filter(|every_s| bounds.contains(every_s));
        let every_s = every_s.ok_or_else(|| CliError::usage("--every must be from 60s to 365d"))?;
        Ok(ScheduleTimes::Every { every_s, first_at: None })
    }
}

/// Adds, lists or removes schedules.
///
/// # Errors
/// Returns an error if an option is invalid, if Postgres or a store rejects something, or if there
/// is no such schedule.
pub(super) async fn run(args: ScheduleArgs) -> CliResult {
    match args.command {
        ScheduleCommand::Add(args) => add(*args).await?,
        ScheduleCommand::List { database, json } => {
            let coordinator = database::connect(&database).await?;
            for row in coordinator.list_schedules(OPERATOR, None).await? {
                if json {
                    stdout::line(serde_json::to_string(&row)?)?;
                    continue;
                }
                let ScheduleRow { id, name, next_at, fired, skipped, last_error, .. } = row;
                let next_at = next_at.format("%Y-%m-%dT%H:%M:%SZ");
                let error = last_error.map(|error| format!("\t{error}")).unwrap_or_default();
                stdout::line(format_args!("{id}\t{name}\t{next_at}\t{fired}\t{skipped}{error}"))?;
            }
        }
        ScheduleCommand::Remove { database, id } => {
            let coordinator = database::connect(&database).await?;
            if !coordinator.drop_schedule(OPERATOR, id).await? {
                return Err(CliError::new(format!(
                    "there is no schedule {id}; `crawl schedule list` shows them"
                )));
            }
            stdout::line(id)?;
        }
    }
    Ok(Exit::Done)
}

async fn add(args: AddArgs) -> Result<(), CliError> {
    let times = args.times()?;
    let mut settings = args.options.settings();
    let earlier = match &args.options.again {
        Some(again) => Some(ended_crawl(&args.database, again).await?),
        None => None,
    };
    settings.again = earlier.as_ref().map(|(_, crawl)| crawl.id);
    let parameters = ParameterList::default();
    let suffixes = SuffixList::default();
    let mut seeds = seeds_of(args.seeds, earlier.as_ref(), &parameters).await?;
    let store = stores(args.to, args.media_to, &mut settings)?;
    let ranges = settings.stores.iter().map(|range| &range.store);
    for store in ranges.chain(&settings.media_store).chain([&store]) {
        check_store(store).await?;
    }
    let coordinator = database::connect(&args.database).await?;
    settings.filters = frozen_filters(&coordinator, &args.options.filters).await?;
    settings.check().map_err(|error| CliError::usage(error.to_string()))?;
    if settings.scope == Scope::List {
        settings.list_sites = seeds.sites(&suffixes)?;
    }
    let mut batch = SeedBatch::new(&suffixes, false);
    if seeds.fill(&mut batch)? && seeds.next()?.is_some() {
        return Err(CliError::new(
            "a schedule can have at most 20000 seeds; add several schedules",
        ));
    }
    if batch.is_empty() {
        return Err(CliError::new("no valid seeds; no schedule was added"));
    }
    settings.seed_ports = seeds.ports.freeze();
    let schedule = NewSchedule {
        id: Uuid::now_v7(),
        owner: OPERATOR.to_owned(),
        name: args.name,
        times,
        store,
        settings: serde_json::to_value(&settings)?,
        links: batch.take(),
    };
    match coordinator.add_schedule(&schedule).await? {
        ScheduleAdded::Added(next_at) => {
            let next_at = next_at.format("%Y-%m-%dT%H:%M:%SZ");
            stdout::line(format_args!("{} {next_at}", schedule.id))
        }
        ScheduleAdded::NameTaken => {
            let name = schedule.name;
            Err(CliError::new(format!(
                "a schedule {name:?} already exists; remove it with `crawl schedule remove`"
            )))
        }
        ScheduleAdded::TooMany => Err(CliError::new(
            "the maximum of 100 schedules is reached; remove one with `crawl schedule remove`",
        )),
    }
}
