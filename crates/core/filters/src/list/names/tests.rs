//! Builds, parses and searches name lists.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;

fn list(lines: &[(&str, ListFileKind, &str)]) -> NameList {
    let mut builder = NameListBuilder::default();
    for (category, kind, line) in lines {
        builder.add_line(category, *kind, line.as_bytes()).unwrap();
    }
    NameList::open(Arc::new(builder.build())).unwrap()
}

fn names(url: &str) -> UrlNames {
    let host = url.split(['/', ':']).next().unwrap();
    UrlNames::of(host, url)
}

#[test]
fn a_list_names_hosts_domains_and_the_beginnings_of_urls() {
    use ListFileKind::{Domains, Hosts, Urls};
    let list = list(&[
        ("adult", Domains, "bad.example"),
        ("adult", Urls, "www.half.example/bad/part"),
        ("adult", Domains, "192.0.2.7"),
        ("hosts", Hosts, "0.0.0.0 only.example"),
        ("hosts", Hosts, "||all.example^"),
        ("hosts", Urls, "q.example/find?bad=1"),
    ]);
    let all = list.sections_of(&[]).unwrap();
    for (url, expected) in [
        ("bad.example/", true),
        ("a.b.bad.example/x", true),
        ("notbad.example/", false),
        ("bad.example.org/", false),
        ("example/", false),
        ("192.0.2.7/", true),
        ("2.7/", false),
        ("half.example/", false),
        ("half.example/bad", false),
        ("half.example/bad/part", true),
        ("www.half.example/bad/part/", true),
        ("half.example:8080/bad/part/x?y", true),
        ("half.example/bad/part?y", true),
        ("half.example/bad/parts", false),
        ("a.half.example/bad/part", false),
        ("only.example/x", true),
        ("a.only.example/", false),
        ("a.all.example/", true),
        ("q.example/find?bad=1", true),
        ("q.example/find?bad=2", false),
    ] {
        assert_eq!(list.contains(&all, &names(url)), expected, "{url}");
    }
    let hosts = list.sections_of(&["hosts".to_owned()].map(|name| name)).unwrap();
    assert!(!list.contains(&hosts, &names("bad.example/")));
    assert!(list.contains(&hosts, &names("only.example/")));
    assert_eq!(list.sections_of(&["none".to_owned()]), Err("none"));
    let counted: Vec<_> =
        list.sections().iter().map(|section| (section.name.as_str(), section.records)).collect();
    assert_eq!(counted, [("adult", 3), ("hosts", 3)]);
}

#[test]
fn the_same_names_in_any_order_give_the_same_object_and_bad_lines_are_counted() {
    let build = |lines: &[&str]| {
        let mut builder = NameListBuilder::default();
        for line in lines {
            builder.add_line("x", ListFileKind::Hosts, line.as_bytes()).unwrap();
        }
        (builder.bad_lines().0, builder.bad_lines().1.to_vec(), builder.build())
    };
    let (bad, shown, one) = build(&["a.example", "b.example", "not a name", "", "a.example"]);
    assert_eq!((bad, shown), (1, vec!["not a name".to_owned()]));
    assert_eq!(one, build(&["b.example", "a.example"]).2);
    assert!(NameListBuilder::default().is_empty());
}

#[test]
fn a_changed_byte_or_another_kind_is_an_error() {
    let mut builder = NameListBuilder::default();
    for number in 0..40 {
        let line = format!("a{number}.example");
        builder.add_line("c", ListFileKind::Domains, line.as_bytes()).unwrap();
    }
    let object = builder.build();
    assert!(NameList::open(Arc::new(object.clone())).is_ok());
    for at in 0..object.len() {
        let mut changed = object.clone();
        changed[at] ^= 1;
        assert!(NameList::open(Arc::new(changed)).is_err(), "{at}");
        assert!(NameList::open(Arc::new(object[..at].to_vec())).is_err(), "{at}");
    }
    let mut longer = object.clone();
    longer.push(0);
    assert!(NameList::open(Arc::new(longer)).is_err());
    let countries = super::super::countries::CountryRangesBuilder::default().build();
    assert_eq!(NameList::open(Arc::new(countries)).unwrap_err(), FilterListError::Kind);
    assert_eq!(format::list_kind(&object), Ok(ListKind::Names));
}

#[test]
fn unsorted_records_with_a_right_digest_are_an_error() {
    let records: Vec<u8> = [2_u64, 1].into_iter().flat_map(u64::to_le_bytes).collect();
    let object = format::write(ListKind::Names, &[("x", records, HASH_BYTES)]);
    assert_eq!(NameList::open(Arc::new(object)).unwrap_err(), FilterListError::Order);
}

proptest! {
    #[test]
    fn a_search_finds_exactly_the_entries(
        hashes in proptest::collection::btree_set(
            prop_oneof![any::<u64>(), 0_u64..50, (u64::MAX - 50)..=u64::MAX], 0..300),
        other in any::<u64>(),
    ) {
        let records: Vec<u8> = hashes.iter().flat_map(|hash| hash.to_le_bytes()).collect();
        for hash in &hashes {
            prop_assert!(has(&records, *hash));
        }
        for near in [other, 0, 25, u64::MAX, u64::MAX - 25] {
            prop_assert_eq!(has(&records, near), hashes.contains(&near));
        }
    }

    #[test]
    fn any_bytes_are_a_list_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let mut headed = b"ETFLIST\x01\x01\0\0\0".to_vec();
        headed.extend(&bytes);
        prop_assert!(NameList::open(Arc::new(headed)).is_err());
        prop_assert!(NameList::open(Arc::new(bytes)).is_err());
    }
}
