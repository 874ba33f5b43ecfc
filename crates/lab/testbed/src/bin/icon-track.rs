//! The program `icon-track`: lists a track's URLs, or serves it until SIGTERM.

use std::{io::Write, process::ExitCode};

use clap::{Parser, Subcommand};
use everytab_testbed::track::{Scenario, Track, TrackPlan, TrackSize};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

/// Many hosts on loopback for measuring fetchers: names on 127.0.0.1:53, the web on every
/// 127.x.y.z:80 and :443. Run it in a separate network namespace.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// plain, tls, mix or slow.
    #[arg(long, global = true, default_value = "plain")]
    scenario: String,
    /// Hostnames.
    #[arg(long, global = true, default_value_t = 80_000)]
    hosts: usize,
    /// Icon URLs.
    #[arg(long, global = true, default_value_t = 200_000)]
    urls: usize,
    /// Addresses that the hosts share. The number of hosts per address follows Zipf's law.
    #[arg(long, global = true, default_value_t = 4_000)]
    addresses: usize,
}

#[derive(Subcommand)]
enum Command {
    /// Print every URL, one per line.
    List,
    /// Print how the URLs behave, as JSON.
    Expect,
    /// Serve until SIGTERM, then print the requests, as JSON.
    Serve,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("icon-track: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let scenario = Scenario::named(&arguments.scenario)
        .ok_or("unknown scenario: expected plain, tls, mix or slow")?;
    let size =
        TrackSize { hosts: arguments.hosts, urls: arguments.urls, addresses: arguments.addresses };
    let plan = TrackPlan::new(scenario, size);
    match arguments.command {
        Command::List => {
            let mut out = std::io::BufWriter::new(std::io::stdout().lock());
            for url in plan.urls() {
                writeln!(out, "{url}")?;
            }
            Ok(out.flush()?)
        }
        Command::Expect => {
            let expected = plan.expected();
            let document = json!({
                "urls": expected.urls,
                "hosts": expected.hosts,
                "dead_addresses": expected.dead_addresses,
                "dead_addresses_of_one_host": expected.dead_addresses_of_one_host,
                "latency_seconds": expected.latency_seconds,
                "least_slot_seconds": expected.least_slot_seconds,
                "forgetful_slot_seconds": expected.forgetful_slot_seconds,
            });
            Ok(writeln!(std::io::stdout(), "{document}")?)
        }
        Command::Serve => {
            tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(serve(plan))
        }
    }
}

async fn serve(plan: TrackPlan) -> Result<(), Box<dyn std::error::Error>> {
    let mut terminated = signal(SignalKind::terminate())?;
    let track = Track::start(plan)?;
    writeln!(std::io::stdout(), "ready")?;
    terminated.recv().await;
    writeln!(std::io::stdout(), "{}", serde_json::to_string(track.tally())?)?;
    Ok(())
}
