//! The landmarks: the best-ranked hosts, which the zoomed-out map shows larger than their cells.
//!
//! `map/landmarks.tsv` has one line per landmark, best rank first: hostname, bundle, slot, rank,
//! and the icon as a PNG in base64.

use std::fmt::Write as _;

use base64::{Engine, engine::general_purpose::STANDARD};

use crate::search::{SearchEntry, key::without_www};

/// A landmark file has at most this many landmarks.
pub const MAX_LANDMARKS: usize = 256;
/// Maximum landmark file size in bytes. A slow connection transfers this many bytes in about a
/// second. A line with a recorded icon has 757 bytes on average.
pub const MAX_BYTES: usize = 200_000;
/// Publishing checks at most this many hosts' bundles for an icon. Some hosts have no icon.
pub const MAX_CANDIDATES: usize = 400;

const PNG_SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// A host that the map shows from afar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landmark {
    /// The host and its rank.
    pub entry: SearchEntry,
    /// The icon, as a PNG in base64.
    pub icon: String,
}

impl Landmark {
    /// Creates a landmark. `None` if the host has no rank, or the icon is not a PNG.
    #[must_use]
    pub fn new(entry: SearchEntry, icon: &[u8]) -> Option<Self> {
        let is_usable = entry.rank.is_some() && icon.starts_with(PNG_SIGNATURE);
        is_usable.then(|| Self { entry, icon: STANDARD.encode(icon) })
    }

    fn line(&self) -> String {
        let Self { entry: SearchEntry { hostname, bundle, slot, rank, .. }, icon } = self;
        let rank = rank.unwrap_or(u32::MAX);
        format!("{hostname}\t{bundle}\t{slot}\t{rank}\t{icon}\n")
    }
}

/// Returns the hosts that may become landmarks, best rank first. Hosts that differ only by `www.`
/// share a rank, and the host without it is first.
#[must_use]
pub fn candidates(mut hosts: Vec<SearchEntry>) -> Vec<SearchEntry> {
    hosts.retain(|host| host.rank.is_some());
    hosts.sort_by(|a, b| {
        let order = |host: &SearchEntry| (host.rank, without_www(&host.hostname) != host.hostname);
        order(a).cmp(&order(b)).then_with(|| a.hostname.cmp(&b.hostname))
    });
    hosts.truncate(MAX_CANDIDATES);
    hosts
}

/// A landmark file that is being written.
#[derive(Debug, Default)]
pub struct LandmarkLines {
    text: String,
    count: usize,
    last_rank: Option<u32>,
}

impl LandmarkLines {
    /// Appends a landmark, unless the previous one has the same rank. Returns false if the file is
    /// full.
    pub fn push(&mut self, landmark: &Landmark) -> bool {
        if self.last_rank == landmark.entry.rank {
            return true;
        }
        let line = landmark.line();
        let fits = self.count < MAX_LANDMARKS && self.text.len() + line.len() <= MAX_BYTES;
        if fits {
            self.text.push_str(&line);
            self.count += 1;
            self.last_rank = landmark.entry.rank;
        }
        fits
    }

    /// Returns how many landmarks the file has.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the file's content.
    #[must_use]
    pub fn into_text(self) -> String {
        self.text
    }
}

/// Applies `keep` to each landmark, and removes those for which it returns false. Malformed lines
/// are removed, too, because a damaged file must not prevent a removal.
#[must_use]
pub fn edited(bytes: &[u8], keep: impl Fn(&mut Landmark) -> bool) -> String {
    let mut text = String::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        if let Some(mut landmark) = read_line(line)
            && keep(&mut landmark)
        {
            let _ = write!(text, "{}", landmark.line());
        }
    }
    text
}

fn read_line(line: &[u8]) -> Option<Landmark> {
    let mut fields = std::str::from_utf8(line).ok()?.split('\t');
    let hostname = fields.next()?.to_owned();
    let (bundle, slot) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    let rank = Some(fields.next()?.parse().ok()?);
    let icon = fields.next()?.to_owned();
    let entry = SearchEntry { rank, ..SearchEntry::new(hostname, bundle, slot) };
    fields.next().is_none().then_some(Landmark { entry, icon })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str, rank: u32) -> SearchEntry {
        SearchEntry { rank: Some(rank), ..SearchEntry::new(name.to_owned(), 7, 3) }
    }

    fn landmark(name: &str, rank: u32, icon_bytes: usize) -> Landmark {
        let icon = [PNG_SIGNATURE, &vec![0; icon_bytes]].concat();
        Landmark::new(host(name, rank), &icon).unwrap()
    }

    #[test]
    fn candidates_are_in_order_of_rank_and_each_rank_has_one_landmark() {
        let hosts = vec![
            host("c.example", 30),
            host("www.b.example", 2),
            SearchEntry::new("unranked.example".to_owned(), 0, 0),
            host("b.example", 2),
            host("www.a.example", 1),
        ];
        let reversed = hosts.iter().rev().cloned().collect();
        let expected = ["www.a.example", "b.example", "www.b.example", "c.example"];
        for hosts in [hosts, reversed] {
            let names: Vec<String> = candidates(hosts).into_iter().map(|h| h.hostname).collect();
            assert_eq!(names, expected);
        }
        let many = (1..=500).map(|rank| host(&format!("{rank}.example"), rank)).collect();
        assert_eq!(candidates(many).len(), MAX_CANDIDATES);
        let mut lines = LandmarkLines::default();
        for (name, rank) in [("b.example", 2), ("www.b.example", 2), ("c.example", 30)] {
            assert!(lines.push(&landmark(name, rank, 1)));
        }
        let text = lines.into_text();
        assert!(text.lines().count() == 2 && !text.contains("www.b.example"), "{text}");
    }

    #[test]
    fn a_host_without_a_rank_or_a_png_is_no_landmark() {
        let unranked = SearchEntry::new("a.example".to_owned(), 0, 0);
        assert_eq!(Landmark::new(unranked, PNG_SIGNATURE), None);
        for icon in [&b""[..], b"GIF89a", b"\x89PNG", b"\"><script>\t\n"] {
            assert_eq!(Landmark::new(host("a.example", 1), icon), None);
        }
    }

    #[test]
    fn the_file_is_bounded_by_number_and_by_bytes() {
        let mut lines = LandmarkLines::default();
        let pushed = (1..=300).filter(|rank| lines.push(&landmark("a.example", *rank, 40))).count();
        assert_eq!((pushed, lines.count()), (MAX_LANDMARKS, MAX_LANDMARKS));
        let mut lines = LandmarkLines::default();
        let pushed = (1..=300).filter(|rank| lines.push(&landmark("a.example", *rank, 3_000)));
        assert_eq!(pushed.count(), 49);
        let text = lines.into_text();
        assert!(text.len() <= MAX_BYTES && text.len() > MAX_BYTES - 4_100, "{}", text.len());
    }

    #[test]
    fn an_edit_moves_and_removes_landmarks_and_drops_damaged_lines() {
        let [a, b] = [landmark("a.example", 1, 1), landmark("b.example", 2, 1)];
        let mut lines = LandmarkLines::default();
        assert!(lines.push(&a) && lines.push(&b));
        let text = lines.into_text();
        assert!(text.starts_with("a.example\t7\t3\t1\tiVBORw0KGgo"), "{text}");
        assert_eq!(edited(text.as_bytes(), |_| true), text);
        let damaged =
            [b"\xff\n\nx.example\t1\ny.example\t1\t2\tz\tQQ==\n", text.as_bytes()].concat();
        assert_eq!(edited(&damaged, |_| true), text);
        let moved = edited(text.as_bytes(), |landmark| {
            landmark.entry.slot = 9;
            landmark.entry.hostname != "a.example"
        });
        assert!(moved.starts_with("b.example\t7\t9\t2\t") && moved.lines().count() == 1, "{moved}");
    }
}
