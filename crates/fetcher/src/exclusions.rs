//! What must not be asked from now on: added while shards are fetched, and obeyed by requests that
//! are under way.
//!
//! Invariant: an exclusion is never taken back, so adding one twice changes nothing.
//! Must not know: who excludes, and of which scan.

use std::{net::IpAddr, sync::Arc};

use ipnet::IpNet;
use tokio::sync::watch;

use crate::blocklist::Blocklist;

/// One thing that must not be asked any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exclusion {
    /// A hostname.
    Hostname(String),
    /// A domain with all hosts below it.
    Suffix(String),
    /// All addresses of a network, under whatever name.
    Network(IpNet),
}

#[derive(Clone, Debug, Default)]
struct Excluded {
    names: Blocklist,
    networks: Vec<IpNet>,
    version: i32,
}

impl Excluded {
    fn covers(&self, host: &str, addresses: &[IpAddr]) -> bool {
        let is_inside = |address| self.networks.iter().any(|network| network.contains(address));
        self.names.blocks(host.trim_end_matches('.')) || addresses.iter().any(is_inside)
    }
}

/// What must not be asked from now on. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Exclusions(Arc<watch::Sender<Excluded>>);

impl Exclusions {
    /// The version that was given with the latest exclusion; 0 at first.
    pub fn version(&self) -> i32 {
        self.0.borrow().version
    }

    /// Adds exclusions, with which their list has come to `version`. Requests under way to what
    /// they cover end at once.
    pub fn add(&self, exclusions: impl IntoIterator<Item = Exclusion>, version: i32) {
        self.0.send_if_modified(|excluded| {
            let mut is_modified = false;
            for exclusion in exclusions {
                is_modified |= match exclusion {
                    Exclusion::Hostname(name) => excluded.names.hostnames.insert(name),
                    Exclusion::Suffix(domain) => excluded.names.suffixes.insert(domain),
                    Exclusion::Network(network) => {
                        let is_new = !excluded.networks.contains(&network);
                        excluded.networks.extend(is_new.then_some(network));
                        is_new
                    }
                };
            }
            excluded.version = excluded.version.max(version);
            is_modified
        });
    }

    /// Whether a host, or one of its addresses, must not be asked.
    pub(crate) fn cover(&self, host: &str, addresses: &[IpAddr]) -> bool {
        self.0.borrow().covers(host, addresses)
    }

    /// Waits until a host or one of its addresses must not be asked.
    pub(crate) async fn until_covered(&self, host: &str, addresses: &[IpAddr]) {
        let mut excluded = self.0.subscribe();
        // The sender lives as long as this value, so the wait ends with a match or never.
        let _ = excluded.wait_for(|excluded| excluded.covers(host, addresses)).await;
    }

    /// Whether a clone of this value exists besides it.
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }
}
