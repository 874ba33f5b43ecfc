//! Address ranges of large CDNs. Many sites share each address, so a worker may send it more
//! concurrent requests.
//!
//! Sources: <https://www.cloudflare.com/ips/> (last changed 2023-09-28),
//! <https://api.fastly.com/public-ip-list> (as of 2023-06-06) and, for CloudFront's edges,
//! <https://d7uri8nf7uskq.cloudfront.net/tools/list-cloudfront-ips> (as of 2025, merged, without
//! ranges smaller than 256 addresses).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

const fn v4(a: u8, b: u8, c: u8, prefix: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, 0), prefix)
}

const fn v6(a: u16, b: u16, prefix: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, 0, 0, 0, 0, 0, 0), prefix)
}

const V4: [Ipv4Net; 97] = [
    // Cloudflare
    v4(103, 21, 244, 22),
    v4(103, 22, 200, 22),
    v4(103, 31, 4, 22),
    v4(104, 16, 0, 13),
    v4(104, 24, 0, 14),
    v4(108, 162, 192, 18),
    v4(131, 0, 72, 22),
    v4(141, 101, 64, 18),
    v4(162, 158, 0, 15),
    v4(172, 64, 0, 13),
    v4(173, 245, 48, 20),
    v4(188, 114, 96, 20),
    v4(190, 93, 240, 20),
    v4(197, 234, 240, 22),
    v4(198, 41, 128, 17),
    // Fastly
    v4(23, 235, 32, 20),
    v4(43, 249, 72, 22),
    v4(103, 244, 50, 24),
    v4(103, 245, 222, 23),
    v4(103, 245, 224, 24),
    v4(104, 156, 80, 20),
    v4(140, 248, 64, 18),
    v4(140, 248, 128, 17),
    v4(146, 75, 0, 17),
    v4(151, 101, 0, 16),
    v4(157, 52, 64, 18),
    v4(167, 82, 0, 17),
    v4(167, 82, 128, 20),
    v4(167, 82, 160, 20),
    v4(167, 82, 224, 20),
    v4(172, 111, 64, 18),
    v4(185, 31, 16, 22),
    v4(199, 27, 72, 21),
    v4(199, 232, 0, 16),
    // CloudFront
    v4(3, 160, 0, 13),
    v4(3, 168, 0, 14),
    v4(3, 172, 0, 17),
    v4(3, 173, 0, 16),
    v4(3, 174, 0, 15),
    v4(13, 32, 0, 15),
    v4(13, 35, 0, 16),
    v4(13, 224, 0, 14),
    v4(13, 249, 0, 16),
    v4(15, 158, 0, 16),
    v4(18, 64, 0, 14),
    v4(18, 68, 0, 16),
    v4(18, 154, 0, 15),
    v4(18, 160, 0, 15),
    v4(18, 164, 0, 15),
    v4(18, 172, 0, 15),
    v4(18, 238, 0, 15),
    v4(18, 244, 0, 15),
    v4(23, 91, 0, 19),
    v4(24, 110, 32, 19),
    v4(52, 46, 0, 18),
    v4(52, 82, 128, 19),
    v4(52, 84, 0, 15),
    v4(52, 124, 128, 17),
    v4(52, 222, 128, 17),
    v4(54, 182, 0, 16),
    v4(54, 192, 0, 16),
    v4(54, 230, 0, 17),
    v4(54, 230, 128, 18),
    v4(54, 230, 200, 21),
    v4(54, 230, 208, 20),
    v4(54, 230, 224, 19),
    v4(54, 239, 128, 18),
    v4(54, 239, 192, 19),
    v4(54, 240, 128, 18),
    v4(64, 252, 64, 18),
    v4(64, 252, 128, 18),
    v4(65, 8, 0, 16),
    v4(65, 9, 0, 17),
    v4(65, 9, 128, 18),
    v4(70, 132, 0, 18),
    v4(71, 152, 0, 17),
    v4(99, 84, 0, 16),
    v4(99, 86, 0, 16),
    v4(108, 138, 0, 15),
    v4(108, 156, 0, 14),
    v4(130, 176, 0, 17),
    v4(130, 176, 128, 18),
    v4(130, 176, 192, 19),
    v4(130, 176, 224, 20),
    v4(143, 204, 0, 16),
    v4(144, 220, 0, 16),
    v4(204, 246, 164, 22),
    v4(204, 246, 168, 21),
    v4(204, 246, 176, 20),
    v4(205, 251, 202, 23),
    v4(205, 251, 204, 22),
    v4(205, 251, 208, 20),
    v4(205, 251, 249, 24),
    v4(205, 251, 250, 23),
    v4(205, 251, 252, 23),
    v4(205, 251, 254, 24),
    v4(216, 137, 32, 19),
];

const V6: [Ipv6Net; 10] = [
    // Cloudflare
    v6(0x2400, 0xcb00, 32),
    v6(0x2405, 0x8100, 32),
    v6(0x2405, 0xb500, 32),
    v6(0x2606, 0x4700, 32),
    v6(0x2803, 0xf800, 32),
    v6(0x2a06, 0x98c0, 29),
    v6(0x2c0f, 0xf248, 32),
    // Fastly
    v6(0x2a04, 0x4e40, 32),
    v6(0x2a04, 0x4e42, 32),
    // CloudFront
    v6(0x2600, 0x9000, 28),
];

/// Returns true if a large CDN's range contains this address.
#[must_use]
pub fn is_of_a_cdn(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => V4.iter().any(|range| range.contains(&address)),
        IpAddr::V6(address) => V6.iter().any(|range| range.contains(&address)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::is_public;

    #[test]
    fn the_edges_of_a_range_are_in_it_and_their_neighbours_are_not() {
        for (address, expected) in [
            ("104.16.0.0", true),
            ("104.27.255.255", true),
            ("104.28.0.0", false),
            ("104.15.255.255", false),
            ("151.101.1.1", true),
            ("18.155.255.255", true),
            ("18.156.0.0", false),
            ("2600:900f:ffff::1", true),
            ("2600:9010::1", false),
            ("2606:4700::1", true),
            ("2606:4701::1", false),
            ("8.8.8.8", false),
        ] {
            assert_eq!(is_of_a_cdn(address.parse().expect("an address")), expected, "{address}");
        }
    }

    #[test]
    fn every_range_starts_at_a_network_address_and_is_public() {
        for range in V4 {
            assert_eq!(range, range.trunc());
            assert!(is_public(range.addr().into()), "{range}");
        }
        for range in V6 {
            assert_eq!(range, range.trunc());
            assert!(is_public(range.addr().into()), "{range}");
        }
    }
}
