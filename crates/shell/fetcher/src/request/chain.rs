//! Fetches one URL with its redirects, and returns exactly one outcome.
//!
//! A local failure (no descriptors, no route, a stall) voids an attempt. The fetch is then retried
//! a few times before the failure is returned to the caller.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use everytab_metrics::label;
use futures_util::future::BoxFuture;

use crate::{
    fetch_result::{FetchResult, Hop},
    health::{clock::Clock, dead_origins::DeadOrigins},
    host::gates::{GatePass, RequestSource},
    local_failure::{LocalFailure, Stop},
    metrics::instruments,
    outcome::{AfterStall, Outcome, RateLimitSignal},
    page::{page_fetch_result::PageFetchResult, page_request::PageRequest},
    purpose::{Purpose, Redirects},
    request::{
        chain_requests::ChainRequests, cookies::Cookies, head::NextStep, hop::RequestChain,
        page_chain::PageChain, robots::RobotsCache, scope::FetchScope, shared::Shared,
        target::Target,
    },
    request_log::{CurrentRequest, RequestEnd},
};

/// Maximum number of attempts at a fetch. The pauses between them add up to 15.5 seconds.
const MAX_FETCH_ATTEMPTS: u32 = 6;
/// Unit of the pause after a void attempt. The first pause is two units, and each further pause is
/// twice as long.
const PAUSE_AFTER_TROUBLE: Duration = Duration::from_millis(250);

pub(crate) async fn fetch(
    shared: &Shared,
    robots: Option<&RobotsCache>,
    scope: FetchScope<'_>,
    url: &str,
) -> Result<FetchResult, LocalFailure> {
    let mut attempt = 1;
    loop {
        match follow(shared, robots, scope, &shared.icon, url).await {
            Err(failure) if attempt < MAX_FETCH_ATTEMPTS && failure.may_pass() => {
                pause_after(failure, url, attempt, scope).await;
                attempt += 1;
            }
            done => return done,
        }
    }
}

/// Two requests to one host are at least `pause` apart.
pub(crate) async fn fetch_page(
    shared: &Shared,
    scope: FetchScope<'_>,
    request: &PageRequest<'_>,
    pause: Duration,
) -> Result<PageFetchResult, LocalFailure> {
    let mut attempt = 1;
    loop {
        let page = PageChain::new(request.validators.clone(), pause);
        let mut chain = RequestChain {
            cookies: request.cookies.clone(),
            page: Some(Box::new(page)),
            ports: request.ports.unwrap_or(&shared.settings.ports),
            ..start(shared, scope, request.purpose, request.url)
        };
        match end(&mut chain, None).await {
            Ok(()) => return Ok(page_fetch_result(chain)),
            Err(failure) if attempt < MAX_FETCH_ATTEMPTS => {
                pause_after(failure, request.url, attempt, scope).await;
                tokio::time::sleep(pause).await;
                attempt += 1;
            }
            Err(failure) => return Err(failure),
        }
    }
}

async fn pause_after(failure: LocalFailure, url: &str, attempt: u32, scope: FetchScope<'_>) {
    instruments().local_failures.add(1, &[label("failure", failure.as_str())]);
    tracing::debug!(
        url,
        failure = failure.as_str(),
        attempt,
        "a local failure voided the fetch; retrying"
    );
    scope.pool.release_permits();
    tokio::time::sleep(PAUSE_AFTER_TROUBLE * (1 << attempt)).await;
}

async fn follow(
    shared: &Shared,
    robots: Option<&RobotsCache>,
    scope: FetchScope<'_>,
    purpose: &Purpose,
    url: &str,
) -> Result<FetchResult, LocalFailure> {
    let mut chain = start(shared, scope, purpose, url);
    end(&mut chain, robots).await?;
    Ok(chain.fetched)
}

fn start<'a>(
    shared: &'a Shared,
    scope: FetchScope<'a>,
    purpose: &'a Purpose,
    url: &str,
) -> RequestChain<'a> {
    RequestChain {
        shared,
        scope,
        purpose,
        page: None,
        ports: &shared.settings.ports,
        clock: Clock::start(purpose.times.total),
        cookies: Cookies::default(),
        fetched: FetchResult::new(url),
        current: CurrentRequest::none(scope.requests),
    }
}

async fn end(
    chain: &mut RequestChain<'_>,
    robots: Option<&RobotsCache>,
) -> Result<(), LocalFailure> {
    let began = Instant::now();
    let shared = chain.shared;
    let scope = chain.scope;
    let ended = follow_redirects(chain, robots).await;
    chain.fetched.timings.sum();
    let outcome = outcome_of(shared, began, ended, &chain.fetched).await?;
    chain.fetched.outcome = outcome;
    chain.end_request(RequestEnd::Outcome(outcome), chain.fetched.body.len());
    let fetched = &chain.fetched;
    if let Some(address) = fetched.hops.last().and_then(|hop| hop.address)
        && is_rate_limit_signal(fetched)
    {
        shared.politeness.slow_down(address.ip());
        scope.meter.slowed_down();
    }
    scope.meter.fetched(chain.purpose.kind, fetched);
    Ok(())
}

fn page_fetch_result(chain: RequestChain<'_>) -> PageFetchResult {
    let RequestChain { fetched, cookies, page, .. } = chain;
    let page = page.map_or_else(PageChain::default, |page| *page);
    PageFetchResult {
        outcome: fetched.outcome,
        exchanges: page.exchanges,
        status: fetched.status,
        headers: page.headers,
        body: fetched.body,
        truncated: page.truncated,
        is_coded: page.is_coded,
        redirect: page.redirect,
        retry_after: fetched.retry_after,
        cookies,
        timings: fetched.timings,
        certificate: fetched.certificate,
        _memory: fetched.memory,
    }
}

async fn outcome_of(
    shared: &Shared,
    began: Instant,
    ended: Result<(), Stop>,
    fetched: &FetchResult,
) -> Result<Outcome, LocalFailure> {
    let outcome = match ended {
        Ok(()) if fetched.body.is_empty() => return Ok(Outcome::EmptyBody),
        Ok(()) => return Ok(Outcome::Ok),
        Err(Stop::LocalFailure(failure)) => return Err(failure),
        Err(Stop::Outcome(outcome)) => outcome,
    };
    if outcome.after_stall() == AfterStall::Void && shared.stalls.since(began) {
        return Err(LocalFailure::Stalled);
    }
    if outcome.is_silence() {
        shared.connectivity.check().await?;
    }
    Ok(outcome)
}

fn is_rate_limit_signal(fetched: &FetchResult) -> bool {
    match fetched.outcome.rate_limit_signal() {
        RateLimitSignal::No => false,
        RateLimitSignal::Yes => true,
        RateLimitSignal::If503 => fetched.status == Some(503),
    }
}

async fn follow_redirects(
    chain: &mut RequestChain<'_>,
    robots: Option<&RobotsCache>,
) -> Result<(), Stop> {
    let mut target = match chain.page {
        Some(_) => Target::submitted(&chain.fetched.url, chain.ports)?,
        None => Target::first(&chain.fetched.url, chain.ports)?,
    };
    let own_host = target.host.clone();
    let mut requests = ChainRequests::default();
    let mut hosts = HashSet::new();
    let mut redirects = 0;
    loop {
        hosts.insert(target.host.clone());
        if !requests.add(target.url.as_str(), &chain.cookies) {
            return Err(Outcome::RedirectLoop.into());
        }
        target.url.as_str().clone_into(&mut chain.fetched.final_url);
        let hop = Hop { url: target.url.to_string(), address: None, status: None };
        chain.fetched.hops.push(hop);
        let pass = enter_gate(chain, &target, &own_host).await;
        let taken = take_hop(chain, robots, &target).await;
        drop(pass);
        let next_step = match taken {
            Err(Stop::Outcome(Outcome::IpBlocked)) if redirects > 0 => {
                return Err(Outcome::RedirectBlocked.into());
            }
            other => other?,
        };
        let NextStep::Redirect(location) = next_step else { return Ok(()) };
        let Redirects::Follow(max_redirects) = chain.purpose.redirects else {
            return Err(report(chain, &target, &location).into());
        };
        chain.end_request(RequestEnd::Redirected, 0);
        if redirects >= max_redirects {
            return Err(Outcome::RedirectLimit.into());
        }
        redirects += 1;
        let next = target.redirected(&location, chain.ports)?;
        chain.fetched.was_downgraded |= target.is_https && !next.is_https;
        if let Some(page) = &mut chain.page {
            page.redirected();
            // Pause before a second request to a host, even if another host was requested in
            // between.
            if hosts.contains(&next.host) {
                chain.pause().await;
            }
        }
        target = next;
    }
}

async fn enter_gate(
    chain: &mut RequestChain<'_>,
    target: &Target,
    own_host: &str,
) -> Option<GatePass> {
    let pause = chain.page.as_ref()?.pause;
    let source = if target.host == own_host {
        RequestSource::Own(pause)
    } else {
        RequestSource::Guest(pause)
    };
    let entering = chain.shared.gates.enter(&target.host, source);
    Some(chain.clock.wait(Box::pin(entering)).await)
}

/// Stores the target of a redirect that is not followed. The caller must check the target's port.
fn report(chain: &mut RequestChain<'_>, target: &Target, location: &str) -> Outcome {
    match target.redirect_url(location) {
        Ok(next) => {
            if let Some(page) = &mut chain.page {
                page.redirect = Some(next.into());
            }
            Outcome::Redirected
        }
        Err(outcome) => outcome,
    }
}

/// The blocklist and a literal address are checked before anything is requested from the host, even
/// its robots.txt.
async fn take_hop(
    chain: &mut RequestChain<'_>,
    robots: Option<&RobotsCache>,
    target: &Target,
) -> Result<NextStep, Stop> {
    let is_listed = chain.scope.blocklist.blocks(&target.host);
    if is_listed || chain.scope.exclusions.cover(&target.host, &[]) {
        return Err(Outcome::OptedOut.into());
    }
    if target.literal.is_some_and(|address| !chain.shared.guard.allows(address)) {
        return Err(Outcome::IpBlocked.into());
    }
    let next_step = match chain.scope.dead_origins.verdict(&target.origin) {
        Some(outcome) => Err(outcome.into()),
        None => match robots {
            Some(robots) => match check_robots(chain, robots, target).await? {
                Ok(()) => chain.request(target).await,
                Err(outcome) => Err(outcome.into()),
            },
            None => chain.request(target).await,
        },
    };
    if let Err(Stop::Outcome(outcome)) = &next_step
        && outcome.kills_origin()
    {
        chain.fetched.dead_origin = Some((target.origin.clone(), *outcome));
    }
    next_step
}

async fn check_robots(
    chain: &mut RequestChain<'_>,
    robots: &RobotsCache,
    target: &Target,
) -> Result<Result<(), Outcome>, LocalFailure> {
    let shared = chain.shared;
    let scope = chain.scope;
    if !robots.knows(&target.origin) {
        // Release our permits, because another fetch may be fetching this robots.txt and waiting
        // for them.
        scope.pool.release_permits();
    }
    let fetch = || fetch_robots(shared, scope, target.robots_url());
    chain.clock.wait(robots.check(scope.robot.product(), target, fetch)).await
}

/// The rules must not depend on which fetch needs them, so this ignores the dead origins that the
/// fetch knows.
fn fetch_robots<'a>(
    shared: &'a Shared,
    scope: FetchScope<'a>,
    url: String,
) -> BoxFuture<'a, Result<FetchResult, LocalFailure>> {
    Box::pin(async move {
        let none_known = DeadOrigins::default();
        let scope = FetchScope { dead_origins: &none_known, ..scope };
        follow(shared, None, scope, &shared.robots_of_icon, &url).await
    })
}
