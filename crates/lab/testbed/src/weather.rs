//! A store's weather: refusals that a test starts and ends. The same requests in the same order are
//! refused, so a share does not depend on chance.

use std::sync::Arc;

use http::StatusCode;
use parking_lot::Mutex;

/// The requests that a store refuses.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Storm {
    /// The status for refusals, such as 403, 503, or 404 for lists that are published late.
    pub status: u16,
    /// Number of refusals per thousand requests.
    pub per_thousand: u32,
    /// Only requests with this string in the path, or in the range after it, may be refused. Empty
    /// for all requests.
    pub path: String,
    /// Number of such requests that succeed before the first one is refused.
    pub after: u64,
}

impl Storm {
    /// Refuses every request with this status.
    #[must_use]
    pub fn of(status: u16) -> Self {
        Self { status, per_thousand: 1_000, path: String::new(), after: 0 }
    }

    /// Refuses only a share of the requests.
    #[must_use]
    pub fn sparing(self, refused_per_thousand: u32) -> Self {
        Self { per_thousand: refused_per_thousand, ..self }
    }

    /// Starts the refusals after this many successful requests.
    #[must_use]
    pub fn after(self, answered: u64) -> Self {
        Self { after: answered, ..self }
    }

    /// Refuses only requests with this string in the path, or in the range after it.
    #[must_use]
    pub fn over(self, path: &str) -> Self {
        Self { path: path.to_owned(), ..self }
    }
}

/// One store's weather, at first without storms. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Weather(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    storms: Vec<Storm>,
    met: u64,
    refused: u64,
}

impl Weather {
    /// Starts a storm in addition to the current ones.
    pub fn begin(&self, storm: Storm) {
        self.0.lock().storms.push(storm);
    }

    /// Ends all storms.
    pub fn clear(&self) {
        self.0.lock().storms.clear();
    }

    /// Returns how many requests this store has refused so far.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.0.lock().refused
    }

    pub(crate) fn refusal(&self, path: &str) -> Option<(StatusCode, &'static str)> {
        let mut state = self.0.lock();
        let storm = state.storms.iter_mut().find(|storm| path.contains(&storm.path))?;
        if storm.after > 0 {
            storm.after -= 1;
            return None;
        }
        let storm = storm.clone();
        let before = state.met * u64::from(storm.per_thousand) / 1_000;
        state.met += 1;
        if state.met * u64::from(storm.per_thousand) / 1_000 == before {
            return None;
        }
        state.refused += 1;
        let status = StatusCode::from_u16(storm.status).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
        Some((
            status,
            match status {
                StatusCode::FORBIDDEN => "AccessDenied",
                StatusCode::NOT_FOUND => "NoSuchKey",
                _ => "SlowDown",
            },
        ))
    }
}

pub(crate) fn path_and_range<B>(request: &http::Request<B>) -> String {
    let range = request.headers().get(http::header::RANGE).and_then(|range| range.to_str().ok());
    let path = request.uri().path_and_query().map_or("/", |found| found.as_str());
    format!("{path} {}", range.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storm_refuses_its_share_of_its_paths_until_it_is_over() {
        let weather = Weather::default();
        assert_eq!(weather.refusal("/a"), None);
        weather.begin(Storm::of(503).sparing(300).over("/segments/"));
        let refused = (0..1_000).filter(|_| weather.refusal("/x/segments/y").is_some()).count();
        assert_eq!(refused, 300);
        assert_eq!(weather.refusal("/a"), None);
        weather.begin(Storm::of(403));
        assert_eq!(weather.refusal("/a"), Some((StatusCode::FORBIDDEN, "AccessDenied")));
        weather.clear();
        assert_eq!(weather.refusal("/a"), None);
        assert_eq!(weather.refused(), 301);
    }
}
