//! A crawl's sitemaps: which are fetched, and which links they contain.
//!
//! When a page is about to be fetched and the robots.txt of its origin is cached, the sitemaps that
//! this names are added to the crawl. A sitemap's links are sorted in a task, and only a few
//! sitemaps at a time, because each may list 50,000 pages. Does not depend on host state, slots or
//! archives.

use std::{panic::resume_unwind, sync::Arc};

use everytab_coordinator::SlotFence;
use everytab_fetcher::{
    Cookies, DelaySettings, HostClient, LocalFailure, Outcome, PageRequest, Purpose,
};
use everytab_frontier::{Attributes, FoundLinks, LinkFlags, Referrer, SitemapLinks, Turn};
use everytab_webpage::{RobotsTxt, Sitemap, read_sitemap};

use crate::{
    crawl::Crawl,
    filters::judge::NOARCHIVE,
    readable::ReadableAnswer,
    repeat::BodyRecord,
    settings::SitemapsOption,
    visit::{
        Answer, Asked, PageFacts, VisitContext, Visited, count_left_out, digest_of, said_to_robots,
        visit,
    },
};

/// Returns whether to add an origin's sitemaps when this URL is about to be fetched.
pub(crate) fn are_told(crawl: &Crawl, turn: &Turn) -> bool {
    let Attributes { depth, flags, .. } = turn.attributes;
    crawl.sitemaps != SitemapsOption::Off && crawl.follows_links_at(depth) && !flags.is_no_page()
}

/// Returns an origin's sitemaps: those that its robots.txt names and, if the crawl is set to try
/// it, `/sitemap.xml`.
pub(crate) fn of_origin(
    context: &VisitContext,
    crawl: &Crawl,
    (host, turn): (&str, &Turn),
    (origin, rules): (&str, &RobotsTxt),
) -> FoundLinks {
    let mut sitemaps = rules.sitemaps().to_vec();
    let usual = format!("{origin}/sitemap.xml");
    let is_guessed = crawl.sitemaps == SitemapsOption::Also && !sitemaps.contains(&usual);
    if is_guessed {
        sitemaps.push(usual.clone());
    }
    let url = format!("{origin}/robots.txt");
    let referrer = Referrer { url: &url, host, attributes: turn.attributes };
    let VisitContext { parameters, suffixes, .. } = context;
    let mut found =
        FoundLinks::of_robots(&sitemaps, &referrer, &crawl.rules(), parameters, suffixes);
    if is_guessed {
        let guessed = found.own_host.iter_mut().filter(|link| link.url.fetched() == usual);
        guessed.for_each(|link| link.via = None);
    }
    found
}

/// Runs a fetch task like [`visit`], also for sitemaps.
pub(crate) async fn visit_any(
    context: &Arc<VisitContext>,
    mut turns: HostClient,
    (asked, delays): (Asked, DelaySettings),
    of: (SlotFence, u64, u64),
    host: &str,
) -> Visited {
    let result = match &asked {
        Asked::Page { crawl, turn, cookies }
            if turn.attributes.flags.contains(LinkFlags::SITEMAP) =>
        {
            ask_sitemap(context, (&mut turns, &delays), crawl, (host, turn, cookies)).await
        }
        _ => return visit(context, turns, (asked, delays), of, host).await,
    };
    let (fence, host_hash, number) = of;
    Visited { fence, host_hash, number, turns, asked, result }
}

/// Fetches and parses a sitemap. A body that is not a sitemap has no links.
async fn ask_sitemap(
    context: &Arc<VisitContext>,
    (turns, delays): (&mut HostClient, &DelaySettings),
    crawl: &Arc<Crawl>,
    (host, turn, cookies): (&str, &Turn, &Cookies),
) -> Result<Answer, LocalFailure> {
    let purpose = Purpose::sitemap();
    let request = PageRequest {
        cookies: cookies.clone(),
        ports: Some(&crawl.ports),
        ..PageRequest::new(&turn.url, &purpose)
    };
    let fetched = turns.fetch(&request, delays).await?;
    let (mut facts, mut refused) = (PageFacts::default(), None);
    if let (Outcome::Redirected, Some(target)) = (fetched.outcome, &fetched.redirect) {
        let referrer = Referrer { url: &turn.url, host, attributes: turn.attributes };
        let VisitContext { parameters, suffixes, .. } = &**context;
        facts.found = FoundLinks::of_sitemap_redirect(
            target,
            &referrer,
            &crawl.rules(),
            parameters,
            suffixes,
        );
    }
    if fetched.has_body() {
        let directives = said_to_robots(context, &ReadableAnswer::of(&fetched));
        refused = directives.is_noarchive.then_some(NOARCHIVE);
        // The semaphore is never closed.
        facts.reading = Arc::clone(&context.sitemap_readers).acquire_owned().await.ok();
        let (context, crawl, body) = (Arc::clone(context), Arc::clone(crawl), fetched.body.clone());
        let (host, url, attributes) = (host.to_owned(), turn.url.clone(), turn.attributes);
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
    Ok(Answer { fetched, facts, sha256, body: BodyRecord::Own, refused })
}

/// Sorts the links that a sitemap lists.
fn links_of(
    context: &VisitContext,
    crawl: &Crawl,
    referrer: &Referrer<'_>,
    sitemap: &Sitemap,
) -> FoundLinks {
    let Sitemap { pages, alternates, sitemaps, left_out, .. } = sitemap;
    let links = SitemapLinks { pages, alternates, sitemaps };
    let VisitContext { parameters, suffixes, .. } = context;
    let mut found = FoundLinks::of_sitemap(&links, referrer, &crawl.rules(), parameters, suffixes);
    count_left_out(&mut found, left_out);
    found
}
