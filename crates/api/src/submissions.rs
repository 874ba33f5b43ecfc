//! URLs that are submitted one by one, many in one commit.
//!
//! Submissions that arrive within [`GATHER_TIME`] go to Postgres in one call, which answers each
//! for itself: one that is refused spoils no other. Invariant: a submission gets the answer of the
//! call that had it, or an error where that failed; none is sent twice. Must not know: HTTP.

use std::{sync::Arc, time::Duration};

use everytab_coordinator::{ApiAccepted, ApiError, ApiSubmission, Coordinator, StandingCrawl};
use everytab_crawler::CrawlSettings;
use everytab_frontier::Scope;
use tokio::{
    sync::{Semaphore, mpsc, oneshot},
    time::{Instant, timeout_at},
};

use crate::{
    metrics,
    problem::{Problem, ProblemCode},
};

/// How long the first submission of a call waits for others. A call with several keys takes a
/// millisecond of the server's processor, each submission in it a twentieth of that; a URL that is
/// submitted is asked for within seconds.
const GATHER_TIME: Duration = Duration::from_millis(15);
/// Submissions of a call: of the largest URLs they are a megabyte.
const MAX_GATHERED: usize = 256;
/// Calls under way: while one commits, the next one gathers.
const CALLS: usize = 2;
/// Submissions that wait for a call; more are refused.
const MAX_WAITING: usize = 4_096;
/// Seconds after which a client may submit again where too many wait.
const RETRY_S: u64 = 1;

struct Waiting {
    submission: ApiSubmission,
    answer: oneshot::Sender<Result<ApiAccepted, Problem>>,
}

/// The way in.
#[derive(Debug, Clone)]
pub(crate) struct Submissions(mpsc::Sender<Waiting>);

/// The settings of the crawl that a key's single URLs go to: these alone are asked for.
pub(crate) fn standing_settings() -> CrawlSettings {
    CrawlSettings { scope: Scope::Page, depth: 0, ..CrawlSettings::default() }
}

/// How a key's standing crawl is started.
///
/// # Errors
/// When the settings are no JSON.
pub(crate) fn standing_crawl(store: &str) -> Result<StandingCrawl, serde_json::Error> {
    let settings = serde_json::to_value(standing_settings())?;
    Ok(StandingCrawl { store: store.to_owned(), settings })
}

impl Submissions {
    /// Starts to gather, until all ways in are dropped.
    pub(crate) fn start(coordinator: Coordinator, standing: StandingCrawl) -> Self {
        let (sender, waiting) = mpsc::channel(MAX_WAITING);
        tokio::spawn(gather(waiting, coordinator, Arc::new(standing)));
        Self(sender)
    }

    /// Submits a URL.
    ///
    /// # Errors
    /// When Postgres refuses it or cannot be asked, or too many submissions wait.
    pub(crate) async fn submit(&self, submission: ApiSubmission) -> Result<ApiAccepted, Problem> {
        let (answer, answered) = oneshot::channel();
        let unavailable = || Problem::unavailable("too many URLs are being submitted", RETRY_S);
        self.0.try_send(Waiting { submission, answer }).map_err(|_| unavailable())?;
        answered.await.unwrap_or_else(|_| Err(Problem::new(ProblemCode::Internal)))
    }
}

async fn gather(
    mut waiting: mpsc::Receiver<Waiting>,
    coordinator: Coordinator,
    standing: Arc<StandingCrawl>,
) {
    let calls = Arc::new(Semaphore::new(CALLS));
    while let Some(first) = waiting.recv().await {
        let until = Instant::now() + GATHER_TIME;
        let mut gathered = vec![first];
        while gathered.len() < MAX_GATHERED {
            match timeout_at(until, waiting.recv()).await {
                Ok(Some(next)) => gathered.push(next),
                Ok(None) | Err(_) => break,
            }
        }
        // The semaphore is never closed.
        let Ok(permit) = Arc::clone(&calls).acquire_owned().await else { return };
        let (coordinator, standing) = (coordinator.clone(), Arc::clone(&standing));
        tokio::spawn(async move {
            submit(&coordinator, &standing, gathered).await;
            drop(permit);
        });
    }
}

/// One call.
async fn submit(coordinator: &Coordinator, standing: &StandingCrawl, gathered: Vec<Waiting>) {
    let (submissions, answers): (Vec<_>, Vec<_>) =
        gathered.into_iter().map(|waiting| (waiting.submission, waiting.answer)).unzip();
    let result = coordinator.api_submit(standing, &submissions).await;
    metrics::submitted(submissions.len(), result.is_ok());
    match result.map_err(Problem::from) {
        Ok(accepted) => {
            for (answer, accepted) in answers.into_iter().zip(accepted) {
                let accepted = accepted.map_err(|refusal| ApiError::from(refusal).into());
                // Who waited may be gone.
                answer.send(accepted).ok();
            }
        }
        Err(problem) => {
            for answer in answers {
                answer.send(Err(problem.clone())).ok();
            }
        }
    }
}
