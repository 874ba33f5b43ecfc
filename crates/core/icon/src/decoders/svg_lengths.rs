//! Parses CSS numbers, lengths and angles, including `calc()`, `min()`, `max()` and `clamp()`.
//! Relative lengths use the initial font size and a tab icon's size.

use cssparser::{ParseError, Parser, Token};

use crate::limits::TAB_ICON_PIXELS;

/// The initial font size in CSS pixels.
const FONT_PIXELS: f64 = 16.0;

/// A number, an angle in degrees, or a length: the sum of pixels and a percentage.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Quantity {
    pub(crate) value: f64,
    /// The percentage, which refers to a length that is not known here.
    pub(crate) percent: f64,
    kind: Kind,
    has_percent: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Number,
    Length,
    Angle,
}

impl Quantity {
    fn new(value: f64, kind: Kind) -> Self {
        Self { value, kind, ..Self::default() }
    }

    fn percent(percent: f64) -> Self {
        Self { percent, has_percent: true, kind: Kind::Length, ..Self::default() }
    }

    pub(crate) fn number(self) -> Option<f64> {
        (self.kind == Kind::Number).then_some(self.value)
    }

    pub(crate) fn ratio(self) -> Option<f64> {
        let is_percent = self.has_percent && self.value == 0.0;
        if is_percent { Some(self.percent / 100.0) } else { self.number() }
    }

    /// Percentages refer to `whole`. 0 without a unit is also a length.
    pub(crate) fn length(self, whole: f64) -> Option<f64> {
        let is_length = self.kind == Kind::Length || self.number() == Some(0.0);
        is_length.then(|| self.value + self.percent * whole / 100.0)
    }

    /// 0 without a unit is also an angle.
    pub(crate) fn degrees(self) -> Option<f64> {
        (self.kind == Kind::Angle || self.number() == Some(0.0)).then_some(self.value)
    }

    fn plus(self, other: Self, sign: f64) -> Option<Self> {
        (self.kind == other.kind).then_some(Self {
            value: self.value + sign * other.value,
            percent: self.percent + sign * other.percent,
            kind: self.kind,
            has_percent: self.has_percent || other.has_percent,
        })
    }

    fn times(self, factor: f64) -> Self {
        Self { value: self.value * factor, percent: self.percent * factor, ..self }
    }
}

pub(crate) fn quantity(input: &mut Parser) -> Option<Quantity> {
    match input.next().ok()?.clone() {
        Token::Number { value, .. } => Some(Quantity::new(f64::from(value), Kind::Number)),
        Token::Percentage { unit_value, .. } => {
            Some(Quantity::percent(f64::from(unit_value) * 100.0))
        }
        Token::Dimension { value, unit, .. } => {
            let (kind, factor) = unit_of(&unit)?;
            Some(Quantity::new(f64::from(value) * factor, kind))
        }
        Token::Function(name) => {
            let name = name.to_ascii_lowercase();
            nested(input, |input| match name.as_str() {
                "calc" | "-webkit-calc" => sum(input),
                "min" | "max" | "clamp" => min_max_clamp(&name, input),
                _ => None,
            })
        }
        _ => None,
    }
}

pub(crate) fn only_quantity(text: &str) -> Option<Quantity> {
    let mut input = Parser::new(text);
    let found = quantity(&mut input)?;
    input.is_exhausted().then_some(found)
}

fn unit_of(unit: &str) -> Option<(Kind, f64)> {
    let side = f64::from(TAB_ICON_PIXELS) / 100.0;
    Some(match unit.to_ascii_lowercase().as_str() {
        "px" => (Kind::Length, 1.0),
        "in" => (Kind::Length, 96.0),
        "cm" => (Kind::Length, 96.0 / 2.54),
        "mm" => (Kind::Length, 96.0 / 25.4),
        "q" => (Kind::Length, 96.0 / 101.6),
        "pt" => (Kind::Length, 96.0 / 72.0),
        "pc" => (Kind::Length, 16.0),
        "em" | "rem" => (Kind::Length, FONT_PIXELS),
        "ex" | "ch" => (Kind::Length, FONT_PIXELS / 2.0),
        "vw" | "vh" | "vmin" | "vmax" => (Kind::Length, side),
        "deg" => (Kind::Angle, 1.0),
        "grad" => (Kind::Angle, 0.9),
        "rad" => (Kind::Angle, 180.0 / std::f64::consts::PI),
        "turn" => (Kind::Angle, 360.0),
        _ => return None,
    })
}

/// `None` if `read` fails or does not consume all tokens.
pub(crate) fn nested<T>(
    input: &mut Parser,
    read: impl FnOnce(&mut Parser) -> Option<T>,
) -> Option<T> {
    let all = |input: &mut Parser<'_>| -> Result<T, ParseError<()>> {
        read(input).ok_or_else(ParseError::unexpected_token)
    };
    input.parse_nested_block(all).ok()
}

fn sum(input: &mut Parser) -> Option<Quantity> {
    let mut sum = product(input)?;
    loop {
        let state = input.state();
        let sign = match input.next() {
            Ok(Token::Delim('+')) => 1.0,
            Ok(Token::Delim('-')) => -1.0,
            _ => {
                input.reset(&state);
                return Some(sum);
            }
        };
        sum = sum.plus(product(input)?, sign)?;
    }
}

fn product(input: &mut Parser) -> Option<Quantity> {
    let mut product = factor(input)?;
    loop {
        let state = input.state();
        product = match input.next() {
            Ok(Token::Delim('*')) => {
                let other = factor(input)?;
                match other.number() {
                    Some(number) => product.times(number),
                    None => other.times(product.number()?),
                }
            }
            Ok(Token::Delim('/')) => {
                product.times(1.0 / factor(input)?.number().filter(|by| *by != 0.0)?)
            }
            _ => {
                input.reset(&state);
                return Some(product);
            }
        };
    }
}

fn factor(input: &mut Parser) -> Option<Quantity> {
    let state = input.state();
    if matches!(input.next(), Ok(Token::ParenthesisBlock)) {
        return nested(input, sum);
    }
    input.reset(&state);
    quantity(input)
}

/// `None` if the arguments mix percentages and lengths, because these cannot be compared here.
fn min_max_clamp(name: &str, input: &mut Parser) -> Option<Quantity> {
    let all = input
        .parse_comma_separated(|input| -> Result<Quantity, ParseError<()>> {
            sum(input).ok_or_else(ParseError::unexpected_token)
        })
        .ok()?;
    let first = *all.first()?;
    let is_alike = |it: &Quantity| it.kind == first.kind && it.has_percent == first.has_percent;
    let is_mixed = |it: &Quantity| it.has_percent && it.value != 0.0;
    if !all.iter().all(is_alike) || all.iter().any(is_mixed) {
        return None;
    }
    let size = |it: Quantity| if it.has_percent { it.percent } else { it.value };
    let least = |a: Quantity, b: Quantity| if size(b) < size(a) { b } else { a };
    let most = |a: Quantity, b: Quantity| if size(b) > size(a) { b } else { a };
    match (name, all.as_slice()) {
        ("min", all) => all.iter().copied().reduce(least),
        ("max", all) => all.iter().copied().reduce(most),
        (_, [low, value, high]) => Some(most(*low, least(*value, *high))),
        _ => None,
    }
}
