//! Tests parameters, keys and short strings.

use axum::http::Request;
use serde_json::json;

use super::*;

fn parse(query: &str) -> Result<Parameters, ProblemCode> {
    let uri = format!("/x?{query}").parse().unwrap();
    Parameters::parse(&uri, &["wait", "limit"]).map_err(|problem| problem.code)
}

#[test]
fn unknown_and_repeated_parameters_are_rejected() {
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

fn key(path: &str, names: &[&str], body: &str) -> Result<Option<IdempotencyKey>, ProblemCode> {
    let mut request = Request::post(path);
    for name in names {
        request = request.header(IDEMPOTENCY_KEY, *name);
    }
    let (parts, ()) = request.body(()).unwrap().into_parts();
    idempotency_key(&parts, body.as_bytes()).map_err(|problem| problem.code)
}

#[test]
fn idempotent_requests_are_equal_except_for_wait() {
    let one = key("/v1/crawls", &["a"], "{}").unwrap();
    assert_eq!(one, key("/v1/crawls", &["a"], "{}").unwrap());
    for other in [key("/v1/crawls", &["a"], "[]"), key("/v1/url", &["a"], "{}")] {
        let (one, other) = (one.clone().unwrap(), other.unwrap().unwrap());
        assert_eq!(one.name, other.name);
        assert_ne!(one.request_sha256, other.request_sha256);
    }
    let of_query = |query: &str| key(&format!("/v1/url?{query}"), &["a"], "{}").unwrap();
    assert_eq!(of_query("wait=5"), key("/v1/url", &["a"], "{}").unwrap());
    assert_eq!(of_query("wait=5&priority=2"), of_query("priority=2&wait=60"));
    assert_ne!(of_query("priority=1"), of_query("priority=2"));
    assert_eq!(key("/", &[], "{}"), Ok(None));
    let long = "a".repeat(256);
    for wrong in [&["", "a"][..], &["a", "a"], &[long.as_str()]] {
        assert_eq!(key("/", wrong, ""), Err(ProblemCode::InvalidParameter));
    }
}

#[test]
fn nul_is_found_in_every_text_of_a_value() {
    let check = |value| check_no_nul(&value, "x", ProblemCode::InvalidSetting);
    assert!(check(json!({ "a": ["\\u0000", 0, null, true, { "b": "" }] })).is_ok());
    for wrong in [json!("\0"), json!({ "a": ["b\0"] }), json!({ "a": { "\0": 1 } })] {
        assert_eq!(check(wrong).unwrap_err().code, ProblemCode::InvalidSetting);
    }
}

#[test]
fn a_name_is_a_line_that_is_not_too_long() {
    let longest = "é".repeat(MAX_NAME_CHARACTERS);
    for good in ["a", "the news", "\u{1f600}", &longest] {
        assert!(check_name(good).is_ok(), "{good}");
    }
    let long = "a".repeat(MAX_NAME_CHARACTERS + 1);
    for wrong in ["", " ", " a", "a\n", "a\u{0}b", "a\u{85}b", &long] {
        let problem = check_name(wrong).unwrap_err();
        assert_eq!(problem.errors[0].field.as_deref(), Some("name"), "{wrong:?}");
    }
}
