//! Checks the rules that a key's crawls obey in addition to robots.txt.
//!
//! Invariant: the crawler can apply accepted values. Otherwise a misspelt line would silently
//! forbid nothing.

use everytab_frontier::{CanonicalUrl, ParameterList};
use everytab_webpage::CrawlDelay;

use crate::problem::{Problem, ProblemCode};

/// Maximum characters in an override's rules, because workers read all rules every few seconds.
const MAX_RULES_CHARACTERS: usize = 4_096;
/// Maximum length of a user-agent token.
const MAX_TOKEN_CHARACTERS: usize = 64;
/// Maximum delay in milliseconds, which is also the limit for Crawl-delay.
const MAX_ROBOTS_DELAY_MS: i32 = 300_000;
/// Maximum hostname length (RFC 1035).
const MAX_SITE_BYTES: usize = 253;

fn wrong(field: &str, detail: String) -> Problem {
    Problem::of_field(ProblemCode::InvalidParameter, field, detail)
}

/// Parses the field `site`, and returns the domain in canonical form.
///
/// # Errors
/// Returns a problem if it is not a domain.
pub fn site_of(site: &str, parameters: &ParameterList) -> Result<String, Problem> {
    let is_name_only = !site.is_empty() && !site.contains(['/', '?', '#', '@', ':', '\\', '*']);
    let url = CanonicalUrl::parse(&format!("https://{site}/"), parameters);
    let host = url.ok().filter(|_| is_name_only).map(|url| url.host().to_owned());
    let is_host_byte = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    let is_host = |host: &String| {
        host.bytes().all(is_host_byte) && !host.starts_with('.') && host.len() <= MAX_SITE_BYTES
    };
    host.filter(is_host).ok_or_else(|| {
        let site: String = site.chars().take(MAX_SITE_BYTES).collect();
        wrong("site", format!("invalid site {site:?}: expected a domain such as example.com"))
    })
}

/// Checks the field `user_agent`.
///
/// # Errors
/// Returns a problem if it is not a user-agent token (RFC 9309, section 2.2.1).
pub fn check_user_agent(token: &str) -> Result<(), Problem> {
    let is_character = |byte: u8| byte.is_ascii_alphabetic() || b"_-".contains(&byte);
    if (1..=MAX_TOKEN_CHARACTERS).contains(&token.len()) && token.bytes().all(is_character) {
        return Ok(());
    }
    let detail = format!(
        "invalid user-agent token: expected 1 to {MAX_TOKEN_CHARACTERS} of the characters a-z, \
         A-Z, _ and -"
    );
    Err(wrong("user_agent", detail))
}

/// Checks the field `rules`.
///
/// # Errors
/// Returns a problem if the rules are too long, empty, or have an invalid line.
pub fn check_rules(rules: &str) -> Result<(), Problem> {
    if rules.chars().count() > MAX_RULES_CHARACTERS {
        let detail = format!("the rules are longer than {MAX_RULES_CHARACTERS} characters");
        return Err(wrong("rules", detail));
    }
    let is_plain = |c: char| !c.is_control() || c == '\t';
    let mut is_empty = true;
    for (number, line) in (1..).zip(rules.split(['\n', '\r'])) {
        let text = line.split('#').next().unwrap_or_default().trim_ascii();
        let is_rule = text
            .split_once(':')
            .is_some_and(|(name, value)| means_something(name.trim_ascii(), value.trim_ascii()));
        if !line.chars().all(is_plain) || !(text.is_empty() || is_rule) {
            let detail = "expected Disallow: /PATH, Allow: /PATH or Crawl-delay: SECONDS";
            return Err(wrong("rules", format!("line {number}: {detail}")));
        }
        is_empty &= text.is_empty();
    }
    if is_empty {
        return Err(wrong("rules", "the rules are empty".to_owned()));
    }
    Ok(())
}

/// A path must be empty or start with `/` or `*`, and a delay must parse.
fn means_something(name: &str, value: &str) -> bool {
    match name.to_ascii_lowercase().as_str() {
        "disallow" | "allow" => value.is_empty() || value.starts_with(['/', '*']),
        "crawl-delay" => CrawlDelay::parse(value.as_bytes()).is_some(),
        _ => false,
    }
}

/// Checks the field `delay_ms`.
///
/// # Errors
/// Returns a problem if it is out of bounds.
pub fn check_delay(delay_ms: i32) -> Result<(), Problem> {
    if (0..=MAX_ROBOTS_DELAY_MS).contains(&delay_ms) {
        return Ok(());
    }
    let detail = format!("invalid delay {delay_ms} ms: expected 0 to {MAX_ROBOTS_DELAY_MS} ms");
    Err(wrong("delay_ms", detail))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(text: &str) -> Option<String> {
        site_of(text, &ParameterList::default()).ok()
    }

    #[test]
    fn a_site_is_a_domain_in_canonical_form() {
        assert_eq!(site("Example.COM").as_deref(), Some("example.com"));
        assert_eq!(site("bücher.example").as_deref(), Some("xn--bcher-kva.example"));
        assert_eq!(site("com").as_deref(), Some("com"));
        let long = format!("{}.example", "a".repeat(300));
        for wrong in [
            "",
            ".",
            "a b",
            "https://a.test",
            "a.test/",
            "a.test:80",
            "*.a.test",
            "u@a",
            "a\0b",
            &long,
        ] {
            assert_eq!(site(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_user_agent_token_has_only_letters_hyphens_and_underscores() {
        for good in ["GPTBot", "a", "Some_Robot-x"] {
            assert!(check_user_agent(good).is_ok(), "{good}");
        }
        for wrong in ["", "*", "Bot/1.0", "a b", "bot1", "é", &"a".repeat(65)] {
            assert!(check_user_agent(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn each_line_is_a_valid_rule_or_a_comment() {
        let long = format!("Disallow: /{}", "a".repeat(MAX_RULES_CHARACTERS));
        for good in ["Disallow: /", "# why\r\n\r\n allow : /a # b\nCRAWL-DELAY:5\n", "Disallow:"] {
            assert!(check_rules(good).is_ok(), "{good:?}");
        }
        for wrong in [
            "",
            "\n# nothing",
            "Disalow: /",
            "/private",
            "User-agent: *",
            "user agent: *\nDisallow: /",
            "Disallow: /\nuseragent: x",
            "Sitemap: https://a.test/",
            "Disallow: /\0",
            "Disallow: /\u{b}",
            "Disallow: private",
            "Disallow: https://a.test/",
            "Crawl-delay: soon",
            "Disallow\u{a0}: /",
            &long,
        ] {
            assert!(check_rules(wrong).is_err(), "{wrong:?}");
        }
        assert!(check_delay(0).is_ok() && check_delay(MAX_ROBOTS_DELAY_MS).is_ok());
        assert!(check_delay(-1).is_err() && check_delay(MAX_ROBOTS_DELAY_MS + 1).is_err());
    }
}
