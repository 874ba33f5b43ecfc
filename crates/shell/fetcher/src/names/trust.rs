//! Decides whether the resolver's results are trusted, by checking it with known names.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use everytab_webpage::address::Guard;
use futures_util::future::{BoxFuture, join_all};
use parking_lot::Mutex;

use crate::{
    local_failure::LocalFailure,
    names::{
        lookup::{DnsLookup, DnsResult},
        name_check::{CHECK_ROUNDS, FalseResult, NameCheck, Unanswered, made_up_name},
    },
};

/// How long lookups are allowed after a check that found no fault.
const RIGHT_FOR: Duration = Duration::from_secs(60);
/// How long lookups are denied after a check that found a fault.
const WRONG_FOR: Duration = Duration::from_secs(1);
/// Minimum interval between the checks that confirm single results.
const CONFIRM_INTERVAL: Duration = Duration::from_millis(250);
/// Pause between two rounds of queries.
const ROUND_PAUSE: Duration = Duration::from_millis(250);

#[derive(Clone)]
struct LastCheck {
    began: Instant,
    check: NameCheck,
}

pub(crate) struct ResolverTrust {
    known_names: Vec<String>,
    guard: Guard,
    /// Held during a check, so that concurrent callers wait for its result.
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

    pub(crate) fn false_checks(&self) -> u64 {
        self.false_checks.load(Ordering::SeqCst)
    }

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

    pub(crate) async fn check(&self, lookup: &DnsLookup) -> Result<NameCheck, LocalFailure> {
        self.check_unless(lookup, Instant::now()).await
    }

    pub(crate) async fn confirm(&self, lookup: &DnsLookup) -> Result<NameCheck, LocalFailure> {
        let asked = Instant::now();
        let last = self.last.lock().as_ref().map(|last| last.began);
        if let Some(began) = last {
            tokio::time::sleep_until((began + CONFIRM_INTERVAL).into()).await;
        }
        self.check_unless(lookup, asked).await
    }

    pub(crate) async fn current(&self, lookup: &DnsLookup) -> Result<NameCheck, LocalFailure> {
        let last = self.last.lock().clone();
        if let Some(LastCheck { began, check }) = last {
            let lasts = if check == NameCheck::Right { RIGHT_FOR } else { WRONG_FOR };
            if began.elapsed() < lasts {
                return Ok(check);
            }
        }
        self.check(lookup).await
    }

    /// If another call has finished a check that began after `since`, returns that result.
    fn check_unless<'a>(
        &'a self,
        lookup: &'a DnsLookup,
        since: Instant,
    ) -> BoxFuture<'a, Result<NameCheck, LocalFailure>> {
        // This is boxed, because few lookups start a check, but every lookup would need memory for
        // it.
        Box::pin(async move {
            let _checking = self.checking.lock().await;
            if let Some(last) = self.last.lock().as_ref()
                && last.began >= since
            {
                return Ok(last.check.clone());
            }
            let began = Instant::now();
            let check = self.query_in_rounds(lookup).await?;
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
                "the resolver returns false results: {answer}. All of its results are ignored. \
                 Use one that does not filter (--dns ADDR:PORT, or /etc/resolv.conf), or set other \
                 names that must exist (--known-names)"
            ),
            _ => {}
        }
    }

    async fn query_in_rounds(&self, lookup: &DnsLookup) -> Result<NameCheck, LocalFailure> {
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
                    Finding::LocalFailure(failure) => return Err(failure),
                }
            }
            if let Some(check) = unanswered.add_round(&missing) {
                return Ok(check);
            }
        }
        Ok(NameCheck::Right)
    }

    fn of_known_name(&self, name: &str, answer: DnsResult) -> Finding {
        let name = name.to_owned();
        match answer {
            DnsResult::Addresses(addresses, _) => {
                let not_public = addresses.into_iter().find(|one| !self.guard.allows(*one));
                let fault = not_public.map(|address| FalseResult::NotPublic(name, address));
                fault.map_or(Finding::Right, Finding::False)
            }
            DnsResult::NoSuchName => Finding::False(FalseResult::NoSuchName(name)),
            DnsResult::NoSuchRecord => Finding::False(FalseResult::NoAddress(name)),
            DnsResult::Failure | DnsResult::Silence => Finding::Unanswered,
            DnsResult::LocalFailure(failure) => Finding::LocalFailure(failure),
        }
    }
}

enum Finding {
    Right,
    Unanswered,
    False(FalseResult),
    LocalFailure(LocalFailure),
}

fn of_made_up_name(name: &str, answer: DnsResult) -> Finding {
    match answer {
        DnsResult::Addresses(addresses, _) => match addresses.first() {
            Some(first) => Finding::False(FalseResult::Invented(name.to_owned(), *first)),
            None => Finding::Right,
        },
        DnsResult::NoSuchName | DnsResult::NoSuchRecord => Finding::Right,
        DnsResult::Failure | DnsResult::Silence => Finding::Unanswered,
        DnsResult::LocalFailure(failure) => Finding::LocalFailure(failure),
    }
}
