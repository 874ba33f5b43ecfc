//! Hosts that must not be requested, because their owners opted out or an operator listed them.
//!
//! The rule must equal that of the SQL function `coordinator.host_blocked`.

use std::collections::HashSet;

/// A scan's blocklist.
#[derive(Clone, Debug, Default)]
pub struct Blocklist {
    /// Hostnames. Each blocks only itself.
    pub hostnames: HashSet<String>,
    /// Domains. Each blocks itself and all hosts below it.
    pub suffixes: HashSet<String>,
}

impl Blocklist {
    /// The host must be in lower case, without a trailing dot.
    pub(crate) fn blocks(&self, host: &str) -> bool {
        if self.hostnames.contains(host) {
            return true;
        }
        if self.suffixes.is_empty() {
            return false;
        }
        let below = host.match_indices('.').map(|(dot, _)| &host[dot + 1..]);
        std::iter::once(host).chain(below).any(|domain| self.suffixes.contains(domain))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostname_blocks_itself_and_a_suffix_all_below_it() {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let list = Blocklist { hostnames: set(&["one.example"]), suffixes: set(&["bad.example"]) };
        for host in ["one.example", "bad.example", "a.bad.example", "a.b.bad.example"] {
            assert!(list.blocks(host), "{host}");
        }
        for host in ["www.one.example", "notbad.example", "example", "bad.example.org", ""] {
            assert!(!list.blocks(host), "{host}");
        }
        assert!(!Blocklist::default().blocks("one.example"));
    }
}
