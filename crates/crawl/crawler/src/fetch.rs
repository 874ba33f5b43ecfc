//! Fetches one URL from a host in its own task, and parses the page there, so that all cores parse
//! pages.

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
    FoundLinks, LinkFlags, Origin, ParameterList, PendingUrl, Referrer, RejectReason, SuffixList,
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
    readable::ReadableResponse,
    repeat::{BodySource, EarlierFetches, validators_of},
    stored_copy::{StoredCopyError, read_copy},
};

/// Maximum sitemaps whose links are sorted or merged at a time, because each may have many links in
/// memory.
const MAX_CONCURRENT_SITEMAPS: usize = 4;
/// Maximum pages from an earlier crawl that are in memory at a time.
const MAX_CONCURRENT_COPIES: usize = 8;
/// The outcome of a page that is identical to its copy in the repeated crawl, if the crawl rejects
/// duplicates.
pub(crate) const DUPLICATE: &str = "duplicate";

pub(crate) struct FetchContext {
    pub fetcher: Fetcher,
    pub parameters: ParameterList,
    pub suffixes: SuffixList,
    pub sitemap_readers: Arc<Semaphore>,
    earlier: EarlierFetches,
    copies: Semaphore,
}

impl FetchContext {
    pub(crate) fn new(
        fetcher: Fetcher,
        (parameters, suffixes): (ParameterList, SuffixList),
        earlier: EarlierFetches,
    ) -> Self {
        let sitemap_readers = Arc::new(Semaphore::new(MAX_CONCURRENT_SITEMAPS));
        let copies = Semaphore::new(MAX_CONCURRENT_COPIES);
        Self { fetcher, parameters, suffixes, sitemap_readers, earlier, copies }
    }
}

pub(crate) enum FetchTask {
    Robots {
        crawl: Arc<Crawl>,
        origin: Origin,
    },
    /// Shows whether the whole origin fails. This fetch is not recorded.
    Probe {
        crawl: Arc<Crawl>,
        origin: Origin,
        url: String,
    },
    Page {
        crawl: Arc<Crawl>,
        pending: PendingUrl,
        cookies: Cookies,
    },
}

impl FetchTask {
    pub(crate) fn pending(&self) -> Option<&PendingUrl> {
        match self {
            Self::Robots { .. } | Self::Probe { .. } => None,
            Self::Page { pending, .. } => Some(pending),
        }
    }

    pub(crate) fn crawl(&self) -> &Arc<Crawl> {
        match self {
            Self::Robots { crawl, .. } | Self::Probe { crawl, .. } | Self::Page { crawl, .. } => {
                crawl
            }
        }
    }
}

#[derive(Default)]
pub(crate) struct PageFacts {
    pub charset: Option<String>,
    pub title: Option<String>,
    /// `None` unless the search or one of the crawl's filters needs it.
    pub language: Option<&'static str>,
    /// `None` unless the crawl is indexed for search.
    pub text: Option<String>,
    /// Content hashes, by which traps are detected. `None` for requisites, or if there is no body.
    pub content_hashes: Option<Vec<u32>>,
    pub found: FoundLinks,
    /// The permit for a sitemap's links, which is held until they are merged.
    pub reading: Option<OwnedSemaphorePermit>,
}

pub(crate) struct FinishedFetch {
    pub fence: SlotFence,
    pub host_hash: u64,
    pub number: u64,
    pub client: HostClient,
    pub task: FetchTask,
    pub result: Result<FetchOutput, LocalFailure>,
}

pub(crate) struct FetchOutput {
    pub fetched: PageFetchResult,
    pub facts: PageFacts,
    pub sha256: Option<[u8; 32]>,
    pub body: BodySource,
    /// The outcome if the body must not be stored.
    pub refused: Option<&'static str>,
}

impl FetchOutput {
    pub(crate) fn exchange(&self) -> Option<&Exchange> {
        self.fetched.exchanges.last()
    }
}

pub(crate) async fn run_page_task(
    context: &FetchContext,
    mut client: HostClient,
    (task, delays): (FetchTask, DelaySettings),
    (fence, host_hash, number): (SlotFence, u64, u64),
    host: &str,
) -> FinishedFetch {
    let result = match &task {
        FetchTask::Robots { crawl, origin } => {
            let url = format!("{}/robots.txt", origin.on(host));
            fetch_unparsed(&mut client, crawl, (&url, &Purpose::robots()), &delays).await
        }
        FetchTask::Probe { crawl, url, .. } => {
            fetch_unparsed(&mut client, crawl, (url, &crawl.page), &delays).await
        }
        FetchTask::Page { crawl, pending, cookies } => {
            let request = (host, pending, cookies);
            let of = (fence.slot, host_hash);
            fetch_crawl_page(context, (&mut client, &delays), (crawl, of), request).await
        }
    };
    FinishedFetch { fence, host_hash, number, client, task, result }
}

async fn fetch_unparsed(
    client: &mut HostClient,
    crawl: &Crawl,
    (url, purpose): (&str, &Purpose),
    delays: &DelaySettings,
) -> Result<FetchOutput, LocalFailure> {
    let request = PageRequest { ports: Some(&crawl.ports), ..PageRequest::new(url, purpose) };
    let fetched = client.fetch(&request, delays).await?;
    let sha256 = digest_of(&fetched);
    let facts = PageFacts::default();
    Ok(FetchOutput { fetched, facts, sha256, body: BodySource::Own, refused: None })
}

async fn fetch_crawl_page(
    context: &FetchContext,
    (client, delays): (&mut HostClient, &DelaySettings),
    (crawl, (slot, host_hash)): (&Crawl, (i16, u64)),
    (host, pending, cookies): (&str, &PendingUrl, &Cookies),
) -> Result<FetchOutput, LocalFailure> {
    let is_requisite = pending.attributes.flags.contains(LinkFlags::REQUISITE);
    let purpose = if is_requisite { &crawl.media } else { &crawl.page };
    let mut copy = copy_of(context, crawl, (slot, host_hash), pending).await;
    let validators = copy.as_ref().map(validators_of).unwrap_or_default();
    let mut request = PageRequest {
        cookies: cookies.clone(),
        ports: Some(&crawl.ports),
        validators,
        ..PageRequest::new(&pending.url, purpose)
    };
    let mut fetched = client.fetch(&request, delays).await?;
    let mut stored = None;
    if fetched.outcome == Outcome::NotModified
        && !is_requisite
        && crawl.reads_pages_at(pending.attributes.depth)
        && let Some(named) = &copy
    {
        match read_copy_of(context, crawl, slot, named).await {
            Ok(read) => stored = Some(read),
            // A store outage must not change what the crawl records, so fetch this URL again later.
            Err(error) if error.is_passing() => {
                tracing::warn!(url = pending.url, %error, "cannot read the stored copy; retrying");
                return Err(LocalFailure::NetworkUnreachable);
            }
            Err(error) => {
                tracing::warn!(url = pending.url, %error, "cannot use the stored copy; refetching");
                copy = None;
                request.validators = Validators::default();
                fetched = client.fetch(&request, delays).await?;
            }
        }
    }
    let content_type = || copy.as_ref().and_then(|copy| copy.mime.clone());
    let response = match &stored {
        Some((stored, _)) => ReadableResponse::of_copy(stored, content_type(), &fetched),
        None => ReadableResponse::of(&fetched),
    };
    let mut facts = PageFacts::default();
    let mut refused = None;
    let is_read = fetched.has_body() || stored.is_some();
    match fetched.outcome {
        _ if is_read && !is_requisite => {
            (facts, refused) = read_and_judge(context, crawl, (host, pending), &response).await;
        }
        outcome
            if (is_read || outcome == Outcome::NotModified)
                && robots_directives(context, &response).is_noarchive =>
        {
            refused = Some(NOARCHIVE);
        }
        Outcome::Redirected => facts.found = of_redirect(context, crawl, (host, pending), &fetched),
        _ => {}
    }
    let (sha256, body) = body_record(&fetched, copy);
    // For trap detection, a file other than HTML counts as a page with one line.
    if is_read && !is_requisite && facts.content_hashes.is_none() {
        facts.content_hashes =
            sha256.map(|[a, b, c, d, ..]| vec![u32::from_be_bytes([a, b, c, d]) & !1]);
    }
    let rejects = crawl.repeat.as_ref().is_some_and(|repeat| repeat.rejects);
    if refused.is_none() && rejects && body.copy().is_some() {
        refused = Some(DUPLICATE);
    }
    Ok(FetchOutput { fetched, facts, sha256, body, refused })
}

async fn copy_of(
    context: &FetchContext,
    crawl: &Crawl,
    (slot, host_hash): (i16, u64),
    pending: &PendingUrl,
) -> Option<EarlierFetch> {
    let repeat = crawl.repeat.as_ref()?;
    let copy = context.earlier.of(crawl.number, (host_hash, pending.hash.0)).await?;
    let is_requisite = pending.attributes.flags.contains(LinkFlags::REQUISITE);
    repeat.may_name(&copy, (slot, is_requisite), Utc::now()).then_some(copy)
}

async fn read_copy_of<'a>(
    context: &'a FetchContext,
    crawl: &Crawl,
    slot: i16,
    copy: &EarlierFetch,
) -> Result<(HttpResponse, Option<SemaphorePermit<'a>>), StoredCopyError> {
    // The semaphore is never closed.
    let permit = context.copies.acquire().await.ok();
    let stores = crawl.stores.as_ref();
    let number = stores.map_or(0, |stores| stores.number_of(slot, ArchiveSubset::Warc));
    let store = stores.and_then(|stores| stores.store(number));
    let store = store.ok_or(StoredCopyError::NoStore)?;
    Ok((read_copy(&**store, copy).await?, permit))
}

/// `None` if there was no response, or if a successful response lost its body, because its record
/// would describe an empty page.
pub(crate) fn digest_of(fetched: &PageFetchResult) -> Option<[u8; 32]> {
    fetched.status.filter(|_| !fetched.has_lost_body())?;
    Some(Sha256::digest(&fetched.body).into())
}

pub(crate) fn is_whole(fetched: &PageFetchResult) -> bool {
    fetched.outcome == Outcome::Ok && fetched.status == Some(200) && fetched.truncated.is_none()
}

fn body_record(
    fetched: &PageFetchResult,
    copy: Option<EarlierFetch>,
) -> (Option<[u8; 32]>, BodySource) {
    let sha256 = digest_of(fetched);
    match copy {
        Some(copy) if fetched.outcome == Outcome::NotModified => {
            (Some(copy.sha256), BodySource::NotModified(Box::new(copy)))
        }
        Some(copy) if is_whole(fetched) && sha256 == Some(copy.sha256) => {
            (sha256, BodySource::Identical(Box::new(copy)))
        }
        _ => (sha256, BodySource::Own),
    }
}

/// Also returns the outcome if the page is refused.
async fn read_and_judge(
    context: &FetchContext,
    crawl: &Crawl,
    (host, pending): (&str, &PendingUrl),
    response: &ReadableResponse<'_>,
) -> (PageFacts, Option<&'static str>) {
    let mut facts = PageFacts::default();
    let mut page = ReadPage::default();
    let mut links = None;
    if response.is_html() {
        let found = read_html(context, crawl, pending, response, &mut facts);
        page.text = found.1.text;
        page.title = facts.title.clone().unwrap_or_default();
        page.robots = found.0.robots;
        facts.content_hashes =
            Some(lines_said(&pending.url, &page.title, &page.text, &found.0.pictures));
        links = Some(found.0);
    } else {
        page.robots = robots_directives(context, response);
        if (crawl.filters.needs_text() || crawl.is_searched) && response.is_text() {
            let ReadableResponse { headers, body, .. } = response;
            page.text = plain_text(headers, body, &TextRequest::default()).text;
        }
    }
    let judgement = judge(crawl, &pending.url, response, &page, &context.parameters).await;
    let Judgement { refused, is_dropped, is_nofollow, language } = judgement;
    facts.language = language;
    if crawl.is_searched && !page.text.is_empty() {
        facts.language = language.or_else(|| language_of(&page.text));
        // Refused pages and pages with `noindex` are not searchable.
        let is_indexed = refused.is_none() && !page.robots.is_noindex;
        facts.text = is_indexed.then_some(page.text);
    }
    if let Some(links) = links.filter(|_| !is_dropped) {
        facts.found = found_links(context, crawl, (host, pending), (&links, is_nofollow));
    }
    (facts, refused)
}

pub(crate) fn robots_directives(
    context: &FetchContext,
    response: &ReadableResponse<'_>,
) -> RobotsDirectives {
    RobotsDirectives::of_headers(&response.headers, context.fetcher.robot().product())
}

fn of_redirect(
    context: &FetchContext,
    crawl: &Crawl,
    (host, pending): (&str, &PendingUrl),
    fetched: &PageFetchResult,
) -> FoundLinks {
    let Some(target) = &fetched.redirect else { return FoundLinks::default() };
    let referrer = Referrer { url: &pending.url, host, attributes: pending.attributes };
    FoundLinks::of_redirect(
        target,
        &referrer,
        &crawl.rules(),
        &context.parameters,
        &context.suffixes,
    )
}

fn read_html(
    context: &FetchContext,
    crawl: &Crawl,
    pending: &PendingUrl,
    ReadableResponse { headers, body, .. }: &ReadableResponse<'_>,
    facts: &mut PageFacts,
) -> (PageLinks, PageText) {
    let robot = context.fetcher.robot().product();
    let request = LinkRequest { robot, with_requisites: crawl.keeps_media };
    let requests = (&request, &TextRequest::default());
    let (page, links, text) = understand_with_links_and_text(&pending.url, headers, body, requests);
    facts.title = (!page.title.text.is_empty()).then_some(page.title.text);
    facts.charset = Some(page.charset);
    (links, text)
}

fn found_links(
    context: &FetchContext,
    crawl: &Crawl,
    (host, pending): (&str, &PendingUrl),
    (links, is_nofollow): (&PageLinks, bool),
) -> FoundLinks {
    let referrer = Referrer { url: &pending.url, host, attributes: pending.attributes };
    let followed = followed_links(links, crawl.obeys_nofollow, is_nofollow);
    let FetchContext { parameters, suffixes, .. } = context;
    let mut found = FoundLinks::of_page(followed, &referrer, &crawl.rules(), parameters, suffixes);
    count_left_out(&mut found, &links.left_out);
    found
}

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

pub(crate) fn count_left_out(found: &mut FoundLinks, left_out: &LinksLeftOut) {
    let LinksLeftOut { over_limit, too_long, other_scheme, unparsable, empty: _ } = *left_out;
    for (number, reason) in [
        (over_limit, RejectReason::TrapPageLinks),
        (too_long, RejectReason::TrapLength),
        (other_scheme, RejectReason::Scheme),
        (unparsable, RejectReason::Unparsable),
    ] {
        found.rejected.count_many(reason, number as u64);
    }
}
