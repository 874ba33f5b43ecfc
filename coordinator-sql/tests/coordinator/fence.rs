//! Tests that a worker with a lost lease cannot write. Another worker has leased the job since,
//! because a check of the job's state alone would then allow the write.

use everytab_coordinator::{BundleRow, Completion, Fence, JobKind, Lease, Output, VerbResult};

use crate::{
    session::query,
    setup::{
        Database, WORKER_ID, again, host, icon, kinds_before, no_counts, page, soon, with_token,
    },
};

/// The first chunk has its own transaction, which must be fenced, too.
fn two_chunks_of(kind: JobKind) -> Output {
    match kind {
        JobKind::Index => Output::Hosts((0..5_001).map(|n| host(n.into(), n)).collect()),
        JobKind::Warc => Output::Pages((0..5_001).map(|n| page(n, "late.example")).collect()),
        JobKind::Icon => Output::Icons((0..5_001).map(|n| icon(n, 0, "https://late/")).collect()),
        JobKind::BundleShard => Output::Bundles(BundleRow {
            first_bundle: 0,
            bundles: 1,
            tabs: 1,
            with_icon: 0,
            bytes: 9,
            digest: [9; 32],
        }),
        _ => Output::Nothing,
    }
}

async fn lost_and_leased_again(database: &Database, kind: JobKind) -> (Lease, Lease) {
    database.start(1).await;
    database.work_on(&kinds_before(kind)).await;
    let lost = database.lease_one(kind).await;
    database.expire_leases().await;
    let current = database.lease_as("another", &[kind], 1).await.pop().unwrap();
    assert_eq!(current.fence.job_id, lost.fence.job_id, "the next worker must get this job");
    assert_eq!(current.fence.lease_number, lost.fence.lease_number + 1);
    (lost, current)
}

async fn assert_shut_out(database: &Database, lost: &Lease, fence: Fence) {
    let stale = || Lease { fence, ..again(lost) };
    let worker = &database.worker;
    let before = database.contents().await;
    let output = two_chunks_of(lost.kind);
    let completion = worker.complete(stale(), &output, &no_counts(), soon()).await.unwrap();
    assert_eq!(completion, Completion::Lost);
    let all = database.complete_all(vec![(stale(), no_counts())]).await;
    assert_eq!(all, [Completion::Lost]);
    assert!(!worker.checkpoint_item(fence, 1, soon()).await.unwrap());
    assert_eq!(worker.retry(stale(), "late", soon()).await.unwrap(), VerbResult::Lost);
    assert_eq!(worker.discard(stale(), "late", soon()).await.unwrap(), VerbResult::Lost);
    assert_eq!(worker.release(stale(), "late", soon()).await.unwrap(), VerbResult::Lost);
    assert!(worker.renew(WORKER_ID, &[fence]).await.unwrap().held.is_empty());
    assert!(worker.renew("another", &[fence]).await.unwrap().held.is_empty());
    assert_eq!(database.contents().await, before, "{} {fence:?} wrote", lost.kind);
}

async fn a_stale_holder_of(kind: JobKind) {
    let database = Database::new().await;
    let (lost, current) = lost_and_leased_again(&database, kind).await;
    let (old, new) = (lost.fence, current.fence);
    for fence in [
        old,
        Fence { lease_number: new.lease_number, ..old },
        Fence { lease_number: old.lease_number, ..new },
        Fence { lease_number: new.lease_number + 1, ..new },
        with_token(new),
    ] {
        assert_shut_out(&database, &lost, fence).await;
    }
    assert!(database.worker.renew(WORKER_ID, &[new]).await.unwrap().held.is_empty());
    assert!(database.worker.renew("another", &[new]).await.unwrap().held.contains(&new.job_id));
    assert_eq!(database.complete(current).await, Completion::Recorded);
    assert_shut_out(&database, &lost, old).await;
}

#[tokio::test]
async fn a_stale_holder_of_an_index_job_writes_nothing() {
    a_stale_holder_of(JobKind::Index).await;
}

#[tokio::test]
async fn a_stale_holder_of_a_warc_job_writes_nothing() {
    a_stale_holder_of(JobKind::Warc).await;
}

#[tokio::test]
async fn a_stale_holder_of_an_icon_job_writes_nothing() {
    a_stale_holder_of(JobKind::Icon).await;
}

#[tokio::test]
async fn a_stale_holder_of_a_bundle_shard_job_writes_nothing() {
    a_stale_holder_of(JobKind::BundleShard).await;
}

#[tokio::test]
async fn a_stale_holder_of_a_search_job_writes_nothing() {
    a_stale_holder_of(JobKind::Search).await;
}

#[tokio::test]
async fn a_stale_holder_of_the_publish_job_writes_nothing() {
    a_stale_holder_of(JobKind::Publish).await;
}

const RECORDED: [(&str, &str, &str); 4] = [
    (
        "hosts",
        "index",
        "coordinator.record_hosts($1, $2, $3, 1, '{\"(7,a.example,t,2026-01-01Z,\
             crawl-data/CC-MAIN-2026-01/a.warc.gz,0,9)\"}')",
    ),
    (
        "pages",
        "warc",
        "coordinator.record_pages($1, $2, $3, 1,
             '{\"(0,a.example,t,t,none,utf-8,ok,A title,[],ok)\"}')",
    ),
    (
        "icons",
        "icon",
        "coordinator.record_icons($1, $2, $3, 1,
             '{\"(0,0,f,32,32,9,0,9,,ok,image/png,https://a.example/)\"}')",
    ),
    (
        "bundles",
        "bundle-shard",
        "coordinator.record_bundles($1, $2, $3, 1, 0, 1, 1, 0, 1,
             decode(repeat('00', 32), 'hex'))",
    ),
];

#[tokio::test]
async fn a_lease_allows_only_the_rows_of_its_own_kind_of_job() {
    let database = Database::new().await;
    database.start(1).await;
    let Fence { job_id, lease_number, token } = database.lease_one(JobKind::Index).await.fence;
    let session = database.session().await;
    let kinds = "select unnest(enum_range(null::everytab.job_kind))::text";
    let kinds: Vec<String> = query(kinds).column(&session).await;
    assert!(RECORDED.iter().all(|(_, kind, _)| kinds.iter().any(|other| other == kind)));
    for kind in &kinds {
        let of_kind = "update everytab.jobs set kind = $2::text::everytab.job_kind, chunks = 0
                        where job_id = $1";
        query(of_kind).bind(job_id).bind(kind.clone()).execute(&session).await;
        for (table, own, call) in RECORDED {
            session.run("begin").await;
            let call = query(format!("select {call}"));
            let held: bool = call.bind(job_id).bind(lease_number).bind(token).value(&session).await;
            let count = query(format!("select count(*) from everytab.{table}"));
            let rows: i64 = count.value(&session).await;
            let chunks = query("select chunks::integer from everytab.jobs where job_id = $1");
            let chunks: i32 = chunks.bind(job_id).value(&session).await;
            session.run("rollback").await;
            let is_own = kind == own;
            let found = (held, rows, chunks);
            let expected = (is_own, i64::from(is_own), i32::from(is_own));
            assert_eq!(found, expected, "{table} by a lease of a job of kind {kind}");
        }
    }
}
