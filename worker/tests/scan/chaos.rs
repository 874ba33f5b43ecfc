//! Scans under fire: four workers, and faults of every kind at random moments from a seed. The
//! bytes, the outcomes and the books are those of an undisturbed scan.
//!
//! Each storm has a thread with a network and mounts of its own (`netns`), where that may be made;
//! elsewhere links and disks are left alone and a line says so. `CHAOS_SEED`, `FAULTS` and `HOSTS`
//! make it another storm or a longer one; `scripts/stress/chaos.sh` does.

mod faults;
mod fleet;
mod report;
pub(crate) mod wire;
mod world;

use std::time::{Duration, Instant};

use everytab_testbed::{Behaviour, Latency, Mix, Settings};

use crate::{
    books::{self, Books as _, Found},
    kills::processes_of,
    netns::apart,
    places::{Database, Internet, Stores, internet_of},
    setup::{LIMIT, corpus},
};
use fleet::Member;
use world::{Plan, World};

/// The variable's number, or another.
fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).map_or(otherwise, |text| text.parse().unwrap())
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

/// How many faults, how long after each other, and by when all must be over.
struct Storm {
    faults: usize,
    gap_ms: (u64, u64),
    limit: Duration,
    plan: Plan,
}

impl Storm {
    /// What `make test` has time for.
    fn short() -> Self {
        let plan = Plan {
            workers: 4,
            lease: Duration::from_secs(2),
            seed: number("CHAOS_SEED", 20_261_121),
            few_files: 120,
            temporary_bytes: 16 << 20,
            arguments: vec!["--in-flight".to_owned(), "16".to_owned()],
        };
        Self { faults: 24, gap_ms: (200, 700), limit: Duration::from_secs(240), plan }
    }

    /// A large scan: longer leases, longer freezes, room between the faults for jobs to end.
    fn long() -> Self {
        let short = Self::short();
        let plan = Plan {
            lease: Duration::from_secs(12),
            temporary_bytes: 128 << 20,
            arguments: vec!["--in-flight".to_owned(), "128".to_owned()],
            ..short.plan
        };
        let faults = usize::try_from(number("FAULTS", 200)).unwrap();
        Self { faults, gap_ms: (800, 3_200), limit: Duration::from_secs(3_600), plan }
    }

    fn rage(&self, internet: &Internet, has_network: bool) {
        let folder = internet.folder.path();
        let site = folder.join("s3/everytab/site");
        let began = Instant::now();
        let expected = undisturbed(internet);
        println!("undisturbed: {:.0?}", began.elapsed());
        let mut world = World::new(internet, &self.plan, has_network);
        let began = Instant::now();
        let mut events = Vec::new();
        while events.is_empty() || world.made.values().sum::<usize>() < self.faults {
            world.start_scan(internet.crawl());
            world.storm(self.faults, self.gap_ms, began + self.limit);
            books::assert_sound(&world);
            expected.assert_same(&Found::of(&world, &site), "undisturbed and under fire");
            events.push(world.status()["events"].take());
        }
        let collected = books::assert_collected(&world, &folder.join("s3/everytab/private"));
        let table = report::table(&world, &events);
        println!("{} scans under fire in {:.0?}\n{table}", events.len(), began.elapsed());
        println!("{collected} objects of lost leases were collected");
        assert_eq!(report::heard(&world, "panicked at"), 0, "a worker panicked");
        let folders: Vec<_> = world.members.iter().map(|member| member.temporary.clone()).collect();
        drop(world);
        for folder in folders {
            assert_eq!(processes_of(&folder), Vec::<String>::new());
        }
    }
}

fn undisturbed(internet: &Internet) -> Found {
    let calm = internet.folder.path().join("undisturbed");
    let database = Database::new(internet, Stores::folders(internet, &calm));
    Found::undisturbed(&database, internet.crawl(), &calm.join("site"))
}

/// A generated internet that takes its time.
fn generated(hosts: u64, mix: Mix, latency: Duration) -> Internet {
    internet_of(|scratch| Settings {
        behaviours: mix,
        latency: Latency { base: latency, ..Latency::default() },
        ..Settings::generated(7, hosts, scratch)
    })
}

#[test]
fn a_scan_whose_workers_are_killed_frozen_and_cut_off_writes_the_bytes_of_an_undisturbed_one() {
    apart(|has_network| {
        let internet = generated(350, mix(), Duration::from_millis(60));
        Storm::short().rage(&internet, has_network);
    });
}

#[test]
#[ignore = "takes half an hour: scripts/stress/chaos.sh"]
fn a_large_scan_under_fire_writes_the_bytes_of_an_undisturbed_one() {
    apart(|has_network| {
        let mix = mix().with(Behaviour::StallsInBody, 1_000);
        let internet = generated(number("HOSTS", 20_000), mix, Duration::from_millis(20));
        Storm::long().rage(&internet, has_network);
    });
}

#[test]
#[ignore = "takes minutes: scripts/stress/chaos.sh"]
fn the_recorded_sample_under_fire_gives_the_bytes_of_an_undisturbed_scan() {
    let Some(corpus) = corpus() else { return };
    apart(|has_network| {
        let internet = internet_of(|scratch| Settings {
            latency: Latency { base: Duration::from_millis(60), ..Latency::default() },
            ..Settings::recorded(7, corpus, scratch)
        });
        // Leases that bear the longest freezes.
        let short = Storm::short();
        let plan = Plan { lease: Duration::from_secs(41), ..short.plan };
        let storm = Storm { limit: Duration::from_secs(900), plan, ..short };
        storm.rage(&internet, has_network);
    });
}

#[test]
fn a_disk_that_is_full_for_a_while_costs_time_and_no_job() {
    without_a_disk(Member::fill_disk, Member::free_disk);
}

#[test]
fn a_disk_without_room_for_one_more_file_costs_time_and_no_job() {
    without_a_disk(Member::take_all_files, Member::give_files_back);
}

/// A scan whose only worker has no disk for six seconds while it fetches icons.
fn without_a_disk(take: fn(&Member), give_back: fn(&Member)) {
    apart(|has_network| {
        if !has_network {
            return;
        }
        let internet = generated(110, Mix::none(), Duration::from_millis(150));
        let expected = undisturbed(&internet);
        let before = internet.running.counts().connections;
        let plan = Plan { workers: 1, ..Storm::short().plan };
        let mut world = World::new(&internet, &plan, has_network);
        world.start_scan(internet.crawl());
        let deadline = Instant::now() + LIMIT;
        world.go_on(deadline, |_| internet.running.counts().connections > before + 20);
        take(world.members.first().unwrap());
        let taken = Instant::now();
        world.go_on(deadline, |_| taken.elapsed() > Duration::from_secs(6));
        give_back(world.members.first().unwrap());
        world.storm(0, (1, 1), deadline);
        books::assert_sound(&world);
        let site = internet.folder.path().join("s3/everytab/site");
        expected.assert_same(&Found::of(&world, &site), "undisturbed and without a disk");
    });
}

#[test]
fn few_open_files_cost_time_and_no_job() {
    apart(|has_network| {
        let internet = generated(220, mix(), Duration::from_millis(20));
        let expected = undisturbed(&internet);
        let plan =
            Plan { workers: 2, few_files: 120, arguments: Vec::new(), ..Storm::short().plan };
        let mut world = World::new(&internet, &plan, has_network);
        for member in &mut world.members {
            member.files = Some(plan.few_files);
        }
        world.start_scan(internet.crawl());
        world.storm(0, (1, 1), Instant::now() + LIMIT);
        books::assert_sound(&world);
        let site = internet.folder.path().join("s3/everytab/site");
        expected.assert_same(&Found::of(&world, &site), "undisturbed and with few files");
        println!("{}", world.status()["events"]);
    });
}

#[test]
fn what_our_own_link_swallows_is_no_outcome() {
    apart(|has_network| {
        if !has_network {
            return;
        }
        let mix = Mix::none().with(Behaviour::NotFound, 200_000).with_shared_address(300_000);
        // Fewer hosts than the breaker needs to judge.
        let internet = generated(110, mix, Duration::from_millis(150));
        let expected = undisturbed(&internet);
        let before = internet.running.counts().connections;
        let arguments = vec!["--in-flight".to_owned(), "64".to_owned()];
        let plan = Plan { workers: 1, arguments, ..Storm::short().plan };
        let mut world = World::new(&internet, &plan, has_network);
        world.start_scan(internet.crawl());
        let deadline = Instant::now() + LIMIT;
        world.go_on(deadline, |_| internet.running.counts().connections > before + 20);
        let swallowed = Instant::now();
        world.swallow(0);
        // Twice what it takes to give a URL up, and again in the later pass.
        world.go_on(deadline, |_| swallowed.elapsed() > Duration::from_secs(24));
        assert_ne!(world.status()["state"], "finished", "the link was cut too late");
        world.find_route(0);
        world.storm(0, (1, 1), deadline);
        books::assert_sound(&world);
        let site = internet.folder.path().join("s3/everytab/site");
        expected.assert_same(&Found::of(&world, &site), "undisturbed and swallowed");
    });
}
