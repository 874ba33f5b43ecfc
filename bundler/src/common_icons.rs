//! Counts icons that many hosts in a shard share, such as the default icons of hosting companies.
//!
//! A shard is a random sample of the scan's hosts, so an icon that is common in the scan is common
//! in most shards.

use std::collections::{BTreeMap, HashMap};

use sha2::{Digest, Sha256};

use crate::bundle::Tab;

/// At least this many hosts in a shard must share an icon for it to be common, because two hosts
/// may be one site with two names.
const MIN_HOSTS: usize = 3;
/// An icon is common only if at least one in this many of the shard's tabs has it, so a shard has
/// at most 200 common icons.
const ONE_TAB_IN: usize = 200;
/// An icon is identified by this many leading hexadecimal digits of its PNG's SHA-256.
const NAME_DIGITS: usize = 16;

/// Returns each common icon's number of tabs, by the first digits of its SHA-256.
#[must_use]
pub fn common_icons(tabs: &[Tab]) -> BTreeMap<String, u64> {
    let mut hosts: HashMap<&[u8], usize> = HashMap::new();
    for icon in tabs.iter().filter_map(|tab| tab.icon.as_ref()) {
        *hosts.entry(&icon.png).or_default() += 1;
    }
    let mut common = BTreeMap::new();
    for (png, hosts) in hosts {
        if hosts >= MIN_HOSTS && hosts * ONE_TAB_IN >= tabs.len() {
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
