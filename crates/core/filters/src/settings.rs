//! A filter's JSON. Settings that [`FilterSettings::check`] accepts can be compiled. Unknown fields
//! are rejected.

use std::collections::BTreeMap;

use everytab_frontier::{PatternLists, UrlPatterns};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    countries::CountryCode, decision::FilterVerdict, languages::language_code,
    selection::Selection, words::Words,
};

/// Maximum size in bytes for a filter's JSON. This is enough for ten thousand words with weights.
pub const MAX_FILTER_BYTES: usize = 512 << 10;
/// Maximum lists in a filter.
const MAX_LISTS: usize = 16;
/// Maximum categories that a filter names in a list.
const MAX_CATEGORIES: usize = 256;
/// Maximum words in a filter.
const MAX_WORDS: usize = 10_000;
/// Maximum length in bytes for words, values, and filter, list and category names.
const MAX_NAME_BYTES: usize = 100;
/// Maximum absolute weight for a word, and maximum threshold.
const MAX_WEIGHT: i64 = 1_000_000;
/// Maximum values in a selection, countries in a filter, and labels for a classifier.
const MAX_VALUES: usize = 300;
/// Maximum length of a unix socket path in bytes (unix(7): 108 with the final zero byte).
const MAX_SOCKET_BYTES: usize = 107;

/// An error in a filter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {reason}")]
pub struct FilterError {
    /// Field name, such as `words.threshold` or `lists[2].name`.
    pub field: String,
    /// What is wrong with this field.
    pub reason: String,
}

impl FilterError {
    pub(crate) fn new(field: impl Into<String>, reason: impl ToString) -> Self {
        Self { field: field.into(), reason: reason.to_string() }
    }
}

/// A pattern and its verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleSettings {
    /// A glob over host and path, or `re:` and a regular expression
    /// (`everytab_frontier::UrlPatterns`).
    pub pattern: String,
    /// With `keep`, the other parts of the filter are skipped.
    pub verdict: FilterVerdict,
}

/// How a list affects URLs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ListMode {
    /// URLs on the list are dropped.
    Drop,
    /// URLs that are on no list with this mode are dropped.
    Keep,
}

/// An imported name list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListSettings {
    /// Name under which this list was imported.
    pub name: String,
    /// How this list affects URLs.
    pub mode: ListMode,
    /// Categories that count. If empty, all categories count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
}

/// Where words are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WordPlace {
    /// The title.
    Title,
    /// The visible text.
    Text,
}

/// Words with weights. A page is dropped if their total reaches the threshold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WordSettings {
    /// Words in any case, with their weights. Negative weights offset others.
    pub weights: BTreeMap<String, i64>,
    /// Minimum total weight that drops a page, at least 1.
    pub threshold: i64,
    /// Parts to search, by default both.
    #[serde(default = "both_places", rename = "in")]
    pub places: Vec<WordPlace>,
}

fn both_places() -> Vec<WordPlace> {
    vec![WordPlace::Title, WordPlace::Text]
}

/// Countries of hosts, by the top-level domain or the address. Exactly one of `keep` and `drop`
/// must be given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountrySettings {
    /// Keeps only these countries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keep: Vec<CountryCode>,
    /// Keeps all countries except these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drop: Vec<CountryCode>,
    /// Name of the imported country list. If `None`, addresses are ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub addresses: Option<String>,
}

impl CountrySettings {
    pub(crate) fn drops(&self, country: CountryCode) -> bool {
        if self.keep.is_empty() {
            self.drop.contains(&country)
        } else {
            !self.keep.contains(&country)
        }
    }
}

/// A program that classifies pages, such as a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassifierSettings {
    /// Path of the unix socket on which this classifier listens on each worker.
    pub socket: String,
    /// If not empty, a response counts only if this list contains one of its labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
}

/// A filter as its owner writes it. Missing fields filter nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FilterSettings {
    /// Patterns. The first one that matches decides.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleSettings>,
    /// Imported name lists. A list that drops takes precedence over one that keeps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lists: Vec<ListSettings>,
    /// Words with weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<WordSettings>,
    /// Languages, as ISO 639-1 or 639-3 codes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub languages: Option<Selection>,
    /// Countries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub countries: Option<CountrySettings>,
    /// Content types, such as `text/html` or `image/*`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub types: Option<Selection>,
    /// A program that classifies pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classifier: Option<ClassifierSettings>,
}

impl FilterSettings {
    /// Parses and checks a filter's JSON.
    ///
    /// # Errors
    /// Returns an error for the first field that is unknown, malformed, or out of bounds.
    pub fn parse(json: &[u8]) -> Result<Self, FilterError> {
        if json.len() > MAX_FILTER_BYTES {
            let reason = format!("more than {MAX_FILTER_BYTES} bytes");
            return Err(FilterError::new("filter", reason));
        }
        let value = serde_json::from_slice(json)
            .map_err(|error| FilterError::new("filter", format!("invalid JSON: {error}")))?;
        Self::of_value(value)
    }

    /// Parses and checks a filter from a JSON value.
    ///
    /// # Errors
    /// Returns an error like [`Self::parse`].
    pub fn of_value(value: Value) -> Result<Self, FilterError> {
        let Value::Object(fields) = value else {
            return Err(FilterError::new("filter", "expected a JSON object"));
        };
        let mut settings = Self::default();
        for (field, value) in fields {
            match field.as_str() {
                "rules" => settings.rules = read("rules", value)?,
                "lists" => settings.lists = read("lists", value)?,
                "words" => settings.words = read("words", value)?,
                "languages" => settings.languages = read("languages", value)?,
                "countries" => settings.countries = read("countries", value)?,
                "types" => settings.types = read("types", value)?,
                "classifier" => settings.classifier = read("classifier", value)?,
                _ => {
                    let known = "rules, lists, words, languages, countries, types, classifier";
                    let field: String = field.chars().take(MAX_NAME_BYTES).collect();
                    return Err(FilterError::new(
                        field,
                        format!("unknown field, expected {known}"),
                    ));
                }
            }
        }
        settings.check()?;
        Ok(settings)
    }

    /// Checks each field.
    ///
    /// # Errors
    /// Returns an error for the first invalid field.
    pub fn check(&self) -> Result<(), FilterError> {
        let rules = self.rules.iter().map(|rule| rule.pattern.as_str()).collect();
        let lists = PatternLists { filters: vec![rules], ..PatternLists::default() };
        UrlPatterns::compile(&lists).map_err(|error| FilterError::new("rules", error))?;
        self.check_all_but_patterns()
    }

    pub(crate) fn check_all_but_patterns(&self) -> Result<(), FilterError> {
        self.check_lists()?;
        if let Some(words) = &self.words {
            words.check()?;
            words.compile()?;
        }
        if let Some(languages) = &self.languages {
            check_values("languages", languages.values())?;
            let unknown = languages.values().iter().find(|code| language_code(code).is_none());
            if let Some(code) = unknown {
                let reason = format!(
                    "unknown language {code:?}: expected a detectable one, such as de or deu"
                );
                return Err(FilterError::new("languages", reason));
            }
        }
        if let Some(countries) = &self.countries {
            countries.check()?;
        }
        if let Some(types) = &self.types {
            check_values("types", types.values())?;
            if let Some(text) = types.values().iter().find(|text| !is_type(text)) {
                let reason = format!(
                    "invalid content type {text:?}: expected one such as text/html or image/*"
                );
                return Err(FilterError::new("types", reason));
            }
        }
        match &self.classifier {
            Some(classifier) => classifier.check(),
            None => Ok(()),
        }
    }

    /// Returns the lists that this filter names, without duplicates.
    #[must_use]
    pub fn list_names(&self) -> Vec<&str> {
        let addresses =
            self.countries.iter().filter_map(|countries| countries.addresses.as_deref());
        let mut names: Vec<&str> =
            self.lists.iter().map(|list| list.name.as_str()).chain(addresses).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    fn check_lists(&self) -> Result<(), FilterError> {
        if self.lists.len() > MAX_LISTS {
            return Err(FilterError::new("lists", format!("more than {MAX_LISTS} lists")));
        }
        for (number, list) in self.lists.iter().enumerate() {
            let field = |name: &str| format!("lists[{number}].{name}");
            check_filter_name(&list.name).map_err(|why| FilterError::new(field("name"), why))?;
            if list.categories.len() > MAX_CATEGORIES {
                let reason = format!("more than {MAX_CATEGORIES} categories");
                return Err(FilterError::new(field("categories"), reason));
            }
            for category in &list.categories {
                check_filter_name(category)
                    .map_err(|why| FilterError::new(field("categories"), why))?;
            }
        }
        Ok(())
    }
}

impl WordSettings {
    fn check(&self) -> Result<(), FilterError> {
        if !(1..=MAX_WORDS).contains(&self.weights.len()) {
            let count = self.weights.len();
            let reason = format!("invalid number of words {count}: expected 1 to {MAX_WORDS}");
            return Err(FilterError::new("words.weights", reason));
        }
        for (word, weight) in &self.weights {
            let is_word = (1..=MAX_NAME_BYTES).contains(&word.len()) && word.trim() == word;
            if !is_word {
                let shown: String = word.chars().take(20).collect();
                let reason = format!(
                    "invalid word {shown:?}: expected 1 to {MAX_NAME_BYTES} bytes without \
                     surrounding spaces"
                );
                return Err(FilterError::new("words.weights", reason));
            }
            if weight.abs() > MAX_WEIGHT {
                let range = format!("-{MAX_WEIGHT} to {MAX_WEIGHT}");
                let reason = format!("invalid weight {weight} of {word:?}: expected {range}");
                return Err(FilterError::new("words.weights", reason));
            }
        }
        if !(1..=MAX_WEIGHT).contains(&self.threshold) {
            let value = self.threshold;
            let reason = format!("invalid threshold {value}: expected 1 to {MAX_WEIGHT}");
            return Err(FilterError::new("words.threshold", reason));
        }
        if self.places.is_empty() || self.places.len() > both_places().len() {
            return Err(FilterError::new("words.in", "expected title, text or both"));
        }
        Ok(())
    }

    pub(crate) fn compile(&self) -> Result<Words, FilterError> {
        // Merge words that differ only in case, and add their weights.
        let mut folded: BTreeMap<String, i64> = BTreeMap::new();
        for (word, weight) in &self.weights {
            let sum = folded.entry(word.to_lowercase()).or_default();
            *sum = sum.saturating_add(*weight);
        }
        Words::compile(folded.iter().map(|(word, weight)| (word.as_str(), *weight)))
            .map_err(|error| FilterError::new("words.weights", error))
    }
}

impl CountrySettings {
    fn check(&self) -> Result<(), FilterError> {
        if self.keep.is_empty() == self.drop.is_empty() {
            return Err(FilterError::new("countries", "expected either keep or drop"));
        }
        if self.keep.len().max(self.drop.len()) > MAX_VALUES {
            return Err(FilterError::new("countries", format!("more than {MAX_VALUES} values")));
        }
        match &self.addresses {
            Some(name) => {
                check_filter_name(name).map_err(|why| FilterError::new("countries.addresses", why))
            }
            None => Ok(()),
        }
    }
}

impl ClassifierSettings {
    fn check(&self) -> Result<(), FilterError> {
        let length = self.socket.len();
        let is_path = self.socket.starts_with('/') && !self.socket.contains('\0');
        if !is_path || length > MAX_SOCKET_BYTES {
            let reason = format!(
                "invalid path {:?}: expected an absolute path of at most {MAX_SOCKET_BYTES} bytes",
                self.socket
            );
            return Err(FilterError::new("classifier.socket", reason));
        }
        check_values("classifier.labels", &self.labels)
    }
}

fn read<T: DeserializeOwned>(field: &str, value: Value) -> Result<T, FilterError> {
    serde_json::from_value(value).map_err(|error| FilterError::new(field, error))
}

fn check_values(field: &str, values: &[String]) -> Result<(), FilterError> {
    let is_long = |value: &String| !(1..=MAX_NAME_BYTES).contains(&value.len());
    if values.len() > MAX_VALUES {
        return Err(FilterError::new(field, format!("more than {MAX_VALUES} values")));
    }
    if values.iter().any(is_long) {
        let reason = format!("a value is empty or longer than {MAX_NAME_BYTES} bytes");
        return Err(FilterError::new(field, reason));
    }
    Ok(())
}

/// Returns true for `type/subtype` and `type/*` in lower case.
fn is_type(text: &str) -> bool {
    let is_token = |part: &str| {
        let is_byte = |byte: u8| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"!#$&-^_.+".contains(&byte)
        };
        !part.is_empty() && part.bytes().all(is_byte)
    };
    text.split_once('/').is_some_and(|(kind, sub)| is_token(kind) && (sub == "*" || is_token(sub)))
}

/// Checks a filter, list or category name.
///
/// # Errors
/// Returns a message that describes valid names.
pub fn check_filter_name(name: &str) -> Result<(), String> {
    let is_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let is_name = (1..=MAX_NAME_BYTES).contains(&name.len())
        && name.bytes().all(is_byte)
        && !name.starts_with('.');
    if is_name {
        return Ok(());
    }
    let shown: String = name.chars().take(MAX_NAME_BYTES).collect();
    Err(format!(
        "invalid name {shown:?}: use 1 to {MAX_NAME_BYTES} of the characters a-z, A-Z, 0-9, -, _ \
         and ., and do not start with a dot"
    ))
}

#[cfg(test)]
mod tests;
