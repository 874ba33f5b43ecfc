//! Tests that results do not depend on the number of workers, the order of jobs or the workers'
//! caches.

use std::{path::Path, thread};

use everytab_testbed::{Behaviour, Mix};

use crate::{
    consistency::{self, SMALL_SHARDS, ScanResult},
    environment::{Database, Internet, Stores, internet},
    setup::{Running, wait_for},
};

/// A number of workers, a seed that shuffles jobs, and whether workers cache DNS results and dead
/// endpoints.
type Variation = (u16, u64, bool);

fn scan(internet: &Internet, dir: &Path, (workers, shuffle, remember): Variation) -> ScanResult {
    let database = Database::new(internet, Stores::folders(internet, dir));
    let shuffle = shuffle.to_string();
    let mut options = SMALL_SHARDS.to_vec();
    options.extend(["--shuffle", &shuffle]);
    database.start_scan(internet.crawl(), &options);
    let remember = if remember { "on" } else { "off" };
    let arguments = ["--exit-when-done", "--remember", remember];
    let mut running: Vec<Running> =
        (0..workers).map(|_| Running::start(database.worker(&arguments))).collect();
    for worker in &mut running {
        wait_for("the end of a worker", || worker.has_ended().then_some(()));
    }
    for worker in running {
        worker.finish().expect_code(0);
    }
    consistency::assert_consistent(&database);
    ScanResult::of(&database, &dir.join("site"))
}

#[test]
fn worker_count_order_and_caches_change_no_outcome_and_no_byte() {
    let mix = Mix::light()
        .with(Behaviour::NeverAnswers, 20_000)
        .with(Behaviour::ConnectTimeout, 20_000)
        .with(Behaviour::Refused, 30_000)
        .with(Behaviour::StallsInBody, 0)
        .with_shared_address(400_000);
    let internet = internet(120, mix);
    let shuffles = if std::env::var_os("CHAOS_LONG").is_some() { 5 } else { 1 };
    let mut variations: Vec<Variation> = Vec::new();
    for shuffle in 1..=shuffles {
        variations.extend([(1, shuffle, true), (2, shuffle + 10, false), (4, shuffle + 20, true)]);
        if shuffles > 1 {
            variations.extend([
                (1, shuffle, false),
                (2, shuffle + 10, true),
                (4, shuffle + 20, false),
            ]);
        }
    }
    let mut first: Option<ScanResult> = None;
    // The scans mostly wait for time limits, so run three at a time.
    for some in variations.chunks(3) {
        let found: Vec<ScanResult> = thread::scope(|scope| {
            let running: Vec<_> = some
                .iter()
                .map(|variation| {
                    let dir = internet.folder.path().join(format!("{variation:?}"));
                    let internet = &internet;
                    scope.spawn(move || scan(internet, &dir, *variation))
                })
                .collect();
            running.into_iter().map(|one| one.join().unwrap()).collect()
        });
        for (variation, found) in some.iter().zip(found) {
            match &first {
                Some(first) => {
                    first.assert_same(&found, &format!("the first variation and {variation:?}"))
                }
                None => first = Some(found),
            }
        }
    }
}
