//! Removes duplicates while rows are read: keeps one capture per hostname in a site, in bounded
//! memory.
//!
//! The index is sorted by url_surtkey, which omits a leading `www.`, so the rows for `www.x` and
//! `x` are interleaved under one key. We derive this key from the hostname, so that we need not
//! read its column, which is the file's second largest. We hold the current site's captures until
//! another site starts. Invariant: in any row order, each hostname keeps the best of its adjacent
//! captures. If a site's rows are not adjacent, a hostname may get more than one capture, which is
//! not an error.

use std::{cmp::Ordering, collections::BTreeMap};

use super::capture::Capture;

/// Maximum hostnames that are held. A site has only a few (`www`, `www2`, ...). If there are more,
/// the index is not sorted, and returning the held captures early is never wrong.
const MAX_HELD_HOSTNAMES: usize = 4_096;

/// The current site's hostnames, each with its best capture so far.
#[derive(Debug, Default)]
pub(super) struct Deduplicator {
    site: String,
    held: BTreeMap<String, Capture>,
    duplicates_removed: u64,
}

impl Deduplicator {
    /// Adds a capture. If it belongs to a new site, or if too many captures are held, returns the
    /// previously held ones, ordered by hostname.
    pub(super) fn push(&mut self, capture: Capture) -> Option<Vec<Capture>> {
        let site = site_of(&capture.hostname);
        let is_new_site = self.site != site || self.held.len() >= MAX_HELD_HOSTNAMES;
        let done = is_new_site.then(|| std::mem::take(&mut self.held).into_values().collect());
        if is_new_site {
            site.clone_into(&mut self.site);
        }
        match self.held.get_mut(&capture.hostname) {
            None => {
                self.held.insert(capture.hostname.clone(), capture);
            }
            Some(best) => {
                self.duplicates_removed += 1;
                if capture.preference(best) == Ordering::Less {
                    *best = capture;
                }
            }
        }
        done
    }

    /// Returns the held captures, ordered by hostname.
    pub(super) fn take(&mut self) -> Vec<Capture> {
        self.site.clear();
        std::mem::take(&mut self.held).into_values().collect()
    }

    /// Returns how many captures were dropped because another one for the same hostname was at
    /// least as good.
    pub(super) fn duplicates_removed(&self) -> u64 {
        self.duplicates_removed
    }
}

/// Returns the hostname without a leading `www.`, `www2.` and so on, as in a surtkey.
fn site_of(hostname: &str) -> &str {
    let rest =
        hostname.strip_prefix("www").unwrap_or("").trim_start_matches(|c: char| c.is_ascii_digit());
    rest.strip_prefix('.').filter(|site| !site.is_empty()).unwrap_or(hostname)
}

#[cfg(test)]
mod tests {
    use super::site_of;

    #[test]
    fn a_site_is_the_hostname_without_its_www() {
        for hostname in ["a.example", "www.a.example", "www2.a.example", "www17.a.example"] {
            assert_eq!(site_of(hostname), "a.example");
        }
        for hostname in ["wwwa.example", "ww.a.example", "www-2.a.example", "www.", "www2"] {
            assert_eq!(site_of(hostname), hostname);
        }
    }
}
