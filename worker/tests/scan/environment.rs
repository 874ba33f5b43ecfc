//! The environment for a scan in a test: a small internet, a database, and stores in directories or
//! S3.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
};

use everytab_postgres::{PrivatePostgres, shared_for_tests};
use everytab_testbed::{Mix, Running, Settings, SmallInternet, s3::S3Server};
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::{
    holding_proxy::HoldingProxy,
    setup::{folder, run, worker},
};

const ACCESS_KEY: &str = "EVERYTABTEST";
const SECRET_KEY: &str = "a-secret-of-tests-alone";

pub(crate) struct Internet {
    // Drop order: the servers must stop before their runtime and their files.
    pub(crate) running: Running,
    pub(crate) runtime: Runtime,
    pub(crate) folder: TempDir,
}

pub(crate) fn internet(hosts: u64, behaviours: Mix) -> Internet {
    internet_with(|scratch| Settings { behaviours, ..Settings::generated(7, hosts, scratch) })
}

pub(crate) fn internet_with(settings: impl FnOnce(PathBuf) -> Settings) -> Internet {
    let folder = folder();
    let runtime = Runtime::new().unwrap();
    let settings = settings(folder.path().join("small-internet"));
    let running = runtime.block_on(SmallInternet::start(settings)).unwrap();
    Internet { running, runtime, folder }
}

impl Internet {
    /// Starts an S3 endpoint with the crawl in the bucket `crawl`, and an empty bucket `everytab`.
    pub(crate) fn s3(&self) -> S3Server {
        let dir = self.folder.path().join("s3");
        let start = S3Server::start(&dir, ACCESS_KEY, SECRET_KEY);
        let server = self.runtime.block_on(start).unwrap();
        server.create_bucket("everytab").unwrap();
        copy_folder(&self.running.client.bucket_dir, &dir.join("crawl"));
        server
    }

    pub(crate) fn behind_proxy(&self, dir: &Path) -> (HoldingProxy, Stores) {
        let proxy = HoldingProxy::before(&self.running.client.bucket_url);
        let source = format!("{}/", proxy.endpoint);
        let stores = Stores { source, ..Stores::folders(self, dir) };
        (proxy, stores)
    }

    /// Starts a scan whose requests for WARC records are held after the first ten.
    pub(crate) fn held_scan(&self) -> (HoldingProxy, Database) {
        let (proxy, stores) = self.behind_proxy(self.folder.path());
        let database = Database::new(self, stores);
        database.start_scan(self.crawl(), &[]);
        proxy.hold("GET", "/segments/", 10);
        (proxy, database)
    }

    pub(crate) fn crawl(&self) -> &str {
        &self.running.client.crawl
    }
}

pub(crate) fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), &to).unwrap();
        }
    }
}

pub(crate) fn with_s3(command: &mut Command, endpoint: &str) {
    command
        .env("AWS_ENDPOINT_URL", endpoint)
        .env("AWS_ACCESS_KEY_ID", ACCESS_KEY)
        .env("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
        .env("AWS_REGION", "us-east-1");
}

#[derive(Debug, Clone)]
pub(crate) struct Stores {
    pub(crate) source: String,
    pub(crate) archive: String,
    pub(crate) site: String,
    pub(crate) s3: Option<String>,
}

impl Stores {
    pub(crate) fn folders(internet: &Internet, dir: &Path) -> Self {
        Self::folders_of(&internet.running.client.bucket_dir, dir)
    }

    pub(crate) fn folders_of(bucket: &Path, dir: &Path) -> Self {
        Self {
            source: format!("file://{}", bucket.display()),
            archive: format!("file://{}/archive", dir.display()),
            site: format!("file://{}/site", dir.display()),
            s3: None,
        }
    }

    /// All stores in S3, in the buckets from [`Internet::s3`].
    pub(crate) fn s3(endpoint: &str) -> Self {
        Self {
            source: "s3://crawl".to_owned(),
            archive: "s3://everytab/private".to_owned(),
            site: "s3://everytab/site".to_owned(),
            s3: Some(endpoint.to_owned()),
        }
    }

    pub(crate) fn arguments(&self) -> Vec<String> {
        let pairs =
            [("--source", &self.source), ("--archive", &self.archive), ("--site", &self.site)];
        pairs.into_iter().flat_map(|(name, url)| [name.to_owned(), url.clone()]).collect()
    }
}

pub(crate) struct Database {
    pub(crate) name: String,
    owner_url: String,
    /// The workers' URL. Tests replace it to put a pooler or a proxy in between.
    pub(crate) worker_url: String,
    pub(crate) stores: Stores,
    fetch: Vec<String>,
}

const TEMPLATE: &str = "everytab_scan_tests";

impl Database {
    pub(crate) fn new(internet: &Internet, stores: Stores) -> Self {
        let server = shared_for_tests();
        server.template(TEMPLATE, |url| {
            run(worker(["migrate", "--database-url", url])).expect_code(0);
        });
        let name = server.fresh_database(Some(TEMPLATE));
        let url = |user| server.url(&name, user);
        let (owner_url, worker_url) = (url("postgres"), url("everytab_worker"));
        let fetch = internet.running.client.arguments();
        Self { name, owner_url, worker_url, stores, fetch }
    }

    /// Creates a database on a server that the test itself starts and stops.
    pub(crate) fn on(server: &PrivatePostgres, internet: &Internet, stores: Stores) -> Self {
        let name = "everytab".to_owned();
        server.psql("postgres", "create database everytab").unwrap();
        let url = |user| server.url(&name, user);
        let (owner_url, worker_url) = (url("postgres"), url("everytab_worker"));
        run(worker(["migrate", "--database-url", &owner_url])).expect_code(0);
        let fetch = internet.running.client.arguments();
        Self { name, owner_url, worker_url, stores, fetch }
    }

    pub(crate) fn owner(&self, arguments: &[&str]) -> Command {
        let mut command = worker(arguments);
        command.env("DATABASE_URL", &self.owner_url);
        if let Some(endpoint) = &self.stores.s3 {
            with_s3(&mut command, endpoint);
        }
        command
    }

    /// Runs `scan start` with two-second leases.
    pub(crate) fn start_scan(&self, crawl: &str, more: &[&str]) {
        self.start_scan_with_lease(crawl, "2s", more);
    }

    pub(crate) fn start_scan_with_lease(&self, crawl: &str, lease: &str, more: &[&str]) {
        let mut command = self.owner(&["scan", "start", "--crawl", crawl, "--lease", lease]);
        command.args(self.stores.arguments()).args(more);
        run(command).expect_code(0);
    }

    pub(crate) fn set_dns(&mut self, dns: SocketAddr) {
        let at = self.fetch.iter().position(|argument| argument == "--dns").unwrap();
        self.fetch[at + 1] = dns.to_string();
    }

    /// Returns a worker command with the role that may only execute the coordinator's functions.
    pub(crate) fn worker(&self, arguments: &[&str]) -> Command {
        let mut command = worker(["run"]);
        command.args(arguments).args(&self.fetch);
        command.env("DATABASE_URL", &self.worker_url);
        if let Some(endpoint) = &self.stores.s3 {
            with_s3(&mut command, endpoint);
        }
        command
    }

    pub(crate) fn worker_through(&self, address: SocketAddr, arguments: &[&str]) -> Command {
        let mut command = self.worker(arguments);
        let url = format!("postgres://everytab_worker@{address}/{}?sslmode=disable", self.name);
        command.env("DATABASE_URL", url);
        command
    }

    /// Returns the document of `scan status --json`.
    pub(crate) fn status(&self) -> Value {
        let ended = run(self.owner(&["scan", "status", "--json"])).expect_code(0);
        serde_json::from_str(&ended.stdout).unwrap()
    }

    pub(crate) fn psql(&self, sql: &str) -> String {
        shared_for_tests().psql(&self.name, sql).unwrap()
    }
}

pub(crate) fn socket_of(url: &str) -> PathBuf {
    let folder = url.split("host=").nth(1).and_then(|rest| rest.split('&').next()).unwrap();
    PathBuf::from(folder.replace("%2F", "/")).join(".s.PGSQL.5432")
}

pub(crate) fn stage<'a>(status: &'a Value, kind: &str) -> &'a Value {
    let stages = status["stages"].as_array().unwrap();
    stages.iter().find(|stage| stage["kind"] == kind).unwrap_or_else(|| panic!("{kind}: {status}"))
}

/// Returns a loopback address with a closed port.
pub(crate) fn unused_address() -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}
