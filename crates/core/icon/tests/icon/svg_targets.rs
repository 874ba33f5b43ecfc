//! Tests references and lengths in SVGs that usvg and browsers interpret differently. The expected
//! pixels are from Chromium 156.

use super::svg_features::{at, drawn};

const CLEAR: [u8; 4] = [0; 4];
const RED: [u8; 4] = [255, 0, 0, 255];
const GREEN: [u8; 4] = [0, 128, 0, 255];
const STOPS: &str = r#"<stop stop-color="blue"/>"#;

/// Returns the pixels at (16, 16) of three squares with the paint `p`: without a fallback colour,
/// with a fallback colour, and with an inherited paint.
fn painted(definitions: &str) -> [[u8; 4]; 3] {
    let square = r#"<rect width="32" height="32""#;
    let all = [
        format!(r#"{square} fill="url(#p)"/>"#),
        format!(r#"{square} fill="url(#p) green"/>"#),
        format!(r#"<g fill="url(#p)">{square}/></g>"#),
    ];
    let mark = r#"<rect width="2" height="2"/>"#;
    all.map(|square| at(&drawn(&format!("{mark}{definitions}{square}")), 16, 16))
}

#[test]
fn a_paint_with_a_transform_without_an_inverse_is_missing() {
    let flat = [
        "scale(0)",
        "scale(0 1)",
        "matrix(0 4 0 -1 0 -3)",
        "matrix(2 0 3 0 1 1)",
        "matrix(1 2 2 4 0 0)",
        "scale(1 0) scale(2 2)",
    ];
    let tile = r#"<rect width="99" height="99" fill="blue"/>"#;
    for transform in flat {
        let gradient = |kind: &str, id: &str| {
            format!(r#"<{kind} id="{id}" gradientTransform="{transform}">{STOPS}</{kind}>"#)
        };
        let by_css = transform.replace(' ', ",").replace("),", ") ");
        for paint in [
            gradient("linearGradient", "p"),
            gradient("radialGradient", "p"),
            gradient("radialGradient", "a") + r##"<linearGradient id="p" href="#a"/>"##,
            format!(
                r#"<linearGradient id="p" style="transform:{by_css}">{STOPS}</linearGradient>"#
            ),
            format!(r#"<pattern id="p" width="1" height="1" patternTransform="{transform}">"#)
                + tile
                + "</pattern>",
        ] {
            assert_eq!(painted(&paint), [CLEAR, GREEN, CLEAR], "{paint}");
        }
    }
    let blue = [[0, 0, 255, 255]; 3];
    for transform in ["scale(1)", "rotate(30)", "matrix(0 1 1 0 0 0)", "scale(.001)"] {
        let paint = format!(r#"<linearGradient id="p" gradientTransform="{transform}">"#);
        let paint = paint + STOPS + "</linearGradient>";
        assert_eq!(painted(&paint), blue, "{paint}");
    }
    let over = format!(
        r##"<linearGradient id="a" gradientTransform="scale(0)">{STOPS}</linearGradient>
        <linearGradient id="p" href="#a" gradientTransform="scale(1)"/>"##
    );
    assert_eq!(painted(&over), blue);
}

#[test]
fn a_gradient_without_stops_paints_nothing() {
    let paint = r#"<linearGradient id="p"/>"#;
    assert_eq!(painted(paint), [CLEAR; 3]);
    let flat = r#"<linearGradient id="p" gradientTransform="scale(0)"/>"#;
    assert_eq!(painted(flat), [CLEAR, GREEN, CLEAR]);
}

#[test]
fn a_use_of_a_use_clips_nothing() {
    let square = r#"<rect width="32" height="32" fill="red""#;
    let clipped = |content: &str, property: &str| {
        let shape = r##"<defs><circle id="c" cx="8" cy="8" r="8" fill="white"/>
            <use id="u" href="#c"/></defs>"##;
        let pixels = drawn(&format!(
            r#"{shape}<{property} id="k">{content}</{property}><rect x="30" width="2" height="2"/>
            {square} {}="url(#k)"/>"#,
            if property == "mask" { "mask" } else { "clip-path" }
        ));
        [at(&pixels, 8, 8), at(&pixels, 24, 24)]
    };
    let other = r#"<rect x="16" y="16" width="16" height="16"/>"#;
    assert_eq!(clipped(r##"<use href="#c"/>"##, "clipPath"), [RED, CLEAR]);
    assert_eq!(clipped(r##"<use href="#u"/>"##, "clipPath"), [CLEAR; 2]);
    assert_eq!(clipped(&format!(r##"<use href="#u"/>{other}"##), "clipPath"), [CLEAR, RED]);
    assert_eq!(clipped(r##"<use href="#u"/>"##, "mask"), [RED, CLEAR]);
}

#[test]
fn lengths_are_parsed_as_in_browsers() {
    let mark = r#"<rect width="2" height="2"/>"#;
    let shown = |body: &str| at(&drawn(&format!("{mark}{body}")), 16, 16) == RED;
    for invalid in ["", " ", "auto", "x", "1..2", "5 5", "0"] {
        for radii in [["8", invalid], [invalid, "8"]] {
            let [rx, ry] = radii;
            let ellipse = format!(r#"<ellipse cx="16" cy="16" rx="{rx}" ry="{ry}" fill="red"/>"#);
            assert!(!shown(&ellipse), "{ellipse}");
            let rect = format!(
                r#"<rect x="15" y="15" width="16" height="16" rx="{rx}" ry="{ry}"
                    fill="red"/>"#
            );
            let corner = at(&drawn(&format!("{mark}{rect}")), 15, 15);
            assert_eq!(corner, RED, "{rect}");
        }
        let used = format!(
            r##"<symbol id="s" viewBox="0 0 9 9"><rect width="9" height="9" fill="red"/></symbol>
            <use href="#s" width="{invalid}"/>"##
        );
        assert!(!shown(&used), "{used}");
    }
    // A symbol's own width and height count unless the `use` element has them.
    let symbol = |sides: &str, of_use: &str| {
        format!(
            r##"<symbol id="s" viewBox="0 0 9 9" {sides}><rect width="9" height="9" fill="red"/>
            </symbol><use href="#s" {of_use}/>"##
        )
    };
    for sides in [r#"width="10" height="10""#, r#"width="25%" height="25%""#, r#"width="0""#] {
        assert!(!shown(&symbol(sides, "")), "{sides}");
        assert!(shown(&symbol(sides, r#"width="32" height="32""#)), "{sides}");
    }
    assert!(shown(r#"<ellipse cx="16" cy="16" rx="8" ry="-5" fill="red"/>"#));
    for eight in ["8", "8px", "8px ", " 8px", "8PX", "6pt", "6PT", "calc(3px + 5px)", "25%"] {
        let ellipse = format!(r#"<ellipse cx="20" cy="16" rx="{eight}" ry="8" fill="red"/>"#);
        assert!(shown(&ellipse), "{ellipse}");
        let rect = format!(r#"<rect x="{eight}" y="8" width="20" height="20" fill="red"/>"#);
        assert!(shown(&rect), "{rect}");
        let pixels = drawn(&format!("{mark}{rect}"));
        assert_eq!([at(&pixels, 6, 16), at(&pixels, 9, 16)], [CLEAR, RED], "{rect}");
    }
}

#[test]
fn dimensions_of_a_use_are_relative_to_the_enclosing_box() {
    let symbols = r##"<symbol id="s" viewBox="0 0 8 8"><rect width="8" height="8" fill="green"/>
        </symbol><symbol id="o" viewBox="0 0 400 400"><use href="#s"/></symbol>
        <symbol id="h" viewBox="0 0 400 400"><use href="#s" width="50%" height="50%"/></symbol>"##;
    for used in [
        r##"<use href="#h" width="32" height="32"/>"##,
        r##"<use href="#o" width="16" height="16"/>"##,
        r##"<use href="#o" width="50%" height="50%"/>"##,
    ] {
        let pixels = drawn(&format!("{symbols}{used}"));
        let corners = [1, 14, 18, 30].map(|it| at(&pixels, it, it));
        assert_eq!(corners, [GREEN, GREEN, CLEAR, CLEAR], "{used}");
    }
}
