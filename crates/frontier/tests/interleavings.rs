//! Any interleaving of merging, asking, answering, packing, unpacking and kills gives one result:
//! that of a plain model of the world.
//!
//! The world is closed: a number of pages, each with the same links whenever it is asked. A kill
//! loses what was not packed, and so do the records and the cursor of links, which are written in
//! the same transaction; the next holder unpacks, is given the unread links again, and asks again.

use std::collections::{BTreeMap, BTreeSet};

use everytab_frontier::{
    Answered, Attributes, CanonicalUrl, ChunkKind, Ending, HostState, Link, LinkFlags, MAX_RETRIES,
    Merged, ParameterList, Rules, SiteBudget, SiteUse, Sums, Unpacked, UrlHash, never_paused,
    pack_links,
};
use proptest::prelude::*;

const HOST: &str = "a.example";

/// The pages of the world: what each links to, and how asking it ends.
#[derive(Debug, Clone)]
struct World {
    links: Vec<Vec<usize>>,
    endings: Vec<Ending>,
    /// Pages whose first attempt fails in passing.
    shaky: Vec<bool>,
    parameters: ParameterList,
}

impl World {
    fn link(&self, page: usize, depth: u16) -> Link {
        // Two spellings of each page; pages of some folders with a query.
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

    /// Every page that seeds reach, by the rule that a page's links are read if it is captured.
    fn reachable(&self, seeds: &[usize]) -> BTreeMap<usize, Ending> {
        let mut found = BTreeMap::new();
        let mut next: Vec<usize> = seeds.to_vec();
        while let Some(page) = next.pop() {
            let ending = self.endings[page];
            if found.insert(page, ending).is_none() && ending == Ending::Captured {
                next.extend(&self.links[page]);
            }
        }
        found
    }
}

fn worlds() -> impl Strategy<Value = World> {
    let ending = prop_oneof![
        6 => Just(Ending::Captured), 1 => Just(Ending::Failed), 1 => Just(Ending::Refused),
    ];
    (2_usize..30).prop_flat_map(move |pages| {
        let links = prop::collection::vec(prop::collection::vec(0..pages, 0..5), pages);
        let endings = prop::collection::vec(ending.clone(), pages);
        let shaky = prop::collection::vec(prop::bool::weighted(0.2), pages);
        (links, endings, shaky).prop_map(|(links, endings, shaky)| World {
            links,
            endings,
            shaky,
            parameters: ParameterList::default(),
        })
    })
}

#[derive(Debug, Clone)]
enum Step {
    /// Reads the next batch of links that the database has for the host.
    ReadLinks,
    /// Asks the next URL.
    Ask,
    /// An answer arrives for the asked URL of this number: its links are merged at once.
    Answer(usize),
    /// Our own trouble: the asked URL of this number is put back.
    PutBack(usize),
    /// The links of asked and answered pages of this number are found again, urgent.
    Submit(usize),
    Wait,
    Checkpoint,
    /// The host leaves memory after a checkpoint, and links are appended to it unmerged.
    Evict(Vec<usize>),
    Kill,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        2 => Just(Step::ReadLinks),
        8 => Just(Step::Ask),
        8 => (0_usize..4).prop_map(Step::Answer),
        1 => (0_usize..4).prop_map(Step::PutBack),
        1 => (0_usize..30).prop_map(Step::Submit),
        2 => Just(Step::Wait),
        4 => Just(Step::Checkpoint),
        1 => prop::collection::vec(0_usize..30, 0..4).prop_map(Step::Evict),
        1 => Just(Step::Kill),
    ];
    prop::collection::vec(step, 0..200)
}

/// What the database has; a kill leaves it as it is.
#[derive(Debug, Clone, Default)]
struct Database {
    chunks: Vec<Vec<u8>>,
    /// Batches of links that were sent, and how many of them are read.
    batches: Vec<Vec<usize>>,
    cursor: usize,
    /// How each URL ended: the table of fetches.
    fetches: BTreeMap<UrlHash, Ending>,
    counted: Counted,
}

/// Links by what became of them, which must be all that were read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counted {
    read: u64,
    new: u64,
    known: u64,
    turned_away: u64,
}

/// The holder of the host.
struct Holder<'w> {
    world: &'w World,
    rules: &'w Rules,
    state: HostState,
    site: SiteUse,
    asked: Vec<(UrlHash, u16, u8)>,
    /// What the next checkpoint records.
    cursor: usize,
    fetches: BTreeMap<UrlHash, Ending>,
    counted: Counted,
    now_s: u64,
}

impl<'w> Holder<'w> {
    fn load(world: &'w World, rules: &'w Rules, database: &Database, now_s: u64) -> Self {
        let loaded = unpack(&database.chunks, world);
        let sums = loaded.state.sums();
        assert_eq!(sums.known - sums.pending, database.fetches.len() as u64);
        let mut site = SiteUse::default();
        site.add_host(loaded.state.pages(), sums.known);
        let mut holder = Self {
            world,
            rules,
            state: loaded.state,
            site,
            asked: Vec::new(),
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
        let Merged { new, known, turned_away } = merged;
        self.counted.turned_away += turned_away.total();
        self.counted.new += new;
        self.counted.known += known;
    }

    fn answer(&mut self, number: usize) {
        if self.asked.is_empty() {
            return;
        }
        let (hash, depth, retries) = self.asked.remove(number % self.asked.len());
        let page = self.world.page_of(hash);
        if self.world.shaky[page] && retries == 0 {
            assert!(self.state.retry(hash, self.now_s + 30, MAX_RETRIES));
            return;
        }
        let ending = self.world.endings[page];
        // Pages say one of few things, and none so often that a shape of them is closed.
        let path = format!("/{}/page-{page}", page % 2);
        let said: Vec<u32> = (0..page as u32 % 12).map(|line| line << 24 | 7).collect();
        self.state.note_page((hash, &path), &said, &[], self.rules);
        if ending == Ending::Captured {
            let links = &self.world.links[page];
            self.merge(links.iter().map(|page| self.world.link(*page, depth + 1)).collect());
        }
        assert_eq!(self.state.answer(hash, ending), Answered::Recorded);
        assert_eq!(self.state.answer(hash, Ending::Failed), Answered::Before);
        self.fetches.insert(hash, ending);
    }

    /// One transaction: the chunk, the fetches, the cursor, the sums.
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
        // The database has what the holder has, and no link that would be merged again.
        let loaded = unpack(&database.chunks, self.world);
        assert!(loaded.state == self.state && loaded.unmerged.is_empty());
        for (hash, ending) in std::mem::take(&mut self.fetches) {
            assert_eq!(database.fetches.insert(hash, ending), None, "recorded twice");
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

/// Promise 1 of a crawl: known = pending + captured + failed + refused + left.
fn assert_sums(sums: Sums, database: &Database) {
    let of = |ending| database.fetches.values().filter(|found| **found == ending).count() as u64;
    let Sums { known, pending, captured, failed, refused, left } = sums;
    assert_eq!(known, pending + captured + failed + refused + left);
    let ended = [Ending::Captured, Ending::Failed, Ending::Refused, Ending::Left].map(of);
    assert_eq!([captured, failed, refused, left], ended);
    assert_eq!(known, database.counted.new);
    let Counted { read, new, known, turned_away } = database.counted;
    assert_eq!(read, new + known + turned_away);
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
            Step::Ask => {
                if let Some(turn) = holder.state.next(holder.now_s, never_paused) {
                    assert_eq!(world.link(world.page_of(turn.hash), 0).url.hash(), turn.hash);
                    holder.asked.push((turn.hash, turn.attributes.depth, turn.retries));
                }
            }
            Step::Answer(number) => holder.answer(*number),
            Step::PutBack(number) => {
                if !holder.asked.is_empty() {
                    let (hash, ..) = holder.asked.remove(number % holder.asked.len());
                    assert!(holder.state.put_back(hash));
                }
            }
            Step::Submit(page) => {
                // Of pages that are known only, so that the world stays what the seeds reach.
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
    // Undisturbed to its end, which is near: a page takes two rounds at most.
    let mut rounds = 0;
    while holder.cursor < database.batches.len() || holder.state.sums().pending > 0 {
        if let Some(batch) = database.batches.get(holder.cursor) {
            holder.cursor += 1;
            holder.merge(batch.iter().map(|page| world.link(page % pages, 0)).collect());
        }
        while let Some(turn) = holder.state.next(holder.now_s, never_paused) {
            holder.asked.push((turn.hash, turn.attributes.depth, turn.retries));
        }
        while !holder.asked.is_empty() {
            holder.answer(0);
        }
        rounds += 1;
        assert!(rounds <= 10 + 2 * pages, "the crawl does not end");
        holder.now_s += 30;
        holder.checkpoint(&mut database);
    }
    assert_eq!(holder.state.next_due_s(never_paused), None);
    // Deltas compose to the state of a snapshot.
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
        let (pages, rules) = (world.links.len(), Rules::default());
        let seeds: BTreeSet<usize> = batches.iter().flatten().map(|page| page % pages).collect();
        let seeds: Vec<usize> = seeds.into_iter().collect();
        let database = run(&world, &rules, batches.clone(), &steps);
        let reachable = world.reachable(&seeds);
        let expected: BTreeMap<UrlHash, Ending> = reachable
            .into_iter()
            .map(|(page, ending)| (world.link(page, 0).url.hash(), ending))
            .collect();
        prop_assert_eq!(&database.fetches, &expected);
        // And without any fault.
        let undisturbed = run(&world, &rules, batches, &[]);
        prop_assert_eq!(&undisturbed.fetches, &expected);
        prop_assert_eq!(database.counted.turned_away + undisturbed.counted.turned_away, 0);
    }

    /// Which pages a budget takes depends on the order of answers, but never how many.
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
        for (hash, ending) in &database.fetches {
            prop_assert_eq!(reachable.get(&world.page_of(*hash)), Some(ending));
        }
        // Less than the budget is found only if nothing was turned away.
        prop_assert!(found == budget || database.counted.turned_away == 0);
    }
}
