//! Finds and fetches a crawl's sitemaps, and sorts their links.
//!
//! Links are sorted in a task, and only for a few sitemaps at a time, because each may list 50,000
//! pages.

use std::{panic::resume_unwind, sync::Arc};

use everytab_coordinator::SlotFence;
use everytab_crawl_settings::SitemapsOption;
use everytab_fetcher::{
    Cookies, DelaySettings, HostClient, LocalFailure, Outcome, PageRequest, Purpose,
};
use everytab_frontier::{Attributes, FoundLinks, LinkFlags, PendingUrl, Referrer, SitemapLinks};
use everytab_webpage::{RobotsTxt, Sitemap, read_sitemap};

use crate::{
    crawl::Crawl,
    fetch::{
        FetchContext, FetchOutput, FetchTask, FinishedFetch, PageFacts, count_left_out, digest_of,
        robots_directives, run_page_task,
    },
    filters::judge::NOARCHIVE,
    readable::ReadableResponse,
    repeat::BodySource,
};

pub(crate) fn should_add(crawl: &Crawl, pending: &PendingUrl) -> bool {
    let Attributes { depth, flags, .. } = pending.attributes;
    crawl.sitemaps != SitemapsOption::Off
        && crawl.follows_links_at(depth)
        && !flags.is_requisite_or_sitemap()
}

/// Returns the sitemaps that an origin's robots.txt names and, if the crawl's settings include it,
/// `/sitemap.xml`.
pub(crate) fn of_origin(
    context: &FetchContext,
    crawl: &Crawl,
    (host, pending): (&str, &PendingUrl),
    (origin, rules): (&str, &RobotsTxt),
) -> FoundLinks {
    let mut sitemaps = rules.sitemaps().to_vec();
    let usual = format!("{origin}/sitemap.xml");
    let is_guessed = crawl.sitemaps == SitemapsOption::Also && !sitemaps.contains(&usual);
    if is_guessed {
        sitemaps.push(usual.clone());
    }
    let url = format!("{origin}/robots.txt");
    let referrer = Referrer { url: &url, host, attributes: pending.attributes };
    let FetchContext { parameters, suffixes, .. } = context;
    let mut found =
        FoundLinks::of_robots(&sitemaps, &referrer, &crawl.rules(), parameters, suffixes);
    if is_guessed {
        let guessed = found.own_host.iter_mut().filter(|link| link.url.fetched() == usual);
        guessed.for_each(|link| link.via = None);
    }
    found
}

pub(crate) async fn run_fetch_task(
    context: &Arc<FetchContext>,
    mut client: HostClient,
    (task, delays): (FetchTask, DelaySettings),
    of: (SlotFence, u64, u64),
    host: &str,
) -> FinishedFetch {
    let result = match &task {
        FetchTask::Page { crawl, pending, cookies }
            if pending.attributes.flags.contains(LinkFlags::SITEMAP) =>
        {
            fetch_sitemap(context, (&mut client, &delays), crawl, (host, pending, cookies)).await
        }
        _ => return run_page_task(context, client, (task, delays), of, host).await,
    };
    let (fence, host_hash, number) = of;
    FinishedFetch { fence, host_hash, number, client, task, result }
}

/// A body that is not a sitemap has no links.
async fn fetch_sitemap(
    context: &Arc<FetchContext>,
    (client, delays): (&mut HostClient, &DelaySettings),
    crawl: &Arc<Crawl>,
    (host, pending, cookies): (&str, &PendingUrl, &Cookies),
) -> Result<FetchOutput, LocalFailure> {
    let purpose = Purpose::sitemap();
    let request = PageRequest {
        cookies: cookies.clone(),
        ports: Some(&crawl.ports),
        ..PageRequest::new(&pending.url, &purpose)
    };
    let fetched = client.fetch(&request, delays).await?;
    let mut facts = PageFacts::default();
    let mut refused = None;
    if let (Outcome::Redirected, Some(target)) = (fetched.outcome, &fetched.redirect) {
        let referrer = Referrer { url: &pending.url, host, attributes: pending.attributes };
        let FetchContext { parameters, suffixes, .. } = &**context;
        facts.found = FoundLinks::of_sitemap_redirect(
            target,
            &referrer,
            &crawl.rules(),
            parameters,
            suffixes,
        );
    }
    if fetched.has_body() {
        let directives = robots_directives(context, &ReadableResponse::of(&fetched));
        refused = directives.is_noarchive.then_some(NOARCHIVE);
        // The semaphore is never closed.
        facts.reading = Arc::clone(&context.sitemap_readers).acquire_owned().await.ok();
        let context = Arc::clone(context);
        let crawl = Arc::clone(crawl);
        let body = fetched.body.clone();
        let host = host.to_owned();
        let url = pending.url.clone();
        let attributes = pending.attributes;
        let reading = tokio::task::spawn_blocking(move || {
            let referrer = Referrer { url: &url, host: &host, attributes };
            links_of(&context, &crawl, &referrer, &read_sitemap(&body))
        });
        facts.found = match reading.await {
            Ok(found) => found,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                // The process is exiting.
                Err(_) => FoundLinks::default(),
            },
        };
    }
    let sha256 = digest_of(&fetched);
    Ok(FetchOutput { fetched, facts, sha256, body: BodySource::Own, refused })
}

fn links_of(
    context: &FetchContext,
    crawl: &Crawl,
    referrer: &Referrer<'_>,
    sitemap: &Sitemap,
) -> FoundLinks {
    let Sitemap { pages, alternates, sitemaps, left_out, .. } = sitemap;
    let links = SitemapLinks { pages, alternates, sitemaps };
    let FetchContext { parameters, suffixes, .. } = context;
    let mut found = FoundLinks::of_sitemap(&links, referrer, &crawl.rules(), parameters, suffixes);
    count_left_out(&mut found, left_out);
    found
}
