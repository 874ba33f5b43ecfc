//! Runs random sequences of calls over two scans. After every step the counters must match the
//! rows, a job must have at most one holder, and each stage must open once and at the right time.
//! Finally, every scan must be able to end.

use std::collections::{HashMap, HashSet};

use everytab_coordinator::{Completion, JobKind, Lease, LeaseCursors, VerbResult};
use proptest::{collection::vec, prelude::*, sample::Index, test_runner::TestRunner};
use serde_json::json;

use crate::{
    session::query,
    setup::{Database, again, digests, soon},
};

const BROKEN: &str = "
with j as (
    select *, state = 'leased' or (state = 'pending' and not_before is distinct from 'infinity')
        as open, state in ('completed', 'discarded') as ended
      from everytab.jobs where run = $1),
s as (select * from everytab.scans s join everytab.runs r on r.run = s.scan where s.scan = $1),
st as (select * from everytab.stages where run = $1),
rows as (
    select kind, count(*) as known, count(*) filter (where state = 'completed') as completed,
           count(*) filter (where open) as open, count(*) filter (where ended) as ended
      from j group by kind)
select 'counter drift in ' || a.kind from coordinator.audit_run($1) a
union all
select 'done differs from the completed rows: ' || st.kind from st left join rows using (kind)
 where st.done <> coalesce(rows.completed, 0)
union all
select 'the jobs of a stage do not add up to the shards: ' || st.kind from st, s
 where s.shards is not null and st.kind in ('warc', 'icon', 'bundle-shard')
   and st.outstanding + st.done + st.discarded <> s.shards
union all
select 'not one warc job per shard' from s
 where (select count(*) from j where kind = 'warc') <> coalesce(s.shards, 0)
union all
select 'not 29 search jobs or one publish job' from rows
 where (kind = 'search' and known <> 29) or (kind = 'publish' and known <> 1)
union all
select 'open jobs before all index jobs ended: ' || rows.kind from rows
 where kind > 'index' and open > 0 and exists (select from j where kind = 'index' and not ended)
union all
select 'closing jobs before all shards are bundled: ' || rows.kind from rows
 where kind > 'bundle-shard' and (open > 0 or ended > 0)
   and (select outstanding from st where kind = 'bundle-shard') > 0
union all
select 'publish job before search and map are complete' from rows
 where kind = 'publish' and (open > 0 or ended > 0)
   and (select sum(outstanding) from st where kind in ('search', 'map')) > 0
union all
select 'open before its predecessor ended: ' || c.kind || ' ' || c.part from j c left join j w
    on w.kind = 'warc' and w.part = c.part
 where c.kind in ('icon', 'bundle-shard') and (c.open or c.ended)
   and w.state is distinct from 'completed'
union all
select 'open before its predecessor ended: ' || c.kind || ' ' || c.part from j c left join j i
    on i.kind = 'icon' and i.part = c.part
 where c.kind = 'bundle-shard' and (c.open or c.ended) and i.ended is not true
union all
select 'the scan ended before its jobs' from s
 where state in ('finished', 'finished_with_discards')
   and (exists (select from j where not ended and not (kind in ('icon', 'bundle-shard')
                    and exists (select from j w where w.kind = 'warc' and w.part = j.part
                                   and w.state = 'discarded')))
        or not exists (select from j where kind = 'publish' and ended))
union all
select 'stuck: no job is open, but the scan has not ended' from s
 where state in ('running', 'paused') and not exists (select from j where open)
union all
select 'lease fields without a lease: ' || j.job_id from j
 where state <> 'leased' and num_nonnulls(worker_id, lease_token, lease_until, current_item) > 0
union all
select 'wrong final state: ' || s.state from s
 where state in ('finished', 'finished_with_discards')
   and (state = 'finished') <> ((select sum(discarded) from st) = 0)";

/// Each host gets its own shard, so that the shards can be in different states.
const HOSTS: u32 = 4;

#[derive(Debug, Clone)]
enum Step {
    Lease {
        holder: u8,
        kinds: u8,
        wanted: u32,
        short: bool,
    },
    Complete(Index, u8),
    CompleteAll(Index, u8),
    Take(Index, i64),
    Retry(Index),
    Discard(Index),
    Release(Index),
    /// A lease expires, but its holder does not notice.
    Expire(Index),
    Renew(u8),
    Due,
    Late(Index, u8),
    RetryJobs {
        scan: usize,
        kind: Option<Index>,
        by_outcome: bool,
    },
    Pause {
        scan: usize,
        kind: Option<Index>,
        pause: bool,
    },
    Revoke(usize),
    Cancel,
}

fn step() -> impl Strategy<Value = Step> {
    let index = any::<Index>;
    let kind = || proptest::option::of(any::<Index>());
    prop_oneof![
        30 => (0_u8..4, any::<u8>(), 1_u32..12, any::<bool>())
            .prop_map(|(holder, kinds, wanted, short)| {
                Step::Lease { holder, kinds, wanted, short }
            }),
        8 => (index(), 1_u8..8).prop_map(|(lease, amount)| Step::CompleteAll(lease, amount)),
        4 => (index(), 0_i64..9).prop_map(|(lease, item)| Step::Take(lease, item)),
        45 => (index(), 1_u8..5).prop_map(|(lease, times)| Step::Complete(lease, times)),
        4 => index().prop_map(Step::Retry),
        3 => index().prop_map(Step::Discard),
        4 => index().prop_map(Step::Release),
        5 => index().prop_map(Step::Expire),
        3 => (0_u8..4).prop_map(Step::Renew),
        3 => Just(Step::Due),
        8 => (index(), 0_u8..6).prop_map(|(lease, verb)| Step::Late(lease, verb)),
        3 => (0_usize..2, kind(), proptest::bool::weighted(0.3))
            .prop_map(|(scan, kind, by_outcome)| Step::RetryJobs { scan, kind, by_outcome }),
        3 => (0_usize..2, kind(), proptest::bool::weighted(0.4))
            .prop_map(|(scan, kind, pause)| Step::Pause { scan, kind, pause }),
        1 => (0_usize..2).prop_map(Step::Revoke),
        1 => proptest::bool::weighted(0.1).prop_map(|cancel| {
            if cancel { Step::Cancel } else { Step::Due }
        }),
    ]
}

struct World {
    database: Database,
    scans: [i32; 2],
    held: Vec<(String, Lease)>,
    over: Vec<(Lease, bool)>,
    hints: HashMap<String, LeaseCursors>,
    reopenings: i64,
}

impl World {
    async fn new() -> Self {
        let database = Database::new().await;
        let scans = [database.start(3).await, database.start(2).await];
        Self {
            database,
            scans,
            held: Vec::new(),
            over: Vec::new(),
            hints: HashMap::new(),
            reopenings: 0,
        }
    }

    async fn is_current(&self, lease: &Lease) -> bool {
        let sql = "select exists (select from everytab.jobs where job_id = $1
            and lease_number = $2 and lease_token = $3 and state = 'leased')";
        query(sql)
            .bind(lease.fence.job_id)
            .bind(lease.fence.lease_number)
            .bind(lease.fence.token)
            .value(&self.database.pool)
            .await
    }

    fn pick(&mut self, index: Index) -> Option<(String, Lease)> {
        (!self.held.is_empty()).then(|| self.held.swap_remove(index.index(self.held.len())))
    }

    async fn lease(&mut self, holder: &str, kinds: &[JobKind], wanted: u32, short: bool) -> usize {
        let worker = &self.database.worker;
        let sql = "select job_id from everytab.jobs where $1 = 0 and state = 'leased'
                      and lease_until >= clock_timestamp()";
        let before: Vec<(i64,)> = self.database.rows(sql, 0).await;
        let before: HashSet<i64> = before.into_iter().map(|(job_id,)| job_id).collect();
        let known = self.hints.entry(holder.to_owned()).or_default();
        let hints = if short { known.clone() } else { LeaseCursors::default() };
        let leases = worker.lease(holder, kinds, wanted, &digests(), &hints).await.unwrap();
        known.note(&leases);
        let given = leases.len();
        assert!(given <= usize::try_from(wanted).unwrap());
        for lease in leases {
            assert!(!before.contains(&lease.fence.job_id), "a job has two holders");
            assert!(kinds.contains(&lease.kind));
            self.held.push((holder.to_owned(), lease));
        }
        given
    }

    /// Ends a lease with this call, which must report a lost lease.
    async fn end(&mut self, lease: Lease, verb: &str) {
        let worker = self.database.worker.clone();
        let current = self.is_current(&lease).await;
        let copy = again(&lease);
        if verb == "complete" {
            let completion = self.database.complete_counting(lease, HOSTS).await;
            let expected = if current { Completion::Recorded } else { Completion::Lost };
            assert_eq!(completion, expected, "{copy:?}");
            self.over.push((copy, current));
            return;
        }
        let (failure, expected) = match verb {
            "retry" => (worker.retry(lease, "failed", soon()).await, VerbResult::Retry),
            "discard" => (worker.discard(lease, "bad", soon()).await, VerbResult::Discarded),
            _ => (worker.release(lease, "leaving", soon()).await, VerbResult::Released),
        };
        let failure = failure.unwrap();
        let last_try = verb == "retry" && copy.attempts == 4;
        let expected = if last_try { VerbResult::Discarded } else { expected };
        assert_eq!(failure, if current { expected } else { VerbResult::Lost }, "{verb} {copy:?}");
        self.over.push((copy, false));
    }

    async fn late(&self, index: Index, verb: u8) {
        if self.over.is_empty() {
            return;
        }
        let (lease, completed) = &self.over[index.index(self.over.len())];
        let worker = &self.database.worker;
        let before = self.database.contents().await;
        match verb {
            0 => {
                let expected =
                    if *completed { Completion::AlreadyRecorded } else { Completion::Lost };
                assert_eq!(self.database.complete(again(lease)).await, expected, "{lease:?}");
            }
            1 => assert!(!worker.holds("worker-0", lease.fence).await.unwrap()),
            5 => assert!(!worker.checkpoint_item(lease.fence, 1, soon()).await.unwrap()),
            2..=4 => {
                let failure = match verb {
                    2 => worker.retry(again(lease), "late", soon()).await,
                    3 => worker.discard(again(lease), "late", soon()).await,
                    _ => worker.release(again(lease), "late", soon()).await,
                };
                assert_eq!(failure.unwrap(), VerbResult::Lost, "{lease:?}");
            }
            _ => {}
        }
        assert_eq!(
            self.database.contents().await,
            before,
            "verb {verb} with an ended lease changed the tables: {lease:?}"
        );
    }

    async fn retry_jobs(&mut self, scan: usize, kind: Option<Index>, by_outcome: bool) {
        let kind = kind.map(|kind| *kind.get(&JobKind::OF_SCANS));
        let outcome = by_outcome.then_some("ok");
        let owner = &self.database.owner;
        let reopened = owner.retry_jobs(self.scans[scan], kind, None, outcome).await.unwrap();
        self.reopenings += i64::from(reopened > 0);
    }

    async fn operate(&mut self, step: Step) {
        let owner = &self.database.owner;
        match step {
            Step::Pause { scan, kind, pause } => {
                let kind = kind.map(|kind| *kind.get(&JobKind::OF_SCANS));
                owner.pause_run(self.scans[scan], kind, pause).await.unwrap();
            }
            Step::Revoke(scan) => {
                owner.revoke_leases(Some(self.scans[scan]), "test").await.unwrap();
            }
            Step::Cancel => {
                owner.cancel_run(self.scans[1]).await.unwrap();
            }
            Step::RetryJobs { scan, kind, by_outcome } => {
                self.retry_jobs(scan, kind, by_outcome).await;
            }
            _ => {
                let sql = "update everytab.jobs set not_before = now()
                            where not_before < 'infinity'";
                self.database.run(sql).await;
            }
        }
    }

    async fn take(&mut self, step: Step) {
        match step {
            Step::Lease { holder, kinds, wanted, short } => {
                let kinds: Vec<JobKind> = (0..)
                    .zip(JobKind::OF_SCANS)
                    .filter(|(bit, _)| kinds & (1 << bit) != 0)
                    .map(|(_, kind)| kind)
                    .collect();
                self.lease(&format!("worker-{holder}"), &kinds, wanted, short).await;
            }
            Step::Complete(index, times) => {
                for _ in 0..times {
                    self.end_one(index, "complete").await;
                }
            }
            Step::CompleteAll(index, amount) => self.complete_all(index, amount).await,
            Step::Take(index, item) => self.checkpoint_item(index, item).await,
            Step::Retry(index) => self.end_one(index, "retry").await,
            Step::Discard(index) => self.end_one(index, "discard").await,
            Step::Release(index) => self.end_one(index, "release").await,
            Step::Expire(index) => {
                if !self.held.is_empty() {
                    let (_, lease) = &self.held[index.index(self.held.len())];
                    query(
                        "update everytab.jobs set lease_until = now()
                                  where job_id = $1 and state = 'leased'",
                    )
                    .bind(lease.fence.job_id)
                    .execute(&self.database.pool)
                    .await;
                }
            }
            Step::Renew(holder) => self.renew(&format!("worker-{holder}")).await,
            Step::Late(index, verb) => self.late(index, verb).await,
            operator => self.operate(operator).await,
        }
    }

    async fn end_one(&mut self, index: Index, verb: &str) {
        if let Some((_, lease)) = self.pick(index) {
            self.end(lease, verb).await;
        }
    }

    async fn complete_all(&mut self, index: Index, amount: u8) {
        let mut leases = Vec::new();
        let mut expected = Vec::new();
        let stats = json!({"inputs": {}, "counts": {"hosts": HOSTS}, "outcomes": {"ok": 1}});
        for _ in 0..amount {
            let Some((_, lease)) = self.pick(index) else { break };
            let current = self.is_current(&lease).await;
            expected.push(if current { Completion::Recorded } else { Completion::Lost });
            self.over.push((again(&lease), current));
            leases.push((lease, stats.clone()));
        }
        assert_eq!(self.database.complete_all(leases).await, expected);
    }

    async fn checkpoint_item(&self, index: Index, item: i64) {
        if self.held.is_empty() {
            return;
        }
        let (_, lease) = &self.held[index.index(self.held.len())];
        let current = self.is_current(lease).await;
        let worker = &self.database.worker;
        assert_eq!(worker.checkpoint_item(lease.fence, item, soon()).await.unwrap(), current);
    }

    async fn renew(&self, holder: &str) {
        let mine: Vec<_> = self.held.iter().filter(|(name, _)| name == holder).collect();
        let mut expected = HashSet::new();
        for (_, lease) in &mine {
            if self.is_current(lease).await {
                expected.insert(lease.fence.job_id);
            }
        }
        let fences: Vec<_> = mine.iter().map(|(_, lease)| lease.fence).collect();
        assert_eq!(self.database.worker.renew(holder, &fences).await.unwrap().held, expected);
    }

    async fn check(&self) {
        for scan in self.scans {
            let broken: Vec<(String,)> = self.database.rows(BROKEN, scan).await;
            assert_eq!(broken, [], "scan {scan}");
        }
    }

    /// Lets all leases expire. Then one worker must be able to finish both scans.
    async fn finish(&mut self) {
        for scan in self.scans {
            self.database.owner.pause_run(scan, None, false).await.unwrap();
        }
        self.database.run("update everytab.runs set paused_kinds = '{}'").await;
        self.held.clear();
        self.database.expire_leases().await;
        for _ in 0..200 {
            self.operate(Step::Due).await;
            self.lease("last", &JobKind::OF_SCANS, 100, false).await;
            while let Some((_, lease)) = self.held.pop() {
                self.end(lease, "complete").await;
            }
            self.check().await;
            let sql = "select count(*) from everytab.runs
                        where $1 = 0 and state in ('running', 'paused')";
            if self.database.value::<i64>(sql, 0).await == 0 {
                break;
            }
        }
        for scan in self.scans {
            let state = self.database.state_of_scan(scan).await;
            assert!(!["running", "paused"].contains(&&*state), "scan {scan} is {state}");
        }
        let published =
            "select count(*) from everytab.job_results where kind = 'publish' and $1 = 0";
        let published: i64 = self.database.value(published, 0).await;
        assert!(published <= 2 + self.reopenings, "{published} publish jobs completed");
    }
}

#[test]
fn counters_match_the_rows_in_random_sequences_of_calls() {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(3);
    let config = ProptestConfig {
        cases,
        failure_persistence: None,
        max_shrink_iters: 12,
        ..ProptestConfig::default()
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let result = TestRunner::new(config).run(&vec(step(), 250..350), |steps| {
        runtime.block_on(async {
            let mut world = World::new().await;
            for step in steps {
                world.take(step).await;
                world.check().await;
            }
            world.finish().await;
        });
        Ok(())
    });
    result.unwrap();
}
