//! The faults of a storm: what each does, to whom, and how it ends.

use std::time::Duration;

use super::{wire::Mode, world::World};

/// One kind of fault.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Fault {
    /// kill -9 of a worker.
    Kill,
    /// SIGSTOP for longer than a lease lasts, then SIGCONT.
    FreezePastLease,
    /// SIGSTOP for less than that.
    FreezeWithinLease,
    /// Postgres is shut down and started again.
    PostgresRestart,
    /// Postgres crashes and recovers.
    PostgresCrash,
    /// Every connection is ended by Postgres.
    BackendsTerminated,
    /// Nothing passes between one worker and Postgres.
    PostgresSilent,
    /// Connections of one worker to Postgres break, new ones too.
    PostgresBroken,
    /// The link of one worker is cut, with all that lies beyond it.
    LinkCut,
    /// One worker has no route to the web.
    NoRoute,
    /// What one worker sends to the web vanishes.
    WebSwallowed,
    /// S3 answers 500.
    S3Errors,
    /// S3 answers 503 Slow Down.
    S3SlowDown,
    /// S3 takes its time.
    S3Slow,
    /// S3 breaks connections.
    S3Resets,
    /// The temporary folder of one worker is full.
    DiskFull,
    /// The store has no room, once.
    StoreFull,
    /// No process listens where the resolver was.
    ResolverKilled,
    /// The resolver says nothing.
    ResolverSilent,
    /// One worker is started anew with few open files.
    FewFiles,
}

/// What a fault takes hold of; one thing has one fault at a time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Target {
    Worker(usize),
    Postgres,
    S3,
    Resolver,
}

impl Fault {
    pub(crate) const ALL: [Self; 20] = [
        Self::Kill,
        Self::FreezePastLease,
        Self::FreezeWithinLease,
        Self::PostgresRestart,
        Self::PostgresCrash,
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

    /// What it takes hold of, if it can be made in this world now.
    pub(crate) fn target(self, world: &World, worker: usize) -> Option<Target> {
        let member = world.members.get(worker)?;
        match self {
            Self::PostgresRestart | Self::PostgresCrash | Self::BackendsTerminated => {
                Some(Target::Postgres)
            }
            Self::S3Errors | Self::S3SlowDown | Self::S3Slow | Self::S3Resets | Self::StoreFull => {
                Some(Target::S3)
            }
            Self::ResolverKilled | Self::ResolverSilent => Some(Target::Resolver),
            Self::LinkCut | Self::NoRoute | Self::WebSwallowed => {
                (member.uplink.is_some() && member.is_running()).then_some(Target::Worker(worker))
            }
            Self::DiskFull => {
                (member.is_small && member.is_running()).then_some(Target::Worker(worker))
            }
            _ => member.is_running().then_some(Target::Worker(worker)),
        }
    }

    /// Begins it; answers for how long it lasts.
    pub(crate) fn begin(self, world: &mut World, worker: usize) -> Duration {
        let (lease, few_files) = (world.lease, world.few_files);
        let lasts = world.dice.between(1_000, 3_000);
        let Some(member) = world.members.get_mut(worker) else { return Duration::ZERO };
        match self {
            Self::Kill => member.kill(lasts / 4),
            Self::FreezePastLease => {
                member.signal("STOP");
                return lease + lasts / 2;
            }
            Self::FreezeWithinLease => {
                member.signal("STOP");
                let most = lease.min(Duration::from_secs(30)) * 3 / 4;
                return world.dice.between(300, u64::try_from(most.as_millis()).unwrap());
            }
            Self::PostgresRestart => world.restart_postgres("INT"),
            Self::PostgresCrash => world.restart_postgres("QUIT"),
            Self::BackendsTerminated => world.terminate_backends(),
            Self::PostgresSilent => member.database.set(Mode::Silent),
            Self::PostgresBroken => member.database.set(Mode::Broken),
            Self::LinkCut => each(member.uplink.as_ref(), |uplink| uplink.cut()),
            Self::NoRoute => each(member.uplink.as_ref(), |uplink| uplink.lose_route()),
            Self::WebSwallowed => {
                each(member.uplink.as_ref(), |uplink| uplink.swallow());
                return lasts * 3;
            }
            Self::S3Errors => world.s3.set(Mode::Refuse(500)),
            Self::S3SlowDown => world.s3.set(Mode::Refuse(503)),
            Self::S3Slow => world.s3.set(Mode::Slow(Duration::from_millis(150))),
            Self::S3Resets => world.s3.set(Mode::Broken),
            Self::StoreFull => world.s3.set(Mode::NoRoom),
            Self::DiskFull => member.fill_disk(),
            Self::ResolverKilled => world.names.set(Mode::Broken),
            Self::ResolverSilent => world.names.set(Mode::Silent),
            Self::FewFiles => {
                member.files = Some(few_files);
                member.kill(Duration::ZERO);
                return lasts * 2;
            }
        }
        lasts
    }

    /// Ends it.
    pub(crate) fn end(self, world: &mut World, worker: usize) {
        let Some(member) = world.members.get_mut(worker) else { return };
        match self {
            Self::Kill | Self::PostgresRestart | Self::PostgresCrash | Self::BackendsTerminated => {
            }
            Self::FreezePastLease | Self::FreezeWithinLease => member.signal("CONT"),
            Self::PostgresSilent | Self::PostgresBroken => member.database.set(Mode::Pass),
            Self::LinkCut => each(member.uplink.as_ref(), |uplink| uplink.mend()),
            Self::NoRoute | Self::WebSwallowed => {
                each(member.uplink.as_ref(), |uplink| uplink.find_route());
            }
            Self::S3Errors | Self::S3SlowDown | Self::S3Slow | Self::S3Resets | Self::StoreFull => {
                world.s3.set(Mode::Pass)
            }
            Self::DiskFull => member.free_disk(),
            Self::ResolverKilled | Self::ResolverSilent => world.names.set(Mode::Pass),
            Self::FewFiles => {
                member.files = None;
                member.kill(Duration::ZERO);
            }
        }
    }
}

fn each<T>(of: Option<&T>, act: impl FnOnce(&T) -> std::io::Result<()>) {
    if let Some(of) = of {
        act(of).unwrap();
    }
}
