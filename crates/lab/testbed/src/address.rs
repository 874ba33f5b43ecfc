//! A host's loopback address. A listener must drop, reset or ignore a connection before it knows
//! the hostname, so each of these behaviours has its own /16. Hosts that share an address are in
//! 127.240.0.0/16. 127.0.0.0/16 is unused, because other programs listen there.

use std::net::Ipv4Addr;

use crate::{behaviour::Behaviour, dice::Dice};

pub(crate) const DROPPED_OCTET: u8 = 250;
pub(crate) const RESET_OCTET: u8 = 251;
pub(crate) const IGNORED_OCTET: u8 = 252;

const SHARED_OCTET: u8 = 240;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Reception {
    Served,
    Reset,
    Ignored,
    Foreign,
}

pub(crate) fn of_host(seed: u64, host: &str, behaviour: Behaviour) -> Ipv4Addr {
    let mut dice = Dice::new(seed, &["address", host]);
    let low = dice.below(65_534) + 1;
    let second = match behaviour {
        Behaviour::ConnectTimeout => DROPPED_OCTET,
        // Without IPv6, a host that refuses connections has an address that resets them.
        Behaviour::Refused | Behaviour::Reset => RESET_OCTET,
        Behaviour::NeverAnswers => IGNORED_OCTET,
        _ => (dice.below(239) + 1) as u8,
    };
    Ipv4Addr::new(127, second, (low >> 8) as u8, low as u8)
}

pub(crate) fn shared_by_host(seed: u64, host: &str) -> Ipv4Addr {
    let mut dice = Dice::new(seed, &["shared address", host]);
    Ipv4Addr::new(127, SHARED_OCTET, 0, dice.between(1, 3) as u8)
}

pub(crate) fn reception(local: Ipv4Addr) -> Reception {
    match local.octets() {
        [127, RESET_OCTET, ..] => Reception::Reset,
        [127, IGNORED_OCTET, ..] => Reception::Ignored,
        [127, ..] => Reception::Served,
        _ => Reception::Foreign,
    }
}

pub(crate) fn private_of_host(seed: u64, host: &str) -> Ipv4Addr {
    let mut dice = Dice::new(seed, &["private address", host]);
    let tail = dice.between(1, 254) as u8;
    dice.pick(&[
        Ipv4Addr::new(10, 0, 0, tail),
        Ipv4Addr::new(192, 168, 1, tail),
        Ipv4Addr::new(172, 16, 5, tail),
        Ipv4Addr::new(169, 254, 169, 254),
        Ipv4Addr::new(100, 64, 0, tail),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_avoid_127_0_and_decide_the_reception() {
        for number in 0..20_000 {
            let host = format!("h{number}.example");
            let fine = of_host(1, &host, Behaviour::Fine);
            assert!((1..=239).contains(&fine.octets()[1]), "{fine}");
            assert_eq!(reception(fine), Reception::Served);
        }
        let of = |behaviour| reception(of_host(1, "a.example", behaviour));
        assert_eq!(of(Behaviour::Reset), Reception::Reset);
        assert_eq!(of(Behaviour::NeverAnswers), Reception::Ignored);
        assert_eq!(reception(Ipv4Addr::new(192, 168, 0, 1)), Reception::Foreign);
    }
}
