//! The host queue decides which host is checked next.
//!
//! Ready hosts are taken in round-robin order, first over owners and then over an owner's crawls,
//! so that a million hosts of one crawl do not hold back another. Urgent hosts come first.
//!
//! Invariants: a host is ready for a crawl at most once per lane. Within a lane, an owner with a
//! ready host, whose rate allows a request, gets one before any other owner gets two.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap, HashSet, VecDeque},
    sync::Arc,
    time::Instant,
};

#[derive(Default)]
pub(crate) struct HostQueue {
    urgent: Lane,
    ordinary: Lane,
}

#[derive(Default)]
struct Lane {
    waiting: BinaryHeap<Reverse<(Instant, u64)>>,
    ready: FairQueue,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OwnedCrawl {
    pub owner: Arc<str>,
    pub crawl: i32,
}

impl HostQueue {
    fn lane(&mut self, is_urgent: bool) -> &mut Lane {
        if is_urgent { &mut self.urgent } else { &mut self.ordinary }
    }

    pub(crate) fn push(&mut self, is_urgent: bool, at: Instant, host_hash: u64) {
        self.lane(is_urgent).waiting.push(Reverse((at, host_hash)));
    }

    pub(crate) fn ready(&mut self, is_urgent: bool, of: OwnedCrawl, host_hash: u64) {
        self.lane(is_urgent).ready.enter(of, host_hash);
    }

    /// Removes and returns a host whose time has come, with that time.
    pub(crate) fn come_due(&mut self, now: Instant) -> Option<(Instant, u64)> {
        for heap in [&mut self.urgent.waiting, &mut self.ordinary.waiting] {
            if heap.peek().is_some_and(|Reverse((at, _))| *at <= now) {
                return heap.pop().map(|Reverse(due)| due);
            }
        }
        None
    }

    /// Skips crawls for which `is_allowed` returns false.
    pub(crate) fn next(&mut self, is_allowed: impl Fn(&str, i32) -> bool) -> Option<u64> {
        let urgent = self.urgent.ready.next(&is_allowed);
        urgent.or_else(|| self.ordinary.ready.next(&is_allowed))
    }

    /// `open_at` returns when a crawl may send its next request.
    pub(crate) fn next_at(&self, open_at: impl Fn(&str, i32) -> Instant) -> Option<Instant> {
        let waiting = [&self.urgent, &self.ordinary].into_iter().filter_map(|lane| {
            let Reverse((at, _)) = lane.waiting.peek()?;
            Some(*at)
        });
        let ready = [&self.urgent, &self.ordinary].into_iter().flat_map(|lane| {
            let owners = lane.ready.owners.iter();
            owners.flat_map(|(owner, crawls)| crawls.iter().map(|crawl| open_at(owner, *crawl)))
        });
        waiting.chain(ready).min()
    }

    pub(crate) fn ready_hosts(&self) -> usize {
        self.urgent.ready.members.len() + self.ordinary.ready.members.len()
    }

    pub(crate) fn forget(&mut self, crawl: i32) {
        self.urgent.ready.forget(crawl);
        self.ordinary.ready.forget(crawl);
    }
}

#[derive(Default)]
struct FairQueue {
    /// The owners with ready hosts, each with its crawls, both in round-robin order.
    owners: VecDeque<(Arc<str>, VecDeque<i32>)>,
    /// The ready hosts of each crawl in `owners`. No queue is empty.
    hosts: HashMap<i32, VecDeque<u64>>,
    members: HashSet<(i32, u64)>,
}

impl FairQueue {
    fn enter(&mut self, OwnedCrawl { owner, crawl }: OwnedCrawl, host_hash: u64) {
        if !self.members.insert((crawl, host_hash)) {
            return;
        }
        let hosts = self.hosts.entry(crawl).or_default();
        hosts.push_back(host_hash);
        if hosts.len() > 1 {
            return;
        }
        match self.owners.iter_mut().find(|(of, _)| *of == owner) {
            Some((_, crawls)) => crawls.push_back(crawl),
            None => self.owners.push_back((owner, VecDeque::from([crawl]))),
        }
    }

    fn next(&mut self, is_allowed: impl Fn(&str, i32) -> bool) -> Option<u64> {
        for _ in 0..self.owners.len() {
            let (owner, mut crawls) = self.owners.pop_front()?;
            let mut taken = None;
            for _ in 0..crawls.len() {
                let Some(crawl) = crawls.pop_front() else { break };
                if is_allowed(&owner, crawl) {
                    taken = self.take(crawl);
                }
                if self.hosts.contains_key(&crawl) {
                    crawls.push_back(crawl);
                }
                if taken.is_some() {
                    break;
                }
            }
            if !crawls.is_empty() {
                self.owners.push_back((owner, crawls));
            }
            if taken.is_some() {
                return taken;
            }
        }
        None
    }

    fn take(&mut self, crawl: i32) -> Option<u64> {
        let hosts = self.hosts.get_mut(&crawl)?;
        let host_hash = hosts.pop_front();
        if hosts.is_empty() {
            self.hosts.remove(&crawl);
        }
        let host_hash = host_hash?;
        self.members.remove(&(crawl, host_hash));
        Some(host_hash)
    }

    fn forget(&mut self, crawl: i32) {
        for host_hash in self.hosts.remove(&crawl).into_iter().flatten() {
            self.members.remove(&(crawl, host_hash));
        }
        self.owners.iter_mut().for_each(|(_, crawls)| crawls.retain(|of| *of != crawl));
        self.owners.retain(|(_, crawls)| !crawls.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(owner: &str, crawl: i32) -> OwnedCrawl {
        OwnedCrawl { owner: owner.into(), crawl }
    }

    fn take(due: &mut HostQueue, number: usize) -> Vec<u64> {
        (0..number).map_while(|_| due.next(|_, _| true)).collect()
    }

    #[test]
    fn owners_alternate_even_if_one_has_a_million_hosts() {
        let mut due = HostQueue::default();
        (0..1_000_000).for_each(|host| due.ready(false, of("big", 1), host));
        assert_eq!(take(&mut due, 3), [0, 1, 2]);
        (0..10).for_each(|host| due.ready(false, of("small", 2), 2_000_000 + host));
        let taken = take(&mut due, 20);
        let small = taken.iter().filter(|host| **host >= 2_000_000).count();
        assert_eq!(small, 10);
        (10..20).for_each(|crawl| {
            (0..9).for_each(|host| due.ready(false, of("many", crawl), 3_000_000 + host));
        });
        let many = take(&mut due, 100).iter().filter(|host| **host >= 3_000_000).count();
        assert_eq!(many, 50);
    }

    #[test]
    fn crawls_of_an_owner_alternate_too() {
        let mut due = HostQueue::default();
        (0..9).for_each(|host| due.ready(false, of("one", 1), host));
        due.ready(false, of("one", 2), 100);
        due.ready(false, of("one", 3), 100);
        assert_eq!(take(&mut due, 4), [0, 100, 100, 1]);
    }

    #[test]
    fn urgent_hosts_come_first_and_once_per_crawl() {
        let mut due = HostQueue::default();
        due.ready(false, of("one", 1), 1);
        due.ready(false, of("one", 1), 1);
        due.ready(true, of("one", 1), 2);
        due.ready(true, of("one", 1), 2);
        assert_eq!(take(&mut due, 9), [2, 1]);
        due.ready(false, of("one", 1), 1);
        assert_eq!(take(&mut due, 9), [1], "it can be ready again once it was taken");
    }

    #[test]
    fn a_crawl_that_must_wait_keeps_its_position_and_delays_no_other() {
        let mut due = HostQueue::default();
        (0..3).for_each(|host| due.ready(false, of("slow", 1), host));
        (10..13).for_each(|host| due.ready(false, of("quick", 2), host));
        let is_allowed = |owner: &str, _| owner == "quick";
        let taken: Vec<u64> = (0..9).map_while(|_| due.next(is_allowed)).collect();
        assert_eq!(taken, [10, 11, 12]);
        let now = Instant::now();
        let later = now + std::time::Duration::from_secs(5);
        assert_eq!(due.next_at(|_, _| later), Some(later));
        due.push(false, now, 77);
        assert_eq!(due.next_at(|_, _| later), Some(now));
        assert_eq!(take(&mut due, 9), [0, 1, 2]);
    }

    #[test]
    fn a_crawl_that_has_ended_is_forgotten() {
        let mut due = HostQueue::default();
        due.ready(false, of("one", 1), 1);
        due.ready(true, of("one", 1), 1);
        due.ready(false, of("one", 2), 2);
        due.forget(1);
        assert_eq!(take(&mut due, 9), [2]);
        due.ready(false, of("one", 1), 1);
        assert_eq!(take(&mut due, 9), [1]);
    }

    #[test]
    fn hosts_come_due_in_the_order_of_their_times() {
        let mut due = HostQueue::default();
        let now = Instant::now();
        let at = |s| now + std::time::Duration::from_secs(s);
        due.push(false, at(2), 2);
        due.push(false, at(1), 1);
        due.push(true, at(3), 3);
        assert_eq!(due.next_at(|_, _| now), Some(at(1)));
        assert_eq!(due.come_due(now), None);
        let hosts: Vec<u64> =
            (0..9).map_while(|_| due.come_due(at(9))).map(|(_, host)| host).collect();
        assert_eq!(hosts, [3, 1, 2]);
    }
}
