//! A key's limits and usage, and the service's defaults.

use std::sync::Arc;

use axum::{Router, extract::State, http::Uri, response::Response, routing::get};
use everytab_coordinator::ApiKey;
use everytab_crawl_settings::CrawlSettings;
use serde::Serialize;
use utoipa::{OpenApi, ToSchema};

use crate::{
    answer,
    body::MAX_BODY_BYTES,
    caller::Caller,
    crawl_settings::SettingsOfCrawl,
    parameters::{MAX_WAIT_S, Parameters},
    problem::Problem,
    service::Service,
    submitted_urls::MAX_URLS,
    waiters::MAX_WAITERS_PER_KEY,
};

/// The operator's limits for a key, and its usage. A limit that is absent does not apply.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct KeyDocument {
    /// The key's public part.
    pub(crate) id: String,
    /// Name that the operator gave the key.
    pub(crate) name: String,
    /// Sustained requests per second.
    pub(crate) requests_per_second: f64,
    /// Maximum number of requests in a burst.
    pub(crate) burst: i32,
    /// Maximum URLs submitted per day (UTC).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) urls_a_day: Option<i64>,
    /// URLs submitted today.
    pub(crate) urls_today: i64,
    /// Maximum pages captured per day (UTC).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pages_a_day: Option<i64>,
    /// Pages captured today, as counted some seconds ago.
    pub(crate) pages_today: i64,
    /// Maximum bytes that the key's crawls may store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_bytes: Option<i64>,
    /// Bytes stored, as counted some seconds ago.
    pub(crate) bytes_kept: i64,
    /// Maximum open crawls, not counting the crawls for single URLs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_crawls: Option<i32>,
    /// Number of open crawls, as counted some seconds ago.
    pub(crate) open_crawls: i32,
    /// Maximum requests per second to the web, for all the key's crawls together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rate: Option<i32>,
    /// Minimum pause between two requests to a host, in milliseconds.
    pub(crate) min_delay_ms: i32,
    /// Ports that the key's URLs may name.
    pub(crate) ports: Vec<i32>,
}

/// Limits on every request.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RequestLimits {
    /// Maximum body size in bytes.
    pub(crate) body_bytes: usize,
    /// Maximum URLs per request.
    pub(crate) urls: usize,
    /// Maximum seconds that a request may wait.
    pub(crate) wait_s: u64,
    /// Maximum waiting requests per key.
    pub(crate) waiters: usize,
}

/// The service's settings for a key.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SettingsDocument {
    /// The program's version.
    pub(crate) version: String,
    /// User-Agent in requests to sites.
    pub(crate) user_agent: String,
    /// URL where site owners learn who sends the requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) contact: Option<String>,
    /// The key's limits and usage.
    pub(crate) key: KeyDocument,
    /// Default settings for a crawl.
    pub(crate) defaults: SettingsOfCrawl,
    /// Limits on every request.
    pub(crate) limits: RequestLimits,
    /// Names of the lists that filters may use.
    pub(crate) lists: Vec<String>,
}

#[derive(OpenApi)]
#[openapi(paths(settings))]
pub(crate) struct OwnSettingsDescription;

pub(crate) fn routes() -> Router<Arc<Service>> {
    Router::new().route("/v1/settings", get(settings))
}

/// Get the defaults, the limits, and the key's usage
#[utoipa::path(
    get, path = "/v1/settings", tag = "service",
    operation_id = "settings_get",
    responses(
        (status = 200, description = "The service as the key sees it", body = SettingsDocument),
    )
)]
pub(crate) async fn settings(
    State(service): State<Arc<Service>>,
    Caller(caller): Caller,
    uri: Uri,
) -> Result<Response, Problem> {
    Parameters::parse(&uri, &[])?;
    let key = service.coordinator.api_key(&caller).await?;
    let lists = service.coordinator.api_filter_lists(&caller, None).await?;
    let lists = lists.into_iter().map(|list| list.name).collect();
    let user_agent = service.settings.user_agent.clone();
    Ok(answer::ok(&SettingsDocument {
        version: service.settings.version.clone(),
        contact: contact_of(&user_agent).map(str::to_owned),
        user_agent,
        key: key_document(key),
        defaults: SettingsOfCrawl::of(CrawlSettings::default()),
        limits: RequestLimits {
            body_bytes: MAX_BODY_BYTES,
            urls: MAX_URLS,
            wait_s: MAX_WAIT_S,
            waiters: MAX_WAITERS_PER_KEY,
        },
        lists,
    }))
}

fn key_document(key: ApiKey) -> KeyDocument {
    KeyDocument {
        id: key.key,
        name: key.name,
        requests_per_second: key.requests_per_second,
        burst: key.burst,
        urls_a_day: key.urls_a_day,
        urls_today: key.urls_today,
        pages_a_day: key.pages_a_day,
        pages_today: key.pages_today,
        max_bytes: key.max_bytes,
        bytes_kept: key.bytes_kept,
        max_crawls: key.max_crawls,
        open_crawls: key.open_crawls,
        rate: key.rate,
        min_delay_ms: key.min_delay_ms,
        ports: key.ports,
    }
}

/// Returns the address in a User-Agent such as `Bot/1.0 (+https://bot.example/)`.
fn contact_of(user_agent: &str) -> Option<&str> {
    let (_, rest) = user_agent.split_once("(+")?;
    rest.split_once(')').map(|(contact, _)| contact)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contact_is_the_address_in_the_user_agent() {
        assert_eq!(contact_of("Bot/1.0 (+https://bot.example/)"), Some("https://bot.example/"));
        assert_eq!(contact_of("Bot/1.0"), None);
        assert_eq!(contact_of("Bot (+x"), None);
    }
}
