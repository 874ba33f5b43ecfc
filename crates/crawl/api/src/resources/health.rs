//! Probes for liveness and readiness. Neither needs a key.

use std::sync::Arc;

use axum::{Router, extract::State, http::Uri, response::Response, routing::get};
use everytab_coordinator::Error;
use serde::Serialize;
use utoipa::{OpenApi, ToSchema};

use crate::{answer, parameters::Parameters, problem::Problem, service::Service};

/// Seconds after which a probe may retry.
const RETRY_S: u64 = 2;

/// The state of a running process.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum HealthWord {
    /// It works.
    Ok,
}

/// The response to a successful probe.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HealthDocument {
    /// Always ok.
    pub(crate) status: HealthWord,
}

#[derive(OpenApi)]
#[openapi(paths(healthz, readyz))]
pub(crate) struct HealthDescription;

pub(crate) fn routes() -> Router<Arc<Service>> {
    Router::new().route("/healthz", get(healthz)).route("/readyz", get(readyz))
}

fn well() -> Response {
    answer::ok(&HealthDocument { status: HealthWord::Ok })
}

/// Check that the process is running
#[utoipa::path(
    get, path = "/healthz", tag = "service",
    operation_id = "health_check", security(()),
    responses((status = 200, description = "The process is running", body = HealthDocument))
)]
pub(crate) async fn healthz(uri: Uri) -> Result<Response, Problem> {
    Parameters::parse(&uri, &[])?;
    Ok(well())
}

/// Check that the service can handle requests: it can reach its store, and its database with this
/// program's schema
#[utoipa::path(
    get, path = "/readyz", tag = "service",
    operation_id = "readiness_check",
    extensions(("x-problem-codes" = json!(["unavailable"]))), security(()),
    responses(
        (status = 200, description = "The service is ready", body = HealthDocument),
    )
)]
pub(crate) async fn readyz(
    State(service): State<Arc<Service>>,
    uri: Uri,
) -> Result<Response, Problem> {
    Parameters::parse(&uri, &[])?;
    let reason = why_not_ready(&service).await;
    let before = std::mem::replace(&mut *service.last_probe.lock(), reason);
    match reason {
        None if before.is_some() => tracing::info!("ready again"),
        Some(reason) if before != Some(reason) => tracing::warn!("not ready: {reason}"),
        _ => {}
    }
    reason.map_or_else(|| Ok(well()), |reason| Err(Problem::unavailable(reason, RETRY_S)))
}

async fn why_not_ready(service: &Service) -> Option<&'static str> {
    if *service.stop.borrow() {
        return Some("the service is stopping");
    }
    match service.coordinator.check_schema().await {
        Ok(()) => {}
        Err(Error::Schema { .. } | Error::NoSchema) => {
            return Some("the database schema does not match this program");
        }
        Err(error) => {
            tracing::debug!(%error, "cannot reach the database");
            return Some("cannot reach the database");
        }
    }
    let mut store = service.store.clone();
    // The sender is dropped when the process stops.
    let checked = store.wait_for(Option::is_some).await.ok().and_then(|checked| *checked);
    checked.unwrap_or(Err("the service is stopping")).err()
}
