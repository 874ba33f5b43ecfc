//! Tests concurrent submissions: they share one commit, but each gets its own result.

use std::collections::BTreeSet;

use everytab_coordinator::{ApiCaller, CrawlVerb, NewApiKey};
use uuid::Uuid;

use super::service::{Service, new_key, standing, submission};
use crate::{session::query, setup::sqlstate};

#[tokio::test]
async fn a_rejected_submission_does_not_affect_the_others() {
    let service = Service::new().await;
    let one = service.caller(0).await;
    let poor = service.add(NewApiKey { urls_a_day: Some(1), ..new_key(1) }).await;
    let busy = NewApiKey { requests_per_second: 0.001, burst: 1, ..new_key(2) };
    let busy = service.add(busy).await;
    let forged = ApiCaller { secret_sha256: [77; 32], ..one.clone() };
    let (own, own_number) = service.start(&one, &[90]).await.unwrap();
    let (ended, ended_number) = service.start(&one, &[90]).await.unwrap();
    let (foreign, _) = service.start(&poor, &[90]).await.unwrap();
    service.database.run("update everytab.api_usage set urls = 0").await;
    service.api.api_move_crawl(&one, ended.id, CrawlVerb::Cancel).await.unwrap();
    let into = |caller: &ApiCaller, url, id| {
        let mut named = submission(caller, url);
        named.crawl = Some(id);
        named
    };
    let all = [
        submission(&one, 1),
        submission(&poor, 2),
        submission(&forged, 3),
        into(&one, 4, own.id),
        into(&one, 5, ended.id),
        into(&one, 6, foreign.id),
        into(&one, 7, Uuid::new_v4()),
        submission(&busy, 8),
        submission(&poor, 9),
        submission(&busy, 10),
        submission(&one, 11),
        submission(&ApiCaller { key: "nobody".into(), ..one.clone() }, 12),
    ];
    let answers = service.api.api_submit(&standing(), &all).await.unwrap();
    let words = answers.iter().map(|answer| match answer {
        Ok(_) => "ok",
        Err(refusal) => &refusal.code,
    });
    let expected = [
        "ok",
        "ok",
        "unauthorized",
        "ok",
        "crawl_ended",
        "not_found",
        "not_found",
        "ok",
        "quota_urls",
        "throttled",
        "ok",
        "unauthorized",
    ];
    assert_eq!(words.collect::<Vec<_>>(), expected);
    let crawl = |place: usize| answers[place].as_ref().unwrap().crawl;
    assert_eq!((crawl(3), crawl(0)), (own_number, crawl(10)));
    assert_eq!(answers[3].as_ref().unwrap().crawl_id, own.id);
    assert!(answers[9].as_ref().unwrap_err().detail["retry_after_s"].as_i64().unwrap() > 900);
    let sql = "select crawl, convert_from(data, 'utf8') from everytab.links
                where crawl not in (select crawl from everytab.crawls
                                     where id = any ($1) and crawl <> $2) and data <> '[90]'
                order by id";
    let links: Vec<(i32, String)> = query(sql)
        .bind(vec![ended.id, foreign.id])
        .bind(own_number)
        .rows(&service.database.pool)
        .await;
    let found = [(0, 1), (1, 2), (3, 4), (7, 8), (10, 11)];
    let found = found.map(|(place, url)| (crawl(place), format!("[{url}]")));
    assert_eq!(links.len(), found.len());
    assert_eq!(BTreeSet::from_iter(links), BTreeSet::from(found));
    assert_eq!(service.status(crawl(0)).await.seeds, 2);
    assert_eq!(service.status(own_number).await.seeds, 2);
    assert_eq!(service.status(ended_number).await.seeds, 1);
}

#[tokio::test]
async fn a_crawl_that_ends_during_the_submission_rejects_the_link() {
    let service = Service::new().await;
    let caller = service.caller(0).await;
    let (crawl, number) = service.start(&caller, &[1]).await.unwrap();
    let ends = service.database.session().await;
    ends.run("begin").await;
    query(
        "select coordinator.end_crawl($1, 'cancel') from everytab.crawls
            where crawl = $1 for no key update",
    )
    .bind(number)
    .execute(&ends)
    .await;
    let mut named = submission(&caller, 2);
    named.crawl = Some(crawl.id);
    let standing_crawl = submission(&caller, 3);
    let api = service.another().await;
    let all = [named, standing_crawl];
    let submitted = tokio::spawn(async move { api.api_submit(&standing(), &all).await.unwrap() });
    crate::setup::until_someone_waits(&service.database).await;
    ends.run("commit").await;
    let answers = submitted.await.unwrap();
    assert_eq!(answers[0].as_ref().unwrap_err().code, "crawl_ended");
    assert!(answers[1].is_ok());
    let links = "select count(*) from everytab.links where crawl = $1";
    assert_eq!(service.database.value::<i64>(links, number).await, 1);
}

/// The keys are in different orders, while checkpoints end the crawls and replaced crawls end.
#[tokio::test]
async fn concurrent_groups_and_checkpoints_do_not_deadlock() {
    let service = Service::new().await;
    let mut callers = Vec::new();
    for number in 0..4 {
        callers.push(service.caller(number).await);
    }
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..4_u64 {
        let api = service.another().await;
        let callers = callers.clone();
        tasks.spawn(async move {
            let mut taken = 0_u64;
            for round in 0..25 {
                let all = (0..12).map(|n| {
                    let caller = &callers[usize::try_from((n * (task + 1) + round) % 4).unwrap()];
                    submission(caller, 5 + 256 * (task * 10_000 + round * 20 + n))
                });
                let answers = api.api_submit(&standing(), &all.collect::<Vec<_>>()).await.unwrap();
                taken += u64::try_from(answers.iter().filter(|a| a.is_ok()).count()).unwrap();
            }
            taken
        });
    }
    let lease = service.lease("a").await;
    for _ in 0..10 {
        for status in service.database.owner.crawl_status(None).await.unwrap() {
            if status.state == "running" {
                service
                    .capture(&lease, status.crawl, &[u64::from(status.read.unsigned_abs() as u32)])
                    .await;
            }
        }
        service.next_day().await;
        service.database.worker.open_crawls().await.unwrap();
    }
    let taken: u64 = tasks.join_all().await.into_iter().sum();
    assert_eq!(taken, 4 * 25 * 12);
    let crawls = service.database.owner.crawl_status(None).await.unwrap();
    let seeds: i64 = crawls.iter().map(|crawl| crawl.seeds).sum();
    assert_eq!(seeds, 4 * 25 * 12);
    let links = "select coalesce(sum(amount), 0) from everytab.links where $1 = 0";
    assert_eq!(service.database.value::<i64>(links, 0).await, seeds);
}

#[tokio::test]
async fn input_that_no_service_sends_is_an_error_and_not_a_rejection() {
    let service = Service::new().await;
    let caller = service.caller(0).await;
    let many: Vec<_> = (0..1_001).map(|url| submission(&caller, url)).collect();
    assert_eq!(sqlstate(service.api.api_submit(&standing(), &many).await), "22023");
    let mut bad = submission(&caller, 1);
    bad.link.slot_mask = 0;
    assert_eq!(sqlstate(service.api.api_submit(&standing(), &[bad]).await), "23514");
    assert!(service.api.api_submit(&standing(), &[]).await.unwrap().is_empty());
    assert!(service.database.owner.crawl_status(None).await.unwrap().is_empty());
}

/// A session learns of new tables only when it locks one. Without the lock, the second session
/// would create the partition again.
#[tokio::test]
async fn two_keys_that_need_a_new_partition_concurrently_share_it() {
    let service = Service::new().await;
    let (one, other) = (service.caller(0).await, service.caller(1).await);
    let first = service.database.session().await;
    first.run("begin").await;
    query("select api.standing_crawl($1, 'file:///kept', '{}', false)")
        .bind(one.key.clone())
        .execute(&first)
        .await;
    let api = service.another().await;
    let all = [submission(&other, 1)];
    let submitted = tokio::spawn(async move { api.api_submit(&standing(), &all).await });
    crate::setup::until_someone_waits(&service.database).await;
    first.run("commit").await;
    assert!(submitted.await.unwrap().unwrap()[0].is_ok());
}
