//! Rewrites the colours of an SVG that its parser does not support.
//!
//! Drawing programs write `fill:#863BFF;fill:color(display-p3 0.5252 0.23 1)`: a browser that does
//! not support the second colour uses the first, but usvg uses the second and draws black. So this
//! module replaces functions of CSS Color 4 by `#rrggbb`, clipped to sRGB as in Chromium, before
//! usvg reads them. `color-mix`, `calc`, and colours derived from others are unchanged. Does not
//! depend on the context: a function is replaced wherever it occurs.

use std::borrow::Cow;

use color::{Rgba8, Srgb, parse_color};

use super::svg_work::SvgWork;
use crate::error::IconError;

/// Functions that return a colour.
const FUNCTIONS: [&str; 10] =
    ["rgb", "rgba", "hsl", "hsla", "hwb", "lab", "lch", "oklab", "oklch", "color"];
/// Maximum length in bytes of an argument list, with its parentheses. Drawing programs write about
/// 30 bytes.
const MAX_ARGUMENT_BYTES: usize = 128;
/// Work of parsing a function and writing its colour.
const FUNCTION_WORK: f64 = 400.0;

/// Replaces the colours that usvg does not support. The result is never longer than `text`.
///
/// # Errors
/// Returns an error if this is more work than an SVG may take.
pub(crate) fn with_known_colours<'a>(
    text: &'a str,
    work: &mut SvgWork,
) -> Result<Cow<'a, str>, IconError> {
    let mut written = String::new();
    let mut read = 0;
    for (at, _) in text.match_indices('(') {
        let name = name_before(text, at);
        if !is_colour_function(name) {
            continue;
        }
        work.spend(FUNCTION_WORK)?;
        let arguments = text.as_bytes()[at..].iter().take(MAX_ARGUMENT_BYTES);
        let Some(length) = arguments.into_iter().position(|byte| *byte == b')') else { continue };
        let end = at + length + 1;
        let start = at - name.len();
        let function = &text[start..end];
        if function.parse::<svgtypes::Color>().is_ok() {
            continue;
        }
        let Ok(colour) = parse_color(function) else { continue };
        written.push_str(&text[read..start]);
        written.push_str(&in_hex(colour.to_alpha_color::<Srgb>().to_rgba8()));
        read = end;
    }
    if read == 0 {
        return Ok(Cow::Borrowed(text));
    }
    written.push_str(&text[read..]);
    Ok(Cow::Owned(written))
}

/// Returns true if the text contains the name of a colour function and a parenthesis.
pub(crate) fn has_colour_function(text: &str) -> bool {
    text.match_indices('(').any(|(at, _)| is_colour_function(name_before(text, at)))
}

fn is_colour_function(name: &str) -> bool {
    FUNCTIONS.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Returns the name that ends at `end`, which may be empty.
pub(crate) fn name_before(text: &str, end: usize) -> &str {
    let is_in_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_') || !c.is_ascii();
    let before = text[..end].trim_end_matches(is_in_name);
    &text[before.len()..end]
}

fn in_hex(Rgba8 { r, g, b, a }: Rgba8) -> String {
    match a {
        255 => format!("#{r:02x}{g:02x}{b:02x}"),
        _ => format!("#{r:02x}{g:02x}{b:02x}{a:02x}"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::decoders::svg_work::MAX_WORK;

    fn written(text: &str) -> String {
        with_known_colours(text, &mut SvgWork::default()).unwrap().into_owned()
    }

    #[test]
    fn functions_are_replaced_where_they_stand() {
        let cases = [
            ("fill:#863BFF;fill:color(display-p3 0.5252 0.23 1)", "fill:#863BFF;fill:#9135ff"),
            ("a=\"rgb(1 2 3/50%)\" b=\"OKLCH(0.7 0.15 250)\"", "a=\"#01020380\" b=\"#4ba3f7\""),
            ("url(#a) lab(50% 40 -60) ü", "url(#a) #8c5edf ü"),
            ("rgb(rgb(none 20 30))", "rgb(#00141e)"),
        ];
        for (text, expected) in cases {
            assert_eq!(written(text), expected);
        }
    }

    #[test]
    fn what_is_known_already_or_to_nobody_is_left() {
        let long = format!("lab(50 40 {}60)", " ".repeat(MAX_ARGUMENT_BYTES));
        let cases = [
            "rgb(1, 2, 3)",
            "rgba(1,2,3,.5)",
            "hsl(120 50% 40%)",
            "rotate(40) xrgb(1 2 3/50%) -lab(50 40 60)",
            "1lab(50 40 60) _lab(50 40 60) ülab(50 40 60)",
            "lab (50 40 60)",
            "color(display-p3 0.1 0.2)",
            "color(nowhere 0.1 0.2 0.3)",
            "color-mix(in srgb, red, blue)",
            "oklch(calc(0.2 + 0.3) 0.1 30)",
            "lab(50% 40 -60",
            "lab(",
            "(",
            &long,
        ];
        for text in cases {
            assert!(
                matches!(
                    with_known_colours(text, &mut SvgWork::default()),
                    Ok(Cow::Borrowed(same)) if same == text
                ),
                "{text}"
            );
        }
    }

    #[test]
    fn each_function_is_counted() {
        let text = "lab(50 40 60) rgb(1,2,3) lab( url(#a)";
        let mut work = SvgWork::default();
        with_known_colours(text, &mut work).unwrap();
        assert_eq!(work.units(), 3 * FUNCTION_WORK as u64);
        let most = MAX_WORK as usize / FUNCTION_WORK as usize;
        let mut work = SvgWork::default();
        assert!(with_known_colours(&"lab(".repeat(most), &mut work).is_ok());
        let mut work = SvgWork::default();
        assert!(with_known_colours(&"lab(".repeat(most + 1), &mut work).is_err());
    }

    proptest! {
        #[test]
        fn no_text_breaks_it_or_becomes_longer(
            parts in prop::collection::vec(prop_oneof![
                "(rgba?|hsla?|hwb|(ok)?lab|(ok)?lch|color)\\(",
                "(srgb|display-p3|rec2020|xyz|none)? ?-?[0-9.e%]{0,9}(deg|turn)?",
                "[ ,/)üA-Z]{0,3}",
            ], 0..40),
        ) {
            let text = parts.concat();
            let once = written(&text);
            prop_assert!(once.len() <= text.len());
            prop_assert_eq!(written(&once), once);
        }
    }
}
