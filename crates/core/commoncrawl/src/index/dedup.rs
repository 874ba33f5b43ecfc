//! Keeps one capture per hostname while rows are read, in bounded memory.
//!
//! The index is sorted by `url_surtkey`, which omits a leading `www.`, so the rows for `www.x` and
//! `x` are interleaved. Rarely, a hostname gets several captures, which is harmless.

use std::{cmp::Ordering, collections::BTreeMap};

use super::capture::Capture;

/// Maximum hostnames to hold. At this limit, captures are returned early, which is never wrong.
const MAX_HELD_HOSTNAMES: usize = 4_096;

#[derive(Debug, Default)]
pub(super) struct Deduplicator {
    site: String,
    held: BTreeMap<String, Capture>,
    duplicates_removed: u64,
}

impl Deduplicator {
    /// Adds a capture. Returns the captures held before this one if a new site starts or the limit
    /// is reached.
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

    pub(super) fn take(&mut self) -> Vec<Capture> {
        self.site.clear();
        std::mem::take(&mut self.held).into_values().collect()
    }

    pub(super) fn duplicates_removed(&self) -> u64 {
        self.duplicates_removed
    }
}

/// Omits a leading `www.`, `www2.` and so on, as in a surtkey.
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
