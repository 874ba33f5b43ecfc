//! Converts CSS basic shapes to SVG path data: `inset`, `rect`, `xywh`, `circle`, `ellipse`,
//! `polygon` and `path`.

use std::fmt::Write;

use cssparser::{Parser, Token};

use super::{
    svg_lengths::{Quantity, nested, quantity},
    svg_transforms::{ReferenceBox, position},
};

/// Position of the control points, relative to the radius, in a cubic curve that approximates a
/// quarter circle.
const ARC: f64 = 0.552_284_75;
const BOXES: [&str; 7] = [
    "border-box",
    "padding-box",
    "content-box",
    "margin-box",
    "fill-box",
    "stroke-box",
    "view-box",
];

pub(crate) struct Shape {
    pub(crate) data: String,
    pub(crate) is_even_odd: bool,
}

pub(crate) fn is_shape(value: &str) -> bool {
    box_of(value).is_some() && shape(value, ReferenceBox::default()).is_some()
}

pub(crate) fn box_of(value: &str) -> Option<&'static str> {
    let mut input = Parser::new(value);
    let mut found = None;
    let mut functions = 0;
    while let Ok(token) = input.next() {
        match token {
            Token::Ident(name) if found.is_none() => {
                found = Some(*BOXES.iter().find(|known| known.eq_ignore_ascii_case(name))?);
            }
            Token::Function(_) if functions == 0 => functions += 1,
            _ => return None,
        }
    }
    Some(found.unwrap_or(BOXES[0])).filter(|_| functions > 0 || found.is_some())
}

/// If the value has no shape, returns the box itself. `None` if the value is invalid.
pub(crate) fn shape(value: &str, reference: ReferenceBox) -> Option<Shape> {
    let mut input = Parser::new(value);
    loop {
        let name = match input.next() {
            Ok(Token::Function(name)) => name.to_ascii_lowercase(),
            Ok(Token::Ident(_)) => continue,
            Ok(_) => return None,
            Err(_) => {
                let ReferenceBox { x, y, width, height } = reference;
                let data = rounded([x, y, x + width, y + height], [[0.0; 2]; 4]);
                return Some(Shape { data, is_even_odd: false });
            }
        };
        return nested(&mut input, |input| {
            let mut data = String::new();
            let mut is_even_odd = false;
            match name.as_str() {
                "inset" | "rect" | "xywh" => data = rectangle(&name, input, reference)?,
                "circle" | "ellipse" => data = ellipse(name == "circle", input, reference)?,
                "polygon" => {
                    is_even_odd = rule(input)?;
                    polygon(input, reference, &mut data)?;
                }
                "path" => {
                    is_even_odd = rule(input)?;
                    let path = input.expect_string().ok()?.to_string();
                    data = moved(&path, reference)?;
                }
                _ => return None,
            }
            Some(Shape { data, is_even_odd })
        });
    }
}

/// Returns an empty string for `none`.
pub(crate) fn path_function(value: &str) -> Option<String> {
    let mut input = Parser::new(value);
    if input.expect_function_matching("path").is_err() {
        return value.eq_ignore_ascii_case("none").then(String::new);
    }
    nested(&mut input, |input| Some(input.expect_string().ok()?.to_string()))
}

fn rule(input: &mut Parser) -> Option<bool> {
    let Ok(rule) = input.try_parse(|input| input.expect_ident_cloned()) else { return Some(false) };
    input.expect_comma().ok()?;
    match rule.to_ascii_lowercase().as_str() {
        "evenodd" => Some(true),
        "nonzero" => Some(false),
        _ => None,
    }
}

/// Moves a path so that its origin is the box's upper left corner.
fn moved(data: &str, reference: ReferenceBox) -> Option<String> {
    let mut written = String::new();
    for (index, segment) in svgtypes::SimplifyingPathParser::from(data).enumerate() {
        use svgtypes::SimplePathSegment as Segment;
        // As in browsers, the segments before an error are drawn.
        let Ok(segment) = segment else { return (index > 0).then_some(written) };
        let at = |x: f64, y: f64| format!("{} {} ", x + reference.x, y + reference.y);
        let _ = match segment {
            Segment::MoveTo { x, y } => write!(written, "M{}", at(x, y)),
            Segment::LineTo { x, y } => write!(written, "L{}", at(x, y)),
            Segment::CurveTo { x1, y1, x2, y2, x, y } => {
                write!(written, "C{}{}{}", at(x1, y1), at(x2, y2), at(x, y))
            }
            Segment::Quadratic { x1, y1, x, y } => write!(written, "Q{}{}", at(x1, y1), at(x, y)),
            Segment::ClosePath => write!(written, "Z"),
        };
    }
    Some(written)
}

fn polygon(input: &mut Parser, reference: ReferenceBox, data: &mut String) -> Option<()> {
    loop {
        let x = reference.x + quantity(input)?.length(reference.width)?;
        let y = reference.y + quantity(input)?.length(reference.height)?;
        let _ = write!(data, "{}{x} {y}", if data.is_empty() { 'M' } else { 'L' });
        if input.is_exhausted() {
            data.push('Z');
            return Some(());
        }
        input.expect_comma().ok()?;
    }
}

enum Radius {
    Length(f64),
    Closest,
    Farthest,
}

fn ellipse(is_circle: bool, input: &mut Parser, reference: ReferenceBox) -> Option<String> {
    let ReferenceBox { x, y, width, height } = reference;
    let diagonal = (width * width + height * height).sqrt() / std::f64::consts::SQRT_2;
    let mut radii = Vec::new();
    let mut centre = (width / 2.0, height / 2.0);
    while !input.is_exhausted() {
        let state = input.state();
        let word = match input.next().ok()? {
            Token::Ident(word) => Some(word.to_ascii_lowercase()),
            _ => None,
        };
        match word.as_deref() {
            Some("at") => {
                centre = position(input, reference)?;
                input.expect_exhausted().ok()?;
            }
            Some("closest-side") => radii.push(Radius::Closest),
            Some("farthest-side") => radii.push(Radius::Farthest),
            Some(_) => return None,
            None => {
                input.reset(&state);
                let whole = match (is_circle, radii.len()) {
                    (true, _) => diagonal,
                    (false, 0) => width,
                    (false, _) => height,
                };
                let length = quantity(input)?.length(whole)?;
                radii.push(Radius::Length(if length >= 0.0 { length } else { return None }));
            }
        }
    }
    let across = [centre.0, width - centre.0].map(f64::abs);
    let down = [centre.1, height - centre.1].map(f64::abs);
    let radius = |radius: Option<&Radius>, sides: &[f64]| match radius {
        Some(Radius::Length(length)) => *length,
        Some(Radius::Farthest) => sides.iter().copied().fold(0.0, f64::max),
        _ => sides.iter().copied().fold(f64::INFINITY, f64::min),
    };
    let (rx, ry) = match radii.as_slice() {
        [] | [_] if is_circle => {
            let all = [across, down].concat();
            let radius = radius(radii.first(), &all);
            (radius, radius)
        }
        [] | [_, _] if !is_circle => (radius(radii.first(), &across), radius(radii.get(1), &down)),
        _ => return None,
    };
    let (left, top) = (x + centre.0 - rx, y + centre.1 - ry);
    Some(rounded([left, top, left + 2.0 * rx, top + 2.0 * ry], [[rx, ry]; 4]))
}

fn rectangle(name: &str, input: &mut Parser, reference: ReferenceBox) -> Option<String> {
    let ReferenceBox { x, y, width, height } = reference;
    let mut lengths = Vec::new();
    let is_round = |input: &mut Parser<'_>| {
        input.try_parse(|input| input.expect_ident_matching("round")).is_ok()
    };
    let mut corners = [[0.0; 2]; 4];
    while !input.is_exhausted() {
        if is_round(input) {
            corners = radii(input, reference)?;
            break;
        }
        // `xywh` lists x, y, width and height. The other shapes list the top, right, bottom and
        // left edge.
        let is_across = (lengths.len() % 2 == 1) != (name == "xywh");
        let whole = if is_across { width } else { height };
        let is_auto = input.try_parse(|input| input.expect_ident_matching("auto")).is_ok();
        lengths.push(if is_auto { None } else { Some(quantity(input)?.length(whole)?) });
    }
    let mut sides = match (name, lengths.as_slice()) {
        ("inset", all) => {
            let all: Vec<f64> = all.iter().copied().collect::<Option<_>>()?;
            let [top, right, bottom, left] = four(&all)?;
            // If opposite insets overlap, reduce both in proportion.
            let shrink = |one: f64, other: f64, whole: f64| {
                let sum = one + other;
                if sum > whole && sum > 0.0 { whole / sum } else { 1.0 }
            };
            let (across, down) = (shrink(left, right, width), shrink(top, bottom, height));
            [left * across, top * down, width - right * across, height - bottom * down]
        }
        ("rect", &[top, right, bottom, left]) => {
            let (top, left) = (top.unwrap_or(0.0), left.unwrap_or(0.0));
            let (right, bottom) = (right.unwrap_or(width), bottom.unwrap_or(height));
            [left, top, right.max(left), bottom.max(top)]
        }
        ("xywh", &[Some(x), Some(y), Some(width), Some(height)]) => [x, y, x + width, y + height],
        _ => return None,
    };
    for (index, side) in sides.iter_mut().enumerate() {
        *side += if index % 2 == 0 { x } else { y };
    }
    Some(rounded(sides, corners))
}

fn four(all: &[f64]) -> Option<[f64; 4]> {
    Some(match *all {
        [a] => [a; 4],
        [a, b] => [a, b, a, b],
        [a, b, c] => [a, b, c, b],
        [a, b, c, d] => [a, b, c, d],
        _ => return None,
    })
}

fn radii(input: &mut Parser, reference: ReferenceBox) -> Option<[[f64; 2]; 4]> {
    let mut all = [Vec::new(), Vec::new()];
    let mut down = 0;
    while !input.is_exhausted() {
        if input.try_parse(|input| input.expect_delim('/')).is_ok() {
            down += 1;
            continue;
        }
        all.get_mut(down)?.push(quantity(input)?);
    }
    let lengths = |all: &[Quantity], whole: f64| {
        let all: Option<Vec<f64>> = all.iter().map(|it| it.length(whole)).collect();
        four(&all?).filter(|all| all.iter().all(|it| *it >= 0.0))
    };
    let across = lengths(&all[0], reference.width)?;
    let down = lengths(&all[if down == 0 { 0 } else { 1 }], reference.height)?;
    Some([0, 1, 2, 3].map(|corner| [across[corner], down[corner]]))
}

/// `radii` starts at the upper left corner and goes clockwise.
fn rounded([left, top, right, bottom]: [f64; 4], mut radii: [[f64; 2]; 4]) -> String {
    let (width, height) = (right - left, bottom - top);
    let [a, b, c, d] = radii;
    // If corners overlap, reduce all radii in proportion.
    let sums =
        [(a[0] + b[0], width), (d[0] + c[0], width), (a[1] + d[1], height), (b[1] + c[1], height)];
    let reduce = |factor: f64, (sum, side): (f64, f64)| {
        if sum > side && sum > 0.0 { factor.min(side / sum) } else { factor }
    };
    let factor = sums.into_iter().fold(1.0, reduce);
    radii.iter_mut().flatten().for_each(|radius| *radius *= factor);
    let corners = [
        (left, top, 1.0, 1.0),
        (right, top, -1.0, 1.0),
        (right, bottom, -1.0, -1.0),
        (left, bottom, 1.0, -1.0),
    ];
    let mut data = String::new();
    for (index, ((x, y, right, down), [rx, ry])) in corners.into_iter().zip(radii).enumerate() {
        let upright = (x, y + down * ry);
        let level = (x + right * rx, y);
        let near = |(px, py): (f64, f64)| (px + (x - px) * ARC, py + (y - py) * ARC);
        let (from, to) = if index % 2 == 0 { (upright, level) } else { (level, upright) };
        let _ = write!(data, "{}{} {}", if index == 0 { 'M' } else { 'L' }, from.0, from.1);
        if rx > 0.0 && ry > 0.0 {
            let (one, other) = (near(from), near(to));
            let _ = write!(data, "C{} {} {} {} {} {}", one.0, one.1, other.0, other.1, to.0, to.1);
        }
    }
    data.push('Z');
    data
}
