//! Hosts and networks that must no longer be requested. Exclusions can be added while shards are
//! being fetched, and they also apply to requests in flight.
//!
//! An exclusion is never removed.

use std::{net::IpAddr, sync::Arc};

use ipnet::IpNet;
use tokio::sync::watch;

use crate::blocklist::Blocklist;

/// A host, domain or network that must no longer be requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exclusion {
    /// A hostname.
    Hostname(String),
    /// A domain with all hosts below it.
    Suffix(String),
    /// All addresses in a network, under any name.
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

/// The current exclusions. Clones share one list.
#[derive(Clone, Debug, Default)]
pub struct Exclusions(Arc<watch::Sender<Excluded>>);

impl Exclusions {
    /// Returns the maximum version that was passed to [`Self::add`], or 0.
    pub fn version(&self) -> i32 {
        self.0.borrow().version
    }

    /// Adds exclusions, and raises the list's version to `version`. Requests in flight to the
    /// excluded hosts are cancelled immediately.
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

    pub(crate) fn cover(&self, host: &str, addresses: &[IpAddr]) -> bool {
        self.0.borrow().covers(host, addresses)
    }

    pub(crate) async fn until_covered(&self, host: &str, addresses: &[IpAddr]) {
        let mut excluded = self.0.subscribe();
        // This value owns the sender, so the wait cannot fail.
        let _ = excluded.wait_for(|excluded| excluded.covers(host, addresses)).await;
    }

    /// Returns whether another clone of this value exists.
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }
}
