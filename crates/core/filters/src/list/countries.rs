//! Countries by address, from the allocations of the regional internet registries. IPv6 addresses
//! are cut to 64 bits, because no registry allocates smaller blocks.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{
    format::{self, FilterListError, ListBytes, ListFile, ListKind, u32_at, u64_at},
    names::{MAX_LIST_ENTRIES, TooManyEntries},
};
use crate::countries::CountryCode;

/// IPv4 range size in bytes: first and last address, country, and two zero bytes.
const IPV4_BYTES: usize = 12;
/// IPv6 range size in bytes: first and last network, country, and six zero bytes.
const IPV6_BYTES: usize = 24;

/// A loaded list of address ranges and their countries.
#[derive(Debug, Clone)]
pub struct CountryRanges {
    file: ListFile,
}

impl CountryRanges {
    /// Opens a list, and checks its digest and its order once.
    ///
    /// # Errors
    /// Returns an error if the bytes are not a country list.
    pub fn open(bytes: ListBytes) -> Result<Self, FilterListError> {
        let length = |section| if section == 0 { IPV4_BYTES } else { IPV6_BYTES };
        let file = ListFile::open(bytes, ListKind::Countries, length)?;
        if file.sections.len() != 2 {
            return Err(FilterListError::Directory);
        }
        let ranges = Self { file };
        let is_sorted = |width: usize| {
            let mut end = None;
            (0..ranges.len(width)).all(|number| {
                let Some((first, last, _)) = ranges.range(width, number) else { return false };
                let follows = end.is_none_or(|end| first > end) && first <= last;
                end = Some(last);
                follows
            })
        };
        if is_sorted(IPV4_BYTES) && is_sorted(IPV6_BYTES) {
            Ok(ranges)
        } else {
            Err(FilterListError::Order)
        }
    }

    /// Returns how many ranges this list has.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.file.sections.iter().map(|section| section.records).sum()
    }

    /// Returns the country to which a registry allocated this address.
    #[must_use]
    pub fn country_of(&self, address: IpAddr) -> Option<CountryCode> {
        match address.to_canonical() {
            IpAddr::V4(address) => self.find(IPV4_BYTES, u64::from(address.to_bits())),
            IpAddr::V6(address) => self.find(IPV6_BYTES, network_of(address)),
        }
    }

    fn find(&self, width: usize, value: u64) -> Option<CountryCode> {
        let (mut low, mut high) = (0, self.len(width));
        while low < high {
            let middle = low + (high - low) / 2;
            let (first, last, country) = self.range(width, middle)?;
            if value < first {
                high = middle;
            } else if value > last {
                low = middle + 1;
            } else {
                return country;
            }
        }
        None
    }

    fn records(&self, width: usize) -> &[u8] {
        self.file.records(usize::from(width == IPV6_BYTES))
    }

    fn len(&self, width: usize) -> usize {
        self.records(width).len() / width
    }

    fn range(&self, width: usize, number: usize) -> Option<(u64, u64, Option<CountryCode>)> {
        let record = self.records(width).get(number * width..)?.get(..width)?;
        let half = if width == IPV4_BYTES { 4 } else { 8 };
        let number_at = |at| match half {
            4 => u32_at(record, at).map(u64::from),
            _ => u64_at(record, at),
        };
        let code = record.get(2 * half..)?.first_chunk::<2>().copied();
        Some((number_at(0)?, number_at(half)?, code.and_then(CountryCode::of_bytes)))
    }
}

fn network_of(address: Ipv6Addr) -> u64 {
    (address.to_bits() >> 64) as u64
}

type Range = (u64, u64, CountryCode);

/// Builds a country list from registry files.
#[derive(Debug, Default)]
pub struct CountryRangesBuilder {
    ipv4: Vec<Range>,
    ipv6: Vec<Range>,
    bad_lines: u64,
}

impl CountryRangesBuilder {
    /// Returns true for a registry file's first line. This line contains the version 2 or 2.3.
    #[must_use]
    pub fn is_first_line(line: &[u8]) -> bool {
        let line = line.trim_ascii();
        (line.starts_with(b"2|") || line.starts_with(b"2."))
            && line.split(|b| *b == b'|').count() >= 6
    }

    /// Adds the range in a line, unless this range is not allocated to a country.
    ///
    /// # Errors
    /// Returns an error if the list is too large.
    pub fn add_line(&mut self, line: &[u8]) -> Result<(), TooManyEntries> {
        let Ok(line) = std::str::from_utf8(line) else {
            self.bad_lines += 1;
            return Ok(());
        };
        let fields: Vec<&str> = line.trim().split('|').take(8).collect();
        let (Some(country), Some(kind)) = (fields.get(1), fields.get(2)) else { return Ok(()) };
        let is_given = matches!(fields.get(6), Some(&("allocated" | "assigned")));
        if !is_given || !matches!(*kind, "ipv4" | "ipv6") || *country == "ZZ" || country.is_empty()
        {
            return Ok(());
        }
        match range_of(country, kind, &fields) {
            Some(range) if *kind == "ipv4" => self.ipv4.push(range),
            Some(range) => self.ipv6.push(range),
            None => self.bad_lines += 1,
        }
        if self.ipv4.len() + self.ipv6.len() > MAX_LIST_ENTRIES {
            Err(TooManyEntries)
        } else {
            Ok(())
        }
    }

    /// Returns true if no range was added.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ipv4.is_empty() && self.ipv6.is_empty()
    }

    /// Returns how many lines have a malformed range.
    #[must_use]
    pub fn bad_lines(&self) -> u64 {
        self.bad_lines
    }

    /// Returns the list. Where ranges overlap, the one that starts first wins.
    #[must_use]
    pub fn build(self) -> Vec<u8> {
        let (mut ipv4, mut ipv6) = (Vec::new(), Vec::new());
        for (first, last, country) in merged(self.ipv4) {
            for end in [first, last] {
                ipv4.extend(u32::try_from(end).unwrap_or(u32::MAX).to_le_bytes());
            }
            ipv4.extend(country.bytes().into_iter().chain([0; 2]));
        }
        for (first, last, country) in merged(self.ipv6) {
            ipv6.extend(first.to_le_bytes().into_iter().chain(last.to_le_bytes()));
            ipv6.extend(country.bytes().into_iter().chain([0; 6]));
        }
        let sections = [("ipv4", ipv4, IPV4_BYTES), ("ipv6", ipv6, IPV6_BYTES)];
        format::write(ListKind::Countries, &sections)
    }
}

fn range_of(country: &str, kind: &str, fields: &[&str]) -> Option<Range> {
    let country = CountryCode::parse(country)?;
    let (start, size) = (fields.get(3)?, fields.get(4)?);
    if kind == "ipv4" {
        let first = u64::from(start.parse::<Ipv4Addr>().ok()?.to_bits());
        let last = first.checked_add(size.parse::<u64>().ok()?.checked_sub(1)?)?;
        return (last <= u64::from(u32::MAX)).then_some((first, last, country));
    }
    let first = network_of(start.parse::<Ipv6Addr>().ok()?);
    let prefix = size.parse::<u32>().ok().filter(|prefix| (1..=64).contains(prefix))?;
    let host_bits = u64::MAX.checked_shr(prefix).unwrap_or(0);
    (first & host_bits == 0).then_some((first, first | host_bits, country))
}

/// Sorts ranges, removes the parts that an earlier range covers, and joins a country's adjacent
/// ranges.
fn merged(mut ranges: Vec<Range>) -> Vec<Range> {
    ranges.sort_unstable_by_key(|(first, last, country)| (*first, *last, *country));
    let mut merged: Vec<Range> = Vec::with_capacity(ranges.len());
    for (mut first, last, country) in ranges {
        if let Some((_, end, before)) = merged.last_mut() {
            if last <= *end {
                continue;
            }
            first = first.max(end.saturating_add(1));
            if *before == country && first == end.saturating_add(1) {
                *end = last;
                continue;
            }
        }
        merged.push((first, last, country));
    }
    merged
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;

    fn ranges(text: &str) -> CountryRanges {
        let mut builder = CountryRangesBuilder::default();
        text.lines().for_each(|line| builder.add_line(line.as_bytes()).unwrap());
        CountryRanges::open(Arc::new(builder.build())).unwrap()
    }

    #[test]
    fn registry_files_contain_the_country_of_an_address() {
        let text = "2|ripencc|20261125|4|19830705|20261124|+0100\n\
                    ripencc|*|ipv4|*|2|summary\n\
                    # a remark\n\
                    ripencc|DE|ipv4|192.0.2.0|128|20100101|allocated|x\n\
                    ripencc|DE|ipv4|192.0.2.128|64|20100101|assigned|y\n\
                    ripencc|FR|ipv4|192.0.2.160|96|20100101|allocated|z\n\
                    apnic|AU|ipv4|1.0.0.0|256|20110811|assigned|A91872ED\n\
                    apnic||ipv4|1.0.1.0|256||available|\n\
                    apnic|ZZ|ipv4|1.0.2.0|256||reserved|\n\
                    ripencc|SE|ipv6|2001:db8::|32|20100101|allocated|x\n\
                    ripencc|SE|asn|1|1|20100101|allocated|x\n\
                    ripencc|SE|ipv4|300.0.0.0|1|20100101|allocated|x\n\
                    ripencc|SE|ipv4|255.255.255.255|2|20100101|allocated|x\n\
                    ripencc|SE|ipv6|2001:db8::|0|20100101|allocated|x\n";
        let ranges = ranges(text);
        assert_eq!(ranges.entries(), 4);
        for (address, country) in [
            ("192.0.2.0", Some("DE")),
            ("192.0.2.191", Some("DE")),
            ("192.0.2.192", Some("FR")),
            ("192.0.2.255", Some("FR")),
            ("192.0.3.0", None),
            ("1.0.0.255", Some("AU")),
            ("1.0.1.0", None),
            ("::ffff:1.0.0.1", Some("AU")),
            ("2001:db8:ffff::1", Some("SE")),
            ("2001:db9::", None),
        ] {
            let found = ranges.country_of(address.parse().unwrap()).map(|code| code.to_string());
            assert_eq!(found.as_deref(), country, "{address}");
        }
        assert!(CountryRangesBuilder::is_first_line(text.lines().next().unwrap().as_bytes()));
        assert!(!CountryRangesBuilder::is_first_line(b"example.com"));
    }

    proptest! {
        #[test]
        fn the_first_range_with_an_address_gives_its_country(
            given in proptest::collection::vec((0_u32..60, 1_u32..20, 0_u8..3), 0..12),
            address in 0_u32..90,
        ) {
            let mut builder = CountryRangesBuilder::default();
            let mut sorted: Vec<(u32, u32, String)> = given
                .iter()
                .map(|(start, size, c)| {
                    (*start, start + size - 1, format!("A{}", (b'A' + c) as char))
                })
                .collect();
            for (first, last, country) in &sorted {
                let start = Ipv4Addr::from_bits(*first);
                let line = format!("x|{country}|ipv4|{start}|{}|1|allocated", last - first + 1);
                builder.add_line(line.as_bytes()).unwrap();
            }
            let ranges = CountryRanges::open(Arc::new(builder.build())).unwrap();
            sorted.sort();
            let found = ranges.country_of(Ipv4Addr::from_bits(address).into());
            let has = |(first, last, _): &&(_, _, _)| (*first..=*last).contains(&address);
            let having = sorted.iter().filter(has);
            let having: Vec<String> = having.map(|(_, _, country)| country.clone()).collect();
            match found {
                None => prop_assert!(having.is_empty()),
                Some(country) => prop_assert!(having.contains(&country.to_string())),
            }
        }
    }
}
