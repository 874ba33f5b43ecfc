//! Tests webhook events about a key's crawls, as receivers get them.

use std::collections::BTreeSet;

use everytab_coordinator::{ApiCaller, NewApiKey, NewWebhook, WebhookChange, WebhookState};
use everytab_patience::until;
use everytab_testbed::GraphSettings;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    receiver::Receiver,
    server::{Server, page},
    world::{World, settings},
};

const SECRET: [u8; 32] = [7; 32];
const ALL: [&str; 3] = ["crawl.ended", "url.done", "schedule.skipped"];

async fn small_world(seed: u64) -> World {
    let graph = GraphSettings { hosts: 6, sites: 3, pages: 40, ..GraphSettings::default() };
    World::new(seed, graph).await
}

async fn key(world: &World, number: u8) -> ApiCaller {
    let key = format!("{}aaaaaaaaaaa", char::from(b'a' + number));
    let new = NewApiKey {
        key: key.clone(),
        secret_sha256: [number; 32],
        name: key.clone(),
        requests_per_second: 1_000.0,
        burst: 10_000,
        urls_a_day: None,
        pages_a_day: None,
        max_bytes: None,
        max_crawls: None,
        rate: None,
        min_delay_ms: 0,
        ports: vec![80, 443, 8080],
    };
    world.owner.add_key(&new).await.unwrap();
    ApiCaller { key, secret_sha256: [number; 32] }
}

async fn hook(world: &World, caller: &ApiCaller, host: &str, events: &[&'static str]) -> Uuid {
    let new = NewWebhook {
        id: Uuid::new_v4(),
        url: format!("http://{host}/hook?a=b"),
        events: events.to_vec(),
        description: None,
        secret: SECRET.to_vec(),
    };
    world.owner.api_add_webhook(caller, &new).await.unwrap();
    new.id
}

async fn state(world: &World, id: Uuid) -> WebhookState {
    let all = world.owner.list_webhooks(None).await.unwrap();
    all.into_iter().find(|one| one.id == id).unwrap()
}

fn wait(world: &World, time: &str) {
    world.sql(&format!(
        "update everytab.webhooks set due_at = due_at - interval '{time}',
                failing_since = failing_since - interval '{time}',
                leased_until = leased_until - interval '{time}';
         update everytab.webhook_events set due_at = due_at - interval '{time}',
                first_tried_at = first_tried_at - interval '{time}'"
    ));
}

/// Starts a key's crawl with pages on one host as seeds. None of them has links.
async fn crawl(world: &World, caller: &ApiCaller, host: &str, pages: usize) -> Uuid {
    let urls: Vec<String> = (0..pages).map(|page| format!("http://{host}/{page}")).collect();
    let owner = format!("key:{}", caller.key);
    world.start_urls(&owner, &settings("any"), &urls).await.1
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_submitted_url_and_the_end_of_its_crawl_cause_a_signed_event() {
    const HOST: &str = "127.8.0.1:8080";
    let world = small_world(90).await;
    let caller = key(&world, 0).await;
    let receiver = Receiver::start("127.8.0.2:8080", |_, _| Some((204, ""))).await;
    let _site = Server::start(HOST, |path, _| match path {
        "/robots.txt" => page("User-agent: *\nDisallow: /1\n"),
        "/0" => page("<a href=/found>a link</a> <title>t</title>"),
        _ => page(path),
    })
    .await;
    hook(&world, &caller, "127.8.0.2:8080", &ALL).await;
    let other = key(&world, 1).await;
    let crawls = [
        crawl(&world, &caller, HOST, 3).await,
        crawl(&world, &other, HOST, 2).await,
        world.start_urls("operator", &settings("any"), &[format!("http://{HOST}/x")]).await.1,
    ];
    let worker = world.worker("worker-1", |_| {});
    worker.finish().await;
    let received = receiver.received();
    let events: Vec<Value> = received.iter().map(|one| one.json()).collect();
    for one in &received {
        assert_eq!(one.line, "POST /hook?a=b HTTP/1.1");
        assert_eq!(one.fields["content-type"], "application/json");
        assert_eq!(one.fields["host"], "127.8.0.2:8080");
        assert!(one.fields["user-agent"].starts_with("EveryTabBot/"), "{one:?}");
        assert!(one.is_signed_with(&SECRET) && !one.is_signed_with(&[8; 32]), "{one:?}");
        assert!(!one.id().contains('.'));
    }
    let of = |kind: &'static str| events.iter().filter(move |one| one["type"] == kind);
    let urls: BTreeSet<(String, String)> = of("url.done")
        .map(|one| {
            let data = &one["data"];
            assert_eq!(data["crawl"], crawls[0].to_string());
            assert_eq!(data["record"].is_object(), data["state"] == "captured", "{one}");
            (data["url"].as_str().unwrap().to_owned(), data["state"].as_str().unwrap().to_owned())
        })
        .collect();
    let expected = [("0", "captured"), ("1", "refused"), ("2", "captured")];
    let expected = expected.map(|(page, state)| (format!("http://{HOST}/{page}"), state.into()));
    assert_eq!(urls, expected.into_iter().collect());
    let ended = of("crawl.ended").map(|one| &one["data"]).collect::<Vec<_>>();
    let status = world.status(crawls[0]).await;
    assert_eq!(ended.len(), 1, "{ended:?}");
    assert_eq!(ended[0]["crawl"], crawls[0].to_string());
    assert_eq!((&ended[0]["name"], &ended[0]["ended_by"]), (&json!(status.name), &json!("empty")));
    assert_eq!(ended[0]["captured"], status.captured);
    assert_eq!(ended[0]["refused"], json!({ "robots_disallowed": 1 }));
    assert_eq!(events.len(), 4, "each event must be sent once");
    assert_eq!(world.sql("select count(*) from everytab.webhook_events"), "0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_that_was_down_for_an_hour_gets_each_event_later() {
    const HOST: &str = "127.8.1.1:8080";
    let world = small_world(91).await;
    let caller = key(&world, 0).await;
    let id = hook(&world, &caller, "127.8.1.2:8080", &ALL).await;
    let _site = Server::start(HOST, |path, _| page(path)).await;
    let crawled = crawl(&world, &caller, HOST, 12).await;
    let worker = world.worker("worker-1", |settings| settings.exit_when_done = false);
    world.ended(crawled).await;
    // An hour of failures: `wait` shortens the webhook's pauses.
    for _ in 0..6 {
        let before = state(&world, id).await;
        wait(&world, "10 minutes");
        until("another attempt", async || {
            state(&world, id).await.last_failure_at > before.last_failure_at
        })
        .await;
    }
    let down = state(&world, id).await;
    assert_eq!((down.last_outcome.as_deref(), down.disabled_at), (Some("connect_refused"), None));
    assert_eq!((down.pending, down.sent, down.dropped), (13, 0, 0));
    assert!(down.failures >= 6 && down.failing_since.is_some(), "{down:?}");
    let waiting = world.sql(
        "select 'msg_' || replace(id::text, '-', '')
                               from everytab.webhook_events order by 1",
    );
    // The next attempt is due in at most five minutes. After its success, the other events are sent
    // immediately.
    let receiver = Receiver::start("127.8.1.2:8080", |_, _| Some((200, ""))).await;
    wait(&world, "5 minutes");
    until("all events to be sent", async || state(&world, id).await.pending == 0).await;
    let back = state(&world, id).await;
    assert_eq!((back.failures, back.failing_since, back.sent), (0, None, 13));
    let received = receiver.by_id();
    assert_eq!(received.keys().map(String::as_str).collect::<Vec<_>>().join("\n"), waiting);
    assert!(received.values().all(|times| *times == 1), "{received:?}");
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_is_sent_again_with_the_same_id_if_its_worker_dies() {
    let world = small_world(92).await;
    let caller = key(&world, 0).await;
    let id = hook(&world, &caller, "127.8.2.1:8080", &ALL).await;
    let receiver =
        Receiver::start("127.8.2.1:8080", |_, before| (before > 0).then_some((200, ""))).await;
    let event = world.owner.api_test_webhook(&caller, id).await.unwrap();
    let go_on = |settings: &mut everytab_crawler::CrawlerSettings| settings.exit_when_done = false;
    let one = world.worker("worker-1", go_on);
    receiver.has(1).await;
    one.kill();
    let two = world.worker("worker-2", go_on);
    wait(&world, "1 minute");
    receiver.has(2).await;
    until("the event to be recorded", async || state(&world, id).await.sent == 1).await;
    let name = format!("msg_{}", event.simple());
    assert_eq!(receiver.by_id(), [(name, 2)].into());
    let received = receiver.received();
    assert_eq!(received[0].body, received[1].body);
    let test = received[1].json();
    assert_eq!((&test["type"], &test["data"]["webhook"]), (&json!("webhook.test"), &json!(id)));
    two.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_that_hangs_or_fails_delays_no_other() {
    let world = small_world(93).await;
    let (caller, other) = (key(&world, 0).await, key(&world, 1).await);
    let hanging = Receiver::start("127.8.3.1:8080", |_, _| None).await;
    let _redirecting = Receiver::start("127.8.3.2:8080", |_, _| {
        Some((302, "Location: http://127.8.3.4:8080/\r\n"))
    })
    .await;
    let elsewhere = Receiver::start("127.8.3.4:8080", |_, _| Some((200, ""))).await;
    let good = Receiver::start("127.8.3.3:8080", |_, _| Some((200, ""))).await;
    let hung = hook(&world, &caller, "127.8.3.1:8080", &ALL).await;
    let redirected = hook(&world, &caller, "127.8.3.2:8080", &ALL).await;
    let responding = hook(&world, &other, "127.8.3.3:8080", &ALL).await;
    for _ in 0..40 {
        world.owner.api_test_webhook(&caller, hung).await.unwrap();
    }
    world.owner.api_test_webhook(&caller, redirected).await.unwrap();
    let worker = world.worker("worker-1", |settings| settings.exit_when_done = false);
    hanging.has(1).await;
    for _ in 0..10 {
        world.owner.api_test_webhook(&other, responding).await.unwrap();
    }
    good.has(10).await;
    until("the redirect to count as a failure", async || {
        state(&world, redirected).await.last_outcome.as_deref() == Some("redirected")
    })
    .await;
    assert!(elsewhere.received().is_empty(), "a redirect was followed");
    // Up to four events are sent concurrently, and only one after these have failed.
    until("the first attempts to time out", async || state(&world, hung).await.failures > 0).await;
    let failed = state(&world, hung).await;
    assert_eq!(failed.last_outcome.as_deref(), Some("first_byte_timeout"));
    assert!((4..=5).contains(&hanging.received().len()));
    worker.kill();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn disabled_webhooks_and_those_of_revoked_keys_get_no_more_events() {
    const HOST: &str = "127.8.4.4:8080";
    let world = small_world(94).await;
    let (caller, revoked) = (key(&world, 0).await, key(&world, 1).await);
    let gone = Receiver::start("127.8.4.1:8080", |_, _| Some((410, ""))).await;
    let of_revoked = Receiver::start("127.8.4.2:8080", |_, _| Some((200, ""))).await;
    let good = Receiver::start("127.8.4.3:8080", |_, _| Some((200, ""))).await;
    let ended = hook(&world, &caller, "127.8.4.1:8080", &ALL).await;
    let lost = hook(&world, &revoked, "127.8.4.2:8080", &ALL).await;
    let kept = hook(&world, &caller, "127.8.4.3:8080", &ALL).await;
    for _ in 0..3 {
        world.owner.api_test_webhook(&caller, ended).await.unwrap();
        world.owner.api_test_webhook(&revoked, lost).await.unwrap();
    }
    assert!(world.owner.revoke_key(&revoked.key).await.unwrap());
    let worker = world.worker("worker-1", |settings| settings.exit_when_done = false);
    until("the webhook to be disabled", async || state(&world, ended).await.disabled_at.is_some())
        .await;
    let disabled = state(&world, ended).await;
    assert_eq!(disabled.disabled_because.as_deref(), Some("gone"));
    assert_eq!((disabled.last_status, disabled.pending, disabled.dropped), (Some(410), 0, 3));
    let disabled = state(&world, lost).await;
    assert_eq!(disabled.disabled_because.as_deref(), Some("key_revoked"));
    assert_eq!((disabled.pending, disabled.dropped), (0, 3));
    // When the other webhook gets its events, a worker must have polled the due webhooks since
    // then.
    let before = gone.received().len();
    let _site = Server::start(HOST, |path, _| page(path)).await;
    let crawled = crawl(&world, &caller, HOST, 1).await;
    world.ended(crawled).await;
    good.has(2).await;
    assert_eq!((gone.received().len(), of_revoked.received().len()), (before, 0));
    // An enabled webhook gets new events, signed with both secrets while the old one is valid.
    let enabled = WebhookChange {
        url: Some("http://127.8.4.3:8080/other".to_owned()),
        enabled: Some(true),
        ..WebhookChange::default()
    };
    world.owner.api_change_webhook(&caller, ended, &enabled).await.unwrap();
    world.owner.api_rotate_webhook(&caller, ended, &[9; 32]).await.unwrap();
    let event = world.owner.api_test_webhook(&caller, ended).await.unwrap();
    let received = good.has(3).await;
    assert_eq!(received[2].id(), format!("msg_{}", event.simple()));
    assert!(received[2].is_signed_with(&SECRET) && received[2].is_signed_with(&[9; 32]));
    assert_eq!(state(&world, kept).await.sent, 2);
    worker.stop().await;
}
