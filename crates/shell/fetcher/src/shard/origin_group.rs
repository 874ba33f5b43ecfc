//! Fetches the URLs of one origin in canonical order.
//!
//! The first URL is fetched alone, because it shows whether the origin responds. A dead origin
//! therefore costs only one timeout per pass.

use std::{collections::HashMap, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use chrono::Utc;
use futures_util::{FutureExt, StreamExt, stream::FuturesOrdered};
use tokio::time::Instant;

use crate::{
    local_failure::LocalFailure,
    outcome::Outcome,
    request::{chain, pool::ConnectionPool, scope::FetchScope, target::Target},
    shard::{
        findings::{Findings, PriorFindings},
        inspect_body::inspect_and_keep,
        url_fetch::UrlFetch,
        work::{ShardWork, item},
    },
};

/// Up to this many URLs of an origin are fetched one by one, because a second connection would cost
/// more time than it saves.
const MAX_SEQUENTIAL_URLS: usize = 4;

pub(crate) struct OriginGroup {
    origin: String,
    pub(crate) url_nos: Vec<usize>,
    not_before: Option<Instant>,
    is_later_pass: bool,
}

impl OriginGroup {
    pub(crate) fn new(origin: String) -> Self {
        Self { origin, url_nos: Vec::new(), not_before: None, is_later_pass: false }
    }

    pub(crate) fn holds_suspect(&self, work: &ShardWork) -> bool {
        self.url_nos.iter().any(|url_no| work.isolation.is_suspect(item(*url_no)))
    }

    /// Groups the URLs that are worth a retry. If an origin seemed dead, URLs that were not
    /// requested in the first pass go first. If an origin sent `Retry-After`, its group starts when
    /// the longest of these times is over.
    pub(crate) fn for_later_pass(work: &ShardWork, results: &[Option<UrlFetch>]) -> Vec<Self> {
        let settings = &work.shared.settings;
        let longest = settings.retry_after_max;
        let mut groups: Vec<Self> = Vec::new();
        let mut group_nos: HashMap<String, usize> = HashMap::new();
        for (url_no, result) in results.iter().enumerate() {
            let worth_it = |result: &&UrlFetch| result.is_worth_a_retry(longest);
            let Some(result) = result.as_ref().filter(worth_it) else { continue };
            let target = Target::first(&work.urls[url_no], &settings.ports);
            let Ok(target) = target else { continue };
            let group_no = *group_nos.entry(target.origin.clone()).or_insert_with(|| {
                groups.push(Self { is_later_pass: true, ..Self::new(target.origin) });
                groups.len() - 1
            });
            let group = &mut groups[group_no];
            group.url_nos.push(url_no);
            if let Some(wait) = result.retry_after {
                let since = (Utc::now() - result.ended_at).to_std().unwrap_or_default();
                let until = Instant::now() + wait.saturating_sub(since);
                group.not_before = group.not_before.max(Some(until));
            }
        }
        let seemed_dead = |url_no: &usize| {
            let result = results.get(*url_no).and_then(Option::as_ref);
            result.is_some_and(|result| result.was_tried && result.outcome.kills_origin())
        };
        for group in &mut groups {
            group.url_nos.sort_by_key(seemed_dead);
        }
        groups
    }

    pub(crate) async fn run(
        self,
        work: Arc<ShardWork>,
    ) -> Result<Vec<(usize, UrlFetch)>, LocalFailure> {
        if let Some(not_before) = self.not_before {
            tokio::time::sleep_until(not_before).await;
        }
        let window = work.shared.settings.per_host.max(1);
        let is_small = self.url_nos.len() <= MAX_SEQUENTIAL_URLS;
        let is_sequential = is_small || work.isolation.is_on() || window == 1;
        let pool = ConnectionPool::default();
        let context = UrlContext {
            work: &work,
            pool: &pool,
            is_later_pass: self.is_later_pass,
            is_sequential,
        };
        let mut run = OriginRun {
            group: &self,
            work: &work,
            findings: Findings::default(),
            results: Vec::with_capacity(self.url_nos.len()),
        };
        let mut waiting = self.url_nos.iter().copied().enumerate();
        let alone = if is_sequential { self.url_nos.len() } else { 1 };
        for (position, url_no) in waiting.by_ref().take(alone) {
            let known = run.findings.known_at(position, window);
            run.note(context.settle(url_no, known).await?);
        }
        let mut under_way = FuturesOrdered::new();
        loop {
            while under_way.len() < window {
                let Some((position, url_no)) = waiting.next() else { break };
                let known = run.findings.known_at(position, window);
                under_way.push_back(context.settle(url_no, known));
            }
            let Some(settled) = under_way.next().await else { return Ok(run.results) };
            run.note(settled?);
        }
    }
}

struct OriginRun<'a> {
    group: &'a OriginGroup,
    work: &'a ShardWork,
    findings: Findings,
    results: Vec<(usize, UrlFetch)>,
}

impl OriginRun<'_> {
    fn note(&mut self, (url_no, result): (usize, UrlFetch)) {
        self.work.heartbeat.beat();
        let may_defer = self.work.has_later_pass && !self.group.is_later_pass;
        let longest = self.work.shared.settings.retry_after_max;
        let asks_to_wait = result.retry_after.is_some_and(|wait| wait > Duration::ZERO);
        let defers = may_defer && asks_to_wait && result.is_worth_a_retry(longest);
        self.findings.add(self.results.len(), &result, defers);
        // Do not record a connect timeout that was only looked up in the list of dead endpoints. It
        // says nothing new about the network, and arrives earlier than real timeouts.
        let is_news = result.was_tried || result.outcome != Outcome::ConnectTimeout;
        if self.results.is_empty() && is_news && !self.group.is_later_pass {
            self.work.shared.breaker.record(&self.group.origin, result.outcome);
        }
        self.results.push((url_no, result));
    }
}

#[derive(Clone, Copy)]
struct UrlContext<'a> {
    work: &'a Arc<ShardWork>,
    pool: &'a ConnectionPool,
    is_later_pass: bool,
    is_sequential: bool,
}

impl UrlContext<'_> {
    /// If the origin has sent `Retry-After`, this sends no request and returns a copy of that
    /// response's result, so that the later pass retries the URL.
    async fn settle(
        self,
        url_no: usize,
        known: PriorFindings,
    ) -> Result<(usize, UrlFetch), LocalFailure> {
        let work = self.work;
        if let Some(answer) = known.asked_to_wait {
            let result = UrlFetch { was_tried: false, bytes: 0, ..answer };
            return Ok((url_no, result));
        }
        if work.isolation.has_crashed(item(url_no)) {
            return Ok((url_no, UrlFetch::untried(Outcome::Crashed)));
        }
        work.isolation.checkpoint_item(item(url_no)).await;
        let scope = FetchScope {
            pool: self.pool,
            dead_origins: &known.dead_origins,
            blocklist: &work.blocklist,
            signer: work.signer.as_deref(),
            exclusions: &work.exclusions,
            robot: &work.robot,
            meter: &work.meter,
            requests: &work.requests,
            is_later_pass: self.is_later_pass,
            is_spaced: false,
            is_sequential: self.is_sequential,
        };
        let url = &work.urls[url_no];
        let fetch = chain::fetch(&work.shared, work.robots(), scope, url);
        // The same response would make every worker panic, so record this URL as crashed instead of
        // failing the shard.
        let Ok(fetched) = AssertUnwindSafe(fetch).catch_unwind().await else {
            tracing::error!(url, "the fetch panicked");
            return Ok((url_no, UrlFetch::untried(Outcome::Crashed)));
        };
        let mut fetched = fetched?;
        let result = UrlFetch::of_fetched(&mut fetched);
        if result.outcome != Outcome::Ok {
            return Ok((url_no, result));
        }
        let (head, body) = (std::mem::take(&mut fetched.http_head), fetched.body.clone());
        let kept = inspect_and_keep(work, result, head, body).await;
        // Dropping `fetched` releases the permit for the body's memory. Hold it until the body is
        // in the spool.
        drop(fetched);
        Ok((url_no, kept?))
    }
}
