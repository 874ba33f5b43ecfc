//! One request to a host, in a task of its own: for a page, or for a robots.txt. A page is read
//! here too, so that pages are read on all cores.
//!
//! Must not know: what is known of the host, slots, archives.

use std::sync::Arc;

use chrono::Utc;
use everytab_commoncrawl::{crawl_layout::ArchiveSubset, warc::HttpResponse};
use everytab_coordinator::{EarlierFetch, SlotFence};
use everytab_fetcher::{
    Cookies, DelaySettings, Exchange, Fetcher, HostTurns, Outcome, PageFetched, PageRequest,
    Purpose, Trouble, Validators,
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

/// Sitemaps whose links are sorted or merged at a time: each takes up to 50 MB then.
const SITEMAPS_AT_A_TIME: usize = 4;
/// Copies that are read at a time: each may be as long as the longest page.
const COPIES_AT_A_TIME: usize = 8;
/// The outcome of a page that is the same as in the crawl that is repeated, where those are not
/// kept.
pub(crate) const DUPLICATE: &str = "duplicate";

/// What all visits need.
pub(crate) struct VisitContext {
    /// Makes the requests.
    pub fetcher: Fetcher,
    /// Parameters that are no part of a key.
    pub parameters: ParameterList,
    /// What a site is.
    pub suffixes: SuffixList,
    /// Permits to have the links of a sitemap in memory.
    pub sitemap_readers: Arc<Semaphore>,
    /// What earlier crawls kept.
    earlier: EarlierFetches,
    copies: Semaphore,
}

impl VisitContext {
    /// What visits need.
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

/// What a visit asks for.
pub(crate) enum Asked {
    /// The robots.txt of this origin, with the delays of this crawl.
    Robots {
        /// The crawl.
        crawl: Arc<Crawl>,
        /// The origin.
        origin: Origin,
    },
    /// A page that an origin gave before, to find out whether the origin fails as a whole. It is
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
        /// The cookies of the chain of redirects that led to it on this host.
        cookies: Cookies,
    },
}

impl Asked {
    /// The URL that is asked for; none for a robots.txt.
    pub(crate) fn turn(&self) -> Option<&Turn> {
        match self {
            Self::Robots { .. } | Self::Probe { .. } => None,
            Self::Page { turn, .. } => Some(turn),
        }
    }

    /// The crawl for which it is asked.
    pub(crate) fn crawl(&self) -> &Arc<Crawl> {
        match self {
            Self::Robots { crawl, .. } | Self::Probe { crawl, .. } | Self::Page { crawl, .. } => {
                crawl
            }
        }
    }
}

/// What a page says.
#[derive(Default)]
pub(crate) struct PageFacts {
    /// Name of its encoding.
    pub charset: Option<String>,
    /// Its title.
    pub title: Option<String>,
    /// The language of its text, where a filter of the crawl or the search asks for it.
    pub language: Option<&'static str>,
    /// Its text, where the crawl is searched.
    pub text: Option<String>,
    /// The hashes of what it says, by which traps are told; `None` if it was not read.
    pub said: Option<Vec<u32>>,
    /// The links that are followed, and why others are not.
    pub found: FoundLinks,
    /// The permit for the links of a sitemap, until they are merged.
    pub reading: Option<OwnedSemaphorePermit>,
}

/// A visit that is over.
pub(crate) struct Visited {
    /// The fence of the slot under which it was begun.
    pub fence: SlotFence,
    /// Hash of the hostname.
    pub host_hash: u64,
    /// Number of the request in this process.
    pub number: u64,
    /// The turns of the host, which nobody else had meanwhile.
    pub turns: HostTurns,
    /// What was asked for.
    pub asked: Asked,
    /// How it ended.
    pub result: Result<Answer, Trouble>,
}

/// How a request ended.
pub(crate) struct Answer {
    /// How it ended, with the body.
    pub fetched: PageFetched,
    /// What the page says.
    pub facts: PageFacts,
    /// SHA-256 of the body, if an answer came.
    pub sha256: Option<[u8; 32]>,
    /// Which record has the body.
    pub body: BodyRecord,
    /// The outcome if the body is not kept, because of a filter or of what the page asks.
    pub refused: Option<&'static str>,
}

impl Answer {
    /// The request that was answered last; none if none was sent.
    pub(crate) fn exchange(&self) -> Option<&Exchange> {
        self.fetched.exchanges.last()
    }
}

/// Makes the request when the host may be asked, and reads the answer.
pub(crate) async fn visit(
    context: &VisitContext,
    mut turns: HostTurns,
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

/// Fetches what is not read for links: a robots.txt, or a probe.
async fn ask_alone(
    turns: &mut HostTurns,
    crawl: &Crawl,
    (url, purpose): (&str, &Purpose),
    delays: &DelaySettings,
) -> Result<Answer, Trouble> {
    let request = PageRequest { ports: Some(&crawl.ports), ..PageRequest::new(url, purpose) };
    let fetched = turns.fetch(&request, delays).await?;
    let sha256 = digest_of(&fetched);
    let facts = PageFacts::default();
    Ok(Answer { fetched, facts, sha256, body: BodyRecord::Own, refused: None })
}

async fn ask_page(
    context: &VisitContext,
    (turns, delays): (&mut HostTurns, &DelaySettings),
    (crawl, (slot, host_hash)): (&Crawl, (i16, u64)),
    (host, turn, cookies): (&str, &Turn, &Cookies),
) -> Result<Answer, Trouble> {
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
            // What is stored does not depend on an outage: the URL is asked for again later.
            Err(error) if error.is_passing() => {
                tracing::warn!(url = turn.url, %error, "its copy cannot be read now");
                return Err(Trouble::NetworkUnreachable);
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
    // A file is a page of one line.
    if is_read && !is_requisite && facts.said.is_none() {
        facts.said = sha256.map(|[a, b, c, d, ..]| vec![u32::from_be_bytes([a, b, c, d]) & !1]);
    }
    let rejects = crawl.repeat.as_ref().is_some_and(|repeat| repeat.rejects);
    if refused.is_none() && rejects && body.copy().is_some() {
        refused = Some(DUPLICATE);
    }
    Ok(Answer { fetched, facts, sha256, body, refused })
}

/// The copy of a URL that an earlier crawl kept, where it may be named.
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

/// Reads the copy of a page, with the permit to have it in memory.
async fn read_copy_of<'a>(
    context: &'a VisitContext,
    crawl: &Crawl,
    slot: i16,
    copy: &EarlierFetch,
) -> Result<(HttpResponse, Option<SemaphorePermit<'a>>), NoCopy> {
    // It is never closed.
    let permit = context.copies.acquire().await.ok();
    let stores = crawl.stores.as_ref();
    let number = stores.map_or(0, |stores| stores.number_of(slot, ArchiveSubset::Warc));
    let store = stores.and_then(|stores| stores.store(number));
    let store = store.ok_or(NoCopy::NoStore)?;
    Ok((read_copy(&**store, copy).await?, permit))
}

/// The digest of an answer's body; none if no answer came, or nothing is kept of a success, whose
/// record would be that of an empty page.
pub(crate) fn digest_of(fetched: &PageFetched) -> Option<[u8; 32]> {
    fetched.status.filter(|_| !fetched.has_lost_body())?;
    Some(Sha256::digest(&fetched.body).into())
}

/// Whether an answer has a page with all of its body.
pub(crate) fn is_whole(fetched: &PageFetched) -> bool {
    fetched.outcome == Outcome::Ok && fetched.status == Some(200) && fetched.truncated.is_none()
}

/// The digest of an answer's body, and which record has that body.
fn body_record(
    fetched: &PageFetched,
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

/// Reads a page, and says with which outcome it is refused, if it is.
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
        // What is not kept, or asks not to be indexed, is not found either.
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
    fetched: &PageFetched,
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

/// Reads a page: its links and its text.
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

/// The links that a crawl follows, each with its flags.
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

/// Counts the links that are none.
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
