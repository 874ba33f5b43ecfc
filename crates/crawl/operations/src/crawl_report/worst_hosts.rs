//! Finds the hosts with the most failed and left URLs in bounded memory.
//!
//! When there are too many hosts, those with the fewest failures are dropped. A dropped host's
//! count starts from 0 again, so counts may be too low by up to `HostFailures::uncertainty`.

use std::collections::HashMap;

/// Maximum hosts that are counted separately.
pub(super) const MAX_HOSTS: usize = 300_000;

/// A host's failures, by the outcome's and the final state's index in `HostFailures::names`.
type Failures = Vec<((u16, u16), u64)>;

#[derive(Debug, Default)]
pub(super) struct HostFailures {
    hosts: HashMap<u64, Failures>,
    names: Vec<String>,
    uncertainty: u64,
}

pub(super) type HostCounts = Vec<(String, String, u64)>;

impl HostFailures {
    pub(super) fn add(&mut self, host: u64, (outcome, ending): (&str, &str), amount: u64) {
        let names = (self.number_of(outcome), self.number_of(ending));
        if self.hosts.len() >= MAX_HOSTS && !self.hosts.contains_key(&host) {
            self.forget_half();
        }
        let failures = self.hosts.entry(host).or_default();
        match failures.iter_mut().find(|(of, _)| *of == names) {
            Some((_, before)) => *before += amount,
            None => failures.push((names, amount)),
        }
    }

    pub(super) fn uncertainty(&self) -> u64 {
        self.uncertainty
    }

    pub(super) fn worst(&self, most: usize) -> Vec<(u64, HostCounts)> {
        let mut hosts: Vec<(u64, u64)> =
            self.hosts.iter().map(|(host, failures)| (total(failures), *host)).collect();
        hosts.sort_unstable_by(|one, other| other.0.cmp(&one.0).then(one.1.cmp(&other.1)));
        hosts.truncate(most);
        let name = |number: u16| self.names.get(usize::from(number)).cloned().unwrap_or_default();
        let counts = |host: u64| {
            let failures = self.hosts.get(&host).into_iter().flatten();
            failures.map(|((outcome, ending), amount)| (name(*outcome), name(*ending), *amount))
        };
        hosts.into_iter().map(|(_, host)| (host, counts(host).collect())).collect()
    }

    fn number_of(&mut self, name: &str) -> u16 {
        let at = self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        u16::try_from(at).unwrap_or(u16::MAX)
    }

    fn forget_half(&mut self) {
        let mut totals: Vec<u64> = self.hosts.values().map(total).collect();
        let middle = totals.len() / 2;
        let (_, most, _) = totals.select_nth_unstable(middle);
        let most = *most;
        // Among the hosts with the median count, drop only enough to drop half the hosts in total.
        let mut equal_ones = middle
            .saturating_sub(self.hosts.values().filter(|failures| total(failures) < most).count());
        self.hosts.retain(|_, failures| {
            let total = total(failures);
            let is_forgotten = total < most || total == most && equal_ones > 0;
            equal_ones -= usize::from(is_forgotten && total == most);
            !is_forgotten
        });
        self.uncertainty += most;
    }
}

fn total(failures: &Failures) -> u64 {
    failures.iter().map(|(_, amount)| amount).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_exact_while_there_are_few_hosts() {
        let mut hosts = HostFailures::default();
        for (host, outcome, amount) in [(7, "timeout", 2), (8, "timeout", 9), (7, "tls", 8)] {
            hosts.add(host, (outcome, "failed"), amount);
            hosts.add(host, ("host_dead", "left"), 1);
        }
        let counts = |outcome: &str, ending: &str, amount| (outcome.into(), ending.into(), amount);
        let of_seven = vec![
            counts("timeout", "failed", 2),
            counts("host_dead", "left", 2),
            counts("tls", "failed", 8),
        ];
        assert_eq!(hosts.worst(1), [(7, of_seven)]);
        assert_eq!(hosts.worst(9).len(), 2);
        assert_eq!(hosts.uncertainty(), 0);
    }

    #[test]
    fn of_too_many_hosts_the_worst_are_found_and_no_count_is_too_low_by_more_than_it_says() {
        let mut hosts = HostFailures::default();
        let many = MAX_HOSTS as u64 * 3;
        for host in 0..many {
            hosts.add(host, ("timeout", "failed"), 1 + host % 3);
            if host % 1_000 == 0 {
                let worst = many + host / 1_000 % 3;
                hosts.add(worst, ("tls", "failed"), 10);
            }
        }
        assert!(hosts.hosts.len() <= MAX_HOSTS);
        let worst = hosts.worst(3);
        let mut found: Vec<u64> = worst.iter().map(|(host, _)| *host).collect();
        found.sort_unstable();
        assert_eq!(found, [many, many + 1, many + 2]);
        for (_, counts) in worst {
            let (exact, counted) = (many / 3_000 * 10, counts[0].2);
            assert!(counted <= exact && counted + hosts.uncertainty() >= exact, "{counted}");
        }
    }
}
