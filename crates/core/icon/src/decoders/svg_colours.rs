//! Rewrites the CSS colours that usvg does not support.
//!
//! Drawing programs write `fill:#863BFF;fill:color(display-p3 0.5252 0.23 1)`, for which usvg draws
//! black. So this module replaces CSS Color 4 functions with hexadecimal colours, clipped to sRGB
//! as in Chromium.

use std::borrow::Cow;

use color::{ColorSpaceTag, DynamicColor, HueDirection, Rgba8, Srgb, parse_color};

use super::svg_lengths::only_quantity;

const FUNCTIONS: [&str; 10] =
    ["rgb", "rgba", "hsl", "hsla", "hwb", "lab", "lch", "oklab", "oklch", "color"];
/// Maximum bytes in an argument list, including the parentheses. Drawing programs write about 30
/// bytes.
const MAX_ARGUMENT_BYTES: usize = 128;

/// Maximum depth for nested `color-mix` functions. A colour beyond this limit is invalid.
const MAX_MIXES: usize = 4;

/// Replaces the colour functions that usvg does not support, anywhere in a value.
pub(crate) fn with_known_colours(text: &str) -> Cow<'_, str> {
    let mut written = String::new();
    let mut read = 0;
    for (at, _) in text.match_indices('(') {
        let name = name_before(text, at);
        if !is_colour_function(name) {
            continue;
        }
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
        written.push_str(&in_hex(colour));
        read = end;
    }
    if read == 0 {
        return Cow::Borrowed(text);
    }
    written.push_str(&text[read..]);
    Cow::Owned(written)
}

/// Converts a colour to a form that usvg reads. `None` if the colour is invalid.
pub(crate) fn known_colour(text: &str) -> Option<Cow<'_, str>> {
    if text.eq_ignore_ascii_case("currentcolor") {
        return Some("currentColor".into());
    }
    if text.parse::<svgtypes::Color>().is_ok() {
        return Some(text.into());
    }
    any_colour(text, MAX_MIXES).map(|colour| in_hex(colour).into())
}

fn any_colour(text: &str, depth: usize) -> Option<DynamicColor> {
    let text = text.trim();
    let is_mix = text.get(..10).is_some_and(|name| name.eq_ignore_ascii_case("color-mix("));
    if is_mix {
        return mixed(text.get(10..)?.strip_suffix(')')?, depth.checked_sub(1)?);
    }
    if text.len() > MAX_ARGUMENT_BYTES {
        return None;
    }
    let system = ["canvas", "canvastext", "linktext", "graytext"];
    match system.iter().position(|name| name.eq_ignore_ascii_case(text)) {
        Some(index) => parse_color(["#fff", "#000", "#00e", "#808080"][index]).ok(),
        None => parse_color(&with_values(text)?).ok(),
    }
}

fn with_values(text: &str) -> Option<Cow<'_, str>> {
    let Some(start) = text.find("calc(") else { return Some(text.into()) };
    let mut depth = 0_usize;
    let end = text[start + 4..].find(|c| {
        depth = if c == '(' { depth + 1 } else { depth - usize::from(c == ')') };
        depth == 0
    });
    let end = start + 4 + end? + 1;
    let quantity = only_quantity(&text[start..end])?;
    let value = match (quantity.number(), quantity.degrees(), quantity.ratio()) {
        (Some(number), ..) => format!("{number}"),
        (_, Some(degrees), _) => format!("{degrees}deg"),
        (.., Some(ratio)) => format!("{}%", ratio * 100.0),
        _ => return None,
    };
    let rest = with_values(&text[end..])?;
    Some(format!("{}{value}{rest}", &text[..start]).into())
}

fn mixed(arguments: &str, depth: usize) -> Option<DynamicColor> {
    let parts: Vec<&str> = split_outside(arguments, ',').collect();
    let [space, one, other] = parts.as_slice() else { return None };
    let mut words = space.split_ascii_whitespace();
    let is_in = words.next()?.eq_ignore_ascii_case("in");
    let space = space_of(&words.next()?.to_ascii_lowercase()).filter(|_| is_in)?;
    let direction = match words.next().map(str::to_ascii_lowercase).as_deref() {
        None | Some("shorter") => HueDirection::Shorter,
        Some("longer") => HueDirection::Longer,
        Some("increasing") => HueDirection::Increasing,
        Some("decreasing") => HueDirection::Decreasing,
        Some(_) => return None,
    };
    let part = |part: &str| -> Option<(DynamicColor, Option<f64>)> {
        let part = part.trim();
        let mut words: Vec<&str> =
            split_outside(part, ' ').filter(|word| !word.is_empty()).collect();
        let percent = |word: &&str| only_quantity(word).filter(|_| word.contains('%'));
        let at = words.iter().position(|word| percent(word).is_some());
        let share = at.and_then(|at| percent(&words.remove(at))).and_then(|it| it.ratio());
        Some((any_colour(&words.join(" "), depth)?, share))
    };
    let ((one, first), (other, second)) = (part(one)?, part(other)?);
    let (first, second) = match (first, second) {
        (None, None) => (0.5, 0.5),
        (Some(first), None) => (first, 1.0 - first),
        (None, Some(second)) => (1.0 - second, second),
        (Some(first), Some(second)) => (first, second),
    };
    let sum = first + second;
    if !(sum > 0.0 && first >= 0.0 && second >= 0.0) {
        return None;
    }
    let mix = one.interpolate(other, space, direction).eval((second / sum) as f32);
    Some(mix.multiply_alpha(sum.min(1.0) as f32))
}

fn space_of(name: &str) -> Option<ColorSpaceTag> {
    Some(match name {
        "srgb" => ColorSpaceTag::Srgb,
        "srgb-linear" => ColorSpaceTag::LinearSrgb,
        "display-p3" => ColorSpaceTag::DisplayP3,
        "a98-rgb" => ColorSpaceTag::A98Rgb,
        "prophoto-rgb" => ColorSpaceTag::ProphotoRgb,
        "rec2020" => ColorSpaceTag::Rec2020,
        "lab" => ColorSpaceTag::Lab,
        "oklab" => ColorSpaceTag::Oklab,
        "xyz" | "xyz-d65" => ColorSpaceTag::XyzD65,
        "xyz-d50" => ColorSpaceTag::XyzD50,
        "hsl" => ColorSpaceTag::Hsl,
        "hwb" => ColorSpaceTag::Hwb,
        "lch" => ColorSpaceTag::Lch,
        "oklch" => ColorSpaceTag::Oklch,
        _ => return None,
    })
}

pub(crate) fn split_outside(text: &str, at: char) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    text.split(move |c| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && c == at
    })
}

fn is_colour_function(name: &str) -> bool {
    FUNCTIONS.iter().any(|known| known.eq_ignore_ascii_case(name))
}

fn name_before(text: &str, end: usize) -> &str {
    let is_in_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_') || !c.is_ascii();
    let before = text[..end].trim_end_matches(is_in_name);
    &text[before.len()..end]
}

fn in_hex(colour: DynamicColor) -> String {
    let Rgba8 { r, g, b, a } = colour.to_alpha_color::<Srgb>().to_rgba8();
    match a {
        255 => format!("#{r:02x}{g:02x}{b:02x}"),
        _ => format!("#{r:02x}{g:02x}{b:02x}{a:02x}"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(text: &str) -> String {
        with_known_colours(text).into_owned()
    }

    #[test]
    fn colour_functions_are_replaced_in_place() {
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
    fn colours_that_usvg_reads_and_invalid_ones_are_unchanged() {
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
                matches!(with_known_colours(text), Cow::Borrowed(same) if same == text),
                "{text}"
            );
        }
    }

    proptest! {
        #[test]
        fn arbitrary_strings_never_panic_or_become_longer(
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
