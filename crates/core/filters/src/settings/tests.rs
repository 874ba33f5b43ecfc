//! Tests which filter JSON is accepted, and which fields are rejected by name.

use proptest::prelude::*;

use super::*;

#[test]
fn a_filter_with_every_field_round_trips() {
    let json = serde_json::json!({
        "rules": [{ "pattern": "*.example.com", "verdict": "keep" }],
        "lists": [{ "name": "ut1", "mode": "drop", "categories": ["adult"] }],
        "words": { "weights": { "casino": 5, "poker": -1 }, "threshold": 4, "in": ["title"] },
        "languages": { "keep": ["de", "eng"] },
        "countries": { "drop": ["DE"], "addresses": "rir" },
        "types": { "drop": ["application/pdf", "image/*"] },
        "classifier": { "socket": "/run/classifier.sock", "labels": ["spam"] },
    });
    let settings = FilterSettings::parse(json.to_string().as_bytes()).unwrap();
    assert_eq!(serde_json::to_value(&settings).unwrap(), json);
    assert_eq!(settings.list_names(), ["rir", "ut1"]);
    assert_eq!(serde_json::from_value::<FilterSettings>(json).unwrap(), settings);
    let nothing = FilterSettings::parse(b"{}").unwrap();
    assert_eq!(serde_json::to_string(&nothing).unwrap(), "{}");
}

#[test]
fn what_is_wrong_is_named() {
    let long = "x".repeat(101);
    let bad = |field: &str, value: &str| {
        let json = format!("{{\"{field}\":{value}}}").replace("LONG", &long);
        let error = FilterSettings::parse(json.as_bytes()).unwrap_err();
        assert!(error.to_string().starts_with(field), "{json}: {error}");
        error.to_string()
    };
    assert!(bad("colour", "1").contains("unknown field, expected rules, lists"));
    assert!(bad("rules", "[{\"pattern\":\"re:(\",\"verdict\":\"drop\"}]").contains("pattern 1"));
    assert!(bad("rules", "[{\"pattern\":\"a\",\"verdict\":\"burn\"}]").contains("burn"));
    assert!(bad("rules", "[{\"pattern\":\"a\",\"verdict\":\"drop\",\"x\":1}]").contains("`x`"));
    assert!(bad("lists", "[{\"name\":\"../a\",\"mode\":\"drop\"}]").contains("lists[0].name"));
    assert!(bad("lists", "[{\"name\":\"a\"}]").contains("mode"));
    assert!(bad("words", "{\"weights\":{},\"threshold\":1}").contains("words.weights"));
    assert!(bad("words", "{\"weights\":{\"a\":1},\"threshold\":0}").contains("words.threshold"));
    assert!(bad("words", "{\"weights\":{\" a\":1},\"threshold\":1}").contains("\" a\""));
    assert!(bad("words", "{\"weights\":{\"a\":1},\"threshold\":1,\"in\":[]}").contains("words.in"));
    assert!(bad("words", "{\"weights\":{\"a\":1e9},\"threshold\":1}").contains("invalid type"));
    assert!(bad("languages", "{\"keep\":[\"klingon\"]}").contains("klingon"));
    assert!(bad("languages", "{\"keep\":[\"de\"],\"drop\":[]}").contains("languages"));
    assert!(bad("countries", "{}").contains("either keep or drop"));
    assert!(bad("countries", "{\"keep\":[\"Germany\"]}").contains("Germany"));
    assert!(bad("types", "{\"keep\":[\"TEXT/html\"]}").contains("TEXT/html"));
    assert!(bad("classifier", "{\"socket\":\"x.sock\"}").contains("classifier.socket"));
    assert!(bad("classifier", "{\"socket\":\"/LONGLONG\"}").contains("107"));
    for json in ["", "[]", "null", "{\"rules\":", "{\"words\":{\"weights\":{\"a\":NaN}}}"] {
        let error = FilterSettings::parse(json.as_bytes()).unwrap_err();
        assert_eq!(error.field, "filter", "{json}");
    }
    let deep = "[".repeat(100_000);
    assert_eq!(FilterSettings::parse(deep.as_bytes()).unwrap_err().field, "filter");
    let large = " ".repeat(MAX_FILTER_BYTES + 1);
    assert!(FilterSettings::parse(large.as_bytes()).unwrap_err().reason.contains("bytes"));
}

#[test]
fn bounds_hold_at_both_ends() {
    let words = |number: usize| {
        let weights = (0..number).map(|n| (format!("w{n}"), 1)).collect();
        let words = WordSettings { weights, threshold: 1, places: both_places() };
        FilterSettings { words: Some(words), ..FilterSettings::default() }
    };
    assert_eq!(words(MAX_WORDS).check(), Ok(()));
    assert!(words(MAX_WORDS + 1).check().is_err());
    let list = ListSettings { name: "a".to_owned(), mode: ListMode::Drop, categories: Vec::new() };
    let lists =
        |number| FilterSettings { lists: vec![list.clone(); number], ..FilterSettings::default() };
    assert_eq!(lists(MAX_LISTS).check(), Ok(()));
    assert!(lists(MAX_LISTS + 1).check().is_err());
}

proptest! {
    #[test]
    fn any_text_is_a_filter_or_an_error(text in "\\PC{0,80}") {
        if let Ok(settings) = FilterSettings::parse(text.as_bytes()) {
            prop_assert_eq!(settings.check(), Ok(()));
        }
    }
}
