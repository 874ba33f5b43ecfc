//! Query parameters of requests.
//!
//! Invariant: an unknown or repeated parameter is rejected, so that a misspelt one does not
//! silently become a default. This does not depend on what a parameter means.

use std::{collections::BTreeMap, time::Duration};

use axum::http::Uri;

use crate::problem::{Problem, ProblemCode};

/// Maximum time that a request may wait, in seconds. Proxies give up after 60.
pub(crate) const MAX_WAIT_S: u64 = 60;

/// A request's query parameters.
#[derive(Debug)]
pub(crate) struct Parameters(BTreeMap<String, String>);

impl Parameters {
    /// Parses the query of a URI, which may have the parameters `known`.
    ///
    /// # Errors
    /// Returns a problem for an unknown parameter, or one that is repeated.
    pub(crate) fn parse(uri: &Uri, known: &[&str]) -> Result<Self, Problem> {
        let mut found = BTreeMap::new();
        let query = uri.query().unwrap_or_default();
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            if !known.contains(&name.as_ref()) {
                let detail = match known {
                    [] => "this path has no parameters".to_owned(),
                    known => format!("expected {}", known.join(", ")),
                };
                return Err(Problem::of_field(ProblemCode::UnknownField, &name, detail));
            }
            if found.insert(name.clone().into_owned(), value.into_owned()).is_some() {
                let code = ProblemCode::InvalidParameter;
                return Err(Problem::of_field(code, &name, "the parameter comes twice"));
            }
        }
        Ok(Self(found))
    }

    /// Returns a parameter as a string. `None` if it is missing.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Parses a parameter. `None` if it is missing.
    ///
    /// # Errors
    /// Returns a problem if the value cannot be parsed. `what` describes valid values.
    pub(crate) fn value<T: std::str::FromStr>(
        &self,
        name: &str,
        what: &str,
    ) -> Result<Option<T>, Problem> {
        let parsed = |text: &str| {
            text.parse().map_err(|_| {
                let detail = format!("{text:?} is not {what}");
                Problem::of_field(ProblemCode::InvalidParameter, name, detail)
            })
        };
        self.text(name).map(parsed).transpose()
    }

    /// Returns a number from 1 to `most`, or `default` if it is missing.
    ///
    /// # Errors
    /// Returns a problem if the value is not such a number.
    pub(crate) fn limit(&self, name: &str, default: i32, most: i32) -> Result<i32, Problem> {
        let what = format!("a number from 1 to {most}");
        let number = self.value(name, &what)?.unwrap_or(default);
        if (1..=most).contains(&number) {
            return Ok(number);
        }
        let detail = format!("{number} is not {what}");
        Err(Problem::of_field(ProblemCode::InvalidParameter, name, detail))
    }

    /// Returns how long the request may wait for news.
    ///
    /// # Errors
    /// Returns a problem if the value is not a number from 0 to [`MAX_WAIT_S`].
    pub(crate) fn wait(&self) -> Result<Duration, Problem> {
        let what = format!("a number of seconds up to {MAX_WAIT_S}");
        let seconds: f64 = self.value("wait", &what)?.unwrap_or(0.0);
        if (0.0..=MAX_WAIT_S as f64).contains(&seconds) {
            return Ok(Duration::from_secs_f64(seconds));
        }
        let detail = format!("{seconds} is not {what}");
        Err(Problem::of_field(ProblemCode::InvalidParameter, "wait", detail))
    }
}

/// Returns the value of a field that may be in the query or in the body.
///
/// # Errors
/// Returns a problem if it is in both.
pub(crate) fn given_once<T>(
    name: &str,
    of_query: Option<T>,
    of_body: Option<T>,
) -> Result<Option<T>, Problem> {
    if of_query.is_some() && of_body.is_some() {
        let detail = "it is given twice: in the query and in the body";
        return Err(Problem::of_field(ProblemCode::InvalidParameter, name, detail));
    }
    Ok(of_query.or(of_body))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(query: &str) -> Result<Parameters, ProblemCode> {
        let uri = format!("/x?{query}").parse().unwrap();
        Parameters::parse(&uri, &["wait", "limit"]).map_err(|problem| problem.code)
    }

    #[test]
    fn a_parameter_that_is_not_known_or_comes_twice_is_refused() {
        assert_eq!(parse("limt=1").err(), Some(ProblemCode::UnknownField));
        assert_eq!(parse("wait=1&wait=1").err(), Some(ProblemCode::InvalidParameter));
        let good = parse("wait=0.5&limit=%37").unwrap();
        assert_eq!(good.limit("limit", 100, 1_000).unwrap(), 7);
        assert_eq!(good.wait().unwrap(), Duration::from_millis(500));
    }

    #[test]
    fn a_wait_and_a_limit_have_bounds() {
        for wait in ["-1", "61", "NaN", "inf", "x", "", "1e400"] {
            let code = parse(&format!("wait={wait}")).unwrap().wait().map_err(|error| error.code);
            assert_eq!(code, Err(ProblemCode::InvalidParameter), "{wait}");
        }
        for limit in ["0", "-1", "1001", "1.5", "x", "99999999999"] {
            let found = parse(&format!("limit={limit}")).unwrap();
            assert!(found.limit("limit", 100, 1_000).is_err(), "{limit}");
        }
        assert_eq!(parse("").unwrap().limit("limit", 100, 1_000).unwrap(), 100);
    }
}
