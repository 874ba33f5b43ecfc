//! What a classifier is asked, and what it answers: one line of JSON each.
//!
//! Must not know: how the lines travel, and what is done while it is silent.

use serde::{Deserialize, Serialize};

use crate::{
    decision::{DecidedBy, Decision, FilterVerdict},
    settings::ClassifierSettings,
};

/// Bytes of the text that a classifier is told: what models of today take at most.
pub const MAX_QUESTION_TEXT_BYTES: usize = 32 << 10;

/// Bytes of an answer that are read.
pub const MAX_ANSWER_BYTES: usize = 16 << 10;

/// Labels of an answer that are read.
const MAX_LABELS: usize = 100;

/// What a classifier is asked of a page.
#[derive(Debug, Clone, Serialize)]
pub struct ClassifierQuestion<'a> {
    url: &'a str,
    title: &'a str,
    text: &'a str,
    language: Option<&'a str>,
}

impl<'a> ClassifierQuestion<'a> {
    /// A question about a page; a longer text is cut.
    #[must_use]
    pub fn new(url: &'a str, title: &'a str, text: &'a str, language: Option<&'a str>) -> Self {
        let cut = text.floor_char_boundary(MAX_QUESTION_TEXT_BYTES);
        Self { url, title, text: text.get(..cut).unwrap_or_default(), language }
    }

    /// Returns the line, with its end.
    #[must_use]
    pub fn line(&self) -> Vec<u8> {
        // Text without maps is always JSON.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

/// An answer that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the classifier's answer is not {{\"verdict\": \"keep|drop|nofollow\", \"labels\": []}}")]
pub struct ClassifierError;

/// What a classifier says of a page.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ClassifierAnswer {
    /// What it would have done with the page.
    pub verdict: FilterVerdict,
    /// What it calls the page.
    #[serde(default)]
    pub labels: Vec<String>,
}

impl ClassifierAnswer {
    /// Reads a line. Fields that are not known are for others.
    ///
    /// # Errors
    /// When it is no answer, or longer than [`MAX_ANSWER_BYTES`].
    pub fn parse(line: &[u8]) -> Result<Self, ClassifierError> {
        if line.len() > MAX_ANSWER_BYTES {
            return Err(ClassifierError);
        }
        let answer: Self = serde_json::from_slice(line).map_err(|_| ClassifierError)?;
        if answer.labels.len() > MAX_LABELS { Err(ClassifierError) } else { Ok(answer) }
    }

    /// Returns what the answer means for a filter: nothing where it says keep, or where the filter
    /// names labels and the answer has none of them.
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
    fn a_question_is_one_line_of_bounded_length() {
        let text = "ü\n".repeat(MAX_QUESTION_TEXT_BYTES);
        let line = ClassifierQuestion::new("http://a.example/", "a\nb", &text, Some("deu")).line();
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        assert!(line.ends_with(b"\n") && line.len() < 2 * MAX_QUESTION_TEXT_BYTES);
        let question: serde_json::Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(question["title"], "a\nb");
        assert_eq!(question["language"], "deu");
    }

    #[test]
    fn an_answer_counts_if_it_has_a_label_that_the_filter_names() {
        let settings = |labels: &[&str]| ClassifierSettings {
            socket: "/run/c.sock".to_owned(),
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        };
        let answer = ClassifierAnswer::parse(br#"{"verdict":"drop","labels":["spam"],"x":1}"#);
        let answer = answer.unwrap();
        assert!(answer.decision(&settings(&[])).is_some_and(|decision| decision.is_drop()));
        assert!(answer.decision(&settings(&["spam", "adult"])).is_some());
        assert_eq!(answer.decision(&settings(&["adult"])), None);
        let kept = ClassifierAnswer::parse(br#"{"verdict":"keep"}"#).unwrap();
        assert_eq!(kept.decision(&settings(&[])), None);
    }

    #[test]
    fn what_is_no_answer_is_an_error() {
        let long = format!("{{\"verdict\":\"drop\",\"labels\":[\"{}\"]}}", "x".repeat(20_000));
        let many = format!("{{\"verdict\":\"drop\",\"labels\":[{}\"x\"]}}", "\"x\",".repeat(200));
        for line in ["", "drop", "[]", "{}", r#"{"verdict":"burn"}"#, &long, &many] {
            assert_eq!(ClassifierAnswer::parse(line.as_bytes()), Err(ClassifierError), "{line}");
        }
    }
}
