//! A host's captures: one or more captures of its home page, and rows that are not home pages.

use super::{names::World, page, surt};
use crate::dice::Dice;

/// The crawl's start: 2026-01-12T00:00:00Z, in seconds since 1970.
const CRAWL_START: u64 = 1_768_176_000;
const CRAWL_SECONDS: u64 = 11 * 86_400;

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Subset {
    CrawlDiagnostics,
    RobotsTxt,
    Warc,
}

impl Subset {
    pub(super) const ALL: [Self; 3] = [Self::CrawlDiagnostics, Self::RobotsTxt, Self::Warc];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::CrawlDiagnostics => "crawldiagnostics",
            Self::RobotsTxt => "robotstxt",
            Self::Warc => "warc",
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct GeneratedCapture {
    pub(super) subset: Subset,
    pub(super) surt: String,
    pub(super) https: bool,
    pub(super) host: String,
    pub(super) port: Option<u16>,
    pub(super) path: String,
    pub(super) query: Option<String>,
    /// The capture's time, in seconds since the crawl's start.
    pub(super) second: u64,
    pub(super) status: u16,
    pub(super) redirect: Option<String>,
    pub(super) mime: &'static str,
    pub(super) content_type: String,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Vec<u8>,
    pub(super) charset: Option<&'static str>,
    pub(super) language: Option<&'static str>,
}

impl GeneratedCapture {
    pub(super) fn url(&self) -> String {
        let scheme = if self.https { "https" } else { "http" };
        let port = self.port.map(|port| format!(":{port}")).unwrap_or_default();
        let query = self.query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
        format!("{scheme}://{}{port}{}{query}", self.host, self.path)
    }

    pub(super) fn fetch_time_us(&self) -> i64 {
        ((CRAWL_START + self.second) * 1_000_000) as i64
    }

    pub(super) fn date(&self) -> String {
        let [day, hour, minute, second] = clock(self.second);
        format!("2026-01-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }
}

pub(super) fn stamp(second: u64) -> String {
    let [day, hour, minute, second] = clock(second);
    format!("202601{day:02}{hour:02}{minute:02}{second:02}")
}

fn clock(second: u64) -> [u64; 4] {
    [12 + second / 86_400, second / 3_600 % 24, second / 60 % 60, second % 60]
}

/// Returns a host's captures, sorted by key and time. For the first of two twins, they include the
/// second one's.
pub(super) fn captures(world: &World, index: u64) -> Vec<GeneratedCapture> {
    let mut found = of_host(world, index);
    if world.are_twins(index) {
        found.extend(of_host(world, index + 1));
    }
    found.sort_by(|a, b| (&a.surt, a.second).cmp(&(&b.surt, b.second)));
    found
}

/// Number of hosts per thousand whose home page redirects to [`HOME_BELOW`] on the live web.
const HOME_REDIRECTS: u64 = 60;
const HOME_BELOW: &str = "/home/";

pub(crate) enum LiveHome {
    Page { content_type: String, headers: Vec<(&'static str, String)>, body: Vec<u8> },
    Redirect(&'static str),
}

pub(crate) fn live_home(world: &World, host: &str, path: &str) -> Option<LiveHome> {
    if path != "/" && path != HOME_BELOW {
        return None;
    }
    let index = world.index_of(host)?;
    let is_below = Dice::numbered(world.seed, "home redirect", index).permille(HOME_REDIRECTS);
    match (path, is_below) {
        ("/", true) => return Some(LiveHome::Redirect(HOME_BELOW)),
        (HOME_BELOW, false) => return None,
        _ => {}
    }
    let is_home = |capture: &GeneratedCapture| {
        capture.host == host
            && capture.path == "/"
            && capture.query.is_none()
            && capture.mime == "text/html"
            && capture.status == 200
    };
    let GeneratedCapture { content_type, headers, body, .. } =
        of_host(world, index).into_iter().find(is_home)?;
    Some(LiveHome::Page { content_type, headers, body })
}

fn of_host(world: &World, index: u64) -> Vec<GeneratedCapture> {
    let host = world.name(index);
    let suffix = world.suffix(index);
    let mut dice = Dice::numbered(world.seed, "captures", index);
    let has_https = dice.permille(880);
    let mut found = Vec::new();
    let mut html = |https, path: &str, query, dice: &mut Dice| {
        let page = page::page(&host, suffix, dice);
        found.push(GeneratedCapture {
            mime: "text/html",
            content_type: page.content_type,
            headers: page.headers,
            body: page.body,
            charset: Some(page.charset),
            language: Some(page.language),
            ..blank(Subset::Warc, https, &host, path, query, dice)
        });
    };
    html(has_https, "/", None, &mut dice);
    if dice.permille(60) {
        html(has_https, "/", None, &mut dice);
    }
    if has_https && dice.permille(50) {
        html(false, "/", None, &mut dice);
    }
    for _ in 0..dice.weighted(&[(0, 60), (1, 25), (2, 15)]) {
        let number = dice.below(900);
        let rows = [
            ("/about".to_owned(), None),
            ("/index.html".to_owned(), None),
            ("/".to_owned(), Some(format!("page={number}"))),
            (format!("/Blog/2026/{number}.html"), None),
            ("/index.php".to_owned(), Some(format!("id={number}&lang=EN"))),
        ];
        let row = dice.below(rows.len() as u64) as usize;
        let (path, query) = rows[row].clone();
        html(has_https, &path, query, &mut dice);
    }
    add_oddities(&host, &mut found, &mut dice);
    add_other_subsets(&host, has_https, &mut found, &mut dice);
    found
}

fn blank(
    subset: Subset,
    https: bool,
    host: &str,
    path: &str,
    query: Option<String>,
    dice: &mut Dice,
) -> GeneratedCapture {
    GeneratedCapture {
        subset,
        surt: surt::of_url(host, path, query.as_deref()),
        https,
        host: host.to_owned(),
        port: None,
        path: path.to_owned(),
        query,
        second: dice.below(CRAWL_SECONDS),
        status: 200,
        redirect: None,
        mime: "text/html",
        content_type: "text/html".to_owned(),
        headers: Vec::new(),
        body: Vec::new(),
        charset: None,
        language: None,
    }
}

/// Adds rows that look like home pages in all columns except one.
fn add_oddities(host: &str, found: &mut Vec<GeneratedCapture>, dice: &mut Dice) {
    let plain = b"Hello.\n".to_vec();
    if dice.permille(10) {
        let mut row = blank(Subset::Warc, true, host, "/", None, dice);
        row.port = Some(8_443);
        row.surt = row.surt.replacen(')', ":8443)", 1);
        found.push(GeneratedCapture { body: plain.clone(), ..row });
    }
    if dice.permille(10) {
        let row = blank(Subset::Warc, true, host, "/", None, dice);
        let mime = "application/pdf";
        let content_type = "application/pdf".to_owned();
        found.push(GeneratedCapture { mime, content_type, body: plain, ..row });
    }
}

fn add_other_subsets(
    host: &str,
    has_https: bool,
    found: &mut Vec<GeneratedCapture>,
    dice: &mut Dice,
) {
    let moved = b"<html><head><title>301 Moved Permanently</title></head></html>\n".to_vec();
    if has_https && dice.permille(400) {
        let row = blank(Subset::CrawlDiagnostics, false, host, "/", None, dice);
        let redirect = Some(format!("https://{host}/"));
        found.push(GeneratedCapture { status: 301, redirect, body: moved, ..row });
    }
    if dice.permille(150) {
        let row = blank(Subset::CrawlDiagnostics, has_https, host, "/missing", None, dice);
        found.push(GeneratedCapture { status: 404, body: b"Not found\n".to_vec(), ..row });
    }
    if dice.permille(700) {
        let row = blank(Subset::RobotsTxt, has_https, host, "/robots.txt", None, dice);
        let mime = "text/plain";
        let content_type = "text/plain".to_owned();
        let body = b"User-agent: *\nDisallow:\n".to_vec();
        found.push(GeneratedCapture { mime, content_type, body, ..row });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_has_a_home_page_and_rows_are_in_the_order_of_the_index() {
        let world = World::new(3, 400);
        let mut last = String::new();
        let mut index = 0;
        while index < 400 {
            let rows = captures(&world, index);
            let home = |row: &&GeneratedCapture| {
                row.subset == Subset::Warc
                    && row.path == "/"
                    && row.query.is_none()
                    && row.port.is_none()
                    && row.mime == "text/html"
            };
            let step = if world.are_twins(index) { 2 } else { 1 };
            for index in index..index + step {
                let host = world.name(index);
                assert!(rows.iter().filter(home).any(|row| row.host == host), "{host}");
            }
            for row in rows {
                assert!(last <= row.surt, "{last} before {}", row.surt);
                last = row.surt;
            }
            index += step;
        }
    }

    #[test]
    fn dates_are_written_as_the_crawler_writes_them() {
        assert_eq!(stamp(0), "20260112000000");
        assert_eq!(stamp(CRAWL_SECONDS - 1), "20260122235959");
    }
}
