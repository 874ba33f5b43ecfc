//! A bundle without the tabs of excluded hosts, shared by the parts of a removal.

use std::collections::BTreeSet;

use everytab_bundler::PublishedBundle;

/// A bundle without the tabs of excluded hosts.
#[derive(Debug)]
pub struct RewrittenBundle {
    /// The bundle's number.
    pub number: i32,
    /// The bundle's path below the scan's prefix, derived from its content.
    pub path: String,
    /// Removed tabs.
    pub tabs: u64,
    /// Removed tabs with an icon.
    pub with_icon: u64,
    pub(super) bundle: PublishedBundle,
    /// The slots that may hold another tab now.
    pub(super) slots: BTreeSet<usize>,
}
