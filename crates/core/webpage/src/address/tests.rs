//! Tests every row in the IANA IPv4 and IPv6 special-purpose address registries, and notations that
//! can hide an address.

use super::*;

fn public(address: &str) -> bool {
    is_public(address.parse().unwrap())
}

/// `(row, expected result of is_public)`. Some globally reachable blocks have no web server
/// (protocol anycast, AMT, AS112, ORCHID, DRIP), so we treat them like the block around them.
const ROWS: &[(&str, bool)] = &[
    ("0.0.0.0/8", false),
    ("0.0.0.0/32", false),
    ("10.0.0.0/8", false),
    ("100.64.0.0/10", false),
    ("127.0.0.0/8", false),
    ("161.26.0.0/16", false),
    ("166.8.0.0/14", false),
    ("168.63.129.16/32", false),
    ("169.254.0.0/16", false),
    ("172.16.0.0/12", false),
    ("192.0.0.0/24", false),
    ("192.0.0.0/29", false),
    ("192.0.0.8/32", false),
    ("192.0.0.9/32", false),
    ("192.0.0.10/32", false),
    ("192.0.0.170/32", false),
    ("192.0.0.171/32", false),
    ("192.0.2.0/24", false),
    ("192.31.196.0/24", true),
    ("192.52.193.0/24", true),
    ("192.88.99.0/24", false),
    ("192.88.99.2/32", false),
    ("192.168.0.0/16", false),
    ("192.175.48.0/24", true),
    ("198.18.0.0/15", false),
    ("198.51.100.0/24", false),
    ("203.0.113.0/24", false),
    ("224.0.0.0/4", false),
    ("240.0.0.0/4", false),
    ("255.255.255.255/32", false),
    ("::1/128", false),
    ("::/128", false),
    ("64:ff9b:1::/48", false),
    ("100::/64", false),
    ("100:0:0:1::/64", false),
    ("2001::/23", false),
    ("2001::/32", false),
    ("2001:1::1/128", false),
    ("2001:1::2/128", false),
    ("2001:1::3/128", false),
    ("2001:2::/48", false),
    ("2001:3::/32", false),
    ("2001:4:112::/48", false),
    ("2001:10::/28", false),
    ("2001:20::/28", false),
    ("2001:30::/28", false),
    ("2001:db8::/32", false),
    ("2620:4f:8000::/48", true),
    ("3fff::/20", false),
    ("5f00::/16", false),
    ("fc00::/7", false),
    ("fe80::/10", false),
    ("fec0::/10", false),
    ("ff00::/8", false),
];

#[test]
fn every_registry_row_is_judged_at_its_first_and_last_address() {
    for (row, expected) in ROWS {
        let block: IpNet = row.parse().unwrap();
        assert_eq!(is_public(block.network()), *expected, "first of {row}");
        assert_eq!(is_public(block.broadcast()), *expected, "last of {row}");
    }
}

#[test]
fn the_neighbours_of_rejected_blocks_are_public() {
    for address in [
        "1.0.0.0",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "191.255.255.255",
        "192.0.1.0",
        "192.0.3.0",
        "192.88.98.255",
        "192.88.100.0",
        "192.167.255.255",
        "192.169.0.0",
        "198.17.255.255",
        "198.20.0.0",
        "198.51.99.255",
        "198.51.101.0",
        "203.0.112.255",
        "203.0.114.0",
        "223.255.255.255",
        "8.8.8.8",
        "2000::",
        "2001:200::",
        "2001:db7:ffff::",
        "2001:db9::",
        "2a00:1450::1",
        "3ffe::1",
        "3fff:1000::",
    ] {
        assert!(public(address), "{address}");
    }
}

#[test]
fn an_embedded_ipv4_address_is_judged_as_itself() {
    for (address, expected) in [
        ("::ffff:127.0.0.1", false),
        ("::ffff:169.254.169.254", false),
        ("::ffff:8.8.8.8", true),
        ("64:ff9b::10.0.0.1", false),
        ("64:ff9b::8.8.8.8", true),
        ("64:ff9b:0:0:0:1:808:808", false),
        ("2002:7f00:1::", false),
        ("2002:a9fe:a9fe::1", false),
        ("2002:808:808::1", true),
        ("::8.8.8.8", false),
        ("::ffff:0:8.8.8.8", false),
        ("4000::1", false),
    ] {
        assert_eq!(public(address), expected, "{address}");
    }
}

#[test]
fn cloud_credential_addresses_are_rejected() {
    for address in [
        "169.254.169.254",
        "169.254.169.253",
        "169.254.169.123",
        "169.254.170.2",
        "169.254.170.23",
        "fd00:ec2::254",
        "fd00:ec2::253",
        "fd00:ec2::23",
        "100.100.100.200",
    ] {
        assert!(!public(address), "{address}");
    }
}

#[test]
fn a_guard_denies_before_it_allows() {
    let nets = |list: &[&str]| list.iter().map(|net| net.parse().unwrap()).collect();
    let guard = Guard {
        allow: nets(&["127.0.0.0/8"]),
        deny: nets(&["127.9.0.0/16", "8.8.8.0/24"]),
        ..Guard::default()
    };
    let allows = |address: &str| guard.allows(address.parse().unwrap());
    assert!(allows("127.0.0.1"));
    assert!(allows("::ffff:127.0.0.1"));
    assert!(!allows("127.9.0.1"));
    assert!(!allows("8.8.8.8"));
    assert!(!allows("::ffff:8.8.8.8"));
    assert!(!allows("2002:808:808::"));
    assert!(allows("8.8.4.4"));
    assert!(!allows("10.0.0.1"));
    assert!(!Guard::default().allows("127.0.0.1".parse().unwrap()));
    assert!(Guard::default().allows("8.8.4.4".parse().unwrap()));
}
