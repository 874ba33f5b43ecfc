//! Computes the attribute values that SMIL animations set at time 0, because an icon shows this
//! moment.
//!
//! Animations count if they start at time 0 or earlier and are still running. `keyTimes` and spline
//! easing are ignored.

use std::collections::HashMap;

use resvg::usvg::roxmltree::Node;

use super::svg_selectors::Elements;

pub(crate) struct Animated<'a> {
    pub(crate) name: &'a str,
    pub(crate) value: String,
    /// Whether this transform is added to the element's own transform.
    pub(crate) is_added: bool,
}

pub(crate) fn animated<'a>(
    elements: &Elements<'a, '_>,
    ids: &HashMap<&str, usize>,
) -> HashMap<usize, Vec<Animated<'a>>> {
    let mut all: HashMap<usize, Vec<Animated>> = HashMap::new();
    for index in 0..elements.len() {
        let node = elements.node(index);
        let Some(animated) = first_value(node) else { continue };
        let href = node.attributes().find(|it| it.name() == "href").map(|it| it.value());
        let target = match href {
            Some(href) => href.trim().strip_prefix('#').and_then(|id| ids.get(id).copied()),
            None => elements.parent(index),
        };
        if let Some(target) = target {
            all.entry(target).or_default().push(animated);
        }
    }
    all
}

fn first_value<'a>(node: Node<'a, '_>) -> Option<Animated<'a>> {
    let tag = node.tag_name().name();
    if !matches!(tag, "set" | "animate" | "animateTransform") {
        return None;
    }
    let elapsed = match node.attribute("begin") {
        Some(begin) => begin.split(';').filter_map(elapsed).reduce(f64::min)?,
        None => 0.0,
    };
    let part = part(node, elapsed)?;
    let name = node.attribute("attributeName")?.trim();
    let value = match (tag, node.attribute("values")) {
        ("set", _) => node.attribute("to")?.trim().to_owned(),
        (_, Some(values)) => {
            let values: Vec<&str> = values.split(';').map(str::trim).collect();
            let count = values.len() - usize::from(values.len() > 1 && values.ends_with(&[""]));
            between(&values[..count], part)
        }
        _ => {
            let from = node.attribute("from")?.trim();
            between(&[from, node.attribute("to").unwrap_or(from).trim()], part)
        }
    };
    if tag != "animateTransform" {
        return Some(Animated { name, value, is_added: false });
    }
    let kind = node.attribute("type").unwrap_or("translate");
    let is_added = node.attribute("additive") == Some("sum");
    let value = format!("{kind}({value})");
    (name == "transform").then_some(Animated { name, value, is_added })
}

fn elapsed(begin: &str) -> Option<f64> {
    let begin = begin.trim();
    if let Some(offset) = begin.strip_prefix('-') {
        return seconds(offset);
    }
    seconds(begin.strip_prefix('+').unwrap_or(begin)).filter(|it| *it == 0.0)
}

fn part(node: Node, elapsed: f64) -> Option<f64> {
    let Some(duration) = node.attribute("dur").and_then(seconds).filter(|it| *it > 0.0) else {
        return Some(0.0);
    };
    let count = node.attribute("repeatCount").map_or(Some(1.0), |it| it.trim().parse().ok());
    let end = match node.attribute("repeatDur") {
        Some(repeat) => seconds(repeat),
        None => count.map(|count| count * duration),
    };
    // If the value is not a number, such as `indefinite`, the animation never ends.
    let is_active = end.is_none_or(|end| elapsed < end);
    is_active.then_some(elapsed % duration / duration)
}

/// Interpolates if both neighbouring values consist of numbers.
fn between(values: &[&str], part: f64) -> String {
    let place = part * (values.len() - 1) as f64;
    let at = |index: usize| values[index.min(values.len() - 1)];
    let (from, to) = (at(place as usize), at(place as usize + 1));
    let numbers = |text: &str| -> Option<Vec<f64>> {
        let parts = text.split([' ', ',']).filter(|part| !part.is_empty());
        parts.map(|part| part.parse().ok()).collect()
    };
    match (numbers(from), numbers(to)) {
        (Some(from), Some(to)) if from.len() == to.len() && place > 0.0 => {
            let mix = |(from, to): (&f64, &f64)| (from + (to - from) * place.fract()).to_string();
            from.iter().zip(&to).map(mix).collect::<Vec<_>>().join(" ")
        }
        _ => from.to_owned(),
    }
}

fn seconds(text: &str) -> Option<f64> {
    let text = text.trim();
    if text.contains(':') {
        let sum = |sum: f64, part: &str| Some(sum * 60.0 + part.parse::<f64>().ok()?);
        return text.split(':').try_fold(0.0, sum).filter(|it| it.is_finite());
    }
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[number.len()..] {
        "" | "s" => 1.0,
        "ms" => 0.001,
        "min" => 60.0,
        "h" => 3_600.0,
        _ => return None,
    };
    number.parse::<f64>().ok().filter(|it| it.is_finite()).map(|it| it * unit)
}
