//! The page's files as they are published: names with a hash of the content, references rewritten.
//!
//! A file is named after what it refers to: modules without imports come first, then those that
//! import only named ones, and index.html last, which alone keeps its name.

use std::collections::BTreeMap;

use everytab_storage::objects;
use sha2::{Digest, Sha256};

include!(concat!(env!("OUT_DIR"), "/site.rs"));

/// One file of the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageFile {
    /// Its key at the site's root.
    pub key: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// What the pages say of who runs them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Where the site is to be found, with a slash at the end.
    pub site_url: Option<String>,
    /// Where to write to: a mail address or an https address.
    pub contact: Option<String>,
    /// How the robot calls itself.
    pub user_agent: Option<String>,
}

/// What stands in the pages as they are written, for [`Facts`] to take the place of.
const SITE_URL: &str = "https://everytab.example/";
const CONTACT: &str = "contact@everytab.example";
const USER_AGENT: &str = "EveryTabBot/1.0 (+https://everytab.example/bot.html)";

/// Folders of the site whose files are named by their content, and so never change.
pub const HASHED_FOLDERS: [&str; 2] = ["css/", "js/"];

/// Whether a file of the page, or an object of a site, is in one of [`HASHED_FOLDERS`].
pub fn is_hashed(key: &str) -> bool {
    HASHED_FOLDERS.iter().any(|folder| key.starts_with(folder))
}

/// The keys of a site that publishing changes under their names, the manifest last.
pub fn changing_keys() -> Vec<String> {
    let pages = page_files(&Facts::default()).into_iter().map(|file| file.key);
    let others = [objects::STATS, objects::HISTORY, objects::PREVIEW, objects::MANIFEST];
    pages.filter(|key| !is_hashed(key)).chain(others.map(str::to_owned)).collect()
}

/// The page's files, index.html last, so that what it names is there before it is.
pub fn page_files(facts: &Facts) -> Vec<PageFile> {
    publishable(SITE_FILES, facts)
}

fn publishable(files: &[(&str, &[u8])], facts: &Facts) -> Vec<PageFile> {
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
        // A circle of imports cannot be named by content; the site's own tests forbid one.
        let Some(name) = free.or_else(|| waiting.keys().next().copied()) else { break };
        let text = rewrite(&waiting.remove(name).unwrap_or_default(), name, &named);
        let key = hashed_name(name, text.as_bytes());
        named.insert(name.to_owned(), key.clone());
        published.push(PageFile { key, bytes: text.into_bytes() });
    }
    let mut others: Vec<_> = files.iter().filter(|(name, _)| !is_hashed(name)).collect();
    others.sort_by_key(|(name, _)| *name == "index.html");
    for (name, bytes) in others {
        let bytes = match std::str::from_utf8(bytes) {
            Ok(text) if name.ends_with(".html") => {
                fill_in(&rewrite(text, name, &named), facts).into_bytes()
            }
            _ => bytes.to_vec(),
        };
        published.push(PageFile { key: (*name).to_owned(), bytes });
    }
    published
}

/// Puts the facts in; a line about a contact that there is not is left out.
fn fill_in(text: &str, facts: &Facts) -> String {
    let text = match &facts.user_agent {
        Some(agent) => text.replace(USER_AGENT, &escape(agent)),
        None => text.to_owned(),
    };
    let text = match &facts.contact {
        Some(contact) if contact.starts_with("https://") => text
            .replace(&format!("mailto:{CONTACT}"), &escape(contact))
            .replace(CONTACT, &escape(contact)),
        Some(contact) => text.replace(CONTACT, &escape(contact)),
        None => {
            text.lines().filter(|line| !line.contains(CONTACT)).flat_map(|l| [l, "\n"]).collect()
        }
    };
    // Without an address of its own the site names its files from where it is.
    text.replace(SITE_URL, &escape(facts.site_url.as_deref().unwrap_or_default()))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// How a file of the page writes a reference to another: modules say `"./x.js"`, pages the whole
/// name, and the page for what is not there, which may stand anywhere, `"/css/x.css"`.
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

/// `js/main.js` to `js/main.0123456789abcdef.js`.
fn hashed_name(name: &str, bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let hash: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
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
        let files = page_files(&Facts::default());
        let keys: Vec<&str> = files.iter().map(|file| file.key.as_str()).collect();
        assert_eq!(keys.last(), Some(&"index.html"));
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
            publishable(&files, &Facts::default())
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
            "<meta content=\"{SITE_URL}preview.png\">\n<p>{USER_AGENT}\n\
             <a href=\"mailto:{CONTACT}\">{CONTACT}</a>\n"
        );
        let picture = b"\x89PNG\xff\xfe".as_slice();
        let files: [(&str, &[u8]); 2] = [("bot.html", html.as_bytes()), ("icons/a.png", picture)];
        let published = |facts: &Facts| {
            let files = publishable(&files, facts);
            assert_eq!(files[1].bytes, picture);
            String::from_utf8(files[0].bytes.clone()).unwrap()
        };
        let all = Facts {
            site_url: Some("https://tabs.example/".into()),
            contact: Some("me@tabs.example".into()),
            user_agent: Some("Bot <1>".into()),
        };
        let expected = "<meta content=\"https://tabs.example/preview.png\">\n<p>Bot &lt;1&gt;\n\
                        <a href=\"mailto:me@tabs.example\">me@tabs.example</a>\n";
        assert_eq!(published(&all), expected);
        let page = Facts { contact: Some("https://tabs.example/write".into()), ..all };
        assert!(published(&page).contains("<a href=\"https://tabs.example/write\">"));
        let none = published(&Facts::default());
        assert!(none.starts_with("<meta content=\"preview.png\">"), "{none}");
        assert!(!none.contains("contact@") && !none.contains("href"), "{none}");
    }

    #[test]
    fn what_the_facts_replace_stands_in_the_pages() {
        let page = |name: &str| {
            let found = SITE_FILES.iter().find(|(other, _)| *other == name);
            std::str::from_utf8(found.unwrap().1).unwrap()
        };
        assert!(page("index.html").contains(&format!("\"{SITE_URL}preview.png\"")));
        assert!(page("bot.html").contains(USER_AGENT) && page("bot.html").contains(CONTACT));
        let default = everytab_fetcher::FetchSettings::default().user_agent;
        assert_eq!(default, USER_AGENT);
    }
}
