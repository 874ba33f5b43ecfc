//! Compares media queries with Chromium's results, and evaluates arbitrary text.

use proptest::prelude::*;

use super::*;

/// Results from `matchMedia` in Chromium 156 (+ or -) in a window with 1280x720 pixels.
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
    "+ not (prefers-color-scheme: dark)",
    "+ not all and (prefers-color-scheme: dark)",
    "- not (prefers-color-scheme: nonsense)",
    "- screen and (prefers-color-scheme: dark)",
    "+ screen and (prefers-color-scheme: light)",
    "+ all and (prefers-color-scheme: light) and (min-width: 100px)",
    "- (prefers-color-scheme: dark) or (unknown-thing: 1)",
    "- (prefers-color-scheme: light) and (unknown-thing: 1)",
    "- (unknown-thing)",
    "- not (unknown-thing)",
    "- ((prefers-color-scheme: light) and (not (print)))",
    "- not",
    "- only",
    "+ (min-width: 600px)",
    "- (max-width: 600px)",
    "- (min-width: 90em)",
    "- (600px <= width >= 100px)",
    "- (600px < width < 700px)",
    "- (600px = width = 700px)",
    "- (min-width >= 600px)",
    "- (min-width)",
    "- (min-width: 5)",
    "+ (min-width: -5px)",
    "- (min-width: 5%)",
    "- (orientation: portrait)",
    "- (min-resolution: 2dppx)",
    "- (-webkit-min-device-pixel-ratio: 2)",
    "- (min-device-pixel-ratio: 1)",
    "- (max-aspect-ratio: 1/1)",
    "- (min-color: 9)",
    "- (monochrome)",
    "- (grid)",
    "- (prefers-reduced-motion: reduce)",
    "- (prefers-reduced-motion)",
    "- (display-mode: standalone)",
    "- (forced-colors)",
    "- screen and",
    "- (prefers-color-scheme: dark",
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
    "- (device-width: 320px) and (-webkit-device-pixel-ratio: 2)",
    "- (max-device-width: 480px)",
    "- {}",
    "- [screen]",
    "- \"screen\"",
    "+ (min-width: +600px)",
    "+ (min-width: .5px)",
    "- not not (color)",
    "- (color) and not (monochrome)",
    "- layer",
    "- or",
];

#[test]
fn queries_match_as_in_chromium() {
    let wrong = CHROMIUM.iter().filter(|line| {
        let (sign, query) = line.split_at(2);
        matches_light_page(query) != (sign == "+ ")
    });
    assert_eq!(wrong.collect::<Vec<_>>(), Vec::<&&str>::new());
}

/// Queries that match in Chromium 156. We do not support them, because no icon in the corpus has
/// them.
const UNSUPPORTED: &[&str] = &[
    "(prefers-color-scheme)",
    "(prefers-color-scheme: light) or (prefers-color-scheme: dark)",
    "((prefers-color-scheme: light))",
    "(width >= 600px)",
    "(min-width: 0)",
    "(min-width: 5em)",
    "(orientation: landscape)",
    "(color)",
    "(prefers-reduced-motion: no-preference)",
    "not tv",
    "not print and (unknown-thing)",
];

#[test]
fn other_queries_do_not_match_and_leave_the_rest_of_the_list_alone() {
    for query in UNSUPPORTED {
        assert!(!matches_light_page(query), "{query}");
        assert!(matches_light_page(&format!("{query}, screen")), "{query}");
    }
}

#[test]
fn what_is_malformed_does_not_match_by_its_negation() {
    let two = "not (prefers-color-scheme: dark) and (min-width: 1px)";
    for query in ["not print and", "not print and color", "only (min-width: 1px)", two] {
        assert!(!matches_light_page(query), "{query}");
    }
}

proptest! {
    #[test]
    fn any_text_is_a_query_or_none(
        parts in proptest::collection::vec(
            prop::sample::select(vec![
                "(", ")", ",", ":", "<", "not ", " and ", "or ", "only ", "screen", "print",
                "min-width", "max-height", "16", "px", " ", "é", "/*", "prefers-color-scheme",
                "dark", "light", "(min-width:1px)", "\0",
            ]),
            0..40,
        ),
    ) {
        let list = parts.concat();
        let with_all = format!("all, {list}");
        prop_assert!(matches_light_page(&with_all));
        if matches_light_page(&list) && !list.trim_ascii().is_empty() {
            let more = format!("print, {list}");
            prop_assert!(matches_light_page(&more));
        }
    }
}
