//! Fetches one URL from a host in its own task: a page or a robots.txt. The task also parses the
//! page, so that pages are parsed on all cores.
//!
//! Does not depend on host state, slots or archives.

use std::sync::Arc;

use chrono::Utc;
use everytab_commoncrawl::{crawl_layout::ArchiveSubset, warc::HttpResponse};
use everytab_coordinator::{EarlierFetch, SlotFence};
use everytab_fetcher::{
    Cookies, DelaySettings, Exchange, Fetcher, HostClient, LocalFailure, Outcome, PageFetchResult,
    PageRequest, Purpose, Validators,
};
use everytab_filters::language_of;
use everytab_frontier::{
    FoundLinks, LinkFlags, Origin, ParameterList, Referrer, SuffixList, Turn, TurnedAway,
};
use everytab_webpage::{
    LinkKind, LinkRequest, PageLinks, PageText, RobotsDirectives, TextRequest, lines_said,
    links::LinksLeftOut, plain_text, understand_with_links_and_text,
};
use sha2::{Digest, Sha256};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

use crate::{
    crawl::Crawl,
    filters::judge::{Judgement, NOARCHIVE, ReadPage, judge},
    readable::ReadableAnswer,
    repeat::{BodyRecord, EarlierFetches, validators_of},
    stored_copy::{NoCopy, read_copy},
};

/// Maximum sitemaps whose links are sorted or merged at a time. Each takes up to 50 MB then.
const SITEMAPS_AT_A_TIME: usize = 4;
/// Maximum copies in memory at a time. Each may be as long as the longest page.
const COPIES_AT_A_TIME: usize = 8;
/// The outcome for a page that is identical to its copy in the repeated crawl, if duplicates are
/// rejected.
pub(crate) const DUPLICATE: &str = "duplicate";

/// The resources that all fetch tasks share.
pub(crate) struct VisitContext {
    /// Sends the requests.
    pub fetcher: Fetcher,
    /// Parameters that are not part of a URL's key.
    pub parameters: ParameterList,
    /// The public suffix list, which defines sites.
    pub suffixes: SuffixList,
    /// Permits for holding a sitemap's links in memory.
    pub sitemap_readers: Arc<Semaphore>,
    /// Looks up captures in earlier crawls.
    earlier: EarlierFetches,
    copies: Semaphore,
}

impl VisitContext {
    /// Creates the resources of fetch tasks.
    pub(crate) fn new(
        fetcher: Fetcher,
        (parameters, suffixes): (ParameterList, SuffixList),
        earlier: EarlierFetches,
    ) -> Self {
        let sitemap_readers = Arc::new(Semaphore::new(SITEMAPS_AT_A_TIME));
        let copies = Semaphore::new(COPIES_AT_A_TIME);
        Self { fetcher, parameters, suffixes, sitemap_readers, earlier, copies }
    }
}

/// What a task fetches.
pub(crate) enum Asked {
    /// This origin's robots.txt, with the delays of this crawl.
    Robots {
        /// The crawl.
        crawl: Arc<Crawl>,
        /// The origin.
        origin: Origin,
    },
    /// A page that the origin served before, to find out whether the origin fails as a whole. It is
    /// not recorded.
    Probe {
        /// The crawl.
        crawl: Arc<Crawl>,
        /// The origin.
        origin: Origin,
        /// The URL.
        url: String,
    },
    /// A URL of a crawl.
    Page {
        /// The crawl.
        crawl: Arc<Crawl>,
        /// The URL.
        turn: Turn,
        /// The cookies of the redirect chain that led to it on this host.
        cookies: Cookies,
    },
}

impl Asked {
    /// Returns the pending URL. `None` for a robots.txt or a probe.
    pub(crate) fn turn(&self) -> Option<&Turn> {
        match self {
            Self::Robots { .. } | Self::Probe { .. } => None,
            Self::Page { turn, .. } => Some(turn),
        }
    }

    /// Returns the crawl for which it is fetched.
    pub(crate) fn crawl(&self) -> &Arc<Crawl> {
        match self {
            Self::Robots { crawl, .. } | Self::Probe { crawl, .. } | Self::Page { crawl, .. } => {
                crawl
            }
        }
    }
}

/// What parsing a page yields.
#[derive(Default)]
pub(crate) struct PageFacts {
    /// Name of its character encoding.
    pub charset: Option<String>,
    /// Its title.
    pub title: Option<String>,
    /// The language of its text, if one of the crawl's filters or the search needs it.
    pub language: Option<&'static str>,
    /// Its text, if the crawl is indexed for search.
    pub text: Option<String>,
    /// Hashes of its content, by which traps are detected. `None` if it was not parsed.
    pub said: Option<Vec<u32>>,
    /// The links to follow, and counts of the others by reason.
    pub found: FoundLinks,
    /// The permit for a sitemap's links, held until they are merged.
    pub reading: Option<OwnedSemaphorePermit>,
}

/// A finished fetch task.
pub(crate) struct Visited {
    /// The fence of the slot under which it started.
    pub fence: SlotFence,
    /// Hash of the hostname.
    pub host_hash: u64,
    /// Number of the request in this process.
    pub number: u64,
    /// The host's connection and delay, which only this task had.
    pub turns: HostClient,
    /// What was fetched.
    pub asked: Asked,
    /// The output, or the local failure.
    pub result: Result<Answer, LocalFailure>,
}

/// The output of a fetch.
pub(crate) struct Answer {
    /// The outcome, with the response and its body.
    pub fetched: PageFetchResult,
    /// What parsing the page yielded.
    pub facts: PageFacts,
    /// SHA-256 of the body, if there was a response.
    pub sha256: Option<[u8; 32]>,
    /// Which record has the body.
    pub body: BodyRecord,
    /// The outcome if the body is not stored, because of a filter or a directive in the page.
    pub refused: Option<&'static str>,
}

impl Answer {
    /// Returns the last exchange. `None` if no response came.
    pub(crate) fn exchange(&self) -> Option<&Exchange> {
        self.fetched.exchanges.last()
    }
}

/// Sends the request once the host's delay allows it, and parses the response.
pub(crate) async fn visit(
    context: &VisitContext,
    mut turns: HostClient,
    (asked, delays): (Asked, DelaySettings),
    (fence, host_hash, number): (SlotFence, u64, u64),
    host: &str,
) -> Visited {
    let result = match &asked {
        Asked::Robots { crawl, origin } => {
            let url = format!("{}/robots.txt", origin.on(host));
            ask_alone(&mut turns, crawl, (&url, &Purpose::robots()), &delays).await
        }
        Asked::Probe { crawl, url, .. } => {
            ask_alone(&mut turns, crawl, (url, &crawl.page), &delays).await
        }
        Asked::Page { crawl, turn, cookies } => {
            let request = (host, turn, cookies);
            let of = (fence.slot, host_hash);
            ask_page(context, (&mut turns, &delays), (crawl, of), request).await
        }
    };
    Visited { fence, host_hash, number, turns, asked, result }
}

/// Fetches a robots.txt or a probe, which are not parsed for links.
async fn ask_alone(
    turns: &mut HostClient,
    crawl: &Crawl,
    (url, purpose): (&str, &Purpose),
    delays: &DelaySettings,
) -> Result<Answer, LocalFailure> {
    let request = PageRequest { ports: Some(&crawl.ports), ..PageRequest::new(url, purpose) };
    let fetched = turns.fetch(&request, delays).await?;
    let sha256 = digest_of(&fetched);
    let facts = PageFacts::default();
    Ok(Answer { fetched, facts, sha256, body: BodyRecord::Own, refused: None })
}

async fn ask_page(
    context: &VisitContext,
    (turns, delays): (&mut HostClient, &DelaySettings),
    (crawl, (slot, host_hash)): (&Crawl, (i16, u64)),
    (host, turn, cookies): (&str, &Turn, &Cookies),
) -> Result<Answer, LocalFailure> {
    let is_requisite = turn.attributes.flags.contains(LinkFlags::REQUISITE);
    let purpose = if is_requisite { &crawl.media } else { &crawl.page };
    let mut copy = copy_of(context, crawl, (slot, host_hash), turn).await;
    let validators = copy.as_ref().map(validators_of).unwrap_or_default();
    let mut request = PageRequest {
        cookies: cookies.clone(),
        ports: Some(&crawl.ports),
        validators,
        ..PageRequest::new(&turn.url, purpose)
    };
    let mut fetched = turns.fetch(&request, delays).await?;
    let mut stored = None;
    if fetched.outcome == Outcome::NotModified
        && !is_requisite
        && crawl.reads_pages_at(turn.attributes.depth)
        && let Some(named) = &copy
    {
        match read_copy_of(context, crawl, slot, named).await {
            Ok(read) => stored = Some(read),
            // A store outage must not change what is stored, so the URL is fetched again later.
            Err(error) if error.is_passing() => {
                tracing::warn!(url = turn.url, %error, "its copy cannot be read now");
                return Err(LocalFailure::NetworkUnreachable);
            }
            Err(error) => {
                tracing::warn!(url = turn.url, %error, "no copy of it; asking for all of it");
                copy = None;
                request.validators = Validators::default();
                fetched = turns.fetch(&request, delays).await?;
            }
        }
    }
    let content_type = || copy.as_ref().and_then(|copy| copy.mime.clone());
    let answer = match &stored {
        Some((stored, _)) => ReadableAnswer::of_copy(stored, content_type(), &fetched),
        None => ReadableAnswer::of(&fetched),
    };
    let (mut facts, mut refused) = (PageFacts::default(), None);
    let is_read = fetched.has_body() || stored.is_some();
    match fetched.outcome {
        _ if is_read && !is_requisite => {
            (facts, refused) = read_and_judge(context, crawl, (host, turn), &answer).await;
        }
        outcome
            if (is_read || outcome == Outcome::NotModified)
                && said_to_robots(context, &answer).is_noarchive =>
        {
            refused = Some(NOARCHIVE);
        }
        Outcome::Redirected => facts.found = of_redirect(context, crawl, (host, turn), &fetched),
        _ => {}
    }
    let (sha256, body) = body_record(&fetched, copy);
    // For trap detection, another file counts as a page of one line.
    if is_read && !is_requisite && facts.said.is_none() {
        facts.said = sha256.map(|[a, b, c, d, ..]| vec![u32::from_be_bytes([a, b, c, d]) & !1]);
    }
    let rejects = crawl.repeat.as_ref().is_some_and(|repeat| repeat.rejects);
    if refused.is_none() && rejects && body.copy().is_some() {
        refused = Some(DUPLICATE);
    }
    Ok(Answer { fetched, facts, sha256, body, refused })
}

/// Returns a URL's copy in an earlier crawl, if it may be named.
async fn copy_of(
    context: &VisitContext,
    crawl: &Crawl,
    (slot, host_hash): (i16, u64),
    turn: &Turn,
) -> Option<EarlierFetch> {
    let repeat = crawl.repeat.as_ref()?;
    let copy = context.earlier.of(crawl.number, (host_hash, turn.hash.0)).await?;
    let is_requisite = turn.attributes.flags.contains(LinkFlags::REQUISITE);
    repeat.may_name(&copy, (slot, is_requisite), Utc::now()).then_some(copy)
}

/// Reads the copy of a page, and returns it with the permit to hold it in memory.
async fn read_copy_of<'a>(
    context: &'a VisitContext,
    crawl: &Crawl,
    slot: i16,
    copy: &EarlierFetch,
) -> Result<(HttpResponse, Option<SemaphorePermit<'a>>), NoCopy> {
    // The semaphore is never closed.
    let permit = context.copies.acquire().await.ok();
    let stores = crawl.stores.as_ref();
    let number = stores.map_or(0, |stores| stores.number_of(slot, ArchiveSubset::Warc));
    let store = stores.and_then(|stores| stores.store(number));
    let store = store.ok_or(NoCopy::NoStore)?;
    Ok((read_copy(&**store, copy).await?, permit))
}

/// Returns the digest of a response's body. `None` if there was no response, or if the body of a
/// success was lost: its record would be that of an empty page.
pub(crate) fn digest_of(fetched: &PageFetchResult) -> Option<[u8; 32]> {
    fetched.status.filter(|_| !fetched.has_lost_body())?;
    Some(Sha256::digest(&fetched.body).into())
}

/// Returns whether a response is a page with its whole body.
pub(crate) fn is_whole(fetched: &PageFetchResult) -> bool {
    fetched.outcome == Outcome::Ok && fetched.status == Some(200) && fetched.truncated.is_none()
}

/// Returns the digest of a response's body, and which record has that body.
fn body_record(
    fetched: &PageFetchResult,
    copy: Option<EarlierFetch>,
) -> (Option<[u8; 32]>, BodyRecord) {
    let sha256 = digest_of(fetched);
    match copy {
        Some(copy) if fetched.outcome == Outcome::NotModified => {
            (Some(copy.sha256), BodyRecord::NotModified(Box::new(copy)))
        }
        Some(copy) if is_whole(fetched) && sha256 == Some(copy.sha256) => {
            (sha256, BodyRecord::Identical(Box::new(copy)))
        }
        _ => (sha256, BodyRecord::Own),
    }
}

/// Parses a page and applies filters. Returns the outcome if the page is refused.
async fn read_and_judge(
    context: &VisitContext,
    crawl: &Crawl,
    (host, turn): (&str, &Turn),
    answer: &ReadableAnswer<'_>,
) -> (PageFacts, Option<&'static str>) {
    let mut facts = PageFacts::default();
    let (mut page, mut links) = (ReadPage::default(), None);
    if answer.is_html() {
        let found = read_html(context, crawl, turn, answer, &mut facts);
        page.text = found.1.text;
        page.title = facts.title.clone().unwrap_or_default();
        page.robots = found.0.robots;
        facts.said = Some(lines_said(&turn.url, &page.title, &page.text, &found.0.pictures));
        links = Some(found.0);
    } else {
        page.robots = said_to_robots(context, answer);
        if (crawl.filters.needs_text() || crawl.is_searched) && answer.is_text() {
            let ReadableAnswer { headers, body, .. } = answer;
            page.text = plain_text(headers, body, &TextRequest::default()).text;
        }
    }
    let judgement = judge(crawl, &turn.url, answer, &page, &context.parameters).await;
    let Judgement { refused, is_dropped, is_nofollow, language } = judgement;
    facts.language = language;
    if crawl.is_searched && !page.text.is_empty() {
        facts.language = language.or_else(|| language_of(&page.text));
        // Refused pages and pages with `noindex` are not searchable.
        let is_indexed = refused.is_none() && !page.robots.is_noindex;
        facts.text = is_indexed.then_some(page.text);
    }
    if let Some(links) = links.filter(|_| !is_dropped) {
        facts.found = found_links(context, crawl, (host, turn), (&links, is_nofollow));
    }
    (facts, refused)
}

pub(crate) fn said_to_robots(
    context: &VisitContext,
    answer: &ReadableAnswer<'_>,
) -> RobotsDirectives {
    RobotsDirectives::of_headers(&answer.headers, context.fetcher.robot().product())
}

fn of_redirect(
    context: &VisitContext,
    crawl: &Crawl,
    (host, turn): (&str, &Turn),
    fetched: &PageFetchResult,
) -> FoundLinks {
    let Some(target) = &fetched.redirect else { return FoundLinks::default() };
    let referrer = Referrer { url: &turn.url, host, attributes: turn.attributes };
    FoundLinks::of_redirect(
        target,
        &referrer,
        &crawl.rules(),
        &context.parameters,
        &context.suffixes,
    )
}

/// Parses a page: its links and its text.
fn read_html(
    context: &VisitContext,
    crawl: &Crawl,
    turn: &Turn,
    ReadableAnswer { headers, body, .. }: &ReadableAnswer<'_>,
    facts: &mut PageFacts,
) -> (PageLinks, PageText) {
    let robot = context.fetcher.robot().product();
    let request = LinkRequest { robot, with_requisites: crawl.keeps_media };
    let requests = (&request, &TextRequest::default());
    let (page, links, text) = understand_with_links_and_text(&turn.url, headers, body, requests);
    facts.title = (!page.title.text.is_empty()).then_some(page.title.text);
    facts.charset = Some(page.charset);
    (links, text)
}

fn found_links(
    context: &VisitContext,
    crawl: &Crawl,
    (host, turn): (&str, &Turn),
    (links, is_nofollow): (&PageLinks, bool),
) -> FoundLinks {
    let referrer = Referrer { url: &turn.url, host, attributes: turn.attributes };
    let followed = followed_links(links, crawl.obeys_nofollow, is_nofollow);
    let VisitContext { parameters, suffixes, .. } = context;
    let mut found = FoundLinks::of_page(followed, &referrer, &crawl.rules(), parameters, suffixes);
    count_left_out(&mut found, &links.left_out);
    found
}

/// Yields the links that a crawl follows, each with its flags.
fn followed_links(
    links: &PageLinks,
    obeys_nofollow: bool,
    is_nofollow: bool,
) -> impl Iterator<Item = (&str, LinkFlags)> {
    let is_page_nofollow = is_nofollow || (obeys_nofollow && links.robots.is_nofollow);
    links.links.iter().filter_map(move |link| match link.origin.kind() {
        LinkKind::Requisite => Some((link.url.as_str(), LinkFlags::REQUISITE)),
        LinkKind::Page if is_page_nofollow || (obeys_nofollow && link.is_nofollow) => None,
        LinkKind::Page => Some((link.url.as_str(), LinkFlags::default())),
    })
}

/// Counts the links that the parser left out.
pub(crate) fn count_left_out(found: &mut FoundLinks, left_out: &LinksLeftOut) {
    let LinksLeftOut { over_limit, too_long, other_scheme, unparsable, empty: _ } = *left_out;
    for (number, reason) in [
        (over_limit, TurnedAway::TrapPageLinks),
        (too_long, TurnedAway::TrapLength),
        (other_scheme, TurnedAway::Scheme),
        (unparsable, TurnedAway::Unparsable),
    ] {
        found.turned_away.count_many(reason, number as u64);
    }
}
