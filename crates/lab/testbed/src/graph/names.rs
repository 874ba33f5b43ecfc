//! Hosts and sites by number, and their names. Each site's label has a suffix that marks it as part
//! of a testbed, so that no name in a world exists on the real internet by chance.

use crate::dice::Dice;

pub(super) const WORDS: [&str; 16] = [
    "amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "inlet", "jetty",
    "knoll", "larch", "marsh", "north", "ocean", "pines",
];
const LABEL_END: &str = "-everytab-testbed";
const NAME_DRAW: u64 = 1;
const WWW_DRAW: u64 = 2;

#[derive(Clone, Debug)]
pub(super) struct Names {
    seed: u64,
    hosts: u64,
    sites: u64,
    suffixes: Vec<String>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct NamedHost {
    pub(crate) host: u64,
    /// The number in front of the host's name, if the name belongs to the host's link farm.
    pub(crate) farm: Option<u64>,
}

impl Names {
    pub(super) fn new(seed: u64, hosts: u64, sites: u64, suffixes: Vec<String>) -> Self {
        Self { seed, hosts, sites, suffixes }
    }

    /// For the site after the last one, returns the host count.
    pub(super) fn first_host(&self, site: u64) -> u64 {
        let (site, sites) = (u128::from(site), u128::from(self.sites));
        let more = u128::from(self.hosts - self.sites);
        (site + more * site * site / (sites * sites)) as u64
    }

    pub(super) fn site_of(&self, host: u64) -> u64 {
        let (mut low, mut high) = (0, self.sites);
        while high - low > 1 {
            let middle = low.midpoint(high);
            if self.first_host(middle) <= host {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }

    pub(super) fn site_name(&self, site: u64) -> String {
        let mut dice = Dice::of_numbers([self.seed, NAME_DRAW, site]);
        let word = dice.pick(&WORDS);
        let at = dice.below(self.suffixes.len() as u64) as usize;
        let suffix = self.suffixes.get(at).map_or("", String::as_str);
        format!("{word}{site}{LABEL_END}.{suffix}")
    }

    pub(super) fn host_name(&self, host: u64) -> String {
        let site = self.site_of(host);
        let name = self.site_name(site);
        if host > self.first_host(site) {
            format!("h{host}.{name}")
        } else if Dice::of_numbers([self.seed, WWW_DRAW, site]).permille(500) {
            format!("www.{name}")
        } else {
            name
        }
    }

    pub(super) fn find(&self, name: &str) -> Option<NamedHost> {
        if let Some((number, rest)) = name.strip_prefix("farm").and_then(|n| n.split_once('.')) {
            let farm = Some(number.parse().ok().filter(|farm: &u64| farm.to_string() == number)?);
            return self.exactly(rest).map(|host| NamedHost { host, farm });
        }
        self.exactly(name).map(|host| NamedHost { host, farm: None })
    }

    fn exactly(&self, name: &str) -> Option<u64> {
        let (front, _) = name.split_once(LABEL_END)?;
        let (before, label) = front.rsplit_once('.').unwrap_or(("", front));
        let site = label.trim_start_matches(|c: char| c.is_ascii_lowercase()).parse().ok()?;
        if site >= self.sites {
            return None;
        }
        let host = match before.strip_prefix('h') {
            Some(number) => number.parse().ok()?,
            None => self.first_host(site),
        };
        (host < self.hosts && self.host_name(host) == name).then_some(host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(hosts: u64, sites: u64) -> Names {
        Names::new(7, hosts, sites, ["com", "github.io"].map(str::to_owned).to_vec())
    }

    #[test]
    fn every_host_is_found_by_its_name_and_no_other_name_is_one() {
        for (hosts, sites) in [(1, 1), (5, 5), (200, 30), (1_000, 3)] {
            let names = names(hosts, sites);
            for host in 0..hosts {
                let name = names.host_name(host);
                assert_eq!(names.find(&name), Some(NamedHost { host, farm: None }), "{name}");
                let farm = names.find(&format!("farm12.{name}"));
                assert_eq!(farm, Some(NamedHost { host, farm: Some(12) }));
                for other in [format!("x.{name}"), format!("farm01.{name}"), format!("{name}.x")] {
                    assert_eq!(names.find(&other), None, "{other}");
                }
            }
            assert_eq!(names.find("amber1.com"), None);
            assert_eq!(names.find(""), None);
        }
    }

    #[test]
    fn hosts_are_numbered_site_by_site() {
        for (hosts, sites) in [(1, 1), (200, 30), (1_000_000_007, 65_537)] {
            let names = names(hosts, sites);
            assert_eq!((names.first_host(0), names.first_host(sites)), (0, hosts));
            for site in 0..sites.min(200) {
                let first = names.first_host(site);
                assert!(names.first_host(site + 1) > first);
                assert_eq!(names.site_of(first), site);
                assert_eq!(names.site_of(names.first_host(site + 1) - 1), site);
            }
        }
    }
}
