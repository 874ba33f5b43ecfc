//! Icons that many hosts show alike: the default icons of hosters and of the programs they run.
//!
//! A shard is a random slice of the scan's hosts, so what is common in the scan is common in most
//! of its shards, and each shard counts for itself: a pure function of its tabs. What is rare in
//! every shard is not counted, which also bounds the names: 200 a shard. Must not know why hosts
//! share an icon: an organisation with many hosts looks the same.

use std::collections::HashMap;

use everytab_bundler::bundle::Tab;
use sha2::{Digest, Sha256};

use super::stats::Stats;

/// Hosts of a shard that show an icon before it is common: by number, and by share of the tabs.
const LEAST_HOSTS: usize = 3;
const LEAST_SHARE: usize = 200;
/// Hex digits of the PNG's SHA-256 in the name of a count.
const NAME_DIGITS: usize = 16;

/// Counts the tabs with each common icon as `common_icon_` and its hash.
pub(super) fn count(tabs: &[Tab], stats: &mut Stats) {
    let mut hosts: HashMap<&[u8], usize> = HashMap::new();
    for icon in tabs.iter().filter_map(|tab| tab.icon.as_ref()) {
        *hosts.entry(&icon.png).or_default() += 1;
    }
    for (png, hosts) in hosts {
        if hosts >= LEAST_HOSTS && hosts * LEAST_SHARE >= tabs.len() {
            let digest: String =
                Sha256::digest(png).iter().map(|byte| format!("{byte:02x}")).collect();
            stats.count(&format!("common_icon_{}", &digest[..NAME_DIGITS]), hosts as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use everytab_icon::convert::to_tab_icon;

    use super::*;

    fn tabs(icons: &[(&str, usize)]) -> Vec<Tab> {
        let svg = |colour: &str| {
            let text = format!(
                "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 9 9'>\
                 <circle cx='4' cy='4' r='3' fill='{colour}'/></svg>"
            );
            to_tab_icon(text.as_bytes()).ok()
        };
        let some = |&(colour, hosts): &(&str, usize)| {
            let tab = Tab {
                url: "https://a.example".into(),
                title: "A".into(),
                icon: svg(colour),
                iframe_ok: true,
            };
            vec![tab; hosts]
        };
        icons.iter().flat_map(some).collect()
    }

    #[test]
    fn only_icons_of_three_hosts_and_half_a_percent_are_common() {
        let common = |icons: &[(&str, usize)]| {
            let mut stats = Stats::default();
            count(&tabs(icons), &mut stats);
            let stats = serde_json::to_value(&stats).unwrap();
            let counts = stats["counts"].as_object().cloned().unwrap_or_default();
            assert!(counts.keys().all(|name| name.len() == "common_icon_".len() + NAME_DIGITS));
            let mut hosts: Vec<u64> = counts.values().filter_map(|n| n.as_u64()).collect();
            hosts.sort_unstable();
            hosts
        };
        assert_eq!(common(&[("red", 5), ("blue", 3), ("green", 2)]), [3, 5]);
        // No colour that is drawn: tabs without an icon have none in common.
        assert_eq!(common(&[("none", 900), ("red", 4), ("blue", 6)]), [6]);
        assert_eq!(common(&[]), [0u64; 0]);
    }
}
