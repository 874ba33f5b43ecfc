//! Responses for URLs in traps.

use std::{fmt::Write, sync::OnceLock};

use bytes::Bytes;

use super::{
    bomb::bomb_of,
    broken_bodies,
    names::WORDS,
    reply::{BodyEnd, GraphAnswer},
    request::GraphRequest,
    trap_sitemaps,
    traps::Trap,
    world::SiteGraph,
};
use crate::{dice::Dice, draw};

const MANY_LINKS: u64 = 12_000;
const ITEMS: u64 = 60;
const FILTER_VALUES: usize = 6;
const FARM_LINKS: u64 = 20;
const FARM_HOSTS: u64 = 1_000_000_000;
const LOOP_LENGTH: u64 = 3;
const ENDLESS_PIECE_BYTES: usize = 16 << 10;
const TRAP_PAGE_DRAW: u64 = 60;

pub(super) fn answer(
    graph: &SiteGraph,
    host: u64,
    trap: Trap,
    request: &GraphRequest<'_>,
) -> Option<GraphAnswer> {
    let rest = request.target.strip_prefix(trap.prefix()).filter(|_| !trap.prefix().is_empty())?;
    let name = graph.host_name(host);
    let number = rest.split(['/', '?']).next().unwrap_or_default().parse::<u64>();
    Some(match trap {
        Trap::Calendar => calendar(rest)?,
        Trap::EndlessQuery => endless_query(rest),
        Trap::RepeatedSegments => page("Deeper", &["more/", "more/item.html"]),
        Trap::HostSegment => page("About us", &[&format!("{name}/about/"), "contact.html"]),
        Trap::SessionPath => session(graph, host, rest),
        Trap::ManyLinks if rest.is_empty() => {
            page("Everything", &(0..MANY_LINKS).map(|n| format!("/many/{n}")).collect::<Vec<_>>())
        }
        Trap::ManyLinks => page(&format!("Item {rest}"), &["/"]),
        Trap::RedirectLoop => {
            GraphAnswer::redirect(302, format!("/loop/{}", (number.ok()? + 1) % LOOP_LENGTH))
        }
        Trap::RedirectChain => {
            GraphAnswer::redirect(302, format!("/chain/{}", number.ok()?.wrapping_add(1)))
        }
        Trap::CookieCounter => counter(request),
        Trap::MetaRefreshLoop => refresh((number.ok()? + 1) % LOOP_LENGTH),
        Trap::BaseGame => base(number.ok()?.wrapping_add(1)),
        Trap::EndlessBody => endless(),
        Trap::BrokenBodies => broken_bodies::answer(rest)?,
        Trap::GzipBomb => {
            let html = GraphAnswer::new(200, "text/html; charset=utf-8", bomb());
            html.with("content-encoding", "gzip")
        }
        Trap::LyingTypes => lying(graph, &name, rest)?,
        Trap::Utf16 => utf16(rest)?,
        Trap::EndlessWords => words(graph, host, rest),
        Trap::DeepFolders => folders(rest),
        Trap::LongUrls => page("Longer", &[format!("/long/{rest}{rest}")]),
        Trap::Facets => facets(graph, host, rest),
        Trap::SoftNotFound => not_found(graph, host, request.target),
        Trap::SitemapLoop
        | Trap::SitemapTree
        | Trap::SitemapForeign
        | Trap::SitemapEntities
        | Trap::SitemapBomb
        | Trap::SitemapLying
        | Trap::SitemapMany
        | Trap::SitemapFlood => trap_sitemaps::answer(graph, host, trap, rest)?,
        Trap::LinkFarm
        | Trap::RobotsHuge
        | Trap::RobotsHtml
        | Trap::RobotsUnavailable
        | Trap::RobotsDelay => return None,
    })
}

pub(super) fn farm(graph: &SiteGraph, host: u64, number: u64, target: &str) -> GraphAnswer {
    if target == "/robots.txt" {
        return GraphAnswer::page(404, "Not Found");
    }
    let name = graph.host_name(host);
    let scheme = if graph.has_https(host) { "https" } else { "http" };
    let first = number.wrapping_mul(FARM_LINKS);
    let further = (1..=FARM_LINKS).map(|n| first.wrapping_add(n) % FARM_HOSTS);
    let mut links: Vec<String> =
        further.map(|number| format!("{scheme}://farm{number}.{name}/")).collect();
    links.push("/offers.html".to_owned());
    page(&format!("Best offers {number}"), &links)
}

fn page<T: AsRef<str>>(title: &str, links: &[T]) -> GraphAnswer {
    page_with(title, "", links)
}

fn page_with<T: AsRef<str>>(title: &str, head: &str, links: &[T]) -> GraphAnswer {
    let mut html = format!(
        "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>{title}</title>{head}</head>\n\
         <body><h1>{title}</h1><p><a href=\"/\">Home</a></p>\n<ul>\n"
    );
    for link in links {
        let _ = writeln!(html, "<li><a href=\"{}\">more</a>", link.as_ref().replace('&', "&amp;"));
    }
    html.push_str("</ul></body></html>\n");
    GraphAnswer::new(200, "text/html; charset=utf-8", html)
}

fn calendar(rest: &str) -> Option<GraphAnswer> {
    let (year, month) = rest.split_once('/')?;
    let (year, month): (i64, i64) = (year.parse().ok()?, month.parse().ok()?);
    let months = year.checked_mul(12)?.checked_add(month)?.checked_sub(1)?;
    let link = |months: i64| {
        format!("/calendar/{}/{:02}", months.div_euclid(12), months.rem_euclid(12) + 1)
    };
    let links = [link(months.checked_sub(1)?), link(months.checked_add(1)?)];
    Some(page(&format!("Events of {month}/{year}"), &links))
}

fn endless_query(rest: &str) -> GraphAnswer {
    let query = rest.strip_prefix('?').unwrap_or_default();
    let count = query.split('&').count();
    let links = WORDS.iter().take(3).map(|word| format!("/filter?{query}&{word}{count}=1"));
    page("Filter", &links.collect::<Vec<_>>())
}

fn session(graph: &SiteGraph, host: u64, rest: &str) -> GraphAnswer {
    // Each page links to new ids, which depend on its whole path.
    let mut dice = trap_dice(graph, host, rest);
    let links = ["list", "item1", "item2"].map(|name| format!("/session/{:x}/{name}", dice.next()));
    page("Your basket", &links)
}

fn words(graph: &SiteGraph, host: u64, rest: &str) -> GraphAnswer {
    let mut dice = trap_dice(graph, host, rest);
    let mut link = || {
        let words: Vec<&str> = (0..6).map(|_| dice.pick(&WORDS)).collect();
        format!("/words/{}", words.join("-"))
    };
    let links: Vec<String> = (0..10).map(|_| link()).collect();
    page("Words", &links)
}

fn folders(rest: &str) -> GraphAnswer {
    let depth = rest.matches('/').count();
    let word = WORDS[depth % WORDS.len()];
    page("Folder", &[format!("{word}{}/", depth / WORDS.len())])
}

fn facets(graph: &SiteGraph, host: u64, rest: &str) -> GraphAnswer {
    let chosen = rest.strip_prefix('?').unwrap_or_default();
    let mut dice = trap_dice(graph, host, rest);
    let mut items: Vec<u64> = (0..ITEMS).filter(|_| dice.below(3) == 0).collect();
    items.sort_by_cached_key(|_| dice.next());
    let mut links = Vec::new();
    for name in ["color", "size", "brand", "sort"] {
        let others = chosen.split('&').filter(|one| !one.is_empty() && !one.starts_with(name));
        let others: String = others.map(|one| format!("{one}&")).collect();
        let values = WORDS.iter().take(FILTER_VALUES);
        links.extend(values.map(|value| format!("/shop/?{others}{name}={value}")));
    }
    let word = |number: u64| WORDS[(number % WORDS.len() as u64) as usize];
    let text: String = items
        .iter()
        .map(|item| format!("<p>{} of {}</p><p>{item} EUR</p>", word(item * 7), word(item / 2)))
        .collect();
    page_with("Our shop", &format!("</head><body>{text}"), &links)
}

fn not_found(graph: &SiteGraph, host: u64, target: &str) -> GraphAnswer {
    let mut dice = trap_dice(graph, host, target);
    let links: Vec<String> = (0..6).map(|_| format!("/missing/{}", dice.below(1 << 32))).collect();
    page(&format!("There is no page {target}"), &links)
}

fn trap_dice(graph: &SiteGraph, host: u64, text: &str) -> Dice {
    let seed = text.bytes().fold(0_u64, |seed, byte| seed.wrapping_mul(257) ^ u64::from(byte));
    Dice::of_numbers([graph.seed, TRAP_PAGE_DRAW, host, seed])
}

fn counter(request: &GraphRequest<'_>) -> GraphAnswer {
    let pairs = request.cookie.into_iter().flat_map(|cookie| cookie.split(';'));
    let count = pairs.filter_map(|pair| pair.trim().strip_prefix("count=")?.parse::<u64>().ok());
    let next = count.max().unwrap_or_default().wrapping_add(1);
    let answer = GraphAnswer::redirect(302, request.target.to_owned());
    answer.with("set-cookie", format!("count={next}"))
}

fn refresh(next: u64) -> GraphAnswer {
    let head = format!("<meta http-equiv=\"refresh\" content=\"0; url=/refresh/{next}\">");
    page_with("Please wait", &head, &[""; 0])
}

fn base(next: u64) -> GraphAnswer {
    let head = format!("<base href=\"/base/{next}/\">");
    page_with("Folder", &head, &["", "item.html", "./other.html"])
}

fn endless() -> GraphAnswer {
    let piece = "<p>and so on</p>\n";
    let body = piece.repeat(ENDLESS_PIECE_BYTES / piece.len());
    GraphAnswer { end: BodyEnd::Endless, ..GraphAnswer::new(200, "text/html; charset=utf-8", body) }
}

fn bomb() -> Bytes {
    static BOMB: OnceLock<Bytes> = OnceLock::new();
    BOMB.get_or_init(|| bomb_of(b"<p>")).clone()
}

fn lying(graph: &SiteGraph, name: &str, rest: &str) -> Option<GraphAnswer> {
    let html = || page("A page", &["/lying/behind"]).body;
    Some(match rest {
        "html-as-png" => GraphAnswer::new(200, "image/png", html()),
        "png-as-html" => {
            let drawn = draw::icon(graph.seed, name, "/lying.png")?;
            GraphAnswer::new(200, "text/html; charset=utf-8", drawn.body)
        }
        "zip-as-text" => GraphAnswer::new(200, "text/plain", &b"PK\x03\x04\x14\0\0\0\x08\0"[..]),
        "no-type" => GraphAnswer::new(200, "", html()),
        "behind" => page("Behind a lie", &["/"]),
        _ => return None,
    })
}

fn utf16(rest: &str) -> Option<GraphAnswer> {
    let to = ["/utf16/behind-le", "/utf16/behind-be", "/utf16/behind-header"];
    let text = |to: &str| {
        // This page declares no charset, because such a declaration would be wrong in UTF-16.
        format!("<!DOCTYPE html><title>Grüße – ☃</title><a href=\"{to}\">weiter</a>\n")
    };
    let packed = |text: String, bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
        text.encode_utf16().flat_map(bytes).collect()
    };
    let le = |to: &str| packed(text(to), u16::to_le_bytes);
    let be = |to: &str| packed(text(to), u16::to_be_bytes);
    Some(match rest {
        "le-bom" => GraphAnswer::new(200, "text/html", [&[0xff, 0xfe][..], &le(to[0])].concat()),
        "be-bom" => GraphAnswer::new(200, "text/html", [&[0xfe, 0xff][..], &be(to[1])].concat()),
        "le-header" => GraphAnswer::new(200, "text/html; charset=utf-16le", le(to[2])),
        rest if rest.starts_with("behind-") => page("Behind UTF-16", &["/"]),
        _ => return None,
    })
}
