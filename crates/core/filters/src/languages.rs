//! Detects a text's language with whatlang.

use whatlang::Lang;

/// Sample size in bytes for language detection. Text beyond this limit rarely changes the result.
pub const LANGUAGE_SAMPLE_BYTES: usize = 4 << 10;

/// Minimum total size of a text's letters in UTF-8 bytes. Below this limit, the language cannot be
/// detected.
const MIN_LETTERS: usize = 40;

/// ISO 639-1 and ISO 639-3 codes for the languages that can be detected.
#[rustfmt::skip]
const TWO_LETTERS: [(&str, &str); 69] = [
    ("af", "afr"), ("ak", "aka"), ("am", "amh"), ("ar", "ara"), ("az", "aze"), ("be", "bel"),
    ("bg", "bul"), ("bn", "ben"), ("ca", "cat"), ("cs", "ces"), ("cy", "cym"), ("da", "dan"),
    ("de", "deu"), ("el", "ell"), ("en", "eng"), ("eo", "epo"), ("es", "spa"), ("et", "est"),
    ("fa", "pes"), ("fi", "fin"), ("fr", "fra"), ("gu", "guj"), ("he", "heb"), ("hi", "hin"),
    ("hr", "hrv"), ("hu", "hun"), ("hy", "hye"), ("id", "ind"), ("it", "ita"), ("ja", "jpn"),
    ("jv", "jav"), ("ka", "kat"), ("km", "khm"), ("kn", "kan"), ("ko", "kor"), ("la", "lat"),
    ("lt", "lit"), ("lv", "lav"), ("mk", "mkd"), ("ml", "mal"), ("mr", "mar"), ("my", "mya"),
    ("nb", "nob"), ("ne", "nep"), ("nl", "nld"), ("or", "ori"), ("pa", "pan"), ("pl", "pol"),
    ("pt", "por"), ("ro", "ron"), ("ru", "rus"), ("si", "sin"), ("sk", "slk"), ("sl", "slv"),
    ("sn", "sna"), ("sr", "srp"), ("sv", "swe"), ("ta", "tam"), ("te", "tel"), ("th", "tha"),
    ("tk", "tuk"), ("tl", "tgl"), ("tr", "tur"), ("uk", "ukr"), ("ur", "urd"), ("uz", "uzb"),
    ("vi", "vie"), ("yi", "yid"), ("zh", "cmn"),
];

/// Returns the ISO 639-3 code for a text's language, such as `deu`. `None` if the text is too short
/// or ambiguous.
#[must_use]
pub fn language_of(text: &str) -> Option<&'static str> {
    let sample = text.get(..text.floor_char_boundary(LANGUAGE_SAMPLE_BYTES))?;
    // A Chinese character carries as much information as several letters, so count bytes.
    let letters = sample.chars().filter(|c| c.is_alphabetic()).map(char::len_utf8);
    if letters.sum::<usize>() < MIN_LETTERS {
        return None;
    }
    let found = whatlang::detect(sample)?;
    found.is_reliable().then(|| found.lang().code())
}

/// Converts an ISO 639-1 or ISO 639-3 code to ISO 639-3. `None` if this language cannot be
/// detected.
pub(crate) fn language_code(text: &str) -> Option<&'static str> {
    let short = TWO_LETTERS.iter().find(|(short, _)| *short == text).map(|(_, code)| *code);
    Lang::from_code(short.unwrap_or(text)).map(|language| language.code())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_of_a_text_is_detected_unless_it_is_short() {
        let german = "Der schnelle braune Fuchs springt über den faulen Hund, und niemand weiß, \
                      warum er das an einem so schönen Morgen immer wieder tut.";
        let english = "The quick brown fox jumps over the lazy dog, and nobody knows why it does \
                       that again and again on such a beautiful morning.";
        assert_eq!(language_of(german), Some("deu"));
        assert_eq!(language_of(english), Some("eng"));
        assert_eq!(language_of("これは日本語で書かれた文章です。とても短いです。"), Some("jpn"));
        assert_eq!(language_of("Hallo Welt"), None);
        assert_eq!(language_of(""), None);
        assert!(language_of(&"ü".repeat(LANGUAGE_SAMPLE_BYTES)).is_none_or(|code| code.len() == 3));
    }

    #[test]
    fn codes_of_two_and_three_letters_name_the_same_languages() {
        for (short, long) in TWO_LETTERS {
            assert_eq!(language_code(short), Some(long), "{short}");
            assert_eq!(language_code(long), Some(long), "{long}");
        }
        assert_eq!(language_code("xx"), None);
        assert_eq!(language_code("english"), None);
    }
}
