//! Tests of owners' rates and robots rules.

use chrono::Utc;
use everytab_fetcher::Outcome;
use everytab_frontier::Origin;
use proptest::prelude::*;
use uuid::Uuid;

use super::*;

const ROBOT: &str = "everytabbot";

fn open(crawl: i32, owner: &str) -> OpenCrawl {
    OpenCrawl {
        crawl,
        id: Uuid::nil(),
        name: "LIVE".to_owned(),
        owner: owner.to_owned(),
        state: "running".to_owned(),
        budget_left: None,
        store: "file:///nowhere".to_owned(),
        rate: None,
        holders: 1,
        min_delay_ms: None,
        owner_rate: None,
        owner_holders: 1,
        owner_min_delay_ms: None,
        forgotten_at: None,
        started_at: Utc::now(),
        patterns_version: 1,
    }
}

fn row(owner: &str) -> RobotsOverrideRow {
    RobotsOverrideRow {
        id: Uuid::nil(),
        owner: owner.to_owned(),
        site: None,
        user_agent: None,
        rules: None,
        delay_ms: None,
    }
}

/// Returns how many requests the gates allow in this many seconds, if one is wanted every
/// millisecond.
fn let_through(gates: &mut RateGates, owner: &str, crawl: i32, from: Instant, seconds: u64) -> u64 {
    let mut number = 0;
    for ms in 0..seconds * 1_000 {
        let now = from + Duration::from_millis(ms);
        if gates.open_at(owner, crawl).is_none_or(|at| at <= now) {
            gates.took(owner, crawl, now);
            number += 1;
        }
    }
    number
}

#[test]
fn a_rate_is_divided_among_holders_and_applied_per_owner_and_crawl() {
    let now = Instant::now();
    let crawls = [
        OpenCrawl { owner_rate: Some(20.0), owner_holders: 4, ..open(1, "a") },
        OpenCrawl { owner_rate: Some(20.0), owner_holders: 4, rate: Some(2.0), ..open(2, "a") },
        open(3, "b"),
    ];
    let mut gates = RateGates::default();
    gates.set(&OwnerLimits::new(&crawls, &[]), now);
    assert!((49..=51).contains(&let_through(&mut gates, "a", 1, now, 10)));
    let later = now + Duration::from_secs(20);
    assert!((19..=21).contains(&let_through(&mut gates, "a", 2, later, 10)));
    assert_eq!(gates.open_at("b", 3), None);
    let slow = [OpenCrawl { rate: Some(0.001), ..open(1, "a") }];
    gates.set(&OwnerLimits::new(&slow, &[]), now);
    gates.took("a", 1, now);
    let quick = [OpenCrawl { rate: Some(10.0), ..open(1, "a") }];
    gates.set(&OwnerLimits::new(&quick, &[]), now);
    assert!(gates.open_at("a", 1).unwrap() <= now + Duration::from_millis(100));
    gates.set(&OwnerLimits::new(&[open(1, "a")], &[]), now);
    assert_eq!(gates.open_at("a", 1), None);
}

#[test]
fn unused_rate_does_not_allow_a_burst_later() {
    let now = Instant::now();
    let mut gates = RateGates::default();
    let crawls = [OpenCrawl { rate: Some(5.0), ..open(1, "a") }];
    gates.set(&OwnerLimits::new(&crawls, &[]), now);
    let later = now + Duration::from_secs(3_600);
    assert!(let_through(&mut gates, "a", 1, later, 1) <= 6);
}

#[test]
fn the_maximum_of_the_minimum_delays_applies() {
    let crawls = [
        OpenCrawl { min_delay_ms: Some(700), owner_min_delay_ms: Some(300), ..open(1, "a") },
        OpenCrawl { owner_min_delay_ms: Some(300), ..open(2, "a") },
        open(3, "b"),
    ];
    let owner_limits = OwnerLimits::new(&crawls, &[]);
    let delays = [1, 2].map(|crawl| owner_limits.min_delay("a", crawl).as_millis());
    assert_eq!((delays, owner_limits.min_delay("b", 3).as_millis()), ([700, 300], 0));
}

#[test]
fn an_override_applies_to_a_domain_and_the_hosts_below_it() {
    let one = RobotsOverride::new(&RobotsOverrideRow {
        site: Some("example.com".to_owned()),
        ..row("a")
    });
    for (host, is_for) in [
        ("example.com", true),
        ("www.example.com", true),
        ("notexample.com", false),
        ("example.com.evil", false),
        ("com", false),
    ] {
        assert_eq!(one.is_for(host), is_for, "{host}");
    }
    let owner_limits = OwnerLimits::new(&[open(1, "a"), open(2, "b")], &[row("a"), row("gone")]);
    assert_eq!(owner_limits.overrides("a", "x.com").count(), 1);
    assert_eq!(owner_limits.overrides("b", "x.com").count(), 0);
}

fn lines() -> impl Strategy<Value = String> {
    let path = prop_oneof!["/[ab/*$]{0,6}", "[ -~]{0,12}"];
    let line = prop_oneof![
        path.clone().prop_map(|path| format!("Disallow: {path}")),
        path.prop_map(|path| format!("Allow: {path}")),
        prop_oneof![Just("*"), Just(ROBOT), Just("other")]
            .prop_map(|robot| format!("User-agent: {robot}")),
        (0..400_u32).prop_map(|s| format!("Crawl-delay: {s}")),
    ];
    proptest::collection::vec(line, 0..12).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #[test]
    fn an_override_never_loosens_rules(
        robots in lines(),
        rules in proptest::option::of(lines()),
        token in proptest::option::of(prop_oneof![Just("other"), Just(ROBOT), Just("third")]),
        delay_ms in proptest::option::of(0..1_000_000_i32),
        paths in proptest::collection::vec("/[ab/]{0,6}", 1..16),
    ) {
        let found = RobotsTxt::parse(robots.as_bytes());
        let changed = RobotsOverrideRow {
            user_agent: token.map(str::to_owned),
            rules,
            delay_ms,
            ..row("a")
        };
        let owner_limits = OwnerLimits::new(&[open(1, "a")], &[changed]);
        let one = owner_limits.overrides("a", "example.com").next().unwrap();
        for path in &paths {
            let robots: Vec<&str> = [ROBOT].into_iter().chain(one.token()).collect();
            let with = found.allowed_for_all(&robots, path) && one.allows(path);
            prop_assert!(!with || found.allowed(ROBOT, path));
            if let Some(token) = token {
                prop_assert!(!with || found.allowed(token, path));
            }
        }
        let mut known = HostOrigins::default();
        let origin = Origin::of("https://example.com").unwrap();
        let pause = Duration::ZERO;
        let response = (Outcome::Ok, robots.as_bytes());
        known.robots_responded(origin, response, (ROBOT, pause), Utc::now());
        let least = Duration::from_millis(delay_ms.unwrap_or_default().unsigned_abs().into());
        prop_assert!(one.delay(&known) >= least.min(everytab_fetcher::CRAWL_DELAY_MAX));
    }
}
