//! An independent link reader that uses `lol_html`, a general HTML rewriter. It ignores foreign
//! content, so the results may differ on drawings and formulas.

use std::{borrow::Cow, cell::RefCell, ops::Range};

use everytab_webpage::{LinkOrigin, links::MAX_LINKS_PER_PAGE, url_rules::MAX_URL_BYTES};
use lol_html::{
    ElementContentHandlers, HandlerResult, HtmlRewriter, MemorySettings, Settings,
    html_content::{Element, TextChunk, TextType},
};
use url::Url;

const HTML_NAMESPACE: &str = "http://www.w3.org/1999/xhtml";

/// The rewriter's memory limit in bytes.
const MAX_BYTES: usize = 32 << 20;

/// Markup that contains this link, its URL, and whether its `rel` contains `nofollow`.
pub(crate) type FoundLink = (LinkOrigin, String, bool);

pub(crate) fn links(page_url: &str, html: &str) -> Vec<FoundLink> {
    let mut found = read(html, 0);
    found.attributes.sort_by_key(|(at, ..)| *at);
    let document = Url::parse(page_url).unwrap();
    let base = found.base.and_then(|href| document.join(&href).ok());
    let base = base.filter(|base| !matches!(base.scheme(), "data" | "javascript"));
    let base = base.unwrap_or(document);
    let mut links = Vec::new();
    for (_, origin, value, is_nofollow) in found.attributes {
        let urls = match origin {
            LinkOrigin::Srcset => srcset(&value),
            LinkOrigin::Refresh => refresh(&value).into_iter().collect(),
            _ => vec![value],
        };
        for text in urls {
            let Ok(mut url) = base.join(&text) else { continue };
            if text.trim_matches(|c: char| c <= ' ').is_empty()
                || !["http", "https"].contains(&url.scheme())
            {
                continue;
            }
            if let Some(host) = url.host_str().and_then(|host| host.strip_suffix('.')) {
                let host = host.to_owned();
                url.set_host(Some(&host)).unwrap();
            }
            url.set_fragment(None);
            url.set_username("").unwrap();
            url.set_password(None).unwrap();
            if url.as_str().len() <= MAX_URL_BYTES && links.len() < MAX_LINKS_PER_PAGE {
                links.push((origin, String::from(url), is_nofollow));
            }
        }
    }
    links
}

#[derive(Default)]
struct Elements {
    is_in_template: bool,
    base: Option<String>,
    /// Position, origin, attribute value, nofollow.
    attributes: Vec<(usize, LinkOrigin, String, bool)>,
    noscripts: Vec<Range<usize>>,
    awaits_noscript: bool,
}

fn read(html: &str, offset: usize) -> Elements {
    let found = RefCell::new(Elements::default());
    let mut settings = Settings::new()
        .with_strict(false)
        .with_memory_settings(MemorySettings::new().with_max_allowed_memory_usage(MAX_BYTES));
    let names = ["a", "area", "frame", "iframe", "img", "source", "link", "meta", "base"];
    let in_template: Vec<String> = names.iter().map(|name| format!("template {name}")).collect();
    let in_template = format!("{}, template noscript", in_template.join(", "));
    let handlers = [
        (in_template, element(&found, |found, _, _| found.is_in_template = true, offset)),
        (names.join(", "), element(&found, Elements::element, offset)),
        ("noscript".to_owned(), noscript(&found, offset)),
    ];
    for (selector, handler) in handlers {
        let selector = selector.parse::<lol_html::Selector>().unwrap();
        settings = settings.append_element_content_handler((Cow::Owned(selector), handler));
    }
    let mut rewriter = HtmlRewriter::new(settings, |_: &[u8]| {});
    if rewriter.write(html.as_bytes()).is_ok() {
        rewriter.end().ok();
    } else {
        drop(rewriter);
    }
    let mut found = found.into_inner();
    for text in std::mem::take(&mut found.noscripts) {
        let inner = read(&html[text.start - offset..text.end - offset], text.start);
        found.attributes.extend(inner.attributes);
    }
    found
}

fn element<'h>(
    found: &'h RefCell<Elements>,
    handler: fn(&mut Elements, &Element<'_, '_>, usize),
    offset: usize,
) -> ElementContentHandlers<'h> {
    ElementContentHandlers::default().element(move |element: &mut Element<'_, '_>| {
        handler(&mut found.borrow_mut(), element, offset);
        HandlerResult::Ok(())
    })
}

fn noscript(found: &RefCell<Elements>, offset: usize) -> ElementContentHandlers<'_> {
    let start = |found: &mut Elements, element: &Element<'_, '_>, _: usize| {
        found.awaits_noscript = found.counts(element);
    };
    element(found, start, offset).text(move |chunk: &mut TextChunk<'_>| {
        let mut found = found.borrow_mut();
        let span = chunk.source_location().bytes();
        let (start, end) = (span.start + offset, span.end + offset);
        if chunk.text_type() != TextType::RawText || start == end {
            return HandlerResult::Ok(());
        }
        if std::mem::take(&mut found.awaits_noscript) {
            found.noscripts.push(start..end);
        } else if let Some(last) = found.noscripts.last_mut().filter(|last| last.end == start) {
            last.end = end;
        }
        HandlerResult::Ok(())
    })
}

impl Elements {
    fn counts(&mut self, element: &Element<'_, '_>) -> bool {
        !std::mem::take(&mut self.is_in_template) && element.namespace_uri() == HTML_NAMESPACE
    }

    fn element(&mut self, element: &Element<'_, '_>, offset: usize) {
        if !self.counts(element) {
            return;
        }
        let get = |name: &str| {
            let attributes = element.attributes();
            let found = attributes.iter().find(|other| other.name() == name)?;
            Some(htmlize::unescape_attribute(found.value().replace('\0', "\u{fffd}")).into_owned())
        };
        let rel = get("rel").unwrap_or_default().to_ascii_lowercase();
        let has = |token: &str| rel.split_ascii_whitespace().any(|other| other == token);
        let is_nofollow = has("nofollow");
        let src = || get("src");
        let found = match element.tag_name().as_str() {
            "a" => vec![(LinkOrigin::A, get("href"), is_nofollow)],
            "area" => vec![(LinkOrigin::Area, get("href"), is_nofollow)],
            "frame" => vec![(LinkOrigin::Frame, src(), false)],
            "iframe" => vec![(LinkOrigin::Iframe, src(), false)],
            "img" => {
                vec![(LinkOrigin::Img, src(), false), (LinkOrigin::Srcset, get("srcset"), false)]
            }
            "source" => {
                vec![(LinkOrigin::Source, src(), false), (LinkOrigin::Srcset, get("srcset"), false)]
            }
            "link" => {
                let mime = get("type").unwrap_or_default().to_ascii_lowercase();
                let mime = mime.split(';').next().unwrap().trim_ascii();
                let pages = ["", "text/html", "text/plain", "application/pdf"];
                let is_page = pages.contains(&mime) || mime == "application/xhtml+xml";
                let icons = ["icon", "apple-touch-icon", "apple-touch-icon-precomposed"];
                let origin = if has("stylesheet") {
                    LinkOrigin::Stylesheet
                } else if icons.iter().any(|icon| has(icon)) {
                    LinkOrigin::Icon
                } else if ["canonical", "next", "prev"].iter().any(|token| has(token))
                    || (has("alternate") && is_page)
                {
                    LinkOrigin::Link
                } else {
                    return;
                };
                vec![(origin, get("href"), is_nofollow)]
            }
            "meta" => {
                let pragma = get("http-equiv").unwrap_or_default();
                let content = get("content").filter(|_| pragma.eq_ignore_ascii_case("refresh"));
                vec![(LinkOrigin::Refresh, content, false)]
            }
            _ => {
                self.base = self.base.take().or_else(|| get("href"));
                return;
            }
        };
        let at = element.source_location().bytes().start + offset;
        for (origin, value, is_nofollow) in found {
            self.attributes.extend(value.map(|value| (at, origin, value, is_nofollow)));
        }
    }
}

/// The steps of "parse a srcset attribute", literally, without descriptors.
fn srcset(input: &str) -> Vec<String> {
    let input: Vec<char> = input.chars().collect();
    let at = |position: usize| input.get(position).copied();
    let mut position = 0;
    let mut urls = Vec::new();
    loop {
        while at(position).is_some_and(|c| c.is_ascii_whitespace() || c == ',') {
            position += 1;
        }
        let start = position;
        while at(position).is_some_and(|c| !c.is_ascii_whitespace()) {
            position += 1;
        }
        if start == position {
            return urls;
        }
        let mut url: String = input[start..position].iter().collect();
        if url.ends_with(',') {
            while url.ends_with(',') {
                url.pop();
            }
        } else {
            let mut is_in_parentheses = false;
            while let Some(c) = at(position) {
                position += 1;
                match c {
                    '(' => is_in_parentheses = true,
                    ')' => is_in_parentheses = false,
                    ',' if !is_in_parentheses => break,
                    _ => {}
                }
            }
        }
        urls.push(url);
    }
}

fn refresh(content: &str) -> Option<String> {
    let (seconds, rest) = content.split_once([';', ','])?;
    seconds.trim().parse::<f64>().ok()?;
    let rest = rest.trim_ascii_start();
    let name = rest.get(..3).filter(|name| name.eq_ignore_ascii_case("url"));
    let rest = name.map_or(rest, |_| rest[3..].trim_ascii_start().trim_start_matches('='));
    let rest = rest.trim_ascii();
    let url = rest.trim_matches(['"', '\'']);
    (!url.is_empty()).then(|| url.to_owned())
}
