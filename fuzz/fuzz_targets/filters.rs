//! Parses any bytes as filter settings, as lines of a list, as a list, and as a classifier's
//! response. Valid input must be usable without a panic.
#![no_main]

use std::sync::Arc;

use everytab_filters::{
    ClassifierResponse, CountryRanges, CountryRangesBuilder, Filter, FilterSet, FilterSettings,
    ListFileKind, NameList, NameListBuilder, PageContent, UrlNames,
};
use everytab_frontier::{CanonicalUrl, ParameterList};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let parameters = ParameterList::default();
    let url = CanonicalUrl::parse("https://a.example.de/x/y?z", &parameters).expect("a URL");
    if let Ok(settings) = FilterSettings::parse(bytes) {
        let filter = Filter::compile(&settings, |_| None).expect("checked settings compile");
        let set = FilterSet::new(vec![filter]).expect("checked settings fit");
        set.decide_url(&url, false);
        let page = PageContent { title: &text, text: &text, ..PageContent::default() };
        set.decide_content(&url, &page);
    }
    let mut names = NameListBuilder::default();
    let mut ranges = CountryRangesBuilder::default();
    for line in bytes.split(|byte| *byte == b'\n') {
        for kind in [ListFileKind::Domains, ListFileKind::Urls, ListFileKind::Hosts] {
            names.add_line("x", kind, line).expect("the input has few lines");
        }
        ranges.add_line(line).expect("the input has few lines");
    }
    let names = NameList::open(Arc::new(names.build())).expect("a built list opens");
    let sections = names.sections_of(&[]).expect("all sections");
    let asked = UrlNames::of(url.host(), &text);
    names.contains(&sections, &asked);
    let ranges = CountryRanges::open(Arc::new(ranges.build())).expect("a built list opens");
    ranges.country_of([192, 0, 2, 1].into());
    if let Ok(list) = NameList::open(Arc::new(bytes.to_vec())) {
        list.contains(&list.sections_of(&[]).expect("all sections"), &asked);
    }
    if let Ok(list) = CountryRanges::open(Arc::new(bytes.to_vec())) {
        list.country_of([192, 0, 2, 1].into());
    }
    let _ = ClassifierResponse::parse(bytes);
});
