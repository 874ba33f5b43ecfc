//! What a storm was: the faults, and what became of workers and leases.

use std::collections::BTreeMap;

use serde_json::Value;

use super::world::World;

/// How often things were said by workers that have ended.
pub(crate) fn heard(world: &World, words: &str) -> usize {
    world.said().map(|(_, said)| said.matches(words).count()).sum()
}

/// The faults, and what became of leases.
pub(crate) fn table(world: &World, events: &[Value]) -> String {
    let mut lines = vec!["faults made:".to_owned()];
    lines.extend(world.made.iter().map(|(fault, made)| format!("  {made:4} {fault:?}")));
    lines.push(format!("  {:4} in all", world.made.values().sum::<usize>()));
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for one in events {
        for (event, amount) in one.as_object().into_iter().flatten() {
            *sums.entry(event.clone()).or_default() += amount.as_u64().unwrap_or(0);
        }
    }
    let sums: Vec<String> = sums.iter().map(|(event, sum)| format!("{event} {sum}")).collect();
    lines.push(format!("leases: {}", sums.join(", ")));
    lines.push(format!(
        "workers: {} refused commits, {} runs ended by a lost lease, {} started",
        heard(world, "outcome=\"Lost\""),
        heard(world, "the job was ended"),
        world.said().count(),
    ));
    lines.join("\n")
}
