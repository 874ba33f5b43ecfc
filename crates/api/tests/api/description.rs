//! The description of the service: it is committed, true, and its examples work.

use std::path::Path;

use serde_json::{Value, json};

use crate::{schema::problems_of, world::World};

/// Where the description is committed.
fn committed() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json")
}

fn description() -> Value {
    serde_json::from_str(&everytab_api::description_json().unwrap()).unwrap()
}

/// Each operation: its path, its method, itself.
fn operations(whole: &Value) -> Vec<(String, String, Value)> {
    let paths = whole["paths"].as_object().unwrap().iter();
    paths
        .flat_map(|(path, methods)| {
            let methods = methods.as_object().unwrap().iter();
            methods.map(move |(method, operation)| {
                (path.clone(), method.to_uppercase(), operation.clone())
            })
        })
        .collect()
}

#[test]
fn docs_have_the_description_that_is_served() {
    let right = everytab_api::description_json().unwrap();
    if std::env::var_os("EVERYTAB_WRITE_DOCS").is_some() {
        std::fs::write(committed(), &right).unwrap();
        return;
    }
    let text = std::fs::read_to_string(committed()).unwrap_or_default();
    assert!(text == right, "docs/openapi.json is not what the code has: `make openapi` writes it");
}

#[tokio::test]
async fn the_description_is_openapi_3_1_and_is_served_as_it_is_committed() {
    let world = World::new().await;
    let served = world.send("GET", "/openapi.json", &[], "").await;
    assert_eq!(served.text, everytab_api::description_json().unwrap());
    let whole = served.expect(200);
    assert!(whole["openapi"].as_str().unwrap().starts_with("3.1."));
    let codes = whole["components"]["schemas"]["ProblemCode"]["enum"].as_array().unwrap();
    assert_eq!(codes.len(), everytab_api::ProblemCode::ALL.len());
    let operations = operations(&whole);
    assert!(operations.len() >= 30, "{}", operations.len());
    for (path, method, operation) in operations {
        // Who has no key gets no further than that, unless the path takes none.
        let is_open = operation["security"] == json!([{}]);
        let path = path.replace("{id}", "x");
        let answer = world.send(&method, &path, &[("content-type", "application/json")], "").await;
        let expected = if is_open { 200 } else { 401 };
        assert_eq!(answer.status.as_u16(), expected, "{method} {path}: {answer:?}");
    }
}

/// The id of a thing of its own for an example, which may end it.
async fn id_for(world: &World, key: &str, path: &str) -> String {
    let (made_at, body) = match path {
        "/v1/url/schedule/{id}" => {
            ("/v1/url/schedule", json!({ "every": "24h", "urls": ["https://a.test/"] }))
        }
        "/v1/url/filter/{id}" => {
            let name = format!("filter-{}", uuid::Uuid::new_v4());
            ("/v1/url/filter", json!({ "name": name, "filter": {} }))
        }
        "/v1/url/robots/{id}" => ("/v1/url/robots", json!({ "delay_ms": 2000 })),
        _ => ("/v1/crawls", json!({ "urls": ["https://a.test/"] })),
    };
    let made = world.post(key, made_at, &body).await.expect(201);
    let id = if path == "/v1/url/{id}" { &made["accepted"][0]["id"] } else { &made["id"] };
    id.as_str().unwrap().to_owned()
}

#[tokio::test]
async fn each_example_is_answered_as_the_description_says() {
    let world = World::new().await;
    let key = world.key().await;
    let bearer = format!("Bearer {key}");
    let whole = description();
    let mut sent = 0;
    for (path, method, operation) in operations(&whole) {
        // What is kept is asked for by URL; `captures.rs` does that.
        if path.starts_with("/v1/crawled/") {
            continue;
        }
        let path = path.replace("{id}", &id_for(&world, &key, &path).await);
        let none = serde_json::Map::new();
        let bodies = operation["requestBody"]["content"].as_object().unwrap_or(&none);
        let mut requests: Vec<(String, String)> = Vec::new();
        for (kind, content) in bodies {
            let example = content.get("example").expect("each body has an example");
            let text = example.as_str().map_or_else(|| example.to_string(), str::to_owned);
            let schema = &content["schema"];
            if kind == "application/json" {
                assert_eq!(problems_of(&whole, schema, example), Vec::<String>::new(), "{path}");
            }
            requests.push((kind.clone(), text));
        }
        if requests.is_empty() {
            requests.push(("application/json".to_owned(), String::new()));
        }
        for (kind, body) in requests {
            let headers = [("authorization", bearer.as_str()), ("content-type", kind.as_str())];
            let answer = world.send(&method, &path, &headers, body.clone()).await;
            assert!(answer.status.is_success(), "{method} {path} {body}: {answer:?}");
            let status = answer.status.as_str();
            sent += 1;
            if answer.bytes.is_empty() {
                let described = &operation["responses"][status];
                assert!(described.is_object() && described["content"].is_null(), "{method} {path}");
                continue;
            }
            let response = &operation["responses"][status]["content"]["application/json"];
            assert!(response.is_object(), "{method} {path}: {status} is not described");
            let found = problems_of(&whole, &response["schema"], &answer.json());
            assert_eq!(found, Vec::<String>::new(), "{method} {path}: {}", answer.text);
        }
    }
    assert!(sent >= 32, "{sent}");
    // Problems are described too.
    let problem = world.post(&key, "/v1/url", &json!({ "url": "" })).await.expect(400);
    let schema = json!({ "$ref": "#/components/schemas/Problem" });
    assert_eq!(problems_of(&whole, &schema, &problem), Vec::<String>::new());
}
