//! The HTTP service's metrics.
//!
//! Invariant: label values are from closed lists, never from a client's input.

use std::{sync::OnceLock, time::Duration};

use axum::http::StatusCode;
use everytab_metrics::{LATENCY_SECONDS, instruments, label};
use opentelemetry::{KeyValue, global};

instruments! { Instruments METRICS
    requests: counter() "everytab.api.requests" "{request}" ["route" "status"]
        "Requests to the HTTP service by route and status class (2xx, 4xx, 5xx)";
    request_duration: histogram(LATENCY_SECONDS) "everytab.api.request.duration" "s" ["route"]
        "Time from a request's head to its response's head, including a requested wait";
    waiters: gauge() "everytab.api.waiters" "{request}" []
        "Requests that wait for a result or a change";
    submissions: counter() "everytab.api.submissions" "{url}" []
        "URLs submitted in requests for one URL";
    commits: counter() "everytab.api.submission.commits" "{commit}" ["end"]
        "Calls to Postgres that submitted batches of such URLs: done, failed";
}

/// Label for requests that match no route.
pub(crate) const NO_ROUTE: &str = "none";

static INSTRUMENTS: OnceLock<Instruments> = OnceLock::new();

/// The first call uses the current global meter provider.
fn instruments() -> &'static Instruments {
    INSTRUMENTS.get_or_init(|| Instruments::new(&global::meter("everytab")))
}

/// Creates the series with the value 0, so that rate queries see the first increase.
pub(crate) fn begin_at_zero() {
    let instruments = instruments();
    instruments.submissions.add(0, &[]);
    for end in ["done", "failed"] {
        instruments.commits.add(0, &[label("end", end)]);
    }
    instruments.waiters.record(0, &[]);
    for status in ["2xx", "4xx", "5xx"] {
        instruments.requests.add(0, &[label("route", NO_ROUTE), label("status", status)]);
    }
}

pub(crate) fn answered(route: &str, status: StatusCode, took: Duration) {
    let instruments = instruments();
    let class = match status.as_u16() {
        ..=299 => "2xx",
        300..=399 => "3xx",
        400..=499 => "4xx",
        _ => "5xx",
    };
    let route = KeyValue::new("route", route.to_owned());
    instruments.request_duration.record(took.as_secs_f64(), std::slice::from_ref(&route));
    instruments.requests.add(1, &[route, label("status", class)]);
}

pub(crate) fn waiting(requests: usize) {
    instruments().waiters.record(requests as u64, &[]);
}

pub(crate) fn submitted(urls: usize, is_done: bool) {
    let instruments = instruments();
    if is_done {
        instruments.submissions.add(urls as u64, &[]);
    }
    let end = if is_done { "done" } else { "failed" };
    instruments.commits.add(1, &[label("end", end)]);
}
