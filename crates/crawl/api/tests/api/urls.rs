//! Tests single URLs and URL lists.

use serde_json::json;

use crate::world::{World, generous};

#[tokio::test]
async fn a_submitted_url_gets_an_id_for_reading_its_state() {
    let world = World::new().await;
    let key = world.key().await;
    let body = json!({ "url": "HTTP://Example.com:80/a/../b?utm_source=x#y" });
    let accepted = world.post(&key, "/v1/url", &body).await.expect(202);
    assert_eq!(accepted["url"], "http://example.com/b");
    assert_eq!(accepted["state"], "due");
    let id = accepted["id"].as_str().unwrap();
    let found = world.get(&key, &format!("/v1/url/{id}")).await.expect(200);
    assert_eq!((&found["state"], &found["id"]), (&json!("due"), &accepted["id"]));
    assert_eq!(found["crawl"], accepted["crawl"]);
    let again = world.post(&key, "/v1/url", &body).await.expect(202);
    assert_eq!(again["id"], accepted["id"], "the same URL of the same crawl has the same id");
    let crawl = accepted["crawl"].as_str().unwrap();
    let crawl = world.get(&key, &format!("/v1/crawls/{crawl}")).await.expect(200);
    assert_eq!(crawl["settings"]["scope"], "page");
    assert_eq!(crawl["settings"]["depth"], 0);
}

#[tokio::test]
async fn a_bare_hostname_is_a_url_and_a_url_with_depth_opens_a_crawl() {
    let world = World::new().await;
    let key = world.key().await;
    let bare = world.post(&key, "/v1/url", &json!({ "url": "example.com" })).await.expect(202);
    assert_eq!(bare["url"], "https://example.com/");
    let deep = json!({ "url": "example.com", "depth": 2, "media": "images" });
    let opened = world.post(&key, "/v1/url", &deep).await.expect(202);
    assert_ne!(opened["crawl"], bare["crawl"]);
    let path = format!("/v1/crawls/{}", opened["crawl"].as_str().unwrap());
    let crawl = world.get(&key, &path).await.expect(200);
    let settings = &crawl["settings"];
    assert_eq!((&settings["scope"], &settings["depth"]), (&json!("site"), &json!(2)));
    assert_eq!((&settings["media"], &crawl["seeding"]), (&json!("images"), &json!(false)));
}

#[tokio::test]
async fn a_url_can_be_added_to_a_named_crawl_until_the_crawl_ends() {
    let world = World::new().await;
    let (key, other) = (world.key().await, world.key().await);
    let id = world.crawl(&key).await;
    let body = json!({ "url": "https://a.test/x", "crawl": id, "priority": 7 });
    assert_eq!(world.post(&key, "/v1/url", &body).await.expect(202)["crawl"], id);
    world.post(&other, "/v1/url", &body).await.expect_problem(404, "not_found");
    world.post(&key, &format!("/v1/crawls/{id}/cancel"), &json!({})).await.expect(200);
    world.post(&key, "/v1/url", &body).await.expect_problem(409, "crawl_ended");
}

#[tokio::test]
async fn invalid_submissions_are_rejected_with_the_invalid_field() {
    let world = World::new().await;
    let key = world.key().await;
    let id = world.crawl(&key).await;
    for (body, status, code, field) in [
        (json!({ "url": "" }), 400, "invalid_url", "url"),
        (json!({ "url": "ftp://example.com/" }), 400, "invalid_url", "url"),
        (json!({ "url": "javascript:alert(1)" }), 400, "invalid_url", "url"),
        (
            json!({ "url": format!("https://a.test/{}", "x".repeat(2048)) }),
            400,
            "invalid_url",
            "url",
        ),
        (json!({ "url": "a.test", "depht": 1 }), 400, "unknown_field", "depht"),
        (json!({ "depth": 1 }), 400, "invalid_parameter", "url"),
        (json!({ "url": "a.test", "priority": 8 }), 400, "invalid_parameter", "priority"),
        (
            json!({ "url": "a.test", "max_age_s": 4_000_000_000_u32 }),
            400,
            "invalid_parameter",
            "max_age_s",
        ),
        (json!({ "url": "a.test", "depth": 1001 }), 400, "invalid_setting", "settings.depth"),
        (json!({ "url": "a.test", "depth": 1, "crawl": id }), 400, "invalid_parameter", "depth"),
        (
            json!({ "url": "a.test", "media": "all", "max_age_s": 1 }),
            400,
            "invalid_parameter",
            "media",
        ),
    ] {
        let problem = world.post(&key, "/v1/url", &body).await.expect_problem(status, code);
        assert_eq!(problem["errors"][0]["field"], field, "{body}: {problem}");
    }
    for body in [json!({ "url": 5 }), json!({ "url": "a.test", "crawl": "x" }), json!(["a.test"])] {
        world.post(&key, "/v1/url", &body).await.expect_problem(400, "invalid_parameter");
    }
}

#[tokio::test]
async fn a_list_accepts_valid_urls_and_returns_errors_for_the_others() {
    let world = World::new().await;
    let key = world.key().await;
    let lines = "# a comment\nexample.com\n\nmailto:me@x.test\nhttps://b.test/\nword\n";
    let done = world.post_lines(&key, "/v1/url/batch", lines).await.expect(202);
    let accepted = done["accepted"].as_array().unwrap();
    let of_line = |one: &serde_json::Value| one["line"].as_u64().unwrap();
    assert_eq!(accepted.iter().map(of_line).collect::<Vec<_>>(), [2, 5]);
    let refused = done["refused"].as_array().unwrap();
    assert_eq!(refused.iter().map(of_line).collect::<Vec<_>>(), [4, 6]);
    assert!(refused.iter().all(|one| one["code"] == "invalid_url"));
    let id = accepted[0]["id"].as_str().unwrap();
    assert_eq!(world.get(&key, &format!("/v1/url/{id}")).await.expect(200)["state"], "due");
    let crawl = world.crawl(&key).await;
    let into = format!("/v1/url/batch?crawl={crawl}&priority=3");
    assert_eq!(world.post_lines(&key, &into, "c.test\n").await.expect(202)["crawl"], crawl);
    let json = json!({ "urls": ["d.test", "no host"], "crawl": crawl, "priority": 2 });
    let done = world.post(&key, "/v1/url/batch", &json).await.expect(202);
    assert_eq!((&done["crawl"], &done["refused"][0]["line"]), (&json!(crawl), &json!(2)));
}

#[tokio::test]
async fn a_list_without_a_good_url_or_with_too_many_changes_nothing() {
    let world = World::new().await;
    let key = world.key().await;
    let links = || world.sql("select count(*) from everytab.links");
    let problem = world.post_lines(&key, "/v1/url/batch", "word\n\u{1}\n").await;
    let problem = problem.expect_problem(422, "nothing_to_crawl");
    assert_eq!(problem["errors"].as_array().unwrap().len(), 2);
    for empty in ["", "\n\n", "# only\n"] {
        world
            .post_lines(&key, "/v1/url/batch", empty)
            .await
            .expect_problem(422, "nothing_to_crawl");
    }
    let many = "a.test\n".repeat(10_001);
    world.post_lines(&key, "/v1/url/batch", &many).await.expect_problem(400, "too_many_urls");
    let list = json!({ "urls": vec!["a.test"; 10_001] });
    world.post(&key, "/v1/url/batch", &list).await.expect_problem(400, "too_many_urls");
    assert_eq!(links(), "0");
    let most = (0..10_000).map(|n| format!("https://s{n}.test/\n")).collect::<String>();
    let done = world.post_lines(&key, "/v1/url/batch", &most).await.expect(202);
    assert_eq!(done["accepted"].as_array().unwrap().len(), 10_000);
    assert_eq!(world.sql("select sum(amount) from everytab.links"), "10000");
}

#[tokio::test]
async fn concurrent_submissions_share_commits_and_get_their_own_results() {
    let world = World::new().await;
    let (rich, poor) = (world.key().await, {
        let limits = everytab_coordinator::NewApiKey { urls_a_day: Some(3), ..generous() };
        world.key_with(limits).await
    });
    let bodies: Vec<_> = (0..40).map(|n| json!({ "url": format!("https://h{n}.test/") })).collect();
    let rich_answers = bodies.iter().map(|body| world.post(&rich, "/v1/url", body));
    let poor_answers = bodies.iter().map(|body| world.post(&poor, "/v1/url", body));
    let (rich_answers, poor_answers) = futures_util::future::join(
        futures_util::future::join_all(rich_answers),
        futures_util::future::join_all(poor_answers),
    )
    .await;
    let urls = rich_answers.into_iter().zip(&bodies).map(|(answer, body)| {
        let document = answer.expect(202);
        assert!(document["url"].as_str().unwrap().starts_with(body["url"].as_str().unwrap()));
    });
    assert_eq!(urls.count(), 40);
    let codes: Vec<u16> = poor_answers.iter().map(|answer| answer.status.as_u16()).collect();
    assert_eq!(codes.iter().filter(|code| **code == 202).count(), 3, "{codes:?}");
    assert_eq!(codes.iter().filter(|code| **code == 429).count(), 37, "{codes:?}");
    let transactions = world.sql("select count(distinct xmin::text) from everytab.links");
    assert!(transactions.parse::<u32>().unwrap() < 43, "{transactions} commits of 43 URLs");
}
