//! The state that all servers in the small internet share.

use std::net::Ipv4Addr;

use tokio::sync::Semaphore;

use crate::{
    access_log::AccessLog, address, behaviour::Behaviour, counters::Counters, dice::Dice,
    generate::World, graph::ServedGraph, mix::Mix, recorded::Recording, settings::Latency,
};

#[derive(Debug)]
pub(crate) enum Library {
    Recorded(Recording),
    Generated(World),
    Graph(Box<ServedGraph>),
}

#[derive(Debug)]
pub(crate) struct Internet {
    pub(crate) seed: u64,
    pub(crate) mix: Mix,
    pub(crate) latency: Latency,
    pub(crate) library: Library,
    pub(crate) counters: Counters,
    pub(crate) access_log: AccessLog,
    /// Limits the threads that draw icons or read files.
    pub(crate) drawing: Semaphore,
    pub(crate) has_ipv6: bool,
}

/// These hosts are always fine, because a fault in one of them would affect many sites.
pub(crate) const SHARED_HOSTS: [&str; 4] = [
    "cdn.themes.example",
    "static.shopkeeper.example",
    "assets.sitebuilder.example",
    "icons.forum-software.example",
];

/// Names that exist in every small internet, because clients resolve them to check their resolver.
pub const KNOWN_NAMES: [&str; 3] = ["example.com", "iana.org", "wikipedia.org"];

impl Internet {
    pub(crate) fn knows(&self, host: &str) -> bool {
        match &self.library {
            Library::Graph(served) => served.graph.named(host).is_some(),
            Library::Recorded(_) => {
                SHARED_HOSTS.contains(&host) || (looks_public(host) && !is_made_up(host))
            }
            Library::Generated(world) => {
                SHARED_HOSTS.contains(&host) || world.index_of(host).is_some()
            }
        }
    }

    pub(crate) fn behaviour(&self, host: &str) -> Behaviour {
        if let Library::Graph(served) = &self.library {
            let graph = &served.graph;
            graph.named(host).map_or(Behaviour::Fine, |named| graph.host_behaviour(named.host))
        } else if SHARED_HOSTS.contains(&host) {
            Behaviour::Fine
        } else {
            self.mix.behaviour(self.seed, host)
        }
    }

    pub(crate) fn address(&self, host: &str) -> Ipv4Addr {
        let behaviour = self.behaviour(host);
        let behaviour_is_in_address =
            matches!(behaviour, Behaviour::ConnectTimeout | Behaviour::Refused | Behaviour::Reset);
        if !behaviour_is_in_address && self.mix.shares_address(self.seed, host) {
            address::shared_by_host(self.seed, host)
        } else {
            address::of_host(self.seed, host, behaviour)
        }
    }

    pub(crate) fn known_address(&self, host: &str) -> Ipv4Addr {
        address::of_host(self.seed, host, Behaviour::Fine)
    }

    pub(crate) fn private_answer(&self, host: &str) -> Vec<Ipv4Addr> {
        let private = address::private_of_host(self.seed, host);
        if Dice::new(self.seed, &["mixed addresses", host]).permille(333) {
            vec![address::of_host(self.seed, host, Behaviour::Fine), private]
        } else {
            vec![private]
        }
    }

    pub(crate) fn speaks_http2(&self, host: &str) -> bool {
        !self.behaviour(host).needs_http1() && Dice::new(self.seed, &["http2", host]).permille(600)
    }
}

fn looks_public(host: &str) -> bool {
    let label_fits = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    let last_is_a_name =
        host.rsplit('.').next().is_some_and(|last| !last.bytes().all(|b| b.is_ascii_digit()));
    host.len() <= 253
        && host.contains('.')
        && host.split('.').all(label_fits)
        && last_is_a_name
        && !host.ends_with(".local")
        && !host.ends_with(".localhost")
        && !host.ends_with(".invalid")
}

fn is_made_up(host: &str) -> bool {
    let label = host.strip_suffix(".com").and_then(|host| host.strip_prefix("everytab-"));
    label.is_some_and(|hex| hex.len() == 16 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::{is_made_up, looks_public};

    #[test]
    fn a_made_up_name_does_not_exist_in_a_recorded_internet() {
        assert!(is_made_up("everytab-0123456789abcdef.com"));
        for host in ["everytab-0123.com", "everytab-0123456789abcdef.org", "example.com"] {
            assert!(!is_made_up(host), "{host}");
        }
    }

    #[test]
    fn names_of_the_public_internet_are_distinguished_from_others() {
        for host in ["example.com", "xn--mortenmller-mgb.dk", "a_b.example.co.uk"] {
            assert!(looks_public(host), "{host}");
        }
        let long = format!("{}.example", "a".repeat(64));
        for host in ["localhost", "10.0.0.1", "a..b", "", ".com", "printer.local", "a b.c", &long] {
            assert!(!looks_public(host), "{host}");
        }
    }
}
