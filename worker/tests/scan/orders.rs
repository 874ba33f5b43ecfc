//! However many work, in whatever order, with whatever they remember: the same outcomes and bytes.

use std::{path::Path, thread};

use everytab_testbed::{Behaviour, Mix};

use crate::{
    books::{self, Found, SMALL_SHARDS},
    places::{Database, Internet, Stores, internet},
    setup::{Running, wait_for},
};

/// Workers, the number that shuffles, whether they remember answers of names and dead endpoints.
type Way = (u16, u64, bool);

fn scan(internet: &Internet, dir: &Path, (workers, shuffle, remember): Way) -> Found {
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
    books::assert_sound(&database);
    Found::of(&database, &dir.join("site"))
}

#[test]
fn workers_order_and_memory_change_no_outcome_and_no_byte() {
    let mix = Mix::light()
        .with(Behaviour::NeverAnswers, 20_000)
        .with(Behaviour::ConnectTimeout, 20_000)
        .with(Behaviour::Refused, 30_000)
        .with(Behaviour::StallsInBody, 0)
        .with_shared_address(400_000);
    let internet = internet(220, mix);
    let shuffles = if std::env::var_os("CHAOS_LONG").is_some() { 5 } else { 1 };
    let mut ways: Vec<Way> = Vec::new();
    for shuffle in 1..=shuffles {
        ways.extend([(1, shuffle, true), (2, shuffle + 10, false), (4, shuffle + 20, true)]);
        if shuffles > 1 {
            ways.extend([(1, shuffle, false), (2, shuffle + 10, true), (4, shuffle + 20, false)]);
        }
    }
    let mut first: Option<Found> = None;
    // Mostly waiting for deadlines: three scans at a time.
    for some in ways.chunks(3) {
        let found: Vec<Found> = thread::scope(|scope| {
            let running: Vec<_> = some
                .iter()
                .map(|way| {
                    let dir = internet.folder.path().join(format!("{way:?}"));
                    let internet = &internet;
                    scope.spawn(move || scan(internet, &dir, *way))
                })
                .collect();
            running.into_iter().map(|one| one.join().unwrap()).collect()
        });
        for (way, found) in some.iter().zip(found) {
            match &first {
                Some(first) => first.assert_same(&found, &format!("the first way and {way:?}")),
                None => first = Some(found),
            }
        }
    }
}
