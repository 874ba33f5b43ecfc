//! Computes a URL's priority by adding the values for the words that it contains.

use crate::patterns::{MAX_WORDS, UrlMatches};

/// Maximum priority.
pub const MAX_PRIORITY: u8 = 7;

/// Maximum word length in bytes.
const MAX_WORD_BYTES: usize = 100;

/// Why priority words are invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PriorityError {
    /// There are more than [`MAX_WORDS`] words.
    #[error("more than {MAX_WORDS} priority words")]
    TooMany,
    /// The string is not a word, `=` and a number from -7 to 7.
    #[error("invalid priority {0:?}: expected WORD=N, with N from -7 to 7, in ASCII")]
    Format(String),
}

/// Words with the values that they add to a URL's priority.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PriorityWords {
    words: Vec<(String, i8)>,
}

impl PriorityWords {
    /// Parses strings such as `news=2`. Words are not case-sensitive.
    ///
    /// # Errors
    /// Returns an error for the first malformed string, or if there are too many words.
    pub fn parse(texts: &[&str]) -> Result<Self, PriorityError> {
        if texts.len() > MAX_WORDS {
            return Err(PriorityError::TooMany);
        }
        let parsed = texts.iter().map(|text| {
            let format = || PriorityError::Format((*text).to_owned());
            let (word, number) = text.rsplit_once('=').ok_or_else(format)?;
            let number: i8 = number.parse().map_err(|_| format())?;
            let is_word = (1..=MAX_WORD_BYTES).contains(&word.len())
                && word.bytes().all(|byte| byte.is_ascii_graphic());
            if !is_word || number.unsigned_abs() > MAX_PRIORITY {
                return Err(format());
            }
            Ok((word.to_ascii_lowercase(), number))
        });
        Ok(Self { words: parsed.collect::<Result<_, _>>()? })
    }

    /// Returns the words for [`crate::PatternLists::words`].
    #[must_use]
    pub fn words(&self) -> Vec<&str> {
        self.words.iter().map(|(word, _)| word.as_str()).collect()
    }

    /// Returns `base` plus the values for all words in a URL, clamped to 0 to [`MAX_PRIORITY`].
    #[must_use]
    pub fn priority(&self, matches: &UrlMatches, base: u8) -> u8 {
        let found = self.words.iter().enumerate();
        let found = found.filter(|(bit, _)| matches.words() & (1 << bit) != 0);
        let sum: i32 = found.map(|(_, (_, number))| i32::from(*number)).sum();
        let clamped = (i32::from(base) + sum).clamp(0, i32::from(MAX_PRIORITY));
        u8::try_from(clamped).unwrap_or(MAX_PRIORITY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        canonical::CanonicalUrl,
        parameters::ParameterList,
        patterns::{PatternLists, UrlPatterns},
    };

    #[test]
    fn the_sum_of_the_words_is_bounded() {
        let words =
            PriorityWords::parse(&["News=3", "2026=5", "tag=-2", "a=b=1", "https=2"]).unwrap();
        let lists = PatternLists { words: words.words(), ..PatternLists::default() };
        let patterns = UrlPatterns::compile(&lists).unwrap();
        let priority = |url: &str, base| {
            let url = CanonicalUrl::parse(url, &ParameterList::default()).unwrap();
            words.priority(&patterns.matches(&url), base)
        };
        assert_eq!(priority("http://a.example/NEWS", 0), 3);
        assert_eq!(priority("http://a.example/news/2026", 0), 7);
        assert_eq!(priority("http://a.example/tag", 0), 0);
        assert_eq!(priority("http://a.example/tag", 4), 2);
        assert_eq!(priority("http://a.example/?a=b", 0), 1);
        assert_eq!(priority("https://a.example/", 0), 2, "words also match the scheme");
        assert_eq!(PriorityWords::default().priority(&UrlMatches::default(), 200), 7);
    }

    #[test]
    fn an_invalid_priority_is_an_error() {
        for bad in ["", "=1", "news", "news=", "news=8", "news=-8", "news=1.5", "a b=1", "ü=1"] {
            let error = PriorityWords::parse(&[bad]).unwrap_err();
            assert_eq!(error, PriorityError::Format(bad.to_owned()));
        }
        assert_eq!(PriorityWords::parse(&["a=1"; 65]), Err(PriorityError::TooMany));
    }
}
