//! Prints the hours and dollars of the model for `plan --hosts`, as a table or as JSON.

use everytab_fetcher::capacity;
use serde_json::{Value, json};

use super::{
    cost::{Fleet, FleetResource, Model, RATES, Stage, model},
    options::FleetToPlan,
    prices::Prices,
};
use crate::{
    archive_rate::{ArchiveRate, S3_RATE},
    error::OperationError,
    line_sink::LineSink,
};

/// Prints what a scan takes on a fleet.
pub(super) fn print(
    options: &FleetToPlan,
    prices: &str,
    as_json: bool,
    sink: &dyn LineSink,
) -> Result<(), OperationError> {
    let prices = Prices::read(prices)?;
    let (machine, database) =
        (prices.machine(&options.instance)?, prices.database(&options.database_instance)?);
    if !(options.core_speed.is_finite() && options.core_speed > 0.0) {
        return Err(OperationError::usage("--core-speed: give a number greater than zero"));
    }
    // A worker has no more requests in flight than its memory allows.
    let max_in_flight = capacity::requests_in((machine.memory_gib * 1_073_741_824.0) as u64) as u64;
    let in_flight = options.in_flight.min(max_in_flight);
    if in_flight < options.in_flight {
        sink.note(format_args!(
            "warning: {} has memory for {max_in_flight} requests in flight of a worker; that is \
             what is reckoned with",
            options.instance
        ));
    }
    let fleet = Fleet {
        hosts: options.hosts as f64,
        workers: options.workers as f64,
        in_flight: in_flight as f64,
        archive_rate: match options.archive_rate {
            None => f64::from(S3_RATE),
            Some(ArchiveRate::PerSecond(rate)) => f64::from(rate),
            Some(ArchiveRate::Off) => f64::INFINITY,
        },
        core_speed: options.core_speed,
        machine,
        database,
    };
    let model = model(&fleet, &prices);
    if as_json {
        sink.data(format_args!("{}", document(options, in_flight, &model, &prices)))?;
    } else {
        for line in table(options, &model, &fleet) {
            sink.data(format_args!("{line}"))?;
        }
        sink.note(format_args!("prices of {} in {}; {}", prices.date, prices.region, prices.about));
        sink.note(format_args!(
            "the worker's price is {}, the database's {}, spot taken as {} of on demand is {}",
            machine.basis, database.basis, prices.spot_share.price, prices.spot_share.basis
        ));
        sink.note(format_args!(
            "rates: --json lists each with its source; docs/cost.md says how far they go"
        ));
    }
    Ok(())
}

fn table(options: &FleetToPlan, model: &Model, fleet: &Fleet<'_>) -> Vec<String> {
    let machine = &options.instance;
    let mut lines = vec![
        format!(
            "{} hosts, {:.0} icon URLs; {} workers of {machine} ({} vCPUs each), {} in flight \
             each, and a {}",
            fleet.hosts,
            model.icons,
            options.workers,
            fleet.machine.vcpus,
            fleet.in_flight,
            options.database_instance
        ),
        String::new(),
        format!("  {:<24} {:>8} {:>9} {:>9}  bound by", "stage", "hours", "dollars", "on spot"),
    ];
    for stage in &model.stages {
        lines.push(row(stage, model));
    }
    lines.push(format!("  {:<24} {:>8}", "", "--------"));
    lines.push(format!(
        "  {:<24} {:>8.2}  (concurrently {:.2}, bound by {})",
        "in all, overlapping",
        model.hours,
        model.together.hours(),
        model.together.bound_by().text()
    ));
    lines.push(String::new());
    lines.push(format!("  {:<33} {:>9} {:>9}", "what is paid for", "dollars", "on spot"));
    for cost in &model.costs {
        lines.push(format!("  {:<33} {:>9.2} {:>9.2}", cost.name, cost.dollars, cost.spot));
    }
    let (dollars, spot) = (model.dollars, model.spot_dollars);
    lines.push(format!("  {:<33} {dollars:>9.2} {spot:>9.2}", "a scan"));
    lines.push(format!("  {:<33} {:>9.2}", "the site, each month it is kept", model.hosting_month));
    lines.push(String::new());
    lines.push(format!(
        "  {:.0} GB come in, {:.0} GB go out; a worker's requests take at most {:.1} GB of memory",
        model.received_gb, model.sent_gb, model.memory_gb
    ));
    lines
}

fn row(stage: &Stage, model: &Model) -> String {
    let (dollars, spot) = share(stage, model);
    format!(
        "  {:<24} {:>8.2} {dollars:>9.2} {spot:>9.2}  {}",
        stage.name,
        stage.hours(),
        stage.bound_by().text()
    )
}

/// A stage's share of the dollars, in proportion to its hours. The hours of all stages are summed
/// as if they ran one after another.
fn share(stage: &Stage, model: &Model) -> (f64, f64) {
    let all: f64 = model.stages.iter().map(Stage::hours).sum();
    let part = stage.hours() / all;
    (model.dollars * part, model.spot_dollars * part)
}

fn document(options: &FleetToPlan, in_flight: u64, model: &Model, prices: &Prices) -> Value {
    let of_stage = |stage: &Stage| {
        let seconds: serde_json::Map<String, Value> = FleetResource::ALL
            .into_iter()
            .zip(stage.seconds)
            .map(|(resource, seconds)| (resource.text().to_owned(), json!(rounded(seconds))))
            .collect();
        let (dollars, spot) = share(stage, model);
        json!({
            "stage": stage.name, "hours": rounded(stage.hours()),
            "dollars": rounded(dollars), "spot_dollars": rounded(spot),
            "bound_by": stage.bound_by().text(), "seconds": seconds,
        })
    };
    let costs: Vec<Value> = model
        .costs
        .iter()
        .map(|cost| {
            json!({"name": cost.name, "dollars": rounded(cost.dollars),
                   "spot_dollars": rounded(cost.spot)})
        })
        .collect();
    let rates: Vec<Value> = RATES
        .iter()
        .map(|rate| {
            json!({"name": rate.name.to_lowercase(), "value": rate.value, "unit": rate.unit,
                   "source": rate.source})
        })
        .collect();
    json!({
        "hosts": options.hosts, "workers": options.workers, "instance": options.instance,
        "database_instance": options.database_instance, "in_flight": in_flight,
        "hours": rounded(model.hours), "dollars": rounded(model.dollars),
        "spot_dollars": rounded(model.spot_dollars),
        "stages": model.stages.iter().map(of_stage).collect::<Vec<_>>(),
        "costs": costs, "hosting_dollars_a_month": rounded(model.hosting_month),
        "received_gb": rounded(model.received_gb), "sent_gb": rounded(model.sent_gb),
        "memory_gb": rounded(model.memory_gb),
        "prices": {"date": prices.date, "region": prices.region, "about": prices.about},
        "rates": rates,
    })
}

fn rounded(amount: f64) -> f64 {
    (amount * 1e4).round() / 1e4
}
