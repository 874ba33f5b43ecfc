//! The mix of behaviours: each behaviour's share of hosts, and each host's behaviour.

use serde::Serialize;

use crate::{behaviour::Behaviour, dice::Dice, error::TestbedError};

const WHOLE: u32 = 1_000_000;

/// Each behaviour's share of hosts, in parts per million. All other hosts are fine.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Mix {
    shares: Vec<(Behaviour, u32)>,
    missing_favicon: u32,
    shared_address: u32,
}

impl Mix {
    /// Returns a mix in which every host is fine.
    #[must_use]
    pub fn none() -> Self {
        Self { shares: Vec::new(), missing_favicon: 0, shared_address: 0 }
    }

    /// Returns a mix with a few hosts for every behaviour except `DnsNeverAnswers`, at rates close
    /// to the real web's.
    #[must_use]
    pub fn light() -> Self {
        use Behaviour as B;
        let shares = [
            (B::Slow, 20_000),
            (B::DnsNxdomain, 15_000),
            (B::DnsServfail, 2_000),
            (B::DnsNoAddress, 2_000),
            (B::DnsPrivateAddress, 1_000),
            (B::ConnectTimeout, 2_000),
            (B::NeverAnswers, 1_000),
            (B::StallsInBody, 1_000),
            (B::Refused, 6_000),
            (B::Reset, 2_000),
            (B::TlsHandshakeFailure, 4_000),
            (B::CertificateWrongName, 6_000),
            (B::CertificateExpired, 5_000),
            (B::CertificateSelfSigned, 4_000),
            (B::NotFound, 20_000),
            (B::Gone, 500),
            (B::Forbidden, 15_000),
            (B::TooManyRequests, 1_000),
            (B::ServerError, 4_000),
            (B::Unavailable, 3_000),
            (B::HtmlInsteadOfIcon, 20_000),
            (B::EmptyBody, 5_000),
            (B::TooLarge, 500),
            (B::TooLargeUnannounced, 500),
            (B::RedirectChain, 30_000),
            (B::RedirectTooMany, 500),
            (B::RedirectLoop, 1_000),
            (B::RedirectPrivate, 300),
            (B::RedirectOtherHost, 10_000),
            (B::RedirectBadScheme, 300),
            (B::BrokenImage, 3_000),
            (B::LengthTooLong, 500),
            (B::LengthTooShort, 500),
            (B::Gzip, 20_000),
            (B::WrongContentType, 30_000),
            (B::RobotsDisallow, 10_000),
            (B::RobotsUnavailable, 2_000),
        ];
        Self { shares: shares.to_vec(), missing_favicon: 250_000, shared_address: 0 }
    }

    /// Returns the mix for a bad day: DNS faults affect 5 % of hosts, timeouts 3 %, refused
    /// connections 2 %, 4xx 6 %, 5xx 1 %, files that are not images 4 %, and files that are too
    /// large 0.1 %.
    #[must_use]
    pub fn issue() -> Self {
        use Behaviour as B;
        let shares = [
            (B::DnsNxdomain, 40_000),
            (B::DnsServfail, 5_000),
            (B::DnsNoAddress, 5_000),
            (B::ConnectTimeout, 10_000),
            (B::NeverAnswers, 10_000),
            (B::StallsInBody, 10_000),
            (B::Refused, 20_000),
            (B::NotFound, 45_000),
            (B::Gone, 2_500),
            (B::Forbidden, 10_000),
            (B::TooManyRequests, 2_500),
            (B::ServerError, 6_000),
            (B::Unavailable, 4_000),
            (B::HtmlInsteadOfIcon, 35_000),
            (B::BrokenImage, 5_000),
            (B::TooLarge, 500),
            (B::TooLargeUnannounced, 500),
        ];
        Self { shares: shares.to_vec(), missing_favicon: 0, shared_address: 0 }
    }

    /// Returns a mix in which all hosts have one behaviour.
    #[must_use]
    pub fn only(behaviour: Behaviour) -> Self {
        Self::none().with(behaviour, WHOLE)
    }

    /// Sets the share of one behaviour, in parts per million.
    #[must_use]
    pub fn with(mut self, behaviour: Behaviour, parts_per_million: u32) -> Self {
        self.shares.retain(|(known, _)| *known != behaviour);
        self.shares.push((behaviour, parts_per_million));
        self
    }

    /// Sets the share of hosts without a `/favicon.ico`.
    #[must_use]
    pub fn with_missing_favicon(mut self, parts_per_million: u32) -> Self {
        self.missing_favicon = parts_per_million;
        self
    }

    /// Sets the share of hosts at three shared addresses. These hosts can have any behaviour over
    /// HTTP.
    #[must_use]
    pub fn with_shared_address(mut self, parts_per_million: u32) -> Self {
        self.shared_address = parts_per_million;
        self
    }

    /// Returns the mix called `light`, `issue` or `none`.
    ///
    /// # Errors
    /// Returns an error for any other name.
    pub fn named(name: &str) -> Result<Self, TestbedError> {
        match name {
            "light" => Ok(Self::light()),
            "issue" => Ok(Self::issue()),
            "none" => Ok(Self::none()),
            _ => Err(TestbedError::Settings(format!(
                "unknown mix {name:?}: expected light, issue or none"
            ))),
        }
    }

    /// Returns a behaviour's share, in parts per million. 0 for `Fine`.
    #[must_use]
    pub fn share(&self, behaviour: Behaviour) -> u32 {
        let held = self.shares.iter().find(|(known, _)| *known == behaviour);
        held.map_or(0, |(_, share)| *share)
    }

    pub(crate) fn check(&self) -> Result<(), TestbedError> {
        let total: u64 = self.shares.iter().map(|(_, share)| u64::from(*share)).sum();
        let properties = self.missing_favicon.max(self.shared_address);
        if total > u64::from(WHOLE) || properties > WHOLE {
            return Err(TestbedError::Settings(format!(
                "the mix gives {total} parts of {WHOLE}: more than all hosts"
            )));
        }
        Ok(())
    }

    /// Returns a host's behaviour.
    #[must_use]
    pub fn behaviour(&self, seed: u64, host: &str) -> Behaviour {
        let mut drawn = Dice::new(seed, &["behaviour", host]).below(u64::from(WHOLE));
        for (behaviour, share) in &self.shares {
            match drawn.checked_sub(u64::from(*share)) {
                Some(rest) => drawn = rest,
                None => return *behaviour,
            }
        }
        Behaviour::Fine
    }

    pub(crate) fn lacks_favicon(&self, seed: u64, host: &str) -> bool {
        Dice::new(seed, &["lacks favicon", host]).below(u64::from(WHOLE))
            < u64::from(self.missing_favicon)
    }

    pub(crate) fn shares_address(&self, seed: u64, host: &str) -> bool {
        Dice::new(seed, &["shares an address", host]).below(u64::from(WHOLE))
            < u64::from(self.shared_address)
    }
}

impl Default for Mix {
    fn default() -> Self {
        Self::light()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_issue_mix_gives_the_shares_that_it_names() {
        use Behaviour as B;
        let mix = Mix::issue();
        let sum = |of: &[Behaviour]| of.iter().map(|b| mix.share(*b)).sum::<u32>();
        assert_eq!(sum(&[B::DnsNxdomain, B::DnsServfail, B::DnsNoAddress]), 50_000);
        assert_eq!(sum(&[B::ConnectTimeout, B::NeverAnswers, B::StallsInBody]), 30_000);
        assert_eq!(sum(&[B::Refused]), 20_000);
        assert_eq!(sum(&[B::NotFound, B::Gone, B::Forbidden, B::TooManyRequests]), 60_000);
        assert_eq!(sum(&[B::ServerError, B::Unavailable]), 10_000);
        assert_eq!(sum(&[B::HtmlInsteadOfIcon, B::BrokenImage]), 40_000);
        assert_eq!(sum(&[B::TooLarge, B::TooLargeUnannounced]), 1_000);
    }

    #[test]
    fn the_light_mix_has_every_behaviour_but_one() {
        use Behaviour as B;
        let mix = Mix::light();
        let others = B::ALL.into_iter().filter(|b| ![B::Fine, B::DnsNeverAnswers].contains(b));
        let without_share: Vec<B> = others.filter(|b| mix.share(*b) == 0).collect();
        assert_eq!(without_share, []);
        assert_eq!(mix.share(B::DnsNeverAnswers), 0);
    }

    #[test]
    fn drawn_shares_are_near_the_set_ones() {
        let mix = Mix::issue();
        let drawn = (0..100_000)
            .filter(|i| mix.behaviour(3, &format!("h{i}.example")) == Behaviour::NotFound)
            .count();
        assert!((4_200..4_800).contains(&drawn), "{drawn}");
    }

    #[test]
    fn every_named_mix_adds_up_and_an_overfull_one_is_refused() {
        for name in ["light", "issue", "none"] {
            Mix::named(name).unwrap().check().unwrap();
        }
        assert!(Mix::named("heavy").is_err());
        let overfull = Mix::only(Behaviour::Slow).with(Behaviour::Gone, 1);
        assert!(overfull.check().is_err());
    }
}
