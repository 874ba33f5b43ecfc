//! robots.txt of the origins of one shard: read once, over the connection that the icons use.
//!
//! An origin that gives no answer at all gives its icons the same outcome, so a dead endpoint costs
//! one attempt. What each outcome of fetching the file means is a column of the table of outcomes
//! (RFC 9309, 2.3.1). Rules are kept in bounded memory; forgetting them costs a request.
//! Must not know: icons, how the file is fetched.

use std::sync::Arc;

use everytab_webpage::RobotsTxt;
use lru::LruCache;
use parking_lot::Mutex;
use tokio::sync::OnceCell;
use url::Url;

use crate::{
    fetched::Fetched,
    outcome::{Outcome, Retry, RobotsAnswer},
    request::target::Target,
    trouble::Trouble,
};

/// Bytes of all rules of a shard, counted by [`RobotsCache::weigh`].
const MAX_CACHED_BYTES: usize = 32 * 1024 * 1024;
/// Bytes that an entry takes besides the rules of its file.
const ENTRY_BYTES: usize = 512;
/// A longer file is parsed on a blocking thread, away from the threads that serve sockets.
const INLINE_PARSE_MAX_BYTES: usize = 16 * 1024;

/// What an origin allows.
#[derive(Clone)]
enum Rules {
    AllowAll,
    ForbidAll,
    Read(Arc<RobotsTxt>),
    /// The origin does not answer: its URLs get this outcome.
    Dead(Outcome),
}

type RulesCell = Arc<OnceCell<Rules>>;

struct CachedRules {
    cell: RulesCell,
    bytes: usize,
}

/// The rules known in one shard.
pub(crate) struct RobotsCache {
    entries: Mutex<LruCache<String, CachedRules>>,
}

impl RobotsCache {
    pub(crate) fn new() -> Self {
        Self { entries: Mutex::new(LruCache::unbounded()) }
    }

    /// Whether `agent` may ask for `target`; if not, what its outcome is. The file is fetched by
    /// `fetch` if the rules of the origin are not known; concurrent calls share one fetch.
    pub(crate) async fn check<F: Future<Output = Result<Fetched, Trouble>>>(
        &self,
        agent: &str,
        target: &Target,
        fetch: impl FnOnce() -> F,
    ) -> Result<Result<(), Outcome>, Trouble> {
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

    /// Whether the rules of `origin` are known, so that no request is needed.
    pub(crate) fn knows(&self, origin: &str) -> bool {
        self.entries.lock().peek(origin).is_some_and(|entry| entry.cell.initialized())
    }

    /// Forgets the origins whose failure may have been passing, before a later pass.
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
        fetching: impl Future<Output = Result<Fetched, Trouble>>,
    ) -> Result<Rules, Trouble> {
        let fetched = fetching.await?;
        let rules = understand(target, &fetched).await;
        let bytes = fetched.body.len();
        self.weigh(&target.origin, bytes);
        if let Some(other) = also_answered_for(&fetched) {
            self.learn(&other, rules.clone(), bytes);
        }
        Ok(rules)
    }

    /// The cell of an origin, made if there is none.
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
        // If another fetch set it meanwhile, it set the same rules.
        let _ = self.cell(origin).set(rules);
        self.weigh(origin, bytes);
    }

    /// Records what an entry takes, and drops the least recently used until all fit. Parsed rules
    /// take about twice the bytes that they were read from.
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

/// The other origin to whose own robots.txt a redirect led, if the answer is that file's.
fn also_answered_for(fetched: &Fetched) -> Option<String> {
    let is_an_answer = match fetched.outcome.robots_answer() {
        RobotsAnswer::Rules | RobotsAnswer::NoRules => true,
        RobotsAnswer::Allowed | RobotsAnswer::Forbidden | RobotsAnswer::NoAnswer => false,
    };
    let url = Url::parse(&fetched.final_url).ok()?;
    let is_robots_file = url.path() == "/robots.txt" && url.query().is_none();
    (is_an_answer && is_robots_file && fetched.hops.len() > 1)
        .then(|| url.origin().ascii_serialization())
}

async fn understand(target: &Target, fetched: &Fetched) -> Rules {
    match fetched.outcome.robots_answer() {
        RobotsAnswer::Rules => {
            let body = fetched.body.clone();
            if body.len() <= INLINE_PARSE_MAX_BYTES {
                return Rules::Read(Arc::new(RobotsTxt::parse(&body)));
            }
            let parse = move || Rules::Read(Arc::new(RobotsTxt::parse(&body)));
            // This fails only if the parser panics, and it does not panic.
            tokio::task::spawn_blocking(parse).await.unwrap_or(Rules::ForbidAll)
        }
        RobotsAnswer::NoRules | RobotsAnswer::Allowed => Rules::AllowAll,
        RobotsAnswer::Forbidden => Rules::ForbidAll,
        RobotsAnswer::NoAnswer if fetched.hops.len() <= 1 || is_at(fetched, target) => {
            Rules::Dead(fetched.outcome)
        }
        // The origin answered with a redirect, and the origin that it led to did not answer.
        RobotsAnswer::NoAnswer => Rules::ForbidAll,
    }
}

fn is_at(fetched: &Fetched, target: &Target) -> bool {
    Url::parse(&fetched.final_url)
        .is_ok_and(|url| url.origin().ascii_serialization() == target.origin)
}
