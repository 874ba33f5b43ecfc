//! Matches CSS selectors against an SVG's elements with the crate `selectors`.
//!
//! Each access to an element counts as a step. After too many steps, elements appear to have no
//! neighbours and no names, so matching stops soon.

use std::{cell::Cell, collections::HashMap, fmt};

use cssparser::{CowRcStr, ParseError, Parser, ToCss, serialize_identifier};
use precomputed_hash::PrecomputedHash;
use resvg::usvg::roxmltree::{Attributes, Document, Node, NodeId};
use selectors::{
    Element, OpaqueElement, SelectorImpl,
    attr::{AttrSelectorOperation, CaseSensitivity, NamespaceConstraint},
    bloom::BloomFilter,
    context::{
        MatchingContext, MatchingForInvalidation, MatchingMode, NeedsSelectorFlags, QuirksMode,
        SelectorCaches,
    },
    matching::{ElementSelectorFlags, matches_selector},
    parser::{self, Selector, SelectorParseErrorKind},
};

/// Maximum steps for matching selectors in a document. An SVG beyond this limit is rejected.
const MAX_STEPS: u64 = 2_000_000;
/// Pseudo-classes for interaction, forms and languages, which never match in an icon.
const NEVER: [&str; 17] = [
    "active",
    "checked",
    "default",
    "defined",
    "dir",
    "disabled",
    "enabled",
    "focus",
    "focus-visible",
    "focus-within",
    "fullscreen",
    "hover",
    "lang",
    "playing",
    "target",
    "target-within",
    "visited",
];
const PSEUDO_ELEMENTS: [&str; 7] =
    ["after", "backdrop", "before", "first-letter", "first-line", "marker", "selection"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selectors;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CssName(Box<str>);

impl From<&str> for CssName {
    fn from(name: &str) -> Self {
        Self(name.into())
    }
}

impl AsRef<str> for CssName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl ToCss for CssName {
    fn to_css<W: fmt::Write>(&self, to: &mut W) -> fmt::Result {
        serialize_identifier(&self.0, to)
    }
}

impl PrecomputedHash for CssName {
    fn precomputed_hash(&self) -> u32 {
        self.0
            .bytes()
            .fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Link,
    Never,
}

impl ToCss for State {
    fn to_css<W: fmt::Write>(&self, to: &mut W) -> fmt::Result {
        to.write_str(if *self == Self::Link { ":link" } else { ":hover" })
    }
}

impl parser::NonTSPseudoClass for State {
    fn is_active_or_hover(&self) -> bool {
        false
    }

    fn is_user_action_state(&self) -> bool {
        false
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PseudoElement;

impl ToCss for PseudoElement {
    fn to_css<W: fmt::Write>(&self, to: &mut W) -> fmt::Result {
        to.write_str("::before")
    }
}

impl parser::PseudoElement for PseudoElement {}

impl SelectorImpl for Selectors {
    type ExtraMatchingData<'a> = ();
    type AttrValue = CssName;
    type Identifier = CssName;
    type LocalName = CssName;
    type NamespaceUrl = CssName;
    type NamespacePrefix = CssName;
    type BorrowedNamespaceUrl = CssName;
    type BorrowedLocalName = CssName;
    type NonTSPseudoClass = State;
    type PseudoElement = PseudoElement;
}

pub(crate) struct SelectorParser;

fn unsupported<T>() -> Result<T, ParseError<SelectorParseErrorKind>> {
    Err(ParseError::custom(SelectorParseErrorKind::UnsupportedPseudoClassOrElement))
}

fn is_in(names: &[&str], name: &str) -> bool {
    names.iter().any(|known| known.eq_ignore_ascii_case(name))
}

impl<'i> parser::Parser<'i> for SelectorParser {
    type Impl = Selectors;
    type Error = SelectorParseErrorKind;

    fn parse_nth_child_of(&self) -> bool {
        true
    }

    fn parse_is_and_where(&self) -> bool {
        true
    }

    fn parse_has(&self) -> bool {
        true
    }

    fn parse_parent_selector(&self) -> bool {
        true
    }

    fn is_is_alias(&self, name: &str) -> bool {
        name.eq_ignore_ascii_case("-webkit-any")
    }

    fn parse_non_ts_pseudo_class(
        &self,
        name: CowRcStr<'i>,
    ) -> Result<State, ParseError<Self::Error>> {
        match &*name {
            name if is_in(&["link", "any-link", "-webkit-any-link"], name) => Ok(State::Link),
            name if is_in(&NEVER, name) => Ok(State::Never),
            _ => unsupported(),
        }
    }

    fn parse_non_ts_functional_pseudo_class(
        &self,
        name: CowRcStr<'i>,
        arguments: &mut Parser<'i>,
        _after_part: bool,
    ) -> Result<State, ParseError<Self::Error>> {
        if !is_in(&["lang", "dir"], &name) {
            return unsupported();
        }
        while arguments.next().is_ok() {}
        Ok(State::Never)
    }

    fn parse_pseudo_element(
        &self,
        name: CowRcStr<'i>,
    ) -> Result<PseudoElement, ParseError<Self::Error>> {
        if is_in(&PSEUDO_ELEMENTS, &name) { Ok(PseudoElement) } else { unsupported() }
    }
}

#[derive(Debug)]
pub(crate) struct Elements<'a, 'input> {
    all: Vec<Entry<'a, 'input>>,
    by_node: HashMap<NodeId, usize>,
    steps: Cell<u64>,
}

#[derive(Debug)]
struct Entry<'a, 'input> {
    node: Node<'a, 'input>,
    parent: Option<usize>,
    before: Option<usize>,
    after: Option<usize>,
    first: Option<usize>,
}

impl<'a, 'input> Elements<'a, 'input> {
    pub(crate) fn of(document: &'a Document<'input>) -> Self {
        let mut all: Vec<Entry> = Vec::new();
        let mut by_node: HashMap<NodeId, usize> = HashMap::new();
        let mut last_child: Vec<Option<usize>> = Vec::new();
        for node in document.root_element().descendants().filter(Node::is_element) {
            let index = all.len();
            let parent = node.parent().and_then(|parent| by_node.get(&parent.id()).copied());
            let before = parent.and_then(|parent| last_child[parent].replace(index));
            match (before, parent) {
                (Some(before), _) => all[before].after = Some(index),
                (None, Some(parent)) => all[parent].first = Some(index),
                _ => {}
            }
            all.push(Entry { node, parent, before, after: None, first: None });
            last_child.push(None);
            by_node.insert(node.id(), index);
        }
        Self { all, by_node, steps: Cell::new(0) }
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn node(&self, index: usize) -> Node<'a, 'input> {
        self.all[index].node
    }

    pub(crate) fn index(&self, node: Node) -> Option<usize> {
        self.by_node.get(&node.id()).copied()
    }

    pub(crate) fn parent(&self, index: usize) -> Option<usize> {
        self.all[index].parent
    }

    pub(crate) fn matches(
        &self,
        index: usize,
        selector: &Selector<Selectors>,
        caches: &mut SelectorCaches,
    ) -> bool {
        let mut context = MatchingContext::new(
            MatchingMode::Normal,
            None,
            caches,
            QuirksMode::NoQuirks,
            NeedsSelectorFlags::No,
            MatchingForInvalidation::No,
        );
        let element = ElementAt { elements: self, index };
        matches_selector(selector, 0, None, &element, &mut context)
    }

    pub(crate) fn steps(&self) -> (u64, bool) {
        let steps = self.steps.get();
        (steps, steps > MAX_STEPS)
    }

    fn may(&self, steps: usize) -> bool {
        let sum = self.steps.get().saturating_add(steps as u64);
        self.steps.set(sum);
        sum <= MAX_STEPS
    }
}

#[derive(Clone, Copy, Debug)]
struct ElementAt<'t, 'a, 'input> {
    elements: &'t Elements<'a, 'input>,
    index: usize,
}

impl<'a, 'input> ElementAt<'_, 'a, 'input> {
    fn entry(&self) -> &Entry<'a, 'input> {
        &self.elements.all[self.index]
    }

    fn at(&self, index: Option<usize>) -> Option<Self> {
        let index = index.filter(|_| self.elements.may(1))?;
        Some(Self { elements: self.elements, index })
    }

    fn attributes(&self) -> Option<Attributes<'a, 'input>> {
        let attributes = self.entry().node.attributes();
        self.elements.may(1 + attributes.len() / 8).then_some(attributes)
    }

    fn attribute(&self, name: &str) -> Option<&'a str> {
        let mut attributes = self.attributes()?;
        attributes.find(|it| it.namespace().is_none() && it.name() == name).map(|it| it.value())
    }
}

impl Element for ElementAt<'_, '_, '_> {
    type Impl = Selectors;

    fn opaque(&self) -> OpaqueElement {
        OpaqueElement::new(self.entry())
    }

    fn parent_element(&self) -> Option<Self> {
        self.at(self.entry().parent)
    }

    fn parent_node_is_shadow_root(&self) -> bool {
        false
    }

    fn containing_shadow_host(&self) -> Option<Self> {
        None
    }

    fn is_pseudo_element(&self) -> bool {
        false
    }

    fn prev_sibling_element(&self) -> Option<Self> {
        self.at(self.entry().before)
    }

    fn next_sibling_element(&self) -> Option<Self> {
        self.at(self.entry().after)
    }

    fn first_element_child(&self) -> Option<Self> {
        self.at(self.entry().first)
    }

    fn is_html_element_in_html_document(&self) -> bool {
        false
    }

    fn has_local_name(&self, name: &CssName) -> bool {
        self.elements.may(1) && self.entry().node.tag_name().name() == &*name.0
    }

    fn has_namespace(&self, namespace: &CssName) -> bool {
        self.elements.may(1)
            && self.entry().node.tag_name().namespace().unwrap_or_default() == &*namespace.0
    }

    fn is_same_type(&self, other: &Self) -> bool {
        self.elements.may(1) && self.entry().node.tag_name() == other.entry().node.tag_name()
    }

    fn attr_matches(
        &self,
        namespace: &NamespaceConstraint<&CssName>,
        name: &CssName,
        operation: &AttrSelectorOperation<&CssName>,
    ) -> bool {
        let is_in = |other: Option<&str>| match namespace {
            NamespaceConstraint::Any => true,
            NamespaceConstraint::Specific(namespace) => other.unwrap_or_default() == &*namespace.0,
        };
        let Some(mut attributes) = self.attributes() else { return false };
        attributes.any(|it| {
            it.name() == &*name.0
                && is_in(it.namespace())
                && self.elements.may(it.value().len() / 16)
                && operation.eval_str(it.value())
        })
    }

    fn match_non_ts_pseudo_class(
        &self,
        state: &State,
        _context: &mut MatchingContext<Selectors>,
    ) -> bool {
        *state == State::Link && self.is_link()
    }

    fn match_pseudo_element(
        &self,
        _element: &PseudoElement,
        _context: &mut MatchingContext<Selectors>,
    ) -> bool {
        false
    }

    fn apply_selector_flags(&self, _flags: ElementSelectorFlags) {}

    fn is_link(&self) -> bool {
        let node = self.entry().node;
        node.tag_name().name() == "a" && node.attributes().any(|it| it.name() == "href")
    }

    fn is_html_slot_element(&self) -> bool {
        false
    }

    fn has_id(&self, id: &CssName, case: CaseSensitivity) -> bool {
        self.attribute("id").is_some_and(|it| case.eq(it.as_bytes(), id.0.as_bytes()))
    }

    fn has_class(&self, name: &CssName, case: CaseSensitivity) -> bool {
        let classes = self.attribute("class").unwrap_or_default();
        self.elements.may(classes.len() / 16)
            && classes.split_ascii_whitespace().any(|it| case.eq(it.as_bytes(), name.0.as_bytes()))
    }

    fn has_custom_state(&self, _name: &CssName) -> bool {
        false
    }

    fn imported_part(&self, _name: &CssName) -> Option<CssName> {
        None
    }

    fn is_part(&self, _name: &CssName) -> bool {
        false
    }

    fn is_empty(&self) -> bool {
        let children = self.entry().node.children();
        self.elements.may(1)
            && !children
                .take_while(|_| self.elements.may(1))
                .any(|child| child.is_element() || child.text().is_some_and(|it| !it.is_empty()))
    }

    fn is_root(&self) -> bool {
        self.entry().parent.is_none()
    }

    fn add_element_unique_hashes(&self, _filter: &mut BloomFilter) -> bool {
        false
    }
}
