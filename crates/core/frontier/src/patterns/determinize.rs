//! Builds tables from patterns by subset construction, with bounded work.
//!
//! A table starts at a key's scheme, where only words are searched. Patterns start after `://`, and
//! again at each later byte. A match that depends on the next byte is counted one state later.

use std::{collections::HashMap, ops::Range};

use regex_automata::util::look::Look;

use super::{
    nodes::{Meaning, Node, Nodes},
    table::{Found, MAX_ENTRIES, Table},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLarge;

/// What precedes a position in a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Before {
    /// In the scheme, or at the start of the key.
    Scheme,
    /// After the first slash behind the scheme.
    Slash,
    Start,
    /// After a letter, a digit or `_`.
    Word,
    Other,
}

impl Before {
    fn after(self, byte: u8, has_words: bool) -> Self {
        match self {
            Self::Scheme if byte == b'/' => Self::Slash,
            Self::Slash if byte == b'/' => Self::Start,
            Self::Scheme | Self::Slash => Self::Scheme,
            _ if has_words && is_word(byte) => Self::Word,
            _ => Self::Other,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum After {
    Word,
    Other,
    End,
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn holds(look: Look, before: Before, after: After) -> bool {
    let (was_word, is_word) = (before == Before::Word, after == After::Word);
    match look {
        Look::Start | Look::StartLF | Look::StartCRLF => before == Before::Start,
        Look::End | Look::EndLF | Look::EndCRLF => after == After::End,
        Look::WordAscii | Look::WordUnicode => was_word != is_word,
        Look::WordAsciiNegate | Look::WordUnicodeNegate => was_word == is_word,
        Look::WordStartAscii | Look::WordStartUnicode => !was_word && is_word,
        Look::WordEndAscii | Look::WordEndUnicode => was_word && !is_word,
        Look::WordStartHalfAscii | Look::WordStartHalfUnicode => !was_word,
        Look::WordEndHalfAscii | Look::WordEndHalfUnicode => !is_word,
    }
}

fn is_of_words(look: Look) -> bool {
    use Look::{End, EndCRLF, EndLF, Start, StartCRLF, StartLF};
    !matches!(look, Start | StartLF | StartCRLF | End | EndLF | EndCRLF)
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Subset {
    before: Before,
    /// Ascending, without the start states, which are in every set.
    nodes: Vec<u32>,
    /// Patterns that matched before the last byte, which was needed to decide this.
    late: Vec<u16>,
}

/// Nodes that read a byte, and matching patterns, that are reachable without reading a byte.
#[derive(Debug, Clone, Default)]
struct Closure {
    readers: Vec<u32>,
    matches: Vec<u16>,
}

/// The closure of the start states: next states by column, and matching patterns.
#[derive(Debug)]
struct Begun {
    by_column: Vec<Vec<u32>>,
    matches: Vec<u16>,
}

pub(super) fn determinize(
    nodes: &Nodes,
    patterns: Range<usize>,
    steps: &mut u64,
) -> Result<Table, TooLarge> {
    let mut builder = Builder::new(nodes, patterns, steps);
    let mut next = 0;
    builder.place_of(&Subset { before: Before::Scheme, nodes: Vec::new(), late: Vec::new() })?;
    while let Some(subset) = builder.subsets.get(next).cloned() {
        builder.add_row(&subset)?;
        next += 1;
    }
    Ok(Table::new(builder.columns, builder.width, builder.rows, builder.found))
}

struct Builder<'a> {
    nodes: &'a Nodes,
    steps: &'a mut u64,
    columns: [u8; 256],
    first_bytes: Vec<u8>,
    width: usize,
    has_words: bool,
    starts: [Vec<u32>; 2],
    begun: HashMap<(Before, After), Begun>,
    subsets: Vec<Subset>,
    places: HashMap<Subset, usize>,
    rows: Vec<u16>,
    buckets: Vec<Vec<u32>>,
    found: Vec<Found>,
    found_places: HashMap<Found, u16>,
    seen: Vec<u32>,
    closures: u32,
}

impl<'a> Builder<'a> {
    fn new(nodes: &'a Nodes, patterns: Range<usize>, steps: &'a mut u64) -> Self {
        let patterns = &nodes.patterns[patterns];
        let mut seen = vec![0; nodes.nodes.len()];
        let mut todo: Vec<u32> = patterns.iter().map(|pattern| pattern.start).collect();
        let mut ends = [false; 256];
        let mut has_words = false;
        ends[usize::from(b'/')] = true;
        ends[usize::from(b'/' - 1)] = true;
        while let Some(node) = todo.pop() {
            if std::mem::replace(&mut seen[node as usize], 1) == 1 {
                continue;
            }
            match &nodes.nodes[node as usize] {
                Node::Bytes(ranges) => {
                    for range in ranges {
                        ends[usize::from(range.last)] = true;
                        if let Some(before) = range.first.checked_sub(1) {
                            ends[usize::from(before)] = true;
                        }
                        todo.push(range.to);
                    }
                }
                Node::Split(to) => todo.extend(to),
                Node::Look(look, to) => {
                    has_words |= is_of_words(*look);
                    todo.push(*to);
                }
                Node::Match(_) => {}
            }
        }
        if has_words {
            (0..255_u8)
                .filter(|byte| is_word(*byte) != is_word(byte + 1))
                .for_each(|byte| ends[usize::from(byte)] = true);
        }
        let mut columns = [0_u8; 256];
        let mut first_bytes = vec![0];
        for byte in 1..=255_u8 {
            if ends[usize::from(byte - 1)] {
                first_bytes.push(byte);
            }
            columns[usize::from(byte)] = u8::try_from(first_bytes.len() - 1).unwrap_or(u8::MAX);
        }
        let starts = |of_words: bool| {
            let is_one = |meaning| matches!(meaning, Meaning::OfWord(_)) == of_words;
            let patterns = patterns.iter().filter(|pattern| is_one(pattern.meaning));
            patterns.map(|pattern| pattern.start).collect()
        };
        Self {
            nodes,
            steps,
            columns,
            width: Table::width(first_bytes.len()),
            buckets: vec![Vec::new(); first_bytes.len()],
            first_bytes,
            has_words,
            starts: [starts(false), starts(true)],
            begun: HashMap::new(),
            subsets: Vec::new(),
            places: HashMap::new(),
            rows: Vec::new(),
            found: vec![Found::default()],
            found_places: HashMap::from([(Found::default(), 0)]),
            seen,
            closures: 1,
        }
    }

    fn pay(&mut self, steps: usize) -> Result<(), TooLarge> {
        *self.steps = self.steps.checked_sub(steps as u64).ok_or(TooLarge)?;
        Ok(())
    }

    fn place_of(&mut self, subset: &Subset) -> Result<usize, TooLarge> {
        if let Some(place) = self.places.get(subset) {
            return Ok(*place);
        }
        let place = self.subsets.len();
        if (place + 1) * self.width > MAX_ENTRIES {
            return Err(TooLarge);
        }
        self.places.insert(subset.clone(), place);
        self.subsets.push(subset.clone());
        Ok(place)
    }

    fn add_row(&mut self, subset: &Subset) -> Result<(), TooLarge> {
        let kinds: &[After] =
            if self.has_words { &[After::Other, After::Word] } else { &[After::Other] };
        // Reuse the buckets, so that a row needs no further allocations.
        let mut buckets = std::mem::take(&mut self.buckets);
        let mut matches: Vec<Vec<u16>> = Vec::new();
        for after in kinds {
            let mut closure = self.closure(&subset.nodes, subset.before, *after)?;
            self.read(&closure.readers, *after, &mut buckets)?;
            let begun = self.begin(subset.before, *after)?;
            for (bucket, begun) in buckets.iter_mut().zip(&begun.by_column) {
                bucket.extend(begun);
            }
            closure.matches.extend(&begun.matches);
            let pushed = buckets.iter().map(Vec::len).sum::<usize>() + closure.matches.len();
            matches.push(sorted(closure.matches));
            self.pay(pushed)?;
        }
        let mut at_end = self.closure(&subset.nodes, subset.before, After::End)?.matches;
        at_end.extend(&self.begin(subset.before, After::End)?.matches);
        let at_end = sorted(at_end);
        // A pattern that would match before any next byte has already matched here.
        let is_everywhere = |number: &u16| {
            matches.iter().chain([&at_end]).all(|all| all.binary_search(number).is_ok())
        };
        let here: Vec<u16> = matches[0].iter().copied().filter(is_everywhere).collect();
        let late: Vec<Vec<u16>> = matches
            .iter()
            .map(|all| all.iter().copied().filter(|one| here.binary_search(one).is_err()).collect())
            .collect();
        for (column, bucket) in buckets.iter_mut().enumerate() {
            let byte = self.first_bytes[column];
            let is_late = usize::from(self.has_words && is_word(byte));
            let mut next = Subset {
                before: subset.before.after(byte, self.has_words),
                nodes: sorted(std::mem::take(bucket)),
                late: late.get(is_late).cloned().unwrap_or_default(),
            };
            let place = self.place_of(&next)? * self.width;
            self.rows.push(u16::try_from(place).map_err(|_| TooLarge)?);
            next.nodes.clear();
            *bucket = next.nodes;
        }
        self.buckets = buckets;
        let here = self.found_by(here.iter().chain(&subset.late));
        let at_end = self.found_by(at_end.iter());
        self.rows.extend([here, at_end]);
        self.pay(self.width)
    }

    fn begin(&mut self, before: Before, after: After) -> Result<&Begun, TooLarge> {
        if !self.begun.contains_key(&(before, after)) {
            let [patterns, words] = self.starts.clone();
            let has_begun = !matches!(before, Before::Scheme | Before::Slash);
            let starts: Vec<u32> =
                words.into_iter().chain(patterns.into_iter().filter(|_| has_begun)).collect();
            let closure = self.closure(&starts, before, after)?;
            let mut by_column = vec![Vec::new(); self.first_bytes.len()];
            self.read(&closure.readers, after, &mut by_column)?;
            self.begun.insert((before, after), Begun { by_column, matches: closure.matches });
        }
        self.begun.get(&(before, after)).ok_or(TooLarge)
    }

    /// Adds the successors of `readers` to the buckets, for one byte kind.
    fn read(
        &mut self,
        readers: &[u32],
        after: After,
        buckets: &mut [Vec<u32>],
    ) -> Result<(), TooLarge> {
        let mut pushed = readers.len();
        for reader in readers {
            let Node::Bytes(ranges) = &self.nodes.nodes[*reader as usize] else { continue };
            for range in ranges {
                let column = |byte: u8| usize::from(self.columns[usize::from(byte)]);
                let columns = column(range.first)..=column(range.last);
                let bytes = self.first_bytes[columns.clone()].iter();
                for (bucket, byte) in buckets[columns].iter_mut().zip(bytes) {
                    if !self.has_words || is_word(*byte) == (after == After::Word) {
                        bucket.push(range.to);
                        pushed += 1;
                    }
                }
            }
        }
        self.pay(pushed)
    }

    fn closure(&mut self, from: &[u32], before: Before, after: After) -> Result<Closure, TooLarge> {
        self.closures += 1;
        let mut closure = Closure::default();
        let mut todo: Vec<u32> = from.to_vec();
        let mut visited = todo.len();
        while let Some(node) = todo.pop() {
            if std::mem::replace(&mut self.seen[node as usize], self.closures) == self.closures {
                continue;
            }
            visited += 1;
            match &self.nodes.nodes[node as usize] {
                Node::Bytes(_) => closure.readers.push(node),
                Node::Split(to) => {
                    visited += to.len();
                    todo.extend(to);
                }
                Node::Look(look, to) if holds(*look, before, after) => todo.push(*to),
                Node::Look(..) => {}
                Node::Match(pattern) => closure.matches.push(*pattern),
            }
        }
        self.pay(visited)?;
        Ok(closure)
    }

    fn found_by<'b>(&mut self, patterns: impl Iterator<Item = &'b u16>) -> u16 {
        let mut found = Found::default();
        for pattern in patterns {
            match self.nodes.patterns[usize::from(*pattern)].meaning {
                Meaning::OfList { list, position } => found.add_pattern(list, position),
                Meaning::OfWord(word) => found.words |= 1 << word,
            }
        }
        // Each row adds at most two sets, so their number fits into 16 bits.
        let next = u16::try_from(self.found.len()).unwrap_or_default();
        let place = *self.found_places.entry(found).or_insert(next);
        if place == next {
            self.found.push(found);
        }
        place
    }
}

fn sorted<T: Ord>(mut items: Vec<T>) -> Vec<T> {
    items.sort_unstable();
    items.dedup();
    items
}
