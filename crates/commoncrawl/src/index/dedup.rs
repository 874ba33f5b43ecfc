//! Deduplication in the stream: one capture a hostname within one site, in bounded memory.
//!
//! The index is sorted by url_surtkey, which drops a leading `www.`: the rows of `www.x` and `x`
//! interleave under one key. The hostname says that key as well as the column would, which is the
//! second largest of the file and so is not read: the hostnames of the current site are held until
//! another comes. Invariant: whatever the order of the rows, each hostname keeps its best capture
//! among those that stood together; rows that did not only give more captures of a hostname.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::capture::Capture;

/// A site has a handful of hostnames (`www`, `www2`, ...); more than this is no sorted index, and
/// holding fewer captures is never wrong.
const MAX_HELD_HOSTNAMES: usize = 4_096;

/// The hostnames that were seen of the current site, each with its best capture so far.
#[derive(Debug, Default)]
pub(super) struct Deduplicator {
    site: String,
    held: BTreeMap<String, Capture>,
    duplicates_removed: u64,
}

impl Deduplicator {
    /// Takes one more capture. Where it belongs to another site than those held, returns those,
    /// ordered by hostname.
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

    /// Returns what is held, ordered by hostname.
    pub(super) fn take(&mut self) -> Vec<Capture> {
        self.site.clear();
        std::mem::take(&mut self.held).into_values().collect()
    }

    /// How many captures a better one of the same hostname has displaced or kept out.
    pub(super) fn duplicates_removed(&self) -> u64 {
        self.duplicates_removed
    }
}

/// The hostname without `www.`, `www2.` and so on in front, as surtkeys leave it out.
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
