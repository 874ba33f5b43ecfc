//! Generates sites from their paths: long lists of pages with unique content, and traps. All pages
//! share a template with 40 lines.

use std::fmt::Write;

/// Pages with unique text at `/real/...`, per site.
pub(crate) const REAL_PAGES: u64 = 150;

const WORDS: [&str; 40] = [
    "amber", "basket", "candle", "dragon", "engine", "forest", "garden", "harbor", "island",
    "jacket", "kitchen", "ladder", "market", "needle", "orange", "pencil", "quarry", "river",
    "saddle", "timber", "umbrella", "valley", "window", "yellow", "zebra", "anchor", "bridge",
    "cotton", "desert", "falcon", "glacier", "hammer", "insect", "jungle", "kettle", "lantern",
    "meadow", "nectar", "oyster", "pepper",
];

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

pub(crate) struct MadeSite {
    pub name: &'static str,
    /// Pages with unique content at `/own/...`. A crawl should capture all of them.
    pub own_pages: u64,
    page: fn(&str) -> Option<String>,
}

impl MadeSite {
    pub(crate) fn html(&self, path: &str) -> Option<String> {
        if path == "/" {
            let real = (0..REAL_PAGES).map(|n| format!("/real/{}", phrase(n, 3).replace(' ', "-")));
            let mut links: Vec<String> = real.collect();
            links.push(if self.own_pages > 0 { "/own/" } else { "/trap/" }.to_owned());
            return Some(page("Home", "Welcome to all of it.", &links));
        }
        if let Some(slug) = path.strip_prefix("/real/") {
            return Some(page("A page", &own_text(hash(slug), 4), &["/".to_owned()]));
        }
        (self.page)(path)
    }

    pub(crate) fn is_wanted(path: &str) -> bool {
        !path.starts_with("/trap/")
    }
}

pub(crate) const LISTS: [MadeSite; 10] = [
    MadeSite { name: "numbers", own_pages: 4_000, page: |path| article(path, "/own/article-") },
    MadeSite { name: "dates", own_pages: 4_000, page: dated },
    MadeSite { name: "queries", own_pages: 4_000, page: |path| article(path, "/own/story?id=") },
    MadeSite { name: "hexadecimal ids", own_pages: 4_000, page: hexadecimal },
    MadeSite { name: "thin articles", own_pages: 4_000, page: thin },
    MadeSite { name: "a shop below a long menu", own_pages: 1_000, page: sale },
    MadeSite { name: "tables of numbers", own_pages: 1_000, page: table },
    MadeSite { name: "galleries", own_pages: 1_000, page: gallery },
    MadeSite { name: "lists in pages", own_pages: 1_000, page: listed },
    MadeSite { name: "views of a wiki", own_pages: 600, page: wiki },
];

pub(crate) const TRAPS: [MadeSite; 11] = [
    MadeSite { name: "calendar", own_pages: 0, page: calendar },
    MadeSite { name: "calendar with a clock", own_pages: 0, page: clock },
    MadeSite { name: "calendar of days", own_pages: 0, page: days },
    MadeSite { name: "sessions in paths", own_pages: 0, page: session_path },
    MadeSite { name: "sessions in queries", own_pages: 0, page: session_query },
    MadeSite { name: "facets", own_pages: 0, page: facets },
    MadeSite { name: "facets of words in paths", own_pages: 0, page: facet_paths },
    MadeSite { name: "endless paths", own_pages: 0, page: endless_path },
    MadeSite { name: "soft 404 of numbers", own_pages: 0, page: soft_404 },
    MadeSite { name: "soft 404 of words", own_pages: 0, page: soft_404_of_words },
    MadeSite { name: "endless search", own_pages: 0, page: search },
];

/// Hashes a number (splitmix64).
pub(crate) fn mix(number: u64) -> u64 {
    let z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

fn hash(text: &str) -> u64 {
    text.bytes().fold(7, |hash, byte| mix(hash ^ u64::from(byte)))
}

fn phrase(seed: u64, words: u64) -> String {
    let word = |n| WORDS[(mix(seed ^ n << 32) % WORDS.len() as u64) as usize];
    (0..words).map(word).collect::<Vec<_>>().join(" ")
}

fn own_text(seed: u64, sentences: u64) -> String {
    (0..sentences).map(|n| format!("<p>The {}.</p>", phrase(mix(seed) ^ n << 40, 9))).collect()
}

fn page(title: &str, text: &str, links: &[String]) -> String {
    let mut html = format!("<!DOCTYPE html><title>{title} - A site</title><nav><ul>");
    for n in 0..30 {
        let _ = write!(html, "<li>{}</li>", phrase(n, 2));
    }
    let _ = write!(html, "</ul></nav><h1>{title}</h1>{text}<ul>");
    for link in links {
        let _ = write!(html, "<li><a href=\"{}\">more</a></li>", link.replace('&', "&amp;"));
    }
    html.push_str("</ul><footer>");
    for n in 30..40 {
        let _ = write!(html, "<p>{}</p>", phrase(n, 6));
    }
    html.push_str("</footer>");
    html
}

fn number(path: &str, prefix: &str) -> Option<u64> {
    path.strip_prefix(prefix)?.parse().ok()
}

fn indexed(path: &str, article: impl Fn(u64) -> String, count: u64) -> Option<String> {
    if path == "/own/" {
        let links: Vec<String> = (0..count / 100).map(|n| format!("/own/index-{n}")).collect();
        return Some(page("All", "", &links));
    }
    let first = number(path, "/own/index-")? * 100;
    Some(page("Index", "", &(first..first + 100).map(article).collect::<Vec<_>>()))
}

fn article(path: &str, prefix: &'static str) -> Option<String> {
    if let Some(n) = number(path, prefix) {
        return Some(page(&format!("Article {n}"), &own_text(n, 5), &["/".to_owned()]));
    }
    indexed(path, |n| format!("{prefix}{n}"), 4_000)
}

fn dated(path: &str) -> Option<String> {
    let of = |n: u64| {
        let slug = phrase(n, 4).replace(' ', "-");
        format!("/own/{}/{:02}/{:02}/{slug}-{n}", 2_000 + n / 250, n % 12 + 1, n % 28 + 1)
    };
    let n = path.rsplit_once('-').and_then(|(_, n)| n.parse().ok());
    match n.filter(|n| of(*n) == path) {
        Some(n) => Some(page(&phrase(n, 4), &own_text(n, 5), &["/".to_owned()])),
        None => indexed(path, of, 4_000),
    }
}

fn hexadecimal(path: &str) -> Option<String> {
    let of = |n: u64| format!("/own/{:016x}", mix(n));
    if path.len() == "/own/".len() + 16 {
        return Some(page("An entry", &own_text(hash(path), 5), &["/".to_owned()]));
    }
    indexed(path, of, 4_000)
}

fn thin(path: &str) -> Option<String> {
    if let Some(n) = number(path, "/own/product/") {
        let text = format!("<p>{}</p><p>{}.99 EUR</p>", phrase(mix(n), 7), n % 90);
        return Some(page(&format!("Product {n}"), &text, &["/".to_owned()]));
    }
    indexed(path, |n| format!("/own/product/{n}"), 4_000)
}

fn sale(path: &str) -> Option<String> {
    let slug = |n: u64| format!("{}-{n}", phrase(mix(n), 3).replace(' ', "-"));
    if let Some(n) = path.strip_prefix("/own/sale/").and_then(|rest| rest.rsplit('-').next()) {
        let n = n.parse().ok()?;
        let menu: String = (0..200).map(|item| format!("<p>{}</p>", phrase(!item, 3))).collect();
        let text = format!("<p>{}.</p>", phrase(mix(n) ^ 1, 20));
        return Some(page(&phrase(mix(n), 3), &(menu + &text), &["/".to_owned()]));
    }
    indexed(path, |n| format!("/own/sale/{}", slug(n)), 1_000)
}

fn table(path: &str) -> Option<String> {
    if let Some(n) = number(path, "/own/weather/") {
        let row = |hour: u64| {
            format!("<tr><td>{hour}:00</td><td>{}</td></tr>", mix(n * 24 + hour) % 9_000)
        };
        let rows: String = (0..24).map(row).collect();
        return Some(page("Rain", &format!("<table>{rows}</table>"), &["/".to_owned()]));
    }
    indexed(path, |n| format!("/own/weather/{n}"), 1_000)
}

fn gallery(path: &str) -> Option<String> {
    let n = if path == "/own/" { 0 } else { number(path, "/own/photo/")? };
    let next = [format!("/own/photo/{}", (n + 1).min(1_000)), "/".to_owned()];
    Some(page(&format!("Photo {n}"), &format!("<img src=/pictures/img_{n}.jpg>"), &next))
}

/// The list's own pages have no new content, but they link to pages with new content.
fn listed(path: &str) -> Option<String> {
    if let Some(n) = number(path, "/own/item/") {
        return Some(page(&format!("Item {n}"), &own_text(n, 3), &["/".to_owned()]));
    }
    let n = if path == "/own/" { 0 } else { number(path, "/own/?page=")? };
    let mut links: Vec<String> = (0..5).map(|i| format!("/own/item/{}", n * 5 + i)).collect();
    links.push(format!("/own/?page={}", (n + 1).min(199)));
    Some(page("List", "", &links))
}

fn wiki(path: &str) -> Option<String> {
    if path == "/own/" {
        let links: Vec<String> = (0..600)
            .map(|n| format!("/own/w?title={}_{n}", phrase(n, 2).replace(' ', "_")))
            .collect();
        return Some(page("All", "", &links));
    }
    let title = path.strip_prefix("/own/w?title=");
    if let Some(title) = title {
        let view = |n| format!("/trap/w?action={}&title={title}", WORDS[n]);
        let links: Vec<String> = (0..9).map(view).collect();
        return Some(page("Article", &own_text(hash(title), 3), &links));
    }
    path.strip_prefix("/trap/w?").map(|_| page("View", "Nothing to see.", &["/".to_owned()]))
}

fn calendar(path: &str) -> Option<String> {
    let months = match path.strip_prefix("/trap/month/") {
        Some(month) => month.split_once('-').and_then(|(year, month)| {
            Some(year.parse::<i64>().ok()? * 12 + month.parse::<i64>().ok()?)
        })?,
        None if path == "/trap/" => 2_026 * 12,
        None => return None,
    };
    let to = |months: i64| format!("/trap/month/{}-{}", months / 12, months % 12);
    let title = format!("Events of {} {}", MONTHS[(months % 12) as usize], months / 12);
    let text = "<p>Mo Tu We Th Fr Sa Su</p><p>1 2 3 4 5 6 7</p><p>No events this month.</p>";
    Some(page(&title, text, &[to(months - 1), to(months + 1), to(months + 12)]))
}

fn clock(path: &str) -> Option<String> {
    let n = mix(hash(path));
    let footer = format!("<p>{}.{:06} s</p><p>{} views</p>", n % 3, n % 999_983, n % 99_991);
    Some(calendar(path)? + &footer)
}

fn days(path: &str) -> Option<String> {
    let day = if path == "/trap/" { 1 } else { number(path, "/trap/day?n=")? };
    let week = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
    let name = week[(day % 7) as usize];
    let month = MONTHS[(day / 30 % 12) as usize];
    let text = format!("<p>There is nothing on {name}, {} {month}.</p>", day % 30 + 1);
    let links: Vec<String> = (1..8).map(|n| format!("/trap/day?n={}", day + n)).collect();
    Some(page("Day", &text, &links))
}

fn shop(item: u64, links: &[String]) -> String {
    page(&format!("Shop {item}"), &own_text(item % 20, 3), links)
}

fn session_path(path: &str) -> Option<String> {
    let rest = path.strip_prefix("/trap/")?;
    let item = rest.rsplit_once('/').and_then(|(_, item)| item.parse().ok()).unwrap_or(0);
    let session = mix(hash(path));
    let links: Vec<String> = (0..20).map(|n| format!("/trap/{session:016x}/{n}")).collect();
    Some(shop(item, &links))
}

fn session_query(path: &str) -> Option<String> {
    let rest = path.strip_prefix("/trap/")?;
    let item = WORDS.iter().position(|word| rest.starts_with(word)).unwrap_or(0);
    // A session ID without digits that is not a dictionary word.
    let letters = |seed: u64| -> String {
        (0..12).map(|n| char::from(b'a' + (mix(seed ^ n) % 26) as u8)).collect()
    };
    let session = letters(hash(path));
    let links: Vec<String> = (0..20).map(|n| format!("/trap/{}?sid={session}", WORDS[n])).collect();
    Some(shop(item as u64, &links))
}

/// Lists a subset of 60 items in an order, both of which `seed` determines.
fn choice(seed: u64, links: &[String]) -> String {
    let mut items: Vec<u64> =
        (0..60).filter(|item| mix(seed ^ item << 7).is_multiple_of(3)).collect();
    items.sort_by_key(|item| mix(seed.wrapping_add(*item)));
    let text: String =
        items.iter().map(|n| format!("<p>{}</p><p>{n} EUR</p>", phrase(mix(*n), 4))).collect();
    page(&format!("{} items", items.len()), &text, links)
}

fn facets(path: &str) -> Option<String> {
    let query = path.strip_prefix("/trap/")?;
    let chosen = query.strip_prefix('?').unwrap_or_default();
    let names = ["color", "size", "brand", "sort"];
    let values = (0..6).flat_map(|n| names.map(|name| (name, WORDS[n])));
    let links: Vec<String> = values
        .map(|(name, value)| {
            let others = chosen.split('&').filter(|one| !one.is_empty() && !one.starts_with(name));
            let mut all: Vec<String> = others.map(str::to_owned).collect();
            all.push(format!("{name}={value}"));
            format!("/trap/?{}", all.join("&"))
        })
        .collect();
    Some(choice(hash(path), &links))
}

fn facet_paths(path: &str) -> Option<String> {
    let chosen = path.strip_prefix("/trap/")?;
    let is_full = chosen.split('/').count() > 8;
    let more = WORDS.iter().take(12).filter(|word| !is_full && !chosen.contains(**word));
    let links: Vec<String> = more.map(|word| format!("/trap/{chosen}{word}/")).collect();
    Some(choice(hash(path), &links))
}

fn endless_path(path: &str) -> Option<String> {
    let folder = path.strip_prefix("/trap/")?;
    let links: Vec<String> =
        WORDS.iter().take(6).map(|word| format!("/trap/{folder}{word}/")).collect();
    Some(page("Folder", "<p>What is in here.</p>", &links))
}

fn soft_404(path: &str) -> Option<String> {
    let n = path.strip_prefix("/trap/").map(|rest| hash(rest) % 1_000_000)?;
    let links: Vec<String> =
        (1..6).map(|i| format!("/trap/{}", mix(n * 6 + i) % 1_000_000)).collect();
    Some(page("Not found", &format!("<p>There is no page {path} here.</p>"), &links))
}

fn soft_404_of_words(path: &str) -> Option<String> {
    let rest = path.strip_prefix("/trap/")?;
    let seed = hash(rest);
    let links: Vec<String> =
        (0..6).map(|n| format!("/trap/{}", phrase(mix(seed ^ n), 5).replace(' ', "-"))).collect();
    Some(page(&format!("No {}", rest.replace('-', " ")), "<p>Search instead.</p>", &links))
}

fn search(path: &str) -> Option<String> {
    let rest = path.strip_prefix("/trap/")?;
    let words = rest.strip_prefix("?q=").unwrap_or("nothing").replace('+', " ");
    let seed = hash(rest);
    let links: Vec<String> = (0..6)
        .map(|n| format!("/trap/?q={}", phrase(mix(seed ^ n), 3).replace(' ', "+")))
        .collect();
    Some(page("Search", &format!("<p>Results for {words}:</p><p>None.</p>"), &links))
}
