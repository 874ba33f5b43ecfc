//! A filter in the HTTP API.
//!
//! Invariant: every field of [`FilterSettings`] that a key may set is here under the same name, and
//! no other field is here. A classifier is a program on the workers' hosts, so a key may not set
//! it.

use std::collections::BTreeMap;

use everytab_filters::{FilterError, FilterSettings, FilterVerdict};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{
    parameters::check_no_nul,
    problem::{Problem, ProblemCode},
};

/// A filter's verdict on a URL or page.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum VerdictWord {
    /// Keep it.
    Keep,
    /// Do not fetch it, or do not store it.
    Drop,
    /// Keep it, but do not follow its links to other pages.
    Nofollow,
}

impl From<FilterVerdict> for VerdictWord {
    fn from(verdict: FilterVerdict) -> Self {
        match verdict {
            FilterVerdict::Keep => Self::Keep,
            FilterVerdict::Drop => Self::Drop,
            FilterVerdict::Nofollow => Self::Nofollow,
        }
    }
}

/// How a list is applied.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ListModeWord {
    /// Drop URLs that are on the list.
    Drop,
    /// Drop URLs that are on none of the lists with this mode.
    Keep,
}

/// Where to search for words.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PlaceWord {
    /// In the title.
    Title,
    /// In the visible text.
    Text,
}

/// A pattern and its verdict. The first pattern that matches decides.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FilterRule {
    /// A glob over host and path such as `example.com/shop/*`, or `re:` and a regular expression.
    pub(crate) pattern: String,
    /// The verdict on a URL that matches. If it is `keep`, no other part of the filter can drop the
    /// URL.
    pub(crate) verdict: VerdictWord,
}

/// A list that the operator imported (`GET /v1/settings` lists the names).
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FilterList {
    /// The list's name.
    pub(crate) name: String,
    /// How the list is applied.
    pub(crate) mode: ListModeWord,
    /// The categories that count. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) categories: Option<Vec<String>>,
}

/// Words with weights. A page is dropped if the weights of the words on it add up to the threshold
/// or more.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FilterWords {
    /// The words with their weights. Case is ignored.
    pub(crate) weights: BTreeMap<String, i64>,
    /// Minimum total weight for which a page is dropped.
    #[schema(minimum = 1)]
    pub(crate) threshold: i64,
    /// Where to search for the words. Default: in the title and the text.
    #[serde(rename = "in", skip_serializing_if = "Option::is_none")]
    pub(crate) places: Option<Vec<PlaceWord>>,
}

/// The values to keep or to drop. A page whose value is unknown is kept.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FilterChoice {
    /// Keep only these.
    Keep(Vec<String>),
    /// Keep all but these.
    Drop(Vec<String>),
}

/// Host countries, as two-letter codes. Exactly one of `keep` and `drop` is given.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FilterCountries {
    /// Keep only these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) keep: Option<Vec<String>>,
    /// Keep all but these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) drop: Option<Vec<String>>,
    /// Name of the imported list that maps IP addresses to countries. Without this list, only the
    /// top-level domain determines a host's country.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) addresses: Option<String>,
}

/// A filter. A missing field filters nothing.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct FilterBody {
    /// Patterns. The first one that matches decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rules: Option<Vec<FilterRule>>,
    /// Imported lists. Lists that drop take precedence over lists that keep.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lists: Option<Vec<FilterList>>,
    /// Words on pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) words: Option<FilterWords>,
    /// Page languages, as ISO 639-1 or 639-3 codes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) languages: Option<FilterChoice>,
    /// Host countries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) countries: Option<FilterCountries>,
    /// Content types, such as `text/html` or `image/*`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) types: Option<FilterChoice>,
}

impl FilterBody {
    /// Returns a problem that names the first invalid field.
    pub(crate) fn settings(&self) -> Result<FilterSettings, Problem> {
        let json = serde_json::to_vec(self)
            .map_err(|error| Problem::of_field(ProblemCode::InvalidParameter, "filter", error))?;
        let settings = FilterSettings::parse(&json).map_err(|error| filter_problem(&error))?;
        check_no_nul(self, "filter", ProblemCode::InvalidParameter)?;
        Ok(settings)
    }

    /// `None` if this program does not know all fields of the stored filter.
    pub(crate) fn of(kept: Value) -> Option<Self> {
        serde_json::from_value(kept).ok()
    }
}

fn filter_problem(error: &FilterError) -> Problem {
    let (code, field) = match error.field.as_str() {
        "filter" => (ProblemCode::InvalidParameter, "filter".to_owned()),
        "rules" => (ProblemCode::InvalidPattern, "filter.rules".to_owned()),
        other => (ProblemCode::InvalidParameter, format!("filter.{other}")),
    };
    Problem::of_field(code, &field, &error.reason)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_filter_field_but_the_classifier_round_trips() {
        let given = json!({
            "rules": [{ "pattern": "shop.example/*", "verdict": "drop" },
                      { "pattern": "re:x", "verdict": "keep" },
                      { "pattern": "a.example/*", "verdict": "nofollow" }],
            "lists": [{ "name": "ut1", "mode": "drop", "categories": ["adult"] },
                      { "name": "own", "mode": "keep" }],
            "words": { "weights": { "a": 1, "b": -2 }, "threshold": 3, "in": ["title", "text"] },
            "languages": { "keep": ["de"] },
            "countries": { "drop": ["FR"], "addresses": "rir" },
            "types": { "drop": ["image/*"] },
        });
        let body: FilterBody = serde_json::from_value(given.clone()).unwrap();
        let settings = body.settings().unwrap();
        assert_eq!(serde_json::to_value(&settings).unwrap(), given);
        let Value::Object(mut all) = serde_json::to_value(&FilterSettings {
            classifier: serde_json::from_value(json!({ "socket": "/x" })).unwrap(),
            ..settings
        })
        .unwrap() else {
            panic!()
        };
        assert!(all.remove("classifier").is_some());
        assert_eq!(serde_json::to_value(FilterBody::of(Value::Object(all))).unwrap(), given);
        let nothing: FilterBody = serde_json::from_value(json!({})).unwrap();
        assert_eq!(nothing.settings().unwrap(), FilterSettings::default());
    }

    #[test]
    fn settings_out_of_bounds_are_rejected_by_their_field() {
        for (given, field, code) in [
            (
                json!({ "rules": [{ "pattern": "re:(", "verdict": "drop" }] }),
                "filter.rules",
                ProblemCode::InvalidPattern,
            ),
            (
                json!({ "lists": [{ "name": "", "mode": "drop" }] }),
                "filter.lists[0].name",
                ProblemCode::InvalidParameter,
            ),
            (
                json!({ "words": { "weights": { "a": 1 }, "threshold": 0 } }),
                "filter.words.threshold",
                ProblemCode::InvalidParameter,
            ),
            (
                json!({ "languages": { "keep": ["xx"] } }),
                "filter.languages",
                ProblemCode::InvalidParameter,
            ),
            (
                json!({ "countries": { "keep": ["DEU"] } }),
                "filter.countries",
                ProblemCode::InvalidParameter,
            ),
            (
                json!({ "types": { "keep": ["html"] } }),
                "filter.types",
                ProblemCode::InvalidParameter,
            ),
            (
                json!({ "types": { "keep": ["x".repeat(600_000)] } }),
                "filter",
                ProblemCode::InvalidParameter,
            ),
        ] {
            let body: FilterBody = serde_json::from_value(given).unwrap();
            let problem = body.settings().unwrap_err();
            assert_eq!((problem.errors[0].field.as_deref(), problem.code), (Some(field), code));
        }
        let classifier = json!({ "classifier": { "socket": "/x" } });
        assert!(serde_json::from_value::<FilterBody>(classifier).is_err());
    }
}
