//! A page as HTML, with its links in several spellings.

use std::{fmt::Write, sync::OnceLock};

use super::{
    links::{GraphLink, GraphLinkKind},
    names::WORDS,
    traps::Trap,
    world::{GraphPage, PageKind, SiteGraph},
};
use crate::dice::Dice;

const TEXT_BYTES: usize = 1 << 16;
const PARAGRAPH_BYTES: usize = 600;
const HTML_DRAW: u64 = 40;

impl SiteGraph {
    pub(super) fn html(&self, page: GraphPage, day: u32) -> String {
        let mut dice = Dice::of_numbers([self.seed, HTML_DRAW, page.host, page.page]);
        let mean = self.settings.page_bytes;
        let size = dice.between(mean / 2, mean / 2 + mean) as usize;
        let name = self.host_name(page.host);
        let number = page.page;
        let mut html = String::with_capacity(size + 1_024);
        let robots = match self.kind(page) {
            PageKind::Nofollow => "<meta name=\"robots\" content=\"nofollow\">",
            PageKind::NoarchiveMeta => "<meta name=\"robots\" content=\"noarchive\">",
            _ => "",
        };
        let day = if self.changes(page) { format!("<p>Day {day}.</p>") } else { String::new() };
        let title = WORDS[(number % WORDS.len() as u64) as usize];
        let _ = write!(
            html,
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <title>{title} {number} of {name}</title>{robots}</head>\n\
             <body><h1>{title} {number}</h1>{day}<ul>\n"
        );
        for link in self.links(page) {
            self.write_link(&mut html, page, link, &mut dice);
        }
        if page.page == 0 {
            for entry in self.trap_entries(page.host) {
                let _ = writeln!(html, "<li><a href=\"{}\">more</a>", escaped(&entry));
            }
        }
        html.push_str("</ul>\n");
        while html.len() + 40 < size {
            let length = PARAGRAPH_BYTES.min(size - html.len());
            let at = dice.below((TEXT_BYTES - PARAGRAPH_BYTES) as u64) as usize;
            html.push_str("<p>");
            html.push_str(text().get(at..at + length).unwrap_or_default());
            html.push_str("</p>\n");
        }
        html.push_str("</body></html>\n");
        html
    }

    pub(super) fn trap_entries(&self, host: u64) -> Vec<String> {
        match self.trap(host) {
            Some(Trap::LinkFarm) => {
                let scheme = if self.has_https(host) { "https" } else { "http" };
                vec![format!("{scheme}://farm0.{}/", self.host_name(host))]
            }
            Some(trap) if trap.is_of_sitemaps() => Vec::new(),
            Some(trap) => trap.entries().iter().map(|entry| (*entry).to_owned()).collect(),
            None => Vec::new(),
        }
    }

    fn write_link(&self, html: &mut String, page: GraphPage, link: GraphLink, dice: &mut Dice) {
        let target = self.target(link.to);
        let is_variant = dice.permille(u64::from(self.settings.variants));
        let target = if is_variant { other_spelling(&target, dice) } else { target };
        let href = match dice.below(4) {
            _ if link.to.host != page.host => format!("{}{target}", self.origin(link.to.host)),
            0 => format!("{}{target}", self.origin_with_port(link.to.host, dice)),
            1 => relative(&self.target(page), &target),
            _ => target,
        };
        let href = escaped(&href);
        let word = dice.pick(&WORDS);
        let _ = match link.kind {
            GraphLinkKind::Anchor => writeln!(html, "<li><a href=\"{href}\">{word}</a>"),
            GraphLinkKind::NofollowAnchor => {
                writeln!(html, "<li><a rel=\"external nofollow\" href='{href}'>{word}</a>")
            }
            GraphLinkKind::Picture => writeln!(html, "<li><img alt=\"{word}\" src=\"{href}\">"),
        };
    }

    fn origin_with_port(&self, host: u64, dice: &mut Dice) -> String {
        let port = if !dice.permille(u64::from(self.settings.variants)) {
            ""
        } else if self.has_https(host) {
            ":443"
        } else {
            ":80"
        };
        format!("{}{port}", self.origin(host))
    }
}

fn other_spelling(target: &str, dice: &mut Dice) -> String {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let session = dice.next();
    let joint = if query.is_empty() { '?' } else { '&' };
    match dice.below(8) {
        0 if !path.ends_with('/') => {
            let query = target.strip_prefix(path).unwrap_or_default();
            format!("{path};jsessionid={session:016X}{query}")
        }
        1 => format!("{target}{joint}PHPSESSID={session:016x}"),
        2 => format!("{path}?utm_source=feed&utm_medium=x{session:x}&{query}"),
        3 => format!("{target}#part-{}", session % 9),
        4 => format!("/elsewhere/..{target}"),
        5 => format!("/.{target}"),
        6 if query.is_empty() && path.len() > 2 => {
            let (first, rest) = path.split_at(2);
            let letter = first.bytes().last().unwrap_or(b'x');
            format!("/%{letter:02X}{rest}")
        }
        7 if query.is_empty() => format!("{path}?"),
        _ if query.is_empty() => format!("{path}?gclid={session:x}"),
        _ => format!("{path}?{}", query.rsplit('&').collect::<Vec<_>>().join("&")),
    }
}

fn relative(from: &str, target: &str) -> String {
    let path = from.split('?').next().unwrap_or_default();
    let up = "../".repeat(path.matches('/').count() - 1);
    format!("./{up}{}", target.strip_prefix('/').unwrap_or(target))
}

fn escaped(href: &str) -> String {
    href.replace('&', "&amp;")
}

fn text() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| {
        let mut dice = Dice::of_numbers([HTML_DRAW]);
        let mut text = String::with_capacity(TEXT_BYTES + 64);
        while text.len() < TEXT_BYTES {
            for _ in 0..dice.between(4, 12) {
                let (one, other) = (dice.pick(&WORDS), dice.pick(&WORDS));
                let cut = dice.between(1, 4) as usize;
                text.push_str(&one[..cut]);
                text.push_str(&other[cut..]);
                text.push(' ');
            }
            text.push_str("of it. ");
        }
        text
    })
}
