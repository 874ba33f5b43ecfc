//! Country codes (ISO 3166-1 alpha-2), and countries by top-level domain, except for domains that
//! are used worldwide (Google Search Central, "Managing multi-regional sites").

use std::fmt;

use serde::{Deserialize, Serialize};

/// A country as two upper-case letters: an ISO 3166-1 code, or EU or AP, which registries use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CountryCode([u8; 2]);

impl CountryCode {
    /// Parses two ASCII letters in any case.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::of_bytes(text.as_bytes().try_into().ok()?)
    }

    pub(crate) fn of_bytes(bytes: [u8; 2]) -> Option<Self> {
        bytes
            .iter()
            .all(u8::is_ascii_alphabetic)
            .then(|| Self(bytes.map(|b| b.to_ascii_uppercase())))
    }

    pub(crate) const fn bytes(self) -> [u8; 2] {
        self.0
    }
}

impl fmt::Display for CountryCode {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(to, "{}", char::from(*byte)))
    }
}

impl From<CountryCode> for String {
    fn from(code: CountryCode) -> Self {
        code.to_string()
    }
}

impl TryFrom<String> for CountryCode {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| {
            format!("invalid country {text:?}: expected a two-letter code, such as DE")
        })
    }
}

/// Two-letter domains that do not identify a country.
const OF_NO_COUNTRY: [&str; 24] = [
    "ac", "ad", "ai", "as", "bz", "cc", "cd", "co", "dj", "eu", "fm", "gg", "io", "la", "me", "ms",
    "nu", "sc", "sr", "su", "tk", "to", "tv", "ws",
];

/// Returns the country of a host's top-level domain if it identifies one.
#[must_use]
pub fn country_of_host(host: &str) -> Option<CountryCode> {
    let (_, last) = host.rsplit_once('.')?;
    match last {
        "uk" => CountryCode::parse("GB"),
        _ if last.len() != 2 || OF_NO_COUNTRY.contains(&last) => None,
        _ => CountryCode::parse(last),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_country_code_domain_has_its_country() {
        for (host, country) in [
            ("www.example.de", Some("DE")),
            ("example.co.uk", Some("GB")),
            ("example.com", None),
            ("example.io", None),
            ("example.eu", None),
            ("de", None),
            ("192.0.2.10", None),
            ("[2001:db8::1]", None),
            ("a.xn--p1ai", None),
        ] {
            let found = country_of_host(host).map(|code| code.to_string());
            assert_eq!(found.as_deref(), country, "{host}");
        }
        assert_eq!(CountryCode::parse("d"), None);
        assert_eq!(CountryCode::parse("d1"), None);
    }
}
