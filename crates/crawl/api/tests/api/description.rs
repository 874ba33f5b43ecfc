//! Tests that the service's OpenAPI description is committed and correct, and that its examples
//! work.

use std::{collections::BTreeSet, path::Path};

use everytab_api::ProblemCode;
use serde_json::{Value, json};

use crate::{schema::problems_of, world::World};

fn committed() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/openapi.json")
}

fn description() -> Value {
    serde_json::from_str(&everytab_api::description_json().unwrap()).unwrap()
}

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
fn docs_contain_the_served_description() {
    let right = everytab_api::description_json().unwrap();
    if std::env::var_os("EVERYTAB_WRITE_DOCS").is_some() {
        std::fs::write(committed(), &right).unwrap();
        return;
    }
    let text = std::fs::read_to_string(committed()).unwrap_or_default();
    assert!(text == right, "docs/openapi.json is out of date: run `make openapi`");
}

#[tokio::test]
async fn the_description_is_openapi_3_1_and_is_served_as_it_is_committed() {
    let world = World::new().await;
    let served = world.send("GET", "/openapi.json", &[], "").await;
    assert_eq!(served.text, everytab_api::description_json().unwrap());
    let whole = served.expect(200);
    assert!(whole["openapi"].as_str().unwrap().starts_with("3.1."));
    let codes = whole["components"]["schemas"]["ProblemCode"]["enum"].as_array().unwrap();
    assert_eq!(codes.len(), ProblemCode::ALL.len());
    let operations = operations(&whole);
    assert!(operations.len() >= 30, "{}", operations.len());
    for (path, method, operation) in operations {
        let is_open = operation["security"] == json!([{}]);
        let path = path.replace("{id}", "x");
        let answer = world.send(&method, &path, &[("content-type", "application/json")], "").await;
        let expected = if is_open { 200 } else { 401 };
        assert_eq!(answer.status.as_u16(), expected, "{method} {path}: {answer:?}");
    }
}

/// Verbs with which an operation's ID may end. The part before the verb names the object.
const VERBS: [&str; 17] = [
    "add", "cancel", "change", "check", "get", "list", "pause", "remove", "replace", "resume",
    "rotate", "search", "set", "start", "stop", "submit", "test",
];

#[test]
fn operation_ids_are_unique_and_name_object_and_verb() {
    let whole = description();
    let operations = operations(&whole);
    let ids: Vec<&str> =
        operations.iter().map(|(.., one)| one["operationId"].as_str().unwrap()).collect();
    for id in &ids {
        let words: Vec<&str> = id.split('_').collect();
        let is_word =
            |word: &&str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase());
        let is_named = words.len() >= 2 && words.iter().all(is_word);
        assert!(is_named && VERBS.contains(words.last().unwrap()), "{id} is not noun_verb");
    }
    let unique: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(unique.len(), ids.len(), "an ID is repeated: {ids:?}");
}

#[test]
fn each_operation_lists_its_errors_with_existing_codes() {
    let whole = description();
    for (path, method, operation) in operations(&whole) {
        let named = operation["x-problem-codes"].as_array().unwrap().iter();
        let codes: Vec<ProblemCode> = named
            .map(|name| {
                let name = name.as_str().unwrap();
                ProblemCode::parse(name).unwrap_or_else(|| panic!("{method} {path}: {name}"))
            })
            .collect();
        let expected: BTreeSet<String> =
            codes.iter().map(|code| code.status().as_str().to_owned()).collect();
        let responses = operation["responses"].as_object().unwrap();
        let found = responses.keys().filter(|status| !status.starts_with('2')).cloned();
        assert_eq!(found.collect::<BTreeSet<_>>(), expected, "{method} {path}");
    }
}

fn words(text: &str) -> BTreeSet<String> {
    let quoted = text.split('\'').skip(1).step_by(2).map(str::to_owned);
    match text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        Some(list) => list.split(',').map(str::to_owned).collect(),
        None => quoted.collect(),
    }
}

#[tokio::test]
async fn closed_lists_equal_those_in_the_database() {
    let world = World::new().await;
    let whole = description();
    let listed = |name: &str| -> BTreeSet<String> {
        let list = whole["components"]["schemas"][name]["enum"].as_array();
        let list = list.unwrap_or_else(|| panic!("{name} is not a list"));
        list.iter().map(|word| word.as_str().unwrap().to_owned()).collect()
    };
    let constraint = |column: &str| {
        world.sql(&format!(
            "select pg_get_constraintdef(c.oid) from pg_constraint c
              where c.conrelid = 'everytab.crawls'::regclass
                and c.conname = 'crawls_{column}_check'"
        ))
    };
    assert_eq!(listed("CrawlState"), words(&constraint("state")));
    assert_eq!(listed("CrawlEnd"), words(&constraint("ended_by")));
    for (name, kind) in [("ScanStateWord", "run_state"), ("StageKind", "job_kind")] {
        let range = world.sql(&format!("select enum_range(null::everytab.{kind})"));
        assert_eq!(listed(name), words(&range), "{name}");
    }
    let overview = world.sql(
        "select substring(prosrc from 'ev.event in (\\([^)]*\\))') from pg_proc
          where proname = 'overview' and pronamespace = 'api'::regnamespace",
    );
    let events = &whole["components"]["schemas"]["ScanDocument"]["properties"]["errors"];
    let events = events["propertyNames"]["enum"].as_array().unwrap().iter();
    let events = events.map(|event| event.as_str().unwrap().to_owned());
    assert_eq!(events.collect::<BTreeSet<_>>(), words(&overview));
    let counts = &whole["components"]["schemas"]["CrawlDocument"]["properties"];
    for (field, state) in [("failures", "failed"), ("refused", "refused"), ("left", "left")] {
        let ends = listed("CrawlEnd");
        for outcome in counts[field]["propertyNames"]["enum"].as_array().unwrap() {
            let outcome = outcome.as_str().unwrap();
            assert!(ends.contains(outcome) || listed("FetchOutcome").contains(outcome));
            let sql = format!("select coordinator.ending_of('{outcome}', null)");
            assert!(ends.contains(outcome) || world.sql(&sql) == state, "{field}: {outcome}");
        }
    }
}

/// An example gets its own resource, because it may end or remove it.
async fn id_for(world: &World, key: &str, path: &str) -> String {
    let (made_at, body) = match path {
        "/v1/url/schedule/{id}" => {
            ("/v1/url/schedule", json!({ "every": "24h", "urls": ["https://a.test/"] }))
        }
        "/v1/url/filter/{id}" => {
            let name = format!("filter-{}", uuid::Uuid::new_v4());
            ("/v1/url/filter", json!({ "name": name, "filter": {} }))
        }
        path if path.starts_with("/v1/webhooks/{id}") => {
            ("/v1/webhooks", json!({ "url": "https://hook.test/", "events": ["url.done"] }))
        }
        "/v1/url/robots/{id}" => ("/v1/url/robots", json!({ "delay_ms": 2000 })),
        _ => ("/v1/crawls", json!({ "urls": ["https://a.test/"] })),
    };
    let made = world.post(key, made_at, &body).await.expect(201);
    let id = if path == "/v1/url/{id}" { &made["accepted"][0]["id"] } else { &made["id"] };
    id.as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_response_to_each_example_matches_the_description() {
    let world = World::new().await;
    let key = world.key().await;
    let bearer = format!("Bearer {key}");
    let whole = description();
    let mut sent = 0;
    for (path, method, operation) in operations(&whole) {
        // `captures.rs` tests these paths, because captures are requested by URL.
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
    let problem = world.post(&key, "/v1/url", &json!({ "url": "" })).await.expect(400);
    let schema = json!({ "$ref": "#/components/schemas/Problem" });
    assert_eq!(problems_of(&whole, &schema, &problem), Vec::<String>::new());
}
