//! The tabs that a published site must not show because their host, title or icon was removed.

use std::collections::HashSet;

use crate::{
    icon_list::{DigestPrefix, prefix_of_hex},
    removed_hosts::RemovedHosts,
    takedown_list::PatternKind,
    title_pattern::TitlePattern,
};

/// Hosts, titles and icons that no tab may have.
#[derive(Debug, Clone, Default)]
pub struct RemovedTabs {
    /// The hosts, by name or domain.
    pub hosts: RemovedHosts,
    /// Excluded titles and icons.
    pub content: RemovedContent,
}

/// Titles and icons that no tab may have.
#[derive(Debug, Clone, Default)]
pub struct RemovedContent {
    /// The titles.
    pub titles: Vec<TitlePattern>,
    /// The icons, by the first bytes of their SHA-256.
    pub icons: HashSet<DigestPrefix>,
}

impl RemovedContent {
    /// Returns true if no title and no icon is excluded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.titles.is_empty() && self.icons.is_empty()
    }
}

impl RemovedTabs {
    /// Excludes everything that matches a pattern. A malformed SHA-256 is ignored.
    pub fn add(&mut self, kind: PatternKind, pattern: &str) {
        match kind {
            PatternKind::Hostname => drop(self.hosts.hostnames.insert(pattern.to_owned())),
            PatternKind::Suffix => drop(self.hosts.suffixes.insert(pattern.to_owned())),
            PatternKind::Title => self.content.titles.push(TitlePattern::new(pattern)),
            PatternKind::Sha256 => self.content.icons.extend(prefix_of_hex(pattern)),
        }
    }
}
