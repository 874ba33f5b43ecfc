//! Which loopback address a host has.
//!
//! What happens before a name is known (dropped, reset or ignored connections) is written in the
//! address: each such behaviour owns a /16. So it needs no table and no memory. Hosts that are
//! spoken to live in 127.1.0.0 to 127.239.255.255, those that share an address in 127.240.0.0/16;
//! 127.0.0.0/16 is left to the machine.

use std::net::Ipv4Addr;

use crate::behaviour::Behaviour;
use crate::dice::Dice;

/// Second octet of the addresses whose connection requests are dropped.
pub(crate) const DROPPED_OCTET: u8 = 250;
/// Second octet of the addresses whose connections are reset.
pub(crate) const RESET_OCTET: u8 = 251;
/// Second octet of the addresses whose connections are accepted and ignored.
pub(crate) const IGNORED_OCTET: u8 = 252;

/// Second octet of the addresses that several hosts share; they are told apart by their names.
const SHARED_OCTET: u8 = 240;

/// What a listener does with a connection, by the address it came to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Reception {
    /// Spoken to.
    Served,
    /// Reset at once.
    Reset,
    /// Held open in silence.
    Ignored,
    /// Not ours: dropped.
    Stranger,
}

/// The IPv4 address of a host with this behaviour.
pub(crate) fn of_host(seed: u64, host: &str, behaviour: Behaviour) -> Ipv4Addr {
    let mut dice = Dice::new(seed, &["address", host]);
    let low = dice.below(65_534) + 1;
    let second = match behaviour {
        Behaviour::ConnectTimeout => DROPPED_OCTET,
        // Only asked for when ::1, where nothing listens, is not to be had.
        Behaviour::Refused | Behaviour::Reset => RESET_OCTET,
        Behaviour::NeverAnswers => IGNORED_OCTET,
        _ => (dice.below(239) + 1) as u8,
    };
    Ipv4Addr::new(127, second, (low >> 8) as u8, low as u8)
}

/// One of the few addresses at which hosts live together.
pub(crate) fn shared_by_host(seed: u64, host: &str) -> Ipv4Addr {
    let mut dice = Dice::new(seed, &["shared address", host]);
    Ipv4Addr::new(127, SHARED_OCTET, 0, dice.between(1, 3) as u8)
}

/// How connections to an address are received.
pub(crate) fn reception(local: Ipv4Addr) -> Reception {
    match local.octets() {
        [127, RESET_OCTET, ..] => Reception::Reset,
        [127, IGNORED_OCTET, ..] => Reception::Ignored,
        [127, ..] => Reception::Served,
        _ => Reception::Stranger,
    }
}

/// A private address for a host that has no business having one: fixed by its name.
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
    fn addresses_keep_out_of_the_machines_own_and_tell_the_reception() {
        for number in 0..20_000 {
            let host = format!("h{number}.example");
            let fine = of_host(1, &host, Behaviour::Fine);
            assert!((1..=239).contains(&fine.octets()[1]), "{fine}");
            assert_eq!(reception(fine), Reception::Served);
        }
        let of = |behaviour| reception(of_host(1, "a.example", behaviour));
        assert_eq!(of(Behaviour::Reset), Reception::Reset);
        assert_eq!(of(Behaviour::NeverAnswers), Reception::Ignored);
        assert_eq!(reception(Ipv4Addr::new(192, 168, 0, 1)), Reception::Stranger);
    }
}
