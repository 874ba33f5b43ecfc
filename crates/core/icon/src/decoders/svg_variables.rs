//! Replaces CSS variables with their values, `env()` with its fallback, and `light-dark()` with its
//! first argument (the light colour).

use std::{
    collections::{BTreeMap, HashMap},
    rc::Rc,
};

use super::{
    svg_properties::Value,
    svg_work::{CSS_BYTE_WORK, SvgWork, refused},
};
use crate::error::IconError;

/// Maximum nesting of variables. A variable beyond this depth has no value.
const MAX_DEPTH: usize = 8;
/// Maximum bytes that replace variables in a document. Each replacement counts as one additional
/// byte.
const MAX_VALUE_BYTES: usize = 256 * 1024;
const VARIABLE_WORK: f64 = 60.0;

pub(crate) type Variables = Rc<HashMap<Rc<str>, Rc<str>>>;

pub(crate) struct Expansion {
    left: usize,
}

impl Default for Expansion {
    fn default() -> Self {
        Self { left: MAX_VALUE_BYTES }
    }
}

struct Scope<'a> {
    /// Ordered by name, so that every run exceeds the same limit first.
    own: &'a BTreeMap<Rc<str>, Value>,
    parent: &'a Variables,
}

impl Expansion {
    /// Returns the variables of an element that declares `own`.
    ///
    /// # Errors
    /// Returns an error if the SVG's work exceeds the limit, or if variables expand to too many
    /// bytes.
    pub(crate) fn inherited(
        &mut self,
        parent: &Variables,
        own: &BTreeMap<Rc<str>, Value>,
        work: &mut SvgWork,
    ) -> Result<Variables, IconError> {
        if own.is_empty() {
            return Ok(Rc::clone(parent));
        }
        work.spend((parent.len() + own.len()) as f64 * VARIABLE_WORK)?;
        let mut all = HashMap::clone(parent);
        let scope = Scope { own, parent };
        for name in own.keys() {
            match self.variable(name, &scope, MAX_DEPTH, work)? {
                Some(value) => all.insert(Rc::clone(name), value.into()),
                None => all.remove(name),
            };
        }
        Ok(Rc::new(all))
    }

    /// `None` if a variable has no value.
    ///
    /// # Errors
    /// Returns an error if the SVG's work exceeds the limit, or if variables expand to too many
    /// bytes.
    pub(crate) fn expanded(
        &mut self,
        text: &str,
        variables: &Variables,
        work: &mut SvgWork,
    ) -> Result<Option<String>, IconError> {
        let scope = Scope { own: &BTreeMap::new(), parent: variables };
        self.value(text, &scope, MAX_DEPTH, work)
    }

    fn variable(
        &mut self,
        name: &str,
        scope: &Scope,
        depth: usize,
        work: &mut SvgWork,
    ) -> Result<Option<String>, IconError> {
        let inherited = || scope.parent.get(name).map(|value| value.to_string());
        match scope.own.get(name) {
            None => Ok(inherited()),
            Some(Value::Wide("initial")) => Ok(None),
            Some(Value::Wide(_)) => Ok(inherited()),
            Some(_) if depth == 0 => Ok(None),
            Some(Value::Open(text) | Value::Known(text)) => {
                self.value(text, scope, depth - 1, work)
            }
        }
    }

    fn value(
        &mut self,
        text: &str,
        scope: &Scope,
        depth: usize,
        work: &mut SvgWork,
    ) -> Result<Option<String>, IconError> {
        work.spend(text.len() as f64 * CSS_BYTE_WORK)?;
        let mut written = String::new();
        let mut rest = text;
        let mut seen = 0;
        while let Some(at) = rest[seen..].find('(').map(|at| seen + at) {
            let (name, arguments) = (function_before(rest, at), &rest[at + 1..]);
            seen = at + 1;
            let Some(name) = name else { continue };
            let end = find_outside(arguments, b")").unwrap_or(arguments.len());
            let (arguments, after) = arguments.split_at(end);
            let comma = find_outside(arguments, b",").unwrap_or(arguments.len());
            let (first, second) = (arguments[..comma].trim(), arguments.get(comma + 1..));
            let known = match name {
                "var" => self.variable(first, scope, depth, work)?,
                "light-dark" => self.nested(first, scope, depth, work)?,
                _ => None,
            };
            let value = match (known, second) {
                (Some(known), _) => Some(known),
                (None, Some(second)) if name != "light-dark" => {
                    self.nested(second.trim(), scope, depth, work)?
                }
                _ => None,
            };
            let Some(value) = value else { return Ok(None) };
            self.left =
                self.left.checked_sub(value.len() + 1).ok_or_else(|| refused("style variables"))?;
            written.push_str(&rest[..at - name.len()]);
            written.push_str(&value);
            rest = after.get(1..).unwrap_or_default();
            seen = 0;
        }
        written.push_str(rest);
        Ok(Some(written))
    }

    fn nested(
        &mut self,
        text: &str,
        scope: &Scope,
        depth: usize,
        work: &mut SvgWork,
    ) -> Result<Option<String>, IconError> {
        match depth.checked_sub(1) {
            Some(depth) => self.value(text, scope, depth, work),
            None => Ok(None),
        }
    }
}

fn function_before(text: &str, at: usize) -> Option<&'static str> {
    ["light-dark", "var", "env"].into_iter().find(|name| {
        let before = &text[..at];
        let start = at.saturating_sub(name.len());
        let is_named = before.get(start..).is_some_and(|it| it.eq_ignore_ascii_case(name));
        let in_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        is_named && !before.get(..start).is_some_and(|it| it.ends_with(in_name))
    })
}

/// Returns the offset of the first byte in `ends` that is outside strings, parentheses and blocks.
fn find_outside(text: &str, ends: &[u8]) -> Option<usize> {
    let (mut quote, mut open) = (None, 0_usize);
    let mut bytes = text.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match (quote, byte) {
            (_, b'\\') => {
                bytes.next();
            }
            (Some(quoted), _) if quoted != byte => {}
            (Some(_), _) => quote = None,
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, _) if open == 0 && ends.contains(&byte) => return Some(at),
            (None, b'(' | b'[' | b'{') => open += 1,
            (None, b')' | b']' | b'}') => open = open.saturating_sub(1),
            (None, _) => {}
        }
    }
    None
}
