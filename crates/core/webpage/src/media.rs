//! Evaluates the media queries that icons use, for a light page on a computer's screen. A malformed
//! or unsupported query never matches.

/// Width and height of the screen and the browser window in CSS pixels.
const SCREEN: [f64; 2] = [1280.0, 720.0];

/// Returns true if a list of media queries matches.
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

/// Returns true if a list of media queries matches for a light scheme and this viewport in CSS
/// pixels.
///
/// ```
/// use everytab_webpage::media::matches_light;
///
/// assert!(matches_light("(max-width: 40px)", [32.0, 32.0]));
/// assert!(!matches_light("(max-width: 40px) and (prefers-color-scheme: dark)", [32.0, 32.0]));
/// ```
#[must_use]
pub fn matches_light(list: &str, viewport: [f64; 2]) -> bool {
    let words: Vec<&str> = list.split_ascii_whitespace().collect();
    let list = words.join(" ").to_ascii_lowercase();
    list.is_empty() || list.split(',').any(|text| query(text.trim(), viewport) == Some(true))
}

/// `None` if this query is malformed or not supported.
fn query(text: &str, viewport: [f64; 2]) -> Option<bool> {
    let (is_negated, rest) = match text.split_once(' ') {
        Some(("not", rest)) => (true, rest),
        Some(("only", rest)) if !rest.starts_with('(') => (false, rest),
        _ => (false, text),
    };
    let mut matches = true;
    for (index, part) in rest.split(" and ").enumerate() {
        matches &= match part {
            "all" | "screen" if index == 0 => true,
            "print" if index == 0 => false,
            // Without a media type, `not` may only precede a single feature.
            _ if index > 0 && is_negated && rest.starts_with('(') => return None,
            _ => feature(part, viewport)?,
        };
    }
    Some(matches != is_negated)
}

/// `None` if this feature is malformed or not supported.
fn feature(text: &str, [width, height]: [f64; 2]) -> Option<bool> {
    let (name, value) = text.strip_prefix('(')?.strip_suffix(')')?.split_once(':')?;
    let value = value.trim();
    let pixels = || value.strip_suffix("px")?.parse().ok().filter(|n: &f64| n.is_finite());
    Some(match name.trim() {
        "prefers-color-scheme" => match value {
            "light" => true,
            "dark" => false,
            _ => return None,
        },
        "min-width" => width >= pixels()?,
        "max-width" => width <= pixels()?,
        "min-height" => height >= pixels()?,
        "max-height" => height <= pixels()?,
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
