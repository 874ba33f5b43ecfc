//! Tests the tables in docs/cost.md, terraform's defaults, and invalid options.

use super::*;
use crate::plan::{
    options::{AfterScan, IN_FLIGHT, PlannedBackup},
    rates::{CONSOLE_DISK_GB, DATABASE_GB, ICONS_A_HOST},
};

const COST: &str = include_str!("../../../../../../docs/cost.md");
const PRICES: &str = include_str!("../../../../../../worker/prices.json");

fn usual() -> FleetToPlan {
    FleetToPlan {
        hosts: 30_000_000,
        workers: 8,
        instance: "c7g.large".into(),
        database_instance: "db.t4g.large".into(),
        in_flight: IN_FLIGHT,
        archive_rate: None,
        core_speed: 1.0,
        after: AfterScan::default(),
    }
}

fn with_range<T>(options: &FleetToPlan, show: impl FnOnce(&Range, &Fleet<'_>) -> T) -> T {
    let prices = Prices::read(PRICES).unwrap();
    let fleet = fleet_of(options, options.in_flight, &prices).unwrap();
    show(&range_of(&fleet, &prices), &fleet)
}

#[test]
fn the_tables_of_the_document_are_those_that_plan_prints() {
    let options = usual();
    let prices = Prices::read(PRICES).unwrap();
    let lines = with_range(&options, |range, fleet| table(&options, range, fleet, &prices));
    let lines: Vec<String> =
        lines.iter().map(|line| format!("  {line}").trim_end().to_owned()).collect();
    let whole = lines.join("\n");
    assert!(COST.contains(&whole), "docs/cost.md has not:\n{whole}");
}

#[test]
fn the_other_fleets_of_the_document_are_those_that_plan_computes() {
    let fleets = [
        (8, 2_048, 1.0, None),
        (1, 2_048, 1.0, None),
        (4, 2_048, 1.0, None),
        (16, 2_048, 1.0, None),
        (50, 2_048, 1.0, None),
        (8, 512, 1.0, None),
        (8, 2_048, 0.5, None),
        (8, 2_048, 1.0, Some(ArchiveRate::Off)),
    ];
    let rows = fleets.map(|(workers, in_flight, core_speed, archive_rate)| {
        let options = FleetToPlan { workers, in_flight, core_speed, archive_rate, ..usual() };
        with_range(&options, |range, _| {
            format!(
                "| {workers} | {in_flight} | {core_speed} | {} | {} | {} | {} | {} |",
                if archive_rate.is_some() { "off" } else { "1,000" },
                between(range.least.hours, range.most.hours),
                between(range.least.dollars, range.most.dollars),
                between(range.least.spot_dollars, range.most.spot_dollars),
                range.most.together.bound_by().text(),
            )
        })
    });
    let rows = rows.join("\n");
    assert!(COST.contains(&rows), "docs/cost.md has not:\n{rows}");
}

#[test]
fn the_days_until_teardown_of_the_document_cost_what_plan_computes() {
    let times = [
        (0.0, PlannedBackup::None, "none"),
        (1.0, PlannedBackup::Written, "written"),
        (1.0, PlannedBackup::Verified, "verified"),
        (5.0, PlannedBackup::None, "none"),
        (5.0, PlannedBackup::Verified, "verified"),
        (14.0, PlannedBackup::Verified, "verified"),
        (30.0, PlannedBackup::Verified, "verified"),
    ];
    let rows = times.map(|(days_until_teardown, backup, name)| {
        let after = AfterScan { days_until_teardown, backup };
        with_range(&FleetToPlan { after, ..usual() }, |range, _| {
            let until = range.most.until_teardown;
            format!(
                "| {days_until_teardown} | {name} | {:.2} | {:.2} | {:.2} | {} | {} |",
                until.console_hours,
                until.database_hours,
                until.disk_hours,
                between(range.least.dollars, range.most.dollars),
                between(range.least.spot_dollars, range.most.spot_dollars),
            )
        })
    });
    let rows = rows.join("\n");
    assert!(COST.contains(&rows), "docs/cost.md has not:\n{rows}");
}

#[test]
fn the_hours_until_the_stop_and_the_price_of_a_further_day_are_those_of_the_teardown() {
    let prices = Prices::read(PRICES).unwrap();
    for (days_until_teardown, stop, further_day) in [
        (0.0, "6.10 of the backup, 0 until both stop", "0.95"),
        (0.1, "6.10 of the backup, 0 until both stop", "0.95"),
        (5.0, "6.10 of the backup, 1 until both stop", "0.95"),
        (8.0, "6.10 of the backup, 1 until both stop", "4.04"),
    ] {
        let after = AfterScan { days_until_teardown, backup: PlannedBackup::Verified };
        with_range(&FleetToPlan { after, ..usual() }, |range, fleet| {
            let text = assumptions(range, fleet, &prices).join("\n");
            let further = format!("each further day costs {further_day} dollars");
            assert!(text.contains(stop) && text.contains(&further), "{text}");
            let sum = SPARE_HOURS + range.least.hours + range.least.until_teardown.backup_hours;
            let document = document(&usual(), range, fleet, &prices);
            let further = format!("{:.2}", document["dollars_a_further_day"].as_f64().unwrap());
            assert_eq!(further, further_day);
            let Model { until_teardown, .. } = &range.least;
            assert!((until_teardown.console_hours - sum - until_teardown.stop_hours).abs() < 1e-9);
        });
    }
}

#[test]
fn readme_and_runbook_say_what_the_scan_of_the_document_costs() {
    const README: &str = include_str!("../../../../../../README.md");
    const OPERATIONS: &str = include_str!("../../../../../../docs/scan.md");
    let (dollars, spot, day) = with_range(&usual(), |range, _| {
        let Model { dollars, spot_dollars, further_day, .. } = range.most;
        (dollars, spot_dollars, further_day)
    });
    let rounded = format!("about {dollars:.0} dollars a month, or {spot:.0} on spot");
    let exact = format!("{dollars:.2} dollars, {spot:.2} on spot");
    let further = format!("{day:.2} for each further day");
    for (name, text, sentence) in [
        ("README.md", README, rounded),
        ("docs/scan.md", OPERATIONS, exact),
        ("docs/scan.md", OPERATIONS, further),
    ] {
        assert!(text.contains(&sentence), "{name} has not: {sentence}");
    }
}

#[test]
fn the_plan_counts_with_the_defaults_of_terraform() {
    const VARIABLES: &str = include_str!("../../../../../../terraform/variables.tf");
    const CONSOLE: &str = include_str!("../../../../../../terraform/modules/scanning/console.tf");
    let default_of = |name: &str| -> f64 {
        let (_, variable) = VARIABLES.split_once(&format!("variable \"{name}\"")).unwrap();
        let (_, default) = variable.split_once("  default     = ").unwrap();
        default.lines().next().unwrap().parse().unwrap()
    };
    assert_eq!(default_of("requests_in_flight"), IN_FLIGHT as f64);
    assert_eq!(default_of("console_volume_gb"), CONSOLE_DISK_GB);
    assert_eq!(default_of("database_storage_gb"), DATABASE_GB);
    assert!(CONSOLE.contains("arm64 = \"t4g.medium\""));
}

#[test]
fn days_until_teardown_out_of_bounds_are_refused() {
    let prices = Prices::read(PRICES).unwrap();
    for days_until_teardown in [-1.0, 366.0, f64::NAN] {
        let after = AfterScan { days_until_teardown, ..AfterScan::default() };
        let options = FleetToPlan { after, ..usual() };
        let error = fleet_of(&options, IN_FLIGHT, &prices).unwrap_err();
        assert!(error.is_usage, "{}", error.message);
        assert!(error.message.contains("--days-until-teardown"), "{}", error.message);
    }
}

#[test]
fn every_document_plans_with_one_number_of_icon_urls() {
    let millions = format!("{:.0}", 30.0 * ICONS_A_HOST);
    let documents = [
        ("docs/cost.md", COST),
        ("docs/benchmarks.md", include_str!("../../../../../../docs/benchmarks.md")),
        ("docs/scan.md", include_str!("../../../../../../docs/scan.md")),
        ("README.md", include_str!("../../../../../../README.md")),
    ];
    for (name, text) in documents {
        for (before, _) in text.match_indices(" million icon") {
            let number = text[..before].rsplit(|c: char| !c.is_ascii_digit()).next();
            assert_eq!(number, Some(millions.as_str()), "{name}");
        }
    }
}

#[test]
fn what_is_kept_and_between_the_bounds_is_in_the_document_of_numbers() {
    // With fewer requests in flight, the time per fetch determines how long the scan takes.
    let options = FleetToPlan { in_flight: 512, ..usual() };
    let prices = Prices::read(PRICES).unwrap();
    let document = with_range(&options, |range, fleet| document(&options, range, fleet, &prices));
    let number = |name: &str| document[name].as_f64().unwrap();
    assert!(number("hours") < number("hours_at_most"));
    assert!(number("dollars") < number("dollars_at_most"));
    let names: Vec<&str> =
        document["costs"].as_array().unwrap().iter().filter_map(|c| c["name"].as_str()).collect();
    for name in ["their public IPv4 addresses", "traffic between zones", "the console"] {
        assert!(names.contains(&name), "{name}");
    }
    let kept = document["kept"].as_array().unwrap();
    let of = |name: &str| {
        let found = kept.iter().find(|kept| kept["name"] == name).unwrap();
        found["dollars"].as_f64().unwrap()
    };
    assert!(of("a backup in Deep Archive") < of("a backup in S3 Standard") / 20.0);
    assert!((of("a copy home") - number("backup_gb") * 0.09).abs() < 0.01);
}
