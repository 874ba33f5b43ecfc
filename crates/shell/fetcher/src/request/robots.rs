//! The robots.txt rules for a shard's origins.
//!
//! If an origin does not respond at all, its icons get the same outcome, so that a dead endpoint
//! costs at most one attempt per pass. The effect of each robots.txt outcome is a column of the
//! outcome table (RFC 9309, 2.3.1). If rules were evicted, the file is requested again.

use std::sync::Arc;

use everytab_webpage::RobotsTxt;
use lru::LruCache;
use parking_lot::Mutex;
use tokio::sync::OnceCell;
use url::Url;

use crate::{
    fetch_result::FetchResult,
    local_failure::LocalFailure,
    outcome::{Outcome, Retry, RobotsEffect},
    request::target::Target,
};

/// Maximum bytes of all rules in a shard, as counted by [`RobotsCache::weigh`].
const MAX_CACHED_BYTES: usize = 32 * 1024 * 1024;
/// Bytes per entry in addition to its rules.
const ENTRY_BYTES: usize = 512;
/// Maximum size in bytes of a file that is parsed in place. A longer file is parsed on a blocking
/// thread, so that it does not delay sockets.
const INLINE_PARSE_MAX_BYTES: usize = 16 * 1024;

#[derive(Clone)]
enum Rules {
    AllowAll,
    ForbidAll,
    Read(Arc<RobotsTxt>),
    Dead(Outcome),
}

type RulesCell = Arc<OnceCell<Rules>>;

struct CachedRules {
    cell: RulesCell,
    bytes: usize,
}

pub(crate) struct RobotsCache {
    entries: Mutex<LruCache<String, CachedRules>>,
}

impl RobotsCache {
    pub(crate) fn new() -> Self {
        Self { entries: Mutex::new(LruCache::unbounded()) }
    }

    /// Checks whether `agent` may request `target`. If the origin's rules are not cached, fetches
    /// the file. Concurrent calls share one fetch.
    pub(crate) async fn check<F: Future<Output = Result<FetchResult, LocalFailure>>>(
        &self,
        agent: &str,
        target: &Target,
        fetch: impl FnOnce() -> F,
    ) -> Result<Result<(), Outcome>, LocalFailure> {
        let cell = self.cell(&target.origin);
        let rules = cell.get_or_try_init(|| self.read(target, fetch())).await?;
        Ok(match rules {
            Rules::AllowAll => Ok(()),
            Rules::ForbidAll => Err(Outcome::RobotsDisallowed),
            Rules::Dead(outcome) => Err(*outcome),
            Rules::Read(robots) => {
                let path = &target.url[url::Position::BeforePath..url::Position::AfterQuery];
                let is_allowed = robots.allowed(agent, path);
                if is_allowed { Ok(()) } else { Err(Outcome::RobotsDisallowed) }
            }
        })
    }

    pub(crate) fn knows(&self, origin: &str) -> bool {
        self.entries.lock().peek(origin).is_some_and(|entry| entry.cell.initialized())
    }

    pub(crate) fn forget_passing_failures(&self) {
        let mut entries = self.entries.lock();
        let passing: Vec<String> = entries
            .iter()
            .filter(|(_, entry)| match entry.cell.get() {
                Some(Rules::Dead(outcome)) => outcome.retry() != Retry::Never,
                _ => false,
            })
            .map(|(origin, _)| origin.clone())
            .collect();
        for origin in passing {
            entries.pop(&origin);
        }
    }

    async fn read(
        &self,
        target: &Target,
        fetching: impl Future<Output = Result<FetchResult, LocalFailure>>,
    ) -> Result<Rules, LocalFailure> {
        let fetched = fetching.await?;
        let rules = understand(target, &fetched).await;
        let bytes = fetched.body.len();
        self.weigh(&target.origin, bytes);
        if let Some(other) = redirected_origin(&fetched) {
            self.learn(&other, rules.clone(), bytes);
        }
        Ok(rules)
    }

    fn cell(&self, origin: &str) -> RulesCell {
        let mut entries = self.entries.lock();
        if let Some(entry) = entries.get(origin) {
            return Arc::clone(&entry.cell);
        }
        let cell = RulesCell::default();
        entries.put(origin.to_owned(), CachedRules { cell: Arc::clone(&cell), bytes: ENTRY_BYTES });
        cell
    }

    fn learn(&self, origin: &str, rules: Rules, bytes: usize) {
        let _ = self.cell(origin).set(rules);
        self.weigh(origin, bytes);
    }

    /// Records the size of an origin's file, and drops the least recently used entries until the
    /// rest fits. Parsed rules take about twice as many bytes as their file.
    fn weigh(&self, origin: &str, bytes: usize) {
        let mut entries = self.entries.lock();
        if let Some(entry) = entries.get_mut(origin) {
            entry.bytes = ENTRY_BYTES + 2 * bytes;
        }
        let mut total: usize = entries.iter().map(|(_, entry)| entry.bytes).sum();
        while total > MAX_CACHED_BYTES {
            let Some((_, oldest)) = entries.pop_lru() else { return };
            total = total.saturating_sub(oldest.bytes);
        }
    }
}

fn redirected_origin(fetched: &FetchResult) -> Option<String> {
    let is_an_answer = match fetched.outcome.robots_effect() {
        RobotsEffect::Rules | RobotsEffect::NoRules => true,
        RobotsEffect::Allowed | RobotsEffect::Forbidden | RobotsEffect::NoResponse => false,
    };
    let url = Url::parse(&fetched.final_url).ok()?;
    let is_robots_file = url.path() == "/robots.txt" && url.query().is_none();
    (is_an_answer && is_robots_file && fetched.hops.len() > 1)
        .then(|| url.origin().ascii_serialization())
}

async fn understand(target: &Target, fetched: &FetchResult) -> Rules {
    match fetched.outcome.robots_effect() {
        RobotsEffect::Rules => {
            let body = fetched.body.clone();
            if body.len() <= INLINE_PARSE_MAX_BYTES {
                return Rules::Read(Arc::new(RobotsTxt::parse(&body)));
            }
            let parse = move || Rules::Read(Arc::new(RobotsTxt::parse(&body)));
            // This only fails if the parser panics. Forbid everything then.
            tokio::task::spawn_blocking(parse).await.unwrap_or(Rules::ForbidAll)
        }
        RobotsEffect::NoRules | RobotsEffect::Allowed => Rules::AllowAll,
        RobotsEffect::Forbidden => Rules::ForbidAll,
        RobotsEffect::NoResponse if fetched.hops.len() <= 1 || is_at(fetched, target) => {
            Rules::Dead(fetched.outcome)
        }
        // This origin responded with a redirect, but the target's origin did not respond.
        RobotsEffect::NoResponse => Rules::ForbidAll,
    }
}

fn is_at(fetched: &FetchResult, target: &Target) -> bool {
    Url::parse(&fetched.final_url)
        .is_ok_and(|url| url.origin().ascii_serialization() == target.origin)
}
