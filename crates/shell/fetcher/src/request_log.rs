//! Logs a shard's requests.
//!
//! A request is logged before it is sent, so that it is also logged if its fetch is dropped or
//! voided.

use chrono::{DateTime, Utc};
use parking_lot::Mutex;

use crate::outcome::Outcome;

/// Maximum size in bytes of a shard's log. A typical shard's log takes half a megabyte.
const MAX_LOG_BYTES: usize = 4 * 1024 * 1024;

/// A request's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestEnd {
    /// The fetch ended with this outcome.
    Outcome(Outcome),
    /// The response was a redirect, and the fetch continued.
    Redirected,
    /// The request failed on a reused connection, and was sent again on a new one.
    SentAgain,
    /// The fetch was dropped before the response, or a local failure voided it.
    Unfinished,
}

impl RequestEnd {
    /// Returns the stable name, in snake case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Outcome(outcome) => outcome.as_str(),
            Self::Redirected => "redirected",
            Self::SentAgain => "sent_again",
            Self::Unfinished => "unfinished",
        }
    }
}

/// A request, or a failed attempt to connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedRequest {
    /// The requested URL.
    pub url: String,
    /// When the request was sent or the connection failed.
    pub asked_at: DateTime<Utc>,
    /// False if no connection was made, so nothing was sent.
    pub was_sent: bool,
    /// The request's result.
    pub end: RequestEnd,
    /// The status of the response. `None` if there was none.
    pub status: Option<u16>,
    /// Bytes of the decoded body that were read.
    pub bytes: u32,
}

/// A shard's requests.
#[derive(Clone, Debug, Default)]
pub struct LoggedRequests {
    /// The requests, in the order in which they were sent.
    pub requests: Vec<LoggedRequest>,
    /// Number of requests that were not logged because the log was full.
    pub left_out: u64,
    bytes: usize,
}

#[derive(Debug, Default)]
pub(crate) struct RequestLog(Mutex<LoggedRequests>);

impl RequestLog {
    fn add(&self, url: &str, was_sent: bool) -> Option<usize> {
        let mut log = self.0.lock();
        let takes = size_of::<LoggedRequest>() + url.len();
        if log.bytes + takes > MAX_LOG_BYTES {
            log.left_out += 1;
            return None;
        }
        log.bytes += takes;
        let url = url.to_owned();
        let asked_at = Utc::now();
        let end = RequestEnd::Unfinished;
        log.requests.push(LoggedRequest { url, asked_at, was_sent, end, status: None, bytes: 0 });
        Some(log.requests.len() - 1)
    }

    fn change(&self, number: usize, change: impl FnOnce(&mut LoggedRequest)) {
        if let Some(request) = self.0.lock().requests.get_mut(number) {
            change(request);
        }
    }

    pub(crate) fn take(&self) -> LoggedRequests {
        std::mem::take(&mut self.0.lock())
    }
}

#[derive(Debug)]
pub(crate) struct CurrentRequest<'a> {
    log: &'a RequestLog,
    number: Option<usize>,
}

impl<'a> CurrentRequest<'a> {
    pub(crate) fn none(log: &'a RequestLog) -> Self {
        Self { log, number: None }
    }

    pub(crate) fn send(&mut self, url: &str) {
        self.number = self.log.add(url, true);
    }

    pub(crate) fn no_connection(&mut self, url: &str) {
        self.number = self.log.add(url, false);
    }

    pub(crate) fn response_received(&self, status: u16) {
        if let Some(number) = self.number {
            self.log.change(number, |request| request.status = Some(status));
        }
    }

    pub(crate) fn end(&mut self, end: RequestEnd, body_bytes: usize) {
        let bytes = u32::try_from(body_bytes).unwrap_or(u32::MAX);
        if let Some(number) = self.number.take() {
            self.log.change(number, |request| (request.end, request.bytes) = (end, bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_log_counts_the_requests_that_it_omits() {
        let log = RequestLog::default();
        let url = "x".repeat(100_000);
        for _ in 0..100 {
            let mut request = CurrentRequest::none(&log);
            request.send(&url);
            request.response_received(200);
            request.end(RequestEnd::Outcome(Outcome::Ok), 7);
        }
        let logged = log.take();
        assert!(logged.bytes <= MAX_LOG_BYTES);
        assert_eq!(logged.requests.len() as u64 + logged.left_out, 100);
        assert!(logged.left_out > 0 && log.take().requests.is_empty());
        let is_whole = |one: &LoggedRequest| (one.status, one.bytes) == (Some(200), 7);
        assert!(logged.requests.iter().all(is_whole));
    }

    #[test]
    fn a_request_of_a_dropped_fetch_remains_unfinished() {
        let log = RequestLog::default();
        {
            let mut request = CurrentRequest::none(&log);
            request.send("http://a.test/");
            request.end(RequestEnd::Redirected, 0);
            request.send("http://b.test/");
        }
        let ends: Vec<_> = log.take().requests.iter().map(|one| one.end).collect();
        assert_eq!(ends, [RequestEnd::Redirected, RequestEnd::Unfinished]);
    }
}
