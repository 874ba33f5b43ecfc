//! Tests SVG features other than shapes.

use std::io::Cursor;

use base64::{Engine, engine::general_purpose::STANDARD};
use everytab_icon::{Format, Pixels, decode::decode, svg_work};

fn svg(body: &str) -> String {
    let xlink = r#"xmlns:xlink="http://www.w3.org/1999/xlink""#;
    let root = format!(r#"<svg xmlns="http://www.w3.org/2000/svg" {xlink} viewBox="0 0 32 32">"#);
    format!("{root}{body}</svg>")
}

pub(crate) fn drawn(body: &str) -> Pixels {
    let text = svg(body);
    let (measured, pixels) = decode(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(measured.format, Format::Svg);
    pixels
}

pub(crate) fn at(pixels: &Pixels, x: u32, y: u32) -> [u8; 4] {
    let start = ((y * pixels.width() + x) * 4) as usize;
    *pixels.rgba()[start..].first_chunk().unwrap()
}

pub(crate) fn refusal(body: &str) -> String {
    svg_work(svg(body).as_bytes()).expect_err("the SVG is accepted").to_string()
}

fn data_url(mime: &str, bytes: &[u8]) -> String {
    format!("data:{mime};base64,{}", STANDARD.encode(bytes))
}

fn halves(width: u32, height: u32) -> Vec<u8> {
    let pixel = |x: u32| if x < width / 2 { [255, 0, 0, 255] } else { [0, 0, 255, 255] };
    let rgba = (0..height).flat_map(|_| (0..width).flat_map(pixel)).collect();
    everytab_icon::png::encode(&Pixels::new(width, height, rgba).unwrap())
}

const RED: [u8; 4] = [255, 0, 0, 255];
const BLUE: [u8; 4] = [0, 0, 255, 255];
const CLEAR: [u8; 4] = [0; 4];
const SQUARE: &str = r#"<rect x="8" y="8" width="16" height="16" fill="red"/>"#;

#[test]
fn a_filter_blurs_moves_and_colours() {
    let blur = r#"<filter id="f"><feGaussianBlur stdDeviation="2"/></filter>"#;
    let pixels = drawn(&format!(r#"{blur}<g filter="url(#f)">{SQUARE}</g>"#));
    assert_eq!(at(&pixels, 16, 16), RED);
    let edge = at(&pixels, 8, 16)[3];
    assert!((100..160).contains(&edge), "{edge}");
    let css = drawn(&format!(r#"<g style="filter:drop-shadow(4px 0 0 blue)">{SQUARE}</g>"#));
    assert_eq!((at(&css, 16, 16), at(&css, 26, 16), at(&css, 5, 16)), (RED, BLUE, CLEAR));
    let grey = drawn(&format!(r#"<g style="filter:grayscale(1)">{SQUARE}</g>"#));
    let [red, green, blue, _] = at(&grey, 16, 16);
    assert!(red == green && green == blue && (40..70).contains(&red), "{red}");
}

#[test]
fn masks_blend_modes_and_patterns_are_drawn() {
    let mask = r#"<mask id="m"><rect width="16" height="32" fill="white"/></mask>"#;
    let masked = drawn(&format!(r#"{mask}<g mask="url(#m)">{SQUARE}</g>"#));
    assert_eq!((at(&masked, 12, 16), at(&masked, 20, 16)), (RED, CLEAR));
    let ground = r##"<rect width="32" height="32" fill="#0ff"/>"##;
    let blended = |mode: &str| {
        let group = format!(r#"<g style="mix-blend-mode:{mode}">{SQUARE}</g>"#);
        at(&drawn(&format!("{ground}{group}")), 16, 16)
    };
    assert_eq!(blended("multiply"), [0, 0, 0, 255]);
    assert_eq!(blended("screen"), [255; 4]);
    assert_eq!(blended("difference"), [255; 4]);
    let pattern = r#"<pattern id="p" width="16" height="16" patternUnits="userSpaceOnUse">
        <rect width="8" height="16" fill="red"/></pattern>
        <rect width="32" height="32" fill="url(#p)"/>"#;
    let pattern = drawn(pattern);
    assert_eq!((at(&pattern, 20, 4), at(&pattern, 28, 4)), (RED, CLEAR));
}

#[test]
fn styles_and_current_colour_are_applied() {
    let style = "<style>.a{fill:blue} #b{fill:currentColor} g > .c{opacity:0}</style>";
    let shapes = r#"<rect class="a" width="16" height="32"/><g color="red">
        <rect id="b" x="16" width="16" height="32"/><rect class="c" width="32" height="32"/></g>"#;
    let pixels = drawn(&format!("{style}{shapes}"));
    assert_eq!((at(&pixels, 4, 16), at(&pixels, 28, 16)), (BLUE, RED));
}

#[test]
fn the_root_may_have_a_background_colour() {
    let pixels_of = |style: &str| {
        let rect = r#"<rect width="16" height="32" fill="red"/>"#;
        let root = r#"xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32""#;
        let text = format!(r#"<svg {root} style="{style}">{rect}</svg>"#);
        decode(text.as_bytes()).unwrap_or_else(|error| panic!("{error}")).1
    };
    for style in [
        "background:#00f",
        "color:red; background-color: blue !important",
        "background: url(a.png); background: rgb(0, 0, 255); background: linear-gradient(red, red)",
        "background:/* no */blue;",
    ] {
        let pixels = pixels_of(style);
        assert_eq!((at(&pixels, 4, 16), at(&pixels, 28, 16)), (RED, BLUE), "{style}");
    }
    for style in ["", "enable-background:new 0 0 32 32", "background:none", "background:1", "blue"]
    {
        assert_eq!(at(&pixels_of(style), 28, 16)[3], 0, "{style}");
    }
}

#[test]
fn embedded_pictures_are_drawn_at_their_position() {
    let png = data_url("image/png", &halves(64, 32));
    let wide = drawn(&format!(r#"<image width="32" height="32" href="{png}"/>"#));
    assert_eq!((at(&wide, 4, 16), at(&wide, 28, 16), at(&wide, 4, 4)), (RED, BLUE, CLEAR));
    // Without a width and height, the picture has its original dimensions, not those to which we
    // scaled it.
    let own = drawn(&format!(r#"<g transform="scale(.5)"><image xlink:href="{png}"/></g>"#));
    assert_eq!((at(&own, 4, 8), at(&own, 28, 8), at(&own, 4, 20)), (RED, BLUE, CLEAR));
    // Drawing programs write a picture as a pattern.
    let pattern = format!(
        r##"<pattern id="p" patternContentUnits="objectBoundingBox" width="1" height="1">
        <use xlink:href="#i" transform="scale(.015625 .03125)"/></pattern>
        <rect width="32" height="32" fill="url(#p)"/>
        <defs><image id="i" width="64" height="32" xlink:href="{png}"/></defs>"##
    );
    let pattern = drawn(&pattern);
    assert_eq!((at(&pattern, 4, 4), at(&pattern, 28, 28)), (RED, BLUE));
}

#[test]
fn each_embeddable_format_is_drawn() {
    let vectors: [(&str, &[u8]); 2] = [
        ("image/jpeg", include_bytes!("../../vectors/gradient.jpg")),
        ("image/webp", include_bytes!("../../vectors/gradient.webp")),
    ];
    let mut gif = Vec::new();
    let mut encoder = gif::Encoder::new(&mut gif, 1, 1, &[255, 0, 0]).unwrap();
    encoder.write_frame(&gif::Frame::from_indexed_pixels(1, 1, [0], None)).unwrap();
    drop(encoder);
    let inner = svg(r#"<rect width="32" height="32" fill="red"/>"#);
    let all = [("image/gif", gif.as_slice()), ("image/svg+xml", inner.as_bytes())];
    for (mime, bytes) in vectors.into_iter().chain(all) {
        let url = data_url(mime, bytes);
        let pixels = drawn(&format!(r#"<image width="32" height="32" href="{url}"/>"#));
        assert_eq!(at(&pixels, 16, 16)[3], 255, "{mime}");
    }
    for bytes in [&halves(9, 9)[..40], b"no picture"] {
        let url = data_url("image/png", bytes);
        let pixels = drawn(&format!(r#"{SQUARE}<image width="32" height="32" href="{url}"/>"#));
        assert_eq!((at(&pixels, 16, 16), at(&pixels, 2, 2)), (RED, CLEAR));
    }
}

#[test]
fn text_has_the_shapes_of_the_bundled_font() {
    let letter = |attributes: &str| {
        drawn(&format!(r#"<text x="4" y="28" font-size="34" fill="red"{attributes}>I</text>"#))
    };
    let plain = letter("");
    // The stem of the letter I is 0.09 em wide and centred in 0.28 em.
    assert_eq!((at(&plain, 8, 16), at(&plain, 14, 16)), (RED, CLEAR));
    for family in ["Arial", "serif", "No Such Font, fantasy"] {
        assert_eq!(letter(&format!(r#" font-family="{family}""#)), plain);
    }
    assert_eq!(letter(r#" font-weight="bold" font-style="italic""#), plain);
    let stroked = letter(r#" stroke="blue" stroke-width="2""#);
    assert!(stroked.iter().any(|pixel| pixel == BLUE));
    assert_eq!(refusal("<text>\u{4e2d}</text>"), "svg refused: text that the font lacks");
    for emoji in ["\u{1f525}", "\u{26a1}", "\u{2764}\u{fe0f}", "1\u{fe0f}\u{20e3}", "\u{1f1e9}"] {
        let reason = "svg refused: an emoji or symbol that the font lacks";
        assert_eq!(refusal(&format!("<text>a{emoji}</text>")), reason, "{emoji}");
    }
}

#[test]
fn features_that_differ_between_machines_are_rejected_by_name() {
    for mode in ["color-burn", "color-dodge"] {
        let reason = format!("svg refused: blend mode {mode}");
        let group = format!(r#"{SQUARE}<g style="mix-blend-mode:{mode}">{SQUARE}</g>"#);
        assert_eq!(refusal(&group), reason);
        let blend = format!(r#"<filter id="f"><feBlend mode="{mode}"/></filter>"#);
        assert_eq!(refusal(&format!(r#"{blend}<g filter="url(#f)">{SQUARE}</g>"#)), reason);
    }
}

#[test]
fn embedded_pictures_are_bounded_in_number_size_and_depth() {
    let image = |url: &str| format!(r#"<image width="9" height="9" href="{url}"/>"#);
    let small = image(&data_url("image/png", &halves(4, 4)));
    assert_eq!(refusal(&small.repeat(65)), "svg refused: too many embedded pictures");
    let huge = image(&data_url("image/png", &empty_png(9000, 9000)));
    assert_eq!(refusal(&huge), "svg refused: an embedded picture too large");
    let many = image(&data_url("image/png", &empty_png(2048, 2048)));
    assert_eq!(refusal(&many), "svg refused: too much to draw");
    let nested = |body: &str| image(&data_url("image/svg+xml", svg(body).as_bytes()));
    assert_eq!(refusal(&nested(&nested(SQUARE))), "svg refused: an SVG in an SVG in an SVG");
    // All embedded pictures share one budget, so 200 shapes in each of 60 pictures are too many.
    let shapes = nested(&SQUARE.repeat(100));
    assert!(svg_work(svg(&shapes.repeat(2)).as_bytes()).is_ok());
    let circles = nested(&r#"<circle r="40" fill="red"/>"#.repeat(200));
    assert_eq!(refusal(&circles.repeat(60)), "svg refused: too much to draw");
}

fn empty_png(width: u32, height: u32) -> Vec<u8> {
    let mut file = Cursor::new(Vec::new());
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(png::ColorType::Grayscale);
    drop(encoder.write_header());
    file.into_inner()
}

/// The expected pixels are from Chromium 156. The fallback colour must not be used.
#[test]
fn colours_of_every_space_are_as_in_chromium() {
    let cases: [(&str, [u8; 4]); 51] = [
        ("color(display-p3 0.5252 0.2300 1.0000)", [145, 53, 255, 255]),
        ("color(display-p3 1 0 0)", [255, 0, 0, 255]),
        ("color(display-p3 0 1 0)", [0, 255, 0, 255]),
        ("color(display-p3 0 0 1 / 0.5)", [0, 0, 255, 128]),
        ("color(display-p3 1.0000 0.8891 0.3348)", [255, 225, 40, 255]),
        ("color(display-p3 50% 20% none / 40%)", [138, 45, 0, 102]),
        ("COLOR(Display-P3 .1 .2 .3)", [15, 52, 79, 255]),
        ("color(display-p3 1 1 1 / 2)", [255, 255, 255, 255]),
        ("color(display-p3 -0.2 0.5 1.5)", [0, 130, 255, 255]),
        ("color(srgb 0.2 0.4 0.6)", [51, 102, 153, 255]),
        ("color(srgb 1.5 -0.3 0.5)", [255, 0, 128, 255]),
        ("color(srgb-linear 0.2 0.4 0.6)", [124, 170, 203, 255]),
        ("color(a98-rgb 0.2 0.8 0.1)", [0, 205, 0, 255]),
        ("color(prophoto-rgb 0.3 0.6 0.1)", [0, 181, 0, 255]),
        ("color(rec2020 0.1 0.7 0.4)", [0, 196, 106, 255]),
        ("color(xyz 0.3 0.2 0.1)", [206, 84, 81, 255]),
        ("color(xyz-d50 0.3 0.2 0.1)", [198, 86, 96, 255]),
        ("color(xyz-d65 0.3 0.2 0.1)", [206, 84, 81, 255]),
        ("lab(50% 40 -60)", [140, 94, 223, 255]),
        ("lab(29.2345 39.3825 20.0664)", [125, 35, 41, 255]),
        ("lab(120 10 10)", [255, 248, 236, 255]),
        ("lab(50 200 200)", [255, 0, 0, 255]),
        ("lch(52.2345% 72.2 56.2)", [198, 93, 6, 255]),
        ("lch(52.2345 72.2 0.2turn / 30%)", [176, 109, 0, 77]),
        ("lch(0 100 30)", [91, 0, 0, 255]),
        ("lch(100 60 30)", [255, 213, 200, 255]),
        ("oklab(40.1% 0.1143 0.045)", [125, 36, 41, 255]),
        ("oklab(0.6 -100% 50%)", [0, 186, 0, 255]),
        ("oklch(0.7 0.15 250)", [75, 163, 247, 255]),
        ("oklch(70% 0.15 250deg)", [75, 163, 247, 255]),
        ("oklch(63.7% 0.237 25.331)", [251, 44, 54, 255]),
        ("oklch(0.9 0.4 140)", [0, 255, 0, 255]),
        ("oklch(0.2 0.4 300)", [72, 0, 173, 255]),
        ("oklch(1 0.4 300)", [255, 157, 255, 255]),
        ("oklch(0 0.4 300)", [37, 0, 103, 255]),
        ("oklch(0.5 none 100)", [99, 99, 99, 255]),
        ("oklch(0.5 0.1 none)", [144, 73, 97, 255]),
        ("oklch(0.5 50% 3.1rad)", [0, 131, 98, 255]),
        ("hwb(194 0% 0%)", [0, 195, 255, 255]),
        ("hwb(194 20% 30% / 0.5)", [52, 149, 179, 128]),
        ("rgb(10 20 30)", [10, 20, 30, 255]),
        ("rgb(10 20 30 / 50%)", [10, 20, 30, 128]),
        ("rgb(10% 20% 30% / .5)", [26, 52, 78, 128]),
        ("rgb(300 -20 30.6)", [255, 0, 31, 255]),
        ("rgba(10, 20, 30, 50%)", [10, 20, 30, 128]),
        ("hsl(120 50% 40%)", [51, 153, 51, 255]),
        ("hsl(120deg 50% 40% / 50%)", [52, 153, 52, 128]),
        ("hsl(0.3turn, 50%, 40%)", [71, 153, 51, 255]),
        ("hsla(120,50%,40%,.3)", [50, 152, 50, 77]),
        ("rgb(none 20 30)", [0, 20, 30, 255]),
        ("hsl(none 50% 40%)", [153, 51, 51, 255]),
    ];
    for (colour, expected) in cases {
        for body in [
            format!(r#"<rect width="32" height="32" style="fill:#040506;fill:{colour}"/>"#),
            format!(r#"<rect width="32" height="32" fill="{colour}"/>"#),
            format!(r#"<style>rect {{ fill: {colour} }}</style><rect width="32" height="32"/>"#),
        ] {
            let drawn = at(&drawn(&body), 16, 16);
            let is_near = drawn.iter().zip(expected).all(|(a, b)| a.abs_diff(b) <= 2);
            assert!(is_near, "{body}: {drawn:?}, {expected:?}");
        }
    }
}

#[test]
fn gradients_support_other_colour_spaces() {
    let stops = r#"<stop style="stop-color:lime;stop-color:color(display-p3 1 0 0)"/>"#;
    let gradient = format!(r#"<linearGradient id="g">{stops}</linearGradient>"#);
    let pixels = drawn(&format!(r#"{gradient}<rect width="32" height="32" fill="url(#g)"/>"#));
    assert_eq!(at(&pixels, 16, 16), RED);
}
