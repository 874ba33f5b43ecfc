//! A chaos test's servers and workers, and the loop that injects faults while a scan or a crawl
//! runs.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use everytab_patience::LongWait;
use everytab_postgres::{PostgresSettings, PrivatePostgres};
use everytab_testbed::s3::S3Server;

use super::{
    chaos_workers::{ChaosWorker, WorkerOptions},
    failover::LostCommits,
    fault_proxy::{DnsProxy, FaultProxy, Upstream},
    faults::{Fault, Target},
};
use crate::{
    consistency::{OwnedDatabase, SMALL_SHARDS},
    environment::{Internet, Stores, socket_of, with_s3},
    live_crawls::start_crawl_to,
    netns::{self, WorkerNetwork},
    setup::{run, wait_for, worker},
};

const OWNER: &str = "postgres";

#[derive(Debug)]
pub(crate) struct SeededRandom(pub(crate) u64);

impl SeededRandom {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        // Knuth's MMIX generator, of which only the upper bits are random enough.
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound.max(1)
    }

    pub(crate) fn between(&mut self, low_ms: u64, high_ms: u64) -> Duration {
        let span = usize::try_from(high_ms.saturating_sub(low_ms)).unwrap();
        Duration::from_millis(low_ms + self.below(span + 1) as u64)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct ChaosSettings {
    pub(crate) workers: u8,
    pub(crate) lease: Duration,
    pub(crate) seed: u64,
    /// The low open file limit for [`Fault::FewFiles`].
    pub(crate) few_files: u64,
    pub(crate) temporary_bytes: u64,
    pub(crate) arguments: Vec<String>,
}

pub(crate) struct ChaosEnvironment {
    pub(crate) workers: Vec<ChaosWorker>,
    pub(crate) s3: FaultProxy,
    pub(crate) dns: DnsProxy,
    pub(crate) random: SeededRandom,
    pub(crate) lease: Duration,
    pub(crate) few_files: u64,
    pub(crate) fault_counts: BTreeMap<Fault, usize>,
    pub(crate) lost: LostCommits,
    options: WorkerOptions,
    stores: Stores,
    postgres: Option<PrivatePostgres>,
    postgres_dir: PathBuf,
    s3_server: S3Server,
    shuffle: u64,
    crawl: Option<String>,
}

impl OwnedDatabase for ChaosEnvironment {
    fn psql(&self, sql: &str) -> String {
        self.postgres().psql(&self.options.database, sql).unwrap()
    }

    /// Connects directly to Postgres and S3, not through a proxy.
    fn owner(&self, arguments: &[&str]) -> Command {
        let mut command = worker(arguments);
        command.env("DATABASE_URL", self.postgres().url(&self.options.database, OWNER));
        with_s3(&mut command, &self.s3_server.endpoint);
        command
    }
}

struct ActiveFault {
    fault: Fault,
    worker_index: usize,
    target: Target,
    until: Instant,
}

impl ChaosEnvironment {
    /// `has_network` is true if this thread has a separate network ([`netns::enter_namespaces`]).
    pub(crate) fn new(internet: &Internet, settings: &ChaosSettings, has_network: bool) -> Self {
        let folder = internet.folder.path();
        let postgres_dir = folder.join("postgres");
        let postgres = start_postgres(&postgres_dir);
        let database = "everytab";
        make_database(&postgres, database);
        let socket = Upstream::Unix(socket_of(&postgres.admin_url()));
        let runtime = &internet.runtime;
        let s3_server = internet.s3();
        let s3_address = s3_server.endpoint.trim_start_matches("http://").to_owned();
        let s3 = FaultProxy::before(runtime, Upstream::Tcp(s3_address));
        let dns = DnsProxy::before(runtime, internet.running.client.dns);
        let mut client = internet.running.client.clone();
        client.dns = dns.address;
        let mut arguments = client.arguments();
        arguments.extend(settings.arguments.iter().cloned());
        let workers = (1..=settings.workers).map(|number| {
            let temporary = folder.join(format!("worker-{number}"));
            fs::create_dir(&temporary).unwrap();
            let network = has_network.then(|| WorkerNetwork::new(number).unwrap());
            let postgres_proxy = FaultProxy::before(runtime, socket.clone());
            let mut worker = ChaosWorker::new(postgres_proxy, network, temporary);
            if has_network {
                netns::mount_small(&worker.temporary, settings.temporary_bytes).unwrap();
                worker.is_small = true;
            }
            worker
        });
        let endpoint = format!("http://{}", s3.address);
        Self {
            workers: workers.collect(),
            dns,
            random: SeededRandom(settings.seed),
            lease: settings.lease,
            few_files: settings.few_files,
            fault_counts: BTreeMap::new(),
            lost: LostCommits::default(),
            options: WorkerOptions { arguments, database: database.to_owned(), s3: endpoint },
            stores: Stores::s3(&s3_server.endpoint),
            s3,
            postgres: Some(postgres),
            postgres_dir,
            s3_server,
            shuffle: settings.seed,
            crawl: None,
        }
    }

    fn postgres(&self) -> &PrivatePostgres {
        self.postgres.as_ref().unwrap()
    }

    pub(crate) fn start_scan(&mut self, crawl: &str) {
        self.shuffle += 1;
        let lease = format!("{}ms", self.lease.as_millis());
        let shuffle = self.shuffle.to_string();
        let mut command = self.owner(&["scan", "start", "--crawl", crawl, "--lease", &lease]);
        command.args(SMALL_SHARDS).args(["--shuffle", &shuffle]).args(self.stores.arguments());
        run(command).expect_code(0);
    }

    pub(crate) fn start_crawl(&mut self, internet: &Internet, delay: &str) -> String {
        let id = start_crawl_to("s3://everytab/crawls", internet, self, delay);
        self.crawl = Some(id.clone());
        id
    }

    pub(crate) fn restart_postgres(&mut self, signal: &str) {
        let Some(postgres) = self.postgres.take() else { return };
        let pid = postgres.pid().to_string();
        let sent = Command::new("kill").args(["-s", signal, &pid]).status().unwrap();
        assert!(sent.success(), "SIG{signal} to Postgres");
        wait_for("the end of Postgres", || (!postgres.is_running()).then_some(()));
        drop(postgres);
        self.postgres = Some(start_postgres(&self.postgres_dir));
    }

    /// Replaces Postgres by an asynchronous standby that lacks the last commits.
    pub(crate) fn fail_over_postgres(&mut self) {
        let Some(postgres) = self.postgres.take() else { return };
        let settings = postgres_settings(&self.postgres_dir);
        self.postgres = Some(self.lost.fail_over(postgres, settings, &self.options.database));
    }

    pub(crate) fn terminate_backends(&self) {
        let sql = "select count(pg_terminate_backend(pid)) from pg_stat_activity
                    where backend_type = 'client backend' and pid <> pg_backend_pid()";
        self.psql(sql);
    }

    /// Runs the scan or crawl to its end, with random faults until `wanted` were injected.
    pub(crate) fn run_with_faults(&mut self, wanted: usize, gap_ms: (u64, u64)) {
        let mut wait = LongWait::new();
        let mut active: Vec<ActiveFault> = Vec::new();
        let mut next = Instant::now() + self.random.between(gap_ms.0, gap_ms.1);
        let mut next_check = Instant::now();
        loop {
            let now = Instant::now();
            for worker in &mut self.workers {
                worker.restart_if_ended(&self.options);
            }
            while let Some(at) = active.iter().position(|one| one.until <= now) {
                let ended = active.swap_remove(at);
                ended.fault.end(self, ended.worker_index);
            }
            if now >= next_check {
                // `None` if Postgres has ended the session.
                if let Some(state) = self.state() {
                    if state.starts_with("over") {
                        break;
                    }
                    wait.note(state);
                }
                next_check = now + Duration::from_millis(200);
            }
            if now >= next && self.fault_counts.values().sum::<usize>() < wanted {
                active.extend(self.begin_fault(&active));
                next = Instant::now() + self.random.between(gap_ms.0, gap_ms.1);
            }
            thread::sleep(Duration::from_millis(20));
        }
        for ended in active {
            ended.fault.end(self, ended.worker_index);
        }
        for worker in &mut self.workers {
            worker.wait_for_end();
        }
    }

    /// Starts a fault of one of the rarest kinds so far, on a target without a fault.
    fn begin_fault(&mut self, active: &[ActiveFault]) -> Option<ActiveFault> {
        let worker_index = self.random.below(self.workers.len());
        let is_free = |target: &Target| active.iter().all(|one| one.target != *target);
        let mut can: Vec<(usize, Fault, Target)> = Fault::ALL
            .into_iter()
            .filter_map(|fault| {
                let target = fault.target(self, worker_index).filter(is_free)?;
                Some((self.fault_counts.get(&fault).copied().unwrap_or(0), fault, target))
            })
            .collect();
        let least = can.iter().map(|(made, ..)| *made).min()?;
        can.retain(|(made, ..)| *made == least);
        let (_, fault, target) = *can.get(self.random.below(can.len()))?;
        let lasts = fault.begin(self, worker_index);
        *self.fault_counts.entry(fault).or_default() += 1;
        Some(ActiveFault { fault, worker_index, target, until: Instant::now() + lasts })
    }

    pub(crate) fn run_until(&mut self, enough: impl Fn(&Self) -> bool) {
        wait_for("what the workers are to do", || {
            for worker in &mut self.workers {
                worker.restart_if_ended(&self.options);
            }
            enough(self).then_some(())
        });
    }

    pub(crate) fn swallow(&self, worker_index: usize) {
        self.network(worker_index).swallow().unwrap();
    }

    pub(crate) fn find_route(&self, worker_index: usize) {
        self.network(worker_index).find_route().unwrap();
    }

    fn network(&self, worker_index: usize) -> &WorkerNetwork {
        self.workers.get(worker_index).and_then(|worker| worker.network.as_ref()).unwrap()
    }

    /// Returns the progress of the newest crawl or scan, which starts with "over" if it has ended.
    /// `None` if Postgres is unreachable.
    fn state(&self) -> Option<String> {
        let sql = match &self.crawl {
            Some(_) => {
                "select case state when 'ended' then 'over' else state end, sum(s.known),
                        sum(s.captured), sum(s.failed), sum(s.sent), sum(s.read)
                   from everytab.crawls c left join everytab.crawl_slots s using (crawl)
                  group by crawl order by crawl desc limit 1"
            }
            None => {
                "select case r.state when 'finished' then 'over' else r.state::text end,
                        sum(s.done), sum(s.outstanding)
                   from everytab.runs r left join everytab.stages s using (run)
                  group by run order by run desc limit 1"
            }
        };
        self.postgres().psql(&self.options.database, sql).ok()
    }

    pub(crate) fn ended_logs(&self) -> impl Iterator<Item = &(String, String)> {
        self.workers.iter().flat_map(|worker| &worker.ended_logs)
    }
}

/// Postgres keeps all commits if its processes crash, but not if the host crashes.
fn postgres_settings(dir: &Path) -> PostgresSettings {
    PostgresSettings {
        durable: false,
        extra: vec![("synchronous_commit".to_owned(), "on".to_owned())],
        ..PostgresSettings::new(dir)
    }
}

fn start_postgres(dir: &Path) -> PrivatePostgres {
    PrivatePostgres::start(postgres_settings(dir)).unwrap()
}

fn make_database(postgres: &PrivatePostgres, name: &str) {
    postgres.psql("postgres", &format!("create database \"{name}\"")).unwrap();
    let url = postgres.url(name, OWNER);
    run(worker(["migrate", "--database-url", &url])).expect_code(0);
}
