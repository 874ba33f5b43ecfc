//! Tests delays for given responses, by example and for arbitrary sequences.

use proptest::prelude::*;

use super::*;

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn answered(took_ms: u64) -> HostResult {
    let took = Duration::from_millis(took_ms);
    HostResult::Responded { took, is_rate_limited: false, retry_after: None }
}

fn rate_limited(retry_after: Option<u64>) -> HostResult {
    let retry_after = retry_after.map(Duration::from_secs);
    HostResult::Responded { took: seconds(0), is_rate_limited: true, retry_after }
}

fn free_in(host: &HostDelay, settings: &DelaySettings, now: Instant) -> Duration {
    host.free_at(settings).map_or(Duration::ZERO, |at| at.saturating_duration_since(now))
}

#[test]
fn the_maximum_delay_counts() {
    let now = Instant::now();
    let settings = DelaySettings::default();
    let mut host = HostDelay::default();
    assert_eq!(host.free_at(&settings), None, "a new host is free");
    host.ended(answered(100), &settings, now);
    assert_eq!(free_in(&host, &settings, now), seconds(1), "the setting");
    host.ended(answered(8_100), &settings, now);
    assert_eq!(host.delay(&settings), Duration::from_millis(4_200), "(3 x 100 + 8,100) / 4 x 2");
    let short = DelaySettings { max_delay: seconds(3), ..settings };
    assert_eq!(host.delay(&short), seconds(3), "the multiple is limited");
    host.set_crawl_delay(Some(seconds(20)));
    assert_eq!(host.delay(&short), seconds(20), "robots.txt");
    let override_delay = seconds(30);
    assert_eq!(host.delay(&DelaySettings { override_delay, ..settings }), override_delay);
    host.set_crawl_delay(None);
    let none = DelaySettings { delay: seconds(0), factor: 0.0, ..settings };
    assert_eq!(host.delay(&none), seconds(0));
}

#[test]
fn a_crawl_delay_of_more_than_five_minutes_is_too_long() {
    let mut host = HostDelay::default();
    host.set_crawl_delay(Some(seconds(300)));
    let now = Instant::now();
    assert!(!host.is_crawl_delay_too_long());
    for too_long in [Duration::from_millis(300_001), seconds(1_000_000_000), Duration::MAX] {
        host.set_crawl_delay(Some(too_long));
        assert!(host.is_crawl_delay_too_long());
        assert!(HostDelay::restore(host.save(now), now).is_crawl_delay_too_long());
    }
}

#[test]
fn a_rate_limit_doubles_the_delay_unless_it_has_a_longer_retry_after() {
    let now = Instant::now();
    let settings = DelaySettings::default();
    let mut host = HostDelay::default();
    host.ended(rate_limited(Some(7)), &settings, now);
    assert_eq!(free_in(&host, &settings, now), seconds(1), "Retry-After pauses the origin instead");
    for expected in [2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600] {
        host.ended(rate_limited(None), &settings, now);
        assert_eq!(host.delay(&settings), seconds(expected));
    }
    for expected in [300, 150, 75] {
        host.ended(answered(0), &settings, now);
        assert_eq!(host.delay(&settings), seconds(expected), "each success halves it");
    }
    for _ in 0..7 {
        host.ended(answered(0), &settings, now);
    }
    assert_eq!(host.delay(&settings), seconds(1));
}

#[test]
fn a_retry_after_up_to_the_delay_doubles_it() {
    let now = Instant::now();
    let settings = DelaySettings { delay: seconds(0), ..DelaySettings::default() };
    let mut host = HostDelay::default();
    for expected in [1, 2, 4] {
        host.ended(rate_limited(Some(0)), &settings, now);
        assert_eq!(free_in(&host, &settings, now), seconds(expected));
    }
}

#[test]
fn a_long_delay_of_one_crawl_does_not_space_the_requests_of_another() {
    let now = Instant::now();
    let quick = DelaySettings::default();
    let slow = DelaySettings { delay: seconds(10), ..quick };
    let mut host = HostDelay::default();
    host.ended(answered(1), &slow, now);
    assert_eq!(free_in(&host, &quick, now), seconds(1));
    assert_eq!(free_in(&host, &slow, now), seconds(10));
    host.ended(answered(1), &quick, now);
    assert_eq!(free_in(&host, &slow, now), seconds(1), "the slow crawl keeps its own ten seconds");
}

#[test]
fn a_restored_host_waits_until_the_given_time() {
    let now = Instant::now();
    let settings = DelaySettings::default();
    let mut host = HostDelay::default();
    host.wait_until(now + seconds(5));
    host.wait_until(now + seconds(2));
    assert_eq!(free_in(&host, &settings, now), seconds(5));
}

fn any_answer() -> impl Strategy<Value = HostResult> {
    let took = (0_u64..100_000).prop_map(Duration::from_millis);
    let retry_after = proptest::option::of(any::<u64>().prop_map(Duration::from_secs));
    prop_oneof![
        (took, any::<bool>(), retry_after).prop_map(|(took, is_rate_limited, retry_after)| {
            HostResult::Responded { took, is_rate_limited, retry_after }
        }),
        Just(HostResult::NoResponse),
    ]
}

fn any_settings() -> impl Strategy<Value = DelaySettings> {
    let time = || (0_u64..400_000).prop_map(Duration::from_millis);
    let factor = prop_oneof![any::<f64>(), 0.0..10.0];
    (time(), factor, time(), time()).prop_map(|(delay, factor, max_delay, override_delay)| {
        DelaySettings { delay, factor, max_delay, override_delay }
    })
}

proptest! {
    #[test]
    fn a_delay_stays_within_its_bounds(
        settings in any_settings(),
        crawl_delay_ms in 0_u64..300_000,
        answers in proptest::collection::vec(any_answer(), 0..40),
    ) {
        let mut now = Instant::now();
        let crawl_delay = Duration::from_millis(crawl_delay_ms);
        let mut host = HostDelay::default();
        host.set_crawl_delay(Some(crawl_delay));
        let least = settings.delay.max(settings.override_delay).max(crawl_delay);
        for answer in answers {
            host.ended(answer, &settings, now);
            let delay = host.delay(&settings);
            prop_assert!(delay >= least);
            prop_assert!(delay <= least.max(settings.max_delay).max(RAISED_DELAY_MAX));
            let wait = free_in(&host, &settings, now);
            prop_assert_eq!(wait, delay);
            now += wait;
        }
    }

    #[test]
    fn a_restored_delay_equals_the_saved_one_and_starts_no_request_earlier(
        settings in any_settings(),
        answers in proptest::collection::vec(any_answer(), 1..40),
    ) {
        let now = Instant::now();
        let mut host = HostDelay::default();
        for answer in answers {
            host.ended(answer, &settings, now);
        }
        let saved = host.save(now);
        let restored = HostDelay::restore(saved, now);
        let (before, after) = (free_in(&host, &settings, now), free_in(&restored, &settings, now));
        prop_assert!(before <= after && after < before + Duration::from_millis(1));
        let again = restored.save(now);
        prop_assert_eq!(again, saved);
    }
}
