//! A published bundle, which takedowns rewrite and the preview picture uses.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Error as JsonError;
use url::Url;

use crate::{
    bundle_json::{BundleEntry, BundleJson},
    object_names::{self, content_hash},
};

/// A published bundle's tabs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedBundle {
    json: BundleJson<'static>,
}

/// The result of [`PublishedBundle::remove`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemovedTab {
    /// The tab's former index in the bundle.
    pub slot: usize,
    /// True if the tab had an icon.
    pub had_icon: bool,
}

impl PublishedBundle {
    /// Parses a bundle file.
    ///
    /// # Errors
    /// Returns an error if the bytes are not JSON, or lack a field in `bundle.schema.json`.
    pub fn read(bytes: &[u8]) -> Result<Self, JsonError> {
        Ok(Self { json: serde_json::from_slice(bytes)? })
    }

    /// Removes a host's tab and moves the last tab to its index. All other tabs keep the index that
    /// the search files contain. `None` if this host has no tab in the bundle.
    pub fn remove(&mut self, hostname: &str) -> Option<RemovedTab> {
        let slot = self.json.entries.iter().position(|entry| is_of(entry, hostname))?;
        let removed = self.json.entries.swap_remove(slot);
        Some(RemovedTab { slot, had_icon: !removed.icon.is_empty() })
    }

    /// Iterates over the tabs: the hostname, the title, and whether there is an icon.
    pub fn tabs(&self) -> impl Iterator<Item = (String, &str, bool)> {
        (0..self.json.entries.len()).zip(&self.json.entries).map(|(slot, entry)| {
            let hostname = self.hostname_at(slot).unwrap_or_default();
            (hostname, entry.title.as_ref(), !entry.icon.is_empty())
        })
    }

    /// Returns the host at this tab index. `None` if the bundle has fewer tabs.
    #[must_use]
    pub fn hostname_at(&self, slot: usize) -> Option<String> {
        let url = &self.json.entries.get(slot)?.url;
        let address = url.split_once("://").map_or(url.as_ref(), |(_, rest)| rest);
        address.split('/').next().map(str::to_owned)
    }

    /// Iterates over the icons of all tabs. Yields `None` for a tab without a valid icon.
    pub fn icons(&self) -> impl Iterator<Item = Option<Vec<u8>>> {
        let icon = |entry: &BundleEntry<'_>| {
            if entry.icon.is_empty() { None } else { STANDARD.decode(entry.icon.as_ref()).ok() }
        };
        self.json.entries.iter().map(icon)
    }

    /// Returns a host's tab index and icon. `None` if the host has no tab here, or its tab has no
    /// valid icon.
    #[must_use]
    pub fn icon_of(&self, hostname: &str) -> Option<(usize, Vec<u8>)> {
        let slot = self.json.entries.iter().position(|entry| is_of(entry, hostname))?;
        Some((slot, self.icons().nth(slot)??))
    }

    /// Serializes the bundle like [`crate::bundle::write`].
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.json.to_bytes()
    }

    /// Returns the path for bundle `number` with this content.
    #[must_use]
    pub fn path(&self, number: i32) -> String {
        let hash = content_hash(&self.to_bytes());
        object_names::rewritten_bundle_path(number, &hash)
    }

    pub(crate) fn icons_and_titles(&self) -> impl Iterator<Item = (&str, &str)> {
        let with_icon = self.json.entries.iter().filter(|entry| !entry.icon.is_empty());
        with_icon.map(|entry| (entry.icon.as_ref(), entry.title.as_ref()))
    }
}

fn is_of(entry: &BundleEntry<'_>, hostname: &str) -> bool {
    // Parsing could change the crawl's hostname, so compare the unparsed URL first.
    let address = entry.url.split_once("://").map_or("", |(_, rest)| rest);
    address.split('/').next() == Some(hostname)
        || Url::parse(&entry.url).is_ok_and(|url| url.host_str() == Some(hostname))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::{self, BundleIcon, Tab};

    fn tab(hostname: &str) -> Tab {
        let title = format!("</title> of {hostname}");
        Tab { url: format!("https://{hostname}"), title, icon: None, iframe_ok: true }
    }

    #[test]
    fn reading_and_writing_keeps_every_byte() {
        let bytes = bundle::write(&[tab("a.example"), tab("b_.example")]);
        assert_eq!(PublishedBundle::read(&bytes).unwrap().to_bytes(), bytes);
        assert!(PublishedBundle::read(b"{}").is_err());
    }

    #[test]
    fn a_host_has_its_own_icon_or_none() {
        let icon = |png: &[u8]| Some(BundleIcon { png: png.to_vec(), width: 1, height: 1 });
        let tabs = [
            tab("a.example"),
            Tab { icon: icon(b"b"), ..tab("b.example") },
            Tab { icon: icon(b"c"), ..tab("www.b.example") },
        ];
        let bundle = PublishedBundle::read(&bundle::write(&tabs)).unwrap();
        let of = |hostname| bundle.icon_of(hostname);
        assert_eq!(of("www.b.example"), Some((2, b"c".to_vec())));
        assert_eq!(of("b.example"), Some((1, b"b".to_vec())));
        assert_eq!([of("a.example"), of("example")], [None, None]);
    }

    #[test]
    fn the_last_tab_takes_the_place_of_the_removed_one() {
        let hosts = ["a.example", "b_.example", "c.example"];
        let mut bundle = PublishedBundle::read(&bundle::write(&hosts.map(tab))).unwrap();
        let before = bundle.path(7);
        let removed = RemovedTab { slot: 1, had_icon: false };
        assert_eq!(bundle.remove("b_.example"), Some(removed));
        assert_eq!(bundle.remove("b_.example"), None);
        assert_eq!(bundle.hostname_at(1).as_deref(), Some("c.example"));
        assert_eq!(bundle.hostname_at(2), None);
        assert_ne!(bundle.path(7), before);
        let path = bundle.path(7);
        assert!(path.starts_with("tabs/7-") && path.len() == "tabs/7-.json".len() + 16, "{path}");
    }
}
