//! The parameters that identify a session or a campaign, not a page. URL keys omit them.
//!
//! A line is a name, or a name prefix followed by `*`. `#` starts a comment. Names are not
//! case-sensitive.

/// A new database's list. These parameters do not change a page's content.
const DEFAULT_PARAMETERS: &str = "
# Campaigns and clicks
utm_*
mtm_*
gclid
gclsrc
dclid
gbraid
wbraid
fbclid
msclkid
yclid
twclid
ttclid
igshid
li_fat_id
mc_cid
mc_eid
mkt_tok
_ga
_gl
_hsenc
_hsmi
_openstat
# Sessions
jsessionid
phpsessid
aspsessionid*
asp.net_sessionid
cfid
cftoken
sessionid
session_id
";

/// Maximum names in a list. The default list has 30.
const MAX_PARAMETERS: usize = 1_000;

/// Maximum name length in bytes. Real names have fewer than 30.
const MAX_PARAMETER_BYTES: usize = 100;

/// Why a parameter list is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParameterError {
    /// The list has more than [`MAX_PARAMETERS`] names.
    #[error("the list has more than {MAX_PARAMETERS} parameters")]
    TooMany,
    /// A name is longer than [`MAX_PARAMETER_BYTES`].
    #[error("line {line}: the name is longer than {MAX_PARAMETER_BYTES} bytes")]
    TooLong {
        /// Line number, from 1.
        line: usize,
    },
    /// A name is `*` alone or has an invalid character.
    #[error("line {line}: invalid parameter name {name:?}")]
    Name {
        /// Line number, from 1.
        line: usize,
        /// The name in lower case.
        name: String,
    },
}

/// A parsed list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterList {
    names: Vec<String>,
    /// Prefixes in lower case, without the `*`.
    starts: Vec<String>,
}

impl ParameterList {
    /// Parses a list with one name per line.
    ///
    /// # Errors
    /// Returns an error for the first invalid line, or if the list is too long.
    pub fn parse(text: &str) -> Result<Self, ParameterError> {
        let (mut names, mut starts) = (Vec::new(), Vec::new());
        for (number, line) in text.lines().enumerate() {
            let name = line.split('#').next().unwrap_or_default().trim().to_ascii_lowercase();
            if name.is_empty() {
                continue;
            }
            let line = number + 1;
            if name.len() > MAX_PARAMETER_BYTES {
                return Err(ParameterError::TooLong { line });
            }
            let (start, is_start) = match name.strip_suffix('*') {
                Some(start) => (start, true),
                None => (name.as_str(), false),
            };
            let is_odd = |byte: u8| !byte.is_ascii_graphic() || b"*&=%".contains(&byte);
            if start.is_empty() || start.bytes().any(is_odd) {
                return Err(ParameterError::Name { line, name });
            }
            if is_start { &mut starts } else { &mut names }.push(start.to_owned());
            if names.len() + starts.len() > MAX_PARAMETERS {
                return Err(ParameterError::TooMany);
            }
        }
        names.sort_unstable();
        Ok(Self { names, starts })
    }

    /// Returns true if keys omit a parameter with this name.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        if name.is_empty() || name.len() > MAX_PARAMETER_BYTES {
            return false;
        }
        let has_start = |start: &String| {
            name.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
        };
        if self.starts.iter().any(has_start) {
            return true;
        }
        let lower = name.bytes().map(|byte| byte.to_ascii_lowercase());
        self.names.binary_search_by(|known| known.bytes().cmp(lower.clone())).is_ok()
    }
}

impl Default for ParameterList {
    fn default() -> Self {
        Self::parse(DEFAULT_PARAMETERS).expect("a test parses the default list")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_starts_of_names_are_found_in_any_case() {
        let list = ParameterList::default();
        for name in ["utm_source", "UTM_x", "utm_", "gclid", "PHPSESSID", "ASPSESSIONIDABC"] {
            assert!(list.contains(name), "{name}");
        }
        for name in ["", "utm", "gclid2", "id", "page", "xutm_source", &"utm_".repeat(30)] {
            assert!(!list.contains(name), "{name}");
        }
    }

    #[test]
    fn a_bad_line_is_an_error_with_its_number() {
        let error = |text: &str| ParameterList::parse(text).unwrap_err();
        let name = |line, name: &str| ParameterError::Name { line, name: name.to_owned() };
        assert_eq!(error("a\n*"), name(2, "*"));
        assert_eq!(error("a*b"), name(1, "a*b"));
        assert_eq!(error("\n\na=b # no"), name(3, "a=b"));
        assert_eq!(error("ü"), name(1, "ü"));
        assert_eq!(error(&"x".repeat(101)), ParameterError::TooLong { line: 1 });
        assert_eq!(error(&"x\n".repeat(1_001)), ParameterError::TooMany);
        assert!(ParameterList::parse("").is_ok_and(|list| !list.contains("utm_source")));
    }
}
