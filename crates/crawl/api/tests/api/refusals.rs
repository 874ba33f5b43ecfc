//! Tests the cost of rejected requests.

use std::collections::BTreeSet;

use everytab_coordinator::NewApiKey;
use futures_util::future::join_all;
use serde_json::json;

use crate::world::{World, generous};

const REPEATS: usize = 20;

fn sessions(world: &World) -> BTreeSet<String> {
    let pids = world.sql(
        "select pid from pg_stat_activity
          where datname = current_database() and usename = 'everytab_api'",
    );
    pids.lines().map(str::to_owned).collect()
}

fn wrong_key() -> String {
    format!("et_{}_{}", "a".repeat(12), "a".repeat(52))
}

#[tokio::test]
async fn rejections_open_no_session_in_postgres() {
    let world = World::new().await;
    let (key, revoked) = (world.key().await, world.key().await);
    let slow =
        world.key_with(NewApiKey { requests_per_second: 0.001, burst: 1, ..generous() }).await;
    for key in [&key, &revoked, &slow] {
        world.get(key, "/v1/settings").await;
    }
    let id = world.crawl(&key).await;
    world.post(&key, &format!("/v1/crawls/{id}/cancel"), &json!({})).await.expect(200);
    assert!(world.owner.revoke_key(&revoked[3..15]).await.unwrap());
    let before = sessions(&world);
    let add = format!("/v1/crawls/{id}/urls");
    let absent = format!("/v1/crawls/{}", uuid::Uuid::new_v4());
    for _ in 0..REPEATS {
        world.get(&wrong_key(), "/v1/settings").await.expect_problem(401, "unauthorized");
        world.get(&revoked, "/v1/settings").await.expect_problem(401, "unauthorized");
        world.get(&key, &absent).await.expect_problem(404, "not_found");
        let ended = world.post(&key, &add, &json!({ "urls": ["a.test"] })).await;
        ended.expect_problem(409, "crawl_ended");
        world.get(&slow, "/v1/url/filter").await.expect_problem(429, "throttled");
    }
    let after = sessions(&world);
    assert!(after.is_subset(&before), "{before:?} {after:?}");
}

#[tokio::test]
async fn a_key_that_was_just_added_works_amid_a_flood_of_wrong_ones() {
    let world = World::new().await;
    let wrong = wrong_key();
    let flood = join_all((0..64).map(|_| async {
        for _ in 0..5 {
            world.get(&wrong, "/v1/settings").await.expect_problem(401, "unauthorized");
        }
    }));
    let valid = async {
        for _ in 0..5 {
            let key = world.key().await;
            world.get(&key, "/v1/settings").await.expect(200);
        }
    };
    tokio::join!(flood, valid);
}

#[tokio::test]
async fn a_wrong_secret_for_an_accepted_key_is_rejected() {
    let world = World::new().await;
    let key = world.key().await;
    world.get(&key, "/v1/settings").await.expect(200);
    let (id, secret) = (&key[..15], &key[16..]);
    let other = if secret.starts_with('a') { "b" } else { "a" };
    let forged = format!("{id}_{other}{}", &secret[1..]);
    world.get(&forged, "/v1/settings").await.expect_problem(401, "unauthorized");
    world.get(&key, "/v1/settings").await.expect(200);
}
