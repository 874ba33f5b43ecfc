//! Scans under fire: four workers, and faults of every kind at random moments from a seed. The
//! bytes, the outcomes and the books are those of a scan that nobody disturbed.
//!
//! Each storm has a thread with a network and mounts of its own (`netns`), where that may be made;
//! elsewhere links and disks are left alone and a line says so. `CHAOS_SEED`, `FAULTS` and `HOSTS`
//! make it another storm or a longer one; `scripts/chaos.sh` does.

mod faults;
mod fleet;
mod netns;
mod report;
pub(crate) mod wire;
mod world;

use std::{
    thread,
    time::{Duration, Instant},
};

use everytab_testbed::{Behaviour, Latency, Mix, Settings};

use crate::{
    books::{self, Books as _, Found},
    kills::processes_of,
    places::{Database, Internet, Stores, internet_of},
};
use world::{Plan, World};

/// The variable's number, or another.
fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).map_or(otherwise, |text| text.parse().unwrap())
}

/// Runs a test in a thread with a network and mounts of its own, if it can be had.
fn apart(test: impl FnOnce(bool) + Send) {
    let ended = thread::scope(|scope| {
        let body = || {
            let entered = netns::enter();
            if let Err(error) = &entered {
                println!("skipped: cut links and full disks: no namespaces here ({error})");
            }
            test(entered.is_ok());
        };
        scope.spawn(body).join()
    });
    if let Err(panic) = ended {
        std::panic::resume_unwind(panic);
    }
}

/// A bit of everything that the web does and that the same answers tell apart from our own
/// trouble; hosts at shared addresses, some of which hang.
fn mix() -> Mix {
    Mix::light()
        .with(Behaviour::NeverAnswers, 12_000)
        .with(Behaviour::StallsInBody, 0)
        .with(Behaviour::ConnectTimeout, 8_000)
        .with_shared_address(250_000)
}

/// Hosts, faults, the time from one fault to the next.
struct Storm {
    faults: usize,
    gap_ms: (u64, u64),
    limit: Duration,
    plan: Plan,
}

impl Storm {
    fn short() -> Self {
        let plan = Plan {
            workers: 4,
            lease: Duration::from_secs(2),
            seed: number("CHAOS_SEED", 20_261_121),
            temporary_bytes: 16 << 20,
            arguments: vec!["--in-flight".to_owned(), "16".to_owned()],
        };
        Self { faults: 24, gap_ms: (200, 700), limit: Duration::from_secs(240), plan }
    }

    fn rage(&self, internet: &Internet, has_network: bool) {
        let folder = internet.folder.path();
        let calm = folder.join("undisturbed");
        let database = Database::new(internet, Stores::folders(internet, &calm));
        let began = Instant::now();
        let expected = Found::undisturbed(&database, internet.crawl(), &calm.join("site"));
        println!("undisturbed: {:.0?}", began.elapsed());
        let mut world = World::new(internet, &self.plan, has_network);
        let began = Instant::now();
        let mut events = Vec::new();
        let mut scans = 0;
        while scans == 0 || world.made.values().sum::<usize>() < self.faults {
            scans += 1;
            world.start_scan(internet.crawl());
            world.storm(self.faults, self.gap_ms, began + self.limit);
            world.calm();
            books::assert_sound(&world);
            let found = Found::of(&world, &folder.join("s3/everytab/site"));
            expected.assert_same(&found, "undisturbed and under fire");
            events.push(world.status()["events"].take());
        }
        let collected = books::assert_collected(&world, &folder.join("s3/everytab/private"));
        let table = report::table(&world, &events);
        println!("{scans} scans under fire in {:.0?}\n{table}", began.elapsed());
        println!("{collected} objects of lost leases were collected");
        assert_eq!(report::heard(&world, "panicked at"), 0, "a worker panicked");
        let folders: Vec<_> = world.members.iter().map(|member| member.temporary.clone()).collect();
        drop(world);
        for folder in folders {
            assert_eq!(processes_of(&folder), Vec::<String>::new());
        }
    }
}

#[test]
fn a_scan_whose_workers_are_killed_frozen_and_cut_off_writes_the_bytes_of_an_undisturbed_one() {
    apart(|has_network| {
        let slow = Duration::from_millis(60);
        let internet = internet_of(|scratch| Settings {
            behaviours: mix(),
            latency: Latency { base: slow, ..Latency::default() },
            ..Settings::generated(7, 350, scratch)
        });
        Storm::short().rage(&internet, has_network);
    });
}
