//! Responses for sitemaps that are traps.

use std::{fmt::Write, sync::OnceLock};

use bytes::Bytes;

use super::{
    bomb::bomb_of,
    reply::GraphAnswer,
    sitemaps::{DECLARATION, index, urlset},
    traps::Trap,
    world::SiteGraph,
};

const LOOP_LENGTH: u64 = 3;
const TREE_WIDTH: u64 = 20;
/// Four times the sitemap protocol's limit.
const MANY_ENTRIES: u64 = 200_000;

const FLOOD_LISTS: u64 = 21;
const FLOOD_ENTRIES: u64 = 50_000;

const SPECIAL: [&str; 8] = [
    "http://127.0.0.1:5432/",
    "http://169.254.169.254/latest/meta-data/",
    "http://[::1]:6379/",
    "http://2130706433/",
    "http://localhost/",
    "http://10.0.0.1/",
    "http://[::ffff:192.168.0.1]/",
    "http://0x7f.1/",
];

pub(super) fn answer(graph: &SiteGraph, host: u64, trap: Trap, rest: &str) -> Option<GraphAnswer> {
    let url = |rest: &str| format!("{}{}{rest}", graph.origin(host), trap.prefix());
    let xml = |body: String| GraphAnswer::new(200, "application/xml", body);
    if rest.starts_with("page/") {
        return Some(GraphAnswer::page(200, "A page that only a sitemap names"));
    }
    let number = || rest.strip_suffix(".xml")?.parse::<u64>().ok();
    Some(match trap {
        Trap::SitemapLoop => {
            let number = number().filter(|number| *number < LOOP_LENGTH)?;
            let others = (0..LOOP_LENGTH).map(|step| (number + step) % LOOP_LENGTH);
            xml(index(&others.map(|number| url(&format!("{number}.xml"))).collect::<Vec<_>>()))
        }
        Trap::SitemapTree => {
            let first = number()?.wrapping_mul(TREE_WIDTH);
            let below = (1..=TREE_WIDTH).map(|n| url(&format!("{}.xml", first.wrapping_add(n))));
            xml(index(&below.collect::<Vec<_>>()))
        }
        Trap::SitemapForeign => match rest {
            "index.xml" => {
                let special = SPECIAL.iter().map(|url| format!("{url}sitemap.xml"));
                let others = (1..4).map(|n| (host + n) % graph.hosts());
                let others =
                    others.map(|host| format!("{}{}pages.xml", graph.origin(host), trap.prefix()));
                xml(index(&special.chain(others).collect::<Vec<_>>()))
            }
            "pages.xml" => {
                let others = (1..4).map(|n| graph.url(graph.home((host + n) % graph.hosts())));
                let special = SPECIAL.iter().map(|url| (*url).to_owned());
                xml(urlset(&special.chain(others).collect::<Vec<_>>()))
            }
            _ => return None,
        },
        Trap::SitemapEntities if rest == "list.xml" => xml(entities(&url("page/1"))),
        Trap::SitemapBomb if rest == "list.xml.gz" => {
            GraphAnswer::new(200, "application/gzip", bomb())
        }
        Trap::SitemapLying if rest == "list.xml" => {
            let html = "<!DOCTYPE html><title>Page not found</title>\n\
                        <ul><li><a href=\"page/1\">more</a><loc>/page/2</loc></ul>\n";
            xml(html.to_owned())
        }
        Trap::SitemapMany if rest == "list.xml" => xml(list(&url("page/"), 0..MANY_ENTRIES)),
        Trap::SitemapFlood if rest == "index.xml" => {
            let lists = (0..FLOOD_LISTS).map(|number| url(&format!("{number}.xml")));
            xml(index(&lists.collect::<Vec<_>>()))
        }
        Trap::SitemapFlood => {
            let first = number().filter(|number| *number < FLOOD_LISTS)? * FLOOD_ENTRIES;
            xml(list(&url("page/"), first..first + FLOOD_ENTRIES))
        }
        _ => return None,
    })
}

/// Returns a list whose entities expand to a billion words, and to the contents of a file and a
/// URL.
fn entities(page: &str) -> String {
    let mut xml = format!("{DECLARATION}<!DOCTYPE urlset [\n<!ENTITY l0 \"lol\">\n");
    for number in 1..10 {
        let before = format!("&l{};", number - 1).repeat(10);
        let _ = writeln!(xml, "<!ENTITY l{number} \"{before}\">");
    }
    xml.push_str("<!ENTITY file SYSTEM \"file:///etc/passwd\">\n");
    xml.push_str("<!ENTITY web SYSTEM \"http://169.254.169.254/latest/meta-data/\">\n]>\n");
    let _ = writeln!(
        xml,
        "<urlset><url><loc>{page}?&l9;</loc></url><url><loc>{page}?&file;</loc></url>\n\
         <url><loc>{page}?&web;</loc></url><url><loc>{page}</loc></url></urlset>"
    );
    xml
}

fn bomb() -> Bytes {
    static BOMB: OnceLock<Bytes> = OnceLock::new();
    BOMB.get_or_init(|| bomb_of(b"<urlset>")).clone()
}

fn list(page: &str, numbers: std::ops::Range<u64>) -> String {
    let mut xml = format!("{DECLARATION}<urlset>");
    for number in numbers {
        let _ = write!(xml, "<url><loc>{page}{number}</loc></url>");
    }
    xml.push_str("</urlset>");
    xml
}
