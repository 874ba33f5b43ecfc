//! The sitemaps of a crawl: which are asked for, and what is found in them.
//!
//! Where a page has its turn and the robots.txt of its origin is known, the sitemaps that it names
//! become known, before the page is asked for. What a sitemap lists is sorted in a task, several
//! sitemaps at a time, since each may list 50,000 pages. Must not know: what is known of a host,
//! slots, archives.

use std::{panic::resume_unwind, sync::Arc};

use everytab_coordinator::SlotFence;
use everytab_fetcher::{Cookies, DelaySettings, HostTurns, Outcome, PageRequest, Purpose, Trouble};
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

/// Whether the sitemaps of an origin become known when a URL of it has its turn.
pub(crate) fn are_told(crawl: &Crawl, turn: &Turn) -> bool {
    let Attributes { depth, flags, .. } = turn.attributes;
    crawl.sitemaps != SitemapsOption::Off && crawl.follows_links_at(depth) && !flags.is_no_page()
}

/// The sitemaps of an origin: those that its robots.txt names and, where the crawl asks for that,
/// the one at the well-known place.
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

/// As [`visit`], of what may be a sitemap.
pub(crate) async fn visit_any(
    context: &Arc<VisitContext>,
    mut turns: HostTurns,
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

/// Asks for a sitemap, and reads it. One that is none has no links.
async fn ask_sitemap(
    context: &Arc<VisitContext>,
    (turns, delays): (&mut HostTurns, &DelaySettings),
    crawl: &Arc<Crawl>,
    (host, turn, cookies): (&str, &Turn, &Cookies),
) -> Result<Answer, Trouble> {
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
        // It is never closed.
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
                // The process ends.
                Err(_) => FoundLinks::default(),
            },
        };
    }
    let sha256 = digest_of(&fetched);
    Ok(Answer { fetched, facts, sha256, body: BodyRecord::Own, refused })
}

/// Sorts what a sitemap lists.
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
