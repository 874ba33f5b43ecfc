//! The events of webhooks, as the description has them. Postgres writes their bodies, in the
//! transactions that do what they tell of (`coordinator-sql/functions/tell_webhooks.sql`); a test
//! compares what it writes with these documents.

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

/// A type of events that a webhook may be told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) enum EventType {
    /// A crawl of the key has ended.
    #[serde(rename = "crawl.ended")]
    CrawlEnded,
    /// A URL that was submitted has its result.
    #[serde(rename = "url.done")]
    UrlDone,
    /// A time of a schedule passed without a crawl.
    #[serde(rename = "schedule.skipped")]
    ScheduleSkipped,
}

impl EventType {
    /// Every type.
    const ALL: [Self; 3] = [Self::CrawlEnded, Self::UrlDone, Self::ScheduleSkipped];

    /// The stable name.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::CrawlEnded => "crawl.ended",
            Self::UrlDone => "url.done",
            Self::ScheduleSkipped => "schedule.skipped",
        }
    }

    /// The type of this name, if there is one.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.as_str() == name)
    }
}

/// Why a schedule started no crawl.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SkipReason {
    /// Its last crawl has not ended.
    NotEnded,
    /// The key has submitted its URLs of the day.
    QuotaUrls,
    /// The key has had its pages of the day.
    QuotaPages,
    /// The key has stored all that it may.
    QuotaBytes,
    /// The key has as many open crawls as it may.
    QuotaCrawls,
    /// The service has failed.
    Internal,
}

/// How a crawl ended.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct CrawlEnded {
    /// The crawl's id.
    pub(crate) crawl: Uuid,
    /// The crawl's name.
    pub(crate) name: String,
    /// What ended it.
    #[schema(value_type = CrawlEnd)]
    pub(crate) ended_by: String,
    /// URLs that it knew.
    pub(crate) known: i64,
    /// URLs whose record is kept.
    pub(crate) captured: i64,
    /// URLs that could not be had.
    pub(crate) failed: i64,
    /// Those by outcome.
    pub(crate) failures: BTreeMap<String, i64>,
    /// URLs that might not be asked for, or whose answer was of no use, by outcome.
    pub(crate) refused: BTreeMap<String, i64>,
    /// URLs that were given up before they were asked for, by reason.
    pub(crate) left: BTreeMap<String, i64>,
}

/// What became of a URL that was submitted.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct UrlDone {
    /// The URL's id, as its submission answered it.
    pub(crate) id: String,
    /// The URL.
    pub(crate) url: String,
    /// The crawl's id.
    pub(crate) crawl: Uuid,
    /// How it stands.
    pub(crate) state: UrlState,
    /// One word: how it ended.
    #[schema(value_type = FetchOutcome)]
    pub(crate) outcome: String,
    /// The HTTP status.
    pub(crate) status: Option<i16>,
    /// When it was asked for.
    pub(crate) at: DateTime<Utc>,
    /// Where its record is.
    pub(crate) record: Option<RecordPlace>,
}

/// A time of a schedule that passed without a crawl.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct ScheduleSkipped {
    /// The schedule's id.
    pub(crate) schedule: Uuid,
    /// The schedule's name.
    pub(crate) name: String,
    /// Why.
    pub(crate) reason: SkipReason,
    /// When it starts its next crawl.
    pub(crate) next_at: DateTime<Utc>,
}

/// A test that was asked for.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct WebhookTest {
    /// The webhook's id.
    pub(crate) webhook: Uuid,
}

/// Declares the bodies of events, each with its type and when it happened.
macro_rules! bodies {
    ($($(#[$doc:meta])* $body:ident $data:ident $tag:ident $name:literal,)+) => {
        $(
            #[derive(Debug, Serialize, Deserialize)]
            pub(crate) enum $tag {
                #[serde(rename = $name)]
                Name,
            }

            // Derived, it would not have the name, which a macro passes on.
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
                /// The type of the event.
                #[serde(rename = "type")]
                pub(crate) event: $tag,
                /// When it happened.
                pub(crate) timestamp: DateTime<Utc>,
                /// What happened.
                pub(crate) data: $data,
            }
        )+

        #[derive(OpenApi)]
        #[openapi(components(schemas($($body, $data, $tag),+)))]
        pub(crate) struct EventsDescription;

        /// The types of events with their schemas and what they tell.
        const BODIES: &[(&str, &str)] = &[$(($name, stringify!($body))),+];
    };
}

bodies! {
    /// The event `crawl.ended`.
    CrawlEndedEvent CrawlEnded CrawlEndedName "crawl.ended",
    /// The event `url.done`: for each URL that was submitted, not for links that were found.
    UrlDoneEvent UrlDone UrlDoneName "url.done",
    /// The event `schedule.skipped`.
    ScheduleSkippedEvent ScheduleSkipped ScheduleSkippedName "schedule.skipped",
    /// The event `webhook.test`, which is sent when it is asked for.
    WebhookTestEvent WebhookTest WebhookTestName "webhook.test",
}

/// The `webhooks` of the description: what a receiver is sent.
pub(crate) fn described() -> Value {
    let header = |name: &str, description: &str| {
        json!({ "name": name, "in": "header", "required": true, "description": description,
                "schema": { "type": "string" } })
    };
    let headers = json!([
        header("webhook-id", "The event's id, the same at each attempt"),
        header("webhook-timestamp", "When this attempt was made, in seconds since 1970"),
        header(
            "webhook-signature",
            "One or two signatures with a space between them: `v1,` and \
            the base64 of HMAC-SHA256, with the webhook's secret, over id, timestamp and body \
            with dots between them"
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
                "410": { "description": "Disable the webhook" },
                "default": { "description": "Send it again later, after Retry-After at least" },
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
