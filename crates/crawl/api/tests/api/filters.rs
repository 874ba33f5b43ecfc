//! Tests filters that belong to keys, and crawls that use them.

use everytab_coordinator::{NewApiKey, NewFilterList};
use everytab_filters::{ListFileKind, NameListBuilder};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::net::TcpListener;

use crate::world::{World, generous};

const PATH: &str = "/v1/url/filter";

fn no_shops() -> Value {
    json!({ "name": "no-shops", "filter": {
        "rules": [{ "pattern": "*/shop/*", "verdict": "drop" }],
        "words": { "weights": { "sale": 2, "news": -1 }, "threshold": 4, "in": ["title"] },
        "languages": { "keep": ["de"] },
    } })
}

async fn import(world: &World, name: &str) {
    let list = NewFilterList {
        name: name.to_owned(),
        kind: "names".to_owned(),
        store: "file:///lists".to_owned(),
        object: "lists/x".to_owned(),
        sha256: vec![7; 32],
        entries: 1,
        bytes: 8,
        categories: json!({ "adult": 1 }),
        source: "test".to_owned(),
    };
    world.owner.add_filter_list(&list).await.unwrap();
}

#[tokio::test]
async fn filters_can_be_stored_read_replaced_and_removed() {
    let world = World::new().await;
    let key = world.key().await;
    let answer = world.post(&key, PATH, &no_shops()).await;
    let place = answer.headers["location"].to_str().unwrap().to_owned();
    let kept = answer.expect(201);
    assert_eq!(place, format!("{PATH}/{}", kept["id"].as_str().unwrap()));
    assert_eq!((&kept["name"], &kept["version"]), (&json!("no-shops"), &json!(1)));
    assert_eq!(kept["filter"], no_shops()["filter"]);
    assert_eq!(kept.get("owner"), None);
    assert_eq!(world.get(&key, &place).await.expect(200), kept);
    let taken = json!({ "name": "no-shops", "filter": {} });
    world.post(&key, PATH, &taken).await.expect_problem(409, "name_taken");
    let filter = json!({ "types": { "drop": ["image/*"] } });
    let changed = world.put(&key, &place, &json!({ "filter": filter })).await.expect(200);
    assert_eq!((&changed["version"], &changed["id"]), (&json!(2), &kept["id"]));
    assert_eq!(changed["filter"], filter);
    world.post(&key, PATH, &json!({ "name": "a", "filter": {} })).await.expect(201);
    let list = world.get(&key, PATH).await.expect(200);
    let names = list["filters"].as_array().unwrap().iter().map(|one| one["name"].clone());
    assert_eq!(names.collect::<Vec<_>>(), ["a", "no-shops"]);
    assert_eq!(list["filters"][1].get("filter"), None);
    assert_eq!(world.delete(&key, &place).await.expect(204), Value::Null);
    world.delete(&key, &place).await.expect_problem(404, "not_found");
    world.get(&key, &place).await.expect_problem(404, "not_found");
    world.put(&key, &place, &json!({ "filter": {} })).await.expect_problem(404, "not_found");
}

#[tokio::test]
async fn an_invalid_filter_is_rejected_by_its_field_and_not_stored() {
    let world = World::new().await;
    let key = world.key().await;
    let kept = world.post(&key, PATH, &no_shops()).await.expect(201);
    let place = format!("{PATH}/{}", kept["id"].as_str().unwrap());
    let long = "a".repeat(101);
    let rule = |pattern: &str| json!({ "rules": [{ "pattern": pattern, "verdict": "drop" }] });
    for (filter, code, field) in [
        (rule("re:("), "invalid_pattern", Some("filter.rules")),
        (rule("re:[a-m][a-z]{200}%"), "invalid_pattern", Some("filter.rules")),
        (json!({ "rules": [{ "pattern": "x", "verdict": "burn" }] }), "invalid_parameter", None),
        (json!({ "rules": [{ "pattern": "x" }] }), "invalid_parameter", None),
        (
            json!({ "lists": [{ "name": "../x", "mode": "drop" }] }),
            "invalid_parameter",
            Some("filter.lists[0].name"),
        ),
        (
            json!({ "words": { "weights": { "a": 1 }, "threshold": 0 } }),
            "invalid_parameter",
            Some("filter.words.threshold"),
        ),
        (
            json!({ "words": { "weights": { "a\u{0}": 1 }, "threshold": 1 } }),
            "invalid_parameter",
            Some("filter"),
        ),
        (rule("re:a\u{0}"), "invalid_parameter", Some("filter")),
        (
            json!({ "languages": { "keep": ["klingon"] } }),
            "invalid_parameter",
            Some("filter.languages"),
        ),
        (json!({ "countries": {} }), "invalid_parameter", Some("filter.countries")),
        (json!({ "types": { "keep": ["html"] } }), "invalid_parameter", Some("filter.types")),
        (json!({ "classifier": { "socket": "/x" } }), "unknown_field", Some("classifier")),
        (json!({ "colour": "red" }), "unknown_field", Some("colour")),
        (json!("x"), "invalid_parameter", None),
    ] {
        let added = world.post(&key, PATH, &json!({ "name": "x", "filter": filter })).await;
        let changed = world.put(&key, &place, &json!({ "filter": filter })).await;
        let tried = json!({ "filter": filter, "urls": ["http://a.test/"] });
        let tried = world.post(&key, &format!("{PATH}/test"), &tried).await;
        for answer in [added, changed, tried] {
            let problem = answer.expect_problem(400, code);
            if let Some(field) = field {
                assert_eq!(problem["errors"][0]["field"], field, "{problem}");
            }
        }
    }
    for name in ["", "a b", ".a", "a/b", "a\u{0}", &long] {
        let answer = world.post(&key, PATH, &json!({ "name": name, "filter": {} })).await;
        let problem = answer.expect_problem(400, "invalid_parameter");
        assert_eq!(problem["errors"][0]["field"], "name", "{name:?}");
    }
    let owner = json!({ "name": "x", "filter": {}, "owner": "operator" });
    world.post(&key, PATH, &owner).await.expect_problem(400, "unknown_field");
    let renamed = json!({ "name": "x", "filter": {} });
    world.put(&key, &place, &renamed).await.expect_problem(400, "unknown_field");
    world.post_lines(&key, PATH, "x").await.expect_problem(415, "unsupported_media_type");
    assert_eq!(world.sql("select count(*) from everytab.filters"), "1");
    assert_eq!(world.get(&key, &place).await.expect(200)["version"], 1);
}

#[tokio::test]
async fn filters_are_not_found_with_another_or_a_revoked_key() {
    let world = World::new().await;
    let (key, other) = (world.key().await, world.key().await);
    world.owner.put_filter("operator", "of-the-operator", &json!({})).await.unwrap();
    let kept = world.post(&key, PATH, &no_shops()).await.expect(201);
    let place = format!("{PATH}/{}", kept["id"].as_str().unwrap());
    let empty = json!({ "filter": {} });
    for path in [&place, &format!("{PATH}/{}", uuid::Uuid::nil()), &format!("{PATH}/x")] {
        world.get(&other, path).await.expect_problem(404, "not_found");
        world.put(&other, path, &empty).await.expect_problem(404, "not_found");
        world.delete(&other, path).await.expect_problem(404, "not_found");
    }
    assert_eq!(world.get(&other, PATH).await.expect(200)["filters"], json!([]));
    for name in ["no-shops", "of-the-operator"] {
        let tried = json!({ "name": name, "urls": ["http://a.test/"] });
        let tried = world.post(&other, &format!("{PATH}/test"), &tried).await;
        tried.expect_problem(404, "not_found");
        let crawl = json!({ "urls": ["a.test"], "settings": { "filter": name } });
        let problem = world.post(&other, "/v1/crawls", &crawl).await;
        let problem = problem.expect_problem(400, "invalid_setting");
        assert_eq!(problem["errors"][0]["field"], "settings.filter");
    }
    assert!(world.owner.revoke_key(&key[3..15]).await.unwrap());
    world.get(&key, PATH).await.expect_problem(401, "unauthorized");
    world.get(&key, &place).await.expect_problem(401, "unauthorized");
    world.post(&key, PATH, &no_shops()).await.expect_problem(401, "unauthorized");
    world.put(&key, &place, &empty).await.expect_problem(401, "unauthorized");
    world.delete(&key, &place).await.expect_problem(401, "unauthorized");
    let tried = json!({ "filter": {}, "urls": [] });
    let tried = world.post(&key, &format!("{PATH}/test"), &tried).await;
    tried.expect_problem(401, "unauthorized");
}

#[tokio::test]
async fn a_filter_test_returns_the_deciding_part_for_each_url() {
    let world = World::new().await;
    let key = world.key().await;
    let filter = json!({
        "rules": [{ "pattern": "a.test/shop/good", "verdict": "keep" },
                  { "pattern": "*/shop/*", "verdict": "drop" },
                  { "pattern": "re:/links$", "verdict": "nofollow" }],
        "lists": [{ "name": "ut1", "mode": "drop" }],
        "countries": { "drop": ["FR"] },
    });
    let urls = [
        "https://a.test/shop/good",
        "https://A.test/shop/bad?utm_source=x",
        "https://a.test/links",
        "https://a.fr/",
        "https://a.test/",
        "ftp://a.test/",
    ];
    let path = format!("{PATH}/test");
    let tried = json!({ "filter": filter, "urls": urls });
    let found = world.post(&key, &path, &tried).await.expect(200);
    assert_eq!(found["lists_not_asked"], json!(["ut1"]));
    let decided: Vec<(&Value, &Value)> =
        found["urls"].as_array().unwrap().iter().map(|one| (&one["verdict"], &one["by"])).collect();
    let null = Value::Null;
    assert_eq!(
        decided,
        [
            (&json!("keep"), &json!("rules[0]")),
            (&json!("drop"), &json!("rules[1]")),
            (&json!("nofollow"), &json!("rules[2]")),
            (&json!("drop"), &json!("countries: top-level domain of FR")),
            (&json!("keep"), &null),
            (&null, &null),
        ]
    );
    assert_eq!(found["urls"][1]["key"], "https://a.test/shop/bad");
    assert_eq!(found["urls"][1]["url"], urls[1]);
    assert!(found["urls"][5]["error"].is_string(), "{found}");
    world.post(&key, PATH, &json!({ "name": "f", "filter": filter })).await.expect(201);
    let by_name = json!({ "name": "f", "urls": urls });
    assert_eq!(world.post(&key, &path, &by_name).await.expect(200), found);
    // Countries to keep do not apply to seeds.
    let keep = json!({ "countries": { "keep": ["FR"] } });
    let verdict = async |seeds: bool| {
        let tried = json!({ "filter": keep, "urls": ["https://a.de/"], "seeds": seeds });
        world.post(&key, &path, &tried).await.expect(200)["urls"][0]["verdict"].clone()
    };
    assert_eq!((verdict(false).await, verdict(true).await), (json!("drop"), json!("keep")));
    for (body, code) in [
        (json!({ "urls": [] }), "invalid_parameter"),
        (json!({ "filter": {}, "name": "f", "urls": [] }), "invalid_parameter"),
        (json!({ "name": "a b", "urls": [] }), "invalid_parameter"),
        (json!({ "filter": {} }), "invalid_parameter"),
        (json!({ "filter": {}, "urls": [], "fetch": true }), "unknown_field"),
        (json!({ "filter": {}, "urls": vec!["a"; 10_001] }), "too_many_urls"),
    ] {
        world.post(&key, &path, &body).await.expect_problem(400, code);
    }
    assert_eq!(world.sql("select count(*) from everytab.links"), "0");
}

#[tokio::test]
async fn crawls_and_schedules_keep_the_filter_version_at_their_start() {
    let world = World::new().await;
    let key = world.key().await;
    import(&world, "ut1").await;
    let filter = json!({ "lists": [{ "name": "ut1", "mode": "drop", "categories": ["adult"] }] });
    let kept = world.post(&key, PATH, &json!({ "name": "clean", "filter": filter })).await;
    let place = format!("{PATH}/{}", kept.expect(201)["id"].as_str().unwrap());
    let settings = json!({ "filter": "clean" });
    let body = json!({ "urls": ["a.test"], "settings": settings });
    let started = world.post(&key, "/v1/crawls", &body).await.expect(201);
    let body = json!({ "every": "24h", "urls": ["a.test"], "settings": settings });
    world.post(&key, "/v1/url/schedule", &body).await.expect(201);
    world.put(&key, &place, &json!({ "filter": {} })).await.expect(200);
    for table in ["crawls", "schedules"] {
        let of = |path: &str| {
            world.sql(&format!("select settings #>> '{{filters,0,{path}}}' from everytab.{table}"))
        };
        assert_eq!((of("name").as_str(), of("version").as_str()), ("clean", "1"));
        assert_eq!((of("lists,0,name").as_str(), of("lists,0,version").as_str()), ("ut1", "1"));
        assert_eq!(of("filter,lists,0,mode"), "drop");
    }
    let crawl = format!("/v1/crawls/{}", started["id"].as_str().unwrap());
    let crawl = world.get(&key, &crawl).await.expect(200);
    assert_eq!(crawl["settings"]["filter"], "clean");
    assert!(!crawl.to_string().contains("file:///lists"), "{crawl}");
    assert_eq!(world.get(&key, "/v1/settings").await.expect(200)["lists"], json!(["ut1"]));
    for filter in [
        json!({ "lists": [{ "name": "other", "mode": "drop" }] }),
        json!({ "lists": [{ "name": "ut1", "mode": "drop", "categories": ["games"] }] }),
    ] {
        world.put(&key, &place, &json!({ "filter": filter })).await.expect(200);
        let body = json!({ "urls": ["a.test"], "settings": settings });
        let problem = world.post(&key, "/v1/crawls", &body).await;
        problem.expect_problem(400, "invalid_setting");
    }
}

#[tokio::test]
async fn a_repeated_request_stores_one_filter() {
    let world = World::new().await;
    let key = world.key().await;
    let bearer = format!("Bearer {key}");
    let send = async |name: &str, body: &Value| {
        let headers = [("authorization", bearer.as_str()), ("idempotency-key", name)];
        world.send("POST", PATH, &headers, body.to_string()).await
    };
    let first = send("one", &no_shops()).await.expect(201);
    assert_eq!(send("one", &no_shops()).await.expect(200), first);
    let other = json!({ "name": "other", "filter": {} });
    send("one", &other).await.expect_problem(409, "idempotency_mismatch");
    send("two", &no_shops()).await.expect_problem(409, "name_taken");
    assert_eq!(world.sql("select count(*) from everytab.filters"), "1");
}

#[tokio::test]
async fn a_key_has_a_hundred_filters() {
    let world = World::new().await;
    let key = world.key().await;
    for number in 0..100 {
        let body = json!({ "name": format!("f{number}"), "filter": {} });
        world.post(&key, PATH, &body).await.expect(201);
    }
    let body = json!({ "name": "one-more", "filter": {} });
    let problem = world.post(&key, PATH, &body).await.expect_problem(403, "not_allowed");
    assert_eq!(problem["detail"], "the limit is 100");
}

#[tokio::test]
async fn a_filter_test_costs_as_much_as_submitting_its_urls() {
    let world = World::new().await;
    let key =
        world.key_with(NewApiKey { requests_per_second: 0.01, burst: 12, ..generous() }).await;
    let tried = |urls: usize| {
        let urls = vec!["http://a.test/"; urls];
        json!({ "filter": { "languages": { "keep": ["de"] } }, "urls": urls })
    };
    let path = format!("{PATH}/test");
    world.post(&key, &path, &tried(1_000)).await.expect(200);
    world.post(&key, &path, &tried(1_000)).await.expect_problem(429, "throttled");
    // The service compiles nothing for a client without a valid key.
    let made_up = format!("et_{}_{}", "a".repeat(12), "a".repeat(52));
    let body = json!({ "name": "n", "filter": { "rules": [
        { "pattern": "re:(", "verdict": "drop" }] } });
    world.post(&made_up, PATH, &body).await.expect_problem(401, "unauthorized");
}

#[tokio::test]
async fn a_filter_test_decides_every_url_even_with_costly_rules_and_long_urls() {
    let world = World::new().await;
    let key = world.key().await;
    // This pattern takes 0.1 s per URL in an engine that tracks all states in parallel.
    let filter = json!({ "rules": [
        { "pattern": "re:(?:.?){3000}[^a-z0-9/.:_?=-]", "verdict": "drop" },
        { "pattern": "*/b", "verdict": "nofollow" },
    ] });
    let url = |end: usize| format!("http://a.test/{}/{}", "a".repeat(2_025), ["b", "%7c"][end]);
    let urls: Vec<String> = (0..1_000).map(|number| url(number % 2)).collect();
    let tried = json!({ "filter": filter, "urls": urls });
    let answer = world.post(&key, &format!("{PATH}/test"), &tried).await.expect(200);
    let decided = answer["urls"].as_array().unwrap();
    assert_eq!(decided.len(), 1_000);
    for (number, one) in decided.iter().enumerate() {
        let by = ["rules[1]", "rules[0]"][number % 2];
        assert_eq!((&one["url"], &one["by"]), (&json!(urls[number]), &json!(by)));
    }
}

#[tokio::test]
async fn a_filter_test_uses_the_newest_version_of_an_imported_list() {
    let world = World::new().await;
    let key = world.key().await;
    let folder = tempfile::tempdir().unwrap();
    let import = async |object_name: &str, domain: &str| {
        let mut builder = NameListBuilder::default();
        builder.add_line("adult", ListFileKind::Domains, domain.as_bytes()).unwrap();
        let object = builder.build();
        let list = NewFilterList {
            name: "ut1".to_owned(),
            kind: "names".to_owned(),
            store: format!("file://{}", folder.path().display()),
            object: object_name.to_owned(),
            sha256: Sha256::digest(&object).to_vec(),
            entries: 1,
            bytes: i64::try_from(object.len()).unwrap(),
            categories: json!({ "adult": 1 }),
            source: "here".to_owned(),
        };
        world.owner.add_filter_list(&list).await.unwrap();
        object
    };
    let filter = json!({ "lists": [{ "name": "ut1", "categories": ["adult"], "mode": "drop" }] });
    let tried = json!({ "filter": filter, "urls": ["https://www.a.test/", "https://b.test/"] });
    let verdicts = async || {
        let found = world.post(&key, &format!("{PATH}/test"), &tried).await.expect(200);
        let urls = found["urls"].as_array().unwrap().iter();
        let verdicts: Vec<Value> = urls.map(|url| url["verdict"].clone()).collect();
        (json!(verdicts), found["lists_not_asked"].clone())
    };
    let object = import("1.list", "a.test").await;
    assert_eq!(verdicts().await, (json!(["keep", "keep"]), json!(["ut1"])));
    std::fs::write(folder.path().join("1.list"), &object).unwrap();
    assert_eq!(verdicts().await, (json!(["drop", "keep"]), json!([])));
    // The list is cached even if its object is gone. A newer version is another object.
    std::fs::remove_file(folder.path().join("1.list")).unwrap();
    assert_eq!(verdicts().await, (json!(["drop", "keep"]), json!([])));
    let object = import("2.list", "b.test").await;
    std::fs::write(folder.path().join("2.list"), object).unwrap();
    assert_eq!(verdicts().await, (json!(["keep", "drop"]), json!([])));
}

/// Regression test: two requests that waited for lists from a slow store blocked all other tests.
#[tokio::test]
async fn filters_are_tested_while_others_wait_for_their_lists() {
    let world = World::new().await;
    let (key, one, two) = (world.key().await, world.key().await, world.key().await);
    let store = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let path = format!("{PATH}/test");
    let urls = ["https://a.test/"];
    for name in ["a", "b"] {
        let list = NewFilterList {
            name: name.to_owned(),
            kind: "names".to_owned(),
            store: format!("http://{}", store.local_addr().unwrap()),
            object: name.to_owned(),
            sha256: vec![name.as_bytes()[0]; 32],
            entries: 1,
            bytes: 8,
            categories: json!({}),
            source: "here".to_owned(),
        };
        world.owner.add_filter_list(&list).await.unwrap();
    }
    let waiting = async |key: &str, name: &str| {
        let filter = json!({ "lists": [{ "name": name, "mode": "drop" }] });
        world.post(key, &path, &json!({ "filter": filter, "urls": urls })).await
    };
    let others = async {
        let _connections = (store.accept().await.unwrap(), store.accept().await.unwrap());
        let filter = json!({ "languages": { "keep": ["de"] } });
        world.post(&key, &path, &json!({ "filter": filter, "urls": urls })).await.expect(200);
    };
    tokio::select! {
        _ = async { tokio::join!(waiting(&one, "a"), waiting(&two, "b")) } => {
            panic!("a request did not wait for its list")
        }
        () = others => {}
    }
}
