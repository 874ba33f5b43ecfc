//! Delays by what hosts answer, by example and for any answers.

use proptest::prelude::*;

use super::*;

/// The patience of a crawl that nobody waits for.
const DAY: Duration = seconds(24 * 60 * 60);

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn answered(took_ms: u64) -> HostAnswer {
    let took = Duration::from_millis(took_ms);
    HostAnswer::Answered { took, is_complaint: false, retry_after: None }
}

fn complaint(retry_after: Option<u64>) -> HostAnswer {
    let retry_after = retry_after.map(Duration::from_secs);
    HostAnswer::Answered { took: seconds(0), is_complaint: true, retry_after }
}

/// The time until the next request may begin.
fn free_in(host: &HostDelay, settings: &DelaySettings, now: Instant) -> Duration {
    host.free_at(settings).map_or(Duration::ZERO, |at| at.saturating_duration_since(now))
}

#[test]
fn the_longest_of_all_that_ask_for_a_delay_counts() {
    let (now, settings) = (Instant::now(), DelaySettings::default());
    let mut host = HostDelay::default();
    assert_eq!(host.free_at(&settings), None, "a host that was never asked is free");
    host.ended(answered(100), &settings, now);
    assert_eq!(free_in(&host, &settings, now), seconds(1), "the setting");
    host.ended(answered(8_100), &settings, now);
    assert_eq!(host.delay(&settings), Duration::from_millis(4_200), "(3 x 100 + 8,100) / 4 x 2");
    let short = DelaySettings { max_delay: seconds(3), ..settings };
    assert_eq!(host.delay(&short), seconds(3), "the multiple has a bound");
    host.set_crawl_delay(Some(seconds(20)));
    assert_eq!(host.delay(&short), seconds(20), "robots.txt");
    let override_delay = seconds(30);
    assert_eq!(host.delay(&DelaySettings { override_delay, ..settings }), override_delay);
    host.set_crawl_delay(None);
    let none = DelaySettings { delay: seconds(0), factor: 0.0, ..settings };
    assert_eq!(host.delay(&none), seconds(0));
}

#[test]
fn a_crawl_delay_of_more_than_five_minutes_leaves_the_host() {
    let mut host = HostDelay::default();
    host.set_crawl_delay(Some(seconds(300)));
    let now = Instant::now();
    assert_eq!(host.left(DAY, now), None);
    for too_long in [Duration::from_millis(300_001), seconds(1_000_000_000), Duration::MAX] {
        host.set_crawl_delay(Some(too_long));
        assert_eq!(host.left(DAY, now), Some(HostLeft::CrawlDelayTooLong));
        let restored = HostDelay::restore(host.save(now), now);
        assert_eq!(restored.left(DAY, now), Some(HostLeft::CrawlDelayTooLong));
    }
    assert_eq!(HostLeft::CrawlDelayTooLong.as_str(), "crawl_delay_too_long");
    assert_eq!(HostLeft::HostDead.as_str(), "host_dead");
}

#[test]
fn a_complaint_is_obeyed_or_doubles_the_delay() {
    let (now, settings) = (Instant::now(), DelaySettings::default());
    let mut host = HostDelay::default();
    host.ended(complaint(Some(7)), &settings, now);
    assert_eq!(free_in(&host, &settings, now), seconds(7));
    host.ended(answered(0), &settings, now + seconds(7));
    assert_eq!(free_in(&host, &settings, now + seconds(7)), seconds(1), "only once");
    for expected in [2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600] {
        host.ended(complaint(None), &settings, now);
        assert_eq!(host.delay(&settings), seconds(expected));
    }
    for expected in [300, 150, 75] {
        host.ended(answered(0), &settings, now);
        assert_eq!(host.delay(&settings), seconds(expected), "back by half with each answer");
    }
    for _ in 0..7 {
        host.ended(answered(0), &settings, now);
    }
    assert_eq!(host.delay(&settings), seconds(1));
    host.ended(complaint(Some(4_000_000_000)), &settings, now);
    assert_eq!(free_in(&host, &settings, now), RETRY_AFTER_MAX);
}

#[test]
fn a_retry_after_of_no_more_than_the_delay_doubles_it() {
    let now = Instant::now();
    let settings = DelaySettings { delay: seconds(0), ..DelaySettings::default() };
    let mut host = HostDelay::default();
    for expected in [1, 2, 4] {
        host.ended(complaint(Some(0)), &settings, now);
        assert_eq!(free_in(&host, &settings, now), seconds(expected));
    }
}

#[test]
fn a_host_that_does_not_answer_rests_longer_each_time_and_is_left() {
    let settings = DelaySettings::default();
    let mut now = Instant::now();
    let mut host = HostDelay::default();
    let mut rests = Vec::new();
    while host.left(DAY, now).is_none() {
        host.ended(HostAnswer::Failed, &settings, now);
        let rest = free_in(&host, &settings, now);
        rests.push(rest.as_secs());
        now += rest;
    }
    assert_eq!(rests, [1, 1, 1, 1, 30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600]);
    assert_eq!(host.left(DAY, now), Some(HostLeft::HostDead));
    host.ended(answered(10), &settings, now);
    assert_eq!((host.left(DAY, now), host.save(now).failures), (None, 0));
}

#[test]
fn who_has_little_patience_leaves_a_host_before_a_rest_that_is_too_long() {
    let (now, settings) = (Instant::now(), DelaySettings::default());
    let minute = seconds(60);
    let mut host = HostDelay::default();
    for _ in 0..5 {
        assert_eq!(host.left(minute, now), None);
        host.ended(HostAnswer::Failed, &settings, now);
    }
    assert_eq!(host.left(minute, now), None, "30 seconds are waited for");
    assert_eq!(host.left(seconds(29), now), Some(HostLeft::HostDead));
    host.ended(HostAnswer::Failed, &settings, now);
    assert_eq!(host.left(minute, now), Some(HostLeft::HostDead), "30 and 60 are 90");
    assert_eq!(host.left(seconds(90), now), None);

    let mut host = HostDelay::default();
    host.ended(complaint(Some(61)), &settings, now);
    assert_eq!(host.left(minute, now), Some(HostLeft::RetryAfterTooLong));
    assert_eq!(host.left(seconds(61), now), None);
    assert_eq!(host.left(minute, now + seconds(1)), None, "a minute is to come");
    let saved = host.save(now);
    assert_eq!(
        HostDelay::restore(saved, now).left(minute, now),
        Some(HostLeft::RetryAfterTooLong),
        "another worker's pause is no shorter"
    );
    let slow = SavedDelay { crawl_delay_ms: 300_000, ..saved };
    let slow = SavedDelay { free_in_ms: 300_000, ..slow };
    assert_eq!(HostDelay::restore(slow, now).left(minute, now), None, "robots.txt is obeyed");
}

#[test]
fn an_answer_of_any_kind_ends_the_row_of_failures_and_a_void_request_does_not() {
    let (now, settings) = (Instant::now(), DelaySettings::default());
    let mut host = HostDelay::default();
    for _ in 0..4 {
        host.ended(HostAnswer::Failed, &settings, now);
    }
    host.ended(HostAnswer::Void, &settings, now);
    assert_eq!(host.save(now).failures, 4);
    assert_eq!(free_in(&host, &settings, now), seconds(1), "but the host was asked");
    host.ended(complaint(None), &settings, now);
    assert_eq!(host.save(now).failures, 0);
}

#[test]
fn a_dead_host_is_asked_once_more_by_a_later_crawl() {
    let (now, settings) = (Instant::now(), DelaySettings::default());
    let mut host = HostDelay::default();
    for _ in 0..FAILURES_WHEN_DEAD {
        host.ended(HostAnswer::Failed, &settings, now);
    }
    let saved = host.save(now);
    assert_eq!(HostDelay::restore(saved, now).left(DAY, now), Some(HostLeft::HostDead), "not yet");
    let later = SavedDelay { free_in_ms: 0, ..saved };
    let mut host = HostDelay::restore(later, now);
    assert_eq!((host.left(DAY, now), host.free_at(&settings)), (None, None));
    assert_eq!(host.left(seconds(60), now), None, "whatever the patience");
    host.ended(HostAnswer::Failed, &settings, now);
    assert_eq!(host.left(DAY, now), Some(HostLeft::HostDead));
    assert_eq!(host.left(seconds(60), now), Some(HostLeft::HostDead));
}

#[test]
fn a_long_delay_of_one_crawl_does_not_space_the_requests_of_another() {
    let (now, quick) = (Instant::now(), DelaySettings::default());
    let slow = DelaySettings { delay: seconds(10), ..quick };
    let mut host = HostDelay::default();
    host.ended(answered(1), &slow, now);
    assert_eq!(free_in(&host, &quick, now), seconds(1));
    assert_eq!(free_in(&host, &slow, now), seconds(10));
    host.ended(answered(1), &quick, now);
    assert_eq!(free_in(&host, &slow, now), seconds(1), "the slow crawl keeps its own ten seconds");
}

#[test]
fn a_host_that_another_worker_asked_is_left_alone_at_first() {
    let (now, settings) = (Instant::now(), DelaySettings::default());
    let mut host = HostDelay::default();
    host.wait_until(now + seconds(5));
    host.wait_until(now + seconds(2));
    assert_eq!(free_in(&host, &settings, now), seconds(5));
}

fn any_answer() -> impl Strategy<Value = HostAnswer> {
    let took = (0_u64..100_000).prop_map(Duration::from_millis);
    let retry_after = proptest::option::of(any::<u64>().prop_map(Duration::from_secs));
    prop_oneof![
        (took, any::<bool>(), retry_after).prop_map(|(took, is_complaint, retry_after)| {
            HostAnswer::Answered { took, is_complaint, retry_after }
        }),
        Just(HostAnswer::Failed),
        Just(HostAnswer::Void),
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
    fn a_delay_keeps_its_bounds_whatever_happens(
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
            prop_assert!(wait >= delay && wait <= delay.max(REST_MAX));
            now += wait;
        }
    }

    #[test]
    fn what_is_saved_is_taken_up_and_no_request_begins_earlier(
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
        prop_assert_eq!(restored.left(DAY, now), host.left(DAY, now));
        let again = restored.save(now);
        prop_assert_eq!(again, saved);
    }
}
