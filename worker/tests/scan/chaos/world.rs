//! A small internet, a Postgres that may be killed, S3, a name server, and workers, with a wire
//! between each two of them that may be cut; and the storm that does all that.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use everytab_postgres::{PostgresSettings, PrivatePostgres};
use everytab_testbed::s3::S3Server;

use super::{
    faults::{Fault, Target},
    fleet::{Member, Orders},
    wire::{Names, Proxy, Server},
};
use crate::{
    books::{Books, SMALL_SHARDS},
    netns::{self, Uplink},
    places::{Internet, Stores, socket_of, with_s3},
    setup::{run, wait_for, worker},
};

const OWNER: &str = "postgres";

/// Numbers drawn from a seed.
#[derive(Debug)]
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        // Knuth's MMIX generator; its upper bits are the random ones.
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound.max(1)
    }

    pub(crate) fn between(&mut self, low_ms: u64, high_ms: u64) -> Duration {
        let span = usize::try_from(high_ms.saturating_sub(low_ms)).unwrap();
        Duration::from_millis(low_ms + self.below(span + 1) as u64)
    }
}

/// How a world is made.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) workers: u8,
    pub(crate) lease: Duration,
    pub(crate) seed: u64,
    /// Open files of a worker that is given few.
    pub(crate) few_files: u64,
    /// Room for each worker's temporary files.
    pub(crate) temporary_bytes: u64,
    /// More options of each worker.
    pub(crate) arguments: Vec<String>,
}

/// Everything that a scan needs, and may be denied.
pub(crate) struct World {
    pub(crate) members: Vec<Member>,
    pub(crate) s3: Proxy,
    pub(crate) names: Names,
    pub(crate) dice: Dice,
    pub(crate) lease: Duration,
    pub(crate) few_files: u64,
    pub(crate) made: BTreeMap<Fault, usize>,
    orders: Orders,
    stores: Stores,
    postgres: Option<PrivatePostgres>,
    postgres_dir: PathBuf,
    s3_server: S3Server,
    shuffle: u64,
}

impl Books for World {
    fn psql(&self, sql: &str) -> String {
        self.postgres().psql(&self.orders.database, sql).unwrap()
    }

    /// By an unbroken wire.
    fn owner(&self, arguments: &[&str]) -> Command {
        let mut command = worker(arguments);
        command.env("DATABASE_URL", self.postgres().url(&self.orders.database, OWNER));
        with_s3(&mut command, &self.s3_server.endpoint);
        command
    }
}

struct UnderWay {
    fault: Fault,
    worker: usize,
    target: Target,
    until: Instant,
}

impl World {
    /// `has_network` says that this thread's network is its own ([`netns::enter`]).
    pub(crate) fn new(internet: &Internet, plan: &Plan, has_network: bool) -> Self {
        let folder = internet.folder.path();
        let postgres_dir = folder.join("postgres");
        let postgres = start_postgres(&postgres_dir);
        let database = "everytab";
        make_database(&postgres, database);
        let socket = Server::Unix(socket_of(&postgres.admin_url()));
        let runtime = &internet.runtime;
        let s3_server = internet.s3();
        let s3_address = s3_server.endpoint.trim_start_matches("http://").to_owned();
        let s3 = Proxy::before(runtime, Server::Tcp(s3_address));
        let names = Names::before(runtime, internet.running.client.dns);
        let mut client = internet.running.client.clone();
        client.dns = names.address;
        let mut arguments = client.arguments();
        arguments.extend(plan.arguments.iter().cloned());
        let members = (1..=plan.workers).map(|number| {
            let temporary = folder.join(format!("worker-{number}"));
            fs::create_dir(&temporary).unwrap();
            let uplink = has_network.then(|| Uplink::new(number).unwrap());
            let wire = Proxy::before(runtime, socket.clone());
            let mut member = Member::new(wire, uplink, temporary);
            if has_network {
                netns::mount_small(&member.temporary, plan.temporary_bytes).unwrap();
                member.is_small = true;
            }
            member
        });
        let endpoint = format!("http://{}", s3.address);
        Self {
            members: members.collect(),
            names,
            dice: Dice(plan.seed),
            lease: plan.lease,
            few_files: plan.few_files,
            made: BTreeMap::new(),
            orders: Orders { arguments, database: database.to_owned(), s3: endpoint },
            stores: Stores::s3(&s3_server.endpoint),
            s3,
            postgres: Some(postgres),
            postgres_dir,
            s3_server,
            shuffle: plan.seed,
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

    /// Ends Postgres by a signal to its postmaster and starts it again.
    pub(crate) fn restart_postgres(&mut self, signal: &str) {
        let Some(postgres) = self.postgres.take() else { return };
        let pid = postgres.pid().to_string();
        let sent = Command::new("kill").args(["-s", signal, &pid]).status().unwrap();
        assert!(sent.success(), "SIG{signal} to Postgres");
        wait_for("the end of Postgres", || (!postgres.is_running()).then_some(()));
        drop(postgres);
        self.postgres = Some(start_postgres(&self.postgres_dir));
    }

    pub(crate) fn terminate_backends(&self) {
        let sql = "select count(pg_terminate_backend(pid)) from pg_stat_activity
                    where backend_type = 'client backend' and pid <> pg_backend_pid()";
        self.psql(sql);
    }

    /// One scan under fire: faults as the dice fall until `wanted` were made in all or the scan is
    /// over; then calm until it is.
    pub(crate) fn storm(&mut self, wanted: usize, gap_ms: (u64, u64), deadline: Instant) {
        let mut under_way: Vec<UnderWay> = Vec::new();
        let mut next = Instant::now() + self.dice.between(gap_ms.0, gap_ms.1);
        let mut look = Instant::now();
        loop {
            let now = Instant::now();
            assert!(now < deadline, "the scan does not end: {}", self.status());
            for member in &mut self.members {
                member.tend(&self.orders);
            }
            while let Some(at) = under_way.iter().position(|one| one.until <= now) {
                let ended = under_way.swap_remove(at);
                ended.fault.end(self, ended.worker);
            }
            if now >= look {
                if self.is_over() {
                    break;
                }
                look = now + Duration::from_millis(200);
            }
            if now >= next && self.made.values().sum::<usize>() < wanted {
                under_way.extend(self.one_more(&under_way));
                next = Instant::now() + self.dice.between(gap_ms.0, gap_ms.1);
            }
            thread::sleep(Duration::from_millis(20));
        }
        for ended in under_way {
            ended.fault.end(self, ended.worker);
        }
        for member in &mut self.members {
            member.wait_for_end();
        }
    }

    /// Begins a fault, of the kinds made least often so far, on something that has none.
    fn one_more(&mut self, under_way: &[UnderWay]) -> Option<UnderWay> {
        let worker = self.dice.below(self.members.len());
        let is_free = |target: &Target| under_way.iter().all(|one| one.target != *target);
        let mut can: Vec<(usize, Fault, Target)> = Fault::ALL
            .into_iter()
            .filter_map(|fault| {
                let target = fault.target(self, worker).filter(is_free)?;
                Some((self.made.get(&fault).copied().unwrap_or(0), fault, target))
            })
            .collect();
        let least = can.iter().map(|(made, ..)| *made).min()?;
        can.retain(|(made, ..)| *made == least);
        let (_, fault, target) = *can.get(self.dice.below(can.len()))?;
        let lasts = fault.begin(self, worker);
        *self.made.entry(fault).or_default() += 1;
        Some(UnderWay { fault, worker, target, until: Instant::now() + lasts })
    }

    /// Keeps workers going, without a fault, until `enough`.
    pub(crate) fn go_on(&mut self, deadline: Instant, enough: impl Fn(&Self) -> bool) {
        while !enough(self) {
            assert!(Instant::now() < deadline, "nothing goes on: {}", self.status());
            for member in &mut self.members {
                member.tend(&self.orders);
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// What a worker sends to the web vanishes from now on.
    pub(crate) fn swallow(&self, worker: usize) {
        self.uplink(worker).swallow().unwrap();
    }

    pub(crate) fn find_route(&self, worker: usize) {
        self.uplink(worker).find_route().unwrap();
    }

    fn uplink(&self, worker: usize) -> &Uplink {
        self.members.get(worker).and_then(|member| member.uplink.as_ref()).unwrap()
    }

    fn is_over(&self) -> bool {
        let sql = "select state from everytab.runs order by run desc limit 1";
        let state = self.postgres().psql(&self.orders.database, sql).unwrap_or_default();
        state.starts_with("finished")
    }

    /// What all ended workers said.
    pub(crate) fn said(&self) -> impl Iterator<Item = &(String, String)> {
        self.members.iter().flat_map(|member| &member.said)
    }
}

/// A crash of the server loses nothing that was committed; one of the machine would.
fn start_postgres(dir: &Path) -> PrivatePostgres {
    let settings = PostgresSettings {
        durable: false,
        extra: vec![("synchronous_commit".to_owned(), "on".to_owned())],
        ..PostgresSettings::new(dir)
    };
    PrivatePostgres::start(settings).unwrap()
}

fn make_database(postgres: &PrivatePostgres, name: &str) {
    postgres.psql("postgres", &format!("create database \"{name}\"")).unwrap();
    let url = postgres.url(name, OWNER);
    run(worker(["migrate", "--database-url", &url])).expect_code(0);
}
