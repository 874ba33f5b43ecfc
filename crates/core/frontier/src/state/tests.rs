//! Tests one state: merged link counts, URL order, limits, and rejected chunks.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::{
    budget::{SiteBudget, SiteUsage},
    canonical::{CanonicalUrl, UrlHash},
    chunk::{ChunkError, ChunkKind, close, open, pack_links},
    link::{Attributes, Link, LinkFlags},
    origin::Origin,
    parameters::ParameterList,
    patterns::{PatternLists, UrlPatterns},
    priority::PriorityWords,
    reject_reason::RejectReason,
    rules::Rules,
};

const HOST: &str = "a.example";

fn link(path: &str) -> Link {
    let url = format!("http://{HOST}/{path}");
    let url = CanonicalUrl::parse(&url, &ParameterList::default()).unwrap();
    Link { url, attributes: Attributes::default(), via: None }
}

fn link_with(path: &str, depth: u16, priority: u8, flags: LinkFlags) -> Link {
    Link { attributes: Attributes { depth, priority, hops: 0, flags }, ..link(path) }
}

fn state_of(links: impl IntoIterator<Item = Link>) -> HostState {
    let mut state = HostState::new(HOST);
    state.merge(links, &Rules::default(), &mut SiteUsage::default());
    state.check();
    state
}

fn unpacked(chunks: &[Vec<u8>]) -> Result<Unpacked, ChunkError> {
    let chunks = chunks.iter().map(Vec::as_slice);
    HostState::unpack(HOST, chunks, &ParameterList::default())
}

fn order_of(state: &mut HostState) -> Vec<String> {
    let taken = std::iter::from_fn(|| state.next(0, never_paused));
    taken.map(|pending| pending.url.rsplit('/').next().unwrap().to_owned()).collect()
}

#[test]
fn links_are_counted_as_new_known_or_rejected() {
    let mut state = HostState::new(HOST);
    let mut site = SiteUsage::default();
    let mut other = link("1");
    other.url = CanonicalUrl::parse("http://www.a.example/", &ParameterList::default()).unwrap();
    let links = [link("1"), link("1?utm_source=x"), link("2"), link("x/x/x"), other];
    let merged = state.merge(links, &Rules::default(), &mut site);
    assert_eq!((merged.new, merged.known), (2, 1));
    let rejected: Vec<_> = merged.rejected.iter().collect();
    assert_eq!(rejected, [(RejectReason::Host, 1), (RejectReason::TrapRepeatedSegment, 1)]);
    assert_eq!(site, SiteUsage { pages: 2, hosts: 1, largest: 2 });
    let [first, third] = ["1", "3"].map(|name| link(name).url.hash());
    assert_eq!(state.finish(first, FinalState::Captured), FinishEffect::Finished);
    assert_eq!(state.finish(first, FinalState::Failed), FinishEffect::AlreadyFinished);
    assert_eq!(state.finish(third, FinalState::Failed), FinishEffect::Unknown);
    assert_eq!(state.merge([link("1")], &Rules::default(), &mut site).known, 1);
    let sums = Sums { known: 2, pending: 1, captured: 1, ..Sums::default() };
    assert_eq!(state.sums(), sums);
    state.check();
}

#[test]
fn urls_are_taken_by_urgency_priority_and_depth() {
    let none = LinkFlags::default();
    let mut state = state_of([
        link_with("deep", 2, 0, none),
        link_with("prior", 9, 3, none),
        link_with("urgent", 16, 0, LinkFlags::URGENT),
        link_with("shallow", 1, 0, none),
    ]);
    assert_eq!(order_of(&mut state), ["urgent", "prior", "shallow", "deep"]);
    assert_eq!((state.next(0, never_paused), state.next_due_s(never_paused)), (None, Some(0)));
}

#[test]
fn another_link_raises_a_pending_url_and_keeps_its_depth() {
    let none = LinkFlags::default();
    let mut state = state_of([
        link_with("a", 1, 0, none),
        link_with("b", 5, 1, none),
        link_with("b", 1, 0, LinkFlags::URGENT.with(LinkFlags::SEED)),
    ]);
    assert!(state.pack(never_paused).is_some());
    let pending = state.next(0, never_paused).unwrap();
    let flags = LinkFlags::URGENT.with(LinkFlags::SEED);
    assert_eq!(pending.attributes, Attributes { depth: 5, priority: 1, hops: 0, flags });
    state.merge([link_with("b", 0, 7, none)], &Rules::default(), &mut SiteUsage::default());
    state.check();
    assert!(state.is_dirty());
    assert!(state.put_back(pending.hash));
    assert_eq!(state.next(0, never_paused).unwrap().attributes.priority, 7);
}

#[test]
fn a_pack_has_the_state_when_it_was_taken_and_later_changes_are_a_delta() {
    let mut state = state_of([link("a"), link("b")]);
    let before = state.clone();
    let taken = state.take_changes(never_paused).unwrap();
    assert!(!state.is_dirty() && state.take_changes(never_paused).is_none());
    state.merge([link("c")], &Rules::default(), &mut SiteUsage::default());
    let pending = state.next(0, never_paused).unwrap();
    state.finish(pending.hash, FinalState::Captured);
    let first = taken.pack();
    state.packed(first.kind, first.bytes.len());
    assert_eq!((first.kind, first.known), (ChunkKind::Snapshot, 2));
    assert_eq!(unpacked(std::slice::from_ref(&first.bytes)).unwrap().state, before);
    let second = state.pack(never_paused).unwrap();
    assert_eq!((second.kind, second.generation), (ChunkKind::Delta, first.generation + 1));
    assert_eq!(unpacked(&[first.bytes, second.bytes]).unwrap().state, state);
}

#[test]
fn words_raise_the_priority_of_links_and_only_once_of_redirect_targets() {
    let words = PriorityWords::parse(&["news=2"]).unwrap();
    let lists = PatternLists { words: words.words(), ..PatternLists::default() };
    let patterns = Arc::new(UrlPatterns::compile(&lists).unwrap());
    let rules = Rules { priorities: words, patterns, ..Rules::default() };
    let mut state = HostState::new(HOST);
    let mut target = link_with("news/2", 0, 3, LinkFlags::default());
    target.attributes.hops = 1;
    let links = [link_with("news/1", 0, 3, LinkFlags::default()), target, link("x")];
    state.merge(links, &rules, &mut SiteUsage::default());
    let priorities: Vec<u8> = std::iter::from_fn(|| state.next(0, never_paused))
        .map(|pending| pending.attributes.priority)
        .collect();
    assert_eq!(priorities, [5, 3, 0]);
}

#[test]
fn a_url_with_transient_failures_is_retried_as_often_as_the_crawl_allows() {
    let mut state = state_of([link("a")]);
    let pending = state.next(0, never_paused).unwrap();
    assert!(state.retry(pending.hash, 60, 2));
    assert!(!state.retry(pending.hash, 60, 2), "it is not in flight");
    state.check();
    let chunk = state.pack(never_paused).unwrap();
    assert_eq!(chunk.next_due_s, Some(60));
    let mut state = unpacked(&[chunk.bytes]).unwrap().state;
    assert_eq!(state.next(59, never_paused), None);
    let pending = state.next(60, never_paused).unwrap();
    assert_eq!(pending.retries, 1);
    assert!(state.retry(pending.hash, 120, 2));
    let chunk = state.pack(never_paused).unwrap();
    let mut state = unpacked(&[state.pack_snapshot(never_paused).bytes]).unwrap().state;
    assert_eq!(chunk.next_due_s, Some(120));
    let pending = state.next(120, never_paused).unwrap();
    assert_eq!(pending.retries, 2);
    assert!(!state.retry(pending.hash, 180, 2));
    assert_eq!(state.finish(pending.hash, FinalState::Failed), FinishEffect::Finished);
    assert_eq!(state.next_due_s(never_paused), None);
    state.check();
}

#[test]
fn a_paused_origin_holds_back_only_its_own_urls() {
    let on_port = |port: u16, path: &str, flags| {
        let url = format!("http://{HOST}:{port}/{path}");
        let url = CanonicalUrl::parse(&url, &ParameterList::default()).unwrap();
        Link { url, attributes: Attributes { flags, ..Attributes::default() }, via: None }
    };
    let (none, urgent) = (LinkFlags::default(), LinkFlags::URGENT);
    let mut state = state_of([on_port(8080, "a", urgent), on_port(80, "b", none)]);
    let paused = Origin::of("http://a.example:8080/").unwrap();
    let until = |second| move |origin| if origin == paused { second } else { 0 };
    assert!(state.is_urgent(0, never_paused) && !state.is_urgent(59, until(60)));
    assert_eq!(state.next_ready_s(until(60)), Some(0));
    assert_eq!(state.next(0, until(60)).unwrap().url, "http://a.example/b");
    assert_eq!(state.next(59, until(60)), None);
    assert_eq!(state.next_ready_s(until(60)), Some(60));
    let retried = state.next(60, until(60)).unwrap();
    assert_eq!(retried.url, "http://a.example:8080/a");
    assert!(state.retry(retried.hash, 90, 3));
    assert_eq!(state.next_ready_s(until(60)), Some(90), "the later of both times");
    assert_eq!(state.next_ready_s(until(120)), Some(120));
    state.check();
    assert!(state.pack(until(60)).is_some() && state.pack(until(60)).is_none());
    state.pause_changed();
    assert!(state.pack(until(120)).is_some(), "the next due time is recorded again");
}

#[test]
fn pending_urls_can_be_left() {
    let mut state = state_of([link("a"), link("b"), link("c")]);
    let pending = state.next(0, never_paused).unwrap();
    state.finish(pending.hash, FinalState::Refused);
    assert_eq!(state.leave_pending().len(), 2);
    let sums = Sums { known: 3, refused: 1, left: 2, ..Sums::default() };
    assert_eq!(state.sums(), sums);
    state.check();
}

#[test]
fn budgets_of_site_and_shape_are_never_exceeded() {
    let rules = Rules { site_budget: SiteBudget(300), ..Rules::default() };
    let mut state = HostState::new(HOST);
    let mut site = SiteUsage { pages: 100, hosts: 1, largest: 0 };
    let calendar = (0..1_000).map(|day| link(&format!("day/{day}")));
    let merged = state.merge(calendar, &rules, &mut site);
    assert_eq!((merged.new, merged.rejected.of(RejectReason::TrapShape)), (150, 850));
    let words = (0..1_000).map(|n| link(&"abcdefghij".repeat(n / 100 + 1)[n % 100 / 10..]));
    let merged = state.merge(words, &rules, &mut site);
    assert_eq!(merged.new + merged.known + merged.rejected.total(), 1_000);
    let pages =
        (0..400).map(|n| link(&format!("{}/{}", "ghi".repeat(n / 20), "xy".repeat(n % 20))));
    let merged = state.merge(pages, &rules, &mut site);
    assert!(merged.rejected.of(RejectReason::TrapSitePages) > 100);
    assert_eq!((site.pages, state.pages()), (300, 200));
    assert_eq!(state.merge([link("day/1")], &rules, &mut site).known, 1);
    let image = link_with("i.png", 0, 0, LinkFlags::REQUISITE);
    assert_eq!(state.merge([image], &rules, &mut site).new, 1);
    assert_eq!(state.pages(), 200);
    state.merge([link("i.png")], &rules, &mut site);
    assert_eq!((site.pages, state.pages()), (301, 201));
}

#[test]
fn a_link_farm_leaves_a_quarter_of_the_budget_to_the_host_with_the_pages() {
    let rules = Rules { site_budget: SiteBudget(600), ..Rules::default() };
    let mut site = SiteUsage::default();
    let mut state = HostState::new(HOST);
    let pages = |from: usize, to: usize| (from..to).map(|n| link(&"ab".repeat(n + 1)));
    assert_eq!(state.merge(pages(0, 20), &rules, &mut site).new, 20);
    let mut of_farm = 0;
    for _ in 0..900 {
        let mut host = HostState::new(HOST);
        of_farm += host.merge([link("a")], &rules, &mut site).new;
    }
    assert_eq!(of_farm, 450);
    let submitted = link_with("a", 0, 0, LinkFlags::SEED);
    assert_eq!(HostState::new(HOST).merge([submitted], &rules, &mut site).new, 1);
    assert_eq!(state.merge(pages(20, 200), &rules, &mut site).new, 129);
    assert_eq!(site, SiteUsage { pages: 600, hosts: 452, largest: 149 });
}

#[test]
fn a_site_has_at_most_1000_hosts() {
    let mut site = SiteUsage { hosts: 999, ..SiteUsage::default() };
    let rules = Rules::default();
    let mut state = HostState::new(HOST);
    assert_eq!(state.merge_link(link("a"), &rules, &mut site), MergeOutcome::New);
    assert_eq!(state.merge_link(link("b"), &rules, &mut site), MergeOutcome::New);
    let refused = HostState::new(HOST).merge_link(link("a"), &rules, &mut site);
    assert_eq!(refused, MergeOutcome::Rejected(RejectReason::TrapSiteHosts));
    assert_eq!(site, SiteUsage { pages: 2, hosts: 1_000, largest: 2 });
}

#[test]
fn known_urls_and_bytes_of_a_host_are_bounded() {
    let mut state = state_of([link("a")]);
    state.pending_bytes = MAX_PENDING_BYTES - 17;
    let full = MergeOutcome::Rejected(RejectReason::TrapHostKnown);
    let merge = |state: &mut HostState| {
        state.merge_link(link("b"), &Rules::default(), &mut SiteUsage::default())
    };
    assert_eq!(merge(&mut state), full);
    state.pending_bytes = 0;
    state.finished.extend((1..MAX_KNOWN_PER_HOST as u64).map(UrlHash));
    assert_eq!(merge(&mut state), full);
    state.finished.remove(&UrlHash(1));
    assert_eq!(merge(&mut state), MergeOutcome::New);
}

#[test]
fn a_pack_is_a_snapshot_first_then_deltas_then_a_snapshot() {
    let mut state = HostState::new(HOST);
    assert!(state.pack(never_paused).is_none());
    let (mut chunks, mut kinds) = (Vec::new(), Vec::new());
    for round in 0..40 {
        let links = (0..3).map(|n| link(&format!("{round}/{n}")));
        state.merge(links, &Rules::default(), &mut SiteUsage::default());
        let pending = state.next(0, never_paused).unwrap();
        state.finish(pending.hash, FinalState::Captured);
        let packed = state.pack(never_paused).unwrap();
        assert_eq!((packed.known, packed.pending), (state.sums().known, state.sums().pending));
        assert_eq!(packed.generation, round + 1);
        kinds.push(packed.kind);
        if packed.kind == ChunkKind::Snapshot {
            chunks.clear();
        }
        chunks.push(packed.bytes);
        assert_eq!(unpacked(&chunks).unwrap().state, state);
    }
    let snapshots = kinds.iter().filter(|kind| **kind == ChunkKind::Snapshot).count();
    assert_eq!(kinds[..2], [ChunkKind::Snapshot, ChunkKind::Delta]);
    assert!((3..12).contains(&snapshots), "{snapshots}");
    assert!(state.pack(never_paused).is_none());
}

#[test]
fn a_url_keeps_its_referrer_through_packs_until_it_is_taken() {
    let from = |path: &str, via: &str| Link { via: Some(via.into()), ..link(path) };
    let (index, other) = ("http://a.example/index", "http://b.example/");
    let mut state = state_of([link("seed"), from("1", index), from("2", index), from("3", other)]);
    state.merge([from("1", other)], &Rules::default(), &mut SiteUsage::default());
    state.check();
    let mut chunks = vec![state.pack(never_paused).unwrap().bytes];
    state.finish(link("2").url.hash(), FinalState::Failed);
    chunks.push(state.pack(never_paused).unwrap().bytes);
    let mut loaded = unpacked(&chunks).unwrap().state;
    loaded.check();
    assert_eq!(loaded, state);
    let taken = std::iter::from_fn(|| loaded.next(0, never_paused));
    let mut vias: Vec<_> = taken.map(|pending| (pending.url, pending.via)).collect();
    vias.sort();
    let url = |path: &str| format!("http://{HOST}/{path}");
    let expected = [(url("1"), Some(index)), (url("3"), Some(other)), (url("seed"), None)];
    assert_eq!(vias, expected.map(|(url, via)| (url, via.map(std::sync::Arc::from))));
}

/// A chunk from an older program may still be stored when a newer program reads it.
#[test]
fn a_chunk_of_the_version_before_is_read() {
    let section = b"\x05\x08\x0a\x00\x00\x02a.example/";
    let chunk = [b"\x01\x02\x1c\xb9\x83\x7b\x01\x10\x10", &section[..]].concat();
    let found = crate::chunk::unpack_links(&chunk, &ParameterList::default()).unwrap();
    let attributes = Attributes { depth: 2, ..Attributes::default() };
    let url = CanonicalUrl::parse("https://a.example/", &ParameterList::default()).unwrap();
    assert_eq!(found.links, [Link { url, attributes, via: None }]);
}

#[test]
fn appended_links_are_unmerged_until_the_next_pack() {
    let mut state = state_of([link("a")]);
    let mut chunks = vec![state.pack(never_paused).unwrap().bytes];
    chunks.extend(pack_links(&[link("b")]));
    chunks.extend(pack_links(&[link("a")]));
    let mut loaded = unpacked(&chunks).unwrap();
    assert_eq!(loaded.unmerged, [link("b"), link("a")]);
    assert!(loaded.state.is_dirty());
    chunks.push(loaded.state.pack(never_paused).unwrap().bytes);
    let last = unpacked(&chunks).unwrap();
    assert!(last.state == state && last.unmerged.is_empty() && !last.state.is_dirty());
    let first = unpacked(&pack_links(&[link("b")])).unwrap();
    assert_eq!((first.state.sums().known, first.unmerged.len()), (0, 1));
}

#[test]
fn a_pending_string_that_is_no_longer_a_url_is_taken_in_order() {
    let mut state = state_of([link("a")]);
    for pending in state.pending.values_mut() {
        pending.url = "https://ü..example/".into();
    }
    let mut loaded = unpacked(&[state.pack(never_paused).unwrap().bytes]).unwrap().state;
    loaded.check();
    let pending = loaded.next(0, never_paused).unwrap();
    assert_eq!(pending.url, "https://ü..example/");
    assert_eq!(loaded.finish(pending.hash, FinalState::Refused), FinishEffect::Finished);
    let sums = Sums { known: 1, refused: 1, ..Sums::default() };
    assert_eq!(loaded.sums(), sums);
}

#[test]
fn a_chunk_that_is_missing_damaged_or_of_another_host_is_an_error() {
    let mut state = state_of([link("a"), link("b"), link("c"), link("d")]);
    let mut chunks = vec![state.pack(never_paused).unwrap().bytes];
    for name in ["a", "b"] {
        state.finish(link(name).url.hash(), FinalState::Captured);
        chunks.push(state.pack(never_paused).unwrap().bytes);
    }
    assert_eq!(unpacked(&chunks).unwrap().state, state);
    let gap = |before, found| Err(ChunkError::Gap { before, found });
    assert_eq!(unpacked(&chunks[1..]), gap(0, 2));
    assert_eq!(unpacked(&[chunks[0].clone(), chunks[2].clone()]), gap(1, 3));
    assert_eq!(unpacked(&[chunks[0].clone(), chunks[1].clone(), chunks[1].clone()]), gap(2, 2));
    let other = HostState::unpack("b.example", [&*chunks[0]], &ParameterList::default());
    assert_eq!(other, Err(ChunkError::Field("host of a pending URL")));
    chunks[0][9] ^= 4;
    assert_eq!(unpacked(&chunks), Err(ChunkError::Checksum));
    assert_eq!(unpacked(&[vec![9; 9]]), Err(ChunkError::Version(9)));
}

proptest! {
    #[test]
    fn any_fields_yield_a_usable_state_or_an_error(
        fields: Vec<u8>, is_delta: bool, at: prop::sample::Index, byte: u8,
    ) {
        let mut state = state_of([link("a"), link("b"), link("c?d=1")]);
        let first = state.pack(never_paused).unwrap().bytes;
        state.finish(link("a").url.hash(), FinalState::Captured);
        state.merge([link("e")], &Rules::default(), &mut SiteUsage::default());
        let second = state.pack(never_paused).unwrap().bytes;
        let mut anything = open(if is_delta { ChunkKind::Delta } else { ChunkKind::Snapshot });
        anything.extend(fields);
        let mut damaged = if is_delta { second.clone() } else { first.clone() };
        let at = 6 + at.index(damaged.len() - 6);
        damaged[at] = byte;
        for chunk in [close(anything), close(damaged)] {
            let (before, after) = (first.clone(), second.clone());
            let chunks = if is_delta { vec![before, chunk] } else { vec![chunk, after] };
            if let Ok(Unpacked { mut state, .. }) = unpacked(&chunks) {
                state.check();
                state.merge([link("z")], &Rules::default(), &mut SiteUsage::default());
                state.check();
                let packed = state.pack_snapshot(never_paused).bytes;
                prop_assert_eq!(unpacked(&[packed]).unwrap().state, state);
            }
        }
    }
}

#[test]
fn sitemaps_of_a_host_are_bounded_across_holders_and_are_not_pages() {
    let rules = Rules { site_budget: SiteBudget(1), ..Rules::default() };
    let sitemap = |n| link_with(&format!("map{n}.xml"), 0, 0, LinkFlags::SITEMAP);
    let mut state = HostState::new(HOST);
    let mut site = SiteUsage::default();
    let first = state.merge((0..40).map(sitemap), &rules, &mut site);
    let chunk = state.pack(never_paused).unwrap().bytes;
    let mut state = unpacked(&[chunk]).unwrap().state;
    let then = state.merge((20..100).map(sitemap), &rules, &mut site);
    state.check();
    assert_eq!((first.new, then.new, then.known), (40, 24, 20));
    assert_eq!(then.rejected.of(RejectReason::TrapSitemaps), 36);
    assert_eq!((state.pages(), site.pages), (0, 0));
    assert_eq!(state.merge([link("1"), link("2")], &rules, &mut site).new, 1);
}

#[test]
fn pages_become_sitemaps_only_up_to_the_limit_of_their_host() {
    for kind in [LinkFlags::default(), LinkFlags::REQUISITE] {
        let mut state = HostState::new(HOST);
        let mut site = SiteUsage::default();
        let rules = Rules { site_budget: SiteBudget(200), ..Rules::default() };
        let links = |flags| (0..100).map(move |n| link_with(&format!("{n}/map.xml"), 1, 0, flags));
        state.merge(links(kind), &Rules::default(), &mut site);
        let pages = site.pages;
        state.merge(links(LinkFlags::SITEMAP), &rules, &mut site);
        state.check();
        let taken = std::iter::from_fn(|| state.next(0, never_paused)).collect::<Vec<_>>();
        let sitemaps =
            taken.iter().filter(|pending| pending.attributes.flags.contains(LinkFlags::SITEMAP));
        assert_eq!((taken.len(), sitemaps.count()), (100, 64), "{kind:?}");
        assert_eq!(site.pages, pages.saturating_sub(64));
    }
}

#[test]
fn a_page_listed_as_a_sitemap_becomes_one_unless_it_is_a_seed_or_in_flight() {
    let merged = |first: LinkFlags, then: LinkFlags, is_in_flight: bool| {
        let mut state = HostState::new(HOST);
        let mut site = SiteUsage::default();
        state.merge([link_with("map.xml", 1, 0, first)], &Rules::default(), &mut site);
        let in_flight = is_in_flight.then(|| state.next(0, never_paused).unwrap());
        state.merge([link_with("map.xml", 1, 0, then)], &Rules::default(), &mut site);
        state.check();
        assert_eq!(state.pages(), site.pages);
        if let Some(in_flight) = in_flight {
            state.put_back(in_flight.hash);
        }
        (state.next(0, never_paused).unwrap().attributes.flags, site.pages)
    };
    let (page, sitemap) = (LinkFlags::default(), LinkFlags::SITEMAP);
    let seed = LinkFlags::SEED;
    for (first, then, is_taken, expected) in [
        (page, sitemap, false, (sitemap, 0)),
        (sitemap, page, false, (sitemap, 0)),
        (LinkFlags::REQUISITE, sitemap, false, (sitemap, 0)),
        (seed, sitemap, false, (seed, 1)),
        (sitemap, seed, false, (seed, 1)),
        (page, sitemap, true, (page, 1)),
    ] {
        assert_eq!(merged(first, then, is_taken), expected, "{first:?} {then:?} {is_taken}");
    }
}

#[test]
fn a_waiting_url_is_taken_whether_it_is_due_or_not() {
    let mut state = state_of([link("1"), link("2"), link("3")]);
    let failed = state.next(0, never_paused).unwrap();
    assert!(state.retry(failed.hash, 100, 3));
    let in_flight = state.next(0, never_paused).unwrap();
    let waiting = state.waiting_hashes();
    assert!(waiting.len() == 2 && waiting.contains(&failed.hash), "{waiting:?}");
    assert_eq!((state.waiting(in_flight.hash), state.take_waiting(in_flight.hash)), (None, None));
    let seen = state.waiting(failed.hash).unwrap();
    assert_eq!((seen.url.as_str(), seen.retries), (failed.url.as_str(), 1));
    assert_eq!(state.take_waiting(failed.hash), Some(seen));
    state.check();
    assert_eq!(state.finish(failed.hash, FinalState::Left), FinishEffect::Finished);
    state.check();
    assert_eq!((state.sums().left, state.waiting_hashes().len()), (1, 1));
}
