//! Defines the CSS properties of SVG: the values that each property allows, and how to write them
//! for usvg.
//!
//! A declaration with an invalid value is dropped, so an earlier declaration counts. A value with
//! `var()` is checked after its variables are replaced.

use std::{borrow::Cow, collections::HashMap, rc::Rc, sync::LazyLock};

use cssparser::Parser;

use super::{
    svg_colours::{known_colour, split_outside, with_known_colours},
    svg_lengths::{Quantity, only_quantity},
    svg_shapes, svg_transforms,
};

pub(crate) struct Property {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) inherited: bool,
    /// Empty for properties that are not inherited.
    pub(crate) initial: &'static str,
    /// Whether an attribute with this name sets the property on every element.
    pub(crate) is_attribute: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Colour,
    Paint,
    Alpha,
    Number,
    /// A length, where a number without a unit is in pixels.
    Length,
    Spacing,
    Geometry,
    Dashes,
    Words(&'static [&'static str]),
    Word,
    Text,
    ClipPath,
    Mask,
    Marker,
    Filter,
    PathData,
    Transform,
    Background,
}

const RULES: Kind = Kind::Words(&["nonzero", "evenodd"]);
const SPACES: Kind = Kind::Words(&["auto", "sRGB", "linearRGB"]);
const MODES: Kind = Kind::Words(&[
    "normal",
    "multiply",
    "screen",
    "overlay",
    "darken",
    "lighten",
    "color-dodge",
    "color-burn",
    "hard-light",
    "soft-light",
    "difference",
    "exclusion",
    "hue",
    "saturation",
    "color",
    "luminosity",
    "plus-lighter",
]);
const RENDERING: Kind = Kind::Words(&[
    "auto",
    "optimizeSpeed",
    "optimizeQuality",
    "crispEdges",
    "crisp-edges",
    "pixelated",
    "geometricPrecision",
    "optimizeLegibility",
    "smooth",
    "high-quality",
]);
const BOXES: Kind =
    Kind::Words(&["content-box", "border-box", "fill-box", "stroke-box", "view-box"]);

const fn inherited(name: &'static str, kind: Kind, initial: &'static str) -> Property {
    Property { name, kind, inherited: true, initial, is_attribute: true }
}

const fn own(name: &'static str, kind: Kind) -> Property {
    Property { name, kind, inherited: false, initial: "", is_attribute: true }
}

/// Returns a property that is not a presentation attribute, or is one only on some elements.
const fn css(name: &'static str, kind: Kind) -> Property {
    Property { name, kind, inherited: false, initial: "", is_attribute: false }
}

#[rustfmt::skip]
static PROPERTIES: [Property; 73] = [
    own("alignment-baseline", Kind::Word),
    css("background-color", Kind::Background),
    own("baseline-shift", Kind::Text),
    own("clip-path", Kind::ClipPath),
    inherited("clip-rule", RULES, "nonzero"),
    inherited("color", Kind::Colour, "black"),
    inherited("color-interpolation", SPACES, "sRGB"),
    inherited("color-interpolation-filters", SPACES, "linearRGB"),
    css("cx", Kind::Geometry),
    css("cy", Kind::Geometry),
    css("d", Kind::PathData),
    inherited("direction", Kind::Words(&["ltr", "rtl"]), "ltr"),
    own("display", Kind::Word),
    inherited("dominant-baseline", Kind::Word, "auto"),
    inherited("fill", Kind::Paint, "black"),
    inherited("fill-opacity", Kind::Alpha, "1"),
    inherited("fill-rule", RULES, "nonzero"),
    own("filter", Kind::Filter),
    own("flood-color", Kind::Colour),
    own("flood-opacity", Kind::Alpha),
    inherited("font-family", Kind::Text, "sans-serif"),
    Property { is_attribute: false, ..inherited("font-kerning", Kind::Word, "auto") },
    inherited("font-size", Kind::Spacing, "medium"),
    inherited("font-stretch", Kind::Text, "normal"),
    inherited("font-style", Kind::Text, "normal"),
    inherited("font-variant", Kind::Text, "normal"),
    inherited("font-weight", Kind::Text, "normal"),
    css("height", Kind::Geometry),
    inherited("image-rendering", RENDERING, "auto"),
    css("isolation", Kind::Words(&["auto", "isolate"])),
    inherited("letter-spacing", Kind::Spacing, "normal"),
    own("lighting-color", Kind::Colour),
    inherited("marker-end", Kind::Marker, "none"),
    inherited("marker-mid", Kind::Marker, "none"),
    inherited("marker-start", Kind::Marker, "none"),
    own("mask", Kind::Mask),
    own("mask-type", Kind::Words(&["luminance", "alpha"])),
    css("mix-blend-mode", MODES),
    own("opacity", Kind::Alpha),
    own("overflow", Kind::Words(&["visible", "hidden", "scroll", "auto", "clip"])),
    inherited("paint-order", Kind::Text, "normal"),
    css("r", Kind::Geometry),
    css("rotate", Kind::Transform),
    css("rx", Kind::Geometry),
    css("ry", Kind::Geometry),
    css("scale", Kind::Transform),
    inherited("shape-rendering", RENDERING, "auto"),
    own("stop-color", Kind::Colour),
    own("stop-opacity", Kind::Alpha),
    inherited("stroke", Kind::Paint, "none"),
    inherited("stroke-dasharray", Kind::Dashes, "none"),
    inherited("stroke-dashoffset", Kind::Length, "0"),
    inherited("stroke-linecap", Kind::Words(&["butt", "round", "square"]), "butt"),
    inherited("stroke-linejoin", Kind::Words(&["miter", "round", "bevel"]), "miter"),
    inherited("stroke-miterlimit", Kind::Number, "4"),
    inherited("stroke-opacity", Kind::Alpha, "1"),
    inherited("stroke-width", Kind::Length, "1"),
    inherited("text-anchor", Kind::Words(&["start", "middle", "end"]), "start"),
    own("text-decoration", Kind::Text),
    inherited("text-rendering", RENDERING, "auto"),
    own("transform", Kind::Transform),
    own("transform-box", BOXES),
    own("transform-origin", Kind::Transform),
    css("translate", Kind::Transform),
    own("unicode-bidi", Kind::Word),
    own("vector-effect", Kind::Words(&["none", "non-scaling-stroke"])),
    inherited("visibility", Kind::Words(&["visible", "hidden", "collapse"]), "visible"),
    inherited("white-space", Kind::Word, "normal"),
    css("width", Kind::Geometry),
    inherited("word-spacing", Kind::Spacing, "normal"),
    inherited("writing-mode", Kind::Text, "horizontal-tb"),
    css("x", Kind::Geometry),
    css("y", Kind::Geometry),
];

pub(crate) fn property(name: &str) -> Option<&'static Property> {
    static BY_NAME: LazyLock<HashMap<&str, &Property>> =
        LazyLock::new(|| PROPERTIES.iter().map(|property| (property.name, property)).collect());
    BY_NAME.get(name).copied()
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// A value in the form that usvg reads, except for references and transforms.
    Known(Rc<str>),
    /// A keyword that every property allows, such as `inherit`.
    Wide(&'static str),
    /// A value with functions that must be replaced, such as `var()`.
    Open(Rc<str>),
}

#[derive(Clone)]
pub(crate) struct Declaration {
    pub(crate) target: Target,
    pub(crate) value: Value,
    pub(crate) important: bool,
}

#[derive(Clone)]
pub(crate) enum Target {
    Property(&'static Property),
    /// The name includes the leading dashes.
    Variable(Rc<str>),
}

/// A shorthand adds several declarations. Adds nothing if the property is unknown or its value is
/// invalid.
pub(crate) fn declared(name: &str, value: &str, important: bool, to: &mut Vec<Declaration>) {
    if name.starts_with("--") {
        let value = wide(value).map_or_else(|| Value::Open(value.trim().into()), Value::Wide);
        to.push(Declaration { target: Target::Variable(name.into()), value, important });
        return;
    }
    let value = without_comments(value);
    let name = name.to_ascii_lowercase();
    let name = name.strip_prefix("-webkit-").filter(|name| is_prefixed(name)).unwrap_or(&name);
    let longhands: &[&str] = match name {
        "marker" => &["marker-start", "marker-mid", "marker-end"],
        "font" => return font(value.trim(), important, to),
        "mask-image" => &["mask"],
        "background" => &["background-color"],
        name => &[name],
    };
    for name in longhands {
        let Some(property) = property(name) else { return };
        let Some(value) = read(property, value.trim(), true) else { return };
        to.push(Declaration { target: Target::Property(property), value, important });
    }
}

fn is_prefixed(name: &str) -> bool {
    let names =
        ["transform", "transform-origin", "filter", "clip-path", "mask", "mask-image", "opacity"];
    names.contains(&name)
}

pub(crate) fn is_supported(name: &str, value: &str) -> bool {
    let mut found = Vec::new();
    declared(name, value, false, &mut found);
    !found.is_empty()
}

fn font(value: &str, important: bool, to: &mut Vec<Declaration>) {
    let Ok(font) = svgtypes::FontShorthand::from_str(value) else { return };
    let parts = [
        ("font-style", font.font_style.unwrap_or("normal")),
        ("font-variant", font.font_variant.unwrap_or("normal")),
        ("font-weight", font.font_weight.unwrap_or("normal")),
        ("font-stretch", font.font_stretch.unwrap_or("normal")),
        ("font-size", font.font_size),
        ("font-family", font.font_family),
    ];
    parts.iter().for_each(|(name, value)| declared(name, value, important, to));
}

fn wide(value: &str) -> Option<&'static str> {
    let words = ["inherit", "initial", "unset", "revert", "revert-layer"];
    words.into_iter().find(|word| word.eq_ignore_ascii_case(value.trim()))
}

pub(crate) fn read(property: &Property, value: &str, is_css: bool) -> Option<Value> {
    if let Some(word) = wide(value) {
        return Some(Value::Wide(word));
    }
    if has_function(value, &["var(", "env(", "light-dark("]) {
        return Some(Value::Open(value.into()));
    }
    known(property, value, is_css).map(|value| Value::Known(value.as_ref().into()))
}

fn has_function(text: &str, names: &[&str]) -> bool {
    text.match_indices('(').any(|(at, _)| {
        names.iter().any(|name| {
            let start = (at + 1).checked_sub(name.len());
            start
                .and_then(|start| text.get(start..=at))
                .is_some_and(|it| it.eq_ignore_ascii_case(name))
        })
    })
}

fn known<'a>(property: &Property, value: &'a str, is_css: bool) -> Option<Cow<'a, str>> {
    if value.is_empty() {
        return None;
    }
    let value = value.trim();
    match property.kind {
        Kind::Colour => known_colour(value),
        Kind::Paint => paint(value),
        Kind::Alpha => alpha(value),
        Kind::Number => Some((only_quantity(value)?.number()? as f32).to_string().into()),
        Kind::Length if property.name == "stroke-width" && value.starts_with('-') => None,
        Kind::Length => length(value, true),
        Kind::Spacing if is_word(value) => Some(value.into()),
        Kind::Spacing => length(value, !is_css),
        Kind::Geometry if value.eq_ignore_ascii_case("auto") => Some("auto".into()),
        Kind::Geometry => length(value, true),
        Kind::Dashes if value.eq_ignore_ascii_case("none") => Some("none".into()),
        Kind::Dashes => dashes(value),
        Kind::Words(words) => {
            words.iter().find(|word| word.eq_ignore_ascii_case(value)).map(|word| (*word).into())
        }
        Kind::Word => is_word(value).then(|| {
            if value.bytes().any(|c| c.is_ascii_uppercase()) {
                value.to_ascii_lowercase().into()
            } else {
                value.into()
            }
        }),
        Kind::Text => Some(value.into()),
        Kind::Background => background(value).map(|_| value.into()),
        Kind::Marker => reference(value),
        Kind::Mask => {
            reference(value).or_else(|| has_function(value, &["gradient("]).then(|| value.into()))
        }
        Kind::ClipPath => {
            reference(value).or_else(|| svg_shapes::is_shape(value).then(|| value.into()))
        }
        Kind::Filter => filter(value),
        Kind::PathData => svg_shapes::path_function(value).map(Cow::Owned),
        Kind::Transform if is_css => {
            svg_transforms::is_valid(property.name, value).then(|| value.into())
        }
        // In an attribute, numbers without a unit are pixels.
        Kind::Transform if property.name == "transform-origin" => {
            let in_pixels = |part: &str| match part.parse::<f64>() {
                Ok(_) => format!("{part}px"),
                Err(_) => part.to_owned(),
            };
            let parts: Vec<String> = value.split_ascii_whitespace().map(in_pixels).collect();
            Some(parts.join(" ").into())
        }
        Kind::Transform => Some(value.into()),
    }
}

fn is_word(value: &str) -> bool {
    !value.is_empty() && value.bytes().all(|c| c.is_ascii_alphabetic() || c == b'-')
}

fn alpha(value: &str) -> Option<Cow<'_, str>> {
    if value.parse::<f64>().is_ok_and(|alpha| (0.0..=1.0).contains(&alpha)) {
        return Some(value.into());
    }
    Some((only_quantity(value)?.ratio()?.clamp(0.0, 1.0) as f32).to_string().into())
}

/// A sum of pixels and a percentage remains a `calc()`.
fn length(value: &str, allows_numbers: bool) -> Option<Cow<'_, str>> {
    let unit =
        value.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '+' | '-'));
    let known = ["px", "%", "em", "ex", "in", "cm", "mm", "pt", "pc"];
    let number = &value[..value.len() - unit.len()];
    if number.parse::<f64>().is_ok() {
        if unit.is_empty() {
            return (allows_numbers || only_quantity(value)?.number()? == 0.0)
                .then(|| value.into());
        }
        if known.contains(&unit) {
            return Some(value.into());
        }
    }
    let quantity = only_quantity(value)?;
    if let Some(number) = quantity.number() {
        return (allows_numbers || number == 0.0).then(|| number.to_string().into());
    }
    written_length(quantity).map(Cow::Owned).or(Some(value.into()))
}

fn written_length(quantity: Quantity) -> Option<String> {
    let pixels = quantity.length(0.0)?;
    match (pixels == 0.0, quantity.percent == 0.0) {
        (_, true) => Some(format!("{}", pixels as f32)),
        (true, false) => Some(format!("{}%", quantity.percent as f32)),
        _ => None,
    }
}

fn dashes(value: &str) -> Option<Cow<'_, str>> {
    let parts = value.split([',', ' ', '\n', '\t', '\r']).filter(|part| !part.is_empty());
    let mut written = String::new();
    for part in parts {
        if part.starts_with('-') {
            return None;
        }
        written.push_str(&length(part, true)?);
        written.push(' ');
    }
    if written.is_empty() { None } else { Some(written.trim_end().to_owned().into()) }
}

fn paint(value: &str) -> Option<Cow<'_, str>> {
    let words = ["none", "context-fill", "context-stroke"];
    if let Some(word) = words.iter().find(|word| word.eq_ignore_ascii_case(value)) {
        return Some((*word).into());
    }
    let Some((url, rest)) = leading_url(value) else { return known_colour(value) };
    let fallback = rest.trim();
    match fallback {
        "" => Some(format!("url({url})").into()),
        _ if fallback.eq_ignore_ascii_case("none") => Some(format!("url({url}) none").into()),
        _ => known_colour(fallback).map(|colour| format!("url({url}) {colour}").into()),
    }
}

fn reference(value: &str) -> Option<Cow<'_, str>> {
    if value.eq_ignore_ascii_case("none") {
        return Some("none".into());
    }
    let (url, _) = leading_url(value)?;
    Some(format!("url({url})").into())
}

pub(crate) fn leading_url(value: &str) -> Option<(String, &str)> {
    let is_url = value.get(..4).is_some_and(|name| name.eq_ignore_ascii_case("url("));
    if !is_url {
        return None;
    }
    let mut input = Parser::new(value);
    let Ok(url) = input.expect_url() else {
        // In attributes, URLs without quotes also contain characters that CSS allows only in
        // quotes.
        let (url, rest) = value[4..].split_once(')').unwrap_or((&value[4..], ""));
        return Some((url.trim().trim_matches(['"', '\'']).to_owned(), rest));
    };
    let end = input.position();
    while input.next().is_ok() {}
    Some((url.trim().to_owned(), input.slice_from(end)))
}

fn filter(value: &str) -> Option<Cow<'_, str>> {
    if value.eq_ignore_ascii_case("none") {
        return Some("none".into());
    }
    // This is the only named colour that usvg does not support.
    let named = value.replace("rebeccapurple", "#639");
    let known = Cow::<str>::Owned(with_known_colours(&named).into_owned());
    let is_valid = svgtypes::FilterValueListParser::from(&*known).all(|it| it.is_ok());
    is_valid.then_some(known)
}

pub(crate) fn background(value: &str) -> Option<svgtypes::Color> {
    let mut words = split_outside(value, ' ').filter(|word| !word.is_empty());
    words.find_map(|word| known_colour(word)?.parse().ok())
}

fn without_comments(style: &str) -> Cow<'_, str> {
    let Some((first, _)) = style.split_once("/*") else { return Cow::Borrowed(style) };
    let mut kept = first.to_owned();
    for part in style.split("/*").skip(1) {
        kept.push_str(part.split_once("*/").map_or("", |(_, after)| after));
    }
    Cow::Owned(kept)
}
