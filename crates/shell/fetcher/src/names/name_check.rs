//! Detects a resolver that returns false results, by names for which the results are known.
//!
//! The known names must have public addresses, and a made-up name must not exist. A resolver that
//! fails either check is probably wrong about site names too, so its results are discarded.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    hash::{BuildHasher, RandomState},
    net::IpAddr,
};

use crate::{names::resolved::Resolved, outcome::Outcome};

/// Number of recent names that are checked for suspicious results.
const WINDOW: usize = 100;
/// A resolver is suspected if more than this many recent names have no address, or share one.
const MAX_ALIKE: usize = WINDOW / 2;
/// A resolver is suspected if it failed for more than this many recent names. A working resolver
/// fails for a few percent of the names on the web.
const MAX_FAILED: usize = WINDOW / 4;

/// Maximum number of rounds of queries in a check.
pub(crate) const CHECK_ROUNDS: usize = 5;
/// Maximum number of queries without a response over all rounds, because single packets get lost.
/// The known name with the most missing responses does not count, because its servers may be down,
/// unless half of all queries have no response.
const MAX_UNANSWERED: usize = 2;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NameCheck {
    Right,
    False(FalseResult),
    Silent,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FalseResult {
    NoSuchName(String),
    NoAddress(String),
    NotPublic(String, IpAddr),
    Invented(String, IpAddr),
}

impl fmt::Display for FalseResult {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchName(name) => {
                write!(formatter, "{name} exists, but was reported missing (NXDOMAIN)")
            }
            Self::NoAddress(name) => {
                write!(formatter, "{name} has addresses, but none was returned")
            }
            Self::NotPublic(name, address) => {
                write!(formatter, "{name} resolved to {address}, which is not public")
            }
            Self::Invented(name, address) => {
                write!(formatter, "{name} does not exist, but resolved to {address}")
            }
        }
    }
}

#[derive(Debug)]
pub(crate) struct Unanswered {
    by_name: Vec<usize>,
    rounds: usize,
}

impl Unanswered {
    pub(crate) fn new(known_names: usize) -> Self {
        Self { by_name: vec![0; known_names + 1], rounds: 0 }
    }

    /// Returns the check's result if no further round is needed.
    pub(crate) fn add_round(&mut self, missing: &[bool]) -> Option<NameCheck> {
        self.rounds += 1;
        for (count, is_missing) in self.by_name.iter_mut().zip(missing) {
            *count += usize::from(*is_missing);
        }
        let all: usize = self.by_name.iter().sum();
        let (known, _) = self.by_name.split_at(self.by_name.len() - 1);
        let of_other_names = all - known.iter().max().copied().unwrap_or_default();
        let is_half = all * 2 >= self.by_name.len() * self.rounds;
        let is_silent = missing.iter().all(|is_missing| *is_missing)
            || of_other_names > MAX_UNANSWERED
            || all > MAX_UNANSWERED && is_half;
        let is_right = all == 0 || all > MAX_UNANSWERED && of_other_names == 0;
        match (is_silent, is_right) {
            (true, _) => Some(NameCheck::Silent),
            (false, true) => Some(NameCheck::Right),
            (false, false) => None,
        }
    }
}

pub(crate) fn made_up_name() -> String {
    // Each `RandomState` has different random keys, so its hash of a constant is a random number.
    format!("everytab-{:016x}.com", RandomState::new().hash_one(()))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum RecentResult {
    NoAddress,
    Failed,
    Address(IpAddr),
}

/// The results for the most recent names. Most sites exist, and they have different addresses.
#[derive(Debug, Default)]
pub(crate) struct RecentResults(VecDeque<RecentResult>);

impl RecentResults {
    /// Returns true if the last hundred results are suspicious. They are then forgotten, so that
    /// the resolver is checked at most once per hundred names.
    pub(crate) fn add(&mut self, resolved: &Resolved) -> bool {
        let answer = match resolved {
            Resolved::Addresses(addresses) => match addresses.first() {
                Some(first) => RecentResult::Address(*first),
                None => RecentResult::NoAddress,
            },
            Resolved::Failed(Outcome::DnsServfail | Outcome::DnsTimeout) => RecentResult::Failed,
            Resolved::Failed(_) => RecentResult::NoAddress,
        };
        if self.0.len() == WINDOW {
            self.0.pop_front();
        }
        self.0.push_back(answer);
        let is_suspect = self.0.len() == WINDOW && self.is_suspect();
        if is_suspect {
            self.0.clear();
        }
        is_suspect
    }

    fn is_suspect(&self) -> bool {
        let mut counts: HashMap<RecentResult, usize> = HashMap::new();
        for answer in &self.0 {
            *counts.entry(*answer).or_default() += 1;
        }
        let failed = counts.remove(&RecentResult::Failed).unwrap_or_default();
        failed > MAX_FAILED || counts.values().any(|count| *count > MAX_ALIKE)
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::HashSet, net::Ipv4Addr};

    use super::*;

    fn address(number: usize) -> Resolved {
        let number = u32::try_from(number).expect("small");
        Resolved::Addresses([IpAddr::V4(Ipv4Addr::from_bits(number))].into())
    }

    fn is_suspected(alike: usize, answer: &Resolved) -> bool {
        let mut recent = RecentResults::default();
        let answers = (0..WINDOW)
            .map(|number| if number < alike { answer.clone() } else { address(1_000 + number) });
        let suspected: Vec<bool> = answers.map(|answer| recent.add(&answer)).collect();
        assert!(!suspected[..WINDOW - 1].contains(&true), "fewer than 100 names are not judged");
        suspected[WINDOW - 1]
    }

    #[test]
    fn a_resolver_is_suspected_when_most_names_have_no_address_or_the_same() {
        let nxdomain = Resolved::Failed(Outcome::DnsNxdomain);
        let private = Resolved::Failed(Outcome::IpBlocked);
        for answer in [nxdomain, private, address(7)] {
            assert!(!is_suspected(WINDOW / 2, &answer), "{answer:?}");
            assert!(is_suspected(WINDOW / 2 + 1, &answer), "{answer:?}");
        }
        for outcome in [Outcome::DnsServfail, Outcome::DnsTimeout] {
            assert!(!is_suspected(WINDOW / 4, &Resolved::Failed(outcome)), "{outcome}");
            assert!(is_suspected(WINDOW / 4 + 1, &Resolved::Failed(outcome)), "{outcome}");
        }
    }

    #[test]
    fn a_suspicion_takes_a_hundred_new_names() {
        let mut recent = RecentResults::default();
        let nxdomain = Resolved::Failed(Outcome::DnsNxdomain);
        let suspicions = (0..WINDOW * 3).filter(|_| recent.add(&nxdomain)).count();
        assert_eq!(suspicions, 3);
    }

    fn check_without(missing: [bool; 4]) -> (NameCheck, usize) {
        let mut unanswered = Unanswered::new(3);
        let mut rounds = (1..=CHECK_ROUNDS).map(|round| (unanswered.add_round(&missing), round));
        let end = rounds.find_map(|(check, round)| check.map(|check| (check, round)));
        end.unwrap_or((NameCheck::Right, CHECK_ROUNDS))
    }

    #[test]
    fn only_one_known_name_may_lack_a_response() {
        use NameCheck::{Right, Silent};
        for (missing, expected) in [
            ([false, false, false, false], (Right, 1)),
            ([false, true, false, false], (Right, 3)),
            ([true, false, true, false], (Silent, 2)),
            ([false, false, false, true], (Silent, 3)),
            ([false, true, false, true], (Silent, 2)),
            ([true, true, true, true], (Silent, 1)),
        ] {
            assert_eq!(check_without(missing), expected, "{missing:?}");
        }
        let mut unanswered = Unanswered::new(1);
        let rounds: Vec<_> = (0..3).map(|_| unanswered.add_round(&[true, false])).collect();
        assert_eq!(rounds, [None, None, Some(Silent)]);
    }

    #[test]
    fn made_up_names_are_hostnames_that_differ() {
        let names: HashSet<String> = (0..100).map(|_| made_up_name()).collect();
        assert_eq!(names.len(), 100);
        for name in names {
            let hex = name.strip_prefix("everytab-").and_then(|name| name.strip_suffix(".com"));
            let is_hex = |hex: &str| hex.bytes().all(|byte| byte.is_ascii_hexdigit());
            assert!(hex.is_some_and(|hex| hex.len() == 16 && is_hex(hex)), "{name}");
        }
    }
}
