//! The response to a request to a host in the graph.

use std::{sync::OnceLock, time::Duration};

use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::{
    reply::GraphAnswer,
    request::GraphRequest,
    trap_pages,
    traps::Trap,
    world::{GraphPage, PageKind, SiteGraph},
};
use crate::{dice::Dice, draw};

const HUGE_ROBOTS_BYTES: usize = 30 << 20;
const TIME_DRAW: u64 = 50;
const STATUS_DRAW: u64 = 51;

pub(crate) fn answer(graph: &SiteGraph, request: &GraphRequest<'_>) -> Option<GraphAnswer> {
    let named = graph.named(request.host)?;
    let mut answer = match named.farm {
        Some(number) => trap_pages::farm(graph, named.host, number, request.target),
        None => answer_of_host(graph, named.host, request),
    };
    answer.delay = graph.time_of_answer(named.host, request.target);
    let has_tag = |(name, value): &(&str, String)| {
        *name == "etag" && request.if_none_match.is_some_and(|tag| tag == value)
    };
    if answer.status == 200 && answer.headers.iter().any(has_tag) {
        answer.status = 304;
        answer.body = Bytes::new();
        answer.headers.retain(|(name, _)| *name == "etag");
    }
    Some(answer)
}

fn answer_of_host(graph: &SiteGraph, host: u64, request: &GraphRequest<'_>) -> GraphAnswer {
    let path = request.target.split('?').next().unwrap_or_default();
    if path == "/robots.txt" {
        return graph.robots(host, request.day);
    }
    let trap = graph.trap(host);
    if let Some(answer) = trap.and_then(|trap| trap_pages::answer(graph, host, trap, request)) {
        return answer;
    }
    if let Some(answer) = graph.sitemap_at(host, request.target) {
        return answer;
    }
    if let Some(answer) = graph.wall(host, request) {
        return answer;
    }
    match graph.page_of_target(host, request.target) {
        Some(page) if graph.kind(page) == PageKind::Unavailable && !(request.was_asked)(page) => {
            GraphAnswer::page(503, "Service Unavailable").with("retry-after", "1")
        }
        Some(page) => graph.content(page, request.day),
        None => GraphAnswer::page(404, "Not Found"),
    }
}

impl SiteGraph {
    pub(super) fn content(&self, page: GraphPage, day: u32) -> GraphAnswer {
        if let Some(to) = self.redirect(page) {
            let mut dice = Dice::of_numbers([self.seed, STATUS_DRAW, page.host, page.page]);
            let status = dice.pick(&[301, 302, 303, 307, 308]);
            let is_relative = to.host == page.host && dice.permille(500);
            let location = if is_relative { self.target(to) } else { self.url(to) };
            return GraphAnswer::redirect(status, location);
        }
        let tag = || {
            let day = if self.changes(page) { day } else { 0 };
            let number = Dice::of_numbers([self.seed, page.host, page.page, day.into()]).next();
            format!("\"{number:016x}\"")
        };
        match self.kind(page) {
            PageKind::NotFound => GraphAnswer::page(404, "Not Found"),
            PageKind::Image | PageKind::LinkedImage => {
                let drawn = draw::icon(self.seed, &self.host_name(page.host), &self.target(page));
                let (content_type, body) =
                    drawn.map_or(("", Vec::new()), |drawn| (drawn.content_type, drawn.body));
                GraphAnswer::new(200, content_type, body).with("etag", tag())
            }
            PageKind::Document => {
                // All copies on a site have the same text every day.
                let home = self.home(self.first_host(self.site_of(page.host)));
                let text =
                    if self.is_copy(page) { self.html(home, 0) } else { self.html(page, day) };
                let body = format!("%PDF-1.4\n% {text}\n%%EOF\n");
                GraphAnswer::new(200, "application/pdf", body).with("etag", tag())
            }
            kind => {
                let html = GraphAnswer::new(200, "text/html; charset=utf-8", self.html(page, day));
                let html = html.with("etag", tag());
                match kind {
                    PageKind::NoarchiveHeader => html.with("x-robots-tag", "noarchive"),
                    _ => html,
                }
            }
        }
    }

    fn robots(&self, host: u64, day: u32) -> GraphAnswer {
        let rules = || {
            let delay = self.crawl_delay(host).map(|delay| delay.as_millis());
            let delay = delay.map(|ms| format!("Crawl-delay: {}\n", seconds(ms)));
            let sitemaps: String = self
                .robots_sitemaps(host)
                .iter()
                .map(|sitemap| format!("Sitemap: {sitemap}\n"))
                .collect();
            let delay = delay.unwrap_or_default();
            format!("User-agent: *\nDisallow: /private/\n{delay}{sitemaps}")
        };
        match self.trap(host) {
            Some(Trap::RobotsHtml) => {
                GraphAnswer::new(200, "text/html; charset=utf-8", self.html(self.home(host), day))
            }
            Some(Trap::RobotsUnavailable) => GraphAnswer::page(503, "Service Unavailable"),
            Some(Trap::RobotsDelay) => {
                let text = "User-agent: *\nCrawl-delay: 1000000000\n";
                GraphAnswer::new(200, "text/plain", text)
            }
            Some(Trap::RobotsHuge) => {
                let mut text = rules().into_bytes();
                text.extend_from_slice(comments());
                GraphAnswer::new(200, "text/plain", text)
            }
            _ if self.has_robots(host) => GraphAnswer::new(200, "text/plain", rules()),
            _ => GraphAnswer::page(404, "Not Found"),
        }
    }

    fn robots_sitemaps(&self, host: u64) -> Vec<String> {
        let named = self.named_sitemap(host).map(|sitemap| self.sitemap_url(sitemap));
        let trap = self.trap(host).filter(|trap| trap.is_of_sitemaps());
        let entries = trap.map_or(&[][..], Trap::entries).iter();
        let entries = entries.map(|entry| format!("{}{entry}", self.origin(host)));
        named.into_iter().chain(entries).collect()
    }

    fn time_of_answer(&self, host: u64, target: &str) -> Duration {
        let mean = self.response_time(host).as_millis() as u64;
        if mean == 0 {
            return Duration::ZERO;
        }
        let (least, most) = self.settings.slow_ms;
        let digest: [u8; 32] = Sha256::digest(target.as_bytes()).into();
        let [a, b, c, d, ..] = digest;
        let number = u64::from(u32::from_be_bytes([a, b, c, d]));
        let mut dice = Dice::of_numbers([self.seed, TIME_DRAW, host, number]);
        let ms = dice.between(mean - mean / 4, mean + mean / 4);
        Duration::from_millis(ms.clamp(least, most))
    }
}

fn seconds(ms: u128) -> String {
    let text = format!("{}.{:03}", ms / 1_000, ms % 1_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn comments() -> &'static [u8] {
    static COMMENTS: OnceLock<Vec<u8>> = OnceLock::new();
    COMMENTS.get_or_init(|| {
        let line = b"# a line that no crawler needs to read to the end of this file\n";
        line.repeat(HUGE_ROBOTS_BYTES / line.len() + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::settings::GraphSettings;

    #[test]
    fn a_delay_is_written_without_zeros_at_its_end() {
        assert_eq!(seconds(1_000), "1");
        assert_eq!(seconds(20), "0.02");
        assert_eq!(seconds(61_500), "61.5");
    }

    #[test]
    fn answers_are_the_same_twice_and_in_any_order_and_a_page_is_503_once() {
        let graph = SiteGraph::new(5, GraphSettings::default()).unwrap();
        let ask = |host: &str, target: &str, day: u32, was_asked: bool| {
            let was_asked = |_| was_asked;
            let (if_none_match, cookie) = (None, None);
            let request =
                GraphRequest { host, target, if_none_match, cookie, day, was_asked: &was_asked };
            answer(&graph, &request).unwrap()
        };
        let pages: Vec<GraphPage> = (0..graph.hosts())
            .flat_map(|host| (0..graph.pages_of(host)).map(move |page| GraphPage { host, page }))
            .collect();
        let all = |pages: &mut dyn Iterator<Item = &GraphPage>| {
            let answered =
                pages.map(|page| ask(&graph.host_name(page.host), &graph.target(*page), 3, true));
            answered.collect::<Vec<_>>()
        };
        let forward = all(&mut pages.iter());
        let mut backward = all(&mut pages.iter().rev());
        backward.reverse();
        assert_eq!(forward, backward);
        let (mut changed, mut refused) = (0, 0);
        for (page, before) in pages.iter().zip(&forward) {
            let (host, target) = (graph.host_name(page.host), graph.target(*page));
            let next_day = ask(&host, &target, 4, true);
            let is_html = next_day.headers.iter().any(|(_, value)| value.starts_with("text/html"));
            changed += usize::from(next_day.body != before.body);
            let may_change = graph.changes(*page) && next_day.status == 200;
            assert!(next_day.body == before.body || may_change, "{target}");
            assert!(next_day.body != before.body || !may_change || !is_html, "{target}");
            assert_eq!(next_day.headers == before.headers, !may_change, "{target}: its tag");
            refused += usize::from(ask(&host, &target, 3, false).status == 503);
        }
        assert!(changed > 20 && refused > 5, "{changed} changed, {refused} refused at first");
    }

    #[test]
    fn a_tag_that_is_known_is_answered_without_a_body() {
        let graph = SiteGraph::new(5, GraphSettings::plain(1, 1, 10)).unwrap();
        let host = graph.host_name(0);
        let ask = |if_none_match: Option<&str>| {
            let was_asked: &dyn Fn(GraphPage) -> bool = &|_| false;
            let host = host.as_str();
            let cookie = None;
            let request =
                GraphRequest { host, target: "/", if_none_match, cookie, day: 0, was_asked };
            answer(&graph, &request).unwrap()
        };
        let whole = ask(None);
        let (_, tag) = whole.headers.iter().find(|(name, _)| *name == "etag").unwrap();
        let unchanged = ask(Some(tag));
        assert_eq!((unchanged.status, unchanged.body.len()), (304, 0));
        assert_eq!(ask(Some("\"other\"")), whole);
    }
}
