//! Submits single URLs in groups, so that many of them share a commit.

use std::{sync::Arc, time::Duration};

use everytab_coordinator::{ApiAccepted, ApiError, ApiSubmission, Coordinator, StandingCrawl};
use everytab_crawl_settings::CrawlSettings;
use everytab_frontier::Scope;
use tokio::{
    sync::{Semaphore, mpsc, oneshot},
    time::{Instant, timeout_at},
};

use crate::{
    metrics,
    problem::{Problem, ProblemCode},
};

/// How long a call's first submission waits for others. The wait hardly matters, because fetching a
/// URL takes seconds.
const GATHER_TIME: Duration = Duration::from_millis(15);
/// Maximum submissions per call.
const MAX_GATHERED: usize = 256;
/// Maximum concurrent calls, so that the next call can gather submissions while one commits.
const CALLS: usize = 2;
/// Maximum submissions that wait for a call. Submissions beyond this limit are rejected.
const MAX_WAITING: usize = 4_096;
/// Seconds after which a client may retry if too many submissions are waiting.
const RETRY_S: u64 = 1;

struct Waiting {
    submission: ApiSubmission,
    answer: oneshot::Sender<Result<ApiAccepted, Problem>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Submissions(mpsc::Sender<Waiting>);

/// Returns the settings for a key's standing crawl, which fetches single URLs and follows no links.
pub(crate) fn standing_settings() -> CrawlSettings {
    CrawlSettings { scope: Scope::Page, depth: 0, ..CrawlSettings::default() }
}

pub(crate) fn standing_crawl(store: &str) -> Result<StandingCrawl, serde_json::Error> {
    let settings = serde_json::to_value(standing_settings())?;
    Ok(StandingCrawl { store: store.to_owned(), settings })
}

impl Submissions {
    pub(crate) fn start(coordinator: Coordinator, standing: StandingCrawl) -> Self {
        let (sender, waiting) = mpsc::channel(MAX_WAITING);
        tokio::spawn(gather(waiting, coordinator, Arc::new(standing)));
        Self(sender)
    }

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
        let coordinator = coordinator.clone();
        let standing = Arc::clone(&standing);
        tokio::spawn(async move {
            submit(&coordinator, &standing, gathered).await;
            drop(permit);
        });
    }
}

async fn submit(coordinator: &Coordinator, standing: &StandingCrawl, gathered: Vec<Waiting>) {
    let (submissions, answers): (Vec<_>, Vec<_>) =
        gathered.into_iter().map(|waiting| (waiting.submission, waiting.answer)).unzip();
    let result = coordinator.api_submit(standing, &submissions).await;
    metrics::submitted(submissions.len(), result.is_ok());
    match result.map_err(Problem::from) {
        Ok(accepted) => {
            for (answer, accepted) in answers.into_iter().zip(accepted) {
                let accepted = accepted.map_err(|refusal| ApiError::from(refusal).into());
                // The client may have disconnected.
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
