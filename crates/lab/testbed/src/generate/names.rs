//! Hostnames as a function of their number, and the inverse function. Names with increasing numbers
//! are sorted by `url_surtkey`, so that an index of any size is written without sorting. All names
//! are under `.example`, which is reserved (RFC 2606).

use crate::dice::Dice;

pub(super) const SUFFIXES: [(&str, u64); 20] = [
    ("com.au.example", 20),
    ("com.br.example", 30),
    ("cn.example", 30),
    ("com.example", 420),
    ("cz.example", 15),
    ("de.example", 80),
    ("es.example", 20),
    ("fr.example", 35),
    ("gr.example", 10),
    ("it.example", 30),
    ("co.jp.example", 40),
    ("co.kr.example", 15),
    ("net.example", 50),
    ("nl.example", 30),
    ("org.example", 60),
    ("pl.example", 25),
    ("ru.example", 50),
    ("com.tw.example", 10),
    ("com.ua.example", 10),
    ("co.uk.example", 20),
];

const CONSONANTS: &[u8; 16] = b"bdfghjklmnprstvz";
const VOWELS: &[u8; 5] = b"aeiou";
const SYLLABLES: u64 = 80;
const SYLLABLES_A_NAME: u32 = 5;
const NAME_LETTERS: usize = 2 * SYLLABLES_A_NAME as usize;
const SPACE: u64 = SYLLABLES.pow(SYLLABLES_A_NAME);

const PREFIXES: [(&str, u32); 8] = [
    ("", 440),
    ("www.", 440),
    ("blog.", 40),
    ("shop.", 30),
    ("m.", 15),
    ("forum.", 20),
    ("a1.static.", 5),
    ("xn--bcher-kva.", 10),
];

const TAILS: [&str; 12] =
    ["", "", "", "", "-shop", "-garden", "-hotel", "-media", "-24", "-blog", "-online", "-studio"];

#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(super) seed: u64,
    hosts: u64,
}

impl World {
    /// There are only 3,276,800,000 names.
    pub(crate) fn new(seed: u64, hosts: u64) -> Self {
        Self { seed, hosts: hosts.min(SPACE) }
    }

    pub(crate) fn hosts(&self) -> u64 {
        self.hosts
    }

    pub(crate) fn name(&self, index: u64) -> String {
        if index % 2 == 1 && self.are_twins(index - 1) {
            return format!("www.{}", self.name(index - 1));
        }
        let mut dice = Dice::numbered(self.seed, "name", index);
        let step = SPACE / self.hosts.max(1);
        let letters = spell(index * step + dice.below(step));
        let prefix = dice.weighted(&PREFIXES);
        let prefix = if self.are_twins(index) { "" } else { prefix };
        let tail = dice.pick(&TAILS);
        format!("{prefix}{letters}{tail}.{}", self.suffix(index))
    }

    pub(crate) fn index_of(&self, host: &str) -> Option<u64> {
        let (front, _) = SUFFIXES
            .iter()
            .find_map(|(suffix, _)| Some((host.strip_suffix(suffix)?.strip_suffix('.')?, ())))?;
        let label = front.rsplit('.').next()?;
        let value = read(label.get(..NAME_LETTERS)?)?;
        let index = value / (SPACE / self.hosts.max(1));
        let candidates = [Some(index), index.checked_add(1)];
        candidates
            .into_iter()
            .flatten()
            .find(|index| *index < self.hosts && self.name(*index) == host)
    }

    pub(super) fn suffix(&self, index: u64) -> &'static str {
        let total: u64 = SUFFIXES.iter().map(|(_, share)| share).sum();
        let reached = u128::from(index) * u128::from(total) / u128::from(self.hosts.max(1));
        let mut left = reached as u64;
        for (suffix, share) in SUFFIXES {
            match left.checked_sub(share) {
                Some(rest) => left = rest,
                None => return suffix,
            }
        }
        SUFFIXES[SUFFIXES.len() - 1].0
    }

    /// Returns true if the host with this (even) number and the next host are twins, `x` and
    /// `www.x`.
    pub(super) fn are_twins(&self, index: u64) -> bool {
        index.is_multiple_of(2)
            && index + 1 < self.hosts
            && Dice::numbered(self.seed, "twins", index).permille(150)
    }
}

fn spell(value: u64) -> String {
    let mut letters = String::with_capacity(NAME_LETTERS);
    for place in (0..SYLLABLES_A_NAME).rev() {
        let syllable = (value / SYLLABLES.pow(place) % SYLLABLES) as usize;
        letters.push(char::from(CONSONANTS[syllable / VOWELS.len()]));
        letters.push(char::from(VOWELS[syllable % VOWELS.len()]));
    }
    letters
}

fn read(letters: &str) -> Option<u64> {
    let mut value = 0;
    for pair in letters.as_bytes().chunks_exact(2) {
        let place = |set: &[u8], letter: u8| set.iter().position(|known| *known == letter);
        let consonant = place(CONSONANTS, *pair.first()?)?;
        let vowel = place(VOWELS, *pair.get(1)?)?;
        value = value * SYLLABLES + (consonant * VOWELS.len() + vowel) as u64;
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{super::surt, *};

    #[test]
    fn names_encode_their_number_and_are_all_different() {
        for hosts in [1, 2, 7, 20_000] {
            let world = World::new(9, hosts);
            let mut seen = HashSet::new();
            for index in 0..hosts {
                let name = world.name(index);
                assert_eq!(world.index_of(&name), Some(index), "{name}");
                assert!(seen.insert(name));
            }
        }
    }

    #[test]
    fn names_of_other_internets_are_not_known() {
        let (here, there) = (World::new(1, 1_000), World::new(2, 1_000));
        let known = (0..1_000).filter(|index| here.index_of(&there.name(*index)).is_some());
        assert!(known.count() < 5);
        for host in ["", "example", "com.example", "é.com.example", "babababab.com.example"] {
            assert_eq!(here.index_of(host), None, "{host}");
        }
    }

    #[test]
    fn names_rise_in_the_order_of_the_index() {
        let world = World::new(4, 5_000);
        let key = |index| surt::of_host(&world.name(index));
        for index in 1..5_000 {
            assert!(key(index - 1) <= key(index), "{}", world.name(index));
        }
    }

    #[test]
    fn no_suffix_is_the_parent_of_another() {
        for (suffix, _) in SUFFIXES {
            let child = format!(".{suffix}");
            assert!(SUFFIXES.iter().all(|(other, _)| !other.ends_with(&child)), "{suffix}");
        }
    }
}
