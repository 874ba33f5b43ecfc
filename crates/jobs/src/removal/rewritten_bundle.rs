//! A bundle without the tabs of excluded hosts, as the parts of a removal share it.

use std::collections::BTreeSet;

use everytab_bundler::PublishedBundle;

/// A bundle without the tabs of excluded hosts.
#[derive(Debug)]
pub struct RewrittenBundle {
    /// The bundle's number.
    pub number: i32,
    /// The bundle's path below the scan's prefix, which names its content.
    pub path: String,
    /// Tabs that were removed.
    pub tabs: u64,
    /// Tabs with an icon that were removed.
    pub with_icon: u64,
    pub(super) bundle: PublishedBundle,
    /// Where in the bundle other tabs may be now.
    pub(super) slots: BTreeSet<usize>,
}
