//! The areas of an order: which one a tab belongs to, and their sequence.

use std::collections::{BTreeMap, HashMap};

use everytab_bundler::{
    map::BACKGROUND,
    map_order::{MapOrder, OrderIndex},
    search::{SearchEntry, files::top_level, ranks::HostRanks},
};
use everytab_icon::{
    thumbnail::Thumbnail,
    tint::{GREYS, HUES, Tint, tint},
};

/// Each name belongs to three of the 36 hues, with its own colour in the middle.
const HUE_NAMES: [&str; 12] = [
    "red", "orange", "yellow", "lime", "green", "mint", "cyan", "azure", "blue", "violet",
    "magenta", "pink",
];
/// Each name belongs to two of the 8 greys.
const GREY_NAMES: [&str; 4] = ["black", "dark", "grey", "white"];
const TINTS: usize = HUES + GREYS + 1;
/// The best rank in each area after the first, which contains the ranks 1 to 100.
const FIRST_RANKS: [u32; 4] = [101, 1_001, 10_001, 100_001];
const NONE: &str = "none";
/// Maximum number of areas. There are about 1,500 top-level domains. If there are more areas than
/// this, the remaining tabs share the last one.
const MAX_AREAS: usize = 4_096;

/// Each area is divided by tint. The order by colour has one area, whose tints are published as
/// areas.
#[derive(Debug)]
pub(super) struct Areas {
    order: MapOrder,
    names: Vec<String>,
    tabs: Vec<[u64; TINTS]>,
    domains: HashMap<String, usize>,
}

impl Areas {
    pub(super) fn new(order: MapOrder) -> Self {
        let names: Vec<String> = match order {
            MapOrder::Colour | MapOrder::Domain => vec![NONE.to_owned()],
            MapOrder::Rank => rank_names().collect(),
        };
        Self { order, tabs: vec![[0; TINTS]; names.len()], names, domains: HashMap::new() }
    }

    pub(super) fn order(&self) -> MapOrder {
        self.order
    }

    pub(super) fn of_tabs(
        &mut self,
        thumbnails: &[Thumbnail],
        hosts: &BTreeMap<usize, SearchEntry>,
        ranks: &HostRanks,
    ) -> Vec<u32> {
        let of_tab = |(slot, thumbnail): (usize, &Thumbnail)| {
            let host = hosts.get(&slot).map(|entry| entry.hostname.as_str());
            let area = match self.order {
                MapOrder::Colour => 0,
                MapOrder::Domain => host.map_or(0, |host| self.of_domain(top_level(host))),
                MapOrder::Rank => of_rank(host.and_then(|host| ranks.of(host))),
            };
            let tint = number_of(tint(thumbnail, BACKGROUND));
            self.tabs[area][tint] += 1;
            (area * TINTS + tint) as u32
        };
        thumbnails.iter().enumerate().map(of_tab).collect()
    }

    fn of_domain(&mut self, domain: &str) -> usize {
        if domain == NONE {
            return 0;
        }
        if let Some(area) = self.domains.get(domain) {
            return *area;
        }
        let area = self.names.len().min(MAX_AREAS - 1);
        if area == self.names.len() {
            self.names.push(domain.to_owned());
            self.tabs.push([0; TINTS]);
            self.domains.insert(domain.to_owned(), area);
        }
        area
    }

    /// Returns the areas in their sequence: domains with the most tabs first, ranks from the best.
    fn sorted(&self) -> Vec<usize> {
        let mut areas: Vec<usize> = (0..self.names.len()).collect();
        if self.order == MapOrder::Domain {
            let is_none = |area: usize| self.names[area] == NONE;
            areas.sort_by(|a, b| {
                let by_tabs = || self.tabs_of(*b).cmp(&self.tabs_of(*a));
                let by_name = || self.names[*a].cmp(&self.names[*b]);
                is_none(*a).cmp(&is_none(*b)).then_with(by_tabs).then_with(by_name)
            });
        }
        areas
    }

    fn tabs_of(&self, area: usize) -> u64 {
        self.tabs[area].iter().sum()
    }

    pub(super) fn all_tabs(&self) -> u64 {
        self.tabs.as_flattened().iter().sum()
    }

    pub(super) fn first_places(&self) -> Vec<u64> {
        let mut first = vec![0; self.names.len() * TINTS];
        let mut place = 0;
        for area in self.sorted() {
            for (tint, tabs) in self.tabs[area].iter().enumerate() {
                first[area * TINTS + tint] = place;
                place += tabs;
            }
        }
        first
    }

    pub(super) fn index(&self) -> OrderIndex {
        if self.order == MapOrder::Colour {
            return OrderIndex::new(tint_names().zip(self.tabs[0]));
        }
        let areas = self.sorted().into_iter();
        OrderIndex::new(areas.map(|area| (self.names[area].clone(), self.tabs_of(area))))
    }
}

fn tint_names() -> impl Iterator<Item = String> {
    let hues = (0..HUES).map(|hue| HUE_NAMES[hue * HUE_NAMES.len() / HUES]);
    let greys = (0..GREYS).map(|grey| GREY_NAMES[grey * GREY_NAMES.len() / GREYS]);
    hues.chain(greys).chain([NONE]).map(str::to_owned)
}

fn number_of(tint: Tint) -> usize {
    match tint {
        Tint::Hue(hue) => (hue + HUES / HUE_NAMES.len() / 2) % HUES,
        Tint::Grey(grey) => HUES + grey,
        Tint::Empty => HUES + GREYS,
    }
}

fn rank_names() -> impl Iterator<Item = String> {
    let best = [1].into_iter().chain(FIRST_RANKS);
    best.map(|rank| rank.to_string()).chain([NONE.to_owned()])
}

fn of_rank(rank: Option<u32>) -> usize {
    match rank {
        Some(rank) => FIRST_RANKS.iter().filter(|first| rank >= **first).count(),
        None => FIRST_RANKS.len() + 1,
    }
}

#[cfg(test)]
mod tests {
    use everytab_icon::thumbnail::empty_thumbnail;

    use super::*;

    fn names(index: &OrderIndex) -> Vec<(&str, u64)> {
        index.areas.iter().map(|(name, tabs)| (name.as_str(), *tabs)).collect()
    }

    fn hosts(names: &[&str]) -> BTreeMap<usize, SearchEntry> {
        let entry = |name: &&str| SearchEntry::new((*name).to_owned(), 0, 0);
        names.iter().map(entry).enumerate().collect()
    }

    #[test]
    fn colours_go_around_the_circle_then_from_black_to_white_then_nothing() {
        let mut areas = Areas::new(MapOrder::Colour);
        let shown = [[255, 0, 20], BACKGROUND, [0; 3], [0, 0, 9], [255; 3], [255, 30, 0]];
        let mut of = |colours: &[[u8; 3]]| {
            let shown: Vec<Thumbnail> = colours.iter().copied().map(empty_thumbnail).collect();
            areas.of_tabs(&shown, &BTreeMap::new(), &HostRanks::default())
        };
        assert_eq!(of(&shown), [1, 44, 36, 36, 43, 2]);
        assert_eq!(of(&[[0, 0, 255]]), [25]);
        let expected = [("red", 2), ("blue", 1), ("black", 2), ("white", 1), (NONE, 1)];
        assert_eq!(names(&areas.index()), expected);
        let first = areas.first_places();
        assert_eq!([1, 2, 25, 36, 43, 44].map(|part| first[part]), [0, 1, 2, 3, 5, 6]);
    }

    #[test]
    fn the_domain_with_the_most_tabs_is_first_and_addresses_are_last() {
        let mut areas = Areas::new(MapOrder::Domain);
        let thumbnails = [[0; 3], [0; 3], [255; 3], [0; 3], [0; 3], [0; 3], [0; 3]];
        let hosts = hosts(&["a.de", "192.0.2.1", "b.com", "c.net", "d.com", "10.0.0.1"]);
        let of = areas.of_tabs(&thumbnails.map(empty_thumbnail), &hosts, &HostRanks::default());
        let part = |area: u32, tint: u32| area * TINTS as u32 + tint;
        let (black, white) = (36, 43);
        let areas_of = [(1, black), (0, black), (2, white), (3, black), (2, black), (0, black)];
        assert_eq!(of[..6], areas_of.map(|(area, tint)| part(area, tint)));
        assert_eq!(of[6], part(0, black), "a tab without a search entry");
        assert_eq!(names(&areas.index()), [("com", 2), ("de", 1), ("net", 1), (NONE, 3)]);
        let first = areas.first_places();
        let parts = [(2, black), (2, white), (1, black), (3, black), (0, black)];
        let parts = parts.map(|(area, tint)| first[part(area, tint) as usize]);
        assert_eq!(parts, [0, 1, 2, 3, 4]);
        for number in 0..2 * MAX_AREAS {
            areas.of_domain(&format!("d{number}"));
        }
        assert_eq!((areas.names.len(), areas.of_domain("new")), (MAX_AREAS, MAX_AREAS - 1));
    }

    #[test]
    fn ranks_make_bands_of_ten_times_as_many_hosts() {
        let of = [1, 100, 101, 1_000, 10_000, 10_001, 1_000_000].map(|rank| of_rank(Some(rank)));
        assert_eq!(of, [0, 0, 1, 1, 2, 3, 4]);
        let mut areas = Areas::new(MapOrder::Rank);
        let ranks = HostRanks::read(b"a.com\n\nb.com\n", |_| true);
        let hosts = hosts(&["b.com", "www.a.com", "c.com"]);
        areas.of_tabs(&[empty_thumbnail(BACKGROUND); 3], &hosts, &ranks);
        assert_eq!(names(&areas.index()), [("1", 2), (NONE, 1)]);
    }
}
