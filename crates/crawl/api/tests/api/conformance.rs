//! Compares each response with the description: its status, content type, body and problem code.

use std::sync::LazyLock;

use reqwest::StatusCode;
use serde_json::Value;

use crate::schema::problems_of;

static WHOLE: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(&everytab_api::description_json().unwrap()).unwrap());

/// `None` if no path has this method.
fn operation_of(method: &str, path: &str) -> Option<&'static Value> {
    let parts = || path.split(['?', '#']).next().unwrap_or_default().split('/');
    let is_it = |template: &str| {
        let is_same = |(part, wanted): (&str, &str)| part == wanted || wanted == "{id}";
        template.split('/').count() == parts().count()
            && parts().zip(template.split('/')).all(is_same)
    };
    let mut found: Vec<_> = WHOLE["paths"].as_object()?.iter().collect();
    found.sort_by_key(|(template, _)| template.contains('{'));
    let (_, methods) = found.into_iter().find(|(template, _)| is_it(template))?;
    methods.get(method.to_lowercase())
}

pub(crate) fn check(
    (method, path): (&str, &str),
    (status, content_type): (StatusCode, Option<&str>),
    body: &str,
) {
    let Some(operation) = operation_of(method, path) else { return };
    let place = format!("{method} {path}: {status} {content_type:?} {body}");
    let mut response = &operation["responses"][status.as_str()];
    if let Some(name) = response["$ref"].as_str() {
        response = WHOLE.pointer(name.trim_start_matches('#')).unwrap();
    }
    assert!(response.is_object(), "the status is not described: {place}");
    let Some(kind) = content_type.and_then(|text| text.split(';').next()) else {
        assert!(response["content"].is_null(), "the response should have no body: {place}");
        return;
    };
    let content = &response["content"][kind];
    assert!(content.is_object(), "the content type is not described: {place}");
    if !kind.ends_with("json") {
        return;
    }
    let value = serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {place}"));
    let found = problems_of(&WHOLE, &content["schema"], &value);
    assert_eq!(found, Vec::<String>::new(), "{place}");
    if !status.is_success() {
        let codes = operation["x-problem-codes"].as_array().unwrap();
        assert!(codes.contains(&value["code"]), "the code is not described: {place}");
    }
}
