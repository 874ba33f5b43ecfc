//! Prints the model's hours and dollars for `plan --hosts`, as a table or as JSON.

use everytab_console::{LineSink, OperationError};
use everytab_fetcher::capacity;
use serde_json::{Value, json};

use super::{
    cost::{Fleet, FleetResource, Model, Stage, model},
    options::FleetToPlan,
    prices::Prices,
    rates::{FETCH_SLOT, FETCH_SLOT_AT_MOST, RATES, RESTART_DAYS, SPARE_HOURS},
    reconcile::{Comparison, MeasuredScan, compare},
    until_teardown::restarted_day_dollars,
};
use crate::archive_rate::{ArchiveRate, S3_RATE};

pub(super) fn print(
    options: &FleetToPlan,
    prices: &str,
    as_json: bool,
    sink: &dyn LineSink,
) -> Result<(), OperationError> {
    let prices = Prices::read(prices)?;
    let machine = prices.machine(&options.instance)?;
    let database = prices.database(&options.database_instance)?;
    // A worker's memory limits its requests in flight.
    let max_in_flight = capacity::requests_in((machine.memory_gib * 1_073_741_824.0) as u64) as u64;
    let in_flight = options.in_flight.min(max_in_flight);
    if in_flight < options.in_flight {
        sink.note(format_args!(
            "warning: {} has memory for {max_in_flight} requests in flight per worker; this plan \
             assumes this number",
            options.instance
        ));
    }
    let fleet = fleet_of(options, in_flight, &prices)?;
    let range = range_of(&fleet, &prices);
    if as_json {
        sink.data(format_args!("{}", document(options, &range, &fleet, &prices)))?;
    } else {
        for line in table(options, &range, &fleet, &prices) {
            sink.data(format_args!("{line}"))?;
        }
        sink.note(format_args!("prices of {} in {}; {}", prices.date, prices.region, prices.about));
        sink.note(format_args!(
            "the worker's price is {}, the database's {}, spot taken as {} of on demand is {}",
            machine.basis, database.basis, prices.spot_share.price, prices.spot_share.basis
        ));
        sink.note(format_args!(
            "rates: --json lists each with its source; docs/cost.md describes their limits"
        ));
    }
    Ok(())
}

pub(super) fn print_comparison(
    scan: &MeasuredScan,
    options: &FleetToPlan,
    prices: &str,
    as_json: bool,
    sink: &dyn LineSink,
) -> Result<(), OperationError> {
    let prices = Prices::read(prices)?;
    let options = FleetToPlan { hosts: scan.hosts() as u64, ..options.clone() };
    let fleet = fleet_of(&options, options.in_flight, &prices)?;
    let found = compare(scan, &model(&fleet, &prices), &fleet);
    if as_json {
        let found: Vec<Value> = found.iter().map(Comparison::json).collect();
        return sink.data(format_args!("{}", json!({"hosts": options.hosts, "compared": found})));
    }
    sink.data(format_args!(
        "{} hosts; {} workers of {}, {} in flight each",
        options.hosts, options.workers, options.instance, options.in_flight
    ))?;
    sink.data(format_args!(
        "  {:<26} {:>14} {:>14} {:>7}  {:<10} would change",
        "", "predicted", "measured", "ratio", "unit"
    ))?;
    for each in &found {
        sink.data(format_args!("{}", each.text()))?;
    }
    sink.note(format_args!(
        "constants are in crates/scan/operations/src/plan/rates.rs; give the workers, \
         --instance and --in-flight that the scan had"
    ));
    Ok(())
}

fn fleet_of<'a>(
    options: &FleetToPlan,
    in_flight: u64,
    prices: &'a Prices,
) -> Result<Fleet<'a>, OperationError> {
    if !(options.core_speed.is_finite() && options.core_speed > 0.0) {
        return Err(OperationError::usage("--core-speed: give a number greater than zero"));
    }
    options.after.check()?;
    Ok(Fleet {
        hosts: options.hosts as f64,
        workers: options.workers as f64,
        in_flight: in_flight as f64,
        fetch_slot: FETCH_SLOT,
        archive_rate: match options.archive_rate {
            None => f64::from(S3_RATE),
            Some(ArchiveRate::PerSecond(rate)) => f64::from(rate),
            Some(ArchiveRate::Off) => f64::INFINITY,
        },
        core_speed: options.core_speed,
        after: options.after,
        machine: prices.machine(&options.instance)?,
        database: prices.database(&options.database_instance)?,
    })
}

fn range_of(fleet: &Fleet<'_>, prices: &Prices) -> Range {
    let longest = Fleet { fetch_slot: FETCH_SLOT_AT_MOST, ..fleet.clone() };
    Range { least: model(fleet, prices), most: model(&longest, prices) }
}

/// The model for the shortest and the longest known time to fetch an icon, because no other rate
/// changes the hours as much.
struct Range {
    least: Model,
    most: Model,
}

fn between(least: f64, most: f64) -> String {
    let (least, most) = (format!("{least:.2}"), format!("{most:.2}"));
    if least == most { least } else { format!("{least} to {most}") }
}

fn table(options: &FleetToPlan, range: &Range, fleet: &Fleet<'_>, prices: &Prices) -> Vec<String> {
    let (least, most) = (&range.least, &range.most);
    let mut lines = vec![
        format!(
            "{} hosts, {:.0} icon URLs; {} workers of {} ({} vCPUs each), {} in flight each, \
             and a {}",
            fleet.hosts,
            least.icons,
            options.workers,
            options.instance,
            fleet.machine.vcpus,
            fleet.in_flight,
            options.database_instance
        ),
        format!("the fetch of an icon takes {FETCH_SLOT} to {FETCH_SLOT_AT_MOST} s"),
        String::new(),
        format!("  {:<20} {:>15} {:>15} {:>15}  bound by", "stage", "hours", "dollars", "on spot"),
    ];
    for (a, b) in least.stages.iter().zip(&most.stages) {
        let ((dollars, spot), (most_dollars, most_spot)) = (share(a, least), share(b, most));
        lines.push(format!(
            "  {:<20} {:>15} {:>15} {:>15}  {}",
            a.name,
            between(a.hours(), b.hours()),
            between(dollars, most_dollars),
            between(spot, most_spot),
            a.bound_by().text()
        ));
    }
    lines.push(format!("  {:<20} {:>15}", "", "---------------"));
    lines.push(format!(
        "  {:<20} {:>15}  (concurrently {}, bound by {}, then {})",
        "in all, overlapping",
        between(least.hours, most.hours),
        between(least.together.hours(), most.together.hours()),
        least.together.bound_by().text(),
        most.together.bound_by().text()
    ));
    lines.push(String::new());
    lines.push(format!("  {:<35} {:>15} {:>15}", "what is paid for", "dollars", "on spot"));
    for (name, dollars, spot) in range.sums() {
        lines.push(format!("  {name:<35} {dollars:>15} {spot:>15}"));
    }
    lines.extend(assumptions(range, fleet, prices));
    lines.push(String::new());
    let backup = format!("what is kept, a backup has {:.0} GB", least.backup_gb);
    lines.push(format!("  {backup:<35} {:>15}", "dollars"));
    for kept in &least.kept {
        lines.push(format!("  {:<35} {:>15.2} {}", kept.name, kept.dollars, kept.per.text()));
    }
    lines.push(String::new());
    lines.push(format!(
        "  {:.0} GB come in, {:.0} GB go out; a worker's requests take at most {:.1} GB of memory",
        least.received_gb, least.sent_gb, least.memory_gb
    ));
    lines
}

fn assumptions(range: &Range, fleet: &Fleet<'_>, prices: &Prices) -> [String; 4] {
    let (least, most) = (&range.least, &range.most);
    let (until, longest) = (&least.until_teardown, &most.until_teardown);
    let days = fleet.after.days_until_teardown;
    let late = restarted_day(least, fleet);
    [
        format!(
            "  assumes teardown {days} days after the scan; each further day costs {:.2} dollars",
            further_day(least, fleet)
        ),
        format!(
            "  Postgres and console run {} h: {SPARE_HOURS} before the scan, {} of the scan, {:.2} \
             of the backup, {} until both stop",
            between(until.console_hours, longest.console_hours),
            between(least.hours, most.hours),
            until.backup_hours,
            rounded(until.stop_hours)
        ),
        format!(
            "  a backup takes {:.2} h to write, and {:.2} h to verify: {:.0} GB through the \
             console at {} Gbit/s",
            until.pass_hours, until.pass_hours, least.backup_gb, prices.console.network_gbit
        ),
        format!(
            "  AWS starts a stopped Postgres again after {RESTART_DAYS} days; from then on a day \
             costs {late:.2} dollars"
        ),
    ]
}

fn restarted_day(model: &Model, fleet: &Fleet<'_>) -> f64 {
    model.further_day + restarted_day_dollars(fleet.database)
}

/// By then AWS may have started the stopped Postgres again.
fn further_day(model: &Model, fleet: &Fleet<'_>) -> f64 {
    if model.until_teardown.is_restarted() {
        restarted_day(model, fleet)
    } else {
        model.further_day
    }
}

impl Range {
    fn sums(&self) -> Vec<(&'static str, String, String)> {
        let costs = self.least.costs.iter().zip(&self.most.costs);
        let mut lines: Vec<_> = costs
            .map(|(a, b)| (a.name, between(a.dollars, b.dollars), between(a.spot, b.spot)))
            .collect();
        let dollars = between(self.least.dollars, self.most.dollars);
        lines.push(("a scan", dollars, between(self.least.spot_dollars, self.most.spot_dollars)));
        lines
    }
}

fn share(stage: &Stage, model: &Model) -> (f64, f64) {
    let all: f64 = model.stages.iter().map(Stage::hours).sum();
    let part = stage.hours() / all;
    (model.dollars * part, model.spot_dollars * part)
}

/// Numbers without `at_most` assume the shortest fetches.
fn document(options: &FleetToPlan, range: &Range, fleet: &Fleet<'_>, prices: &Prices) -> Value {
    let model = &range.least;
    let costs: Vec<Value> = model
        .costs
        .iter()
        .zip(&range.most.costs)
        .map(|(cost, most)| {
            json!({"name": cost.name, "dollars": rounded(cost.dollars),
                   "spot_dollars": rounded(cost.spot),
                   "dollars_at_most": rounded(most.dollars),
                   "spot_dollars_at_most": rounded(most.spot)})
        })
        .collect();
    let kept = model.kept.iter().map(
        |kept| json!({"name": kept.name, "dollars": rounded(kept.dollars), "per": kept.per.text()}),
    );
    let rates = RATES.iter().map(|rate| {
        json!({"name": rate.name.to_lowercase(), "value": rate.value, "unit": rate.unit,
               "source": rate.source})
    });
    let stages = model.stages.iter().zip(&range.most.stages);
    json!({
        "hosts": options.hosts, "workers": options.workers, "instance": options.instance,
        "database_instance": options.database_instance, "in_flight": fleet.in_flight as u64,
        "icon_urls": rounded(model.icons),
        "hours": rounded(model.hours), "dollars": rounded(model.dollars),
        "spot_dollars": rounded(model.spot_dollars),
        "hours_at_most": rounded(range.most.hours),
        "dollars_at_most": rounded(range.most.dollars),
        "spot_dollars_at_most": rounded(range.most.spot_dollars),
        "stages": stages.map(|(a, b)| stage_document(a, b, range)).collect::<Vec<_>>(),
        "costs": costs, "hosting_dollars_a_month": rounded(model.hosting_month),
        "days_until_teardown": options.after.days_until_teardown,
        "dollars_a_further_day": rounded(further_day(model, fleet)),
        "backup_hours": rounded(model.until_teardown.backup_hours),
        "console_hours": rounded(model.until_teardown.console_hours),
        "database_hours": rounded(model.until_teardown.database_hours),
        "disk_hours": rounded(model.until_teardown.disk_hours),
        "kept": kept.collect::<Vec<_>>(), "backup_gb": rounded(model.backup_gb),
        "received_gb": rounded(model.received_gb), "sent_gb": rounded(model.sent_gb),
        "memory_gb": rounded(model.memory_gb),
        "prices": {"date": prices.date, "region": prices.region, "about": prices.about},
        "rates": rates.collect::<Vec<_>>(),
    })
}

fn stage_document(stage: &Stage, most: &Stage, range: &Range) -> Value {
    let seconds: serde_json::Map<String, Value> = FleetResource::ALL
        .into_iter()
        .zip(stage.seconds)
        .map(|(resource, seconds)| (resource.text().to_owned(), json!(rounded(seconds))))
        .collect();
    let ((dollars, spot), (most_dollars, _)) =
        (share(stage, &range.least), share(most, &range.most));
    json!({
        "stage": stage.name, "hours": rounded(stage.hours()),
        "dollars": rounded(dollars), "spot_dollars": rounded(spot),
        "hours_at_most": rounded(most.hours()), "dollars_at_most": rounded(most_dollars),
        "bound_by": stage.bound_by().text(), "seconds": seconds,
    })
}

fn rounded(amount: f64) -> f64 {
    (amount * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests;
