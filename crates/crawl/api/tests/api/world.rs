//! Test fixture: a database with keys, and the service on loopback.

use std::net::SocketAddr;

use everytab_api::{ApiService, ApiSettings, KEY_RANDOM_BYTES, key_of_random, secret_sha256};
use everytab_coordinator::{ConnectSettings, Coordinator, NewApiKey, schema_digest};
use everytab_patience::LIMIT;
use everytab_postgres::{ADMIN_USER, shared_for_tests};
use everytab_storage::StoreSettings;
use everytab_webpage::address::Guard;
use reqwest::{Client, Method, StatusCode, header::HeaderMap};
use serde_json::Value;
use tempfile::TempDir;
use tokio::{net::TcpListener, sync::watch};
use uuid::Uuid;

use crate::conformance;

pub(crate) struct World {
    pub owner: Coordinator,
    pub base: String,
    pub stop: watch::Sender<bool>,
    pub api: Coordinator,
    database: String,
    client: Client,
    _folder: Option<TempDir>,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    /// The body as UTF-8, with invalid bytes replaced.
    pub text: String,
    pub bytes: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Panics unless the response has this status. Returns its JSON.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{self:?}");
        if self.text.is_empty() { Value::Null } else { self.json() }
    }

    /// Panics unless the response is a problem with this code, in the form of RFC 9457.
    #[track_caller]
    pub(crate) fn expect_problem(self, status: u16, code: &str) -> Value {
        let kind = self.headers.get("content-type").map(|value| value.to_str().unwrap().to_owned());
        assert_eq!(kind.as_deref(), Some("application/problem+json"), "{self:?}");
        let problem = self.expect(status);
        assert_eq!(problem["code"], code, "{problem}");
        assert_eq!(problem["status"], status);
        assert_eq!(problem["type"], format!("urn:everytab:problem:{code}"));
        problem
    }
}

/// Returns limits that no test reaches by accident.
pub(crate) fn generous() -> NewApiKey {
    NewApiKey {
        key: String::new(),
        secret_sha256: [0; 32],
        name: String::new(),
        requests_per_second: 1_000.0,
        burst: 100_000,
        urls_a_day: None,
        pages_a_day: None,
        max_bytes: None,
        max_crawls: None,
        rate: None,
        min_delay_ms: 250,
        ports: vec![80, 443, 8080, 8443],
    }
}

fn template() -> String {
    let server = shared_for_tests();
    let name = format!("api_{}", schema_digest());
    server.template(&name, |url| {
        std::thread::scope(|scope| {
            let migrated = scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.unwrap().block_on(async {
                    let settings = ConnectSettings::default();
                    let coordinator = Coordinator::connect(url, &settings).await.unwrap();
                    coordinator.migrate().await.unwrap();
                    coordinator.close().await;
                });
            });
            migrated.join().unwrap();
        });
    });
    name
}

impl World {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = format!("file://{}", folder.path().display());
        Self { _folder: Some(folder), ..Self::with_store(&store).await }
    }

    /// The keys' crawls write to this store.
    pub(crate) async fn with_store(store: &str) -> Self {
        let server = shared_for_tests();
        let database = server.fresh_database(Some(&template()));
        let settings = ConnectSettings::default();
        let owner_url = server.url(&database, ADMIN_USER);
        let owner = Coordinator::connect(&owner_url, &settings).await.unwrap();
        let api_url = server.url(&database, "everytab_api");
        let api = Coordinator::connect(&api_url, &settings).await.unwrap();
        let (stop, stopped) = watch::channel(false);
        let settings = ApiSettings {
            store: store.to_owned(),
            from: store.to_owned(),
            stores: StoreSettings::default(),
            temporary: std::env::temp_dir(),
            version: "0.0.0-test".to_owned(),
            user_agent: "TestBot/1.0 (+https://bot.test/)".to_owned(),
            guard: Guard::default(),
        };
        let router = ApiService::start(api.clone(), settings, stopped).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let service = router.into_make_service_with_connect_info::<SocketAddr>();
        tokio::spawn(async move { axum::serve(listener, service).await });
        let client = Client::builder().timeout(LIMIT).no_proxy().build().unwrap();
        Self { owner, base, stop, api, database, client, _folder: None }
    }

    pub(crate) async fn key_with(&self, limits: NewApiKey) -> String {
        let mut random = [0; KEY_RANDOM_BYTES];
        for part in random.chunks_mut(16) {
            part.copy_from_slice(&Uuid::new_v4().as_bytes()[..part.len()]);
        }
        let (id, secret) = key_of_random(&random);
        let secret_sha256 = secret_sha256(&secret);
        let key = NewApiKey { key: id.clone(), secret_sha256, name: id.clone(), ..limits };
        self.owner.add_key(&key).await.unwrap();
        format!("et_{id}_{secret}")
    }

    pub(crate) async fn key(&self) -> String {
        self.key_with(generous()).await
    }

    /// Runs a statement as the database's owner. Returns its rows, one per line.
    pub(crate) fn sql(&self, statement: &str) -> String {
        shared_for_tests().psql(&self.database, statement).unwrap().trim().to_owned()
    }

    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Vec<u8>>,
    ) -> Answer {
        let name = method.to_owned();
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let mut request = self.client.request(method, format!("{}{path}", self.base));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = body.into();
        if !body.is_empty() {
            request = request.body(body);
        }
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let bytes = response.bytes().await.unwrap().to_vec();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let content_type = headers.get("content-type").map(|value| value.to_str().unwrap());
        conformance::check((&name, path), (status, content_type), &text);
        Answer { status, headers, text, bytes }
    }

    pub(crate) async fn get(&self, key: &str, path: &str) -> Answer {
        self.send("GET", path, &[("authorization", &format!("Bearer {key}"))], "").await
    }

    pub(crate) async fn post(&self, key: &str, path: &str, body: &Value) -> Answer {
        let bearer = format!("Bearer {key}");
        let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        self.send("POST", path, &headers, body.to_string()).await
    }

    pub(crate) async fn put(&self, key: &str, path: &str, body: &Value) -> Answer {
        let bearer = format!("Bearer {key}");
        let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        self.send("PUT", path, &headers, body.to_string()).await
    }

    pub(crate) async fn delete(&self, key: &str, path: &str) -> Answer {
        self.send("DELETE", path, &[("authorization", &format!("Bearer {key}"))], "").await
    }

    pub(crate) async fn post_lines(&self, key: &str, path: &str, lines: &str) -> Answer {
        let bearer = format!("Bearer {key}");
        let headers = [("authorization", bearer.as_str()), ("content-type", "text/plain")];
        self.send("POST", path, &headers, lines).await
    }

    /// Starts a crawl with one page that is never fetched, because there is no worker.
    pub(crate) async fn crawl(&self, key: &str) -> String {
        let body = serde_json::json!({ "urls": ["https://a.test/"] });
        let started = self.post(key, "/v1/crawls", &body).await.expect(201);
        started["id"].as_str().unwrap().to_owned()
    }
}
