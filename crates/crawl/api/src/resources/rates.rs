//! Sets request rates and minimum delays for a key's crawls, within the operator's limits for the
//! key.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    response::Response,
    routing::post,
};
use everytab_coordinator::{ApiCaller, RateChange};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::{OpenApi, ToSchema};
use uuid::Uuid;

use crate::{
    answer, body,
    caller::Caller,
    problem::{Problem, ProblemCode},
    service::Service,
};

/// A crawl's maximum requests per second.
const MAX_RATE: f64 = 100_000.0;
/// Maximum delay in milliseconds: 24 pages per host and day.
const MAX_LEAST_DELAY_MS: i32 = 3_600_000;

/// New limits for one crawl, or for all crawls of the key together. A missing field keeps its
/// value. null removes the limit, so the operator's limit for the key and each crawl's settings
/// apply.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RateSubmission {
    /// One of the key's crawls. Default: all of them together.
    pub(crate) crawl: Option<Uuid>,
    /// Maximum requests per second to all hosts together, from all workers. Up to 100,000.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<f64>, exclusive_minimum = 0, maximum = 100_000)]
    pub(crate) rate: Option<Option<f64>>,
    /// Minimum pause between two requests to a host, in milliseconds. Up to an hour.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<i32>, minimum = 0, maximum = 3_600_000)]
    pub(crate) min_delay_ms: Option<Option<i32>>,
}

/// Distinguishes a null field from a missing one.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// The new limits.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RateDocument {
    /// The crawl. Absent if the limits are for all crawls of the key together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) crawl: Option<Uuid>,
    /// Maximum requests per second, if given. null means the operator's limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>)]
    pub(crate) rate: Option<Option<f64>>,
    /// Minimum pause in milliseconds, if given. null means that the operator's limit and the
    /// crawl's setting apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<i32>)]
    pub(crate) min_delay_ms: Option<Option<i32>>,
}

#[derive(OpenApi)]
#[openapi(paths(set))]
pub(crate) struct RatesDescription;

pub(crate) fn routes() -> Router<Arc<Service>> {
    Router::new().route("/v1/rate", post(set))
}

/// Set a lower request rate, or reset it to the operator's limit
#[utoipa::path(
    post, path = "/v1/rate", tag = "manners",
    operation_id = "rate_set",
    extensions(("x-problem-codes" = json!(["not_found", "not_allowed", "crawl_ended"]))),
    request_body(content = RateSubmission, example = json!({ "rate": 5, "min_delay_ms": 2000 })),
    responses(
        (status = 200, description = "Workers apply it within seconds", body = RateDocument),
    )
)]
pub(crate) async fn set(
    State(service): State<Arc<Service>>,
    Caller(caller): Caller,
    request: Request,
) -> Result<Response, Problem> {
    let (_, bytes) = body::json_request(&service, &caller, request).await?;
    let asked: RateSubmission = body::from_json(&bytes)?;
    asked.check()?;
    asked.check_both(&service, &caller).await?;
    let RateSubmission { crawl, rate, min_delay_ms } = asked;
    let changes = rate.map(RateChange::Rate).into_iter();
    for change in changes.chain(min_delay_ms.map(RateChange::MinDelay)) {
        service.coordinator.api_set_rate(&caller, crawl, change).await?;
    }
    Ok(answer::ok(&RateDocument { crawl, rate, min_delay_ms }))
}

impl RateSubmission {
    fn check(&self) -> Result<(), Problem> {
        let wrong = |field: &str, detail: String| {
            Err(Problem::of_field(ProblemCode::InvalidParameter, field, detail))
        };
        if self.rate.is_none() && self.min_delay_ms.is_none() {
            return wrong("rate", "expected rate, min_delay_ms or both".to_owned());
        }
        if let Some(rate) = self.rate.flatten().filter(|rate| !(*rate > 0.0 && *rate <= MAX_RATE)) {
            let detail = format!("invalid rate {rate}: expected more than 0, at most {MAX_RATE}");
            return wrong("rate", detail);
        }
        let is_wrong = |delay_ms: &i32| !(0..=MAX_LEAST_DELAY_MS).contains(delay_ms);
        if let Some(delay_ms) = self.min_delay_ms.flatten().filter(is_wrong) {
            let range = format!("0 to {MAX_LEAST_DELAY_MS}");
            let detail = format!("invalid min_delay_ms {delay_ms}: expected {range}");
            return wrong("min_delay_ms", detail);
        }
        Ok(())
    }

    /// If both fields are given, checks that the operator allows both. Otherwise one could be
    /// changed and the other rejected.
    async fn check_both(&self, service: &Service, caller: &ApiCaller) -> Result<(), Problem> {
        let (Some(rate), Some(delay_ms)) = (self.rate, self.min_delay_ms) else { return Ok(()) };
        let key = service.coordinator.api_key(caller).await?;
        let refused = |field: &str, detail: String| {
            Err(Problem::of_field(ProblemCode::NotAllowed, field, detail))
        };
        if let Some((rate, most)) =
            rate.zip(key.rate).filter(|(rate, most)| *rate > f64::from(*most))
        {
            return refused("rate", format!("rate {rate} is above the key's maximum {most}"));
        }
        if let Some(delay_ms) = delay_ms.filter(|delay_ms| *delay_ms < key.min_delay_ms) {
            let least = key.min_delay_ms;
            let detail = format!("min_delay_ms {delay_ms} is below the key's minimum {least}");
            return refused("min_delay_ms", detail);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn check(value: Value) -> Result<(), Option<String>> {
        let asked: RateSubmission = serde_json::from_value(value).unwrap();
        asked.check().map_err(|problem| problem.errors[0].field.clone())
    }

    #[test]
    fn a_null_field_is_distinguished_from_a_missing_one() {
        assert_eq!(check(json!({ "rate": null })), Ok(()));
        assert_eq!(check(json!({ "rate": 0.1, "min_delay_ms": 3_600_000 })), Ok(()));
        assert_eq!(check(json!({})), Err(Some("rate".to_owned())));
        for rate in [0.0, -1.0, 100_001.0] {
            assert_eq!(check(json!({ "rate": rate })), Err(Some("rate".to_owned())), "{rate}");
        }
        for delay_ms in [-1, 3_600_001] {
            let found = check(json!({ "min_delay_ms": delay_ms }));
            assert_eq!(found, Err(Some("min_delay_ms".to_owned())), "{delay_ms}");
        }
    }
}
