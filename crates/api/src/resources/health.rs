//! Whether the process lives, and whether it can serve. Neither takes a key.

use std::sync::Arc;

use axum::{Router, extract::State, http::Uri, response::Response, routing::get};
use serde::Serialize;
use utoipa::{OpenApi, ToSchema};

use crate::{answer, parameters::Parameters, problem::Problem, service::Service};

/// Seconds after which a probe may ask again.
const RETRY_S: u64 = 2;

/// How a process is that answers.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum HealthWord {
    /// It can do its work.
    Ok,
}

/// That all is well.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HealthDocument {
    /// Always ok.
    pub(crate) status: HealthWord,
}

#[derive(OpenApi)]
#[openapi(paths(healthz, readyz))]
pub(crate) struct HealthDescription;

/// The routes of probes.
pub(crate) fn routes() -> Router<Arc<Service>> {
    Router::new().route("/healthz", get(healthz)).route("/readyz", get(readyz))
}

fn well() -> Response {
    answer::ok(&HealthDocument { status: HealthWord::Ok })
}

/// Whether the process lives
#[utoipa::path(
    get, path = "/healthz", tag = "service",
    operation_id = "health_check", security(()),
    responses((status = 200, description = "It does", body = HealthDocument))
)]
pub(crate) async fn healthz(uri: Uri) -> Result<Response, Problem> {
    Parameters::parse(&uri, &[])?;
    Ok(well())
}

/// Whether the service can answer: it has its database, with this program's schema
#[utoipa::path(
    get, path = "/readyz", tag = "service",
    operation_id = "readiness_check",
    extensions(("x-problem-codes" = json!(["unavailable"]))), security(()),
    responses(
        (status = 200, description = "It can", body = HealthDocument),
    )
)]
pub(crate) async fn readyz(
    State(service): State<Arc<Service>>,
    uri: Uri,
) -> Result<Response, Problem> {
    Parameters::parse(&uri, &[])?;
    if *service.stop.borrow() {
        return Err(not_ready("the process stops"));
    }
    match service.coordinator.check_schema().await {
        Ok(()) => Ok(well()),
        Err(error) => {
            tracing::warn!(%error, "not ready");
            Err(not_ready("the database is away, or has another schema"))
        }
    }
}

fn not_ready(detail: &str) -> Problem {
    Problem::unavailable(detail, RETRY_S)
}
