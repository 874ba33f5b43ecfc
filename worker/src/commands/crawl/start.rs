//! `crawl start` and `crawl add`: start a crawl with seeds, and add seeds to an open crawl.

use chrono::Utc;
use clap::{Args, ValueEnum};
use everytab_coordinator::{Coordinator, CrawlStatus, CrawlVerb, FoundCrawl, NewCrawl, OPERATOR};
use everytab_crawl_settings::{
    CrawlSettings, FrozenFilter, MIN_PUBLIC_DELAY_MS, SeedPorts, StoreRange, StoreRangeError,
};
use everytab_crawl_start::{SeedBatch, freeze_filters, list_names_of, new_crawl};
use everytab_frontier::{ParameterList, Scope, SuffixList};
use everytab_operations::scan_start;
use everytab_storage::StoreSettings;
use everytab_webpage::PortList;
use futures_util::StreamExt as _;
use serde_json::json;

use super::{
    option_args::CrawlOptionArgs,
    seeds::{SeedArgs, Seeds},
};
use crate::{
    cli_error::{CliError, CliResult, Exit},
    commands::{database, one_crawl, stdout},
    options::DatabaseArgs,
};

#[derive(Debug, Args)]
pub(super) struct StartArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    #[command(flatten)]
    seeds: SeedArgs,
    /// Use as seeds the URLs that failed in the crawl given by --again, and those that were skipped
    /// because their origin was unreachable
    #[arg(long, env = "EVERYTAB_CRAWL_ONLY", value_name = "WHICH", requires = "again",
          conflicts_with_all = ["urls", "seeds"])]
    only: Option<Only>,
    /// Store for the pages (file:// or s3://). To use several stores, give each a range of slots:
    /// --to 00-7f=STORE --to 80-ff=STORE. `inspect normalize` shows a site's slot
    #[arg(long, env = "EVERYTAB_CRAWL_TO", value_name = "STORE", required = true)]
    to: Vec<String>,
    /// Store for page requisites [default: the store of the pages]
    #[arg(long, env = "EVERYTAB_CRAWL_MEDIA_TO", value_name = "STORE")]
    media_to: Option<String>,
    /// Print one JSON document
    #[arg(long, env = "EVERYTAB_JSON")]
    json: bool,
    #[command(flatten)]
    options: CrawlOptionArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Only {
    /// URLs that failed.
    Failed,
}

#[derive(Debug, Args)]
pub(super) struct AddArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    /// The crawl's id, a prefix of the id, or its name
    #[arg(value_name = "ID")]
    crawl: String,
    #[command(flatten)]
    seeds: SeedArgs,
    /// Fetch these URLs before all other URLs of their hosts
    #[arg(long, env = "EVERYTAB_CRAWL_URGENT")]
    urgent: bool,
    /// Ports that these URLs may use in addition to those of the crawl's seeds; give the workers'
    /// --ports [default: 80,443,8080,8443]
    #[arg(long, env = "EVERYTAB_PORTS", value_name = "PORT,...")]
    ports: Option<PortList>,
    /// Print one JSON document
    #[arg(long, env = "EVERYTAB_JSON")]
    json: bool,
}

/// Starts a crawl.
///
/// # Errors
/// Returns an error if an option is invalid, if Postgres or a store rejects something, or if no
/// seed is valid.
pub(super) async fn start(args: StartArgs) -> CliResult {
    let mut settings = args.options.settings();
    let earlier = match &args.options.again {
        Some(again) => Some(ended_crawl(&args.database, again).await?),
        None => None,
    };
    settings.again = earlier.as_ref().map(|(_, crawl)| crawl.id);
    settings.check().map_err(|error| CliError::usage(error.to_string()))?;
    let parameters = ParameterList::default();
    let suffixes = SuffixList::default();
    let mut seeds = match earlier.as_ref().filter(|_| args.only == Some(Only::Failed)) {
        Some(earlier) => {
            settings.depth = args.options.depth.unwrap_or(0);
            failed_seeds(earlier, &parameters).await?
        }
        None => seeds_of(args.seeds, earlier.as_ref(), &parameters).await?,
    };
    let store = stores(args.to, args.media_to, &mut settings)?;
    if let Some((_, CrawlStatus { name, store: before, .. })) = &earlier
        && *before != store
    {
        eprintln!(
            "--again: crawl {name} is in {before}; unchanged pages are stored again in {store}"
        );
    }
    settings.check().map_err(|error| CliError::usage(error.to_string()))?;
    let ranges = settings.stores.iter().map(|range| &range.store);
    for store in ranges.chain(&settings.media_store).chain([&store]) {
        check_store(store).await?;
    }
    if settings.delay_ms < MIN_PUBLIC_DELAY_MS {
        eprintln!(
            "--delay: hosts outside the workers' --own are fetched with a pause of at least \
             {MIN_PUBLIC_DELAY_MS}ms"
        );
    }
    let coordinator = database::connect(&args.database).await?;
    settings.filters = frozen_filters(&coordinator, &args.options.filters).await?;
    settings.check().map_err(|error| CliError::usage(error.to_string()))?;
    if settings.scope == Scope::List {
        settings.list_sites = seeds.sites(&suffixes)?;
    }
    let mut batch = SeedBatch::new(&suffixes, false);
    let has_more = seeds.fill(&mut batch)?;
    if batch.is_empty() {
        return Err(CliError::new("no valid seeds; no crawl was started"));
    }
    settings.seed_ports = seeds.ports.freeze();
    let (number, crawl) = create(&coordinator, &settings, &store).await?;
    let added = match add_all(&coordinator, number, &mut seeds, &mut batch, has_more).await {
        Ok(added) => added,
        Err(error) => return Err(give_up(&coordinator, &crawl, error).await),
    };
    let NewCrawl { id, name, .. } = crawl;
    let refused = seeds.refused;
    eprintln!("crawl {id}: {added} seeds, {refused} refused; workers can start");
    if args.json {
        stdout::line(json!({ "id": id, "name": name, "seeds": added, "refused": refused }))?;
    } else {
        stdout::line(format_args!("{id} {name}"))?;
    }
    Ok(Exit::Done)
}

/// Returns the database and the ended crawl that `text` identifies.
pub(super) async fn ended_crawl(
    database: &DatabaseArgs,
    text: &str,
) -> Result<(Coordinator, CrawlStatus), CliError> {
    let (coordinator, crawl) = one_crawl::find(database, Some(text)).await?;
    let status = one_crawl::status_of(&coordinator, &crawl).await?;
    if status.state == "ended" {
        return Ok((coordinator, status));
    }
    let name = status.name;
    let state = status.state;
    let what = match state.as_str() {
        "dropping" | "dropped" => "its rows and archives are removed, so it cannot be repeated",
        _ => "only an ended crawl can be repeated",
    };
    Err(CliError::new(format!("--again: crawl {name} is {state}; {what}")))
}

async fn failed_seeds<'a>(
    (coordinator, earlier): &(Coordinator, CrawlStatus),
    parameters: &'a ParameterList,
) -> Result<Seeds<'a>, CliError> {
    let CrawlStatus { crawl, name, .. } = earlier;
    let seeds = Seeds::of_failed(coordinator, *crawl, parameters).await?;
    let mut seeds = seeds.ok_or_else(|| {
        CliError::new(format!("--only failed: crawl {name} has no failed URL that can be retried"))
    })?;
    seeds.ports = ports_of(coordinator, earlier).await?;
    Ok(seeds)
}

/// Allows every port for seeds, and records the ports that the earlier crawl's seeds named.
async fn ports_of(coordinator: &Coordinator, earlier: &CrawlStatus) -> Result<SeedPorts, CliError> {
    let CrawlStatus { crawl, name, .. } = earlier;
    let before = one_crawl::settings_of(coordinator, (*crawl, name)).await?;
    let named = before.seed_ports.into_iter().flat_map(Vec::from);
    Ok(SeedPorts::Any(named.collect()))
}

/// Returns the given seeds, or otherwise the seeds that the repeated crawl fetched.
pub(super) async fn seeds_of<'a>(
    given: SeedArgs,
    earlier: Option<&(Coordinator, CrawlStatus)>,
    parameters: &'a ParameterList,
) -> Result<Seeds<'a>, CliError> {
    let Some((coordinator, earlier)) = earlier.filter(|_| given.is_empty()) else {
        return Seeds::open(given, parameters);
    };
    let CrawlStatus { crawl, name, ended_by, .. } = earlier;
    let ended_by = ended_by.as_deref().unwrap_or_default();
    if ended_by != "empty" {
        eprintln!(
            "--again: crawl {name} ended by {ended_by}: the seeds that it had not fetched are \
             not seeds of the new crawl; give them with --seeds"
        );
    }
    let mut seeds = Seeds::of_crawl(coordinator, *crawl, parameters).await?;
    seeds.ports = ports_of(coordinator, earlier).await?;
    Ok(seeds)
}

/// Returns the current versions of filters and of the lists in them.
pub(super) async fn frozen_filters(
    coordinator: &Coordinator,
    names: &[String],
) -> Result<Vec<FrozenFilter>, CliError> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let wanted: Vec<&str> = names.iter().map(String::as_str).collect();
    let filters = coordinator.list_filters(OPERATOR, Some(&wanted)).await?;
    let lists = list_names_of(&filters);
    let lists: Vec<&str> = lists.iter().map(String::as_str).collect();
    let lists = coordinator.filter_lists(Some(&lists)).await?;
    freeze_filters(names, &filters, &lists).map_err(|error| {
        let hint = "`filter list` shows filters, `list import` imports lists";
        CliError::usage(format!("--filter: {error}; {hint}"))
    })
}

async fn add_all(
    coordinator: &Coordinator,
    crawl: i32,
    seeds: &mut Seeds<'_>,
    batch: &mut SeedBatch<'_>,
    mut has_more: bool,
) -> Result<u64, CliError> {
    let mut added = 0;
    loop {
        let amount = batch.len() as u64;
        if !coordinator.add_links(crawl, &batch.take(), !has_more).await? {
            eprintln!("the crawl ended before all seeds were added");
            return Ok(added);
        }
        added += amount;
        if !has_more {
            return Ok(added);
        }
        has_more = seeds.fill(batch)?;
    }
}

async fn create(
    coordinator: &Coordinator,
    settings: &CrawlSettings,
    store: &str,
) -> Result<(i32, NewCrawl), CliError> {
    let crawl = new_crawl(settings, OPERATOR, store, Utc::now())?;
    let number = coordinator.start_crawl(&crawl).await?;
    Ok((number, crawl))
}

/// Cancels a crawl that lacks seeds, because it would wait for them forever.
async fn give_up(coordinator: &Coordinator, crawl: &NewCrawl, error: CliError) -> CliError {
    let id = crawl.id;
    let message = error.message;
    match coordinator.move_crawl(id, CrawlVerb::Cancel).await {
        Ok(_) => CliError::new(format!("{message}; crawl {id} was cancelled")),
        Err(_) => CliError::new(format!(
            "{message}; crawl {id} waits for more seeds, and `crawl cancel {id}` ends it"
        )),
    }
}

/// Returns a crawl's store. Several stores, and the one for requisites, are added to the settings.
pub(super) fn stores(
    to: Vec<String>,
    media_to: Option<String>,
    settings: &mut CrawlSettings,
) -> Result<String, CliError> {
    settings.media_store = media_to.map(scan_start::absolute).transpose()?;
    if let [store] = &to[..]
        && store.parse::<StoreRange>().is_err()
    {
        return scan_start::absolute(store.clone());
    }
    for text in to {
        let StoreRange { first, last, store } = text
            .parse()
            .map_err(|error: StoreRangeError| CliError::usage(format!("--to {text}: {error}")))?;
        settings.stores.push(StoreRange { first, last, store: scan_start::absolute(store)? });
    }
    let first = settings.stores.first().map(|range| range.store.clone());
    Ok(first.unwrap_or_default())
}

/// Lists a name in a store, so that a missing bucket or wrong credentials are found before the
/// first page.
pub(super) async fn check_store(url: &str) -> Result<(), CliError> {
    let store = everytab_storage::open(url, &StoreSettings::default()).await?;
    if let Some(found) = store.list("collinfo.json").next().await {
        found?;
    }
    Ok(())
}

/// Adds seeds to a crawl.
///
/// # Errors
/// Returns an error if the crawl has ended, if Postgres rejects something, or if no seed is valid.
pub(super) async fn add(args: AddArgs) -> CliResult {
    let parameters = ParameterList::default();
    let suffixes = SuffixList::default();
    let mut seeds = Seeds::open(args.seeds, &parameters)?;
    let (coordinator, crawl) = one_crawl::find(&args.database, Some(&args.crawl)).await?;
    let settings = one_crawl::settings_of(&coordinator, (crawl.crawl, &crawl.name)).await?;
    seeds.ports = SeedPorts::Listed(settings.followed_ports(&args.ports.unwrap_or_default()));
    let mut batch = SeedBatch::new(&suffixes, args.urgent);
    let mut added = 0;
    loop {
        let has_more = seeds.fill(&mut batch)?;
        let amount = batch.len() as u64;
        // The last argument is false, because only the command that started the crawl ends its
        // seeding phase.
        if amount > 0 && !coordinator.add_links(crawl.crawl, &batch.take(), false).await? {
            return Err(match added {
                0 => one_crawl::has_ended(&crawl),
                _ => CliError::new(format!("the crawl ended; {added} seeds were added before")),
            });
        }
        added += amount;
        if !has_more {
            break;
        }
    }
    let refused = seeds.refused;
    if added == 0 {
        return Err(CliError::new("no valid seeds; nothing was added"));
    }
    let FoundCrawl { id, name, .. } = crawl;
    if args.json {
        stdout::line(json!({ "id": id, "name": name, "seeds": added, "refused": refused }))?;
    } else {
        stdout::line(format_args!("{added} seeds added, {refused} refused"))?;
    }
    Ok(Exit::Done)
}
