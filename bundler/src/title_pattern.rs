//! Title patterns in the blocklist, which match like SQL's `ilike`.

/// A case-insensitive pattern for whole titles. `%` matches any text, `_` matches one character,
/// and a backslash escapes the next character.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TitlePattern {
    tokens: Vec<Token>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Anything,
    One,
    Character(char),
}

impl TitlePattern {
    /// Parses a pattern. Any string is valid.
    #[must_use]
    pub fn new(pattern: &str) -> Self {
        let lower = pattern.to_lowercase();
        let mut characters = lower.chars();
        let mut tokens = Vec::new();
        while let Some(character) = characters.next() {
            tokens.push(match character {
                '%' => Token::Anything,
                '_' => Token::One,
                '\\' => Token::Character(characters.next().unwrap_or('\\')),
                other => Token::Character(other),
            });
        }
        Self { tokens }
    }

    /// Returns true if the pattern matches the whole title, in time at most proportional to the
    /// product of both lengths.
    #[must_use]
    pub fn matches(&self, title: &str) -> bool {
        let title: Vec<char> = title.to_lowercase().chars().collect();
        let (mut at, mut token) = (0, 0);
        // Position where matching continues if the last `%`'s shortest match fails.
        let mut longer: Option<(usize, usize)> = None;
        while at < title.len() {
            let is_next = match self.tokens.get(token) {
                Some(Token::Anything) => {
                    longer = Some((at, token));
                    token += 1;
                    continue;
                }
                Some(Token::One) => true,
                Some(Token::Character(wanted)) => title.get(at) == Some(wanted),
                None => false,
            };
            if is_next {
                (at, token) = (at + 1, token + 1);
            } else if let Some((start, anything)) = longer {
                longer = Some((start + 1, anything));
                (at, token) = (start + 1, anything + 1);
            } else {
                return false;
            }
        }
        self.tokens.iter().skip(token).all(|rest| *rest == Token::Anything)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_whole_titles_in_any_case() {
        for (pattern, title, expected) in [
            ("%casino%", "The CASINO of a town", true),
            ("%casino%", "Casin o", false),
            ("casino", "casino!", false),
            ("casino%", "casino", true),
            ("_asino", "Casino", true),
            ("_", "", false),
            ("%", "", true),
            ("100\\% free", "100% FREE", true),
            ("100\\% free", "1000 free", false),
            ("%a%b%c", "xaybzbc", true),
            ("%a%b%c", "xaybzb", false),
            ("%ÜBER%", "Kostenlos über alles", true),
            ("%aab", "aaaaab", true),
        ] {
            assert_eq!(TitlePattern::new(pattern).matches(title), expected, "{pattern} {title}");
        }
    }
}
