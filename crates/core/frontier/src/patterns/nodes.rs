//! A nondeterministic automaton with the states of all patterns in a crawl.

use regex_automata::{
    nfa::thompson::{NFA, State},
    util::look::Look,
};

/// Maximum states for a crawl's patterns. More states would not fit into the tables either.
const MAX_NODES: usize = 200_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ByteRange {
    pub(super) first: u8,
    pub(super) last: u8,
    pub(super) to: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    Bytes(Box<[ByteRange]>),
    Split(Box<[u32]>),
    /// Leads to a state without reading a byte if the look-around holds.
    Look(Look, u32),
    /// The pattern at this index in [`Nodes::patterns`] matches.
    Match(u16),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The pattern at this position in this list matches.
    OfList { list: u8, position: u16 },
    /// The URL contains the word with this index.
    OfWord(u8),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pattern {
    pub(super) start: u32,
    pub(super) meaning: Meaning,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooManyNodes;

#[derive(Debug, Default)]
pub(super) struct Nodes {
    pub(super) nodes: Vec<Node>,
    pub(super) patterns: Vec<Pattern>,
}

impl Nodes {
    pub(super) fn push(&mut self, pattern: &NFA, meaning: Meaning) -> Result<(), TooManyNodes> {
        let (offset, number) = (self.nodes.len(), self.patterns.len());
        let number = u16::try_from(number).map_err(|_| TooManyNodes)?;
        if offset + pattern.states().len() > MAX_NODES {
            return Err(TooManyNodes);
        }
        let place = |id: usize| u32::try_from(offset + id).unwrap_or(u32::MAX);
        let range = |first: u8, last: u8, to: usize| ByteRange { first, last, to: place(to) };
        self.nodes.extend(pattern.states().iter().map(|state| match state {
            State::ByteRange { trans } => {
                Node::Bytes([range(trans.start, trans.end, trans.next.as_usize())].into())
            }
            State::Sparse(sparse) => {
                let ranges = sparse.transitions.iter();
                Node::Bytes(ranges.map(|t| range(t.start, t.end, t.next.as_usize())).collect())
            }
            State::Dense(dense) => {
                let to = |byte| Some(range(byte, byte, dense.matches_byte(byte)?.as_usize()));
                Node::Bytes((0..=u8::MAX).filter_map(to).collect())
            }
            State::Look { look, next } => Node::Look(*look, place(next.as_usize())),
            State::Union { alternates } => {
                Node::Split(alternates.iter().map(|id| place(id.as_usize())).collect())
            }
            State::BinaryUnion { alt1, alt2 } => {
                Node::Split([place(alt1.as_usize()), place(alt2.as_usize())].into())
            }
            State::Capture { next, .. } => Node::Split([place(next.as_usize())].into()),
            State::Fail => Node::Split([].into()),
            State::Match { .. } => Node::Match(number),
        }));
        let start = place(pattern.start_anchored().as_usize());
        self.patterns.push(Pattern { start, meaning });
        Ok(())
    }
}
