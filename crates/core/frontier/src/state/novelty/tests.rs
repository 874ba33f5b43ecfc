//! Shapes are closed correctly, and chunks store this. crates/crawl/crawler/tests/crawl/novelty.rs
//! crawls whole sites.

use super::*;
use crate::{
    link::Attributes,
    parameters::ParameterList,
    reject_reason::RejectReason,
    state::{Unpacked, never_paused},
};

const HOST: &str = "a.example";

fn url(path: &str) -> CanonicalUrl {
    let text = format!("https://{HOST}{path}");
    CanonicalUrl::parse(&text, &ParameterList::default()).unwrap()
}

fn link(path: &str) -> Link {
    Link { url: url(path), attributes: Attributes::default(), via: None }
}

struct Known {
    state: HostState,
    site: SiteUsage,
    rules: Rules,
}

impl Known {
    fn new(rules: Rules, paths: impl IntoIterator<Item = String>) -> Self {
        let mut known = Self { state: HostState::new(HOST), site: SiteUsage::default(), rules };
        known.merge((0..20).map(|n| format!("/other/{}", "x".repeat(n + 1))));
        known.merge(paths);
        known
    }

    fn merge(&mut self, paths: impl IntoIterator<Item = String>) -> u64 {
        let links = paths.into_iter().map(|path| link(&path));
        let merged = self.state.merge(links, &self.rules, &mut self.site);
        merged.rejected.of(RejectReason::TrapShape)
    }

    fn says(&mut self, path: &str, lines: &[u32], links: &[Link]) -> Option<PageSays> {
        let says = self.state.note_page((url(path).hash(), path), lines, links, &self.rules);
        self.state.finish(url(path).hash(), FinalState::Captured);
        says
    }

    fn is_closed(&self, path: &str) -> bool {
        self.state.is_of_trap(&url(path), LinkFlags::default(), &self.rules)
    }
}

fn numbered(start: &str, count: u32) -> Vec<String> {
    (0..count).map(|n| format!("{start}{n}")).collect()
}

fn own(n: u32) -> Vec<u32> {
    (0..8).map(|line| (n * 16 + line + 1).wrapping_mul(0x0202_8ace) & !3).collect()
}

fn rules(trap_pages: u32) -> Rules {
    Rules { trap_pages, ..Rules::default() }
}

#[test]
fn pages_that_repeat_others_close_their_shape_and_new_ones_keep_theirs_open() {
    let mut known =
        Known::new(rules(5), numbered("/day/", 50).into_iter().chain(numbered("/news/", 50)));
    for n in 0..20 {
        assert_eq!(known.says(&format!("/news/{n}"), &own(n), &[]), Some(PageSays::New(4)));
    }
    assert_eq!(known.says("/day/0", &own(0), &[]), Some(PageSays::Nothing));
    for n in 1..5 {
        assert!(!known.is_closed("/day/49"), "{n}");
        known.says(&format!("/day/{n}"), &own(0), &[]);
    }
    assert!(known.is_closed("/day/49") && !known.is_closed("/news/49"));
    assert_eq!(known.merge(numbered("/day/", 60)), 10);
    assert_eq!(known.merge(numbered("/news/", 60)), 0);
    assert!(!known.state.is_of_trap(&url("/day/49"), LinkFlags::SEED, &known.rules));
    let submitted = Link::submitted(url("/day/70"), false, 0);
    assert_eq!(known.state.merge([submitted], &known.rules, &mut known.site).new, 1);
    let pages = known.site.pages;
    let finished = url("/day/49").hash();
    assert_eq!(known.state.leave_trap(finished, &mut known.site), FinishEffect::Finished);
    assert_eq!(known.state.leave_trap(finished, &mut known.site), FinishEffect::AlreadyFinished);
    assert_eq!((known.site.pages, known.state.sums().left), (pages - 1, 1));
    known.state.check();
}

#[test]
fn a_page_of_new_lines_offsets_four_pages_and_one_with_few_offsets_one() {
    let mut known = Known::new(rules(5), numbered("/day/", 50));
    let lines = |n: u32, new: usize| [&own(0), &own(n)[..new]].concat();
    known.says("/day/0", &own(0), &[]);
    assert_eq!(known.says("/day/1", &lines(1, 0), &[]), Some(PageSays::Nothing));
    assert_eq!(known.says("/day/2", &lines(2, 1), &[]), Some(PageSays::New(3)));
    assert_eq!(known.says("/day/3", &lines(3, 8), &[]), Some(PageSays::New(4)));
    let long: Vec<u32> = (0..12).flat_map(|n| own(100 + n)).collect();
    for n in 0..12 {
        known.says(&format!("/day/{}", 10 + n), &own(100 + n), &[]);
    }
    let more = |n: u32, new: usize| [&long[..], &own(n)[..new]].concat();
    assert_eq!(known.says("/day/30", &more(30, 2), &[]), Some(PageSays::New(1)));
    assert_eq!(known.says("/day/31", &more(31, 1), &[]), Some(PageSays::Nothing));
}

#[test]
fn a_repetitive_page_that_leads_to_new_content_costs_little_or_nothing() {
    let lists = numbered("/list?page=", 40);
    let mut known = Known::new(rules(5), lists.into_iter().chain(numbered("/item/", 9)));
    let items =
        |from: u32| (from..from + 5).map(|n| link(&format!("/item/{n}"))).collect::<Vec<_>>();
    known.says("/list?page=0", &own(0), &[]);
    let says = |known: &mut Known, n: u32, links: &[Link]| {
        known.says(&format!("/list?page={n}"), &own(0), links)
    };
    assert_eq!(says(&mut known, 1, &items(100)), Some(PageSays::Lists), "no item was read");
    known.says("/item/0", &own(1), &[]);
    assert_eq!(says(&mut known, 2, &items(100)), Some(PageSays::Leads));
    assert_eq!(says(&mut known, 3, &items(0)[1..]), Some(PageSays::Nothing), "all are known");
    known.says("/item/1", &own(1), &[]);
    assert_eq!(says(&mut known, 4, &items(200)), Some(PageSays::Nothing), "items repeat others");
    let own_kind: Vec<Link> = (50..60).map(|n| link(&format!("/list?page={n}"))).collect();
    known.says("/item/2", &own(2), &[]);
    assert_eq!(says(&mut known, 5, &own_kind), Some(PageSays::Nothing));
}

#[test]
fn pages_without_a_common_shape_close_a_broader_shape() {
    let words = |folder: &str, n: u32| format!("/{folder}/{}", "ab".repeat(n as usize + 1));
    let paths = (0..40).map(|n| words("find", n)).chain((0..40).map(|n| words("about", n)));
    let mut known = Known::new(rules(5), paths);
    known.says("/find/ab", &own(0), &[]);
    for n in 1..10 {
        known.says(&words("find", n), &own(0), &[]);
        assert!(!known.is_closed(&words("find", 30)), "{n}");
    }
    known.says(&words("find", 10), &own(0), &[]);
    assert!(known.is_closed(&words("find", 30)) && !known.is_closed(&words("about", 30)));
}

#[test]
fn a_closed_shape_does_not_close_its_directory_or_shapes_with_new_content() {
    let paths = ["/f/a-", "/f/b-", "/f/c-", "/f/news-"].map(|start| numbered(start, 40));
    let mut known = Known::new(rules(5), paths.into_iter().flatten());
    known.says("/f/news-0", &own(0), &[]);
    for start in ["/f/a-", "/f/b-", "/f/c-"] {
        for n in 0..5 {
            known.says(&format!("{start}{n}"), &own(0), &[]);
        }
        assert!(known.is_closed(&format!("{start}30")), "{start}");
    }
    assert!(!known.is_closed("/f/news-30") && !known.is_closed("/f/word"));
}

#[test]
fn tables_of_numbers_are_new_content_and_clocks_are_not() {
    let mut known = Known::new(rules(5), numbered("/day/", 50));
    known.says("/day/0", &own(0), &[]);
    known.says("/day/1", &own(0), &[]);
    let with = |n: u32, count: usize| {
        let numbers = own(n).into_iter().take(count).map(|line| line | 1);
        own(0).into_iter().chain(numbers).collect::<Vec<_>>()
    };
    assert_eq!(known.says("/day/2", &with(2, 3), &[]), Some(PageSays::Nothing));
    assert_eq!(known.says("/day/3", &with(3, 4), &[]), Some(PageSays::New(1)));
    assert_eq!(known.says("/day/4", &with(3, 4), &[]), Some(PageSays::Nothing));
}

/// A URL that was in flight when its holder died is fetched again.
#[test]
fn page_content_is_packed_once_the_page_is_finished() {
    let mut known = Known::new(rules(5), numbered("/news/", 50));
    for n in 0..3 {
        known.says(&format!("/news/{n}"), &own(n), &[]);
    }
    let in_flight = (url("/news/3").hash(), "/news/3");
    let said = known.state.note_page(in_flight, &own(3), &[], &known.rules);
    assert_eq!(said, Some(PageSays::New(4)));
    assert_eq!(known.state.note_page(in_flight, &own(3), &[], &known.rules), None, "noted before");
    assert_eq!(known.says("/news/4", &own(3), &[]), Some(PageSays::Nothing), "repeats that page");
    let chunk = known.state.pack(never_paused).unwrap().bytes;
    let unpacked = HostState::unpack(HOST, [&*chunk], &ParameterList::default());
    let Unpacked { state, .. } = unpacked.unwrap();
    assert_eq!(state, known.state);
    known.state = state;
    assert_eq!(known.says("/news/3", &own(3), &[]), Some(PageSays::New(4)), "fetched again");
    assert_eq!(known.says("/news/5", &own(2), &[]), Some(PageSays::Nothing));
    let delta = known.state.pack(never_paused).unwrap().bytes;
    let both = HostState::unpack(HOST, [&*chunk, &*delta], &ParameterList::default());
    assert_eq!(both.unwrap().state, known.state);
}

/// If a holder died after it recorded the debts of pages but before it recorded these pages, they
/// used to be marked as left.
#[test]
fn debts_are_packed_once_their_pages_are_finished() {
    let mut known = Known::new(rules(5), numbered("/day/", 50));
    known.says("/day/0", &own(0), &[]);
    let fetched = numbered("/day/", 6);
    for path in &fetched[1..] {
        let of = (url(path).hash(), path.as_str());
        assert_eq!(known.state.note_page(of, &own(0), &[], &known.rules), Some(PageSays::Nothing));
    }
    assert!(
        known.is_closed("/day/49") && !known.is_closed("/day/1"),
        "a fetched page is not part of the trap"
    );
    let chunk = known.state.pack(never_paused).unwrap().bytes;
    let unpacked = HostState::unpack(HOST, [&*chunk], &ParameterList::default());
    let before = std::mem::replace(&mut known.state, unpacked.unwrap().state);
    assert!(!known.is_closed("/day/49"), "the pages that closed it will be fetched again");
    known.state = before;
    for path in fetched.iter().rev() {
        known.state.finish(url(path).hash(), FinalState::Captured);
    }
    let delta = known.state.pack(never_paused).unwrap().bytes;
    let unpacked = HostState::unpack(HOST, [&*chunk, &*delta], &ParameterList::default());
    known.state = unpacked.unwrap().state;
    assert!(known.is_closed("/day/49"));
}

/// Each page has three hundred lines of a template, and one unique sentence.
#[test]
fn one_sentence_is_new_content_however_long_the_template_is() {
    let mut known = Known::new(rules(5), numbered("/shop/", 50));
    let template: Vec<u32> = (100..138).flat_map(own).collect();
    let page = |n: u32| [&template, &[own(n)[0] | 2][..]].concat();
    for n in 0..50 {
        let says = known.says(&format!("/shop/{n}"), &page(n), &[]);
        assert!(matches!(says, Some(PageSays::New(_))), "{n}: {says:?}");
    }
}

#[test]
fn a_host_with_few_pages_remembers_no_content() {
    let mut state = HostState::new(HOST);
    let rules = rules(5);
    let mut site = SiteUsage::default();
    state.merge(numbered("/a/", 15).iter().map(|path| link(path)), &rules, &mut site);
    let first = (url("/a/0").hash(), "/a/0");
    assert_eq!(state.note_page(first, &own(0), &[], &rules), None);
    state.merge([link("/b")], &rules, &mut site);
    assert_eq!(state.note_page(first, &own(0), &[], &rules), Some(PageSays::New(4)));
    assert_eq!(state.note_page((url("/c").hash(), "/c"), &own(0), &[], &rules), None, "unknown");
}
