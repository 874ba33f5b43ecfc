//! Tests plans of live crawls: the tables in docs/cost-of-crawls.md, how numbers grow, what limits
//! a crawl, and invalid options.

use super::*;
use crate::plan::options::IN_FLIGHT;

const COST: &str = include_str!("../../../../../../docs/cost-of-crawls.md");
const PRICES: &str = include_str!("../../../../../../worker/prices.json");

/// Returns 100 million pages in a day, with the defaults of the options.
fn a_day() -> LiveCrawlToPlan {
    LiveCrawlToPlan {
        pages: 100_000_000,
        days: 1.0,
        page_bytes: 460_000.0,
        known_per_page: 6.5,
        hosts: 30_000_000,
        media_per_page: 250_000.0,
        database_gb: 8_000,
        workers: None,
        instance: "c7g.large".into(),
        database_instance: "db.t4g.large".into(),
        in_flight: IN_FLIGHT,
        core_speed: 1.0,
    }
}

/// Returns ten billion pages in fifty days.
fn ten_billion() -> LiveCrawlToPlan {
    LiveCrawlToPlan {
        pages: 10_000_000_000,
        days: 50.0,
        database_instance: "db.m7g.large".into(),
        ..a_day()
    }
}

fn planned(options: &LiveCrawlToPlan) -> Result<CrawlPlan, OperationError> {
    options.check()?;
    plan(options, 10_752, &Prices::read(PRICES)?)
}

fn refused(options: &LiveCrawlToPlan) -> String {
    let error = planned(options).err().expect("it is refused");
    assert!(error.is_usage, "{}", error.message);
    error.message
}

fn figure(figures: &[Figure], name: &str) -> f64 {
    figures.iter().find(|figure| figure.name == name).expect(name).value
}

fn bound(plan: &CrawlPlan, name: &str) -> f64 {
    let found = plan.fleet.bounds.iter().find(|bound| bound.name == name);
    found.expect(name).pages_a_second
}

fn assert_alike(one: f64, other: f64) {
    assert!((one - other).abs() <= one.abs() * 1e-9, "{one} {other}");
}

#[test]
fn the_tables_of_both_crawls_in_the_document_are_those_that_plan_prints() {
    for options in [a_day(), ten_billion()] {
        let lines = table(&options, &planned(&options).unwrap());
        let lines: Vec<String> =
            lines.iter().map(|line| format!("  {line}").trim_end().to_owned()).collect();
        let whole = lines.join("\n");
        assert!(COST.contains(&whole), "docs/cost-of-crawls.md has not:\n{whole}");
    }
}

#[test]
fn the_other_crawls_of_the_document_are_those_that_plan_computes() {
    let (day, ten) = (a_day, ten_billion);
    let month = LiveCrawlToPlan { pages: 3_000_000_000, days: 30.0, ..day() };
    let fast_database = LiveCrawlToPlan { database_instance: "db.m7g.2xlarge".into(), ..ten() };
    let crawls = [
        ("the first crawl", day()),
        ("`--crawl-hosts 1000`", LiveCrawlToPlan { hosts: 1_000, ..day() }),
        ("`--crawl-pages 3000000000 --crawl-days 30`", month),
        ("the second crawl", ten()),
        ("`--crawl-page-bytes 160000`", LiveCrawlToPlan { page_bytes: 160_000.0, ..ten() }),
        ("`--crawl-known-per-page 3`", LiveCrawlToPlan { known_per_page: 3.0, ..ten() }),
        ("`--crawl-known-per-page 20`", LiveCrawlToPlan { known_per_page: 20.0, ..ten() }),
        ("`--crawl-database-gb 2000`", LiveCrawlToPlan { database_gb: 2_000, ..ten() }),
        ("`--crawl-days 10`", LiveCrawlToPlan { days: 10.0, ..ten() }),
        (
            "`--crawl-days 10 --database-instance db.m7g.2xlarge`",
            LiveCrawlToPlan { days: 10.0, ..fast_database },
        ),
        ("`--instance c7g.2xlarge`", LiveCrawlToPlan { instance: "c7g.2xlarge".into(), ..ten() }),
        ("`--core-speed 0.5`", LiveCrawlToPlan { core_speed: 0.5, ..ten() }),
        ("`--workers 4`", LiveCrawlToPlan { workers: Some(4), ..ten() }),
    ];
    let rows = crawls.map(|(what, options)| {
        let plan = planned(&options).unwrap();
        format!(
            "| {what} | {} | {} | {} | {} | {:.0} | {:.0} | {}, then {} |",
            number(plan.fleet.workers),
            number(plan.fleet.databases),
            number(plan.fleet.pages_a_second),
            number(plan.days),
            plan.dollars,
            plan.spot_dollars,
            plan.fleet.bound_by.replace("the days that it may take", "the days"),
            plan.fleet.then_by.replace("the days that it may take", "the days"),
        )
    });
    let rows = rows.join("\n");
    assert!(COST.contains(&rows), "docs/cost-of-crawls.md has not:\n{rows}");
}

#[test]
fn twice_the_pages_in_twice_the_days_take_twice_of_all_that_is_counted_by_page() {
    let one = planned(&a_day()).unwrap();
    let options = LiveCrawlToPlan { pages: 200_000_000, days: 2.0, ..a_day() };
    let two = planned(&options).unwrap();
    assert_eq!(one.fleet.workers.to_bits(), two.fleet.workers.to_bits());
    assert_alike(one.fleet.pages_a_second, two.fleet.pages_a_second);
    for name in
        ["requests to the web", "HTML, unpacked", "archives (WARC, gzip)", "log of Postgres"]
    {
        assert_alike(figure(&one.totals, name) * 2.0, figure(&two.totals, name));
    }
    assert_alike(one.kept[0].dollars * 2.0, two.kept[0].dollars);
    // Both plans have equally many hosts, and so equal host rows.
    let host_rows = 30e6 * 1_000.0;
    let rows = |plan: &CrawlPlan| figure(&plan.totals, "rows of Postgres") - host_rows;
    assert_alike(rows(&one) * 2.0, rows(&two));
}

#[test]
fn twice_the_pages_in_the_same_days_need_twice_the_rate_and_up_to_twice_the_workers() {
    let one = planned(&ten_billion()).unwrap();
    let two = planned(&LiveCrawlToPlan { pages: 20_000_000_000, ..ten_billion() }).unwrap();
    assert_alike(one.fleet.pages_a_second * 2.0, two.fleet.pages_a_second);
    assert!(two.fleet.databases > one.fleet.databases);
    let ratio = two.fleet.workers / one.fleet.workers;
    assert!((1.5..=2.2).contains(&ratio), "{ratio}");
    assert_alike(figure(&one.totals, "hosts asked at a time") * 2.0, {
        figure(&two.totals, "hosts asked at a time")
    });
}

#[test]
fn a_crawl_is_as_fast_as_its_least_bound_and_names_it() {
    let ten = ten_billion;
    let crawls = [
        (ten(), "the days that it may take"),
        (LiveCrawlToPlan { workers: Some(4), ..ten() }, "CPU of the workers"),
        (LiveCrawlToPlan { hosts: 2_000, ..ten() }, "politeness"),
        (LiveCrawlToPlan { workers: Some(8), in_flight: 8, ..ten() }, "requests in flight"),
        (
            // Small pages on fast cores: each worker has as many hosts as it may.
            LiveCrawlToPlan {
                workers: Some(2),
                page_bytes: 1_000.0,
                core_speed: 4.0,
                in_flight: 5_000,
                ..ten()
            },
            "hosts of a worker",
        ),
        (
            // Many bytes on fast cores.
            LiveCrawlToPlan { workers: Some(2), core_speed: 50.0, in_flight: 5_000, ..ten() },
            "network of the workers",
        ),
    ];
    for (options, name) in crawls {
        let plan = planned(&options).unwrap();
        assert_eq!(plan.fleet.bound_by, name);
        assert_ne!(plan.fleet.then_by, name);
        let bounds = plan.fleet.bounds.iter().map(|bound| bound.pages_a_second);
        let least = bounds.fold(f64::INFINITY, f64::min);
        assert_alike(plan.fleet.pages_a_second, least);
        assert_alike(bound(&plan, name), least);
        assert_alike(plan.days * 86_400.0 * least, options.pages as f64);
    }
}

#[test]
fn rows_beyond_one_disk_need_databases_with_ranges_of_slots() {
    let gigabytes = |plan: &CrawlPlan| plan.fleet.disk_gb;
    for (database_gb, slots) in [(64_000, "all 256"), (8_000, "128 of 256"), (1_000, "28 or 29")] {
        let plan = planned(&LiveCrawlToPlan { database_gb, ..ten_billion() }).unwrap();
        assert!(gigabytes(&plan) <= database_gb as f64 + 1e-6, "{}", gigabytes(&plan));
        let rows = figure(&plan.totals, "rows of Postgres") / 1e9;
        assert!(plan.fleet.databases * gigabytes(&plan) * 0.8 >= rows - 1e-6);
        assert!(plan.fleet.workers >= plan.fleet.databases);
        let found = plan.totals.iter().find(|figure| figure.name == "databases").unwrap();
        if database_gb == 64_000 {
            // One disk would hold the rows, but its operations per second require two.
            assert_eq!(found.value, 2.0, "{}", found.formula);
        } else {
            assert!(found.formula.contains(slots), "{}", found.formula);
        }
    }
}

#[test]
fn no_more_workers_are_planned_than_the_frontier_has_slots() {
    let plan = planned(&LiveCrawlToPlan { days: 0.5, ..ten_billion() });
    let plan = plan.unwrap();
    assert!(plan.fleet.workers <= 256.0, "{}", plan.fleet.workers);
    assert_eq!(plan.fleet.bound_by, "CPU of the workers");
    assert!(plan.days > 0.5);
    let said = refused(&LiveCrawlToPlan { workers: Some(257), ..a_day() });
    assert!(said.contains("--workers 257") && said.contains("256"), "{said}");
    let said = refused(&LiveCrawlToPlan { workers: Some(1), ..ten_billion() });
    assert!(said.contains("--workers 1") && said.contains("--crawl-database-gb"), "{said}");
}

#[test]
fn numbers_without_sense_are_refused_by_the_name_of_their_option() {
    let day = a_day;
    for (options, option) in [
        (LiveCrawlToPlan { pages: 0, ..day() }, "--crawl-pages"),
        (LiveCrawlToPlan { pages: u64::MAX, ..day() }, "--crawl-pages"),
        (LiveCrawlToPlan { pages: 10_000_000_000_000, ..day() }, "--crawl-database-gb"),
        (LiveCrawlToPlan { days: 0.0, ..day() }, "--crawl-days"),
        (LiveCrawlToPlan { days: f64::NAN, ..day() }, "--crawl-days"),
        (LiveCrawlToPlan { days: f64::INFINITY, ..day() }, "--crawl-days"),
        (LiveCrawlToPlan { page_bytes: -1.0, ..day() }, "--crawl-page-bytes"),
        (LiveCrawlToPlan { page_bytes: 1e9, ..day() }, "--crawl-page-bytes"),
        (LiveCrawlToPlan { known_per_page: 0.5, ..day() }, "--crawl-known-per-page"),
        (LiveCrawlToPlan { hosts: 0, ..day() }, "--crawl-hosts"),
        (LiveCrawlToPlan { media_per_page: f64::NAN, ..day() }, "--crawl-media-per-page"),
        (LiveCrawlToPlan { database_gb: 1, ..day() }, "--crawl-database-gb"),
        (LiveCrawlToPlan { core_speed: 0.0, ..day() }, "--core-speed"),
        (LiveCrawlToPlan { instance: "c99.mega".into(), ..day() }, "--instance c99.mega"),
        (LiveCrawlToPlan { database_instance: "db.x".into(), ..day() }, "--database-instance"),
    ] {
        let said = refused(&options);
        assert!(said.contains(option), "{said}");
    }
}

#[test]
fn every_number_is_finite_has_a_formula_and_adds_up() {
    let small = LiveCrawlToPlan { pages: 1, days: 0.001, media_per_page: 0.0, ..a_day() };
    for options in [a_day(), ten_billion(), small] {
        let plan = planned(&options).unwrap();
        for figure in plan.page.iter().chain(&plan.totals).chain(&plan.media) {
            assert!(figure.value.is_finite() && figure.value >= 0.0, "{figure:?}");
            assert!(!figure.formula.is_empty(), "{figure:?}");
        }
        let sum: f64 = plan.costs.iter().map(|cost| cost.dollars).sum();
        assert_alike(sum, plan.dollars);
        assert!(plan.spot_dollars < plan.dollars && plan.dollars.is_finite());
        assert_eq!(plan.media.is_empty(), options.media_per_page == 0.0);
        let prices = Prices::read(PRICES).unwrap();
        let document = document(&options, &plan, &prices);
        assert_eq!(document["crawl_pages"], options.pages);
        let bounds = document["bounds"].as_array().unwrap();
        let shares = bounds.iter().map(|bound| bound["share_used"].as_f64().unwrap());
        assert!((shares.fold(0.0, f64::max) - 1.0).abs() < 1e-6, "{document}");
        let rates = document["rates"].as_array().unwrap();
        assert_eq!(rates.len(), RATES.len() + SHARED_RATES.len());
        assert!(rates.iter().all(|rate| !rate["source"].as_str().unwrap().is_empty()));
    }
}
