//! Benchmarks for the queue and for live crawls.
//!
//! They call the product's own functions on a private, durable Postgres. Measurements are printed
//! to stdout, one JSON object per line. Each run is audited, and prints no figures if the audit
//! fails. Settings are environment variables, which docs/benchmarks.md lists.

#![allow(clippy::unwrap_used, clippy::panic)]

mod batch;
mod crawl_fleet;
mod crawl_worker;
mod drain;
mod drainer;
mod fleet;
mod fleet_worker;
mod frontier;
mod locks;
mod peer;
mod rows;
mod samples;
mod server;
mod timings;
mod whole_scan;

use std::{env, str::FromStr};

use serde_json::{Value, json};

fn main() {
    let arguments: Vec<String> = env::args().skip(1).filter(|text| text != "--bench").collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["drain"] => drain::run().await,
            ["fleet"] => fleet::run().await,
            ["whole-scan"] => whole_scan::run().await,
            ["locks"] => locks::run().await,
            ["rows"] => rows::run().await,
            ["frontier"] => frontier::run().await,
            ["crawl-fleet"] => crawl_fleet::run().await,
            ["drainer", url, mode] => drainer::run(url, mode.parse().unwrap()).await,
            _ => {
                eprintln!(
                    "usage: cargo bench --bench queue -- \
                     drain|rows|fleet|whole-scan|locks|frontier|crawl-fleet"
                );
                std::process::exit(2);
            }
        }
    });
}

fn setting<T: FromStr>(name: &str, otherwise: T) -> T {
    let Ok(text) = env::var(name) else { return otherwise };
    text.parse().unwrap_or_else(|_| panic!("{name}={text} cannot be read"))
}

fn say(what: &str, figures: &Value) {
    println!("{}", json!({"what": what, "figures": figures}));
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}
