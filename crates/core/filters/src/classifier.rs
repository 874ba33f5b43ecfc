//! The classifier protocol: a request and a response, one line of JSON each.

use serde::{Deserialize, Serialize};

use crate::{
    decision::{DecidedBy, Decision, FilterVerdict},
    settings::ClassifierSettings,
};

/// Maximum text length in a request, in bytes. Longer texts are truncated to this limit.
pub const MAX_QUESTION_TEXT_BYTES: usize = 32 << 10;

/// Maximum response size in bytes. Responses beyond this limit are malformed.
pub const MAX_ANSWER_BYTES: usize = 16 << 10;

/// Maximum labels in a response. A response with more is malformed.
const MAX_LABELS: usize = 100;

/// A request to classify a page.
#[derive(Debug, Clone, Serialize)]
pub struct ClassifierRequest<'a> {
    url: &'a str,
    title: &'a str,
    text: &'a str,
    language: Option<&'a str>,
}

impl<'a> ClassifierRequest<'a> {
    /// Creates a request for a page, and truncates a longer text.
    #[must_use]
    pub fn new(url: &'a str, title: &'a str, text: &'a str, language: Option<&'a str>) -> Self {
        let cut = text.floor_char_boundary(MAX_QUESTION_TEXT_BYTES);
        Self { url, title, text: text.get(..cut).unwrap_or_default(), language }
    }

    /// Returns the request as a line, including its line end.
    #[must_use]
    pub fn line(&self) -> Vec<u8> {
        // Serializing strings cannot fail.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

/// The classifier's response is malformed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the classifier's response is not {{\"verdict\": \"keep|drop|nofollow\", \"labels\": []}}")]
pub struct ClassifierError;

/// A classifier's response about a page.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ClassifierResponse {
    /// The classifier's verdict.
    pub verdict: FilterVerdict,
    /// Labels that the classifier gives this page.
    #[serde(default)]
    pub labels: Vec<String>,
}

impl ClassifierResponse {
    /// Parses a line. Unknown fields are ignored.
    ///
    /// # Errors
    /// Returns an error if the line is malformed, too long, or has too many labels.
    pub fn parse(line: &[u8]) -> Result<Self, ClassifierError> {
        if line.len() > MAX_ANSWER_BYTES {
            return Err(ClassifierError);
        }
        let answer: Self = serde_json::from_slice(line).map_err(|_| ClassifierError)?;
        if answer.labels.len() > MAX_LABELS { Err(ClassifierError) } else { Ok(answer) }
    }

    /// Converts this response to a decision. `None` if the verdict is `keep`, or if no label is one
    /// that the filter requires.
    #[must_use]
    pub fn decision(&self, settings: &ClassifierSettings) -> Option<Decision> {
        let counts = settings.labels.is_empty()
            || self.labels.iter().any(|label| settings.labels.contains(label));
        (counts && self.verdict != FilterVerdict::Keep)
            .then_some(Decision { verdict: self.verdict, by: DecidedBy::Classifier })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_one_line_of_bounded_length() {
        let text = "ü\n".repeat(MAX_QUESTION_TEXT_BYTES);
        let line = ClassifierRequest::new("http://a.example/", "a\nb", &text, Some("deu")).line();
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        assert!(line.ends_with(b"\n") && line.len() < 2 * MAX_QUESTION_TEXT_BYTES);
        let question: serde_json::Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(question["title"], "a\nb");
        assert_eq!(question["language"], "deu");
    }

    #[test]
    fn a_response_counts_if_it_has_a_label_that_the_filter_names() {
        let settings = |labels: &[&str]| ClassifierSettings {
            socket: "/run/c.sock".to_owned(),
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        };
        let answer = ClassifierResponse::parse(br#"{"verdict":"drop","labels":["spam"],"x":1}"#);
        let answer = answer.unwrap();
        assert!(answer.decision(&settings(&[])).is_some_and(|decision| decision.is_drop()));
        assert!(answer.decision(&settings(&["spam", "adult"])).is_some());
        assert_eq!(answer.decision(&settings(&["adult"])), None);
        let kept = ClassifierResponse::parse(br#"{"verdict":"keep"}"#).unwrap();
        assert_eq!(kept.decision(&settings(&[])), None);
    }

    #[test]
    fn a_malformed_response_is_an_error() {
        let long = format!("{{\"verdict\":\"drop\",\"labels\":[\"{}\"]}}", "x".repeat(20_000));
        let many = format!("{{\"verdict\":\"drop\",\"labels\":[{}\"x\"]}}", "\"x\",".repeat(200));
        for line in ["", "drop", "[]", "{}", r#"{"verdict":"burn"}"#, &long, &many] {
            assert_eq!(ClassifierResponse::parse(line.as_bytes()), Err(ClassifierError), "{line}");
        }
    }
}
