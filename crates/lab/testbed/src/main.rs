//! The program `everytab-testbed`: runs a small internet until SIGTERM or Ctrl-C.

mod graph_options;

use std::{
    io::{BufWriter, Write},
    path::PathBuf,
    process::ExitCode,
};

use clap::{Parser, ValueEnum};
use everytab_testbed::{
    AccessLogTarget, ClosedCrawl, Content, Latency, Mix, OracleScope, Settings, SiteGraph,
    SmallInternet, TestbedError,
};
use graph_options::GraphOptions;
use tokio::signal::unix::{SignalKind, signal};

/// Serves a small internet on loopback: names, websites, and a crawl bucket.
///
/// Prints one line of JSON with its addresses when it is ready, then serves until SIGTERM or
/// Ctrl-C. SIGUSR1 begins the next day of a graph: some of its pages change.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Seed for everything that is generated.
    #[arg(long, env = "EVERYTAB_TESTBED_SEED", default_value_t = 1)]
    seed: u64,
    /// Number of hosts to generate.
    #[arg(long, env = "EVERYTAB_TESTBED_HOSTS", default_value_t = 1_000)]
    hosts: u64,
    /// Serve the recorded crawl in this directory instead of generating one.
    #[arg(long, value_name = "DIR", conflicts_with = "hosts")]
    recorded: Option<PathBuf>,
    /// Mix of misbehaving hosts. The default is light for generated hosts and none for recorded
    /// ones.
    #[arg(long, env = "EVERYTAB_TESTBED_MIX")]
    mix: Option<MixName>,
    /// Directory for generated files. They are reused if the settings are equal.
    #[arg(long, value_name = "DIR", default_value = "./everytab-testbed-data")]
    scratch: PathBuf,
    /// Write a line for each request to a site into this file, with its times in microseconds.
    #[arg(long, value_name = "FILE")]
    access_log: Option<PathBuf>,
    /// Print the records that a crawl in this scope must have instead of serving the graph: URL,
    /// outcome and SHA-256, one record per line. The seed is the first home page if the scope is
    /// any, and otherwise all home pages are seeds.
    #[arg(long, value_name = "SCOPE", requires = "graph")]
    expect: Option<String>,
    /// Serve on the ports 80, 443 and 53, for programs that support no others. This needs
    /// privileges and a separate network namespace.
    #[arg(long)]
    standard_ports: bool,
    #[command(flatten)]
    graph: GraphOptions,
}

#[derive(Clone, Copy, ValueEnum)]
enum MixName {
    Light,
    Issue,
    None,
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("everytab-testbed: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let behaviours = match (arguments.mix, &arguments.recorded) {
        (Some(MixName::Light), _) | (None, None) => Mix::light(),
        (Some(MixName::Issue), _) => Mix::issue(),
        (Some(MixName::None), _) | (None, Some(_)) => Mix::none(),
    };
    let content = match arguments.recorded {
        Some(dir) => Content::Recorded { dir },
        None if arguments.graph.graph => {
            let graph = arguments.graph.settings(arguments.hosts)?;
            if let Some(scope) = &arguments.expect {
                return expect(&SiteGraph::new(arguments.seed, graph)?, scope);
            }
            Content::Graph(Box::new(graph))
        }
        None => Content::Generated { hosts: arguments.hosts },
    };
    let settings = Settings {
        seed: arguments.seed,
        content,
        behaviours,
        scratch_dir: arguments.scratch,
        latency: Latency::default(),
        standard_ports: arguments.standard_ports,
    };
    let serving = serve(settings, arguments.access_log);
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(serving)
}

fn expect(graph: &SiteGraph, scope: &str) -> Result<(), Box<dyn std::error::Error>> {
    let scope =
        OracleScope::parse(scope).ok_or("--expect: expected page, host, site, list or any")?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    let hosts = if scope == OracleScope::Any { 1 } else { graph.hosts() };
    let homes = (0..hosts).map(|host| graph.home(host)).collect();
    for fetch in graph.oracle(ClosedCrawl::new(homes, scope)) {
        let digest = fetch.sha256.map_or_else(|| "-".to_owned(), hex::encode);
        writeln!(out, "{}\t{}\t{digest}", fetch.url, fetch.outcome)?;
    }
    Ok(out.flush()?)
}

async fn serve(
    settings: Settings,
    access_log: Option<PathBuf>,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut terminated = signal(SignalKind::terminate())?;
    let mut dawn = signal(SignalKind::user_defined1())?;
    let running = tokio::select! {
        started = SmallInternet::start(settings) => started?,
        stopped = stop_asked(&mut terminated) => return Ok(stopped?),
    };
    if let Some(path) = access_log {
        running.log_accesses(&AccessLogTarget::File(path))?;
    }
    println!("{}", serde_json::to_string(&running.client)?);
    let mut day = 0;
    loop {
        tokio::select! {
            stopped = stop_asked(&mut terminated) => break stopped?,
            _ = dawn.recv() => {
                day += 1;
                running.set_day(day);
            }
        }
    }
    eprintln!("{}", serde_json::to_string(&running.counts())?);
    running.stop().await;
    Ok(())
}

async fn stop_asked(terminated: &mut tokio::signal::unix::Signal) -> Result<(), TestbedError> {
    tokio::select! {
        _ = terminated.recv() => Ok(()),
        interrupted = tokio::signal::ctrl_c() => interrupted
            .map_err(|source| TestbedError::Listen { what: "signals", source }),
    }
}
