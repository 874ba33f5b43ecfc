//! Tests slot leases: their holders, their duration, and the effect of a worker's death.

use std::collections::HashSet;

use everytab_coordinator::{CheckpointResult, SlotFence};

use super::holder::checkpoint;
use crate::{session::query, setup::Database};

#[tokio::test]
async fn slots_are_leased_while_a_crawl_is_open() {
    let database = Database::new().await;
    assert!(database.lease_all_slots("a").await.is_empty());
    let (_, id) = database.start_crawl(None, &[1], |_| 3).await;
    let leases = database.lease_all_slots("a").await;
    assert_eq!(leases.len(), 256);
    let tokens: HashSet<_> = leases.iter().map(|lease| lease.fence.token).collect();
    assert_eq!(tokens.len(), 256);
    assert!(database.lease_all_slots("b").await.is_empty());
    let fences: Vec<SlotFence> = leases.iter().map(|lease| lease.fence).collect();
    let released = database.worker.release_slots("a", &fences, true).await.unwrap();
    assert_eq!(released.len(), 256);
    let cancel = everytab_coordinator::CrawlVerb::Cancel;
    database.owner.move_crawl(id, cancel).await.unwrap().unwrap();
    assert!(database.lease_all_slots("a").await.is_empty());
}

#[tokio::test]
async fn each_worker_gets_its_share_and_released_slots() {
    let database = Database::new().await;
    database.start_crawl(None, &[1], |_| 3).await;
    let first = database.lease_all_slots("a").await;
    let fences: Vec<SlotFence> = first.iter().map(|lease| lease.fence).collect();
    assert!(database.lease_all_slots("b").await.is_empty());
    let renewal = database.worker.renew_slots("b", &[]).await.unwrap();
    assert_eq!((renewal.held.len(), renewal.live_workers, renewal.share), (0, 2, 128));
    let renewal = database.worker.renew_slots("a", &fences).await.unwrap();
    assert_eq!((renewal.held.len(), renewal.live_workers, renewal.share), (256, 2, 128));
    database.worker.release_slots("a", &fences[..200], false).await.unwrap();
    assert_eq!(database.lease_all_slots("b").await.len(), 128);
    assert_eq!(database.lease_all_slots("a").await.len(), 72);
    assert_eq!(database.lease_all_slots("b").await.len(), 0);
}

#[tokio::test]
async fn shares_are_rounded_up_so_that_no_slot_remains_free() {
    let database = Database::new().await;
    database.start_crawl(None, &[1], |_| 3).await;
    for worker in ["a", "b", "c"] {
        database.worker.renew_slots(worker, &[]).await.unwrap();
    }
    let mut held = 0;
    for worker in ["a", "b", "c"] {
        held += database.lease_all_slots(worker).await.len();
    }
    assert_eq!(held, 256);
}

#[tokio::test]
async fn a_lost_slot_lease_records_nothing_and_the_next_has_a_higher_number() {
    let database = Database::new().await;
    database.start_crawl(None, &[1], |_| 3).await;
    let lost = database.lease_all_slots("a").await;
    database.expire_slots("a").await;
    let fences: Vec<SlotFence> = lost.iter().map(|lease| lease.fence).collect();
    database.run("delete from everytab.workers").await;
    let found = database.lease_all_slots("b").await;
    assert_eq!(found.len(), 256);
    assert_eq!(found[3].fence.lease_number, lost[3].fence.lease_number + 1);
    assert_eq!(found[3].deaths, 1);
    let answer = database.worker.checkpoint_slot(&checkpoint(&lost[3], 1)).await.unwrap();
    assert_eq!(answer, CheckpointResult::Lost);
    assert_eq!(database.worker.reserve_pages(fences[3], 1, 5).await.unwrap(), None);
    assert!(database.worker.renew_slots("a", &fences).await.unwrap().held.is_empty());
    assert!(database.worker.release_slots("a", &fences, false).await.unwrap().is_empty());
    let forged = SlotFence { slot: 4, ..found[3].fence };
    assert!(database.worker.renew_slots("b", &[forged]).await.unwrap().held.is_empty());
    database.record_checkpoint(&checkpoint(&found[3], 1)).await;
    database.expire_slots("b").await;
    database.run("delete from everytab.workers").await;
    let again = database.lease_all_slots("c").await;
    assert_eq!(again.iter().map(|lease| lease.deaths).collect::<Vec<_>>(), [2; 16]);
    let deaths = "select deaths from everytab.slots where slot = 3";
    assert_eq!(query(deaths).value::<i16>(&database.pool).await, 1);
}

#[tokio::test]
async fn a_slot_that_kills_its_holders_is_leased_alone_and_then_isolated() {
    let database = Database::new().await;
    database.start_crawl(None, &[1], |_| 3).await;
    database.run("update everytab.slots set deaths = 2 where slot = 9").await;
    let suspect = database.lease_all_slots("a").await;
    assert_eq!(suspect.iter().map(|lease| lease.fence.slot).collect::<Vec<_>>(), [9]);
    assert!(!suspect[0].is_isolated);
    assert!(database.lease_all_slots("a").await.is_empty());
    assert_eq!(database.lease_all_slots("b").await.len(), 128);
    database.expire_slots("a").await;
    let suspect = database.lease_all_slots("b").await;
    assert_eq!((suspect[0].fence.slot, suspect[0].deaths, suspect[0].is_isolated), (9, 3, true));
}

#[tokio::test]
async fn slots_that_killed_their_holders_are_leased_in_small_groups_and_then_alone() {
    let database = Database::new().await;
    database.start_crawl(None, &[1], |_| 3).await;
    // This is the state after a lone worker died twice before it recorded anything, and then once
    // more with two of the slots.
    database.run("update everytab.slots set deaths = 2 where slot < 20").await;
    database.run("update everytab.slots set deaths = 1 where slot = 20").await;
    database.run("update everytab.slots set deaths = 3 where slot in (21, 22)").await;
    let mut suspects = HashSet::new();
    for (deaths, amount) in [(2, 16), (2, 4), (3, 1), (3, 1)] {
        let leases = database.lease_all_slots("a").await;
        assert_eq!(leases.len(), amount);
        assert!(
            database.lease_all_slots("a").await.is_empty(),
            "these slots have no checkpoint yet"
        );
        for lease in leases {
            assert!(lease.deaths == deaths && suspects.insert(lease.fence.slot));
            database.record_checkpoint(&checkpoint(&lease, 1)).await;
        }
    }
    // Slot 20 has had a death, so it needs a checkpoint before the worker gets the next suspect.
    let others = database.lease_all_slots("a").await;
    assert_eq!(others.len(), 256 - 22);
    database.worker.release_slots("a", &[others[0].fence], false).await.unwrap();
    let died = others.iter().find(|lease| lease.deaths == 1).unwrap();
    let free = i32::from(others[0].fence.slot);
    if died.fence.slot == others[0].fence.slot {
        return;
    }
    let die = "update everytab.slots set deaths = 2 where slot = $1";
    query(die).bind(free).execute(&database.pool).await;
    assert!(database.lease_all_slots("a").await.is_empty());
    database.record_checkpoint(&checkpoint(died, 1)).await;
    assert_eq!(database.lease_all_slots("a").await.len(), 1);
}
