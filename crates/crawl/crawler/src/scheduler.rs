//! The scheduler: one task that owns its slots' state and decides what to fetch next. Every
//! operation that waits runs in its own task and reports back with an event.
//!
//! Invariants: a URL is marked as fetched only after its record, and the record of its robots.txt,
//! are uploaded. When a lease is lost, its slot's state is dropped without being recorded.

mod bare;
mod chains;
mod checkpoints;
mod dispatch;
mod failures;
pub(crate) mod host_queue;
mod judging;
mod limits;
mod links;
mod measuring;
mod memory;
mod next_url;
mod progress;
mod ready;
mod results;
mod sitemaps;
mod slices;
mod slots;
pub(crate) mod state;
pub(crate) mod traps;

use std::{
    collections::HashSet,
    sync::Arc,
    time::{Duration, Instant},
};

use everytab_coordinator::{Error, SlotFence};
use tokio::{sync::watch, time::sleep_until};

use crate::{
    archives::ArchiveCommand,
    crawl::{ListedCrawls, list_crawls},
    load::PassKind,
    metrics,
    scheduler::{
        slices::{drop_sites, end_of_slice},
        state::{Event, Judging, Scheduler},
    },
    slot::IsolatedUrl,
};

/// Interval at which we check for work to upload, record, read or lease.
const TICK: Duration = Duration::from_millis(100);
/// Interval between lists of the open crawls. Links for an unknown crawl cause an earlier list.
const LIST_INTERVAL: Duration = Duration::from_secs(5);
/// Interval between lists of the open crawls while no crawl is open.
const IDLE_LIST_INTERVAL: Duration = Duration::from_secs(1);

/// The reason why the scheduler stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrawlerEnd {
    /// A stop was requested, and all slots are released.
    Stopped,
    /// No crawl is open.
    Finished,
}

impl Scheduler {
    pub(crate) async fn run(mut self, mut stop: watch::Receiver<bool>) -> CrawlerEnd {
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        loop {
            self.leases.beat();
            let next = if self.has_sliced_work() || self.may_judge() {
                Some(Instant::now())
            } else if self.can_start_fetch() {
                self.next_wakeup()
            } else {
                None
            };
            let wake = async {
                match next {
                    Some(at) => sleep_until(at.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                Some(event) = self.events.recv() => self.handle_many(event),
                Some(archive) = self.uploaded.recv() => self.archive_uploaded(archive),
                Some(renewed) = self.renewed.recv() => self.leases_renewed(renewed),
                _ = tick.tick() => self.tick(),
                () = wake => {}
                _ = stop.changed() => {}
            }
            if *stop.borrow() && !self.state.is_stopping {
                self.stop();
                tracing::info!("stopping: sending no more requests, and recording state");
            }
            self.run_slices();
            self.judge_more();
            self.write_more();
            self.start_due_fetches();
            if self.state.is_stopping && self.has_released_all() {
                return CrawlerEnd::Stopped;
            }
            if self.has_finished() {
                return CrawlerEnd::Finished;
            }
        }
    }

    /// Stops starting requests, and cancels those in flight. Their URLs stay pending, and their
    /// hosts' delays start now.
    fn stop(&mut self) {
        self.state.is_stopping = true;
        for (hash, host) in &mut self.state.hosts {
            if host.request.is_some() {
                host.cancel_request(&self.context.fetcher, &self.options);
                if let Some(slot) = self.state.slots.get_mut(&host.slot) {
                    slot.request_ended(*hash);
                }
            }
        }
        self.state.requests.clear();
        self.state.unmerged.clear();
        self.state.slots.values_mut().for_each(|slot| slot.merging = 0);
        self.state.judging = Judging::default();
        let slots = self.state.slots.values_mut();
        let isolated: Vec<IsolatedUrl> =
            slots.filter_map(|slot| slot.isolated_url.take()).collect();
        for IsolatedUrl { crawl, host_hash, hash, .. } in isolated {
            self.state_of(crawl, host_hash, |state| state.clear_in_progress(hash));
            self.changed(crawl, host_hash);
        }
    }

    fn handle_many(&mut self, first: Event) {
        let until = end_of_slice();
        self.handle(first);
        while Instant::now() < until {
            let Ok(event) = self.events.try_recv() else { return };
            self.handle(event);
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Leased(leases, sums, requested_at) => self.leased(leases, sums, requested_at),
            Event::Crawls(crawls, requested_at) => self.crawls_listed(crawls, requested_at),
            Event::Due(due) => self.due_listed(due),
            Event::LinksRead(read) => self.links_read(read),
            Event::SitesLoaded(sites) => self.state.loaded.extend(sites),
            Event::FetchFinished(finished) => self.fetch_finished(*finished),
            Event::Panicked(fence, host_hash, number) => self.panicked(fence, host_hash, number),
            Event::Cancelled(fence, host_hash, number) => {
                self.request_cancelled(fence, host_hash, number)
            }
            Event::Checkpointed(fence, sizes, reply) => self.checkpointed(fence, sizes, reply),
            Event::Reserved(fence, crawl, pages) => self.reserved(fence, crawl, pages),
            Event::Released => self.state.calls.is_releasing = false,
            Event::Dropped => {}
            Event::Failed(call, error) => self.failed(call, &error),
        }
    }

    fn tick(&mut self) {
        self.check_slow_uploads();
        self.restart_stale_chains();
        self.list_crawls();
        self.lease_slots();
        PassKind::ALL.into_iter().for_each(|kind| self.read_links(kind));
        self.drop_read_links();
        self.list_due();
        self.record();
        self.release_slots();
        self.check_memory();
        self.measure();
        self.log_progress();
    }

    fn failed(&mut self, call: &'static str, error: &Error) {
        tracing::warn!(call, %error, "cannot reach Postgres; retrying");
        metrics::failed(call);
        match call {
            "lease" => self.state.calls.is_leasing = false,
            "list" => self.state.calls.is_listing = false,
            "due" => self.state.calls.is_listing_due = false,
            "release" => self.state.calls.is_releasing = false,
            "links" | "sites" => {
                self.state.end_passes();
                self.state.loading.clear();
            }
            _ => {}
        }
    }

    /// Returns true if no request is in flight and none can start within a second.
    fn is_idle(&self) -> bool {
        let soon = Instant::now() + Duration::from_secs(1);
        let next = self.next_wakeup();
        let is_quiet = self.state.requests.is_empty() && !self.has_sliced_work();
        is_quiet && next.is_none_or(|at| at > soon || !self.can_start_fetch())
    }

    fn has_finished(&self) -> bool {
        self.is_out_of_work() && self.has_released_all()
    }

    fn is_out_of_work(&self) -> bool {
        self.settings.exit_when_done && self.state.has_listed && self.state.crawls.is_empty()
    }

    fn list_crawls(&mut self) {
        let is_idle = self.state.crawls.is_empty();
        let interval = if is_idle { IDLE_LIST_INTERVAL } else { LIST_INTERVAL };
        let calls = &mut self.state.calls;
        if calls.is_listing || calls.listed_at.is_some_and(|at| at.elapsed() < interval) {
            return;
        }
        calls.is_listing = true;
        let requested_at = Instant::now();
        calls.listed_at = Some(requested_at);
        let coordinator = self.coordinator.clone();
        let known = self.state.crawls.clone();
        let stores = self.settings.stores.clone();
        let lists = Arc::clone(&self.lists);
        let ports = self.context.fetcher.ports().clone();
        self.start(async move {
            match list_crawls(&coordinator, &known, (&stores, &lists, &ports)).await {
                Ok(crawls) => Event::Crawls(crawls, requested_at),
                Err(error) => Event::Failed("list", error),
            }
        });
    }

    fn crawls_listed(&mut self, listed: ListedCrawls, requested_at: Instant) {
        self.state.calls.is_listing = false;
        self.state.has_listed = true;
        let ListedCrawls { crawls, changed, owner_limits, forgotten_at, has_unreadable } = listed;
        if let Some(at) = forgotten_at {
            self.forgotten.note(at);
        }
        self.state.gates.set(&owner_limits, Instant::now());
        self.state.owner_limits = owner_limits;
        self.state.has_unreadable = has_unreadable;
        self.leases.share_slots(!has_unreadable);
        if has_unreadable {
            self.mark_all_for_release();
        }
        let versions = self.patterns_versions();
        let gone: Vec<i32> =
            self.state.crawls.keys().filter(|crawl| !crawls.contains_key(crawl)).copied().collect();
        let resumed: HashSet<i32> = crawls
            .iter()
            .filter(|(number, (_, is_running))| {
                let before = self.state.crawls.get(number);
                *is_running && before.is_none_or(|(_, was_running)| !was_running)
            })
            .map(|(number, _)| *number)
            .collect();
        self.state.crawls = crawls;
        self.change_rules(changed, &versions);
        for crawl in gone {
            self.forget_crawl(crawl);
        }
        if !resumed.is_empty() {
            self.schedule_hosts_of(|crawl| resumed.contains(&crawl));
        }
        self.listed_for_pass(requested_at);
    }

    fn forget_crawl(&mut self, crawl: i32) {
        self.state.crawls.remove(&crawl);
        drop_sites(
            self.state
                .sites
                .extract_if(|key, _| key.crawl == crawl)
                .map(|(_, site)| site)
                .collect(),
        );
        self.state.due.forget(crawl);
        self.state.chains.retain(|key, _| key.crawl != crawl);
        self.forget_judging(crawl);
        for slot in self.state.slots.values_mut() {
            slot.forget(crawl);
        }
        for host in self.state.hosts.values_mut() {
            host.remove_crawl(crawl);
        }
        self.state.awaiting_robots.retain(|_, waiting| {
            waiting.retain(|fetches| fetches.iter().all(|fetch| fetch.row.crawl != crawl));
            !waiting.is_empty()
        });
        // The crawl's jobs read its archives, so upload those that are open.
        self.archives.try_send(ArchiveCommand::UploadAll).ok();
    }

    fn start(&self, task: impl Future<Output = Event> + Send + 'static) {
        let sender = self.event_sender.clone();
        tokio::spawn(async move {
            sender.send(task.await).ok();
        });
    }

    fn holds(&self, fence: SlotFence) -> bool {
        self.state.slots.get(&fence.slot).is_some_and(|slot| slot.lease.fence == fence)
    }
}
