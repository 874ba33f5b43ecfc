//! Submits the URLs that failed in an earlier crawl to one that repeats it, in batches because
//! there may be millions.

use std::{sync::Arc, time::Duration};

use everytab_coordinator::{ApiCaller, ApiError, CrawlVerb};
use everytab_crawl_settings::{SeedPorts, parse_seed};
use everytab_frontier::Scope;
use everytab_webpage::PortList;
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{
    crawl_settings::SettingsOfCrawl,
    problem::{Problem, ProblemCode},
    resources::batches::packed,
    service::Service,
    submitted_urls::{MAX_URLS, SubmittedUrls},
};

const ONLY: &str = "only";
/// Seconds before a throttled call is retried, if Postgres does not specify a time.
const PAUSE_S: u64 = 1;

/// Which URLs from an earlier crawl are submitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OnlyWord {
    /// Pages that failed, and pages that were given up because their origin was unavailable.
    /// Requisites and sitemaps are excluded.
    Failed,
}

#[derive(Debug)]
pub(crate) struct FailedSeeds {
    earlier: Uuid,
    ports: PortList,
    after: Option<String>,
    has_some: bool,
    is_last: bool,
}

impl FailedSeeds {
    /// Prepares to read the failed URLs of the crawl in `settings.again`. `None` if `only` is
    /// missing. `has_urls` is true if the request also has URLs, or announces more.
    ///
    /// # Errors
    /// Returns a problem if `only` conflicts with another field.
    pub(crate) fn of(
        only: Option<OnlyWord>,
        (settings, has_urls): (&SettingsOfCrawl, bool),
        ports: &SeedPorts,
    ) -> Result<Option<Self>, Problem> {
        let Some(OnlyWord::Failed) = only else { return Ok(None) };
        let wrong =
            |detail: &str| Err(Problem::of_field(ProblemCode::InvalidSetting, ONLY, detail));
        let Some(earlier) = settings.again else {
            return wrong("missing settings.again: expected the crawl whose failed URLs to fetch");
        };
        if has_urls {
            return wrong("the URLs come from settings.again; omit urls and more");
        }
        if settings.scope.is_some_and(|scope| scope.scope() == Scope::List) {
            return wrong("settings.scope cannot be list without urls; use site, host or any");
        }
        let SeedPorts::Listed(ports) = ports else {
            return Err(Problem::new(ProblemCode::Internal));
        };
        let ports = ports.clone();
        let after = None;
        Ok(Some(Self { earlier, ports, after, has_some: false, is_last: false }))
    }

    pub(crate) fn is_last(&self) -> bool {
        self.is_last
    }

    /// Reads the next batch. This batch can be empty only if it is the last one.
    ///
    /// # Errors
    /// Returns a problem if the key has no such ended crawl, or none of its failed URLs can be
    /// submitted.
    pub(crate) async fn next(
        &mut self,
        service: &Service,
        caller: &ApiCaller,
    ) -> Result<SubmittedUrls, Problem> {
        let mut urls = SubmittedUrls::default();
        let limit = i32::try_from(MAX_URLS).unwrap_or(i32::MAX);
        while urls.accepted.is_empty() && !self.is_last {
            let is_first = self.after.is_none();
            let after = self.after.as_deref();
            let read = || service.coordinator.api_failed_urls(caller, self.earlier, after, limit);
            let found = patiently(is_first, read).await?;
            self.is_last = found.len() < MAX_URLS;
            self.after = found.last().map(|last| last.position.clone()).or(self.after.take());
            let mut ports = SeedPorts::Listed(self.ports.clone());
            let failed = found.into_iter().filter_map(|failed| failed.url);
            let failed = failed.filter_map(|url| {
                let url = parse_seed(&url, &service.parameters).ok()?;
                ports.check(&url).is_ok().then_some((0, url))
            });
            urls.accepted.extend(failed);
        }
        self.has_some |= !urls.accepted.is_empty();
        if !self.has_some {
            let detail = "the crawl in settings.again has no failed URL that can be fetched";
            return Err(Problem::with(ProblemCode::NothingToCrawl, detail));
        }
        Ok(urls)
    }

    /// Adds the remaining URLs to a crawl that was started with the first batch, even if the client
    /// disconnects. Cancels the crawl if not all of them can be added.
    ///
    /// # Errors
    /// Returns a problem if the key's quota does not allow them, or if Postgres cannot be reached.
    pub(crate) async fn add_rest(
        mut self,
        service: &Arc<Service>,
        caller: &ApiCaller,
        crawl: Uuid,
    ) -> Result<(), Problem> {
        if self.is_last {
            return Ok(());
        }
        let service = Arc::clone(service);
        let caller = caller.clone();
        let adding = tokio::spawn(async move {
            let added = self.add_all(&service, &caller, crawl).await;
            if added.is_err() {
                let cancel =
                    || service.coordinator.api_move_crawl(&caller, crawl, CrawlVerb::Cancel);
                if let Err(problem) = patiently(false, cancel).await {
                    tracing::error!(%crawl, ?problem, "cannot cancel a crawl that lacks some URLs");
                }
            }
            added
        });
        adding.await.unwrap_or_else(|error| {
            tracing::error!(%error, "the task that adds URLs to a crawl failed");
            Err(Problem::new(ProblemCode::Internal))
        })
    }

    async fn add_all(
        &mut self,
        service: &Arc<Service>,
        caller: &ApiCaller,
        crawl: Uuid,
    ) -> Result<(), Problem> {
        while !self.is_last {
            let urls = self.next(service, caller).await?;
            let (_, rows) = packed(service, urls, 0).await?;
            let add = || service.coordinator.api_add_failed(caller, crawl, &rows, self.is_last);
            if !patiently(false, add).await? {
                // The client or a limit has ended the crawl.
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Retries a throttled call, unless `is_first`.
async fn patiently<T, F: Future<Output = Result<T, ApiError>>>(
    is_first: bool,
    call: impl Fn() -> F,
) -> Result<T, Problem> {
    loop {
        let refusal = match call().await {
            Err(ApiError::Refused(refusal)) if refusal.code == "throttled" && !is_first => refusal,
            done => return Ok(done?),
        };
        let seconds = refusal.detail.get("retry_after_s").and_then(Value::as_u64);
        tokio::time::sleep(Duration::from_secs(seconds.unwrap_or(PAUSE_S))).await;
    }
}
