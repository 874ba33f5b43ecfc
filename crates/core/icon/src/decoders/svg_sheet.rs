//! Parses an SVG's style sheets and `style` attributes to rules and declarations.
//!
//! Rules in `@media` count if the query matches the light colour scheme and a tab icon's size.
//! Rules in `@supports` count if this crate supports the declarations.

use cssparser::{
    AtRuleParser, CowRcStr, DeclarationParser, ParseError, Parser, ParserState,
    QualifiedRuleParser, RuleBodyItemParser, RuleBodyParser, StyleSheetParser, Token,
};
use everytab_webpage::media::matches_light;
use selectors::{
    SelectorList,
    parser::{ParseRelative, Selector, SelectorParseErrorKind},
};

use super::{
    svg_properties::{Declaration, declared, is_supported},
    svg_selectors::{SelectorParser, Selectors},
    svg_work::{SvgWork, refused},
};
use crate::{error::IconError, limits::TAB_ICON_PIXELS};

/// Maximum bytes in a media query list. A longer list does not match.
const MAX_QUERY_BYTES: usize = 256;
/// Maximum nesting of blocks and functions.
const MAX_DEPTH: u8 = 24;
/// Maximum parts in a selector. A longer selector is dropped.
const MAX_PARTS: usize = 64;
/// Maximum parts in a nested rule's selectors, including the selectors of its parents. An SVG
/// beyond this limit is rejected.
const MAX_NESTED_PARTS: usize = 4096;
const DECLARATION_WORK: f64 = 300.0;
const VIEWPORT: [f64; 2] = [TAB_ICON_PIXELS as f64; 2];

type Error = ParseError<SelectorParseErrorKind>;

pub(crate) struct Rule {
    pub(crate) selector: Selector<Selectors>,
    pub(crate) block: usize,
    /// The position of the rule's layer. Rules without a layer have the highest position.
    pub(crate) layer: usize,
}

#[derive(Default)]
pub(crate) struct Sheets {
    pub(crate) rules: Vec<Rule>,
    pub(crate) blocks: Vec<Vec<Declaration>>,
    layers: Vec<String>,
}

impl Sheets {
    /// Parses a style sheet and adds its rules.
    pub(crate) fn read(&mut self, sheet: &str, work: &mut SvgWork) -> Result<(), IconError> {
        let mut input = Parser::new(sheet);
        input.set_nested_block_limit(MAX_DEPTH);
        let mut reader = Reader::new(self, work);
        let mut rules = StyleSheetParser::new(&mut input, &mut reader);
        while let Some(rule) = rules.next() {
            if rules.parser.is_over(rule.is_err()) {
                break;
            }
        }
        reader.refusal.map_or(Ok(()), Err)
    }
}

/// Parses the declarations in a `style` attribute.
pub(crate) fn declarations(style: &str, work: &mut SvgWork) -> Result<Vec<Declaration>, IconError> {
    let mut input = Parser::new(style);
    input.set_nested_block_limit(MAX_DEPTH);
    let mut sheets = Sheets::default();
    let mut reader = Reader { declares: true, nests: false, ..Reader::new(&mut sheets, work) };
    reader.body(&mut input);
    match reader.refusal {
        Some(error) => Err(error),
        None => Ok(reader.pending),
    }
}

pub(crate) fn matches_tab(media: &str) -> bool {
    media.len() <= MAX_QUERY_BYTES && matches_light(media, VIEWPORT)
}

struct Reader<'s> {
    sheets: &'s mut Sheets,
    work: &'s mut SvgWork,
    refusal: Option<IconError>,
    parent: Option<(SelectorList<Selectors>, usize)>,
    layer: usize,
    declares: bool,
    nests: bool,
    pending: Vec<Declaration>,
}

impl<'s> Reader<'s> {
    fn new(sheets: &'s mut Sheets, work: &'s mut SvgWork) -> Self {
        Self {
            sheets,
            work,
            refusal: None,
            parent: None,
            layer: usize::MAX,
            declares: false,
            nests: true,
            pending: Vec::new(),
        }
    }

    fn body(&mut self, input: &mut Parser<'_>) {
        let mut body = RuleBodyParser::<_, (), SelectorParseErrorKind>::new(input, self);
        while let Some(item) = body.next() {
            if body.parser.is_over(item.is_err()) {
                break;
            }
        }
    }

    /// Counts the work for an invalid item. Returns true if parsing must stop because of an error.
    fn is_over(&mut self, is_invalid: bool) -> bool {
        if is_invalid {
            let _ = self.spend(DECLARATION_WORK);
        }
        self.refusal.is_some()
    }

    fn block(
        &mut self,
        input: &mut Parser<'_>,
        parent: Option<(SelectorList<Selectors>, usize)>,
        layer: usize,
    ) {
        self.close();
        let mut inner = Reader {
            declares: parent.is_some(),
            parent,
            layer,
            ..Reader::new(self.sheets, self.work)
        };
        inner.body(input);
        inner.close();
        self.refusal = self.refusal.take().or(inner.refusal);
    }

    fn close(&mut self) {
        let Some((selectors, _)) = &self.parent else { return };
        if self.pending.is_empty() {
            return;
        }
        let block = self.sheets.blocks.len();
        self.sheets.blocks.push(std::mem::take(&mut self.pending));
        for selector in selectors.slice() {
            if !selector.has_pseudo_element() && selector.len() <= MAX_PARTS {
                let selector = selector.clone();
                self.sheets.rules.push(Rule { selector, block, layer: self.layer });
            }
        }
    }

    fn layer(&mut self, name: &str) -> usize {
        let layers = &mut self.sheets.layers;
        let known = layers.iter().position(|known| !name.is_empty() && known == name);
        known.unwrap_or_else(|| {
            layers.push(name.to_owned());
            layers.len() - 1
        })
    }

    fn spend(&mut self, units: f64) -> Result<(), Error> {
        self.work.spend(units).map_err(|error| {
            self.refusal.get_or_insert(error);
            unexpected()
        })
    }
}

fn unexpected() -> Error {
    ParseError::unexpected_token()
}

impl<'i> DeclarationParser<'i> for Reader<'_> {
    type Declaration = ();
    type Error = SelectorParseErrorKind;

    fn parse_value(
        &mut self,
        name: CowRcStr<'i>,
        input: &mut Parser<'i>,
        _start: &ParserState,
    ) -> Result<(), Error> {
        self.spend(DECLARATION_WORK)?;
        let is_variable = name.starts_with("--");
        let (value, important) = value(input, is_variable)?;
        declared(&name, value, important, &mut self.pending);
        Ok(())
    }
}

/// A value that contains a block is an error, because it may be a nested rule, but a variable may
/// contain blocks.
fn value<'i>(input: &mut Parser<'i>, is_variable: bool) -> Result<(&'i str, bool), Error> {
    input.skip_whitespace();
    let start = input.position();
    loop {
        let end = input.position();
        match input.next_including_whitespace() {
            Ok(Token::Delim('!')) => {
                input.expect_ident_matching("important")?;
                input.expect_exhausted()?;
                return Ok((input.slice(start..end), true));
            }
            Ok(
                Token::BadString(_)
                | Token::BadUrl(_)
                | Token::CloseParenthesis
                | Token::CloseSquareBracket
                | Token::CloseCurlyBracket,
            ) => return Err(unexpected()),
            Ok(Token::CurlyBracketBlock) if !is_variable => return Err(unexpected()),
            Ok(_) => {}
            Err(_) => return Ok((input.slice_from(start), false)),
        }
    }
}

enum At {
    Read,
    Layer(Vec<String>),
    Skipped,
}

impl<'i> AtRuleParser<'i> for Reader<'_> {
    type Prelude = At;
    type AtRule = ();
    type Error = SelectorParseErrorKind;

    fn parse_prelude(&mut self, name: CowRcStr<'i>, input: &mut Parser<'i>) -> Result<At, Error> {
        input.skip_whitespace();
        let start = input.position();
        let is_true = name.eq_ignore_ascii_case("supports") && condition(input);
        while input.next().is_ok() {}
        let head = input.slice_from(start).trim();
        Ok(match name.to_ascii_lowercase().as_str() {
            "media" if matches_tab(head) => At::Read,
            "supports" if is_true => At::Read,
            "layer" => At::Layer(head.split(',').map(|name| name.trim().to_owned()).collect()),
            _ => At::Skipped,
        })
    }

    fn rule_without_block(&mut self, head: At, _start: &ParserState) -> Result<(), ()> {
        if let At::Layer(names) = head {
            self.spend(names.len() as f64 * DECLARATION_WORK).map_err(|_| ())?;
            for name in names {
                self.spend(self.sheets.layers.len() as f64).map_err(|_| ())?;
                self.layer(&name);
            }
        }
        Ok(())
    }

    fn parse_block(
        &mut self,
        head: At,
        _start: &ParserState,
        input: &mut Parser<'i>,
    ) -> Result<(), Error> {
        self.spend(DECLARATION_WORK + self.sheets.layers.len() as f64)?;
        let layer = match &head {
            At::Read => self.layer,
            At::Layer(names) if names.len() == 1 => self.layer(&names[0]),
            _ => return Ok(()),
        };
        let parent = self.parent.clone();
        self.block(input, parent, layer);
        Ok(())
    }
}

fn condition(input: &mut Parser) -> bool {
    if input.try_parse(|input| input.expect_ident_matching("not")).is_ok() {
        return term(input) == Some(false) && input.is_exhausted();
    }
    let Some(mut holds) = term(input) else { return false };
    while !input.is_exhausted() {
        let word = input.expect_ident().map(|word| word.to_ascii_lowercase()).unwrap_or_default();
        let Some(next) = term(input) else { return false };
        holds = match word.as_str() {
            "and" => holds & next,
            "or" => holds | next,
            _ => return false,
        };
    }
    holds
}

fn term(input: &mut Parser) -> Option<bool> {
    let is_selector = match input.next().ok()? {
        Token::ParenthesisBlock => false,
        Token::Function(name) if name.eq_ignore_ascii_case("selector") => true,
        Token::Function(_) => return Some(false),
        _ => return None,
    };
    let inside = |input: &mut Parser| -> Result<bool, ParseError<()>> {
        if is_selector {
            let relative = ParseRelative::No;
            return Ok(SelectorList::parse(&SelectorParser, input, relative).is_ok());
        }
        let declaration = input.try_parse(|input| -> Result<bool, ParseError<()>> {
            let name = input.expect_ident_cloned()?;
            input.expect_colon()?;
            Ok(value(input, false).is_ok_and(|(value, _)| is_supported(&name, value)))
        });
        Ok(declaration.unwrap_or_else(|_| condition(input)))
    };
    input.parse_nested_block(inside).ok()
}

impl<'i> QualifiedRuleParser<'i> for Reader<'_> {
    type Prelude = SelectorList<Selectors>;
    type QualifiedRule = ();
    type Error = SelectorParseErrorKind;

    fn parse_prelude(&mut self, input: &mut Parser<'i>) -> Result<Self::Prelude, Error> {
        self.spend(DECLARATION_WORK)?;
        let relative =
            if self.parent.is_some() { ParseRelative::ForNesting } else { ParseRelative::No };
        SelectorList::parse(&SelectorParser, input, relative)
    }

    fn parse_block(
        &mut self,
        selectors: Self::Prelude,
        _start: &ParserState,
        input: &mut Parser<'i>,
    ) -> Result<(), Error> {
        let parts: usize = selectors.slice().iter().map(Selector::len).sum();
        self.spend(parts as f64 * DECLARATION_WORK)?;
        let (selectors, parts) = match &self.parent {
            None => (selectors, parts),
            Some((parent, parent_parts)) => {
                // Each part may be `&`, which all of the parent's selectors then replace.
                let parts = parts.saturating_mul(*parent_parts);
                if parts > MAX_NESTED_PARTS {
                    self.refusal.get_or_insert(refused("too many nested selectors"));
                    return Err(unexpected());
                }
                (selectors.replace_parent_selector(parent), parts)
            }
        };
        let layer = self.layer;
        self.block(input, Some((selectors, parts)), layer);
        Ok(())
    }
}

impl<'i> RuleBodyItemParser<'i, (), SelectorParseErrorKind> for Reader<'_> {
    fn parse_declarations(&self) -> bool {
        self.declares
    }

    fn parse_qualified(&self) -> bool {
        self.nests
    }
}
