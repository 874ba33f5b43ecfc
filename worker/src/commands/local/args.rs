//! The options for `local`.

use std::{net::SocketAddr, os::unix::fs::MetadataExt, path::PathBuf, time::Duration};

use clap::Args;
use everytab_jobs::scan_settings::Internet;
use everytab_local::{LocalOptions, SampleOptions, SitesOptions};

use super::given::GivenOptions;
use crate::options::{FetchArgs, ScanOptionArgs, parse_duration};

/// Options for `local`.
#[derive(Debug, Clone, Args)]
pub struct LocalArgs {
    #[command(flatten)]
    pub(super) given: GivenOptions,
    /// Serve the HTTP API at this address and crawl submitted URLs, instead of scanning; a restart
    /// resumes open crawls
    #[arg(long, env = "EVERYTAB_LOCAL_API", value_name = "ADDR:PORT")]
    pub(super) api: Option<SocketAddr>,
    /// With --api: store for pages (file:// or s3://) [default: DIR/crawls]
    #[arg(long, env = "EVERYTAB_API_TO", value_name = "STORE")]
    pub(super) to: Option<String>,
    /// Scan (with --api: crawl) a small test internet on loopback: recorded in DIR, or generated if
    /// DIR is omitted
    #[arg(long, env = "EVERYTAB_SAMPLE", value_name = "DIR", num_args = 0..=1,
          default_missing_value = "", conflicts_with = "source")]
    pub(super) sample: Option<String>,
    /// First crawl the sites in FILE, one URL or hostname per line, and then scan this crawl; with
    /// --sample and without FILE, all hosts of the small internet
    #[arg(long, env = "EVERYTAB_SITES", value_name = "FILE", num_args = 0..=1,
          default_missing_value = "", conflicts_with_all = ["crawl", "source"])]
    pub(super) sites: Option<String>,
    /// Maximum number of links that --sites follows from a home page; 0 fetches only the home pages
    #[arg(long, env = "EVERYTAB_SITES_DEPTH", value_name = "N", default_value_t = 0,
          value_parser = clap::value_parser!(u16).range(0..=1_000))]
    pub(super) depth: u16,
    /// Crawl to scan: its id, or latest
    #[arg(long, env = "EVERYTAB_CRAWL")]
    pub(super) crawl: Option<String>,
    /// The crawl's bucket
    #[arg(long, env = "EVERYTAB_SOURCE")]
    pub(super) source: Option<String>,
    /// Read an S3 bucket without credentials
    #[arg(long, env = "EVERYTAB_SOURCE_IS_PUBLIC")]
    pub(super) public: bool,
    /// Directory for all data: the database, the archive and the site
    #[arg(long, env = "EVERYTAB_DIR", default_value = "./everytab-data")]
    pub(super) dir: PathBuf,
    /// Store for the icon archive [default: DIR/archive]
    #[arg(long, env = "EVERYTAB_ARCHIVE")]
    pub(super) archive: Option<String>,
    /// Store for the published site [default: DIR/site]
    #[arg(long, env = "EVERYTAB_SITE")]
    pub(super) site: Option<String>,
    /// Number of worker processes
    #[arg(long, env = "EVERYTAB_WORKERS", default_value_t = 1,
          value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(super) workers: u16,
    /// Serve the site at this address after the scan
    #[arg(long, env = "EVERYTAB_SERVE", value_name = "ADDR")]
    pub(super) serve: Option<SocketAddr>,
    /// Exit when the scan ends, even with --serve
    #[arg(long, env = "EVERYTAB_EXIT_WHEN_DONE")]
    pub(super) exit_when_done: bool,
    /// Start another scan although the directory has a finished one
    #[arg(long)]
    pub(super) again: bool,
    /// Number of hosts in the generated small internet
    #[arg(long, env = "EVERYTAB_SAMPLE_HOSTS", default_value_t = 300,
          value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub(super) sample_hosts: u64,
    /// Seed for the generated small internet
    #[arg(long, env = "EVERYTAB_SAMPLE_SEED", default_value_t = 1)]
    pub(super) sample_seed: u64,
    /// Faults of the small internet's hosts: none, light or issue [default: light for a generated
    /// internet, none for a recorded one]
    #[arg(long, env = "EVERYTAB_SAMPLE_MIX")]
    pub(super) sample_mix: Option<String>,
    /// Median response time of the small internet's hosts
    #[arg(long, env = "EVERYTAB_SAMPLE_LATENCY", value_name = "DURATION",
          value_parser = parse_duration)]
    pub(super) sample_latency: Option<Duration>,
    #[command(flatten)]
    pub(super) options: ScanOptionArgs,
    #[command(flatten)]
    pub(super) fetch: FetchArgs,
}

impl LocalArgs {
    /// Returns the small internet's settings. `None` without `--sample`.
    pub(super) fn sample_options(&self) -> Option<SampleOptions> {
        self.sample.as_ref().map(|folder| SampleOptions {
            recording: Some(PathBuf::from(folder)).filter(|folder| !folder.as_os_str().is_empty()),
            hosts: self.sample_hosts,
            seed: self.sample_seed,
            mix: self.sample_mix.clone(),
            latency: self.sample_latency,
        })
    }

    pub(super) fn options(&self) -> LocalOptions {
        let sample = self.sample_options();
        let sites = self.sites.as_ref().map(|file| SitesOptions {
            file: Some(PathBuf::from(file)).filter(|file| !file.as_os_str().is_empty()),
            depth: self.depth,
        });
        let mut scan = self.options.scan_options();
        if sample.is_some() {
            scan.internet = Internet::Small;
        }
        LocalOptions {
            sample,
            sites,
            crawl: self.crawl.clone(),
            source: self.source.clone(),
            source_is_public: self.public,
            archive: self.archive.clone(),
            site: self.site.clone(),
            workers: self.workers,
            again: self.again,
            scan,
        }
    }

    pub(super) fn warn_as_root(&self) {
        if self.sample.is_none() && is_root() {
            eprintln!(
                "warning: this runs as root, so what it fetches from the web is decoded with \
                 root's rights; `sudo -u USER` before the command, or `make demo`, takes another \
                 user"
            );
        }
    }
}

/// The owner of the process's directory in /proc is the process's user.
fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}
