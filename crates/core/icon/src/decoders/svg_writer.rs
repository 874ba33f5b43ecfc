//! Rewrites an SVG so that its resolved style is in attributes that usvg reads.
//!
//! References to missing elements or to the wrong kind of element are omitted. If several elements
//! have the same id, only the first keeps it. Transforms become matrices, and basic shapes become
//! clip paths.

use std::{
    collections::{BTreeSet, HashMap},
    fmt::Write,
};

use resvg::{
    tiny_skia::Transform,
    usvg::{Tree, roxmltree::Document},
};

use super::{
    svg_boxes::{Measures, measure},
    svg_colours::split_outside,
    svg_css::{Computed, Styled, styled},
    svg_lengths::only_quantity,
    svg_properties::{Kind, Value, background, leading_url, property},
    svg_shapes,
    svg_targets::Paints,
    svg_transforms::{self, ReferenceBox, Transforms, functions, matrix},
    svg_viewports::{DEFAULT_SIDES, diagonal, is_relative, resolved},
    svg_work::{SvgWork, XML_BYTE_WORK, refused},
};
use crate::{error::IconError, sniff::svg_root::SVG_NAMESPACE};

const XLINK: &str = "http://www.w3.org/1999/xlink";
const XML: &str = "http://www.w3.org/XML/1998/namespace";
/// Maximum nesting of elements, to limit the recursion. `svg_cost` later applies a lower limit.
const MAX_DEPTH: usize = 128;
/// Maximum bytes in a dash list to scale. A longer list remains unchanged.
const MAX_DASH_BYTES: usize = 1024;
const MEASURED_WORK: f64 = 4_000.0;
const SKIPPED: [&str; 11] = [
    "style",
    "title",
    "desc",
    "metadata",
    "script",
    "foreignObject",
    "set",
    "animate",
    "animateTransform",
    "animateMotion",
    "animateColor",
];
/// Properties that usvg reads only from `style`.
const IN_STYLE: [&str; 4] = ["mix-blend-mode", "isolation", "font-kerning", "image-rendering"];

pub(crate) struct Written {
    pub(crate) text: Option<String>,
    pub(crate) background: Option<svgtypes::Color>,
}

pub(crate) type ReadTree = fn(&str, &mut SvgWork) -> Result<Tree, IconError>;

/// Resolves a document's styles and writes a new document.
///
/// # Errors
/// Returns an error if the SVG's work exceeds the limit, if variables expand to too many bytes, or
/// if elements are nested too deeply.
pub(crate) fn written(
    document: &Document,
    read: ReadTree,
    work: &mut SvgWork,
) -> Result<Written, IconError> {
    let styled = styled(document, work)?;
    let mut writer = Writer {
        styled: &styled,
        measured: HashMap::new(),
        paints: Paints::read(&styled, work)?,
        marks: (0..styled.elements.len()).filter(|at| styled.needs_measures(*at)).collect(),
        text: String::new(),
        definitions: String::new(),
        clip_count: 0,
        is_changed: false,
        work,
    };
    if !writer.marks.is_empty() {
        writer.work.spend(writer.marks.len() as f64 * MEASURED_WORK)?;
        writer.element(0, 0, false)?;
        let text = std::mem::take(&mut writer.text);
        let marks = writer.marks.iter();
        let ids: HashMap<_, _> = marks.map(|index| (styled.mark(*index), *index)).collect();
        let mut measured = HashMap::new();
        // If this cannot be parsed, the final document cannot be parsed either.
        if let Ok(tree) = read(&text, writer.work) {
            measure(tree.root(), writer.work, &mut |id, found| {
                if let Some(index) = ids.get(id) {
                    measured.entry(*index).or_insert(found);
                }
            })?;
        }
        (writer.measured, writer.is_changed) = (measured, true);
        (writer.marks, writer.definitions) = Default::default();
    }
    writer.element(0, 0, false)?;
    let background = styled.styles.first().and_then(|it| background(it.get("background-color")?));
    Ok(Written { text: writer.is_changed.then_some(writer.text), background })
}

struct Writer<'s, 'a, 'input> {
    styled: &'s Styled<'a, 'input>,
    measured: HashMap<usize, Measures>,
    paints: Paints,
    /// The elements to measure. Empty while writing the final document.
    marks: BTreeSet<usize>,
    text: String,
    definitions: String,
    clip_count: usize,
    is_changed: bool,
    work: &'s mut SvgWork,
}

impl Writer<'_, '_, '_> {
    fn element(&mut self, index: usize, depth: usize, in_text: bool) -> Result<(), IconError> {
        let node = self.styled.elements.node(index);
        let tag = node.tag_name().name();
        let is_drawn = node.tag_name().namespace() == Some(SVG_NAMESPACE);
        if !is_drawn || SKIPPED.contains(&tag) || self.styled.is_unused(index) {
            // The original cannot be used, because usvg also reads style sheets in other
            // namespaces, and nested style sheets.
            self.is_changed |=
                tag == "use" || node.descendants().any(|it| it.tag_name().name() == "style");
            return Ok(());
        }
        if depth > MAX_DEPTH {
            return Err(refused("nested too deep"));
        }
        let before = self.text.len() + self.definitions.len();
        let _ = write!(self.text, "<{tag}");
        if index == 0 {
            let _ = write!(self.text, " xmlns=\"{SVG_NAMESPACE}\" xmlns:xlink=\"{XLINK}\"");
        }
        self.attributes(index);
        self.properties(index);
        self.text.push('>');
        let bytes = self.text.len() + self.definitions.len() - before;
        self.work.spend(bytes as f64 * XML_BYTE_WORK)?;
        let in_text = in_text || tag == "text";
        for child in node.children() {
            if let Some(child) = self.styled.elements.index(child) {
                self.element(child, depth + 1, in_text)?;
            } else if let Some(text) = child.text().filter(|_| in_text && child.is_text()) {
                self.work.spend(text.len() as f64 * XML_BYTE_WORK)?;
                escape(text, &mut self.text);
            }
        }
        if index == 0 && !self.definitions.is_empty() {
            let definitions = std::mem::take(&mut self.definitions);
            let _ = write!(self.text, "<defs>{definitions}</defs>");
        }
        let _ = write!(self.text, "</{tag}>");
        Ok(())
    }

    fn attribute(&mut self, name: &str, value: &str) {
        let _ = write!(self.text, " {name}=\"");
        escape(value, &mut self.text);
        self.text.push('"');
    }

    fn attributes(&mut self, index: usize) {
        let styled = self.styled;
        let node = styled.elements.node(index);
        let style = &styled.styles[index];
        let mut written: Vec<&str> = Vec::new();
        for attribute in node.attributes() {
            let (name, value) = (attribute.name(), attribute.value());
            match attribute.namespace() {
                None => {}
                Some(XLINK) if name == "href" => {
                    self.attribute("xlink:href", value);
                    continue;
                }
                Some(XML) if name == "space" => {
                    self.attribute("xml:space", value);
                    continue;
                }
                Some(_) => continue,
            }
            let is_property = property(name).is_some_and(|it| it.is_attribute);
            match name {
                "id" if styled.ids.get(value) != Some(&index) => self.is_changed = true,
                "style" => self.is_changed = true,
                "class" => {}
                "width" | "height" if index == 0 => {}
                name if is_property || self.geometry(index, name).is_some() => {}
                name => {
                    let animated = style.animated.iter().rfind(|it| it.name == name);
                    let value = animated.map_or(value, |it| &it.value);
                    let length = styled.attribute_length(index, name, value);
                    self.is_changed |= animated.is_some() || length.is_some();
                    self.attribute(name, length.as_deref().unwrap_or(value));
                    written.push(name);
                }
            }
        }
        for animated in &style.animated {
            let is_new = !written.contains(&animated.name) && is_plain(animated.name);
            if is_new && node.attribute(animated.name).is_none() {
                self.is_changed = true;
                written.push(animated.name);
                self.attribute(animated.name, &animated.value);
            }
        }
        for (name, side) in styled.symbol_sides(index) {
            self.is_changed = true;
            self.attribute(name, &side);
        }
        if self.marks.contains(&index)
            && node.attribute("id").is_none_or(|id| styled.ids.get(id) != Some(&index))
        {
            let mark = self.styled.mark(index);
            self.attribute("id", &mark);
        }
        if index == 0 {
            self.sides();
        }
    }

    fn geometry(&self, index: usize, name: &str) -> Option<String> {
        let tag = self.styled.tag(index);
        let is_read = match name {
            "x" | "y" => matches!(tag, "rect" | "image" | "use" | "svg") && index != 0,
            "width" | "height" => matches!(tag, "rect" | "image" | "svg"),
            "cx" | "cy" => matches!(tag, "circle" | "ellipse"),
            "r" => tag == "circle",
            "rx" | "ry" => matches!(tag, "ellipse" | "rect"),
            "d" => tag == "path",
            _ => false,
        };
        if !is_read {
            return None;
        }
        let value = self.styled.styles[index].get(name)?;
        let whole = match name {
            "x" | "width" | "cx" | "rx" => self.styled.viewport(index).width,
            "r" => diagonal(self.styled.viewport(index)),
            _ => self.styled.viewport(index).height,
        };
        Some(resolved(value, whole))
    }

    fn properties(&mut self, index: usize) {
        let styled = self.styled;
        let (node, style) = (styled.elements.node(index), &styled.styles[index]);
        let mut in_style = String::new();
        for Computed { property, value, is_css } in &style.values {
            let name = property.name;
            if matches!(property.kind, Kind::Transform | Kind::Background)
                || name == "transform-box"
            {
                continue;
            }
            if !property.is_attribute && !IN_STYLE.contains(&name) {
                if let Some(value) = self.geometry(index, name).filter(|_| index != 0) {
                    self.is_changed = true;
                    if value != "auto" {
                        self.attribute(name, &value);
                    }
                }
                continue;
            }
            let text = match value {
                Value::Known(value) => self.finished(index, property.kind, value),
                Value::Wide("initial") if property.inherited => Some(property.initial.to_owned()),
                // An inherited property is omitted instead, because its value is then inherited.
                Value::Wide("inherit") if !property.inherited => Some("inherit".to_owned()),
                _ => None,
            };
            let text = text.map(|text| self.measured_stroke(index, name, &text).unwrap_or(text));
            self.is_changed |= *is_css || node.attribute(name) != text.as_deref();
            match text {
                Some(text) if IN_STYLE.contains(&name) => {
                    let _ = write!(in_style, "{name}:{text};");
                }
                Some(text) => self.attribute(name, &text),
                None => {}
            }
        }
        // An attribute with an invalid value has no computed style and is omitted, so the document
        // changes.
        self.is_changed |= node.attributes().filter(|it| it.namespace().is_none()).any(|it| {
            let property = property(it.name()).filter(|it| it.is_attribute);
            property.is_some() && style.computed(it.name()).is_none()
        });
        for name in ["stroke-width", "stroke-dasharray", "stroke-dashoffset"] {
            if style.get(name).is_none()
                && let Some(value) = self.measured_stroke(index, name, "")
            {
                self.is_changed = true;
                self.attribute(name, &value);
            }
        }
        if !in_style.is_empty() {
            self.attribute("style", &in_style);
        }
        self.transform(index);
    }

    /// `None` if the attribute must be omitted.
    fn finished(&mut self, index: usize, kind: Kind, value: &str) -> Option<String> {
        let target = |url: &str| -> Option<&str> {
            Some(self.styled.tag(*self.styled.ids.get(url.strip_prefix('#')?)?))
        };
        match kind {
            Kind::Paint => Some(self.paints.written(self.styled, value)),
            Kind::Marker | Kind::Mask => {
                let wanted = if kind == Kind::Mask { "mask" } else { "marker" };
                let Some((url, _)) = leading_url(value) else {
                    return (value == "none").then(|| value.to_owned());
                };
                (target(&url) == Some(wanted)).then(|| value.to_owned())
            }
            Kind::ClipPath => match leading_url(value) {
                Some((url, _)) => (target(&url) == Some("clipPath")).then(|| value.to_owned()),
                None if value == "none" => Some(value.to_owned()),
                None => self.clip(index, value),
            },
            Kind::Filter => {
                let is_known = |part: &&str| {
                    let url = leading_url(part);
                    url.is_none_or(|(url, _)| target(&url) == Some("filter"))
                };
                let parts: Vec<&str> = split_outside(value, ' ').filter(is_known).collect();
                (!parts.is_empty()).then(|| parts.join(" "))
            }
            Kind::Length | Kind::Spacing if value.contains('(') => {
                Some(resolved(value, diagonal(self.styled.viewport(index))))
            }
            _ => Some(value.to_owned()),
        }
    }

    /// Writes a clip path for a basic shape, and returns a reference to it. `None` if the element
    /// is not measured or the shape is invalid.
    fn clip(&mut self, index: usize, value: &str) -> Option<String> {
        let reference = match svg_shapes::box_of(value)? {
            _ if index == 0 => self.styled.root_box(),
            "view-box" => self.styled.viewport(index),
            "fill-box" | "content-box" | "padding-box" => self.measured.get(&index)?.fill,
            _ => self.measured.get(&index)?.stroke,
        };
        let shape = svg_shapes::shape(value, reference)?;
        self.clip_count += 1;
        let id = self.styled.free_id(format!("everytab-clip-{}", self.clip_count));
        let rule = if shape.is_even_odd { "evenodd" } else { "nonzero" };
        let _ = write!(self.definitions, "<clipPath id=\"{id}\"><path clip-rule=\"{rule}\" d=\"");
        escape(&shape.data, &mut self.definitions);
        self.definitions.push_str("\"/></clipPath>");
        Some(format!("url(#{id})"))
    }

    /// Scales strokes with a fixed width, and dashes that are relative to `pathLength`. `None` if
    /// the value does not change. `own` is empty if the value is inherited.
    fn measured_stroke(&self, index: usize, name: &str, own: &str) -> Option<String> {
        let is_width = name == "stroke-width";
        if !is_width && !matches!(name, "stroke-dasharray" | "stroke-dashoffset") {
            return None;
        }
        let measured = self.measured.get(&index)?;
        let node = self.styled.elements.node(index);
        let is_fixed = self.styled.styles[index].get("vector-effect") == Some("non-scaling-stroke");
        let mut factor = if is_fixed && measured.scale > 0.0 { 1.0 / measured.scale } else { 1.0 };
        let length = node.attribute("pathLength").and_then(|it| it.trim().parse::<f64>().ok());
        if let Some(length) = length.filter(|length| !is_width && *length > 0.0) {
            factor *= measured.length / length;
        }
        let is_dashes = name == "stroke-dasharray";
        let initial = if is_dashes { None } else { Some(if is_width { "1" } else { "0" }) };
        let own =
            if own.is_empty() { self.styled.inherited(index, name).or(initial)? } else { own };
        let scaled = |part: &str| {
            let length = match part.parse::<f64>() {
                Ok(number) => number,
                Err(_) => only_quantity(part)?.length(diagonal(self.styled.viewport(index)))?,
            };
            Some(format!("{}", (length * factor) as f32))
        };
        if factor == 1.0 || own.len() > MAX_DASH_BYTES {
            return None;
        }
        let all: Option<Vec<String>> = own.split_ascii_whitespace().map(scaled).collect();
        all.map(|all| all.join(" "))
    }

    fn transform(&mut self, index: usize) {
        let styled = self.styled;
        let (node, style) = (styled.elements.node(index), &styled.styles[index]);
        let own = style.computed("transform");
        let is_css = own.is_some_and(|it| it.is_css);
        let value = style.get("transform");
        let all = Transforms {
            translate: style.get("translate"),
            rotate: style.get("rotate"),
            scale: style.get("scale"),
            origin: style.get("transform-origin").or((index == 0).then_some("50% 50%")),
        };
        let has_single = all.translate.or(all.rotate).or(all.scale).is_some();
        let has_origin = all.origin.is_some() && value.is_some_and(|value| value != "none");
        if !is_css && !has_single && !has_origin {
            if let Some(value) = value {
                self.is_changed |= node.attribute("transform") != Some(value);
                self.attribute("transform", value);
            }
            return;
        }
        let reference = match (style.get("transform-box"), self.measured.get(&index)) {
            _ if index == 0 => {
                let [width, height] = self.styled.root_sides();
                ReferenceBox { width, height, ..ReferenceBox::default() }
            }
            (None | Some("view-box"), _) => self.styled.viewport(index),
            (Some("stroke-box" | "border-box"), Some(measured)) => measured.stroke,
            (_, Some(measured)) => measured.fill,
            (_, None) => ReferenceBox::default(),
        };
        let own = match value {
            Some(value) if is_css => functions(value, reference),
            Some(value) => svg_transforms::attribute(value),
            None => None,
        };
        let Transform { sx, ky, kx, sy, tx, ty } = matrix(own.unwrap_or_default(), all, reference);
        let name = match node.tag_name().name() {
            "linearGradient" | "radialGradient" => "gradientTransform",
            "pattern" => "patternTransform",
            _ => "transform",
        };
        self.is_changed = true;
        if index == 0 {
            // Otherwise usvg would apply the transform origin again.
            self.attribute("transform-origin", "0 0");
        }
        if name == "transform" || node.attribute(name).is_none() {
            self.attribute(name, &format!("matrix({sx} {ky} {kx} {sy} {tx} {ty})"));
        }
    }

    /// Writes the root element's width and height, which styles do not affect. If there is no
    /// `viewBox`, usvg needs both.
    fn sides(&mut self) {
        let node = self.styled.elements.node(0);
        let has_box = self.styled.view_box(0).is_some();
        for (name, default) in ["width", "height"].into_iter().zip(DEFAULT_SIDES) {
            let given = node.attribute(name);
            let value = given.filter(|value| has_box || !is_relative(value));
            match value {
                Some(value) => self.attribute(name, value),
                None if has_box => {}
                None => {
                    self.is_changed = true;
                    self.attribute(name, &default.to_string());
                }
            }
        }
    }
}

fn is_plain(name: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(is_name)
        && !matches!(name, "id" | "style" | "class" | "href" | "xmlns")
        && property(name).is_none_or(|it| !it.is_attribute)
}

fn escape(text: &str, to: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find(['&', '<', '>', '"', '\n', '\t', '\r']) {
        to.push_str(&rest[..at]);
        let _ = match rest.as_bytes()[at] {
            b'&' => to.write_str("&amp;"),
            b'<' => to.write_str("&lt;"),
            byte => write!(to, "&#{byte};"),
        };
        rest = &rest[at + 1..];
    }
    to.push_str(rest);
}
