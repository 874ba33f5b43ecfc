//! Webhook events, for the OpenAPI description. Postgres writes an event's body in the transaction
//! that causes it (`coordinator-sql/functions/crawl/tell_webhooks.sql`), and a test compares these
//! bodies with the documents here.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{
    OpenApi, PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, Type},
};
use uuid::Uuid;

use crate::{
    closed_lists::{CrawlEnd, FetchOutcome},
    fetch_document::{RecordPlace, UrlState},
};

/// An event type that a webhook may receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) enum EventType {
    /// One of the key's crawls ended.
    #[serde(rename = "crawl.ended")]
    CrawlEnded,
    /// A submitted URL has its result.
    #[serde(rename = "url.done")]
    UrlDone,
    /// A schedule was due but started no crawl.
    #[serde(rename = "schedule.skipped")]
    ScheduleSkipped,
}

impl EventType {
    const ALL: [Self; 3] = [Self::CrawlEnded, Self::UrlDone, Self::ScheduleSkipped];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::CrawlEnded => "crawl.ended",
            Self::UrlDone => "url.done",
            Self::ScheduleSkipped => "schedule.skipped",
        }
    }

    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.as_str() == name)
    }
}

/// Why a schedule started no crawl.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SkipReason {
    /// The schedule's last crawl has not ended.
    NotEnded,
    /// The key has reached its daily URL quota.
    QuotaUrls,
    /// The key has reached its daily page quota.
    QuotaPages,
    /// The key has reached its storage quota.
    QuotaBytes,
    /// The key has reached its limit on open crawls.
    QuotaCrawls,
    /// The service failed.
    Internal,
}

/// The results of a crawl that has ended.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct CrawlEnded {
    /// The crawl's ID.
    pub(crate) crawl: Uuid,
    /// The crawl's name.
    pub(crate) name: String,
    /// What ended the crawl.
    #[schema(value_type = CrawlEnd)]
    pub(crate) ended_by: String,
    /// Number of URLs in the crawl.
    pub(crate) known: i64,
    /// Number of URLs that were fetched and stored.
    pub(crate) captured: i64,
    /// Number of URLs that failed.
    pub(crate) failed: i64,
    /// Number of failed URLs, by outcome.
    pub(crate) failures: BTreeMap<String, i64>,
    /// Number of refused URLs, by outcome.
    pub(crate) refused: BTreeMap<String, i64>,
    /// Number of URLs that were given up, by reason.
    pub(crate) left: BTreeMap<String, i64>,
}

/// A submitted URL's result.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct UrlDone {
    /// The URL's ID, as in the response to its submission.
    pub(crate) id: String,
    /// The URL.
    pub(crate) url: String,
    /// The crawl's ID.
    pub(crate) crawl: Uuid,
    /// The URL's state.
    pub(crate) state: UrlState,
    /// The URL's outcome.
    #[schema(value_type = FetchOutcome)]
    pub(crate) outcome: String,
    /// The HTTP status.
    pub(crate) status: Option<i16>,
    /// Time of the fetch.
    pub(crate) at: DateTime<Utc>,
    /// The record's location.
    pub(crate) record: Option<RecordPlace>,
}

/// A time at which a schedule started no crawl.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct ScheduleSkipped {
    /// The schedule's ID.
    pub(crate) schedule: Uuid,
    /// The schedule's name.
    pub(crate) name: String,
    /// Why no crawl was started.
    pub(crate) reason: SkipReason,
    /// When the schedule starts its next crawl.
    pub(crate) next_at: DateTime<Utc>,
}

/// A test event that the client requested.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct WebhookTest {
    /// The webhook's ID.
    pub(crate) webhook: Uuid,
}

macro_rules! bodies {
    ($($(#[$doc:meta])* $body:ident $data:ident $tag:ident $name:literal,)+) => {
        $(
            #[derive(Debug, Serialize, Deserialize)]
            pub(crate) enum $tag {
                #[serde(rename = $name)]
                Name,
            }

            // A derived schema would lack the name, because a macro passes it on.
            impl PartialSchema for $tag {
                fn schema() -> RefOr<Schema> {
                    let name = ObjectBuilder::new().schema_type(Type::String);
                    name.enum_values(Some([$name])).into()
                }
            }

            impl ToSchema for $tag {}

            $(#[$doc])*
            #[derive(Debug, Serialize, Deserialize, ToSchema)]
            pub(crate) struct $body {
                /// The event's type.
                #[serde(rename = "type")]
                pub(crate) event: $tag,
                /// When this event happened.
                pub(crate) timestamp: DateTime<Utc>,
                /// What happened.
                pub(crate) data: $data,
            }
        )+

        #[derive(OpenApi)]
        #[openapi(components(schemas($($body, $data, $tag),+)))]
        pub(crate) struct EventsDescription;

        const BODIES: &[(&str, &str)] = &[$(($name, stringify!($body))),+];
    };
}

bodies! {
    /// The event `crawl.ended`.
    CrawlEndedEvent CrawlEnded CrawlEndedName "crawl.ended",
    /// The event `url.done`, for submitted URLs only, not for links.
    UrlDoneEvent UrlDone UrlDoneName "url.done",
    /// The event `schedule.skipped`.
    ScheduleSkippedEvent ScheduleSkipped ScheduleSkippedName "schedule.skipped",
    /// The event `webhook.test`, which is sent on request.
    WebhookTestEvent WebhookTest WebhookTestName "webhook.test",
}

/// Builds the description's `webhooks`: the requests to a receiver.
pub(crate) fn described() -> Value {
    let header = |name: &str, description: &str| {
        json!({ "name": name, "in": "header", "required": true, "description": description,
                "schema": { "type": "string" } })
    };
    let headers = json!([
        header("webhook-id", "The event's ID, which is the same at each attempt"),
        header("webhook-timestamp", "Time of this attempt, in seconds since 1970"),
        header(
            "webhook-signature",
            "One or two signatures, separated by a space. Each is `v1,` and the base64 of an \
            HMAC-SHA256 with the webhook's secret over the id, timestamp and body, joined by dots"
        ),
    ]);
    let webhooks = BODIES.iter().map(|(name, body)| {
        let operation = json!({ "post": {
            "tags": ["webhooks"],
            "summary": format!("Receive the event {name}"),
            "operationId": format!("event_{}", name.replace('.', "_")),
            "security": [],
            "parameters": headers,
            "requestBody": { "required": true, "content": { "application/json": {
                "schema": { "$ref": format!("#/components/schemas/{body}") } } } },
            "responses": {
                "2XX": { "description": "The event was received" },
                "410": { "description": "The webhook is disabled" },
                "default": { "description": "The event is sent again, not before Retry-After" },
            },
        } });
        ((*name).to_owned(), operation)
    });
    Value::Object(webhooks.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_found_by_its_name() {
        for event in EventType::ALL {
            assert_eq!(EventType::parse(event.as_str()), Some(event));
            assert_eq!(serde_json::to_value(event).unwrap(), event.as_str());
        }
        assert_eq!(EventType::parse("webhook.test"), None);
    }
}
