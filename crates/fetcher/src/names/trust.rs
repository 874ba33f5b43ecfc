//! Whether the resolver's answers count, as it was last checked with names whose answers are known.
//!
//! A check sends one question for each known name and one for a made-up name, all at once. If an
//! answer is missing, it sends them again a few times, because single packets are lost. Concurrent
//! calls share a check. Does not depend on the cache, or on what the answers are for.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use everytab_webpage::address::Guard;
use futures_util::future::{BoxFuture, join_all};
use parking_lot::Mutex;

use crate::{
    names::{
        lookup::{DnsAnswer, DnsLookup},
        name_check::{CHECK_ROUNDS, FalseAnswer, NameCheck, Unanswered, made_up_name},
    },
    trouble::Trouble,
};

/// How long a right answer allows further lookups. A crawl has no end at which to check.
const RIGHT_FOR: Duration = Duration::from_secs(60);
/// How long a check that failed forbids lookups without another one.
const WRONG_FOR: Duration = Duration::from_secs(1);
/// Minimum interval between the checks that confirm single answers.
const CONFIRM_INTERVAL: Duration = Duration::from_millis(250);
/// Pause between two rounds of questions.
const ROUND_PAUSE: Duration = Duration::from_millis(250);

/// A finished check, and when it began.
#[derive(Clone)]
struct LastCheck {
    began: Instant,
    check: NameCheck,
}

/// The checks of one resolver.
pub(crate) struct ResolverTrust {
    known_names: Vec<String>,
    /// Knows which addresses are public.
    guard: Guard,
    /// Held by the call that checks, on behalf of all that wait for the result.
    checking: tokio::sync::Mutex<()>,
    last: Mutex<Option<LastCheck>>,
    false_checks: AtomicU64,
}

impl ResolverTrust {
    pub(crate) fn new(known_names: Vec<String>, guard: Guard) -> Self {
        Self {
            known_names,
            guard,
            checking: tokio::sync::Mutex::default(),
            last: Mutex::default(),
            false_checks: AtomicU64::new(0),
        }
    }

    /// Returns the number of checks that found a false answer.
    pub(crate) fn false_checks(&self) -> u64 {
        self.false_checks.load(Ordering::SeqCst)
    }

    /// Returns what the last check found wrong. `None` if it was right.
    pub(crate) fn fault(&self) -> Option<String> {
        match self.last.lock().as_ref()?.check.clone() {
            NameCheck::Right => None,
            NameCheck::Silent => {
                let names = self.known_names.join(", ");
                Some(format!("no response for names that exist ({names})"))
            }
            NameCheck::False(answer) => Some(format!("it returned a false result: {answer}")),
        }
    }

    /// Returns the result of a check that begins now or later. Fails if a local failure prevented
    /// it.
    pub(crate) async fn check(&self, lookup: &DnsLookup) -> Result<NameCheck, Trouble> {
        self.check_unless(lookup, Instant::now()).await
    }

    /// As [`check`](Self::check), but begins [`CONFIRM_INTERVAL`] or more after the last check did.
    pub(crate) async fn confirm(&self, lookup: &DnsLookup) -> Result<NameCheck, Trouble> {
        let asked = Instant::now();
        let last = self.last.lock().as_ref().map(|last| last.began);
        if let Some(began) = last {
            tokio::time::sleep_until((began + CONFIRM_INTERVAL).into()).await;
        }
        self.check_unless(lookup, asked).await
    }

    /// Returns the result of the last check, or of a new one if that is too old.
    pub(crate) async fn current(&self, lookup: &DnsLookup) -> Result<NameCheck, Trouble> {
        let last = self.last.lock().clone();
        if let Some(LastCheck { began, check }) = last {
            let lasts = if check == NameCheck::Right { RIGHT_FOR } else { WRONG_FOR };
            if began.elapsed() < lasts {
                return Ok(check);
            }
        }
        self.check(lookup).await
    }

    /// Checks, unless another call has finished a check that began after `since`.
    fn check_unless<'a>(
        &'a self,
        lookup: &'a DnsLookup,
        since: Instant,
    ) -> BoxFuture<'a, Result<NameCheck, Trouble>> {
        // Boxed, because few lookups check, and all of them would have room for it.
        Box::pin(async move {
            let _checking = self.checking.lock().await;
            if let Some(last) = self.last.lock().as_ref()
                && last.began >= since
            {
                return Ok(last.check.clone());
            }
            let began = Instant::now();
            let check = self.ask_in_rounds(lookup).await?;
            self.note(LastCheck { began, check: check.clone() });
            Ok(check)
        })
    }

    fn note(&self, now: LastCheck) {
        if matches!(now.check, NameCheck::False(_)) {
            self.false_checks.fetch_add(1, Ordering::SeqCst);
        }
        let was = self.last.lock().replace(now.clone()).map(|last| last.check);
        match (&was, &now.check) {
            (Some(NameCheck::False(_)), NameCheck::Right) => {
                tracing::info!("the resolver returns correct results again");
            }
            (Some(NameCheck::False(_)), NameCheck::False(_)) => {}
            (_, NameCheck::False(answer)) => tracing::warn!(
                "the resolver returns false results: {answer}. All of its answers are ignored. \
                 Use one that does not filter (--dns ADDR:PORT, or /etc/resolv.conf), or set other \
                 names that must exist (--known-names)"
            ),
            _ => {}
        }
    }

    async fn ask_in_rounds(&self, lookup: &DnsLookup) -> Result<NameCheck, Trouble> {
        let mut unanswered = Unanswered::new(self.known_names.len());
        for round in 0..CHECK_ROUNDS {
            if round > 0 {
                tokio::time::sleep(ROUND_PAUSE).await;
            }
            let made_up = made_up_name();
            let known = join_all(self.known_names.iter().map(|name| lookup.addresses(name)));
            let (known, invented) = tokio::join!(known, lookup.addresses(&made_up));
            let named = self.known_names.iter().zip(known);
            let mut findings: Vec<Finding> =
                named.map(|(name, answer)| self.of_known_name(name, answer)).collect();
            findings.push(of_made_up_name(&made_up, invented));
            let mut missing = Vec::with_capacity(findings.len());
            for finding in findings {
                match finding {
                    Finding::Right => missing.push(false),
                    Finding::Unanswered => missing.push(true),
                    Finding::False(answer) => return Ok(NameCheck::False(answer)),
                    Finding::Trouble(trouble) => return Err(trouble),
                }
            }
            if let Some(check) = unanswered.add_round(&missing) {
                return Ok(check);
            }
        }
        Ok(NameCheck::Right)
    }

    fn of_known_name(&self, name: &str, answer: DnsAnswer) -> Finding {
        let name = name.to_owned();
        match answer {
            DnsAnswer::Addresses(addresses, _) => {
                let not_public = addresses.into_iter().find(|one| !self.guard.allows(*one));
                let lie = not_public.map(|address| FalseAnswer::NotPublic(name, address));
                lie.map_or(Finding::Right, Finding::False)
            }
            DnsAnswer::NoSuchName => Finding::False(FalseAnswer::NoSuchName(name)),
            DnsAnswer::NoSuchRecord => Finding::False(FalseAnswer::NoAddress(name)),
            DnsAnswer::Failure | DnsAnswer::Silence => Finding::Unanswered,
            DnsAnswer::Trouble(trouble) => Finding::Trouble(trouble),
        }
    }
}

/// What the answer for one name of a check shows.
enum Finding {
    Right,
    Unanswered,
    False(FalseAnswer),
    Trouble(Trouble),
}

fn of_made_up_name(name: &str, answer: DnsAnswer) -> Finding {
    match answer {
        DnsAnswer::Addresses(addresses, _) => match addresses.first() {
            Some(first) => Finding::False(FalseAnswer::Invented(name.to_owned(), *first)),
            None => Finding::Right,
        },
        DnsAnswer::NoSuchName | DnsAnswer::NoSuchRecord => Finding::Right,
        DnsAnswer::Failure | DnsAnswer::Silence => Finding::Unanswered,
        DnsAnswer::Trouble(trouble) => Finding::Trouble(trouble),
    }
}
