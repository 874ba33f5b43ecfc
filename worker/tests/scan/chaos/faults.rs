//! A chaos test's faults and their targets.

use std::time::Duration;

use super::{chaos_environment::ChaosEnvironment, fault_proxy::Mode};
use crate::netns::WorkerNetwork;

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Fault {
    Kill,
    /// Freezes a worker (SIGSTOP) for longer than its lease.
    FreezePastLease,
    /// Freezes a worker for less than its lease.
    FreezeWithinLease,
    PostgresRestart,
    PostgresCrash,
    /// Postgres crashes, and an asynchronous standby without its last commits replaces it.
    PostgresFailsOver,
    /// Every connection is ended by Postgres.
    BackendsTerminated,
    /// No byte passes between one worker and Postgres, and no error is reported.
    PostgresSilent,
    /// One worker's connections to Postgres break, and so do new ones.
    PostgresBroken,
    /// One worker's link is cut, so it reaches no server at all.
    LinkCut,
    NoRoute,
    /// All packets from one worker to the web are dropped.
    WebSwallowed,
    S3Errors,
    S3SlowDown,
    S3Slow,
    S3Resets,
    DiskFull,
    /// The store reports once that it is full.
    StoreFull,
    ResolverKilled,
    ResolverSilent,
    FewFiles,
}

/// A fault's target. A target has one fault at a time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Target {
    Worker(usize),
    Postgres,
    S3,
    Resolver,
}

impl Fault {
    pub(crate) const ALL: [Self; 21] = [
        Self::Kill,
        Self::FreezePastLease,
        Self::FreezeWithinLease,
        Self::PostgresRestart,
        Self::PostgresCrash,
        Self::PostgresFailsOver,
        Self::BackendsTerminated,
        Self::PostgresSilent,
        Self::PostgresBroken,
        Self::LinkCut,
        Self::NoRoute,
        Self::WebSwallowed,
        Self::S3Errors,
        Self::S3SlowDown,
        Self::S3Slow,
        Self::S3Resets,
        Self::DiskFull,
        Self::StoreFull,
        Self::ResolverKilled,
        Self::ResolverSilent,
        Self::FewFiles,
    ];

    /// Returns the fault's target. `None` if the fault is not possible now.
    pub(crate) fn target(
        self,
        environment: &ChaosEnvironment,
        worker_index: usize,
    ) -> Option<Target> {
        let worker = environment.workers.get(worker_index)?;
        match self {
            Self::PostgresRestart
            | Self::PostgresCrash
            | Self::PostgresFailsOver
            | Self::BackendsTerminated => Some(Target::Postgres),
            Self::S3Errors | Self::S3SlowDown | Self::S3Slow | Self::S3Resets | Self::StoreFull => {
                Some(Target::S3)
            }
            Self::ResolverKilled | Self::ResolverSilent => Some(Target::Resolver),
            Self::LinkCut | Self::NoRoute | Self::WebSwallowed => (worker.network.is_some()
                && worker.is_running())
            .then_some(Target::Worker(worker_index)),
            Self::DiskFull => {
                (worker.is_small && worker.is_running()).then_some(Target::Worker(worker_index))
            }
            _ => worker.is_running().then_some(Target::Worker(worker_index)),
        }
    }

    pub(crate) fn begin(self, environment: &mut ChaosEnvironment, worker_index: usize) -> Duration {
        let lease = environment.lease;
        let few_files = environment.few_files;
        let lasts = environment.random.between(1_000, 3_000);
        let Some(worker) = environment.workers.get_mut(worker_index) else { return Duration::ZERO };
        match self {
            Self::Kill => worker.kill(lasts / 4),
            Self::FreezePastLease => {
                worker.signal("STOP");
                return lease + lasts / 2;
            }
            Self::FreezeWithinLease => {
                worker.signal("STOP");
                let most = lease.min(Duration::from_secs(30)) * 3 / 4;
                return environment.random.between(300, u64::try_from(most.as_millis()).unwrap());
            }
            Self::PostgresRestart => environment.restart_postgres("INT"),
            Self::PostgresCrash => environment.restart_postgres("QUIT"),
            Self::PostgresFailsOver => environment.fail_over_postgres(),
            Self::BackendsTerminated => environment.terminate_backends(),
            Self::PostgresSilent => worker.database.set(Mode::Silent),
            Self::PostgresBroken => worker.database.set(Mode::Broken),
            Self::LinkCut => with_network(worker.network.as_ref(), |network| network.cut()),
            Self::NoRoute => with_network(worker.network.as_ref(), |network| network.lose_route()),
            Self::WebSwallowed => {
                with_network(worker.network.as_ref(), |network| network.swallow());
                return lasts * 3;
            }
            Self::S3Errors => environment.s3.set(Mode::Refuse(500)),
            Self::S3SlowDown => environment.s3.set(Mode::Refuse(503)),
            Self::S3Slow => environment.s3.set(Mode::Slow(Duration::from_millis(150))),
            Self::S3Resets => environment.s3.set(Mode::Broken),
            Self::StoreFull => environment.s3.set(Mode::NoRoom),
            Self::DiskFull => worker.fill_disk(),
            Self::ResolverKilled => environment.dns.set(Mode::Broken),
            Self::ResolverSilent => environment.dns.set(Mode::Silent),
            Self::FewFiles => {
                worker.files = Some(few_files);
                worker.kill(Duration::ZERO);
                return lasts * 2;
            }
        }
        lasts
    }

    pub(crate) fn end(self, environment: &mut ChaosEnvironment, worker_index: usize) {
        let Some(worker) = environment.workers.get_mut(worker_index) else { return };
        match self {
            Self::Kill
            | Self::PostgresRestart
            | Self::PostgresCrash
            | Self::PostgresFailsOver
            | Self::BackendsTerminated => {}
            Self::FreezePastLease | Self::FreezeWithinLease => worker.signal("CONT"),
            Self::PostgresSilent | Self::PostgresBroken => worker.database.set(Mode::Pass),
            Self::LinkCut => with_network(worker.network.as_ref(), |network| network.restore()),
            Self::NoRoute | Self::WebSwallowed => {
                with_network(worker.network.as_ref(), |network| network.find_route());
            }
            Self::S3Errors | Self::S3SlowDown | Self::S3Slow | Self::S3Resets | Self::StoreFull => {
                environment.s3.set(Mode::Pass)
            }
            Self::DiskFull => worker.free_disk(),
            Self::ResolverKilled | Self::ResolverSilent => environment.dns.set(Mode::Pass),
            Self::FewFiles => {
                worker.files = None;
                worker.kill(Duration::ZERO);
            }
        }
    }
}

fn with_network(
    network: Option<&WorkerNetwork>,
    act: impl FnOnce(&WorkerNetwork) -> std::io::Result<()>,
) {
    if let Some(network) = network {
        act(network).unwrap();
    }
}
