//! A mock of EC2's instance metadata service, version 2 only. A client gets a token by PUT, and
//! sends it with each request. An item that is not set gives 404.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use axum::{
    Router,
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
    routing::{get, put},
};
use tokio::runtime::Runtime;

/// Few, so that tokens become invalid during a test.
const REQUESTS_PER_TOKEN: u32 = 3;
const TTL_HEADER: &str = "x-aws-ec2-metadata-token-ttl-seconds";
const TOKEN_HEADER: &str = "x-aws-ec2-metadata-token";

#[derive(Debug, Default)]
struct Shared {
    items: BTreeMap<&'static str, &'static str>,
    tokens: Vec<u32>,
    answered: usize,
    without_token: usize,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct InstanceMetadata(Arc<Mutex<Shared>>);

impl InstanceMetadata {
    pub(crate) fn start(runtime: &Runtime) -> (Self, SocketAddr) {
        let service = Self::default();
        let router = Router::new()
            .route("/latest/api/token", put(give_token))
            .route("/latest/meta-data/{*item}", get(answer))
            .with_state(service.clone());
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        runtime.spawn(async move { axum::serve(listener, router).await });
        (service, address)
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set(&self, item: &'static str, value: &'static str) {
        self.shared().items.insert(item, value);
    }

    pub(crate) fn counts(&self) -> (usize, usize, usize) {
        let shared = self.shared();
        (shared.answered, shared.tokens.len(), shared.without_token)
    }
}

async fn give_token(
    State(service): State<InstanceMetadata>,
    headers: HeaderMap,
) -> Result<([(&'static str, String); 1], String), StatusCode> {
    let seconds = headers.get(TTL_HEADER).and_then(|value| value.to_str().ok()?.parse().ok());
    let Some(seconds) = seconds.filter(|seconds: &u32| (1..=21_600).contains(seconds)) else {
        return Err(StatusCode::BAD_REQUEST);
    };
    if headers.contains_key("x-forwarded-for") {
        return Err(StatusCode::FORBIDDEN);
    }
    let mut shared = service.shared();
    shared.tokens.push(REQUESTS_PER_TOKEN);
    Ok(([(TTL_HEADER, seconds.to_string())], format!("token-{}", shared.tokens.len() - 1)))
}

async fn answer(
    State(service): State<InstanceMetadata>,
    Path(item): Path<String>,
    headers: HeaderMap,
) -> Result<&'static str, StatusCode> {
    let mut shared = service.shared();
    let Some(token) = headers.get(TOKEN_HEADER).and_then(|value| value.to_str().ok()) else {
        shared.without_token += 1;
        return Err(StatusCode::UNAUTHORIZED);
    };
    let number = token.strip_prefix("token-").and_then(|number| number.parse::<usize>().ok());
    let left = number.and_then(|number| shared.tokens.get_mut(number));
    let Some(left) = left.filter(|left| **left > 0) else {
        return Err(StatusCode::UNAUTHORIZED);
    };
    *left -= 1;
    shared.answered += 1;
    shared.items.get(item.as_str()).copied().ok_or(StatusCode::NOT_FOUND)
}
