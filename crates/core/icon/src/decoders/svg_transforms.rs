//! Computes matrices for CSS transforms.
//!
//! A 3D transform is projected to the plane without perspective. We compute sines, cosines and
//! tangents with the crate `libm`, so that they are equal on every machine.

use cssparser::{ParseError, Parser, Token};
use resvg::tiny_skia::Transform;

use super::{
    svg_colours::split_outside,
    svg_lengths::{Quantity, nested, quantity},
};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ReferenceBox {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Transforms<'a> {
    pub(crate) translate: Option<&'a str>,
    pub(crate) rotate: Option<&'a str>,
    pub(crate) scale: Option<&'a str>,
    pub(crate) origin: Option<&'a str>,
}

pub(crate) fn attribute(value: &str) -> Option<Transform> {
    let it: svgtypes::Transform = value.parse().ok()?;
    let [a, b, c, d, e, f] = [it.a, it.b, it.c, it.d, it.e, it.f].map(|it| it as f32);
    Some(Transform::from_row(a, b, c, d, e, f))
}

pub(crate) fn matrix(own: Transform, all: Transforms, reference: ReferenceBox) -> Transform {
    let value = |name, value: Option<&str>| {
        value.and_then(|value| single(name, value, reference)).unwrap_or_default()
    };
    let (x, y) = all.origin.and_then(|value| origin(value, reference)).unwrap_or((0.0, 0.0));
    let (x, y) = ((x + reference.x) as f32, (y + reference.y) as f32);
    Transform::from_translate(x, y)
        .pre_concat(value("translate", all.translate))
        .pre_concat(value("rotate", all.rotate))
        .pre_concat(value("scale", all.scale))
        .pre_concat(own)
        .pre_translate(-x, -y)
}

pub(crate) fn is_valid(property: &str, value: &str) -> bool {
    let reference = ReferenceBox::default();
    match property {
        "transform" => functions(value, reference).is_some(),
        "transform-origin" => origin(value, reference).is_some(),
        name => single(name, value, reference).is_some(),
    }
}

/// Returns the identity for the keyword `none`.
pub(crate) fn functions(value: &str, reference: ReferenceBox) -> Option<Transform> {
    if value.eq_ignore_ascii_case("none") {
        return Some(Transform::identity());
    }
    let mut input = Parser::new(value);
    let mut all = Transform::identity();
    while !input.is_exhausted() {
        let name = input.expect_function().ok()?.to_ascii_lowercase();
        let arguments = nested(&mut input, |input| {
            input
                .parse_comma_separated(|input| -> Result<Quantity, ParseError<()>> {
                    quantity(input).ok_or_else(ParseError::unexpected_token)
                })
                .ok()
        })?;
        all = all.pre_concat(function(&name, &arguments, reference)?);
    }
    (!value.is_empty()).then_some(all)
}

fn function(name: &str, arguments: &[Quantity], reference: ReferenceBox) -> Option<Transform> {
    let across = |it: Quantity| it.length(reference.width).map(|it| it as f32);
    let down = |it: Quantity| it.length(reference.height).map(|it| it as f32);
    let ratio = |it: Quantity| it.ratio().map(|it| it as f32);
    let number = |it: Quantity| it.number().map(|it| it as f32);
    let skewed = |x: f64, y: f64| {
        let tan = |degrees: f64| libm::tan(degrees.to_radians()) as f32;
        Transform::from_row(1.0, tan(y), tan(x), 1.0, 0.0, 0.0)
    };
    let moved = Transform::from_translate;
    let scaled = Transform::from_scale;
    Some(match (name, arguments) {
        ("translate", &[x]) | ("translatex", &[x]) => moved(across(x)?, 0.0),
        ("translate", &[x, y]) | ("translate3d", &[x, y, _]) => moved(across(x)?, down(y)?),
        ("translatey", &[y]) => moved(0.0, down(y)?),
        ("translatez", &[z]) => z.length(0.0).map(|_| Transform::identity())?,
        ("scale", &[both]) => scaled(ratio(both)?, ratio(both)?),
        ("scale", &[x, y]) | ("scale3d", &[x, y, _]) => scaled(ratio(x)?, ratio(y)?),
        ("scalex", &[x]) => scaled(ratio(x)?, 1.0),
        ("scaley", &[y]) => scaled(1.0, ratio(y)?),
        ("scalez", &[z]) => z.ratio().map(|_| Transform::identity())?,
        ("rotate" | "rotatez", &[angle]) => rotated(angle.degrees()?),
        ("rotatex", &[angle]) => around([1.0, 0.0, 0.0], angle.degrees()?),
        ("rotatey", &[angle]) => around([0.0, 1.0, 0.0], angle.degrees()?),
        ("rotate3d", &[x, y, z, angle]) => {
            around([x.number()?, y.number()?, z.number()?], angle.degrees()?)
        }
        ("skew", &[x]) | ("skewx", &[x]) => skewed(x.degrees()?, 0.0),
        ("skew", &[x, y]) => skewed(x.degrees()?, y.degrees()?),
        ("skewy", &[y]) => skewed(0.0, y.degrees()?),
        ("matrix", &[a, b, c, d, e, f]) => Transform::from_row(
            number(a)?,
            number(b)?,
            number(c)?,
            number(d)?,
            number(e)?,
            number(f)?,
        ),
        ("matrix3d", all) if all.len() == 16 => {
            let at = |index: usize| number(all[index]);
            Transform::from_row(at(0)?, at(1)?, at(4)?, at(5)?, at(12)?, at(13)?)
        }
        ("perspective", _) => Transform::identity(),
        _ => return None,
    })
}

fn rotated(degrees: f64) -> Transform {
    around([0.0, 0.0, 1.0], degrees)
}

/// Returns a rotation around an axis, projected to the plane.
fn around(axis: [f64; 3], degrees: f64) -> Transform {
    let length = axis.iter().map(|it| it * it).sum::<f64>().sqrt();
    if length == 0.0 || !length.is_finite() {
        return Transform::identity();
    }
    let [x, y, z] = axis.map(|it| it / length);
    let (sin, cos) = libm::sincos(degrees.rem_euclid(360.0).to_radians());
    let rest = 1.0 - cos;
    let row =
        [cos + x * x * rest, y * x * rest + z * sin, x * y * rest - z * sin, cos + y * y * rest];
    let [a, b, c, d] = row.map(|it| it as f32);
    Transform::from_row(a, b, c, d, 0.0, 0.0)
}

fn single(property: &str, value: &str, reference: ReferenceBox) -> Option<Transform> {
    if value.eq_ignore_ascii_case("none") {
        return Some(Transform::identity());
    }
    let mut input = Parser::new(value);
    let mut axis = None;
    let mut all = Vec::new();
    while !input.is_exhausted() && all.len() < 4 {
        let state = input.state();
        let word = match input.next().ok()? {
            Token::Ident(word) => Some(word.to_ascii_lowercase()),
            _ => None,
        };
        match word.as_deref() {
            Some("x") => axis = Some([1.0, 0.0, 0.0]),
            Some("y") => axis = Some([0.0, 1.0, 0.0]),
            Some("z") => axis = Some([0.0, 0.0, 1.0]),
            Some(_) => return None,
            None => {
                input.reset(&state);
                all.push(quantity(&mut input)?);
            }
        }
    }
    if !input.is_exhausted() {
        return None;
    }
    let move_by = if all.len() == 3 { "translate3d" } else { "translate" };
    let scale_by = if all.len() == 3 { "scale3d" } else { "scale" };
    match (property, all.as_slice(), axis) {
        ("translate", all, None) => function(move_by, all, reference),
        ("scale", all, None) => function(scale_by, all, reference),
        ("rotate", &[angle], axis) => {
            Some(around(axis.unwrap_or([0.0, 0.0, 1.0]), angle.degrees()?))
        }
        // The angle may precede or follow the axis.
        ("rotate", &[a, b, c, d], None) => match d.degrees().filter(|_| d.number().is_none()) {
            Some(_) => function("rotate3d", &[a, b, c, d], reference),
            None => function("rotate3d", &[b, c, d, a], reference),
        },
        _ => None,
    }
}

fn origin(value: &str, reference: ReferenceBox) -> Option<(f64, f64)> {
    let mut input = Parser::new(value);
    // Here, a keyword such as `left` cannot have an offset, so there are at most three parts.
    let parts = split_outside(value, ' ').filter(|part| !part.is_empty()).count();
    position(&mut input, reference).filter(|_| {
        // A third length is a depth, which we ignore.
        let is_end = input.is_exhausted() || quantity(&mut input).is_some() && input.is_exhausted();
        is_end && parts < 4
    })
}

/// Parses one or two values, or two pairs of an edge and an offset. Returns the offset from the
/// box's upper left corner.
pub(crate) fn position(input: &mut Parser, reference: ReferenceBox) -> Option<(f64, f64)> {
    let (mut x, mut y) = (None, None);
    let mut first_is_centre = false;
    let mut count = 0;
    while count < 2 && !input.is_exhausted() {
        let state = input.state();
        let word = match input.next().ok()? {
            Token::Ident(word) => Some(word.to_ascii_lowercase()),
            _ => None,
        };
        let mut offset = |whole: f64, from_end: bool| {
            let state = input.state();
            let found = quantity(input).and_then(|it| it.length(whole)).filter(|_| count == 0);
            // A length after an edge is its offset only if another edge follows.
            let is_pair = found.is_some()
                && input
                    .try_parse(|input| input.expect_ident().map(|_| ()).map_err(|_| ()))
                    .is_ok();
            input.reset(&state);
            let found = if is_pair || count > 0 {
                quantity(input).and_then(|it| it.length(whole))
            } else {
                None
            };
            if found.is_none() {
                input.reset(&state);
            }
            let found = found.unwrap_or(0.0);
            if from_end { whole - found } else { found }
        };
        match word.as_deref() {
            Some(side @ ("left" | "right")) if x.is_none() => {
                x = Some(offset(reference.width, side == "right"));
            }
            Some(side @ ("top" | "bottom")) if y.is_none() => {
                y = Some(offset(reference.height, side == "bottom"));
            }
            Some("center") if count == 0 => first_is_centre = true,
            Some("center") if x.is_some() && y.is_none() => y = Some(reference.height / 2.0),
            Some("center") if x.is_none() => x = Some(reference.width / 2.0),
            Some(_) => {
                input.reset(&state);
                break;
            }
            None => {
                input.reset(&state);
                let found = quantity(input)?;
                match (count, x.is_some(), first_is_centre) {
                    (0, ..) => x = Some(found.length(reference.width)?),
                    (_, true, _) | (_, _, true) => y = Some(found.length(reference.height)?),
                    _ => x = Some(found.length(reference.width)?),
                }
            }
        }
        count += 1;
    }
    let (x_half, y_half) = (reference.width / 2.0, reference.height / 2.0);
    (count > 0).then(|| (x.unwrap_or(x_half), y.unwrap_or(y_half)))
}
