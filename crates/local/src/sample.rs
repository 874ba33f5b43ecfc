//! The small internet that a sample is scanned from.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use everytab_operations::OperationError;
use everytab_testbed::{Content, Latency, Mix, Running, Settings, SmallInternet};
use ipnet::IpNet;

/// The small internet on loopback that is scanned instead of the real one.
#[derive(Debug, Clone)]
pub struct SampleOptions {
    /// The folder of a recording; without it, the hosts are generated.
    pub recording: Option<PathBuf>,
    /// How many hosts are generated.
    pub hosts: u64,
    /// The number that the generated hosts are made from.
    pub seed: u64,
    /// How its hosts misbehave: `none`, `light` or `issue`; without it, `light` for generated and
    /// `none` for recorded ones.
    pub mix: Option<String>,
    /// How long its answers take at the median.
    pub latency: Option<Duration>,
}

/// How a worker reaches the small internet: what its fetcher must be told.
#[derive(Debug, Clone)]
pub struct SampleNetwork {
    /// The name server of the small internet.
    pub dns: SocketAddr,
    /// The file with its certificate authority (PEM).
    pub ca_file: PathBuf,
    /// The ports to dial instead of those in URLs.
    pub dial_ports: BTreeMap<u16, u16>,
    /// The address ranges of its hosts, which are not public.
    pub allow_ranges: Vec<IpNet>,
}

/// The small internet that `sample` means, with scratch files in `scratch_dir`.
///
/// Errors: the folder of the recording cannot be read, or there is no mix of that name.
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

/// Starts a small internet whose scratch files go below `dir`.
pub(crate) async fn start(sample: &SampleOptions, dir: &Path) -> Result<Running, OperationError> {
    Ok(SmallInternet::start(settings(sample, dir.join("small-internet"))?).await?)
}

/// How a worker reaches a small internet that runs.
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
