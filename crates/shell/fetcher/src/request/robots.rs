//! The robots.txt rules for a shard's origins. Each file is read once, over the same connection as
//! the icons.
//!
//! If an origin does not respond at all, its icons get the same outcome, so a dead endpoint costs
//! one attempt. The outcome table has a column for the effect of each robots.txt outcome (RFC 9309,
//! 2.3.1). Memory for rules is bounded. If rules are forgotten, the file is requested again. This
//! module does not depend on icons, or on how the file is fetched.

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
/// Bytes that an entry takes in addition to its rules.
const ENTRY_BYTES: usize = 512;
/// Maximum size in bytes of a file that is parsed in place. A longer file is parsed on a blocking
/// thread, so that it does not delay sockets.
const INLINE_PARSE_MAX_BYTES: usize = 16 * 1024;

/// An origin's rules.
#[derive(Clone)]
enum Rules {
    AllowAll,
    ForbidAll,
    Read(Arc<RobotsTxt>),
    /// The origin does not respond, so its URLs get this outcome.
    Dead(Outcome),
}

type RulesCell = Arc<OnceCell<Rules>>;

struct CachedRules {
    cell: RulesCell,
    bytes: usize,
}

/// A shard's cached rules.
pub(crate) struct RobotsCache {
    entries: Mutex<LruCache<String, CachedRules>>,
}

impl RobotsCache {
    pub(crate) fn new() -> Self {
        Self { entries: Mutex::new(LruCache::unbounded()) }
    }

    /// Checks whether `agent` may request `target`. If not, returns the outcome. If the origin's
    /// rules are not cached, calls `fetch` to fetch the file. Concurrent calls share one fetch.
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

    /// Returns whether the rules of `origin` are cached, so no request is needed.
    pub(crate) fn knows(&self, origin: &str) -> bool {
        self.entries.lock().peek(origin).is_some_and(|entry| entry.cell.initialized())
    }

    /// Forgets the origins that failed in a way that may have been temporary. Call this before a
    /// later pass.
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

    /// Returns the cell of an origin, and creates it if necessary.
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
        // If another fetch has already set the cell, it contains the same rules.
        let _ = self.cell(origin).set(rules);
        self.weigh(origin, bytes);
    }

    /// Records the size of an entry, and drops the least recently used entries until the rest fits.
    /// Parsed rules take about twice as many bytes as their file.
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

/// If a redirect led to the robots.txt of another origin, and the response shows that origin's
/// rules, returns this origin.
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
            // This only fails if the parser panics, which would be a bug. Forbid everything then.
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
