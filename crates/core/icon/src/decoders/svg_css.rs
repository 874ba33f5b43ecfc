//! Resolves an SVG's CSS before usvg reads the document, because usvg supports few selectors, no
//! variables and no units in transforms.
//!
//! The cascade contains presentation attributes, style sheets and `style`. `svg_writer` writes the
//! result as attributes to a new document without style sheets.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    rc::Rc,
};

use resvg::usvg::roxmltree::{Document, Node};
use selectors::{context::SelectorCaches, parser::Component};

use super::{
    svg_animations::{Animated, animated},
    svg_properties::{Declaration, Kind, Property, Target, Value, property, read},
    svg_selectors::Elements,
    svg_sheet::{Rule, Sheets, declarations, matches_tab},
    svg_variables::{Expansion, Variables},
    svg_work::{CSS_BYTE_WORK, SvgWork, refused},
};
use crate::{error::IconError, sniff::svg_root::SVG_NAMESPACE};

/// The HTML namespace. Browsers apply `style` elements in this namespace to the whole document.
const XHTML_NAMESPACE: &str = "http://www.w3.org/1999/xhtml";
const ELEMENT_WORK: f64 = 400.0;
const SHEET_BYTE_WORK: f64 = 60.0;
/// Work for trying a rule on an element, for a step while matching its selector, and for applying a
/// declaration.
const RULE_WORK: f64 = 100.0;
const STEP_WORK: f64 = 15.0;
const APPLIED_WORK: f64 = 100.0;
/// Work per byte of an applied transform or shape, which is parsed again for each element.
const SHAPE_BYTE_WORK: f64 = 100.0;

#[derive(Clone)]
pub(crate) struct Computed {
    pub(crate) property: &'static Property,
    /// Never [`Value::Open`] after the cascade.
    pub(crate) value: Value,
    pub(crate) is_css: bool,
}

#[derive(Default)]
pub(crate) struct Style<'a> {
    pub(crate) values: Vec<Computed>,
    pub(crate) animated: Vec<Animated<'a>>,
}

impl Style<'_> {
    /// `None` if the property is not set, or if it is a keyword such as `inherit`.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        match &self.computed(name)?.value {
            Value::Known(value) => Some(value),
            _ => None,
        }
    }

    pub(crate) fn computed(&self, name: &str) -> Option<&Computed> {
        self.values.iter().find(|it| it.property.name == name)
    }

    fn set(&mut self, property: &'static Property, value: Value, is_css: bool) {
        let computed = Computed { property, value, is_css };
        match self.values.iter_mut().find(|it| std::ptr::eq(it.property, property)) {
            Some(known) => *known = computed,
            None => self.values.push(computed),
        }
    }
}

pub(crate) struct Styled<'a, 'input> {
    pub(crate) elements: Elements<'a, 'input>,
    pub(crate) styles: Vec<Style<'a>>,
    /// The first element with each id.
    pub(crate) ids: HashMap<&'a str, usize>,
}

pub(crate) fn styled<'a, 'input>(
    document: &'a Document<'input>,
    work: &mut SvgWork,
) -> Result<Styled<'a, 'input>, IconError> {
    let elements = Elements::of(document);
    work.spend(elements.len() as f64 * ELEMENT_WORK)?;
    let mut ids = HashMap::new();
    let mut sheets = Sheets::default();
    for index in 0..elements.len() {
        let node = elements.node(index);
        if let Some(id) = node.attribute("id") {
            ids.entry(id).or_insert(index);
        }
        if is_sheet(node) {
            let texts = node.children().filter(Node::is_text);
            let sheet: String = texts.filter_map(|text| text.text()).collect();
            work.spend(sheet.len() as f64 * SHEET_BYTE_WORK)?;
            sheets.read(&sheet, work)?;
        }
    }
    let rules = RuleMap::of(&sheets);
    let mut animated = animated(&elements, &ids);
    let mut cascade =
        Cascade { elements: &elements, rules, caches: SelectorCaches::default(), steps: 0, work };
    let mut expansion = Expansion::default();
    let mut styles: Vec<Style> = Vec::with_capacity(elements.len());
    let mut variables: Vec<Variables> = Vec::with_capacity(elements.len());
    for index in 0..elements.len() {
        let parent = elements.parent(index).map(|at| Rc::clone(&variables[at])).unwrap_or_default();
        let (mut style, own) = cascade.style(index)?;
        let inherited = expansion.inherited(&parent, &own, cascade.work)?;
        for computed in &mut style.values {
            if let Value::Open(text) = &computed.value {
                let text = expansion.expanded(text, &inherited, cascade.work)?;
                let value = text.and_then(|it| read(computed.property, it.trim(), computed.is_css));
                let known = value.filter(|value| !matches!(value, Value::Open(_)));
                computed.value = known.unwrap_or(Value::Wide("unset"));
            }
        }
        style.animate(animated.remove(&index).unwrap_or_default(), cascade.work)?;
        styles.push(style);
        variables.push(inherited);
    }
    Ok(Styled { elements, styles, ids })
}

impl<'a> Style<'a> {
    fn animate(&mut self, all: Vec<Animated<'a>>, work: &mut SvgWork) -> Result<(), IconError> {
        for one in all {
            // Attributes that are not properties are compared with all animated attributes later.
            work.spend(APPLIED_WORK + self.animated.len() as f64 * STEP_WORK)?;
            let Some(property) = property(one.name).filter(|it| it.is_attribute) else {
                self.animated.push(one);
                continue;
            };
            let base = self.computed(one.name).filter(|it| !it.is_css);
            let text = match base.map(|it| &it.value) {
                Some(Value::Known(base)) if one.is_added => format!("{base} {}", one.value),
                _ => one.value,
            };
            work.spend(text.len() as f64 * CSS_BYTE_WORK)?;
            if let Some(value) = read(property, &text, false) {
                self.set(property, value, false);
            }
        }
        Ok(())
    }
}

fn is_sheet(node: Node) -> bool {
    let is_css = |kind: &str| kind.is_empty() || kind.trim().eq_ignore_ascii_case("text/css");
    node.tag_name().name() == "style"
        && matches!(node.tag_name().namespace(), Some(SVG_NAMESPACE | XHTML_NAMESPACE))
        && node.attribute("type").is_none_or(is_css)
        && matches_tab(node.attribute("media").unwrap_or_default())
}

struct RuleMap<'s> {
    sheets: &'s Sheets,
    by_name: HashMap<&'s str, Vec<usize>>,
    others: Vec<usize>,
}

impl<'s> RuleMap<'s> {
    fn of(sheets: &'s Sheets) -> Self {
        let mut map = Self { sheets, by_name: HashMap::new(), others: Vec::new() };
        for (index, rule) in sheets.rules.iter().enumerate() {
            match key(rule) {
                Some(key) => map.by_name.entry(key).or_default().push(index),
                None => map.others.push(index),
            }
        }
        map
    }

    fn candidates(&self, node: Node, work: &mut SvgWork) -> Result<Vec<usize>, IconError> {
        work.spend(self.others.len() as f64 * RULE_WORK)?;
        let mut found = self.others.clone();
        if self.by_name.is_empty() {
            return Ok(found);
        }
        let classes = node.attribute("class").unwrap_or_default().split_ascii_whitespace();
        let names = [Some(node.tag_name().name()), node.attribute("id")];
        for name in names.into_iter().flatten().chain(classes) {
            let rules = self.by_name.get(name).map_or(&[][..], Vec::as_slice);
            work.spend((1 + rules.len()) as f64 * RULE_WORK)?;
            found.extend(rules);
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }
}

/// Returns a class, id or tag name that an element must have to match this rule.
fn key(rule: &Rule) -> Option<&str> {
    rule.selector.iter().find_map(|part| match part {
        Component::LocalName(name) => Some(name.name.as_ref()),
        Component::ID(name) | Component::Class(name) => Some(name.as_ref()),
        _ => None,
    })
}

struct Cascade<'s, 'w, 'a, 'input> {
    elements: &'s Elements<'a, 'input>,
    rules: RuleMap<'s>,
    caches: SelectorCaches,
    steps: u64,
    work: &'w mut SvgWork,
}

fn applied_work(property: &Property, value: &Value) -> f64 {
    let Value::Known(text) = value else { return 0.0 };
    let is_shape = matches!(property.kind, Kind::ClipPath | Kind::Transform);
    text.len() as f64 * if is_shape { SHAPE_BYTE_WORK } else { CSS_BYTE_WORK }
}

type Rank = (bool, bool, Reverse<usize>, usize, u32, usize);

impl Cascade<'_, '_, '_, '_> {
    fn style<'a>(
        &mut self,
        index: usize,
    ) -> Result<(Style<'a>, BTreeMap<Rc<str>, Value>), IconError> {
        let node = self.elements.node(index);
        let mut style = Style::default();
        let mut variables = BTreeMap::new();
        for attribute in node.attributes().filter(|it| it.namespace().is_none()) {
            let property = property(attribute.name()).filter(|it| it.is_attribute);
            let Some(property) = property else { continue };
            self.work.spend(attribute.value().len() as f64 * CSS_BYTE_WORK)?;
            if let Some(value) = read(property, attribute.value().trim(), false) {
                style.set(property, value, false);
            }
        }
        let inline = match node.attribute("style") {
            Some(text) => {
                self.work.spend(text.len() as f64 * CSS_BYTE_WORK)?;
                declarations(text, self.work)?
            }
            None => Vec::new(),
        };
        let applied = self.applied(index)?;
        let blocks = &self.rules.sheets.blocks;
        let mut all: Vec<(Rank, &Declaration)> = Vec::new();
        for rule in applied.iter().map(|rule| &self.rules.sheets.rules[*rule]) {
            self.work.spend(blocks[rule.block].len() as f64 * APPLIED_WORK)?;
            for declaration in &blocks[rule.block] {
                // For important declarations, layers have the reverse order.
                let (early, late) = if declaration.important {
                    (Reverse(rule.layer), 0)
                } else {
                    (Reverse(0), rule.layer)
                };
                let specificity = rule.selector.specificity();
                let rank = (declaration.important, false, early, late, specificity, all.len());
                all.push((rank, declaration));
            }
        }
        for declaration in &inline {
            let rank = (declaration.important, true, Reverse(0), 0, 0, all.len());
            all.push((rank, declaration));
        }
        all.sort_unstable_by_key(|(rank, _)| *rank);
        for (_, Declaration { target, value, .. }) in all {
            match target {
                Target::Property(property) => {
                    self.work.spend(applied_work(property, value))?;
                    style.set(property, value.clone(), true);
                }
                Target::Variable(name) => {
                    variables.insert(Rc::clone(name), value.clone());
                }
            }
        }
        Ok((style, variables))
    }

    fn applied(&mut self, index: usize) -> Result<Vec<usize>, IconError> {
        let mut found = self.rules.candidates(self.elements.node(index), self.work)?;
        let mut result = Ok(());
        found.retain(|rule| {
            let selector = &self.rules.sheets.rules[*rule].selector;
            let matches =
                result.is_ok() && self.elements.matches(index, selector, &mut self.caches);
            let (steps, are_too_many) = self.elements.steps();
            if are_too_many {
                result = Err(refused("too much to draw"));
            }
            if result.is_ok() {
                result = self.work.spend((steps - self.steps) as f64 * STEP_WORK);
                self.steps = steps;
            }
            matches
        });
        result.map(|()| found)
    }
}
