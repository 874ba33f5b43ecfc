//! A key's webhooks, which receive events as in the Standard Webhooks specification. Workers send
//! the events.
//!
//! Invariant: a secret is only in the response to the request that created it.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    http::{StatusCode, Uri},
    response::Response,
    routing::{get, post},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use chrono::{DateTime, Utc};
use everytab_coordinator::{ApiCaller, NewWebhook, WebhookChange, WebhookState};
use serde::{Deserialize, Serialize};
use utoipa::{OpenApi, ToSchema};
use uuid::Uuid;

use crate::{
    answer, body,
    caller::Caller,
    closed_lists::FetchOutcome,
    list_page::ListPage,
    parameters::{Parameters, PathId, check_line, known},
    problem::{Problem, ProblemCode},
    service::Service,
    tokens::ListName,
    webhook_events::EventType,
    webhook_url::webhook_url,
};

const WEBHOOKS: &ListName = b"webhooks........";
/// Maximum description length.
const MAX_DESCRIPTION_CHARACTERS: usize = 200;
/// The specification's prefix for secrets.
const SECRET_PREFIX: &str = "whsec_";

/// A webhook to add.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WebhookSubmission {
    /// URL that receives events: https, without credentials and fragment, on a port that the key
    /// may name.
    #[schema(max_length = 2048)]
    pub(crate) url: String,
    /// The event types to send, at least one.
    #[schema(min_items = 1, max_items = 3)]
    pub(crate) events: Vec<EventType>,
    /// Description for people, up to 200 characters.
    #[schema(max_length = 200)]
    pub(crate) description: Option<String>,
}

/// Changes to a webhook. Missing fields keep their values.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WebhookChangeBody {
    /// URL that receives events.
    #[schema(max_length = 2048)]
    pub(crate) url: Option<String>,
    /// The event types to send.
    #[schema(min_items = 1, max_items = 3)]
    pub(crate) events: Option<Vec<EventType>>,
    /// Description for people. An empty string removes it.
    #[schema(max_length = 200)]
    pub(crate) description: Option<String>,
    /// Whether events are sent. Disabling a webhook drops its pending events.
    pub(crate) enabled: Option<bool>,
}

/// Why a webhook is disabled.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DisabledBecause {
    /// A request disabled it.
    Requested,
    /// The receiver responded with 410.
    Gone,
    /// No attempt has succeeded for a day.
    Failing,
    /// The key was revoked.
    KeyRevoked,
}

/// The last failed attempt to send an event.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LastFailure {
    /// Time of the attempt.
    pub(crate) at: DateTime<Utc>,
    /// The outcome, such as connect_refused, first_byte_timeout, redirected or http_5xx.
    #[schema(value_type = FetchOutcome)]
    pub(crate) outcome: String,
    /// The response's status. Absent if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<i16>,
}

/// A webhook.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WebhookDocument {
    /// The webhook's ID.
    pub(crate) id: Uuid,
    /// URL that receives events.
    pub(crate) url: String,
    /// The event types to send.
    pub(crate) events: Vec<EventType>,
    /// Description for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
    /// When this webhook was added.
    pub(crate) created_at: DateTime<Utc>,
    /// Whether events are sent.
    pub(crate) enabled: bool,
    /// When this webhook was disabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) disabled_at: Option<DateTime<Utc>>,
    /// Why this webhook is disabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) disabled_because: Option<DisabledBecause>,
    /// Number of failed attempts since the last success.
    pub(crate) failures: i32,
    /// When the first failed attempt since the last success was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failing_since: Option<DateTime<Utc>>,
    /// When an event was last delivered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_success_at: Option<DateTime<Utc>>,
    /// The last failed attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_failure: Option<LastFailure>,
    /// Number of pending events.
    pub(crate) pending: i64,
    /// Number of delivered events.
    pub(crate) sent: i64,
    /// Number of events that were given up: after a day, because the webhook was disabled, or
    /// because more than 100,000 were pending.
    pub(crate) dropped: i64,
    /// The secret that signs events. Only in the response to the request that added the webhook.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) secret: Option<String>,
}

/// A new secret for a webhook.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WebhookSecret {
    /// The secret, which is shown only once.
    pub(crate) secret: String,
}

/// A test event that will be sent.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WebhookTestSent {
    /// The value of the event's header `webhook-id`.
    pub(crate) id: String,
}

/// A key's webhooks.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WebhookList {
    /// The webhooks, oldest first.
    pub(crate) webhooks: Vec<WebhookDocument>,
    /// The cursor for `after`. Absent if there are no more webhooks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

impl WebhookDocument {
    fn new(state: WebhookState) -> Self {
        let because = |word: &str| match word {
            "gone" => DisabledBecause::Gone,
            "failing" => DisabledBecause::Failing,
            "key_revoked" => DisabledBecause::KeyRevoked,
            _ => DisabledBecause::Requested,
        };
        let last_failure = state.last_failure_at.zip(state.last_outcome);
        let last_failure = last_failure.map(|(at, outcome)| LastFailure {
            at,
            outcome,
            status: state.last_status,
        });
        Self {
            id: state.id,
            url: state.url,
            events: state.events.iter().filter_map(|name| EventType::parse(name)).collect(),
            description: state.description,
            created_at: state.created_at,
            enabled: state.disabled_at.is_none(),
            disabled_at: state.disabled_at,
            disabled_because: state.disabled_because.as_deref().map(because),
            failures: state.failures,
            failing_since: state.failing_since,
            last_success_at: state.last_success_at,
            last_failure,
            pending: state.pending,
            sent: state.sent,
            dropped: state.dropped,
            secret: None,
        }
    }
}

#[derive(OpenApi)]
#[openapi(paths(add, list, look, change, remove, rotate, test))]
pub(crate) struct WebhooksDescription;

pub(crate) fn routes() -> Router<Arc<Service>> {
    Router::new()
        .route("/v1/webhooks", get(list).post(add))
        .route("/v1/webhooks/{id}", get(look).patch(change).delete(remove))
        .route("/v1/webhooks/{id}/rotate", post(rotate))
        .route("/v1/webhooks/{id}/test", post(test))
}

/// Add a webhook, which receives events of the key's crawls
#[utoipa::path(
    post, path = "/v1/webhooks", tag = "webhooks", operation_id = "webhooks_add",
    extensions(("x-problem-codes" = json!(["invalid_url", "port_not_allowed", "not_allowed"]))),
    request_body(content = WebhookSubmission, example = json!({
        "url": "https://hooks.example.com/everytab", "events": ["crawl.ended", "url.done"],
        "description": "the nightly import",
    })),
    responses(
        (status = 201, description = "Added", body = WebhookDocument),
    )
)]
pub(crate) async fn add(
    State(service): State<Arc<Service>>,
    Caller(caller): Caller,
    request: Request,
) -> Result<Response, Problem> {
    let (_, bytes) = body::json_request(&service, &caller, request).await?;
    let WebhookSubmission { url, events, description } = body::from_json(&bytes)?;
    let url = checked_url(&service, &caller, &url).await?;
    let events = names_of(&events)?;
    let description = description.filter(|text| !text.is_empty());
    description.as_deref().map(check_description).transpose()?;
    let (signing, secret) = new_secret();
    let new = NewWebhook { id: Uuid::now_v7(), url, events, description, secret: signing };
    let state = service.coordinator.api_add_webhook(&caller, &new).await?;
    let place = format!("/v1/webhooks/{}", new.id);
    let added = WebhookDocument { secret: Some(secret), ..WebhookDocument::new(state) };
    Ok(answer::created(&place, &added))
}

/// List the key's webhooks, oldest first
#[utoipa::path(
    get, path = "/v1/webhooks", tag = "webhooks", operation_id = "webhooks_list",
    params(
        ("limit" = Option<i32>, Query, minimum = 1, maximum = 100,
         description = "Maximum number of webhooks. Default: 100"),
        ("after" = Option<String>, Query, description = "`next` from the previous response"),
    ),
    responses(
        (status = 200, description = "The webhooks", body = WebhookList),
    )
)]
pub(crate) async fn list(
    State(service): State<Arc<Service>>,
    Caller(caller): Caller,
    uri: Uri,
) -> Result<Response, Problem> {
    let page = ListPage::parse(&uri, &caller, WEBHOOKS)?;
    let states = service.coordinator.api_list_webhooks(&caller, None).await?;
    // IDs are ordered by the time when a webhook was added.
    let (states, next) = page.of(states, |state| state.id.to_string());
    let webhooks = states.into_iter().map(WebhookDocument::new).collect();
    Ok(answer::ok(&WebhookList { webhooks, next }))
}

/// Get a webhook's state: pending events, failures, and why it is disabled
#[utoipa::path(
    get, path = "/v1/webhooks/{id}", tag = "webhooks", operation_id = "webhooks_get",
    params(("id" = Uuid, Path, description = "The webhook's ID")),
    responses(
        (status = 200, description = "The webhook", body = WebhookDocument),
    )
)]
pub(crate) async fn look(
    State(service): State<Arc<Service>>,
    Caller(caller): Caller,
    PathId(id): PathId,
    uri: Uri,
) -> Result<Response, Problem> {
    Parameters::parse(&uri, &[])?;
    let id = known(&service, &caller, id).await?;
    let found = service.coordinator.api_list_webhooks(&caller, Some(id)).await?;
    let state = found.into_iter().next().ok_or_else(|| Problem::new(ProblemCode::NotFound))?;
    Ok(answer::ok(&WebhookDocument::new(state)))
}

/// Change a webhook, disable it, or enable it again
#[utoipa::path(
    patch, path = "/v1/webhooks/{id}", tag = "webhooks", operation_id = "webhooks_change",
    extensions(("x-problem-codes" = json!(["invalid_url", "port_not_allowed"]))),
    params(("id" = Uuid, Path, description = "The webhook's ID")),
    request_body(content = WebhookChangeBody, example = json!({
        "events": ["crawl.ended"], "enabled": true,
    })),
    responses(
        (status = 200, description = "The changed webhook", body = WebhookDocument),
    )
)]
pub(crate) async fn change(
    State(service): State<Arc<Service>>,
    Caller(caller): Caller,
    PathId(id): PathId,
    request: Request,
) -> Result<Response, Problem> {
    let (_, bytes) = body::json_request(&service, &caller, request).await?;
    let WebhookChangeBody { url, events, description, enabled } = body::from_json(&bytes)?;
    let id = known(&service, &caller, id).await?;
    let url = match url {
        Some(url) => Some(checked_url(&service, &caller, &url).await?),
        None => None,
    };
    let events = events.as_deref().map(names_of).transpose()?;
    let given = description.as_deref().filter(|text| !text.is_empty());
    given.map(check_description).transpose()?;
    let change = WebhookChange { url, events, description, enabled };
    let state = service.coordinator.api_change_webhook(&caller, id, &change).await?;
    Ok(answer::ok(&WebhookDocument::new(state)))
}

/// Remove a webhook and drop its pending events
#[utoipa::path(
    delete, path = "/v1/webhooks/{id}", tag = "webhooks", operation_id = "webhooks_remove",
    params(("id" = Uuid, Path, description = "The webhook's ID")),
    responses(
        (status = 204, description = "Removed"),
    )
)]
pub(crate) async fn remove(
    State(service): State<Arc<Service>>,
    Caller(caller): Caller,
    PathId(id): PathId,
    uri: Uri,
) -> Result<Response, Problem> {
    Parameters::parse(&uri, &[])?;
    let id = known(&service, &caller, id).await?;
    service.coordinator.api_drop_webhook(&caller, id).await?;
    Ok(answer::nothing())
}

/// Replace a webhook's secret; the old one also signs for 24 hours
#[utoipa::path(
    post, path = "/v1/webhooks/{id}/rotate", tag = "webhooks", operation_id = "webhooks_rotate",
    params(("id" = Uuid, Path, description = "The webhook's ID")),
    responses(
        (status = 200, description = "The new secret", body = WebhookSecret),
    )
)]
pub(crate) async fn rotate(
    State(service): State<Arc<Service>>,
    Caller(caller): Caller,
    PathId(id): PathId,
    uri: Uri,
) -> Result<Response, Problem> {
    Parameters::parse(&uri, &[])?;
    let id = known(&service, &caller, id).await?;
    let (signing, secret) = new_secret();
    service.coordinator.api_rotate_webhook(&caller, id, &signing).await?;
    Ok(answer::ok(&WebhookSecret { secret }))
}

/// Send the event webhook.test
#[utoipa::path(
    post, path = "/v1/webhooks/{id}/test", tag = "webhooks", operation_id = "webhooks_test",
    extensions(("x-problem-codes" = json!(["webhook_disabled"]))),
    params(("id" = Uuid, Path, description = "The webhook's ID")),
    responses(
        (status = 202, description = "A worker sends it within seconds", body = WebhookTestSent),
    )
)]
pub(crate) async fn test(
    State(service): State<Arc<Service>>,
    Caller(caller): Caller,
    PathId(id): PathId,
    uri: Uri,
) -> Result<Response, Problem> {
    Parameters::parse(&uri, &[])?;
    let id = known(&service, &caller, id).await?;
    let event = service.coordinator.api_test_webhook(&caller, id).await?;
    let sent = WebhookTestSent { id: format!("msg_{}", event.simple()) };
    Ok(answer::json(StatusCode::ACCEPTED, &sent))
}

async fn checked_url(service: &Service, caller: &ApiCaller, url: &str) -> Result<String, Problem> {
    let ports = service.ports.of(&service.coordinator, caller).await?;
    webhook_url(url, &ports, &service.settings.guard)
}

fn check_description(text: &str) -> Result<(), Problem> {
    check_line(text, "description", MAX_DESCRIPTION_CHARACTERS)
}

fn names_of(events: &[EventType]) -> Result<Vec<&'static str>, Problem> {
    let mut names: Vec<&'static str> = events.iter().map(|event| event.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() || names.len() != events.len() {
        let detail = "expected one to three event types, each at most once";
        return Err(Problem::of_field(ProblemCode::InvalidParameter, "events", detail));
    }
    Ok(names)
}

/// Creates a secret, and returns its bytes and the string for receivers.
fn new_secret() -> (Vec<u8>, String) {
    // A v4 UUID has 122 random bits, from the kernel's generator.
    let bytes = [*Uuid::new_v4().as_bytes(), *Uuid::new_v4().as_bytes()].concat();
    let text = format!("{SECRET_PREFIX}{}", STANDARD.encode(&bytes));
    (bytes, text)
}
