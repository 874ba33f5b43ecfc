//! Leases slots, drops those whose leases are lost, and releases slots.

use std::{
    collections::HashSet,
    sync::Arc,
    time::{Duration, Instant},
};

use chrono::{TimeDelta, Utc};
use everytab_coordinator::{Coordinator, DueHost, Error, SlotFence, SlotLease, SlotSums};

use crate::{
    leases::Renewed,
    scheduler::{
        slices::drop_sites,
        state::{Event, Scheduler, State},
    },
    slot::LeasedSlot,
};

/// Interval between calls that lease free slots.
const LEASE_INTERVAL: Duration = Duration::from_secs(1);
/// Interval between lists of the due hosts. A new lease causes an earlier list.
const DUE_INTERVAL: Duration = Duration::from_secs(10);
/// Maximum hosts in a list.
const MAX_DUE: u32 = 50_000;
/// Maximum slots that one call leases.
const ALL_SLOTS: u32 = 256;
/// Hosts that become due within this time are listed, too.
const AHEAD: TimeDelta = TimeDelta::seconds(30);

async fn lease_with_sums(
    coordinator: &Coordinator,
    worker: &str,
) -> Result<(Vec<SlotLease>, Vec<SlotSums>), Error> {
    let leases = coordinator.lease_slots(worker, ALL_SLOTS).await?;
    let slots: Vec<i16> = leases.iter().map(|lease| lease.fence.slot).collect();
    let sums = match slots.as_slice() {
        [] => Vec::new(),
        slots => coordinator.load_slot_sums(slots).await?,
    };
    Ok((leases, sums))
}

impl Scheduler {
    pub(super) fn lease_slots(&mut self) {
        let interval = self.state.interval_in_fleet(LEASE_INTERVAL);
        let State { calls, slots, share, crawls, is_stopping, has_unreadable, .. } =
            &mut self.state;
        let is_full = share.is_some_and(|share| slots.len() >= share);
        let is_early = calls.leased_at.is_some_and(|at| at.elapsed() < interval);
        if calls.is_leasing
            || is_early
            || is_full
            || crawls.is_empty()
            || *is_stopping
            || *has_unreadable
        {
            return;
        }
        calls.is_leasing = true;
        let requested_at = Instant::now();
        calls.leased_at = Some(requested_at);
        let coordinator = self.coordinator.clone();
        let worker = self.settings.worker_id.clone();
        self.start(async move {
            match lease_with_sums(&coordinator, &worker).await {
                Ok((leases, sums)) => Event::Leased(leases, sums, requested_at),
                Err(error) => Event::Failed("lease", error),
            }
        });
    }

    pub(super) fn leased(
        &mut self,
        leases: Vec<SlotLease>,
        sums: Vec<SlotSums>,
        requested_at: Instant,
    ) {
        self.state.calls.is_leasing = false;
        if leases.is_empty() {
            return;
        }
        self.drop_slots(leases.iter().map(|lease| lease.fence.slot));
        for lease in leases {
            self.leases.add(&lease, requested_at);
            self.state.slots.insert(lease.fence.slot, LeasedSlot::new(lease));
        }
        for sums in sums {
            if let Some(slot) = self.state.slots.get_mut(&sums.slot) {
                slot.pending.insert(sums.crawl, sums.pending);
                slot.reserved.insert(sums.crawl, sums.reserved);
            }
        }
        self.state.calls.due_listed_at = None;
    }

    fn drop_slots(&mut self, slots: impl Iterator<Item = i16>) {
        let slots: HashSet<i16> =
            slots.filter(|slot| self.state.slots.remove(slot).is_some()).collect();
        if slots.is_empty() {
            return;
        }
        let sites = self.state.sites.extract_if(|_, site| slots.contains(&site.slot));
        drop_sites(sites.map(|(_, site)| site).collect());
        let fetcher = &self.context.fetcher;
        let options = &self.options;
        let State { requests, awaiting_robots, hosts, chains, .. } = &mut self.state;
        hosts.retain(|hash, host| {
            let stays = !slots.contains(&host.slot);
            if !stays {
                awaiting_robots.remove(hash);
            }
            if !stays && let Some(request) = &host.request {
                requests.remove(&request.number);
                host.cancel_request(fetcher, options);
            }
            stays
        });
        chains.retain(|key, _| hosts.contains_key(&key.host_hash));
    }

    pub(super) fn drop_lost_slots(&mut self, fences: &[SlotFence]) {
        fences.iter().for_each(|fence| self.leases.remove(*fence));
        let lost: Vec<i16> =
            fences.iter().filter(|fence| self.holds(**fence)).map(|fence| fence.slot).collect();
        if !lost.is_empty() {
            tracing::warn!(slots = ?lost, "lost the leases of slots");
            self.drop_slots(lost.into_iter());
        }
    }

    pub(super) fn request_cancelled(&mut self, fence: SlotFence, host_hash: u64, number: u64) {
        self.state.requests.remove(&number);
        let Some(host) = self.state.hosts.get_mut(&host_hash) else { return };
        let Some(request) = host.request.as_ref().filter(|one| one.number == number) else {
            return;
        };
        let crawl = Arc::clone(&request.crawl);
        let pending = request.pending.clone();
        host.cancel_request(&self.context.fetcher, &self.options);
        host.last_request_at.insert(crawl.number, Instant::now());
        if let Some(slot) = self.state.slots.get_mut(&fence.slot) {
            slot.isolated_url = None;
            slot.request_ended(host_hash);
        }
        if let Some(pending) = pending {
            self.release_reserved_page(fence, &crawl, &pending);
            self.put_back(host_hash, crawl.number, &pending);
        }
        self.schedule_host(host_hash, Instant::now());
    }

    pub(super) fn leases_renewed(&mut self, renewed: Renewed) {
        self.drop_lost_slots(&renewed.lost);
        self.state.live_workers = renewed.live_workers;
        let share = renewed.share;
        self.state.share = Some(share);
        self.context.fetcher.share_addresses_with(renewed.live_workers.max(1) as usize);
        let surplus = self.state.slots.len().saturating_sub(share);
        let leaving = self.state.slots.values().filter(|slot| slot.is_leaving).count();
        if surplus > leaving {
            self.mark_surplus(surplus - leaving);
        }
    }

    /// Call this if an open crawl cannot be read, because its links would otherwise be lost.
    pub(super) fn mark_all_for_release(&mut self) {
        self.state.end_passes();
        self.state.slots.values_mut().for_each(|slot| slot.is_leaving = true);
    }

    fn mark_surplus(&mut self, number: usize) {
        let slots = self.state.slots.values_mut();
        let mut slots: Vec<&mut LeasedSlot> = slots.filter(|slot| !slot.is_leaving).collect();
        slots.sort_by_key(|slot| slot.pending.values().sum::<i64>());
        slots.into_iter().take(number).for_each(|slot| slot.is_leaving = true);
    }

    pub(super) fn release_slots(&mut self) {
        if self.state.calls.is_releasing {
            return;
        }
        let is_stopping = self.state.is_stopping || self.is_out_of_work();
        // If no crawl is open or a store is stalled, do not await uploads: the URLs of their
        // records are still pending, or their crawl has ended. The robots.txt record of an ended
        // crawl may be lost, but no URL needs it.
        let gives_up = self.is_out_of_work() || !self.state.stalled_crawls.is_empty();
        let ready = |slot: &LeasedSlot| {
            let is_quiet =
                slot.in_flight + slot.merging == 0 && (slot.pending_uploads == 0 || gives_up);
            (slot.is_leaving || is_stopping) && is_quiet && !slot.is_dirty() && !slot.is_recording
        };
        let fences: Vec<SlotFence> = self
            .state
            .slots
            .values()
            .filter(|slot| ready(slot))
            .map(|slot| slot.lease.fence)
            .collect();
        if fences.is_empty() {
            return;
        }
        fences.iter().for_each(|fence| self.leases.remove(*fence));
        self.drop_slots(fences.iter().map(|fence| fence.slot));
        self.state.calls.is_releasing = true;
        let is_last = is_stopping && self.state.slots.is_empty();
        let coordinator = self.coordinator.clone();
        let worker = self.settings.worker_id.clone();
        self.start(async move {
            match coordinator.release_slots(&worker, &fences, is_last).await {
                Ok(_) => Event::Released,
                Err(error) => Event::Failed("release", error),
            }
        });
    }

    pub(super) fn has_released_all(&self) -> bool {
        self.state.slots.is_empty() && !self.state.calls.is_releasing
    }

    pub(super) fn list_due(&mut self) {
        let calls = &mut self.state.calls;
        let is_early = calls.due_listed_at.is_some_and(|at| at.elapsed() < DUE_INTERVAL);
        if calls.is_listing_due || is_early || self.state.slots.is_empty() {
            return;
        }
        calls.is_listing_due = true;
        calls.due_listed_at = Some(Instant::now());
        let slots: Vec<i16> = self.state.slots.keys().copied().collect();
        let coordinator = self.coordinator.clone();
        self.start(async move {
            let listed = coordinator.load_due_hosts(&slots, Utc::now() + AHEAD, MAX_DUE).await;
            match listed {
                Ok(due) => Event::Due(due),
                Err(error) => Event::Failed("due", error),
            }
        });
    }

    pub(super) fn due_listed(&mut self, due: Vec<DueHost>) {
        self.state.calls.is_listing_due = false;
        let sites = self.sites_to_load(due);
        self.load_sites(sites);
    }
}
