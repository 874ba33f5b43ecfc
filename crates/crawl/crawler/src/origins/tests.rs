//! Tests of robots.txt files, pauses, and origins that are given up.

use everytab_frontier::UrlHash;

use super::*;

const FIRST: Duration = Duration::from_secs(30);

fn origin(url: &str) -> Origin {
    Origin::of(url).unwrap()
}

fn day(now: DateTime<Utc>) -> Patience {
    Patience { lasts: Duration::from_secs(24 * 60 * 60), since: now }
}

fn robots(
    origins: &mut HostOrigins,
    url: &str,
    outcome: Outcome,
    body: &str,
    now: DateTime<Utc>,
) -> Option<Duration> {
    origins.robots_responded(origin(url), (outcome, body.as_bytes()), ("everytab", FIRST), now)
}

/// Records failed fetches of robots.txt for 25 hours, each when the previous pause ends.
fn fail_for_a_day(origins: &mut HostOrigins, url: &str, outcome: Outcome, mut now: DateTime<Utc>) {
    let since = now;
    while now < since + TimeDelta::hours(25) {
        robots(origins, url, outcome, "", now);
        now = origins.origins[&origin(url)].health.pause().unwrap().until;
    }
}

#[test]
fn the_maximum_crawl_delay_of_a_hosts_origins_applies() {
    let mut origins = HostOrigins::default();
    let now = Utc::now();
    let mut delay = |url, body: &str| robots(&mut origins, url, Outcome::Ok, body, now);
    let slow = "User-agent: *\nCrawl-delay: 20";
    assert_eq!(delay("https://a.com", slow), Some(Duration::from_secs(20)));
    assert_eq!(delay("http://a.com", ""), Some(Duration::from_secs(20)));
    assert_eq!(delay("https://a.com", ""), None);
}

#[test]
fn an_unreachable_origin_pauses_alone_and_is_retried() {
    let mut origins = HostOrigins::default();
    let now = Utc::now();
    let (dead, good) = (origin("http://a.com:8000"), origin("http://a.com"));
    robots(&mut origins, "http://a.com:8000", Outcome::ConnectRefused, "", now);
    robots(&mut origins, "http://a.com", Outcome::Ok, "", now);
    assert!(matches!(origins.permission(dead, day(now), now), Permission::Wait));
    assert!(matches!(origins.permission(good, day(now), now), Permission::Rules(_)));
    assert_eq!(origins.paused_for(dead, day(now)), Some(now + FIRST));
    assert_eq!(origins.paused_for(good, day(now)), None);
    let later = now + TimeDelta::seconds(30);
    assert!(matches!(origins.permission(dead, day(now), later), Permission::FetchRobots));
    assert!(origins.take_pause_change() && !origins.take_pause_change());
    robots(&mut origins, "http://a.com:8000", Outcome::Ok, "", later);
    assert!(origins.take_pause_change());
    assert!(matches!(origins.permission(dead, day(now), later), Permission::Rules(_)));
}

#[test]
fn urls_of_an_origin_are_given_up_after_the_patience_of_their_crawl() {
    let mut origins = HostOrigins::default();
    let now = Utc::now();
    let one = origin("http://a.com");
    robots(&mut origins, "http://a.com", Outcome::ConnectRefused, "", now);
    let minute = Patience { lasts: Duration::from_secs(60), since: now };
    assert!(matches!(origins.permission(one, minute, now), Permission::Wait));
    let later = now + TimeDelta::seconds(30);
    robots(&mut origins, "http://a.com", Outcome::ConnectRefused, "", later);
    assert!(matches!(origins.permission(one, minute, later), Permission::GivenUp(_)));
    assert!(matches!(origins.permission(one, day(now), later), Permission::Wait));
    let new = Patience { since: later, ..minute };
    assert!(matches!(origins.permission(one, new, later), Permission::Wait), "a later crawl");
    assert_eq!(origins.paused_for(one, minute), None, "URLs that are given up do not wait");
    let over = later + TimeDelta::seconds(60);
    assert!(matches!(origins.permission(one, minute, over), Permission::FetchRobots));
}

#[test]
fn a_host_is_dead_only_if_all_its_origins_are() {
    let now = Utc::now();
    let given_up = |origins: &HostOrigins, url: &str| {
        let pause = origins.origins[&origin(url)].health.pause().unwrap();
        match origins.permission(origin(url), day(now), pause.until - TimeDelta::seconds(1)) {
            Permission::GivenUp(why) => Some(why),
            _ => None,
        }
    };
    let mut origins = HostOrigins::default();
    robots(&mut origins, "http://a.com:8080", Outcome::Ok, "", now);
    let failure = |url| PageFailure {
        outcome: Outcome::ConnectRefused,
        url: UrlHash(url),
        is_of_origin: true,
        is_last_but_one: false,
    };
    let mut at = now;
    for url in 0..40 {
        origins.page_failed(origin("http://a.com:8080"), &failure(url), FIRST, at);
        at = origins.pause_end(origin("http://a.com:8080")).unwrap_or(at);
    }
    assert_eq!(given_up(&origins, "http://a.com:8080"), Some(GivenUp::HostDead));
    robots(&mut origins, "http://a.com", Outcome::Ok, "", now);
    assert_eq!(given_up(&origins, "http://a.com:8080"), Some(GivenUp::OriginDead));
    fail_for_a_day(&mut origins, "https://a.com", Outcome::Http5xx, now);
    assert_eq!(given_up(&origins, "https://a.com"), Some(GivenUp::RobotsUnreachable));
    fail_for_a_day(&mut origins, "https://a.com", Outcome::DnsServfail, now);
    let unresolved = GivenUp::Unresolved(Outcome::DnsServfail);
    assert_eq!(
        given_up(&origins, "https://a.com"),
        Some(unresolved),
        "its URLs fail with the same outcome"
    );
    let mut origins = HostOrigins::default();
    let pause = Duration::from_secs(3_600);
    origins.requested_pause(origin("http://a.com"), Outcome::Http429, pause, now);
    let impatient = Patience { lasts: Duration::from_secs(60), since: now };
    assert!(matches!(
        origins.permission(origin("http://a.com"), impatient, now),
        Permission::GivenUp(GivenUp::RetryAfterTooLong)
    ));
}

#[test]
fn robots_txt_is_stored_once_its_record_is_uploaded() {
    let now = Utc::now();
    let one = "http://a.test";
    let other = "https://a.test:8443";
    let mut origins = HostOrigins::default();
    let responded = |origins: &mut HostOrigins, url| {
        robots(origins, url, Outcome::Ok, "Disallow: /", now);
        origins.record_begins(1, origin(url));
    };
    responded(&mut origins, one);
    responded(&mut origins, other);
    assert!(origins.take_unrecorded("a.test").is_none());
    assert!(
        origins.has_unuploaded_record(1, origin(one))
            && !origins.has_unuploaded_record(2, origin(one))
    );
    origins.record_ends(1, origin(one), false);
    assert!(
        origins.take_unrecorded("a.test").is_none() && !origins.is_kept(),
        "one record is not uploaded"
    );
    assert!(
        !origins.has_unuploaded_record(1, origin(one))
            && origins.has_unuploaded_record(1, origin(other))
    );
    origins.record_ends(1, origin(other), false);
    assert!(!origins.has_unuploaded_record(1, origin(other)));
    let (kept, _) = origins.take_unrecorded("a.test").unwrap();
    assert!(
        origins.is_kept() && origins.take_unrecorded("a.test").is_none(),
        "it is recorded once"
    );
    let restored = HostOrigins::restore(Some(&kept), None);
    assert!(matches!(restored.permission(origin(other), day(now), now), Permission::Rules(_)));

    responded(&mut origins, one);
    origins.record_ends(1, origin(one), true);
    assert!(matches!(origins.permission(origin(one), day(now), now), Permission::FetchRobots));
    assert!(matches!(origins.permission(origin(other), day(now), now), Permission::Rules(_)));
}

#[test]
fn the_next_holder_restores_the_pauses() {
    let mut origins = HostOrigins::default();
    let now = Utc::now();
    assert_eq!(origins.pauses("a.com"), None);
    robots(&mut origins, "http://a.com:8080", Outcome::ConnectRefused, "", now);
    let pauses = origins.pauses("a.com").unwrap();
    assert_eq!(pauses[0]["origin"], "http://a.com:8080");
    assert_eq!(
        (&pauses[0]["outcome"], &pauses[0]["failures"]),
        (&"connect_refused".into(), &1.into())
    );
    let mut restored = HostOrigins::restore(None, Some(&pauses));
    let dead = origin("http://a.com:8080");
    assert_eq!(restored.paused_for(dead, day(now)), Some(now + FIRST));
    robots(&mut restored, "http://a.com:8080", Outcome::ConnectRefused, "", now + FIRST);
    assert_eq!(
        restored.paused_for(dead, day(now)),
        Some(now + FIRST * 3),
        "it continues to double"
    );
    for bad in ["[]", "{}", "3", r#"[{"origin":"x"}]"#] {
        let bad: Value = serde_json::from_str(bad).unwrap();
        assert!(HostOrigins::restore(None, Some(&bad)).pauses("a.com").is_none());
    }
}

#[test]
fn many_dead_origins_do_not_displace_the_pauses_of_others() {
    let mut origins = HostOrigins::default();
    let now = Utc::now();
    for port in 1..200 {
        let failure = PageFailure {
            outcome: Outcome::ConnectRefused,
            url: UrlHash(port),
            is_of_origin: true,
            is_last_but_one: false,
        };
        let at = origin(&format!("http://a.com:{port}"));
        for _ in 0..5 {
            let now = now + TimeDelta::seconds(port.cast_signed());
            origins.page_failed(at, &failure, FIRST, now);
        }
    }
    assert_eq!(origins.origins.len(), MAX_ORIGINS);
    assert!(origins.origins.values().all(|state| state.health.pause().is_some()));
}
