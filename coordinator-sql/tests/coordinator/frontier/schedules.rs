//! Tests schedules: each scheduled time starts one crawl, even if several workers check
//! concurrently.

use chrono::{DateTime, Datelike as _, Days, TimeDelta, Utc};
use everytab_coordinator::{
    CrawlVerb, LinkLane, NewSchedule, ScheduleAdded, ScheduleRow, ScheduleTimes,
};
use proptest::{prelude::*, strategy::ValueTree as _};
use serde_json::json;
use uuid::Uuid;

use super::{
    holder::{numbers_in, rows_of_links},
    links::slot_of,
};
use crate::{
    session::{Session, query},
    setup::Database,
};

fn new_schedule(name: &str, times: ScheduleTimes) -> NewSchedule {
    NewSchedule {
        id: Uuid::new_v4(),
        owner: "somebody".into(),
        name: name.into(),
        times,
        store: "file:///nowhere".into(),
        settings: json!({ "scope": "any", "limit": 7, "duration_s": 3_600 }),
        links: rows_of_links(0, &[1, 2, 300], slot_of, false),
    }
}

const HOURLY: ScheduleTimes = ScheduleTimes::Every { every_s: 3_600, first_at: None };

async fn one(database: &Database, name: &str) -> ScheduleRow {
    let all = database.owner.list_schedules("somebody", None).await.unwrap();
    all.into_iter().find(|row| row.name == name).unwrap()
}

async fn pass(database: &Database, hours: i32) {
    let sql = "update everytab.schedules
                  set next_at = clock_timestamp() - make_interval(hours => $1) returning 1";
    query(sql).bind(hours).execute(&database.pool).await;
}

async fn fire(session: &Session) -> i32 {
    query("select coordinator.fire_schedules()").value(session).await
}

#[tokio::test]
async fn a_schedule_starts_a_crawl_with_its_seeds_settings_and_ends() {
    let database = Database::new().await;
    let schedule = new_schedule("hourly", HOURLY);
    let before = Utc::now();
    let added = database.owner.add_schedule(&schedule).await.unwrap();
    let ScheduleAdded::Added(next_at) = added else { panic!("{added:?}") };
    assert!(next_at >= before + TimeDelta::hours(1) && next_at <= Utc::now() + TimeDelta::hours(1));
    assert_eq!(database.worker.open_crawls().await.unwrap(), []);
    pass(&database, 0).await;
    let open = database.worker.open_crawls().await.unwrap().pop().unwrap();
    assert_eq!((open.owner.as_str(), open.budget_left), ("somebody", Some(7)));
    let parts: Vec<&str> = open.name.split('-').collect();
    let is_time = parts[1].len() == 14 && parts[1].bytes().all(|byte| byte.is_ascii_digit());
    assert!(parts.len() == 3 && parts[0] == "LIVE" && is_time, "{}", open.name);
    assert_eq!(parts[2], &open.id.to_string()[..8]);
    let status = database.owner.crawl_status(Some(open.id)).await.unwrap().pop().unwrap();
    assert_eq!((status.seeds, status.seeding, status.settings), (3, false, schedule.settings));
    let ends = "select extract(epoch from ends_at - started_at)::bigint / 10 from everytab.crawls
                 where crawl = $1";
    assert_eq!(database.value::<i64>(ends, open.crawl).await, 360);
    let leases = database.lease_all_slots("a").await;
    let readers: Vec<_> =
        leases.iter().map(|lease| (lease.fence.slot, lease.cursors.clone())).collect();
    let read = database.worker.read_links(&readers, LinkLane::Ordinary, None, 100).await.unwrap();
    let mut numbers: Vec<i32> = read.rows.iter().flat_map(|row| numbers_in(&row.data)).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [1, 2, 300]);
    let row = one(&database, "hourly").await;
    assert_eq!((row.fired, row.skipped, row.last_crawl, row.seeds), (1, 0, Some(open.id), 3));
}

#[tokio::test]
async fn a_call_skips_schedules_that_another_call_is_firing() {
    let database = Database::new().await;
    for name in ["one", "two"] {
        database.owner.add_schedule(&new_schedule(name, HOURLY)).await.unwrap();
    }
    pass(&database, 1).await;
    let (a, b) = (database.session().await, database.session().await);
    a.run("begin").await;
    assert_eq!(fire(&a).await, 2);
    assert_eq!(fire(&b).await, 0, "the call must skip locked schedules");
    a.run("commit").await;
    assert_eq!(fire(&b).await, 0);
    pass(&database, 1).await;
    for id in database.worker.open_crawls().await.unwrap().iter().map(|crawl| crawl.id) {
        database.owner.move_crawl(id, CrawlVerb::Cancel).await.unwrap();
    }
    let counted = one(&database, "one").await;
    assert_eq!((counted.fired, counted.skipped), (1, 1));
    pass(&database, 1).await;
    a.run("begin").await;
    assert_eq!(fire(&a).await, 2);
    a.run("rollback").await;
    assert_eq!(fire(&b).await, 2);
    assert_eq!(one(&database, "one").await.fired, 2);
}

#[tokio::test]
async fn of_many_concurrent_calls_one_fires() {
    let database = Database::new().await;
    database.owner.add_schedule(&new_schedule("one", HOURLY)).await.unwrap();
    for round in 1..=3 {
        pass(&database, 24 * round).await;
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..16 {
            let session = database.session().await;
            calls.spawn(async move { fire(&session).await });
        }
        let fired: i32 = calls.join_all().await.into_iter().sum();
        assert_eq!(fired, 1);
        let open = database.worker.open_crawls().await.unwrap().pop().unwrap();
        database.owner.move_crawl(open.id, CrawlVerb::Cancel).await.unwrap();
    }
    let row = one(&database, "one").await;
    assert_eq!((row.fired, row.skipped), (3, 0));
    let crawls = "select count(*) from everytab.crawls where $1 = 0";
    assert_eq!(database.value::<i64>(crawls, 0).await, 3);
}

#[tokio::test]
async fn missed_times_fire_once_and_a_running_crawl_delays_the_next() {
    let database = Database::new().await;
    database.owner.add_schedule(&new_schedule("one", HOURLY)).await.unwrap();
    pass(&database, 24 * 5).await;
    let open = database.worker.open_crawls().await.unwrap();
    assert_eq!(open.len(), 1);
    for skipped in 1..=3 {
        pass(&database, 1).await;
        assert_eq!(database.worker.open_crawls().await.unwrap(), open);
        let row = one(&database, "one").await;
        assert_eq!((row.fired, row.skipped), (1, skipped));
        assert!(row.next_at > Utc::now());
    }
    database.owner.move_crawl(open[0].id, CrawlVerb::Pause).await.unwrap();
    pass(&database, 1).await;
    assert_eq!(database.worker.open_crawls().await.unwrap().len(), 1);
    database.owner.move_crawl(open[0].id, CrawlVerb::Cancel).await.unwrap();
    pass(&database, 1).await;
    let next = database.worker.open_crawls().await.unwrap();
    assert!(next.len() == 1 && next[0].id != open[0].id);
}

#[tokio::test]
async fn a_schedule_that_cannot_be_fired_reports_why_and_delays_no_other() {
    let database = Database::new().await;
    let mut bad = new_schedule("bad", HOURLY);
    bad.settings = json!({ "limit": "many" });
    database.owner.add_schedule(&bad).await.unwrap();
    pass(&database, 2).await;
    database.owner.add_schedule(&new_schedule("good", HOURLY)).await.unwrap();
    pass(&database, 1).await;
    assert_eq!(database.worker.open_crawls().await.unwrap().len(), 1);
    let row = one(&database, "bad").await;
    assert_eq!((row.fired, row.skipped), (0, 1));
    assert!(row.last_error.unwrap().contains("many"));
    assert!(row.next_at > Utc::now());
    assert_eq!(one(&database, "good").await.fired, 1);
}

#[tokio::test]
async fn a_schedule_belongs_to_its_owner_and_dropping_it_keeps_its_crawls() {
    let database = Database::new().await;
    let schedule = new_schedule("one", HOURLY);
    database.owner.add_schedule(&schedule).await.unwrap();
    let again = database.owner.add_schedule(&new_schedule("one", HOURLY)).await.unwrap();
    assert_eq!(again, ScheduleAdded::NameTaken);
    let other = NewSchedule { owner: "another".into(), ..new_schedule("one", HOURLY) };
    assert!(matches!(database.owner.add_schedule(&other).await.unwrap(), ScheduleAdded::Added(_)));
    pass(&database, 1).await;
    assert_eq!(database.worker.open_crawls().await.unwrap().len(), 2);
    assert!(!database.owner.drop_schedule("another", schedule.id).await.unwrap());
    assert!(database.owner.drop_schedule("somebody", schedule.id).await.unwrap());
    assert_eq!(database.owner.list_schedules("somebody", None).await.unwrap(), []);
    let left = "select count(*) from everytab.schedule_links where $1 = 0";
    assert_eq!(database.value::<i64>(left, 0).await, 2);
    assert_eq!(database.worker.open_crawls().await.unwrap().len(), 2);
    let mut bad = new_schedule("empty", HOURLY);
    bad.links.clear();
    database.owner.add_schedule(&bad).await.unwrap_err();
    for times in [
        ScheduleTimes::Every { every_s: 59, first_at: None },
        ScheduleTimes::Daily { at_s: 86_400, weekdays: 1 },
        ScheduleTimes::Daily { at_s: 0, weekdays: 0 },
        ScheduleTimes::Daily { at_s: 0, weekdays: 128 },
    ] {
        database.owner.add_schedule(&new_schedule("bad", times)).await.unwrap_err();
    }
}

/// Computes the next time with chrono, as a model of `coordinator.next_time`.
fn next_time(times: ScheduleTimes, anchor: DateTime<Utc>, after: DateTime<Utc>) -> DateTime<Utc> {
    match times {
        ScheduleTimes::Every { every_s, .. } => {
            let period = TimeDelta::seconds(every_s.into());
            let mut at = anchor;
            if after >= anchor {
                let passed = (after - anchor).num_milliseconds() / period.num_milliseconds();
                at = anchor + period * i32::try_from(passed).unwrap();
            }
            while at <= after {
                at += period;
            }
            at
        }
        ScheduleTimes::Daily { at_s, weekdays } => {
            let mut day = after.date_naive();
            loop {
                let at =
                    day.and_hms_opt(0, 0, 0).unwrap().and_utc() + TimeDelta::seconds(at_s.into());
                let bit = 1 << day.weekday().num_days_from_monday();
                if at > after && weekdays & bit != 0 {
                    return at;
                }
                day = day.checked_add_days(Days::new(1)).unwrap();
            }
        }
    }
}

fn times() -> impl Strategy<Value = ScheduleTimes> {
    prop_oneof![
        (60..31_536_000_i32).prop_map(|every_s| ScheduleTimes::Every { every_s, first_at: None }),
        (0..86_400_i32, 1..128_i16)
            .prop_map(|(at_s, weekdays)| ScheduleTimes::Daily { at_s, weekdays }),
    ]
}

/// The session's time zone has daylight saving time, which must not affect schedules.
#[tokio::test]
async fn the_next_time_matches_the_model_in_utc() {
    let database = Database::new().await;
    let session = database.session().await;
    session.run("set timezone = 'Europe/Berlin'").await;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let seconds = 1_600_000_000..2_200_000_000_i64;
    let cases = (times(), seconds.clone(), seconds, any::<bool>());
    for _ in 0..400 {
        let (times, anchor_s, after_s, is_edge) = cases.new_tree(&mut runner).unwrap().current();
        let at = |s| DateTime::from_timestamp(s, 0).unwrap();
        let anchor = at(anchor_s);
        let mut after = at(after_s);
        if is_edge {
            after = next_time(times, anchor, after);
        }
        let (every_s, at_s, weekdays) = match times {
            ScheduleTimes::Every { every_s, .. } => (every_s, -1, 0),
            ScheduleTimes::Daily { at_s, weekdays } => (-1, at_s, i32::from(weekdays)),
        };
        let sql = "select extract(epoch from coordinator.next_time(
                              to_timestamp($1), nullif($2, -1), nullif($3, -1),
                              $4::integer::smallint, to_timestamp($5)))::bigint";
        let next: i64 = query(sql)
            .bind(anchor_s)
            .bind(every_s)
            .bind(at_s)
            .bind(weekdays)
            .bind(after.timestamp())
            .value(&session)
            .await;
        assert_eq!(at(next), next_time(times, anchor, after), "{times:?} {anchor} {after}");
    }
}
