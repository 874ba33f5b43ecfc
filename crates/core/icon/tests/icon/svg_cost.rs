//! Tests the counted work for SVGs.

use everytab_icon::{IconError, MAX_SVG_WORK, convert::to_tab_icon, svg_work};

fn svg(body: &str) -> Vec<u8> {
    let root = r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">"#;
    format!("{root}{body}</svg>").into_bytes()
}

const SQUARE: &str = r#"<rect width="32" height="32" fill="red"/>"#;

/// Deterministic pseudo-random numbers (xorshift32, Marsaglia 2003).
struct Noise(u32);

impl Noise {
    fn below(&mut self, below: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0 % below
    }

    fn numbers(&mut self, command: char, count: usize, below: u32) -> String {
        let numbers: String = (0..count).map(|_| format!("{} ", self.below(below))).collect();
        format!("{command}{numbers}")
    }
}

/// Checks that `make(few)` is accepted and `make(many)` is rejected, and that the work grows nearly
/// in proportion to the count.
fn grows(name: &str, few: usize, many: usize, make: impl Fn(usize) -> String) {
    let work = |count| svg_work(&svg(&make(count)));
    let (one, two) = (work(few).unwrap_or_else(|e| panic!("{name}: {e}")), work(few * 2));
    if let Ok(two) = two {
        // Part of the work may not depend on the count, so doubling the count need only give 1.8
        // times the work.
        assert!(two * 10 >= one * 18, "{name}: {one} and {two} units");
        assert!(two <= MAX_SVG_WORK);
    }
    assert!(matches!(work(many), Err(IconError::SvgRefused { .. })), "{name} of {many}");
}

#[test]
fn work_grows_with_everything_that_takes_time() {
    grows("elements", 2_000, 18_000, |n| r#"<path d="M0 0h9v9"/>"#.repeat(n));
    let circles = |n| r#"<circle r="9" stroke="red"/>"#.repeat(n);
    grows("stroked shapes", 200, 9_000, circles);
    let lines = |width: &'static str| {
        move |n| {
            let mut noise = Noise(1);
            let lines: String = (0..n).map(|_| noise.numbers('L', 2, 32)).collect();
            format!(r#"<path stroke="red" stroke-width="{width}" d="M0 0{lines}"/>"#)
        }
    };
    grows("lines", 1_000, 20_000, lines("0"));
    grows("thin lines", 1_000, 20_000, lines(".5"));
    grows("thick lines", 300, 20_000, lines("9"));
    grows("curves", 500, 9_000, |n| {
        let mut noise = Noise(1);
        let curves: String = (0..n).map(|_| noise.numbers('C', 6, 32)).collect();
        format!(r#"<path d="M0 0{curves}"/>"#)
    });
    grows("arcs of large radii", 500, 9_000, |n| {
        let mut noise = Noise(1);
        let arcs: String =
            (0..n).map(|_| format!("A90000 80000 0 1 0 {} 9 ", noise.below(32))).collect();
        format!(r#"<path d="M0 0{arcs}"/>"#)
    });
    grows("layers", 100, 5_000, |n| format!(r#"<g opacity=".9">{SQUARE}</g>"#).repeat(n));
    let mask = format!(r#"<mask id="m">{SQUARE}</mask>"#);
    let masked = format!(r#"<g mask="url(#m)">{SQUARE}</g>"#);
    grows("masks", 50, 5_000, |n| format!("{mask}{}", masked.repeat(n)));
    let clip = format!(r#"<clipPath id="m">{SQUARE}</clipPath>"#);
    let clipped = format!(r#"<g clip-path="url(#m)">{SQUARE}</g>"#);
    grows("clip paths", 50, 5_000, |n| format!("{clip}{}", clipped.repeat(n)));
    let tile = r#"<pattern id="p" width=".1" height=".1"><circle r="1"/></pattern>"#;
    let tiled = r#"<rect width="32" height="32" fill="url(#p)"/>"#;
    grows("patterns", 20, 5_000, |n| format!("{tile}{}", tiled.repeat(n)));
    grows("stops of gradients", 1_500, 9_000, |n| {
        let gradient =
            format!(r#"<linearGradient id="g">{}</linearGradient>"#, "<stop/>".repeat(n));
        let shapes = r#"<rect width="32" height="32" fill="url(#g)"/>"#.repeat(100);
        format!("{gradient}{shapes}")
    });
    grows("declarations", 100, 5_000, |n| {
        format!("<style>*{{{}}}</style>{}", "fill:red;".repeat(n), "<a/>".repeat(2_000))
    });
    grows("questions of selectors", 80, 5_000, |n| {
        format!(
            "<style>{}</style>{}",
            "a~a~.x{fill:red}.x{}".repeat(n),
            "<a class='x'/>".repeat(300)
        )
    });
    grows("characters", 100, 5_000, |n| format!("<text y='9'>{}</text>", "a".repeat(n)));
    grows("parts of text", 60, 900, |n| format!("<text>{}</text>", "<tspan>a</tspan>".repeat(n)));
}

#[test]
fn work_grows_with_each_primitive_of_a_filter() {
    let kernel = "1 ".repeat(49);
    let convolve = format!(r#"<feConvolveMatrix order="7" kernelMatrix="{kernel}"/>"#);
    let merge = format!("<feMerge>{}</feMerge>", "<feMergeNode/>".repeat(4));
    let light = r#"<feSpecularLighting><fePointLight z="9"/></feSpecularLighting>"#;
    let primitives = [
        r#"<feGaussianBlur stdDeviation="1"/>"#,
        r#"<feDropShadow dx="1"/>"#,
        r#"<feTurbulence baseFrequency=".1"/>"#,
        r#"<feMorphology radius="9"/>"#,
        r#"<feColorMatrix values=".1"/>"#,
        "<feComponentTransfer><feFuncR type='gamma' exponent='2'/></feComponentTransfer>",
        r#"<feBlend mode="luminosity"/>"#,
        r#"<feDisplacementMap scale="3"/>"#,
        r#"<feFlood/>"#,
        r#"<feOffset dx="1"/>"#,
        "<feTile/>",
        &convolve,
        &merge,
        light,
    ];
    for primitive in primitives {
        grows(primitive, 4, 3_500, |n| {
            let filter = format!(r#"<filter id="f">{}</filter>"#, primitive.repeat(n));
            format!(r#"{filter}<g filter="url(#f)">{SQUARE}</g>"#)
        });
    }
    let octaves = r#"<filter id="f"><feTurbulence numOctaves="17" baseFrequency=".1"/></filter>"#;
    let error = svg_work(&svg(&format!(r#"{octaves}<g filter="url(#f)">{SQUARE}</g>"#)));
    assert_eq!(error, Err(IconError::SvgRefused { reason: "too many octaves in feTurbulence" }));
}

/// A 258 KB file with random lines and a thick stroke took 8 seconds, because the scan converter
/// compares all edges in a row with each other.
#[test]
fn a_path_with_many_crossing_lines_is_rejected() {
    let mut noise = Noise(7);
    let lines: String = (0..48_000).map(|_| noise.numbers('L', 2, 32)).collect();
    let style = r#"fill="none" stroke="red" stroke-width="30" stroke-linejoin="round""#;
    let path = svg(&format!(r#"<path {style} d="M0 0{lines}"/>"#));
    assert_eq!(svg_work(&path), Err(IconError::SvgRefused { reason: "too much to draw" }));
}

/// usvg took 0.8 seconds for a 220 KB style sheet with 20,000 rules, because its parser counts all
/// previous lines at the end of each declaration.
#[test]
fn work_for_declarations_is_linear() {
    let units = |text: &str| svg_work(text.as_bytes()).unwrap();
    let svg = |body: &str| String::from_utf8(svg(body)).unwrap();
    let own = |count| svg(&format!(r#"<g style="{}">{SQUARE}</g>"#, "fill:red;".repeat(count)));
    assert!(units(&own(20_000)) < 25 * units(&own(1_000)));
    let style = "fill:red;".repeat(1_000);
    let copies = r##"<use href="#a"/>"##.repeat(20);
    let copied = svg(&format!(r#"<g id="a" style="{style}">{SQUARE}</g>{copies}"#));
    assert!(units(&copied) < 2 * units(&own(1_000)));
    let sheet = |rules| svg(&format!("<style>{}</style>{SQUARE}", "*{fill:red}".repeat(rules)));
    assert!(units(&sheet(5_000)) < 6 * units(&sheet(1_000)));
}

/// Arcs with a radius of 10^9 caused a double panic in tiny-skia, which ends the process.
#[test]
fn curves_far_outside_the_picture_are_rejected() {
    let mut noise = Noise(3);
    let arcs: String = (0..2_000)
        .map(|_| {
            let (rx, ry) = (noise.below(99_000_000), noise.below(99_000_000));
            format!("A{rx} {ry} 0 1 1 {} {}", noise.below(90_000_000), noise.below(90_000_000))
        })
        .collect();
    let stroked = svg(&format!(r#"<path stroke="red" d="M0 0{arcs}"/>"#));
    assert!(matches!(svg_work(&stroked), Err(IconError::SvgRefused { .. })));
    let reason = Err(IconError::SvgRefused { reason: "a shape too far outside" });
    for far_shape in [
        r#"<path d="M-1 0C3 9000000 9000000 8 9 9"/>"#,
        r#"<g transform="scale(99999)"><path d="M0 0L9999 9999V0"/></g>"#,
    ] {
        assert_eq!(svg_work(&svg(far_shape)), reason, "{far_shape}");
    }
    // Each of these curves could take up to half a second, because the curve or its stroke is very
    // large.
    let too_much = Err(IconError::SvgRefused { reason: "too much to draw" });
    let curve = |attributes: &str, size: u32| {
        svg(&format!(r#"<path {attributes} stroke="red" d="M0 0C9 {size} {size} 5 9 9"/>"#))
    };
    for (attributes, size) in [
        ("", 3_000_000),
        ("stroke-width='9999999'", 9),
        ("style='stroke-width: 9999999px'", 9),
        ("stroke-width='99999in'", 9),
        ("stroke-width='99999999%'", 9),
        ("transform='rotate(3) scale(9999)'", 9_000),
    ] {
        assert_eq!(svg_work(&curve(attributes, size)), too_much, "{attributes}");
    }
    let nested = r#"<svg viewBox="0 0 .001 .001"><g transform="rotate(9)">"#;
    let nested = format!(r#"{nested}<path stroke="red" d="M0 0C0 9 9 9 9 0"/></g></svg>"#);
    assert_eq!(svg_work(&svg(&nested)), too_much);
}

fn same(far: &str, near: &str) {
    let drawn = to_tab_icon(&svg(far)).unwrap_or_else(|error| panic!("{error}: {far}"));
    assert!(drawn == to_tab_icon(&svg(near)).unwrap(), "{far}");
}

#[test]
fn large_shapes_are_clipped_to_the_picture() {
    let blue = r#"<rect width="32" height="32" fill="blue"/>"#;
    same(r#"<rect x="-40000" y="-9" width="90000000" height="99999" fill="blue"/>"#, blue);
    same(r#"<path d="M-500000-9h90000000v99h-90000000z" fill="blue"/>"#, blue);
    same(r#"<g transform="scale(9999)"><path d="M-1-1h9v9h-9z" fill="blue"/></g>"#, blue);
    same(r#"<circle r="90000" fill="blue"/>"#, blue);
    let line = r#"<path d="M0-9V99" stroke="red" stroke-width="20"/>"#;
    same(r#"<path d="M0-9V9999999" stroke="red" stroke-width="20"/>"#, line);
    let wide = r#"<path d="M-60 16H99" stroke="red" stroke-width="200"/>"#;
    same(r#"<path d="M-60 16H99" stroke="red" stroke-width="99999"/>"#, wide);
    let thin = r#"<path d="M9-9V99" stroke="red" stroke-width=".5"/>"#;
    same(r#"<path d="M9-9V99999" stroke="red" stroke-width=".5"/>"#, thin);
    let flat = r#"<path d="M3 28l-3 37a15200479 15200479 0 0 1 28 29z"/>"#;
    same(flat, r#"<path d="M3 28l-3 37a15200 15200 0 0 1 28 29z"/>"#);
}

#[test]
fn shapes_outside_the_picture_are_invisible() {
    for outside in [
        r#"<circle cx="9000000" r="9"/>"#,
        r#"<path d="M90000000 3C3 90000000 8 9 90000000 90000000z" transform="translate(99)"/>"#,
        r#"<path d="M99999 3V99999" stroke="red" stroke-width="9"/>"#,
        r#"<path d="M99999 3V99999" stroke="red" stroke-width=".1"/>"#,
        r#"<rect x="-99999999" width="9999" height="9999"/>"#,
        r#"<g transform="translate(99999999 99999999)"><path d="M0 0Q9 9 0 9z"/></g>"#,
        r#"<text x="99999999">a</text>"#,
        r#"<g opacity=".5"><rect x="9999999" width="9999" height="9999"/></g>"#,
    ] {
        same(&format!("{SQUARE}{outside}"), SQUARE);
    }
}

/// Coats of arms in flags have up to 4,000 stroked curves, coordinates up to 7,168, and many
/// copies.
#[test]
fn drawings_of_thousands_of_stroked_curves_are_accepted() {
    let mut noise = Noise(5);
    let mut curves = |count: usize, side: u32| -> String {
        let shape = |_| {
            let start = noise.numbers('M', 2, side);
            let four: String = (0..4).map(|_| noise.numbers('c', 6, side / 20)).collect();
            format!("{start}{four}z")
        };
        (0..count / 4).map(shape).collect()
    };
    let accepted = |body: &str| {
        let work = svg_work(&svg(body)).unwrap_or_else(|error| panic!("{error}"));
        assert!(work < MAX_SVG_WORK / 2, "{work}");
    };
    let scaled = |scale: &str, width: &str, data: &str| {
        let transform = format!(r#"<g transform="scale({scale})" stroke="black""#);
        format!(r#"{transform} stroke-width="{width}"><path fill="red" d="{data}"/></g>"#)
    };
    accepted(&scaled(".05", "1", &curves(2_000, 600)));
    accepted(&scaled(".01", "3", &curves(1_000, 2_400)));
    accepted(&scaled(".004", "512", &curves(400, 7_168)));
    let arcs: String =
        (0..100).map(|_| "a11062 11062 0 0028-15.3 11062 11062 0 00-28 15.3").collect();
    accepted(&scaled(".06", "22", &format!("M9 99{arcs}")));
    let part = format!(r#"<path id="p" d="{}"/>"#, curves(100, 600));
    let copies: String =
        (0..10).map(|at| format!(r##"<use href="#p" x="{at}" stroke="red"/>"##)).collect();
    accepted(&format!(r#"<defs>{part}</defs><g transform="scale(.05)">{copies}</g>"#));
    let filled = format!(r#"<path d="{}"/>"#, curves(4_000, 1_600));
    let copy = r##"<g transform="scale(.02)" stroke="red"><use href="#s"/></g>"##;
    let sheet = "<style>.s{stroke:red}</style>";
    let small = r#"<path id="s" class="s" d="M0 0Q9 9 0 9"/>"#;
    accepted(&format!(r#"{sheet}{small}<g transform="scale(.02)">{filled}</g>{copy}"#));
}

/// Weather icons have symbols inside symbols, each drawn at the size of its viewBox.
#[test]
fn nested_symbols_are_counted_at_their_drawn_size() {
    let mut noise = Noise(7);
    let flake: String = (0..25).map(|_| noise.numbers('C', 6, 49)).collect();
    let symbols = |sides: &str| {
        let mut all = format!(
            r#"<symbol id="s0" viewBox="0 0 156 49" stroke="red"><path
            d="M0 0{flake}"/></symbol>"#
        );
        for level in 1..4 {
            all += &format!(
                r##"<symbol id="s{level}" viewBox="0 0 156 49"><use {sides}
                href="#s{}"/></symbol>"##,
                level - 1
            );
        }
        all + &format!(r##"<use {sides} href="#s3"/>"##)
    };
    for sides in [r#"width="156" height="49""#, r#"width="100%" height="49""#, r#"width="156""#] {
        let work = svg_work(&svg(&symbols(sides))).unwrap_or_else(|error| panic!("{error}"));
        assert!(work < MAX_SVG_WORK / 2, "{work}");
    }
    // Each of these symbols enlarges its content by a factor of 1,000.
    let large = symbols(r#"width="156000" height="49000""#);
    assert!(matches!(svg_work(&svg(&large)), Err(IconError::SvgRefused { .. })));
}

#[test]
fn random_drawings_are_within_the_work_limit_or_rejected() {
    let pieces = ["M", "L", "C", "Q", "A", "T", "S", "H", "V", "z"];
    let counts = [2, 2, 6, 4, 0, 2, 4, 1, 1, 0];
    for seed in 1..200 {
        let mut noise = Noise(0x9E37_79B9_u32.wrapping_mul(seed) | 1);
        let mut data = "M1 1".to_owned();
        let below = [32, 99, 5_000, 500_000][noise.below(4) as usize];
        for _ in 0..noise.below(60) {
            let piece = noise.below(10) as usize;
            data += &noise.numbers(pieces[piece].chars().next().unwrap(), counts[piece], below);
            if pieces[piece] == "A" {
                let (rx, ry) = (noise.below(below), noise.below(below));
                data += &format!("{rx} {ry} 30 {} 1 {} 9", noise.below(2), noise.below(below));
            }
        }
        let (width, turn) = (noise.below(40), noise.below(360));
        let style = format!(r#"stroke="red" stroke-width="{width}" transform="rotate({turn})""#);
        let dashes = ["", r#" stroke-dasharray="3 .5""#][noise.below(2) as usize];
        let file = svg(&format!(r#"<path {style}{dashes} d="{data}"/>"#));
        match to_tab_icon(&file) {
            Err(error @ IconError::DecoderPanicked { .. }) => panic!("{error}: {data}"),
            Err(IconError::Corrupt { reason, .. }) => panic!("{reason}: {data}"),
            _ => {}
        }
        assert!(
            svg_work(&file).is_ok_and(|work| work <= MAX_SVG_WORK) || to_tab_icon(&file).is_err()
        );
    }
}
