//! Whether the process lives, and whether it can serve. Neither takes a key.

use std::sync::Arc;

use axum::{Router, extract::State, http::Uri, response::Response, routing::get};
use everytab_coordinator::Error;
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

/// Whether the service can answer: it has its database, with this program's schema, and its store
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
    let reason = why_not_ready(&service).await;
    let before = std::mem::replace(&mut *service.last_probe.lock(), reason);
    match reason {
        None if before.is_some() => tracing::info!("ready again"),
        Some(reason) if before != Some(reason) => tracing::warn!("not ready: {reason}"),
        _ => {}
    }
    reason.map_or_else(|| Ok(well()), |reason| Err(Problem::unavailable(reason, RETRY_S)))
}

/// Returns what the service lacks. `None` if it is ready.
async fn why_not_ready(service: &Service) -> Option<&'static str> {
    if *service.stop.borrow() {
        return Some("the process stops");
    }
    match service.coordinator.check_schema().await {
        Ok(()) => {}
        Err(Error::Schema { .. } | Error::NoSchema) => {
            return Some("the database has another schema than this program");
        }
        Err(error) => {
            tracing::debug!(%error, "the database does not answer");
            return Some("the database does not answer");
        }
    }
    let mut store = service.store.clone();
    // The sender is dropped when the process stops.
    let checked = store.wait_for(Option::is_some).await.ok().and_then(|checked| *checked);
    checked.unwrap_or(Err("the process stops")).err()
}
