//! Starting the servers, what a client must know of them, and stopping.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use socket2::Socket;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::behaviour::Behaviour;
use crate::bucket::prepare::{self, Prepared};
use crate::bucket::server::BucketServer;
use crate::certificates::Certificates;
use crate::counters::{Counters, Counts};
use crate::dns::NameServer;
use crate::error::TestbedError;
use crate::generate::World;
use crate::internet::{Internet, Library};
use crate::listeners;
use crate::recorded::Recording;
use crate::settings::{Content, Settings};
use crate::web::{self, Side};

/// A small internet on loopback, made from [`Settings`].
pub struct SmallInternet;

/// The settings with which a worker uses this internet. All are its ordinary options.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct ClientSettings {
    /// The name server.
    pub dns: SocketAddr,
    /// The crawl bucket over HTTP, with a slash at the end.
    pub bucket_url: String,
    /// The same bucket as a folder.
    pub bucket_dir: PathBuf,
    /// The newest crawl in it.
    pub crawl: String,
    /// PEM file with the certificate authority to trust.
    pub ca_file: PathBuf,
    /// Ports to dial instead: (80, http), (443, https).
    pub dial_ports: Vec<(u16, u16)>,
    /// Address ranges that must be allowed.
    pub allow_ranges: Vec<String>,
}

impl ClientSettings {
    /// `--dns`, `--ca-file`, `--allow-range` and `--dial-port` as arguments of the worker.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![
            "--dns".to_owned(),
            self.dns.to_string(),
            "--ca-file".to_owned(),
            self.ca_file.display().to_string(),
        ];
        for range in &self.allow_ranges {
            arguments.extend(["--allow-range".to_owned(), range.clone()]);
        }
        let pairs: Vec<_> = self.dial_ports.iter().map(|(of, to)| format!("{of}={to}")).collect();
        arguments.extend(["--dial-port".to_owned(), pairs.join(",")]);
        arguments
    }
}

/// A small internet that is up. Dropping it ends every server, connection and task.
pub struct Running {
    /// How clients find it.
    pub client: ClientSettings,
    /// The authority's certificate, as in `client.ca_file`.
    pub ca_pem: String,
    internet: Arc<Internet>,
    servers: JoinSet<()>,
    /// Ports of `::1` on which connecting is refused.
    _refusing: Vec<Socket>,
}

impl SmallInternet {
    /// Makes the content if the scratch folder has none that fits, and starts the servers on the
    /// current tokio runtime.
    ///
    /// # Errors
    /// Settings that contradict themselves, files that cannot be read or written, no free port.
    pub async fn start(settings: Settings) -> Result<Running, TestbedError> {
        settings.behaviours.check()?;
        let (prepared, library, settings) = tokio::task::spawn_blocking(move || {
            let made = make_content(&settings)?;
            Ok::<_, TestbedError>((made.0, made.1, settings))
        })
        .await
        .map_err(|error| TestbedError::Settings(format!("making the content: {error}")))??;
        let Prepared { bucket, crawl } = prepared;
        let certificates = Arc::new(Certificates::new()?);
        let ca_pem = certificates.authority_pem();
        let mut http = listeners::bind("http")?;
        let mut https = listeners::bind("https")?;
        let names = NameServer::bind().await?;
        let files = BucketServer::bind().await?;
        // Named after a port: no other internet that is up can have it.
        let scratch = bucket.parent().unwrap_or(Path::new("."));
        let ca_file = scratch.join(format!("authority-{}.pem", https.port));
        fs::write(&ca_file, &ca_pem).map_err(TestbedError::file(&ca_file))?;
        let has_ipv6 = http.refusing.is_some() && https.refusing.is_some();
        let refusing = [http.refusing.take(), https.refusing.take()].into_iter().flatten();
        let mut allow_ranges = vec!["127.0.0.0/8".to_owned()];
        allow_ranges.extend(has_ipv6.then(|| "::1/128".to_owned()));
        let client = ClientSettings {
            dns: names.address(),
            bucket_url: files.url(),
            bucket_dir: bucket.clone(),
            crawl,
            ca_file,
            dial_ports: vec![(80, http.port), (443, https.port)],
            allow_ranges,
        };
        let internet = Arc::new(Internet {
            seed: settings.seed,
            mix: settings.behaviours,
            latency: settings.latency,
            library,
            counters: Counters::default(),
            drawing: Semaphore::new(std::thread::available_parallelism().map_or(1, usize::from)),
            has_ipv6,
        });
        let mut servers = JoinSet::new();
        servers.spawn(names.serve(Arc::clone(&internet)));
        servers.spawn(files.serve(bucket, internet.counters.clone()));
        servers.spawn(web::serve(http, Side::Http, Arc::clone(&internet)));
        servers.spawn(web::serve(https, Side::Https(certificates), Arc::clone(&internet)));
        Ok(Running { client, ca_pem, internet, servers, _refusing: refusing.collect() })
    }
}

fn make_content(settings: &Settings) -> Result<(Prepared, Library), TestbedError> {
    let scratch = &settings.scratch_dir;
    match &settings.content {
        Content::Generated { hosts } => {
            let world = World::new(settings.seed, *hosts);
            let prepared = prepare::generated(&world, settings.seed, scratch)?;
            Ok((prepared, Library::Generated(world)))
        }
        Content::Recorded { dir } => {
            let prepared = prepare::recorded(dir, scratch)?;
            Ok((prepared, Library::Recorded(Recording::open(dir)?)))
        }
    }
}

impl Running {
    /// What was seen so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.internet.counters.read()
    }

    /// How a host behaves.
    #[must_use]
    pub fn behaviour(&self, host: &str) -> Behaviour {
        self.internet.behaviour(host)
    }

    /// Whether the name is a host of this internet.
    #[must_use]
    pub fn knows(&self, host: &str) -> bool {
        self.internet.knows(host)
    }

    /// The hosts of generated content, by their number; empty for recorded content.
    pub fn hosts(&self) -> impl Iterator<Item = String> + '_ {
        let world = match &self.internet.library {
            Library::Generated(world) => Some(world),
            Library::Recorded(_) => None,
        };
        world.into_iter().flat_map(|world| (0..world.hosts()).map(|index| world.name(index)))
    }

    /// Stops everything and waits until it has stopped.
    pub async fn stop(mut self) {
        self.servers.shutdown().await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The authority dies with its key; a file left behind is only litter.
        let _ = fs::remove_file(&self.client.ca_file);
    }
}

impl std::fmt::Debug for Running {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Running").field("client", &self.client).finish_non_exhaustive()
    }
}
