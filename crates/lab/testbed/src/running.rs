//! Starts and stops the servers, and provides their addresses to clients.

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::Serialize;
use socket2::Socket;
use tokio::{sync::Semaphore, task::JoinSet};

use crate::{
    access_log::{AccessLine, AccessLog, AccessLogTarget},
    behaviour::Behaviour,
    bucket::{
        prepare::{self, Prepared},
        server::BucketServer,
    },
    certificates::Certificates,
    counters::{Counters, Counts, Http2Request},
    dns::NameServer,
    error::TestbedError,
    generate::World,
    graph::{ServedGraph, SiteGraph},
    internet::{Internet, Library},
    listeners,
    recorded::Recording,
    settings::{Content, Settings},
    weather::Weather,
    web::{self, Scheme},
};

/// A small internet on loopback, made from [`Settings`].
pub struct SmallInternet;

/// The settings with which a worker uses this internet.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct ClientSettings {
    /// The name server.
    pub dns: SocketAddr,
    /// The crawl bucket's URL, with a trailing slash.
    pub bucket_url: String,
    /// The same bucket as a directory.
    pub bucket_dir: PathBuf,
    /// The newest crawl in the bucket.
    pub crawl: String,
    /// PEM file with the certificate authority that clients must trust.
    pub ca_file: PathBuf,
    /// The ports to dial instead of 80 and 443: (80, http port), (443, https port).
    pub dial_ports: Vec<(u16, u16)>,
    /// Address ranges that the client must be allowed to dial.
    pub allow_ranges: Vec<String>,
}

impl ClientSettings {
    /// Returns `--dns`, `--ca-file`, `--allow-range` and `--dial-port` as arguments for the worker.
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

/// A running small internet, until it is dropped.
pub struct Running {
    /// The settings for clients.
    pub client: ClientSettings,
    /// The authority's certificate, as in `client.ca_file`.
    pub ca_pem: String,
    /// Refusals by the crawl's bucket.
    pub bucket_weather: Weather,
    internet: Arc<Internet>,
    servers: JoinSet<()>,
    _refusing: Vec<Socket>,
}

impl SmallInternet {
    /// Creates the content, unless the scratch directory already contains it, and starts the
    /// servers.
    ///
    /// # Errors
    /// Returns an error if the settings are invalid, a file cannot be read or written, or no port
    /// is free.
    pub async fn start(settings: Settings) -> Result<Running, TestbedError> {
        settings.behaviours.check()?;
        let (prepared, library, settings) = tokio::task::spawn_blocking(move || {
            let made = make_content(&settings)?;
            Ok::<_, TestbedError>((made.0, made.1, settings))
        })
        .await
        .map_err(|error| TestbedError::Settings(format!("cannot create the content: {error}")))??;
        let Prepared { bucket, crawl } = prepared;
        let certificates = Arc::new(Certificates::new()?);
        let ca_pem = certificates.authority_pem();
        let [http_port, https_port, dns_port] =
            if settings.standard_ports { [80, 443, 53] } else { [0; 3] };
        let mut http = listeners::bind("http", http_port)?;
        let mut https = listeners::bind("https", https_port)?;
        let names = NameServer::bind(dns_port).await?;
        let files = BucketServer::bind().await?;
        // The port makes the name unique among running internets.
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
            access_log: AccessLog::default(),
            drawing: Semaphore::new(std::thread::available_parallelism().map_or(1, usize::from)),
            has_ipv6,
        });
        let mut servers = JoinSet::new();
        servers.spawn(names.serve(Arc::clone(&internet)));
        let bucket_weather = Weather::default();
        servers.spawn(files.serve(bucket, internet.counters.clone(), bucket_weather.clone()));
        servers.spawn(web::serve(http, Scheme::Http, Arc::clone(&internet)));
        servers.spawn(web::serve(https, Scheme::Https(certificates), Arc::clone(&internet)));
        let _refusing = refusing.collect();
        Ok(Running { client, ca_pem, bucket_weather, internet, servers, _refusing })
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
        Content::Graph(graph) => {
            let graph = SiteGraph::new(settings.seed, (**graph).clone())?;
            let served = Box::new(ServedGraph::new(graph));
            Ok((prepare::empty(scratch)?, Library::Graph(served)))
        }
    }
}

impl Running {
    /// Returns the counts since the start.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.internet.counters.read()
    }

    /// Starts to record each request's host and path.
    pub fn keep_access_log(&self) {
        self.internet.counters.keep_access_log();
    }

    /// Returns each request's host and path since [`keep_access_log`](Self::keep_access_log).
    #[must_use]
    pub fn access_log(&self) -> Vec<(String, String)> {
        self.internet.counters.access_log()
    }

    /// Returns the requests over HTTP/2 since [`keep_access_log`](Self::keep_access_log).
    #[must_use]
    pub fn http2_requests(&self) -> Vec<Http2Request> {
        self.internet.counters.http2_requests()
    }

    /// Returns a host's behaviour.
    #[must_use]
    pub fn behaviour(&self, host: &str) -> Behaviour {
        self.internet.behaviour(host)
    }

    /// Returns true if this internet has a host with this name.
    #[must_use]
    pub fn knows(&self, host: &str) -> bool {
        self.internet.knows(host)
    }

    /// Returns generated content's hosts in index order, or a graph's hosts by number.
    pub fn hosts(&self) -> impl Iterator<Item = String> + '_ {
        let library = &self.internet.library;
        let count = match library {
            Library::Generated(world) => world.hosts(),
            Library::Graph(served) => served.graph.hosts(),
            Library::Recorded(_) => 0,
        };
        (0..count).map(move |number| match library {
            Library::Generated(world) => world.name(number),
            Library::Graph(served) => served.graph.host_name(number),
            Library::Recorded(_) => String::new(),
        })
    }

    /// Returns this internet's site graph, if its content is one.
    #[must_use]
    pub fn graph(&self) -> Option<&SiteGraph> {
        match &self.internet.library {
            Library::Graph(served) => Some(&served.graph),
            _ => None,
        }
    }

    /// Sets a site graph's day, which is 0 at first.
    pub fn set_day(&self, day: u32) {
        if let Library::Graph(served) = &self.internet.library {
            served.set_day(day);
        }
    }

    /// Starts a log with each request's times, and ends an earlier one.
    ///
    /// # Errors
    /// Returns an error if the file cannot be created.
    pub fn log_accesses(&self, target: &AccessLogTarget) -> Result<(), TestbedError> {
        self.internet.access_log.start(target)
    }

    /// Returns the lines in memory, in the order in which requests ended. A log in a file is
    /// flushed, and returns no lines.
    #[must_use]
    pub fn access_lines(&self) -> Vec<AccessLine> {
        self.internet.access_log.lines()
    }

    /// Returns the number of requests that did not fit into the log.
    #[must_use]
    pub fn lost_accesses(&self) -> u64 {
        self.internet.access_log.lost()
    }

    /// Stops this internet's servers.
    pub async fn stop(mut self) {
        self.servers.shutdown().await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The file is useless without the authority's key.
        let _ = fs::remove_file(&self.client.ca_file);
    }
}

impl std::fmt::Debug for Running {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Running").field("client", &self.client).finish_non_exhaustive()
    }
}
