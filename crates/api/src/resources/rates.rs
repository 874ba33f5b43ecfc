//! How often the hosts of a key's crawls are asked, within what the operator allows the key.

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

/// Requests a second of a crawl at most.
const MAX_RATE: f64 = 100_000.0;
/// The longest delay in milliseconds: 24 pages of a host a day.
const MAX_LEAST_DELAY_MS: i32 = 3_600_000;

/// What is to hold from now on, for one crawl or for all crawls of the key together. What is not
/// given stays; null: as the operator allows the key and the settings of each crawl say.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RateSubmission {
    /// One of the key's crawls; else all of them together.
    pub(crate) crawl: Option<Uuid>,
    /// Requests a second to all hosts together, of all workers, up to 100,000.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<f64>, exclusive_minimum = 0, maximum = 100_000)]
    pub(crate) rate: Option<Option<f64>>,
    /// The least pause between two requests to a host, in milliseconds, up to an hour.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<i32>, minimum = 0, maximum = 3_600_000)]
    pub(crate) min_delay_ms: Option<Option<i32>>,
}

/// Tells a field that is null from one that is not there.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// What holds from now on.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RateDocument {
    /// The crawl; absent: all crawls of the key together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) crawl: Option<Uuid>,
    /// Requests a second, where they were given; null: as many as the operator allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>)]
    pub(crate) rate: Option<Option<f64>>,
    /// The least pause in milliseconds, where it was given; null: that of the settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<i32>)]
    pub(crate) min_delay_ms: Option<Option<i32>>,
}

#[derive(OpenApi)]
#[openapi(paths(set))]
pub(crate) struct RatesDescription;

/// The route of rates.
pub(crate) fn routes() -> Router<Arc<Service>> {
    Router::new().route("/v1/rate", post(set))
}

/// Ask more slowly, or as fast as the operator allows
#[utoipa::path(
    post, path = "/v1/rate", tag = "manners",
    operation_id = "rate_set",
    extensions(("x-problem-codes" = json!(["not_found", "not_allowed", "crawl_ended"]))),
    request_body(content = RateSubmission, example = json!({ "rate": 5, "min_delay_ms": 2000 })),
    responses(
        (status = 200, description = "Workers obey it within seconds", body = RateDocument),
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
    /// Whether something is given, and within its bounds.
    fn check(&self) -> Result<(), Problem> {
        let wrong = |field: &str, detail: String| {
            Err(Problem::of_field(ProblemCode::InvalidParameter, field, detail))
        };
        if self.rate.is_none() && self.min_delay_ms.is_none() {
            return wrong("rate", "give rate, min_delay_ms or both".to_owned());
        }
        if let Some(rate) = self.rate.flatten().filter(|rate| !(*rate > 0.0 && *rate <= MAX_RATE)) {
            return wrong("rate", format!("{rate} is not above 0 and up to {MAX_RATE}"));
        }
        let is_wrong = |delay_ms: &i32| !(0..=MAX_LEAST_DELAY_MS).contains(delay_ms);
        if let Some(delay_ms) = self.min_delay_ms.flatten().filter(is_wrong) {
            let detail = format!("{delay_ms} is not from 0 to {MAX_LEAST_DELAY_MS}");
            return wrong("min_delay_ms", detail);
        }
        Ok(())
    }

    /// Where both are given, whether the operator allows both, so that none is changed alone.
    async fn check_both(&self, service: &Service, caller: &ApiCaller) -> Result<(), Problem> {
        let (Some(rate), Some(delay_ms)) = (self.rate, self.min_delay_ms) else { return Ok(()) };
        let key = service.coordinator.api_key(caller).await?;
        let refused = |field: &str, detail: String| {
            Err(Problem::of_field(ProblemCode::NotAllowed, field, detail))
        };
        if let Some((rate, most)) =
            rate.zip(key.rate).filter(|(rate, most)| *rate > f64::from(*most))
        {
            return refused("rate", format!("{rate} is more than {most}"));
        }
        if let Some(delay_ms) = delay_ms.filter(|delay_ms| *delay_ms < key.min_delay_ms) {
            return refused(
                "min_delay_ms",
                format!("{delay_ms} is less than {}", key.min_delay_ms),
            );
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
    fn a_field_that_is_null_is_given_and_one_that_is_not_there_stays() {
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
