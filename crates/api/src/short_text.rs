//! Checks short strings for Postgres: names, and lines of rules.
//!
//! Invariant: an accepted string fits into its column, and has no character that Postgres rejects.
//! This does not depend on where a string is stored.

use serde::Serialize;
use serde_json::Value;

use crate::problem::{Problem, ProblemCode};

/// Maximum name length.
const MAX_NAME_CHARACTERS: usize = 100;

/// Checks the field `name`.
///
/// # Errors
/// Returns a problem if it is not a valid name.
pub(crate) fn check_name(name: &str) -> Result<(), Problem> {
    check_line(name, "name", MAX_NAME_CHARACTERS)
}

/// Checks that a field is one line of at most this many characters.
///
/// # Errors
/// Returns a problem of this field if it is not.
pub(crate) fn check_line(text: &str, field: &str, max_characters: usize) -> Result<(), Problem> {
    let is_long_enough = (1..=max_characters).contains(&text.chars().count());
    if is_long_enough && text.trim() == text && !text.chars().any(char::is_control) {
        return Ok(());
    }
    let detail = format!(
        "a {field} has 1 to {max_characters} characters, none of them a control character, and no \
         space around it"
    );
    Err(Problem::of_field(ProblemCode::InvalidParameter, field, detail))
}

/// Checks that no string in a value contains NUL, which Postgres cannot store.
///
/// # Errors
/// Returns a problem of this field if one does.
pub(crate) fn check_no_nul<T: Serialize>(
    value: &T,
    field: &str,
    code: ProblemCode,
) -> Result<(), Problem> {
    match serde_json::to_value(value) {
        Ok(value) if !has_nul(&value) => Ok(()),
        Ok(_) => Err(Problem::of_field(code, field, "a text has the character NUL")),
        Err(error) => Err(Problem::of_field(code, field, error)),
    }
}

fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(list) => list.iter().any(has_nul),
        Value::Object(fields) => {
            fields.iter().any(|(name, value)| name.contains('\0') || has_nul(value))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
}
