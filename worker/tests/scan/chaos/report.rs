//! A chaos test's summary: the faults, and the results of workers and leases.

use std::collections::BTreeMap;

use serde_json::Value;

use super::chaos_environment::ChaosEnvironment;

pub(crate) fn count_in_logs(environment: &ChaosEnvironment, text: &str) -> usize {
    environment.ended_logs().map(|(_, log)| log.matches(text).count()).sum()
}

pub(crate) fn table(environment: &ChaosEnvironment, events: &[Value]) -> String {
    let mut lines = vec!["faults injected:".to_owned()];
    lines.extend(
        environment.fault_counts.iter().map(|(fault, made)| format!("  {made:4} {fault:?}")),
    );
    lines.push(format!("  {:4} in all", environment.fault_counts.values().sum::<usize>()));
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for one in events {
        for (event, amount) in one.as_object().into_iter().flatten() {
            *sums.entry(event.clone()).or_default() += amount.as_u64().unwrap_or(0);
        }
    }
    let sums: Vec<String> = sums.iter().map(|(event, sum)| format!("{event} {sum}")).collect();
    lines.push(format!("leases: {}", sums.join(", ")));
    lines.push(format!(
        "commits that failovers lost: {} of the test, {} of workers",
        environment.lost.marks, environment.lost.of_workers,
    ));
    lines.push(format!(
        "workers: {} refused commits, {} runs ended by a lost lease, {} started",
        count_in_logs(environment, "outcome=\"lost\""),
        count_in_logs(environment, "the job was aborted"),
        environment.ended_logs().count(),
    ));
    lines.join("\n")
}
