//! Any interleaving of merging, fetching, packing, unpacking and kills must yield the same result
//! as a simple model of the world.
//!
//! A kill loses the changes since the last pack. The next holder reads the unread links again, and
//! fetches again.

use std::collections::{BTreeMap, BTreeSet};

use everytab_frontier::{
    Attributes, CanonicalUrl, ChunkKind, FinalState, FinishEffect, HostState, Link, LinkFlags,
    MAX_RETRIES, Merged, ParameterList, Rules, SiteBudget, SiteUsage, Sums, Unpacked, UrlHash,
    never_paused, pack_links,
};
use proptest::prelude::*;

const HOST: &str = "a.example";

#[derive(Debug, Clone)]
struct World {
    links: Vec<Vec<usize>>,
    final_states: Vec<FinalState>,
    /// Whether each page's first fetch fails transiently.
    shaky: Vec<bool>,
    parameters: ParameterList,
}

impl World {
    fn link(&self, page: usize, depth: u16) -> Link {
        let url = match (page % 3, depth % 2) {
            (0, 0) => format!("http://{HOST}/{}/p?n={page}&utm_source=x", page % 4),
            (0, _) => format!("http://{HOST}/{}/%70?n={page}", page % 4),
            (1, 0) => format!("https://{HOST}/{page}#top"),
            _ => format!("https://{HOST}/{page}"),
        };
        let url = CanonicalUrl::parse(&url, &self.parameters).expect("a URL of the world");
        let via = (depth > 0).then(|| format!("https://{HOST}/{}", page / 2).into());
        Link { url, attributes: Attributes { depth, ..Attributes::default() }, via }
    }

    fn page_of(&self, hash: UrlHash) -> usize {
        (0..self.links.len())
            .find(|page| self.link(*page, 0).url.hash() == hash)
            .expect("a page of the world")
    }

    /// Only captured pages are parsed for links.
    fn reachable(&self, seeds: &[usize]) -> BTreeMap<usize, FinalState> {
        let mut found = BTreeMap::new();
        let mut next: Vec<usize> = seeds.to_vec();
        while let Some(page) = next.pop() {
            let final_state = self.final_states[page];
            if found.insert(page, final_state).is_none() && final_state == FinalState::Captured {
                next.extend(&self.links[page]);
            }
        }
        found
    }
}

fn worlds() -> impl Strategy<Value = World> {
    let final_state = prop_oneof![
        6 => Just(FinalState::Captured),
        1 => Just(FinalState::Failed),
        1 => Just(FinalState::Refused),
    ];
    (2_usize..30).prop_flat_map(move |pages| {
        let links = prop::collection::vec(prop::collection::vec(0..pages, 0..5), pages);
        let final_states = prop::collection::vec(final_state.clone(), pages);
        let shaky = prop::collection::vec(prop::bool::weighted(0.2), pages);
        (links, final_states, shaky).prop_map(|(links, final_states, shaky)| World {
            links,
            final_states,
            shaky,
            parameters: ParameterList::default(),
        })
    })
}

#[derive(Debug, Clone)]
enum Step {
    ReadLinks,
    Take,
    Finish(usize),
    PutBack(usize),
    Submit(usize),
    Wait,
    Checkpoint,
    /// Drops the host from memory after a checkpoint, appends unmerged links to its chunks, and
    /// loads it again.
    Evict(Vec<usize>),
    Kill,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        2 => Just(Step::ReadLinks),
        8 => Just(Step::Take),
        8 => (0_usize..4).prop_map(Step::Finish),
        1 => (0_usize..4).prop_map(Step::PutBack),
        1 => (0_usize..30).prop_map(Step::Submit),
        2 => Just(Step::Wait),
        4 => Just(Step::Checkpoint),
        1 => prop::collection::vec(0_usize..30, 0..4).prop_map(Step::Evict),
        1 => Just(Step::Kill),
    ];
    prop::collection::vec(step, 0..200)
}

#[derive(Debug, Clone, Default)]
struct Database {
    chunks: Vec<Vec<u8>>,
    /// Link batches sent to the host, of which `cursor` are read.
    batches: Vec<Vec<usize>>,
    cursor: usize,
    fetches: BTreeMap<UrlHash, FinalState>,
    counted: Counted,
}

/// Links read, and their number by result, which must add up to `read`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counted {
    read: u64,
    new: u64,
    known: u64,
    rejected: u64,
}

struct Holder<'w> {
    world: &'w World,
    rules: &'w Rules,
    state: HostState,
    site: SiteUsage,
    in_flight: Vec<(UrlHash, u16, u8)>,
    cursor: usize,
    fetches: BTreeMap<UrlHash, FinalState>,
    counted: Counted,
    now_s: u64,
}

impl<'w> Holder<'w> {
    fn load(world: &'w World, rules: &'w Rules, database: &Database, now_s: u64) -> Self {
        let loaded = unpack(&database.chunks, world);
        let sums = loaded.state.sums();
        assert_eq!(sums.known - sums.pending, database.fetches.len() as u64);
        let mut site = SiteUsage::default();
        site.add_host(loaded.state.pages(), sums.known);
        let mut holder = Self {
            world,
            rules,
            state: loaded.state,
            site,
            in_flight: Vec::new(),
            cursor: database.cursor,
            fetches: BTreeMap::new(),
            counted: database.counted,
            now_s,
        };
        holder.merge(loaded.unmerged);
        holder
    }

    fn merge(&mut self, links: Vec<Link>) {
        self.counted.read += links.len() as u64;
        let merged = self.state.merge(links, self.rules, &mut self.site);
        let Merged { new, known, rejected } = merged;
        self.counted.rejected += rejected.total();
        self.counted.new += new;
        self.counted.known += known;
    }

    fn take(&mut self) -> bool {
        let Some(pending) = self.state.next(self.now_s, never_paused) else { return false };
        let page = self.world.page_of(pending.hash);
        assert_eq!(self.world.link(page, 0).url.hash(), pending.hash);
        self.in_flight.push((pending.hash, pending.attributes.depth, pending.retries));
        true
    }

    fn finish(&mut self, number: usize) {
        if self.in_flight.is_empty() {
            return;
        }
        let (hash, depth, retries) = self.in_flight.remove(number % self.in_flight.len());
        let page = self.world.page_of(hash);
        if self.world.shaky[page] && retries == 0 {
            assert!(self.state.retry(hash, self.now_s + 30, MAX_RETRIES));
            return;
        }
        let final_state = self.world.final_states[page];
        // Many pages have the same content, but not so many that a shape is closed.
        let path = format!("/{}/page-{page}", page % 2);
        let said: Vec<u32> = (0..page as u32 % 12).map(|line| line << 24 | 7).collect();
        self.state.note_page((hash, &path), &said, &[], self.rules);
        if final_state == FinalState::Captured {
            let links = &self.world.links[page];
            self.merge(links.iter().map(|page| self.world.link(*page, depth + 1)).collect());
        }
        assert_eq!(self.state.finish(hash, final_state), FinishEffect::Finished);
        assert_eq!(self.state.finish(hash, FinalState::Failed), FinishEffect::AlreadyFinished);
        self.fetches.insert(hash, final_state);
    }

    fn checkpoint(&mut self, database: &mut Database) {
        if let Some(packed) = self.state.pack(never_paused) {
            if packed.kind == ChunkKind::Snapshot {
                database.chunks.clear();
            }
            database.chunks.push(packed.bytes);
            let sums = self.state.sums();
            assert_eq!((packed.known, packed.pending), (sums.known, sums.pending));
            assert_eq!(packed.pages, self.state.pages());
        }
        let loaded = unpack(&database.chunks, self.world);
        assert!(loaded.state == self.state && loaded.unmerged.is_empty());
        for (hash, final_state) in std::mem::take(&mut self.fetches) {
            assert_eq!(database.fetches.insert(hash, final_state), None, "recorded twice");
        }
        database.cursor = self.cursor;
        database.counted = self.counted;
        assert_sums(self.state.sums(), database);
    }
}

fn unpack(chunks: &[Vec<u8>], world: &World) -> Unpacked {
    let chunks = chunks.iter().map(Vec::as_slice);
    HostState::unpack(HOST, chunks, &world.parameters).expect("chunks as they were packed")
}

fn assert_sums(sums: Sums, database: &Database) {
    let of = |final_state| {
        database.fetches.values().filter(|found| **found == final_state).count() as u64
    };
    let Sums { known, pending, captured, failed, refused, left } = sums;
    assert_eq!(known, pending + captured + failed + refused + left);
    let ended =
        [FinalState::Captured, FinalState::Failed, FinalState::Refused, FinalState::Left].map(of);
    assert_eq!([captured, failed, refused, left], ended);
    assert_eq!(known, database.counted.new);
    let Counted { read, new, known, rejected } = database.counted;
    assert_eq!(read, new + known + rejected);
}

fn run(world: &World, rules: &Rules, batches: Vec<Vec<usize>>, steps: &[Step]) -> Database {
    let pages = world.links.len();
    let mut database = Database { batches, ..Database::default() };
    let mut holder = Holder::load(world, rules, &database, 0);
    let last = [Step::Checkpoint];
    for step in steps.iter().chain(&last) {
        match step {
            Step::ReadLinks => {
                if let Some(batch) = database.batches.get(holder.cursor) {
                    holder.cursor += 1;
                    holder.merge(batch.iter().map(|page| world.link(page % pages, 0)).collect());
                }
            }
            Step::Take => {
                holder.take();
            }
            Step::Finish(number) => holder.finish(*number),
            Step::PutBack(number) => {
                if !holder.in_flight.is_empty() {
                    let (hash, ..) = holder.in_flight.remove(number % holder.in_flight.len());
                    assert!(holder.state.put_back(hash));
                }
            }
            Step::Submit(page) => {
                // Submit only known pages, so that the seeds still reach the same pages.
                let mut link = world.link(page % pages, 0);
                if holder.state.knows(link.url.hash()) {
                    link.attributes.flags = LinkFlags::URGENT;
                    holder.merge(vec![link]);
                }
            }
            Step::Wait => holder.now_s += 10,
            Step::Checkpoint => holder.checkpoint(&mut database),
            Step::Evict(seeds) => {
                let known = |page: &usize| holder.state.knows(world.link(*page, 0).url.hash());
                let known: Vec<usize> =
                    seeds.iter().map(|page| page % pages).filter(known).collect();
                holder.checkpoint(&mut database);
                let links: Vec<Link> = known.iter().map(|page| world.link(*page, 1)).collect();
                database.chunks.extend(pack_links(&links));
                holder = Holder::load(world, rules, &database, holder.now_s);
            }
            Step::Kill => holder = Holder::load(world, rules, &database, holder.now_s),
        }
    }
    // From here on, crawl without faults until the end. Each page takes at most two rounds.
    let mut rounds = 0;
    while holder.cursor < database.batches.len() || holder.state.sums().pending > 0 {
        if let Some(batch) = database.batches.get(holder.cursor) {
            holder.cursor += 1;
            holder.merge(batch.iter().map(|page| world.link(page % pages, 0)).collect());
        }
        while holder.take() {}
        while !holder.in_flight.is_empty() {
            holder.finish(0);
        }
        rounds += 1;
        assert!(rounds <= 10 + 2 * pages, "the crawl does not end");
        holder.now_s += 30;
        holder.checkpoint(&mut database);
    }
    assert_eq!(holder.state.next_due_s(never_paused), None);
    let composed = unpack(&database.chunks, world).state;
    assert_eq!(composed, holder.state);
    let snapshot = holder.state.pack_snapshot(never_paused).bytes;
    let whole = unpack(&[snapshot], world).state;
    assert_eq!(whole, composed);
    database
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn any_interleaving_ends_at_the_oracles_outcomes(
        world in worlds(),
        batches in prop::collection::vec(prop::collection::vec(0_usize..30, 1..4), 1..4),
        steps in steps(),
    ) {
        let pages = world.links.len();
        let rules = Rules::default();
        let seeds: BTreeSet<usize> = batches.iter().flatten().map(|page| page % pages).collect();
        let seeds: Vec<usize> = seeds.into_iter().collect();
        let database = run(&world, &rules, batches.clone(), &steps);
        let reachable = world.reachable(&seeds);
        let expected: BTreeMap<UrlHash, FinalState> = reachable
            .into_iter()
            .map(|(page, final_state)| (world.link(page, 0).url.hash(), final_state))
            .collect();
        prop_assert_eq!(&database.fetches, &expected);
        let undisturbed = run(&world, &rules, batches, &[]);
        prop_assert_eq!(&undisturbed.fetches, &expected);
        prop_assert_eq!(database.counted.rejected + undisturbed.counted.rejected, 0);
    }

    /// The order of responses determines which pages a budget admits, but never how many.
    #[test]
    fn any_interleaving_keeps_a_budget_exactly(
        world in worlds(),
        budget in 1_u64..20,
        batches in prop::collection::vec(prop::collection::vec(0_usize..30, 1..4), 1..4),
        steps in steps(),
    ) {
        let rules = Rules { site_budget: SiteBudget(budget), ..Rules::default() };
        let pages = world.links.len();
        let seeds: Vec<usize> = batches.iter().flatten().map(|page| page % pages).collect();
        let reachable = world.reachable(&seeds);
        let database = run(&world, &rules, batches, &steps);
        let found = database.fetches.len() as u64;
        prop_assert!(found <= budget && found <= reachable.len() as u64);
        for (hash, final_state) in &database.fetches {
            prop_assert_eq!(reachable.get(&world.page_of(*hash)), Some(final_state));
        }
        // If fewer pages than the budget are found, no link was rejected.
        prop_assert!(found == budget || database.counted.rejected == 0);
    }
}
