//! The page's published files. The names of scripts and style sheets contain a content hash.
//!
//! A file's name depends on the names of the files to which it refers, so those files are named
//! first. `build.rs` embeds the directory `site/`.

use std::collections::BTreeMap;

use crate::object_names::{self, content_hash};

include!(concat!(env!("OUT_DIR"), "/site.rs"));

/// One page file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageFile {
    /// The file's name below the site's root.
    pub key: String,
    /// The file's content.
    pub bytes: Vec<u8>,
}

/// The operator's details on the pages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SiteOperator {
    /// The site's URL, with a trailing slash. If it is `None`, the pages do not contain the site's
    /// URL.
    pub site_url: Option<String>,
    /// Contact for visitors: an email address or an `https:` URL.
    pub contact: Option<String>,
    /// The operator robot's `User-Agent`.
    pub user_agent: Option<String>,
}

/// `site/` contains these placeholders, which [`SiteOperator`]'s values replace.
const PLACEHOLDER_SITE_URL: &str = "https://everytab.example/";
const PLACEHOLDER_CONTACT: &str = "contact@everytab.example";
/// The fetcher's default `User-Agent`, which is a placeholder in `site/`.
pub const PLACEHOLDER_USER_AGENT: &str = "EveryTabBot/1.0 (+https://everytab.example/bot.html)";

const SITEMAP: &str = "sitemap.xml";
const FILLED_IN: [&str; 3] = [".html", ".txt", ".xml"];

/// Site directories whose files have a content hash in their names.
pub const HASHED_FOLDERS: [&str; 2] = ["css/", "js/"];

/// Returns true for a file in one of [`HASHED_FOLDERS`].
#[must_use]
pub fn is_hashed(key: &str) -> bool {
    HASHED_FOLDERS.iter().any(|folder| key.starts_with(folder))
}

/// Returns the names of the objects that every scan's publishing may change, except link pages. The
/// manifest is last.
#[must_use]
pub fn changing_keys() -> Vec<String> {
    let operator = SiteOperator { site_url: Some(String::new()), ..SiteOperator::default() };
    let pages = page_files(&operator).into_iter().map(|file| file.key);
    let others = [
        object_names::KEY_DIRECTORY,
        object_names::SECURITY_TXT,
        object_names::STATS,
        object_names::HISTORY,
        object_names::PREVIEW,
        object_names::MANIFEST,
    ];
    pages.filter(|key| !is_hashed(key)).chain(others.map(str::to_owned)).collect()
}

/// Returns the page's files in publishing order. `index.html` is last, so that every file to which
/// it refers already exists.
#[must_use]
pub fn page_files(operator: &SiteOperator) -> Vec<PageFile> {
    publishable(SITE_FILES, operator)
}

/// Returns the published name of the script that link pages run.
#[must_use]
pub fn link_script(files: &[PageFile]) -> &str {
    let mut keys = files.iter().map(|file| file.key.as_str());
    keys.find(|key| key.starts_with("js/link.")).unwrap_or_default()
}

fn publishable(files: &[(&str, &[u8])], operator: &SiteOperator) -> Vec<PageFile> {
    let mut waiting: BTreeMap<&str, String> = files
        .iter()
        .filter(|(name, _)| is_hashed(name))
        .map(|(name, bytes)| (*name, String::from_utf8_lossy(bytes).into_owned()))
        .collect();
    let mut named: BTreeMap<String, String> = BTreeMap::new();
    let mut published = Vec::new();
    while !waiting.is_empty() {
        let free = waiting.keys().copied().find(|name| {
            let text = &waiting[name];
            waiting.keys().all(|other| other == name || !refers_to(text, name, other))
        });
        // Files with circular imports cannot be named by their content. The site's tests ensure
        // that there are none.
        let Some(name) = free.or_else(|| waiting.keys().next().copied()) else { break };
        let text = rewrite(&waiting.remove(name).unwrap_or_default(), name, &named);
        let key = hashed_name(name, text.as_bytes());
        named.insert(name.to_owned(), key.clone());
        published.push(PageFile { key, bytes: text.into_bytes() });
    }
    let mut others: Vec<_> = files.iter().filter(|(name, _)| !is_hashed(name)).collect();
    others.sort_by_key(|(name, _)| *name == "index.html");
    if operator.site_url.is_none() {
        others.retain(|(name, _)| *name != SITEMAP);
    }
    for (name, bytes) in others {
        let bytes = match std::str::from_utf8(bytes) {
            Ok(text) if FILLED_IN.iter().any(|extension| name.ends_with(extension)) => {
                fill_in(&rewrite(text, name, &named), operator).into_bytes()
            }
            _ => bytes.to_vec(),
        };
        published.push(PageFile { key: (*name).to_owned(), bytes });
    }
    published
}

/// Replaces the placeholders, and omits lines that need a missing contact or site URL. The
/// User-Agent itself contains a URL, which is not replaced, because a page must show the exact
/// value that is sent.
fn fill_in(text: &str, operator: &SiteOperator) -> String {
    let agent = escape(operator.user_agent.as_deref().unwrap_or(PLACEHOLDER_USER_AGENT));
    let between: Vec<String> =
        text.split(PLACEHOLDER_USER_AGENT).map(|text| fill_in_text(text, operator)).collect();
    between.join(&agent)
}

fn fill_in_text(text: &str, operator: &SiteOperator) -> String {
    let text = match &operator.contact {
        Some(contact) if contact.starts_with("https://") => text
            .replace(&format!("mailto:{PLACEHOLDER_CONTACT}"), &escape(contact))
            .replace(PLACEHOLDER_CONTACT, &escape(contact)),
        Some(contact) => text.replace(PLACEHOLDER_CONTACT, &escape(contact)),
        None => {
            text.split_inclusive('\n').filter(|line| !line.contains(PLACEHOLDER_CONTACT)).collect()
        }
    };
    let Some(site_url) = &operator.site_url else {
        let lines = text.split_inclusive('\n').filter(|line| !must_name_the_site(line));
        return lines.collect::<String>().replace(PLACEHOLDER_SITE_URL, "");
    };
    text.replace(PLACEHOLDER_SITE_URL, &escape(site_url))
}

fn must_name_the_site(line: &str) -> bool {
    ["<meta ", "<link ", "Sitemap:"].iter().any(|start| line.starts_with(start))
        && line.contains(PLACEHOLDER_SITE_URL)
}

/// Escapes text for HTML and for attribute values in double quotes.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn reference(from: &str, to: &str) -> String {
    let folder = |name: &str| name.rsplit_once('/').map(|(folder, _)| folder.to_owned());
    match (folder(from), to.rsplit_once('/')) {
        (Some(own), Some((other, file))) if own == other => format!("\"./{file}\""),
        _ => format!("\"{to}\""),
    }
}

fn refers_to(text: &str, from: &str, to: &str) -> bool {
    text.contains(&reference(from, to))
}

fn rewrite(text: &str, from: &str, named: &BTreeMap<String, String>) -> String {
    let mut text = text.to_owned();
    for (name, key) in named {
        text = text.replace(&reference(from, name), &reference(from, key));
        text = text.replace(&format!("\"/{name}\""), &format!("\"/{key}\""));
    }
    text
}

fn hashed_name(name: &str, bytes: &[u8]) -> String {
    let hash = content_hash(bytes);
    match name.rsplit_once('.') {
        Some((stem, extension)) => format!("{stem}.{hash}.{extension}"),
        None => format!("{name}.{hash}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_leads_to_a_published_file() {
        let files = page_files(&SiteOperator::default());
        let keys: Vec<&str> = files.iter().map(|file| file.key.as_str()).collect();
        assert_eq!(keys.last(), Some(&"index.html"));
        assert!(keys.contains(&link_script(&files)), "{keys:?}");
        for file in &files {
            let text = String::from_utf8_lossy(&file.bytes);
            for (name, _) in SITE_FILES.iter().filter(|(name, _)| is_hashed(name)) {
                assert!(!refers_to(&text, &file.key, name), "{} still names {name}", file.key);
            }
            let module = |piece: &&str| piece.starts_with("./") && piece.ends_with(".js");
            for piece in text.split('"').filter(module) {
                let folder = file.key.rsplit_once('/').map_or("", |(folder, _)| folder);
                let key = format!("{folder}/{}", piece.trim_start_matches("./"));
                assert!(keys.contains(&key.as_str()), "{} refers to {piece}", file.key);
            }
        }
    }

    #[test]
    fn a_change_at_the_end_of_the_imports_changes_every_name_above() {
        let site = |leaf: &'static [u8]| {
            let files: [(&str, &[u8]); 3] = [
                ("index.html", b"<script src=\"js/main.js\">"),
                ("js/leaf.js", leaf),
                ("js/main.js", b"import { x } from \"./leaf.js\";"),
            ];
            publishable(&files, &SiteOperator::default())
        };
        let (before, after) = (site(b"one"), site(b"two"));
        assert_eq!(before.len(), 3);
        for (old, new) in before.iter().zip(&after) {
            assert_eq!(old.key == new.key, old.key == "index.html");
            assert_ne!(old.bytes, new.bytes);
        }
    }

    #[test]
    fn pages_say_who_runs_them_and_pictures_stay_as_they_are() {
        let html = format!(
            "<meta content=\"{PLACEHOLDER_SITE_URL}preview.png\">\n<p>{PLACEHOLDER_USER_AGENT}\n\
             <a href=\"mailto:{PLACEHOLDER_CONTACT}\">{PLACEHOLDER_CONTACT}</a>\n"
        );
        let picture = b"\x89PNG\xff\xfe".as_slice();
        let files: [(&str, &[u8]); 2] = [("bot.html", html.as_bytes()), ("icons/a.png", picture)];
        let published = |operator: &SiteOperator| {
            let files = publishable(&files, operator);
            assert_eq!(files[1].bytes, picture);
            String::from_utf8(files[0].bytes.clone()).unwrap()
        };
        let all = SiteOperator {
            site_url: Some("https://tabs.example/".into()),
            contact: Some("me@tabs.example".into()),
            user_agent: Some("Bot <1> (+https://everytab.example/bot.html)".into()),
        };
        let expected = "<meta content=\"https://tabs.example/preview.png\">\n\
                        <p>Bot &lt;1&gt; (+https://everytab.example/bot.html)\n\
                        <a href=\"mailto:me@tabs.example\">me@tabs.example</a>\n";
        assert_eq!(published(&all), expected);
        let page = SiteOperator { contact: Some("https://tabs.example/write".into()), ..all };
        assert!(published(&page).contains("<a href=\"https://tabs.example/write\">"));
        let none = published(&SiteOperator::default());
        assert_eq!(none, format!("<p>{PLACEHOLDER_USER_AGENT}\n"));
    }

    #[test]
    fn addresses_of_the_site_are_whole_or_absent() {
        let text_of = |operator: &SiteOperator, key: &str| {
            let file = page_files(operator).into_iter().find(|file| file.key == key);
            file.map(|file| String::from_utf8(file.bytes).unwrap())
        };
        let here =
            SiteOperator { site_url: Some("https://tabs.page/".into()), ..Default::default() };
        let nowhere = SiteOperator::default();
        let sitemap = text_of(&here, SITEMAP).unwrap();
        let robots = text_of(&here, "robots.txt").unwrap();
        assert!(robots.contains("\nSitemap: https://tabs.page/sitemap.xml\n"), "{robots}");
        assert_eq!(text_of(&nowhere, SITEMAP), None);
        assert!(!text_of(&nowhere, "robots.txt").unwrap().contains("Sitemap"));
        assert!(changing_keys().contains(&SITEMAP.to_owned()));
        for page in ["", "map.html", "stats.html", "about.html", "bot.html"] {
            let address = format!("https://tabs.page/{page}");
            assert!(sitemap.contains(&format!("<loc>{address}</loc>")), "{address}");
            let key = if page.is_empty() { object_names::INDEX_HTML } else { page };
            let html = text_of(&here, key).unwrap();
            for tag in [
                format!("<link rel=\"canonical\" href=\"{address}\">"),
                format!("<meta property=\"og:url\" content=\"{address}\">"),
                "<meta property=\"og:image\" content=\"https://tabs.page/preview.png\">".to_owned(),
            ] {
                assert!(html.contains(&tag), "{key} lacks {tag}");
            }
            let html = text_of(&nowhere, key).unwrap();
            assert!(!html.contains("canonical") && !html.contains("og:image\""), "{key}");
        }
    }

    #[test]
    fn without_a_contact_no_page_asks_visitors_to_write() {
        for file in page_files(&SiteOperator::default()) {
            if file.key.ends_with(".html") {
                let text = String::from_utf8(file.bytes).unwrap();
                assert!(!text.contains("rite to"), "{}", file.key);
            }
        }
    }

    #[test]
    fn what_the_operator_replaces_stands_in_the_pages() {
        let page = |name: &str| {
            let found = SITE_FILES.iter().find(|(other, _)| *other == name);
            std::str::from_utf8(found.unwrap().1).unwrap()
        };
        assert!(page("index.html").contains(&format!("\"{PLACEHOLDER_SITE_URL}preview.png\"")));
        let bot = page("bot.html");
        assert!(bot.contains(PLACEHOLDER_USER_AGENT) && bot.contains(PLACEHOLDER_CONTACT));
    }

    #[test]
    fn files_with_a_hash_in_their_name_are_cached_for_long() {
        for file in page_files(&SiteOperator::default()) {
            let is_kept_long =
                object_names::cache_control(&file.key) == object_names::CACHE_IMMUTABLE;
            assert_eq!(is_kept_long, is_hashed(&file.key), "{}", file.key);
        }
    }
}
