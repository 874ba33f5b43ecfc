//! Tests that shards divide the hashes without gap or overlap, and that a limited scan includes
//! exactly the hosts with the smallest hashes.

use everytab_coordinator::{HostRow, JobKind};
use proptest::{collection::btree_set, prelude::*, test_runner::TestRunner};
use serde_json::json;

use crate::{
    session::query,
    setup::{Database, LEASE_MS, host},
};

/// `None` for a shard without hashes.
async fn bounds(database: &Database, scan: i32, shards: i32, span: u64) -> Vec<Option<(u64, u64)>> {
    let sql = "update everytab.scans set shards = $2, hash_span = $3::text::numeric
                where scan = $1";
    query(sql).bind(scan).bind(shards).bind(span.to_string()).execute(&database.pool).await;
    let sql =
        "select b.lowest, b.highest from everytab.scans s, generate_series(0, s.shards - 1) n,
        coordinator.shard_bounds(s.scan, n) b where s.scan = $1 order by n";
    let rows: Vec<(i64, i64)> = database.rows(sql, scan).await;
    let unsigned = |hash: i64| hash.cast_unsigned() ^ (1 << 63);
    rows.into_iter()
        .map(|(low, high)| (low <= high).then(|| (unsigned(low), unsigned(high))))
        .collect()
}

#[tokio::test]
async fn shards_cover_every_hash_once() {
    let database = Database::new().await;
    let scan = database.start(1).await;
    for shards in [1, 2, 3, 17, 25_000] {
        let spans = [u64::MAX, 24_998, u64::MAX - 1, 1 << 63, (1 << 63) - 1, 16, 1, 0];
        for span in spans.into_iter().take(if shards > 17 { 2 } else { spans.len() }) {
            let found = bounds(&database, scan, shards, span).await;
            assert_eq!(found.len(), usize::try_from(shards).unwrap());
            let mut next = Some(0_u64);
            for (low, high) in found.iter().flatten() {
                assert_eq!(Some(*low), next, "{shards} shards to {span}");
                next = high.checked_add(1);
            }
            assert_eq!(next, span.checked_add(1), "{shards} shards to {span}: wrong last hash");
            if span > 1 << 32 {
                let sizes: Vec<u64> = found.iter().flatten().map(|(l, h)| h - l).collect();
                let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
                assert!(most - least <= 1, "{shards} shards to {span} are uneven");
            }
        }
    }
}

async fn scanned(
    database: &Database,
    files: &[Vec<HostRow>],
    limit: Option<usize>,
    per_bundle: u32,
) -> Vec<String> {
    let settings = json!({"limit": limit, "entries_per_bundle": per_bundle});
    let scan = database.start_with(files.len(), LEASE_MS, settings).await;
    for lease in database.lease(JobKind::Index, 100).await {
        let hosts = files[usize::try_from(lease.part).unwrap()].clone();
        database.complete_hosts(lease, hosts).await;
    }
    let mut hostnames = Vec::new();
    let info = database.worker.load_scan(scan).await.unwrap();
    for shard in 0..info.shards.unwrap() {
        let hosts = database.worker.load_warc(scan, shard).await.unwrap();
        assert_eq!(
            hosts.iter().map(|host| host.host_no).collect::<Vec<_>>(),
            (0..i32::try_from(hosts.len()).unwrap()).collect::<Vec<_>>()
        );
        hostnames.extend(hosts.into_iter().map(|host| host.hostname));
    }
    database.assert_audited(scan).await;
    hostnames
}

#[test]
fn a_limited_scan_includes_exactly_the_smallest_hashes() {
    let extremes = [0, 1, (1 << 63) - 1, 1 << 63, u64::MAX - 1, u64::MAX];
    let strategy = (
        btree_set(prop_oneof![proptest::sample::select(extremes.to_vec()), any::<u64>()], 1..40),
        0_usize..45,
        1_u32..5,
    );
    let config = ProptestConfig { cases: 12, failure_persistence: None, ..Default::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let database = runtime.block_on(Database::new());
    let result = TestRunner::new(config).run(&strategy, |(hashes, limit, per_bundle)| {
        let hosts: Vec<_> = hashes.iter().zip(0..).map(|(hash, n)| host(*hash, n)).collect();
        // A host may have several captures, so put every other host into both files.
        let other = hosts.iter().step_by(2).cloned().collect();
        let files = [hosts.iter().rev().cloned().collect(), other];
        let found = runtime.block_on(scanned(&database, &files, Some(limit), per_bundle));
        let expected: Vec<_> = hosts.into_iter().take(limit).map(|host| host.hostname).collect();
        prop_assert_eq!(found, expected);
        Ok(())
    });
    result.unwrap();
}

#[tokio::test]
async fn without_a_limit_the_lowest_and_the_highest_hash_are_scanned() {
    let hosts = [0, 1, 1 << 63, u64::MAX].iter().zip(0..).map(|(h, n)| host(*h, n)).collect();
    let database = Database::new().await;
    assert_eq!(scanned(&database, &[hosts], None, 1).await.len(), 4);
}
