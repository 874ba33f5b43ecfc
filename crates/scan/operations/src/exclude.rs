//! Excludes hosts, domains and networks from a running scan.

use std::net::IpAddr;

use everytab_bundler::takedown_list::PatternKind;
use everytab_console::{LineSink, OperationError};
use everytab_coordinator::{Coordinator, ExclusionRow};
use everytab_jobs::blocked_pattern::{hostname, suffix};
use ipnet::IpNet;

use crate::takedown;

/// Minimum prefix lengths for IPv4 and IPv6. A shorter one is most likely a mistake.
const MIN_PREFIX: (u8, u8) = (8, 16);

/// An exclusion.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExclusionPattern {
    /// A hostname.
    Hostname(String),
    /// A domain with all its subdomains.
    Suffix(String),
    /// A network.
    Network(IpNet),
}

impl ExclusionPattern {
    /// Parses `www.example.com`, `*.example.com` (or `.example.com`), `192.0.2.0/24` or
    /// `192.0.2.1`.
    ///
    /// # Errors
    /// Returns one line that describes the mistake.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Self::Network(address.into()));
        }
        if let Ok(network) = text.parse::<IpNet>() {
            let (least_v4, least_v6) = MIN_PREFIX;
            let least = if network.addr().is_ipv4() { least_v4 } else { least_v6 };
            return if network.prefix_len() >= least {
                Ok(Self::Network(network.trunc()))
            } else {
                Err(format!(
                    "{text:?} is too large: the largest network is /{least}; `scan pause --kind \
                     icon` stops everything"
                ))
            };
        }
        if text.starts_with("*.") || text.starts_with('.') {
            suffix(text).map(Self::Suffix)
        } else {
            hostname(text).map(Self::Hostname)
        }
    }

    fn parts(&self) -> (&'static str, String) {
        match self {
            Self::Hostname(name) => ("hostname", name.clone()),
            Self::Suffix(domain) => ("suffix", domain.clone()),
            Self::Network(network) => ("network", network.to_string()),
        }
    }
}

/// Parses a list with one pattern per line, in which `#` starts a comment.
///
/// # Errors
/// Returns the error of the first malformed line.
pub fn read_list(text: &str) -> Result<Vec<ExclusionPattern>, String> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    lines.filter(|line| !line.is_empty()).map(ExclusionPattern::parse).collect()
}

/// Excludes patterns from a running scan, and prints each. Also adds hosts and domains to the
/// private prefix's blocklist.txt, if there is one.
///
/// # Errors
///
/// Returns an error if the scan has finished, or the database or the store fails.
pub async fn exclude(
    coordinator: &Coordinator,
    scan: i32,
    patterns: &[ExclusionPattern],
    private: Option<&str>,
    reason: Option<&str>,
    sink: &dyn LineSink,
) -> Result<(), OperationError> {
    let parts: Vec<(&str, String)> = patterns.iter().map(ExclusionPattern::parts).collect();
    if coordinator.exclude(scan, &parts).await?.is_none() {
        return Err(OperationError::new(
            "nothing was excluded: the scan has finished and sends no requests; `takedown HOST \
             --site URL` takes a tab off its page, `blocklist add` keeps a host out of later scans",
        ));
    }
    for (kind, pattern) in &parts {
        sink.data(format_args!("{kind}\t{pattern}"))?;
    }
    let again = coordinator.rebundle_excluded(scan, &parts).await?;
    if again > 0 {
        sink.note(format_args!(
            "{again} jobs will rewrite their bundles without the excluded tabs"
        ));
    }
    sink.note(format_args!(
        "within a minute, no worker sends requests to the excluded hosts any more; their icons \
         get the outcome opted_out"
    ));
    let names: Vec<(PatternKind, &str)> = patterns
        .iter()
        .filter_map(|pattern| match pattern {
            ExclusionPattern::Hostname(name) => Some((PatternKind::Hostname, &**name)),
            ExclusionPattern::Suffix(name) => Some((PatternKind::Suffix, &**name)),
            ExclusionPattern::Network(_) => None,
        })
        .collect();
    match private {
        Some(private) if !names.is_empty() => {
            takedown::list_as_blocked(private, &names, reason, sink).await?;
        }
        Some(_) => {}
        None => sink.note(format_args!(
            "without --private, scans in another database will send requests to these hosts again"
        )),
    }
    Ok(())
}

/// Prints a scan's exclusions, in the order of their creation.
///
/// # Errors
/// Returns an error if the database cannot be reached.
pub async fn list(
    coordinator: &Coordinator,
    scan: i32,
    sink: &dyn LineSink,
) -> Result<(), OperationError> {
    for ExclusionRow { kind, pattern, excluded_at, .. } in
        coordinator.load_exclusions(scan, 0).await?
    {
        let at = excluded_at.format("%Y-%m-%d %H:%M:%S");
        sink.data(format_args!("{at}\t{kind}\t{pattern}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_domains_networks_and_addresses_are_told_apart() {
        let read = |text: &str| ExclusionPattern::parse(text).unwrap().parts();
        let kinds = [
            ("WWW.Example.com.", ("hostname", "www.example.com")),
            ("*.example.com", ("suffix", "example.com")),
            (".Example.com", ("suffix", "example.com")),
            ("192.0.2.77/24", ("network", "192.0.2.0/24")),
            ("192.0.2.1", ("network", "192.0.2.1/32")),
            ("2001:db8::/32", ("network", "2001:db8::/32")),
        ];
        for (text, (kind, pattern)) in kinds {
            assert_eq!(read(text), (kind, pattern.to_owned()), "{text}");
        }
    }

    #[test]
    fn what_would_exclude_far_too_much_or_nothing_is_refused_by_name() {
        for text in [
            "0.0.0.0/0",
            "10.0.0.0/7",
            "::/0",
            ".com",
            "*.com",
            "https://a.page/x",
            "",
            "*",
            "*.*.x",
            "*.*.a.page",
            "a..page",
        ] {
            let error = ExclusionPattern::parse(text).unwrap_err();
            assert!(error.contains(text), "{text}: {error}");
        }
        let list = "# asked by mail\nwww.a.page  # yesterday\n\n*.b.page\n192.0.2.0/24\n";
        assert_eq!(read_list(list).unwrap().len(), 3);
        assert!(read_list("a.page\nno host\n").is_err());
    }
}
