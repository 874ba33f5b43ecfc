//! Compares media queries with Chromium's results, and evaluates arbitrary text.

use proptest::prelude::*;

use super::*;

/// Results of Chromium 156, + or -, in a window of 1280x720 pixels (`matchMedia`, recorded once).
/// It was headless, so it had no mouse to hover and point with. It also supports `calc()` and
/// exponents.
const CHROMIUM: &[&str] = &[
    "+ ",
    "+ all",
    "+ screen",
    "- print",
    "+ only screen",
    "+ ONLY SCREEN",
    "+ not print",
    "- not screen",
    "- tv",
    "+ screen, print",
    "- print, tv",
    "+ (prefers-color-scheme: light)",
    "- (prefers-color-scheme: dark)",
    "- (prefers-color-scheme:dark)",
    "+ (PREFERS-COLOR-SCHEME: LIGHT)",
    "- (prefers-color-scheme: no-preference)",
    "+ (prefers-color-scheme)",
    "+ not (prefers-color-scheme: dark)",
    "+ not all and (prefers-color-scheme: dark)",
    "- not (prefers-color-scheme: nonsense)",
    "- screen and (prefers-color-scheme: dark)",
    "+ screen and (prefers-color-scheme: light)",
    "+ all and (prefers-color-scheme: light) and (min-width: 100px)",
    "+ (prefers-color-scheme: light) or (prefers-color-scheme: dark)",
    "- (prefers-color-scheme: dark) or (unknown-thing: 1)",
    "+ (prefers-color-scheme: light) or (unknown-thing: 1)",
    "- (prefers-color-scheme: light) and (unknown-thing: 1)",
    "- (unknown-thing)",
    "- not (unknown-thing)",
    "+ ((prefers-color-scheme: light))",
    "+ (not (prefers-color-scheme: dark))",
    "- ((prefers-color-scheme: light) and (not (print)))",
    "- not",
    "- only",
    "+ (min-width: 600px)",
    "- (max-width: 600px)",
    "- (min-width: 90em)",
    "+ (width: 1280px)",
    "+ (width >= 600px)",
    "+ (600px <= width)",
    "+ (600px <= width <= 2000px)",
    "- (600px <= width >= 100px)",
    "- (600px < width < 700px)",
    "- (600px = width = 700px)",
    "- (min-width >= 600px)",
    "+ (width)",
    "- (min-width)",
    "+ (min-width: 0)",
    "- (min-width: 5)",
    "+ (min-width: -5px)",
    "- (min-width: 5%)",
    "+ (orientation: landscape)",
    "- (orientation: portrait)",
    "- (min-resolution: 2dppx)",
    "+ (max-resolution: 96dpi)",
    "+ (resolution: 1x)",
    "- (-webkit-min-device-pixel-ratio: 2)",
    "+ (-webkit-min-device-pixel-ratio: 1)",
    "+ (-webkit-device-pixel-ratio: 1)",
    "- (min-device-pixel-ratio: 1)",
    "+ (min-aspect-ratio: 16/9)",
    "+ (min-aspect-ratio: 16 / 9)",
    "- (max-aspect-ratio: 1/1)",
    "+ (min-aspect-ratio: 1)",
    "+ (color)",
    "+ (min-color: 8)",
    "- (min-color: 9)",
    "- (monochrome)",
    "+ (grid: 0)",
    "- (grid)",
    "- (prefers-reduced-motion: reduce)",
    "- (prefers-reduced-motion)",
    "+ (prefers-reduced-motion: no-preference)",
    "+ (display-mode: browser)",
    "- (display-mode: standalone)",
    "+ (scripting: enabled)",
    "+ (scripting)",
    "+ (forced-colors: none)",
    "- (forced-colors)",
    "- screen and",
    "- (prefers-color-scheme: dark",
    "+ (prefers-color-scheme: light",
    "- prefers-color-scheme: light",
    "- (prefers-color-scheme light)",
    "- (prefers-color-scheme = light)",
    "- ,",
    "+ ,screen",
    "+ screen,",
    "- (light)",
    "- ()",
    "- (()",
    "- )",
    "- screen; print",
    "+ screen /* c */ and (/* d */ color)",
    "- (device-width: 320px) and (-webkit-device-pixel-ratio: 2)",
    "- (max-device-width: 480px)",
    "- {}",
    "- [screen]",
    "- \"screen\"",
    "+ (min-width: +600px)",
    "+ (min-width: .5px)",
    "+ ((((color))))",
    "+ not ((color) and (monochrome))",
    "+ not (not (color))",
    "- not not (color)",
    "- (color) and not (monochrome)",
    "- layer",
    "- or",
    "+ screen and (color), print and (color)",
];

#[test]
fn queries_match_as_in_chromium() {
    let wrong = CHROMIUM.iter().filter(|line| {
        let (sign, query) = line.split_at(2);
        matches_light_page(query) != (sign == "+ ")
    });
    assert_eq!(wrong.collect::<Vec<_>>(), Vec::<&&str>::new());
}

#[test]
fn what_is_malformed_does_not_match_by_its_negation() {
    for query in ["not print and", "not print and color", "not tv and (color) or (color)"] {
        assert!(!matches_light_page(query), "{query}");
    }
    assert!(matches_light_page("not print and (unknown-thing)"));
}

#[test]
fn a_desktop_has_a_mouse() {
    for query in ["(hover)", "(hover: hover)", "(pointer: fine)", "(color) and (any-hover)"] {
        assert!(matches_light_page(query), "{query}");
    }
    for query in ["(hover: none)", "(pointer: coarse)", "(color)and(hover)"] {
        assert!(!matches_light_page(query), "{query}");
    }
}

#[test]
fn depth_is_bounded() {
    let nested = |depth: usize| format!("{}color{}", "(".repeat(depth), ")".repeat(depth));
    assert!(matches_light_page(&nested(MAX_DEPTH)));
    assert!(!matches_light_page(&nested(100_000)));
}

proptest! {
    #[test]
    fn any_text_is_a_query_or_none(
        parts in proptest::collection::vec(
            prop::sample::select(vec![
                "(", ")", ",", ":", "/", "<", ">", "=", "not ", "and ", "or ", "only ", "screen ",
                "min-width", "color", "16", "px", " ", "é", "/*", "*/", "prefers-color-scheme",
                "dark", "[", "\0",
            ]),
            0..40,
        ),
    ) {
        let list = parts.concat();
        // Each query of a list is evaluated separately.
        let with_all = format!("all, {list}");
        prop_assert!(matches_light_page(&with_all));
        if matches_light_page(&list) && !tokens(&list).is_empty() {
            let more = format!("print, {list}");
            prop_assert!(matches_light_page(&more));
        }
    }
}
