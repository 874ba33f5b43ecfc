//! The page's files as they are published: names with a hash of the content, references rewritten.
//!
//! A file is named after what it refers to: modules without imports come first, then those that
//! import only named ones, and index.html last, which alone keeps its name.

use std::collections::BTreeMap;

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

/// The page's files, index.html last, so that what it names is there before it is.
pub fn page_files() -> Vec<PageFile> {
    publishable(SITE_FILES)
}

fn publishable(files: &[(&str, &[u8])]) -> Vec<PageFile> {
    let mut waiting: BTreeMap<&str, String> = files
        .iter()
        .map(|(name, bytes)| (*name, String::from_utf8_lossy(bytes).into_owned()))
        .collect();
    let index = waiting.remove("index.html");
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
    if let Some(text) = index {
        let bytes = rewrite(&text, "index.html", &named).into_bytes();
        published.push(PageFile { key: "index.html".into(), bytes });
    }
    published
}

/// How a file of the page writes a reference to another: modules say `"./x.js"`, the page itself
/// the whole name.
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
        let files = page_files();
        let keys: Vec<&str> = files.iter().map(|file| file.key.as_str()).collect();
        assert_eq!(keys.last(), Some(&"index.html"));
        for file in &files {
            let text = String::from_utf8_lossy(&file.bytes);
            for (name, _) in SITE_FILES {
                assert!(!refers_to(&text, &file.key, name), "{} still names {name}", file.key);
            }
            for piece in text.split('"').filter(|piece| piece.starts_with("./")) {
                let folder = file.key.rsplit_once('/').map_or("", |(folder, _)| folder);
                let key = format!("{folder}/{}", piece.trim_start_matches("./"));
                assert!(keys.contains(&key.as_str()), "{} refers to {piece}", file.key);
            }
        }
    }

    #[test]
    fn a_change_at_the_end_of_the_imports_changes_every_name_above() {
        let site = |leaf: &'static [u8]| {
            publishable(&[
                ("index.html", b"<script src=\"js/main.js\">"),
                ("js/leaf.js", leaf),
                ("js/main.js", b"import { x } from \"./leaf.js\";"),
            ])
        };
        let (before, after) = (site(b"one"), site(b"two"));
        assert_eq!(before.len(), 3);
        for (old, new) in before.iter().zip(&after) {
            assert_eq!(old.key == new.key, old.key == "index.html");
            assert_ne!(old.bytes, new.bytes);
        }
    }
}
