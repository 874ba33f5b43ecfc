//! Writes host ranks in Common Crawl's format, and the list of graphs. A fifth of the hosts have a
//! rank, but at most about a million. The file also contains hosts that are not in the crawl, as a
//! real web graph does.

use std::{
    fs::{self, File},
    io::Write,
    path::Path,
};

use flate2::{Compression, GzBuilder};

use super::names::World;
use crate::{dice::Dice, error::TestbedError};

const GRAPH: &str = "cc-main-2025-oct-nov-dec";
const HOSTS_A_RANK: u64 = 5;
const RANKED_A_LINKED: usize = 7;
const MAX_RANKED: u64 = 1_000_000;

pub(super) fn write(world: &World, bucket: &Path) -> Result<(), TestbedError> {
    let folder = bucket.join("projects/hyperlinkgraph").join(GRAPH).join("host");
    fs::create_dir_all(&folder).map_err(TestbedError::file(&folder))?;
    let path = folder.join(format!("{GRAPH}-host-ranks.txt.gz"));
    let write = || -> std::io::Result<()> {
        let mut gzip = GzBuilder::new().mtime(0).write(File::create(&path)?, Compression::new(6));
        writeln!(gzip, "#harmonicc_pos\t#harmonicc_val\t#pr_pos\t#pr_val\t#host_rev")?;
        for (position, host) in (1_u64..).zip(hosts(world)) {
            let bare = host.strip_prefix("www.").unwrap_or(&host);
            let reversed = bare.rsplit('.').collect::<Vec<_>>().join(".");
            let value = 3.0e7 / position as f64;
            writeln!(gzip, "{position}\t{value:.1}\t{position}\t{:e}\t{reversed}", value / 1e10)?;
        }
        gzip.finish()?.sync_data()
    };
    write().map_err(TestbedError::file(&path))?;
    let list = bucket.join("graphinfo.json");
    fs::write(&list, format!("[{{\"id\": \"{GRAPH}\"}}]\n")).map_err(TestbedError::file(&list))
}

fn hosts(world: &World) -> Vec<String> {
    let every = world.hosts().div_ceil(MAX_RANKED).max(HOSTS_A_RANK);
    let mut ranked: Vec<(u64, u64)> = (0..world.hosts())
        .map(|index| (Dice::numbered(world.seed, "rank", index).next(), index))
        .filter(|(dice, _)| dice % every == 0)
        .collect();
    ranked.sort_unstable();
    let mut hosts = Vec::new();
    for number in 0..=ranked.len() / RANKED_A_LINKED {
        hosts.push(format!("cdn{number}.linked.example"));
        let next = ranked.iter().skip(number * RANKED_A_LINKED).take(RANKED_A_LINKED);
        hosts.extend(next.map(|(_, index)| world.name(*index)));
    }
    hosts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fifth_of_the_hosts_has_a_rank_and_other_hosts_stand_between() {
        let world = World::new(9, 2_000);
        let hosts = hosts(&world);
        let known = hosts.iter().filter(|host| world.index_of(host).is_some()).count();
        assert!((300..500).contains(&known), "{known}");
        assert!(hosts.len() > known);
        let is_sorted = hosts.is_sorted();
        assert!(!is_sorted, "ranks have another order than names");
    }
}
