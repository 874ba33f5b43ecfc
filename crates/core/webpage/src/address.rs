//! Decides which IP addresses belong to the public internet by IANA's special-purpose registries,
//! and to which ones a worker may connect.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

const fn v4(a: u8, b: u8, c: u8, prefix: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, 0), prefix)
}

const fn v6(a: u16, b: u16, c: u16, prefix: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0), prefix)
}

/// IPv4 blocks without public hosts.
const NOT_PUBLIC_V4: [Ipv4Net; 15] = [
    v4(0, 0, 0, 8),
    v4(10, 0, 0, 8),
    v4(100, 64, 0, 10),
    v4(127, 0, 0, 8),
    v4(169, 254, 0, 16),
    v4(172, 16, 0, 12),
    v4(192, 0, 0, 24),
    v4(192, 0, 2, 24),
    v4(192, 88, 99, 24),
    v4(192, 168, 0, 16),
    v4(198, 18, 0, 15),
    v4(198, 51, 100, 24),
    v4(203, 0, 113, 24),
    v4(224, 0, 0, 4),
    v4(240, 0, 0, 4),
];

/// Public blocks that lead a cloud instance to the cloud's own services: Azure's host (WireServer)
/// and IBM Cloud's service network.
const CLOUD_SERVICES_V4: [Ipv4Net; 3] = [
    Ipv4Net::new_assert(Ipv4Addr::new(168, 63, 129, 16), 32),
    v4(161, 26, 0, 16),
    v4(166, 8, 0, 14),
];

/// The only IPv6 block with global addresses.
const GLOBAL_V6: Ipv6Net = v6(0x2000, 0, 0, 3);
/// Special blocks in [`GLOBAL_V6`]: protocol assignments with Teredo, and the two documentation
/// blocks.
const NOT_PUBLIC_V6: [Ipv6Net; 3] =
    [v6(0x2001, 0, 0, 23), v6(0x2001, 0xdb8, 0, 32), v6(0x3fff, 0, 0, 20)];

const MAPPED: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96);
const NAT64: Ipv6Net = v6(0x64, 0xff9b, 0, 96);
const SIX_TO_FOUR: Ipv6Net = v6(0x2002, 0, 0, 16);

/// Returns true if this address belongs to the public internet.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match effective(address) {
        IpAddr::V4(address) => {
            let mut blocks = NOT_PUBLIC_V4.iter().chain(&CLOUD_SERVICES_V4);
            !blocks.any(|block| block.contains(&address))
        }
        IpAddr::V6(address) => {
            GLOBAL_V6.contains(&address)
                && !NOT_PUBLIC_V6.iter().any(|block| block.contains(&address))
        }
    }
}

/// Returns the IPv4 address that an IPv6 address contains, or the address itself.
fn effective(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    let octets = v6.octets();
    let embedded = if MAPPED.contains(&v6) || NAT64.contains(&v6) {
        octets.get(12..16)
    } else if SIX_TO_FOUR.contains(&v6) {
        octets.get(2..6)
    } else {
        None
    };
    match embedded {
        Some(&[a, b, c, d]) => IpAddr::V4(Ipv4Addr::new(a, b, c, d)),
        _ => address,
    }
}

/// Addresses that a worker may connect to. `deny` takes precedence, then `allow`. Otherwise an
/// address must be public and not in `own`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Guard {
    /// Ranges that are allowed even if they are not public.
    pub allow: Vec<IpNet>,
    /// Ranges that the worker never connects to, such as the operator's own networks.
    pub deny: Vec<IpNet>,
    /// This instance's networks.
    pub own: Vec<IpNet>,
}

impl Guard {
    /// Returns true if a range in `allow` contains this address. This does not check `deny`.
    #[must_use]
    pub fn is_in_allow(&self, address: IpAddr) -> bool {
        self.allow.iter().any(|range| range.contains(&address))
    }

    /// Returns true if the worker may connect to this address. Check each connection's exact
    /// address, because DNS may return another one later (DNS rebinding).
    #[must_use]
    pub fn allows(&self, address: IpAddr) -> bool {
        let effective = effective(address);
        let is_in = |ranges: &[IpNet]| {
            ranges.iter().any(|range| range.contains(&address) || range.contains(&effective))
        };
        !is_in(&self.deny) && (is_in(&self.allow) || (is_public(address) && !is_in(&self.own)))
    }
}

#[cfg(test)]
mod tests;
