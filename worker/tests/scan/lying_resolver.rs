//! Tests scans in which one of three workers has a resolver that lies or fails. This changes no
//! icon's outcome and no published byte.

use std::{
    net::{Ipv4Addr, SocketAddr, UdpSocket},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use everytab_testbed::{Behaviour, ClientSettings, Mix};
use hickory_proto::{
    op::{Message, MessageType, ResponseCode},
    rr::{RData, Record, RecordType, rdata::A},
};

use crate::{
    consistency::{SMALL_SHARDS, ScanResult, assert_consistent},
    environment::{Database, Internet, Stores, internet},
    live_crawls::{crawler, expected, graph_of_sites, recorded, start_crawl},
    setup::{Running, run, wait_for, worker},
};

const HOSTS: u64 = 120;
/// Number of correct answers before a resolver starts to lie in the middle of a scan. The first
/// shard needs fewer, and the other hosts need more.
const RIGHT_ANSWERS: usize = 60;
/// Long enough that no lease expires on a busy host.
const LEASE: &str = "10s";
/// The small internet resets connections to this address.
const PORTAL: Ipv4Addr = Ipv4Addr::new(127, 251, 0, 1);
/// Longer than a worker waits for both attempts at a query.
const SLOW: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lie {
    NxdomainForAll,
    OneAddressForAll,
    /// SERVFAIL for names in the first half of the alphabet.
    ServfailForHalf,
    SlowForAll,
}

impl Lie {
    fn named(self) -> &'static str {
        match self {
            Self::NxdomainForAll => {
                "waiting for the resolver: it returned a false result: example.com exists, but \
                 was reported missing (NXDOMAIN)"
            }
            Self::OneAddressForAll => {
                "waiting for the resolver: it returned a false result: everytab-"
            }
            Self::ServfailForHalf | Self::SlowForAll => {
                "waiting for the resolver: no response for names that exist (example.com, \
                 iana.org, wikipedia.org)"
            }
        }
    }
}

struct LyingResolver {
    address: SocketAddr,
    lies: Arc<AtomicUsize>,
    is_honest: Arc<AtomicBool>,
}

impl LyingResolver {
    fn before(internet: &Internet, lie: Lie, right: usize) -> Self {
        let socket = Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap());
        let address = socket.local_addr().unwrap();
        let lies = Arc::new(AtomicUsize::new(0));
        let is_honest = Arc::new(AtomicBool::new(false));
        let (told, honest) = (Arc::clone(&lies), Arc::clone(&is_honest));
        let upstream = internet.running.client.dns;
        thread::spawn(move || {
            let mut buffer = [0; 1_500];
            let mut asked = 0;
            while let Ok((length, peer)) = socket.recv_from(&mut buffer) {
                let question = buffer[..length].to_vec();
                asked += 1;
                let lies = asked > right && !honest.load(Ordering::SeqCst);
                let lie = lies.then_some(lie).filter(|lie| concerns(*lie, &question));
                told.fetch_add(usize::from(lie.is_some()), Ordering::SeqCst);
                let socket = Arc::clone(&socket);
                thread::spawn(move || {
                    let answer = match lie {
                        Some(lie) if lie != Lie::SlowForAll => lie_about(&question, lie),
                        slow => {
                            thread::sleep(if slow.is_some() { SLOW } else { Duration::ZERO });
                            relayed(&question, upstream)
                        }
                    };
                    // Stay silent if the real resolver does.
                    let _ = answer.map(|answer| socket.send_to(&answer, peer));
                });
            }
        });
        Self { address, lies, is_honest }
    }
}

fn concerns(lie: Lie, question: &[u8]) -> bool {
    let first = question.get(13).map_or(0, u8::to_ascii_lowercase);
    lie != Lie::ServfailForHalf || first <= b'm'
}

fn lie_about(question: &[u8], lie: Lie) -> Option<Vec<u8>> {
    let mut answer = Message::from_vec(question).ok()?;
    answer.metadata.message_type = MessageType::Response;
    match lie {
        Lie::ServfailForHalf => answer.metadata.response_code = ResponseCode::ServFail,
        Lie::OneAddressForAll => {
            let query = answer.queries.first()?.clone();
            if query.query_type() == RecordType::A {
                let data = RData::A(A(PORTAL));
                answer.add_answer(Record::from_rdata(query.name().clone(), 60, data));
            }
        }
        Lie::NxdomainForAll | Lie::SlowForAll => {
            answer.metadata.response_code = ResponseCode::NXDomain;
        }
    }
    answer.to_vec().ok()
}

fn relayed(question: &[u8], upstream: SocketAddr) -> Option<Vec<u8>> {
    let socket = UdpSocket::bind("127.0.0.1:0").ok()?;
    socket.set_read_timeout(Some(SLOW)).ok()?;
    socket.send_to(question, upstream).ok()?;
    let mut answer = vec![0; 4_096];
    let (length, _) = socket.recv_from(&mut answer).ok()?;
    answer.truncate(length);
    Some(answer)
}

fn some_names_missing() -> Internet {
    let mix = Mix::none().with(Behaviour::DnsNxdomain, 100_000);
    internet(HOSTS, mix.with(Behaviour::NotFound, 100_000))
}

/// Runs a worker until it waits for its lying resolver, and then calls `finish`. The result must
/// equal `expected`.
fn scan_with(
    internet: &Internet,
    expected: &ScanResult,
    (lie, right, roles): (Lie, usize, &[&str]),
    finish: impl FnOnce(&LyingResolver, &Database),
) {
    let what = format!("{lie:?} after {right} answers {roles:?}");
    let dir = internet.folder.path().join(format!("{lie:?}-{right}"));
    let mut database = Database::new(internet, Stores::folders(internet, &dir));
    database.start_scan_with_lease(internet.crawl(), LEASE, &SMALL_SHARDS);
    let resolver = LyingResolver::before(internet, lie, right);
    database.set_dns(resolver.address);
    // A worker with a role needs another one for the earlier stages.
    let earlier = ["--exit-when-done", "--role", "index,warc"];
    let earlier = (!roles.is_empty()).then(|| Running::start(database.worker(&earlier)));
    let liar = Running::start(database.worker(&[&["--exit-when-done"], roles].concat()));
    database.set_dns(internet.running.client.dns);
    wait_for(&format!("a worker that waits, {what}"), || {
        database.status()["troubles"].to_string().contains(lie.named()).then_some(())
    });
    let shown = run(database.owner(&["scan", "status"])).expect_code(0).stdout;
    assert!(shown.contains("WAITING") && shown.contains(lie.named()), "{what}: {shown}");
    finish(&resolver, &database);
    let ended = liar.finish().expect_code(0);
    if let Some(earlier) = earlier {
        earlier.finish().expect_code(0);
    }
    assert!(resolver.lies.load(Ordering::SeqCst) > 0, "{what}");
    assert!(ended.stderr.contains(lie.named()), "{what}: {}", ended.stderr);
    if matches!(lie, Lie::NxdomainForAll | Lie::OneAddressForAll) {
        let warning = ended.stderr.lines().find(|line| line.contains("returns false results"));
        let warning = warning.unwrap_or_else(|| panic!("{what}: {}", ended.stderr));
        assert!(warning.contains("WARN") && warning.contains("--dns"), "{what}: {warning}");
    }
    assert_consistent(&database);
    let status = database.status();
    for event in ["retry", "discard", "expired"] {
        assert!(status["events"][event].is_null(), "{what}: {}", status["events"]);
    }
    expected.assert_same(&ScanResult::of(&database, &dir.join("site")), &what);
}

fn two_others(_: &LyingResolver, database: &Database) {
    let workers = [(); 2].map(|()| Running::start(database.worker(&["--exit-when-done"])));
    for worker in workers {
        worker.finish().expect_code(0);
    }
}

fn assert_harmless(lie: Lie) -> (Internet, ScanResult) {
    let internet = some_names_missing();
    let dir = internet.folder.path().join("healthy");
    let database = Database::new(&internet, Stores::folders(&internet, &dir));
    let expected = ScanResult::undisturbed(&database, internet.crawl(), &dir.join("site"));
    for right in [0, RIGHT_ANSWERS] {
        scan_with(&internet, &expected, (lie, right, &[]), two_others);
    }
    (internet, expected)
}

#[test]
fn a_resolver_that_denies_all_names_erases_no_icon() {
    let lie = Lie::NxdomainForAll;
    let (internet, expected) = assert_harmless(lie);
    // The only worker continues when its resolver becomes correct again.
    scan_with(&internet, &expected, (lie, RIGHT_ANSWERS + 1, &[]), |resolver, _| {
        resolver.is_honest.store(true, Ordering::SeqCst);
    });
}

#[test]
fn a_resolver_with_one_address_for_all_names_changes_no_icon() {
    let lie = Lie::OneAddressForAll;
    let (internet, expected) = assert_harmless(lie);
    // A worker that cannot lease any job still exits when the scan ends.
    scan_with(&internet, &expected, (lie, 1, &["--role", "icons"]), two_others);
}

#[test]
fn a_resolver_that_fails_for_half_of_the_names_changes_no_icon() {
    assert_harmless(Lie::ServfailForHalf);
}

#[test]
fn a_resolver_that_answers_too_late_changes_no_icon() {
    assert_harmless(Lie::SlowForAll);
}

#[test]
fn a_crawl_records_no_results_from_a_lying_resolver() {
    let internet = graph_of_sites(31, 24, 200);
    let mut database = Database::new(&internet, Stores::folders(&internet, internet.folder.path()));
    let id = start_crawl(&internet, &database, "50ms");
    // Enough correct answers for the worker's first check.
    let resolver = LyingResolver::before(&internet, Lie::NxdomainForAll, 12);
    database.set_dns(resolver.address);
    let worker = crawler(&internet, &database, &["--exit-when-done"]);
    wait_for("a warning", || {
        worker.stderr_text().contains("the resolver returns false results").then_some(())
    });
    resolver.is_honest.store(true, Ordering::SeqCst);
    worker.finish().expect_code(0);
    assert_eq!(recorded(&database, &id), expected(&internet));
}

#[test]
fn doctor_names_what_a_resolver_denies() {
    let internet = internet(1, Mix::none());
    let doctor = |dns: SocketAddr| {
        let client = ClientSettings { dns, ..internet.running.client.clone() };
        let arguments = [vec!["doctor".to_owned()], client.arguments()].concat();
        let said = run(worker(arguments)).stdout;
        let line = said.lines().find(|line| line.contains("known names")).map(str::to_owned);
        line.unwrap_or_else(|| panic!("{said}"))
    };
    let right = doctor(internet.running.client.dns);
    assert!(right.starts_with("ok") && right.contains("made-up name"), "{right}");
    let wrong = doctor(LyingResolver::before(&internet, Lie::NxdomainForAll, 0).address);
    assert!(wrong.starts_with("FAIL") && wrong.contains("example.com"), "{wrong}");
    assert!(wrong.contains("--dns ADDR:PORT") && wrong.contains("--known-names"), "{wrong}");
}
