//! Evaluates a list of media queries for a light page or picture on the screen of a desktop
//! computer (Media Queries Level 4).
//!
//! Invariants: a query does not match if it is malformed, or if its result is unknown because of an
//! unsupported feature; work is bounded by the square of the list's length, and depth by a
//! constant. The caller truncates a page's attribute to 256 bytes (`icons`).

/// Maximum depth of parentheses that is evaluated.
const MAX_DEPTH: usize = 16;
/// Width and height of the screen in CSS pixels, and of the window of a page.
const SCREEN: [f64; 2] = [1280.0, 720.0];
/// Bits of each colour.
const COLOUR_BITS: f64 = 8.0;

/// Features with keywords. The first keyword of each is the one that applies.
const DISCRETE: [(&str, &[&str]); 15] = [
    ("prefers-color-scheme", &["light", "dark"]),
    ("prefers-contrast", &["no-preference", "more", "less", "custom"]),
    ("prefers-reduced-data", &["no-preference", "reduce"]),
    ("prefers-reduced-motion", &["no-preference", "reduce"]),
    ("prefers-reduced-transparency", &["no-preference", "reduce"]),
    ("orientation", &["landscape", "portrait"]),
    ("hover", &["hover", "none"]),
    ("any-hover", &["hover", "none"]),
    ("pointer", &["fine", "coarse", "none"]),
    ("any-pointer", &["fine", "coarse", "none"]),
    ("display-mode", &["browser", "fullscreen", "standalone", "minimal-ui"]),
    ("forced-colors", &["none", "active"]),
    ("inverted-colors", &["none", "inverted"]),
    ("scripting", &["enabled", "initial-only", "none"]),
    ("update", &["fast", "slow", "none"]),
];

/// Returns true if a list of media queries, the value of a `media` attribute, matches.
///
/// ```
/// use everytab_webpage::media::matches_light_page;
///
/// assert!(matches_light_page("(prefers-color-scheme: light)"));
/// assert!(!matches_light_page("(prefers-color-scheme: dark)"));
/// assert!(matches_light_page("print, not all and (prefers-color-scheme: dark)"));
/// assert!(matches_light_page(""));
/// ```
#[must_use]
pub fn matches_light_page(list: &str) -> bool {
    matches_light(list, SCREEN)
}

/// Returns true if a list of media queries matches for a light scheme with this width and height in
/// CSS pixels.
///
/// ```
/// use everytab_webpage::media::matches_light;
///
/// assert!(matches_light("(max-width: 40px)", [32.0, 32.0]));
/// assert!(!matches_light("(max-width: 40px) and (prefers-color-scheme: dark)", [32.0, 32.0]));
/// ```
#[must_use]
pub fn matches_light(list: &str, viewport: [f64; 2]) -> bool {
    let tokens = tokens(list);
    let is_comma = |(depth, token): &(usize, Token<'_>)| *depth == 0 && *token == Token::Comma;
    let queries = tokens.split(is_comma);
    tokens.is_empty()
        || queries.map(|tokens| query(tokens, viewport)).any(|truth| truth == Some(Some(true)))
}

/// True, false, or `None` if unknown. A malformed query has no truth.
type Truth = Option<bool>;
/// A token with its depth of parentheses. The parentheses of a pair have the depth outside it.
type Placed<'a> = (usize, Token<'a>);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Token<'a> {
    Name(&'a str),
    /// A number and its unit, which may be empty or `%`.
    Number(f64, &'a str),
    Open,
    Close,
    Comma,
    Colon,
    Slash,
    Compare(Comparison),
    /// A token that no supported query contains: a function name, a bracket, a semicolon.
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Less,
    LessOrEqual,
    Equal,
    GreaterOrEqual,
    Greater,
}

impl Comparison {
    fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Self::Less => left < right,
            Self::LessOrEqual => left <= right,
            Self::Equal => (left - right).abs() < 1e-6,
            Self::GreaterOrEqual => left >= right,
            Self::Greater => left > right,
        }
    }

    /// Returns -1 if it points to the left, 1 if to the right, and 0 for equality.
    fn direction(self) -> i8 {
        match self {
            Self::Less | Self::LessOrEqual => -1,
            Self::Equal => 0,
            Self::GreaterOrEqual | Self::Greater => 1,
        }
    }
}

/// Splits a list into tokens. Parentheses that are open at the end are closed there.
fn tokens(text: &str) -> Vec<Placed<'_>> {
    let mut tokens = Vec::new();
    let (mut rest, mut depth) = (text, 0_usize);
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace());
        if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.split_once("*/").map_or("", |(_, after)| after);
            continue;
        }
        let Some(first) = rest.chars().next() else { break };
        let mut length = first.len_utf8();
        let token = match first {
            '(' => Token::Open,
            ')' if depth > 0 => Token::Close,
            ',' => Token::Comma,
            ':' => Token::Colon,
            '/' => Token::Slash,
            '=' => Token::Compare(Comparison::Equal),
            '<' | '>' => {
                let or_equal = rest[1..].starts_with('=');
                length += usize::from(or_equal);
                Token::Compare(match (first, or_equal) {
                    ('<', false) => Comparison::Less,
                    ('<', true) => Comparison::LessOrEqual,
                    (_, true) => Comparison::GreaterOrEqual,
                    (_, false) => Comparison::Greater,
                })
            }
            _ => {
                let (token, bytes) = word(rest).unwrap_or((Token::Other, length));
                length = bytes;
                token
            }
        };
        depth -= usize::from(token == Token::Close);
        tokens.push((depth, token));
        depth += usize::from(token == Token::Open);
        rest = &rest[length..];
    }
    tokens.extend((0..depth).rev().map(|depth| (depth, Token::Close)));
    tokens
}

/// Parses a number or a name, and returns it with its length in bytes.
fn word(text: &str) -> Option<(Token<'_>, usize)> {
    let end_of = |text: &str, belongs: fn(char) -> bool| {
        text.find(|c: char| !belongs(c)).unwrap_or(text.len())
    };
    let in_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_' || !c.is_ascii();
    let digits = end_of(text, |c| c.is_ascii_digit() || matches!(c, '.' | '+' | '-'));
    if let Ok(number) = text[..digits].parse() {
        let unit = &text[digits..];
        let unit = &unit[..if unit.starts_with('%') { 1 } else { end_of(unit, in_name) }];
        return Some((Token::Number(number, unit), digits + unit.len()));
    }
    let (name, rest) = text.split_at(end_of(text, in_name));
    let token = if rest.starts_with('(') { Token::Other } else { Token::Name(name) };
    (!name.is_empty()).then_some((token, name.len()))
}

fn is_name(token: Option<&Placed<'_>>, name: &str) -> bool {
    matches!(token, Some((_, Token::Name(found))) if found.eq_ignore_ascii_case(name))
}

/// Evaluates a query; `None` if it is malformed.
fn query(tokens: &[Placed<'_>], viewport: [f64; 2]) -> Option<Truth> {
    let is_negated = is_name(tokens.first(), "not");
    let skipped = usize::from(is_negated || is_name(tokens.first(), "only"));
    let Some((_, Token::Name(medium))) = tokens.get(skipped) else {
        return condition(tokens, viewport, true, 0);
    };
    // Keywords of the syntax are not media types.
    if ["and", "or", "not", "only", "layer"].iter().any(|word| medium.eq_ignore_ascii_case(word)) {
        return None;
    }
    let is_medium = medium.eq_ignore_ascii_case("all") || medium.eq_ignore_ascii_case("screen");
    let rest = &tokens[skipped + 1..];
    let features = match rest.first() {
        None => Some(true),
        and if is_name(and, "and") => condition(&rest[1..], viewport, false, 0)?,
        Some(_) => return None,
    };
    let truth = if is_medium { features } else { Some(false) };
    Some(truth.map(|truth| truth != is_negated))
}

/// Evaluates conditions in parentheses that `and`, `or` or `not` connect. `None` if they are
/// malformed. After a media type, `or` is not allowed outside parentheses.
fn condition(
    tokens: &[Placed<'_>],
    viewport: [f64; 2],
    may_or: bool,
    depth: usize,
) -> Option<Truth> {
    if is_name(tokens.first(), "not") {
        let (truth, rest) = in_parentheses(&tokens[1..], viewport, depth)?;
        return rest.is_empty().then(|| truth.map(|truth| !truth));
    }
    let (mut truth, mut rest) = in_parentheses(tokens, viewport, depth)?;
    let word = if is_name(rest.first(), "or") && may_or { "or" } else { "and" };
    while !rest.is_empty() {
        if !is_name(rest.first(), word) {
            return None;
        }
        let (next, after) = in_parentheses(&rest[1..], viewport, depth)?;
        rest = after;
        let decides = Some(word == "or");
        truth = match (truth, next) {
            (one, other) if one == decides || other == decides => decides,
            (None, _) | (_, None) => None,
            (one, _) => one,
        };
    }
    Some(truth)
}

/// Evaluates the first pair of parentheses. Returns the result and the tokens after it. `None` if
/// there is no such pair.
fn in_parentheses<'t, 'a>(
    tokens: &'t [Placed<'a>],
    viewport: [f64; 2],
    depth: usize,
) -> Option<(Truth, &'t [Placed<'a>])> {
    let (outside, Token::Open) = tokens.first()? else { return None };
    let close = tokens.iter().skip(1).position(|(at, _)| at == outside)? + 1;
    let (inside, rest) = (&tokens[1..close], &tokens[close + 1..]);
    let is_nested =
        matches!(inside.first(), Some((_, Token::Open))) || is_name(inside.first(), "not");
    let truth = if !is_nested {
        feature(inside, viewport)
    } else if depth < MAX_DEPTH {
        // A later version of the standard may define what is invalid today, so it is unknown.
        condition(inside, viewport, true, depth + 1).flatten()
    } else {
        None
    };
    Some((truth, rest))
}

/// Returns the keywords of a feature. `None` if the feature has no keywords.
fn keywords_of(name: &str) -> Option<&'static [&'static str]> {
    DISCRETE.iter().find(|(known, _)| *known == name).map(|(_, keywords)| *keywords)
}

fn feature(tokens: &[Placed<'_>], viewport: [f64; 2]) -> Truth {
    let plain: Vec<Token<'_>> = tokens.iter().map(|(_, token)| *token).collect();
    match plain.as_slice() {
        [Token::Name(name)] => {
            let name = name.to_ascii_lowercase();
            if let Some(keywords) = keywords_of(&name) {
                return Some(!matches!(keywords.first(), Some(&("none" | "no-preference"))));
            }
            range_of(&name, viewport).map(|(value, _)| value != 0.0)
        }
        [Token::Name(name), Token::Colon, value @ ..] => {
            let name = name.to_ascii_lowercase();
            if let Some(keywords) = keywords_of(&name) {
                let [Token::Name(keyword)] = value else { return None };
                let place = keywords.iter().position(|one| one.eq_ignore_ascii_case(keyword))?;
                return Some(place == 0);
            }
            let (prefix, rest) = match name.strip_prefix("-webkit-") {
                Some(rest) => ("-webkit-", rest),
                None => ("", name.as_str()),
            };
            let (comparison, rest) = if let Some(rest) = rest.strip_prefix("min-") {
                (Comparison::GreaterOrEqual, rest)
            } else if let Some(rest) = rest.strip_prefix("max-") {
                (Comparison::LessOrEqual, rest)
            } else {
                (Comparison::Equal, rest)
            };
            compare((&[prefix, rest].concat(), viewport), comparison, value, false)
        }
        [Token::Name(name), Token::Compare(comparison), value @ ..] => {
            compare((&name.to_ascii_lowercase(), viewport), *comparison, value, false)
        }
        _ => between(&plain, viewport),
    }
}

/// Evaluates `1px < width` and `1px < width <= 2px`.
fn between(tokens: &[Token<'_>], viewport: [f64; 2]) -> Truth {
    let at = tokens.iter().position(|token| matches!(token, Token::Compare(_)))?;
    let (value, [Token::Compare(first), Token::Name(name), rest @ ..]) = tokens.split_at(at) else {
        return None;
    };
    let name = name.to_ascii_lowercase();
    let below = compare((&name, viewport), *first, value, true)?;
    match rest {
        [] => Some(below),
        [Token::Compare(second), value @ ..] => {
            let is_range = first.direction() == second.direction() && first.direction() != 0;
            let above = compare((&name, viewport), *second, value, false)?;
            is_range.then_some(below && above)
        }
        _ => None,
    }
}

/// Compares a viewport's feature with a value on its left or right side.
fn compare(
    (name, viewport): (&str, [f64; 2]),
    comparison: Comparison,
    value: &[Token<'_>],
    is_value_left: bool,
) -> Truth {
    let (is, unit) = range_of(name, viewport)?;
    let value = value_in(value, unit)?;
    Some(if is_value_left { comparison.holds(value, is) } else { comparison.holds(is, value) })
}

/// Unit of a feature's value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Length,
    Resolution,
    Ratio,
    Plain,
}

/// Returns the value of a range feature, and its unit. `None` for an unsupported feature.
fn range_of(name: &str, viewport: [f64; 2]) -> Option<(f64, Unit)> {
    let [width, height] = if name.starts_with("device-") { SCREEN } else { viewport };
    Some(match name {
        "width" | "device-width" => (width, Unit::Length),
        "height" | "device-height" => (height, Unit::Length),
        "aspect-ratio" | "device-aspect-ratio" => (width / height, Unit::Ratio),
        "resolution" => (1.0, Unit::Resolution),
        "-webkit-device-pixel-ratio" => (1.0, Unit::Plain),
        "color" => (COLOUR_BITS, Unit::Plain),
        "color-index" | "monochrome" | "grid" => (0.0, Unit::Plain),
        _ => return None,
    })
}

/// Parses a value in a unit: CSS pixels, device pixels per CSS pixel, or a plain number.
fn value_in(tokens: &[Token<'_>], unit: Unit) -> Option<f64> {
    match (tokens, unit) {
        ([Token::Number(number, written)], Unit::Length) => {
            let pixels = match written.to_ascii_lowercase().as_str() {
                "px" => 1.0,
                "em" | "rem" => 16.0,
                "in" => 96.0,
                "cm" => 96.0 / 2.54,
                "mm" => 96.0 / 25.4,
                "pt" => 96.0 / 72.0,
                "pc" => 16.0,
                "" if *number == 0.0 => 1.0,
                _ => return None,
            };
            Some(number * pixels)
        }
        ([Token::Number(number, written)], Unit::Resolution) => {
            let ratio = match written.to_ascii_lowercase().as_str() {
                "dppx" | "x" => 1.0,
                "dpi" => 1.0 / 96.0,
                "dpcm" => 2.54 / 96.0,
                _ => return None,
            };
            Some(number * ratio)
        }
        ([Token::Number(number, "")], Unit::Ratio | Unit::Plain) => Some(*number),
        ([Token::Number(above, ""), Token::Slash, Token::Number(below, "")], Unit::Ratio) => {
            Some(above / below)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
