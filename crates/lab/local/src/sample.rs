//! Starts the small internet for a scan of a sample.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use everytab_console::OperationError;
use everytab_testbed::{Content, Latency, Mix, Running, Settings, SmallInternet};
use ipnet::IpNet;

/// Options for the small internet, which is scanned instead of the real one.
#[derive(Debug, Clone)]
pub struct SampleOptions {
    /// A recording's directory. If `None`, hosts are generated.
    pub recording: Option<PathBuf>,
    /// Number of hosts to generate.
    pub hosts: u64,
    /// Seed for generating the hosts.
    pub seed: u64,
    /// Name of the mix of misbehaving hosts: `none`, `light` or `issue`. The default is `light` for
    /// generated hosts and `none` for recorded ones.
    pub mix: Option<String>,
    /// Median response latency.
    pub latency: Option<Duration>,
}

/// The settings with which a worker reaches the small internet.
#[derive(Debug, Clone)]
pub struct SampleNetwork {
    /// The small internet's name server.
    pub dns: SocketAddr,
    /// PEM file with the small internet's certificate authority.
    pub ca_file: PathBuf,
    /// Ports to dial instead of the ports in URLs.
    pub dial_ports: BTreeMap<u16, u16>,
    /// Address ranges of the small internet's hosts, which are not public.
    pub allow_ranges: Vec<IpNet>,
}

pub(crate) fn settings(
    sample: &SampleOptions,
    scratch_dir: PathBuf,
) -> Result<Settings, OperationError> {
    let (content, behaviours) = match &sample.recording {
        None => (Content::Generated { hosts: sample.hosts }, Mix::light()),
        Some(folder) => {
            let dir = folder.canonicalize().map_err(|error| {
                OperationError::usage(format!("--sample {}: {error}", folder.display()))
            })?;
            (Content::Recorded { dir }, Mix::none())
        }
    };
    let behaviours = match &sample.mix {
        Some(name) => Mix::named(name)
            .map_err(|error| OperationError::usage(format!("--sample-mix: {error}")))?,
        None => behaviours,
    };
    let latency = Latency { median: sample.latency.unwrap_or_default(), ..Latency::default() };
    let generated = Settings::generated(sample.seed, 0, scratch_dir);
    Ok(Settings { content, behaviours, latency, ..generated })
}

pub(crate) async fn start(sample: &SampleOptions, dir: &Path) -> Result<Running, OperationError> {
    Ok(SmallInternet::start(settings(sample, dir.join("small-internet"))?).await?)
}

pub(crate) fn network(internet: &Running) -> Result<SampleNetwork, OperationError> {
    let client = &internet.client;
    let ranges = client.allow_ranges.iter().map(|range| range.parse());
    Ok(SampleNetwork {
        dns: client.dns,
        ca_file: client.ca_file.clone(),
        dial_ports: client.dial_ports.iter().copied().collect(),
        allow_ranges: ranges.collect::<Result<_, ipnet::AddrParseError>>()?,
    })
}
