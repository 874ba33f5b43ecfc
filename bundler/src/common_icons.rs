//! Counts icons that many hosts of a shard show: the default icons of hosting companies and of the
//! software that sites use.
//!
//! A shard is a random sample of the scan's hosts, so an icon that is common in the scan is common
//! in most of its shards, and each shard is counted separately. An icon that is rare in every shard
//! is not counted, which bounds the number of names to at most 200 per shard. Does not depend on
//! why hosts share an icon: an organisation with many hosts looks the same.

use std::collections::{BTreeMap, HashMap};

use sha2::{Digest, Sha256};

use crate::bundle::Tab;

/// Minimum number of a shard's hosts with a common icon: two may be one site under two names.
const MIN_HOSTS: usize = 3;
/// An icon is common if at least one in this many tabs has it, which is half a percent.
const TABS_PER_HOST: usize = 200;
/// Hex digits of the PNG's SHA-256 that name an icon in the counts: 64 bits distinguish icons.
const NAME_DIGITS: usize = 16;

/// Returns the number of tabs with each common icon, by the first digits of its PNG's SHA-256 in
/// hex.
#[must_use]
pub fn common_icons(tabs: &[Tab]) -> BTreeMap<String, u64> {
    let mut hosts: HashMap<&[u8], usize> = HashMap::new();
    for icon in tabs.iter().filter_map(|tab| tab.icon.as_ref()) {
        *hosts.entry(&icon.png).or_default() += 1;
    }
    let mut common = BTreeMap::new();
    for (png, hosts) in hosts {
        if hosts >= MIN_HOSTS && hosts * TABS_PER_HOST >= tabs.len() {
            let digest = hex::encode(Sha256::digest(png));
            *common.entry(digest[..NAME_DIGITS].to_owned()).or_default() += hosts as u64;
        }
    }
    common
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::BundleIcon;

    /// Returns tabs with icons, each a PNG of one byte, and the number of tabs that have it.
    fn tabs(icons: &[(Option<u8>, usize)]) -> Vec<Tab> {
        let some = |&(png, hosts): &(Option<u8>, usize)| {
            let icon = png.map(|byte| BundleIcon { png: vec![byte], width: 1, height: 1 });
            let (url, title) = ("https://a.example".into(), "A".into());
            vec![Tab { url, title, icon, iframe_ok: true }; hosts]
        };
        icons.iter().flat_map(some).collect()
    }

    #[test]
    fn only_icons_of_three_hosts_and_half_a_percent_are_common() {
        let common = |icons: &[(Option<u8>, usize)]| {
            let counts = common_icons(&tabs(icons));
            assert!(counts.keys().all(|name| name.len() == NAME_DIGITS));
            let mut hosts: Vec<u64> = counts.into_values().collect();
            hosts.sort_unstable();
            hosts
        };
        assert_eq!(common(&[(Some(1), 5), (Some(2), 3), (Some(3), 2)]), [3, 5]);
        assert_eq!(common(&[(None, 900), (Some(1), 4), (Some(2), 6)]), [6]);
        assert_eq!(common(&[]), [0u64; 0]);
    }
}
