//! Tests CSS transforms, basic shapes, strokes and dimensions in SVGs. The expected pixels are from
//! Chromium 156.

use everytab_icon::decode::decode;

use super::svg_features::{at, drawn};

const CLEAR: [u8; 4] = [0; 4];
const RED: [u8; 4] = [255, 0, 0, 255];

fn assert_painted(body: &str, red: &[(u32, u32)], clear: &[(u32, u32)]) {
    let pixels = drawn(body);
    for &(x, y) in red {
        assert_eq!(at(&pixels, x, y), RED, "{x} {y} of {body}");
    }
    for &(x, y) in clear {
        assert_eq!(at(&pixels, x, y), CLEAR, "{x} {y} of {body}");
    }
}

#[test]
fn css_transforms_have_units_origins_and_boxes() {
    // Each transform moves or rotates a square with the corners (4, 4) and (12, 12) so that its
    // centre becomes (20, 20).
    let styles = [
        "transform:translate(12px,12px)",
        "transform:translate(37.5%,12px)",
        "transform:translateX(12px) translateY(37.5%)",
        "transform:translate3d(12px,12px,5px)",
        "transform:matrix(1,0,0,1,12,12)",
        "transform:matrix3d(1,0,0,0,0,1,0,0,0,0,1,0,12,12,0,1)",
        "transform:translate(calc(10px + 2px),.75em)",
        "translate:12px 12px",
        "translate:37.5% 37.5%",
        "translate:12px;transform:translate(0,12px)",
        "transform:rotate(180deg);transform-origin:14px 14px",
        "transform:rotate(.5turn);transform-origin:14px 14px 0",
        "rotate:180deg;transform-origin:14px 14px",
        "rotate:z .5turn;transform-origin:14px 14px",
        "transform:scale(-1);transform-origin:14px 14px",
        "scale:-1;transform-origin:43.75% 43.75%",
        "scale:-100%;transform-origin:14px 14px",
        "transform:translate(150%,150%);transform-box:fill-box",
        "transform:rotate(180deg);transform-box:fill-box;transform-origin:125% 125%",
        "TRANSFORM:TRANSLATE(12PX,12PX)",
        "transform:translate(12px,12px);transform:translate(1,1)",
        "transform:translate(12px,12px);transform:none foo",
        "--t:translate(12px,12px);transform:var(--t)",
    ];
    for style in styles {
        let rect =
            format!(r#"<rect x="4" y="4" width="8" height="8" fill="red" style="{style}"/>"#);
        assert_painted(&rect, &[(17, 17), (22, 22)], &[(8, 8), (14, 14), (25, 25), (12, 20)]);
    }
    // CSS takes precedence over the attribute, even with the value `none`.
    let rect = r#"<rect x="4" y="4" width="8" height="8" fill="red" transform="translate(12 12)""#;
    for style in ["transform:none", "transform:translate(0)"] {
        assert_painted(&format!(r#"{rect} style="{style}"/>"#), &[(8, 8)], &[(17, 17)]);
    }
    for style in ["transform:rotate(45)", "transform:foo(3px)", "fill:red"] {
        assert_painted(&format!(r#"{rect} style="{style}"/>"#), &[(17, 17)], &[(8, 8)]);
    }
    let turned = r#"<rect x="4" y="4" width="8" height="8" fill="red" transform="rotate(180)"
        transform-origin="14 14"/>"#;
    assert_painted(turned, &[(17, 17)], &[(8, 8)]);
    let group = r#"<g style="transform-box:fill-box;transform-origin:center;transform:scale(.5)">
        <rect x="4" y="4" width="8" height="24" fill="red"/><circle cx="24" cy="16" r="4"/></g>"#;
    assert_painted(group, &[(12, 11), (12, 20)], &[(8, 16), (12, 8), (12, 24)]);
}

#[test]
fn basic_shapes_clip() {
    let shapes = [
        "circle(8px at 16px 16px)",
        "circle(25%)",
        "circle(8px)",
        "ellipse(8px 25% at center)",
        "inset(8px)",
        "inset(25%)",
        "inset(8px round 3px)",
        "polygon(16px 8px,24px 16px,50% 75%,8px 16px)",
        "polygon(evenodd,8px 8px,24px 8px,24px 24px,8px 24px)",
        "path('M8 8h16v16h-16z')",
        "rect(8px 24px 24px 8px)",
        "xywh(8px 25% 16px 16px round 2px)",
        "circle(8px) view-box",
        "circle(8px) fill-box",
        "circle(8px at right 16px bottom 16px)",
    ];
    for shape in shapes {
        for [before, after] in [["<rect", "/>"], ["<g", "><rect"]] {
            let rect = r#"width="32" height="32" fill="red""#;
            let body = match before {
                "<g" => format!(r#"<g style="clip-path:{shape}"{after} {rect}/></g>"#),
                _ => format!(r#"<rect {rect} style="clip-path:{shape}"{after}"#),
            };
            let clear = [(3, 16), (16, 3), (28, 16), (16, 28), (6, 6), (25, 25)];
            assert_painted(&body, &[(16, 16), (13, 15)], &clear);
        }
    }
    let ring = "path(evenodd,'M0 0h32v32h-32zM8 8h16v16h-16z')";
    let body = format!(r#"<rect width="32" height="32" fill="red" style="clip-path:{ring}"/>"#);
    assert_painted(&body, &[(4, 4), (28, 16)], &[(16, 16)]);
    let body = r#"<rect width="32" height="32" fill="red" style="clip-path:circle(8px;fill:red"/>"#;
    assert_painted(body, &[(2, 2)], &[]);
}

#[test]
fn non_scaling_strokes_and_path_length_dashes_are_drawn() {
    let fixed = r#"<path transform="scale(4)" d="M0 4H8" stroke="red" stroke-width="4"
        vector-effect="non-scaling-stroke"/>"#;
    assert_painted(fixed, &[(16, 15), (16, 16)], &[(16, 12), (16, 19)]);
    let inherited = r#"<style>path{vector-effect:non-scaling-stroke}</style>
        <g transform="scale(.25)" stroke="red" stroke-width="4"><path d="M0 64H128"/></g>"#;
    assert_painted(inherited, &[(16, 14), (16, 17)], &[(16, 12), (16, 19)]);
    let dashes = r#"<path d="M0 16H32" stroke="red" stroke-width="4" pathLength="4"
        stroke-dasharray="1"/>"#;
    assert_painted(dashes, &[(3, 16), (20, 16)], &[(12, 16), (28, 16)]);
    let circle = r#"<circle cx="16" cy="16" r="12" fill="none" stroke="red" stroke-width="4"
        pathLength="100" stroke-dasharray="25"/>"#;
    assert_painted(circle, &[(24, 24), (8, 8)], &[(8, 24), (24, 8)]);
}

#[test]
fn missing_dimensions_have_the_default_of_browsers() {
    let sides = |attributes: &str| {
        let rect = r#"<rect width="10" height="10" fill="red"/>"#;
        let text = format!(r#"<svg xmlns="http://www.w3.org/2000/svg" {attributes}>{rect}</svg>"#);
        let (_, pixels) = decode(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
        [pixels.width(), pixels.height()]
    };
    let cases = [
        ("", [32, 16]),
        (r#"width="100%" height="100%""#, [32, 16]),
        (r#"width="150""#, [32, 32]),
        (r#"height="300""#, [32, 32]),
        (r#"width="100" height="50""#, [32, 16]),
        (r#"viewBox="0 0 20 10" width="64""#, [32, 16]),
        (r#"viewBox="0 0 20 10" width="100%""#, [32, 16]),
        (r#"style="width:50px;height:50px""#, [32, 16]),
        (r#"viewBox="0 0 20 10" style="width:30px;height:60px""#, [32, 16]),
    ];
    for (attributes, expected) in cases {
        assert_eq!(sides(attributes), expected, "{attributes}");
    }
}

#[test]
fn the_root_is_transformed_around_its_centre() {
    for attribute in ["style=\"transform:scale(.5)\"", "transform=\"scale(.5)\""] {
        let rect = r#"<rect width="32" height="32" fill="red"/>"#;
        let root = r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32""#;
        let text = format!("{root} {attribute}>{rect}</svg>");
        let (_, pixels) = decode(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            [at(&pixels, 4, 4), at(&pixels, 10, 22), at(&pixels, 28, 28)],
            [CLEAR, RED, CLEAR]
        );
    }
}

#[test]
fn thin_lines_of_a_picture_one_pixel_high_are_drawn() {
    let bodies = [
        r#"<path d="M0 8H400" stroke="red" stroke-width="3"/>"#,
        r#"<rect y="4" width="400" height="4" fill="red"/>"#,
    ];
    for body in bodies {
        let text =
            format!(r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 16">{body}</svg>"#);
        let (_, pixels) = decode(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!([pixels.width(), pixels.height()], [32, 1]);
        assert!((30..90).contains(&at(&pixels, 16, 0)[3]), "{:?}", at(&pixels, 16, 0));
    }
}

#[test]
fn ids_in_the_document_do_not_collide_with_generated_ids() {
    let drawn_with = |id: &str| {
        let path = r#"pathLength="10" stroke-dasharray="2" stroke="red" stroke-width="4""#;
        drawn(&format!(r#"<path id="{id}" {path} d="M0 4H32"/><path {path} d="M0 14H8"/>"#))
    };
    assert_eq!(drawn_with("everytab-box-2"), drawn_with("a"));
}
