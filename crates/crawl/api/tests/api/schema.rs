//! Compares a value with a schema in the description. Panics on JSON Schema keywords that the
//! description does not use.

use serde_json::Value;

/// Keywords that do not restrict a value.
const REMARKS: [&str; 7] =
    ["description", "example", "examples", "title", "format", "deprecated", "default"];

pub(crate) fn problems_of(whole: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare(whole, schema, value, "$", &mut found);
    found
}

fn compare(whole: &Value, schema: &Value, value: &Value, place: &str, found: &mut Vec<String>) {
    let Some(words) = schema.as_object() else { return };
    for (word, wanted) in words {
        let is_right = match word.as_str() {
            "$ref" => {
                let pointer = wanted.as_str().unwrap().trim_start_matches('#');
                let target = whole.pointer(pointer).unwrap_or_else(|| panic!("no {pointer}"));
                compare(whole, target, value, place, found);
                true
            }
            "type" => is_of_type(wanted, value),
            "enum" => wanted.as_array().unwrap().contains(value),
            "minimum" => value.as_f64().is_none_or(|number| number >= wanted.as_f64().unwrap()),
            "exclusiveMinimum" => {
                value.as_f64().is_none_or(|number| number > wanted.as_f64().unwrap())
            }
            "maximum" => value.as_f64().is_none_or(|number| number <= wanted.as_f64().unwrap()),
            "maxItems" => {
                value.as_array().is_none_or(|list| list.len() as u64 <= wanted.as_u64().unwrap())
            }
            "minItems" => {
                value.as_array().is_none_or(|list| list.len() as u64 >= wanted.as_u64().unwrap())
            }
            "maxLength" | "minLength" => value.as_str().is_none_or(|text| {
                let (length, limit) = (text.chars().count() as u64, wanted.as_u64().unwrap());
                if word == "maxLength" { length <= limit } else { length >= limit }
            }),
            "required" => value.as_object().is_none_or(|fields| {
                wanted
                    .as_array()
                    .unwrap()
                    .iter()
                    .all(|name| fields.contains_key(name.as_str().unwrap()))
            }),
            "properties" => {
                properties(whole, schema, value, place, found);
                true
            }
            "items" => {
                for (number, item) in value.as_array().into_iter().flatten().enumerate() {
                    compare(whole, wanted, item, &format!("{place}[{number}]"), found);
                }
                true
            }
            "oneOf" | "anyOf" => {
                let matches = wanted.as_array().unwrap().iter();
                let count = matches.filter(|one| problems_of(whole, one, value).is_empty()).count();
                count == 1 || (word == "anyOf" && count > 0)
            }
            "allOf" => {
                for one in wanted.as_array().unwrap() {
                    compare(whole, one, value, place, found);
                }
                true
            }
            "additionalProperties" | "propertyNames" => {
                if wanted.is_object() && !words.contains_key("properties") && word.starts_with('a')
                {
                    for (name, inner) in value.as_object().into_iter().flatten() {
                        compare(whole, wanted, inner, &format!("{place}.{name}"), found);
                    }
                }
                true
            }
            remark if REMARKS.contains(&remark) => true,
            other => panic!("{place}: this test does not support {other}"),
        };
        if !is_right {
            found.push(format!("{place}: {value} is not {word} {wanted}"));
        }
    }
}

fn properties(whole: &Value, schema: &Value, value: &Value, place: &str, found: &mut Vec<String>) {
    let described = schema["properties"].as_object().unwrap();
    for (name, inner) in value.as_object().into_iter().flatten() {
        match described.get(name) {
            Some(one) => compare(whole, one, inner, &format!("{place}.{name}"), found),
            None => found.push(format!("{place}.{name} is not described")),
        }
    }
}

fn is_of_type(wanted: &Value, value: &Value) -> bool {
    let is = |name: &str| match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        other => panic!("this test does not support the type {other}"),
    };
    match wanted {
        Value::Array(names) => names.iter().any(|name| is(name.as_str().unwrap())),
        name => is(name.as_str().unwrap()),
    }
}
