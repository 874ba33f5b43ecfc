//! robots.txt of the origins of one shard: asked once, over the connection that the icons use.
//!
//! An origin that gives no answer at all gives its icons the same outcome, so a dead endpoint is
//! tried once. 4xx and endless redirects mean no rules; 429, 5xx and a broken answer forbid all
//! (RFC 9309, 2.3.1). Rules are kept in bounded memory; forgetting costs a request.
//! Must not know: icons.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use everytab_webpage::robots::Robots;
use lru::LruCache;
use tokio::sync::OnceCell;
use url::Url;

use crate::{
    fetched::Fetched,
    health::dead_origins::DeadOrigins,
    outcome::{Outcome, Retry, Trouble},
    request::{
        fetcher::{Round, Shared, travel},
        message::Purpose,
        target::Target,
    },
};

/// Rules are counted by the bytes they were read from, with something for what is around them.
const MAX_CACHED_BYTES: usize = 32 * 1024 * 1024;
const ENTRY_BYTES: usize = 512;
/// A longer file is parsed off the threads that serve sockets.
const PARSED_AT_ONCE_BYTES: usize = 16 * 1024;

/// What an origin says about being asked.
#[derive(Clone)]
pub(crate) enum Rules {
    AllowAll,
    ForbidAll,
    Read(Arc<Robots>),
    /// There is no origin to ask.
    Dead(Outcome),
}

type Cell = Arc<OnceCell<Rules>>;

struct Entry {
    cell: Cell,
    bytes: usize,
}

/// The rules known in one shard.
pub(crate) struct RobotsCache {
    entries: Mutex<LruCache<String, Entry>>,
}

impl RobotsCache {
    pub(crate) fn new() -> RobotsCache {
        RobotsCache { entries: Mutex::new(LruCache::unbounded()) }
    }

    /// Whether `target` may be asked for; if not, what its outcome is.
    pub(crate) async fn check(
        &self,
        shared: &Shared,
        round: Round<'_>,
        target: &Target,
    ) -> Result<Result<(), Outcome>, Trouble> {
        let cell = self.cell(&target.origin);
        let rules = cell.get_or_try_init(|| self.ask(shared, round, target)).await?;
        Ok(match rules {
            Rules::AllowAll => Ok(()),
            Rules::ForbidAll => Err(Outcome::RobotsDisallowed),
            Rules::Dead(outcome) => Err(*outcome),
            Rules::Read(robots) => {
                let path = &target.url[url::Position::BeforePath..url::Position::AfterQuery];
                let is_allowed = robots.allowed(&shared.robots_agent, path);
                if is_allowed { Ok(()) } else { Err(Outcome::RobotsDisallowed) }
            }
        })
    }

    /// Whether nobody need be asked about `origin`.
    pub(crate) fn knows(&self, origin: &str) -> bool {
        self.entries().peek(origin).is_some_and(|entry| entry.cell.initialized())
    }

    /// Forgets the origins whose death may have been passing, before a later pass.
    pub(crate) fn forget_passing_failures(&self) {
        let mut entries = self.entries();
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

    async fn ask(
        &self,
        shared: &Shared,
        round: Round<'_>,
        target: &Target,
    ) -> Result<Rules, Trouble> {
        let url = target.robots_url();
        // Rules are the same whoever asks: nothing that a neighbour found out is used here.
        let none_known = DeadOrigins::default();
        let round = Round { known: &none_known, ..round };
        let asked = travel(shared, None, round, Purpose::Robots, &url);
        let fetched = Box::pin(asked).await?;
        let rules = understand(target, &fetched).await;
        let bytes = fetched.body.len();
        self.weigh(&target.origin, bytes);
        if let Some(other) = answered_for(&fetched) {
            self.learn(&other, rules.clone(), bytes);
        }
        Ok(rules)
    }

    /// The cell of an origin, made if there is none.
    fn cell(&self, origin: &str) -> Cell {
        let mut entries = self.entries();
        if let Some(entry) = entries.get(origin) {
            return Arc::clone(&entry.cell);
        }
        let cell = Cell::default();
        entries.put(origin.to_owned(), Entry { cell: Arc::clone(&cell), bytes: ENTRY_BYTES });
        cell
    }

    fn learn(&self, origin: &str, rules: Rules, bytes: usize) {
        // If it was set meanwhile, it was set to the same.
        let _ = self.cell(origin).set(rules);
        self.weigh(origin, bytes);
    }

    /// Writes down what an entry costs and drops the oldest until all cost little enough.
    fn weigh(&self, origin: &str, bytes: usize) {
        let mut entries = self.entries();
        if let Some(entry) = entries.get_mut(origin) {
            entry.bytes = ENTRY_BYTES + 2 * bytes;
        }
        let mut total: usize = entries.iter().map(|(_, entry)| entry.bytes).sum();
        while total > MAX_CACHED_BYTES {
            let Some((_, oldest)) = entries.pop_lru() else { return };
            total = total.saturating_sub(oldest.bytes);
        }
    }

    fn entries(&self) -> MutexGuard<'_, LruCache<String, Entry>> {
        // Each change is one call on the map, so a panic elsewhere cannot leave it half changed.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The other origin whose own robots.txt a redirect led to, if the answer is that file's.
fn answered_for(fetched: &Fetched) -> Option<String> {
    let is_an_answer = matches!(
        fetched.outcome,
        Outcome::Ok | Outcome::EmptyBody | Outcome::Http404410 | Outcome::Http401403
    );
    let url = Url::parse(&fetched.final_url).ok()?;
    let is_robots_file = url.path() == "/robots.txt" && url.query().is_none();
    (is_an_answer && is_robots_file && fetched.hops.len() > 1)
        .then(|| url.origin().ascii_serialization())
}

async fn understand(target: &Target, fetched: &Fetched) -> Rules {
    use Outcome::*;
    match fetched.outcome {
        Ok => {
            let body = fetched.body.clone();
            if body.len() <= PARSED_AT_ONCE_BYTES {
                return Rules::Read(Arc::new(Robots::parse(&body)));
            }
            let parse = move || Rules::Read(Arc::new(Robots::parse(&body)));
            // Only a panic in the parser ends here, and it does not panic.
            tokio::task::spawn_blocking(parse).await.unwrap_or(Rules::ForbidAll)
        }
        EmptyBody | Http401403 | HttpChallenge | Http404410 | Http4xx => Rules::AllowAll,
        RedirectLoop | RedirectLimit | RedirectBadScheme | RedirectBlocked => Rules::AllowAll,
        Http429 | Http5xx | BodyReset | BodyTruncated | ContentDecode => Rules::ForbidAll,
        // No answer: if it was this origin that gave none, its icons need not be tried.
        outcome if fetched.hops.len() <= 1 || is_at(fetched, target) => Rules::Dead(outcome),
        _ => Rules::ForbidAll,
    }
}

fn is_at(fetched: &Fetched, target: &Target) -> bool {
    Url::parse(&fetched.final_url)
        .is_ok_and(|url| url.origin().ascii_serialization() == target.origin)
}
