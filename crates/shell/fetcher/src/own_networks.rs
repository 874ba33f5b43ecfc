//! This host's networks: its own addresses, and the networks that it reaches without a gateway.
//!
//! Services on these networks are not meant for the public, even if their addresses are public,
//! because a packet from this host to itself does not pass the firewall in front of it.

use std::{
    fs,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    path::Path,
};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// Minimum prefix length for a connected IPv4 network. Some tunnels use shorter prefixes to route
/// half of the internet.
const MIN_V4_PREFIX: u8 = 8;
/// Minimum prefix length for a connected IPv6 network. A whole provider has a prefix of this
/// length.
const MIN_V6_PREFIX: u8 = 32;

/// `RTF_GATEWAY` and `RTF_REJECT` of the kernel's `route.h`.
const NOT_CONNECTED: u32 = 0x0002 | 0x0200;

/// Skips tables that cannot be read, and logs a warning if IPv4 tables are missing.
pub(crate) fn own_networks() -> Vec<IpNet> {
    let read = |name: &str| {
        let path = Path::new("/proc/net").join(name);
        fs::read_to_string(&path).unwrap_or_else(|error| {
            if !name.ends_with('6') && !name.starts_with("ipv6") {
                tracing::warn!(
                    "cannot read {}: {error}; exclude this host's own addresses with \
                     --deny-range",
                    path.display()
                );
            }
            String::new()
        })
    };
    let mut networks = local_v4(&read("fib_trie"));
    networks.extend(connected_v4(&read("route")));
    networks.extend(local_v6(&read("if_inet6")));
    networks.extend(connected_v6(&read("ipv6_route")));
    networks.sort();
    networks.dedup();
    networks
}

fn v4(address: Ipv4Addr, prefix: u8) -> Option<IpNet> {
    (prefix >= MIN_V4_PREFIX).then(|| Ipv4Net::new(address, prefix).ok())?.map(|n| n.trunc().into())
}

fn v6(address: Ipv6Addr, prefix: u8) -> Option<IpNet> {
    (prefix >= MIN_V6_PREFIX).then(|| Ipv6Net::new(address, prefix).ok())?.map(|n| n.trunc().into())
}

/// The table has a line with an address, followed by a line such as `/32 host LOCAL`.
fn local_v4(table: &str) -> Vec<IpNet> {
    let mut address = Ipv4Addr::UNSPECIFIED;
    let mut found = Vec::new();
    for line in table.lines().map(str::trim_start) {
        if let Some(text) = line.strip_prefix("|-- ") {
            address = text.trim().parse().unwrap_or(Ipv4Addr::UNSPECIFIED);
        } else if let Some(text) = line.strip_prefix('/')
            && text.ends_with("host LOCAL")
            && let Some(prefix) = text.split(' ').next().and_then(|text| text.parse().ok())
        {
            found.extend(v4(address, prefix));
        }
    }
    found
}

/// The fields of a line are interface, destination, gateway, flags, three numbers, and mask. Flags
/// and addresses are hexadecimal, and addresses are in native byte order.
fn connected_v4(table: &str) -> Vec<IpNet> {
    let network = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| u32::from_str_radix(fields.get(at)?, 16).ok();
        let address = |at| Some(Ipv4Addr::from(number(at)?.to_ne_bytes()));
        let mask: Ipv4Addr = address(7)?;
        let is_connected = number(3)? & NOT_CONNECTED == 0;
        let prefix = u8::try_from(u32::from(mask).leading_ones()).ok()?;
        is_connected.then(|| v4(address(1)?, prefix))?
    };
    table.lines().skip(1).filter_map(network).collect()
}

/// A line starts with an address of 32 hexadecimal digits.
fn local_v6(table: &str) -> Vec<IpNet> {
    let address = |line: &str| Some(IpAddr::V6(hex_v6(line.split_whitespace().next()?)?).into());
    table.lines().filter_map(address).collect()
}

/// The fields of a line are destination, prefix length, source, prefix length, next hop, metric,
/// two counters, and flags.
fn connected_v6(table: &str) -> Vec<IpNet> {
    let network = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let prefix = u8::from_str_radix(fields.get(1)?, 16).ok()?;
        let flags = u32::from_str_radix(fields.get(8)?, 16).ok()?;
        let next_hop = hex_v6(fields.get(4)?)?;
        let is_connected = flags & NOT_CONNECTED == 0 && next_hop.is_unspecified();
        is_connected.then(|| v6(hex_v6(fields[0])?, prefix))?
    };
    table.lines().filter_map(network).collect()
}

fn hex_v6(text: &str) -> Option<Ipv6Addr> {
    (text.len() == 32).then(|| u128::from_str_radix(text, 16).ok())?.map(Ipv6Addr::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(networks: Vec<IpNet>) -> Vec<String> {
        networks.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_kernels_tables_contain_own_addresses_and_connected_networks() {
        let trie = "Local:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 0.0.0.0\n        /0 host LOCAL\n     \
                    +-- 127.0.0.0/8 2 0 2\n           |-- 127.0.0.0\n              /8 host LOCAL\n\
                    \x20       |-- 198.41.0.4\n         /32 host LOCAL\n        |-- 198.41.0.255\n\
                    \x20          /32 link BROADCAST\n";
        assert_eq!(texts(local_v4(trie)), ["127.0.0.0/8", "198.41.0.4/32"]);
        let route = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n\
                     eth0 00000000 010029C6 0003 0 0 0 00000000 0 0 0\n\
                     eth0 000029C6 00000000 0001 0 0 0 00FFFFFF 0 0 0\n\
                     eth0 00BE61C6 010029C6 0003 0 0 0 00FFFFFF 0 0 0\n\
                     tun0 00000000 00000000 0001 0 0 0 00000080 0 0 0\n\
                     damaged\n";
        if cfg!(target_endian = "little") {
            assert_eq!(texts(connected_v4(route)), ["198.41.0.0/24"]);
        }
        let addresses = "20010ba8000000000000000000000002 02 40 00 80     eth0\n\
                         00000000000000000000000000000001 01 80 10 80       lo\nshort 1\n";
        assert_eq!(texts(local_v6(addresses)), ["2001:ba8::2/128", "::1/128"]);
        let none = "00000000000000000000000000000000";
        let gateway = "20010ba8000000000000000000000001";
        let routes = [
            format!("20010ba8000000000000000000000000 40 {none} 00 {none} 100 1 0 00000001 eth0"),
            format!(
                "20010bb0000000000000000000000000 40 {none} 00 {gateway} 100 1 0 00000003 eth0"
            ),
            format!("{none} 00 {none} 00 {none} 100 1 0 00000001 eth0"),
            format!("20000000000000000000000000000000 03 {none} 00 {none} 100 1 0 00000001 tun0"),
        ];
        assert_eq!(texts(connected_v6(&routes.join("\n"))), ["2001:ba8::/64"]);
    }

    #[test]
    fn this_machine_has_loopback() {
        let loopback: IpAddr = Ipv4Addr::LOCALHOST.into();
        assert!(own_networks().iter().any(|network| network.contains(&loopback)));
    }
}
