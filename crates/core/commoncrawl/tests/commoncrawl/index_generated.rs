//! Generated index files: schema variants, order, ties, limits and invalid values.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use arrow_array::{ArrayRef, Float64Array, NullArray};
use everytab_commoncrawl::index::{
    Capture, IndexError, IndexOptions, IndexReader, Protocol, Step, read_bytes,
};
use proptest::prelude::*;

use crate::support::{
    Layout, PLAIN, Row, columns, home_page, parquet, parquet_of, read_all, read_limited,
};

fn hostnames(captures: &[Capture]) -> Vec<&str> {
    captures.iter().map(|capture| capture.hostname.as_str()).collect()
}

#[test]
fn every_schema_variant_gives_the_same_captures() {
    let rows = [home_page("a.example"), home_page("b.example"), home_page("www.b.example")];
    let expected = read_all(&parquet(&rows, PLAIN)).0;
    assert_eq!(hostnames(&expected), ["a.example", "b.example", "www.b.example"]);
    assert_eq!(expected[0].fetch_time_micros, 1_770_000_000_000_000);
    for bits in 0..16_u32 {
        let layout = Layout {
            rows_a_group: 2,
            wide_numbers: bits & 1 != 0,
            millis: bits & 2 != 0,
            dictionary: bits & 4 != 0,
            optional_columns: bits & 8 != 0,
        };
        assert_eq!(read_all(&parquet(&rows, layout)).0, expected, "{layout:?}");
    }
}

#[test]
fn each_filter_condition_excludes_a_row() {
    let page = || home_page("a.example");
    let unwanted = [
        Row { path: Some("/index.html"), ..page() },
        Row { path: None, ..page() },
        Row { query: Some(""), ..page() },
        Row { query: Some("q=1"), ..page() },
        Row { port: Some(8_080), ..page() },
        Row { status: Some(404), ..page() },
        Row { status: None, ..page() },
        Row { mime_type: Some("application/xhtml+xml"), ..page() },
        Row { mime_type: None, ..page() },
        Row { protocol: Some("ftp"), ..page() },
        Row { protocol: None, ..page() },
    ];
    for row in unwanted {
        let (captures, counts) = read_all(&parquet(&[row.clone(), home_page("b.example")], PLAIN));
        assert_eq!(hostnames(&captures), ["b.example"], "{row:?}");
        assert_eq!((counts.rows, counts.not_home_pages), (2, 1), "{row:?}");
    }
}

#[test]
fn impossible_values_are_counted_as_malformed() {
    let page = || home_page("a.example");
    let bad = [
        Row { hostname: None, ..page() },
        Row { hostname: Some(String::new()), ..page() },
        Row { hostname: Some("*.example".into()), ..page() },
        Row { hostname: Some("intranet".into()), ..page() },
        Row { hostname: Some("a\0.example".into()), ..page() },
        Row { hostname: Some("a".repeat(254)), ..page() },
        Row { filename: None, ..page() },
        Row { filename: Some("../secret.warc.gz"), ..page() },
        Row { offset: None, ..page() },
        Row { offset: Some(-1), ..page() },
        Row { offset: Some(i64::MAX), ..page() },
        Row { length: Some(0), ..page() },
        Row { length: Some(-7), ..page() },
        Row { fetch_time_millis: None, ..page() },
        Row { fetch_time_millis: Some(i64::MAX), ..page() },
    ];
    let layout = Layout { wide_numbers: true, millis: true, ..PLAIN };
    for row in bad {
        let (captures, counts) = read_all(&parquet(&[row.clone(), home_page("b.example")], layout));
        assert_eq!(hostnames(&captures), ["b.example"], "{row:?}");
        assert_eq!((counts.home_pages, counts.malformed), (2, 1), "{row:?}");
    }
}

#[test]
fn names_for_one_host_are_one_tab() {
    let rows = ["a.example", "a.example.", "A.EXAMPLE", "www.a.example.", "a.example"];
    for rows_a_group in [1, 100] {
        let rows = rows.map(home_page);
        let (captures, counts) = read_all(&parquet(&rows, Layout { rows_a_group, ..PLAIN }));
        assert_eq!(hostnames(&captures), ["a.example", "www.a.example"]);
        assert_eq!(counts.duplicates_removed, 3);
    }
}

#[test]
fn the_media_type_of_html_has_any_case_and_parameters() {
    let page = |mime_type| Row { mime_type: Some(mime_type), ..home_page("a.example") };
    let html = [
        "text/html",
        "Text/HTML",
        "text/html,",
        "text/html;charset=x",
        "TEXT/HTML x",
        " text/html",
    ];
    for mime_type in html {
        assert_eq!(read_all(&parquet(&[page(mime_type)], PLAIN)).0.len(), 1, "{mime_type:?}");
    }
    let left_out = |row: Row| {
        let (captures, counts) = read_all(&parquet(&[row], PLAIN));
        assert_eq!((captures.len(), counts.not_home_pages), (0, 1));
        let reasons = counts.left_out().filter(|(_, count)| *count > 0);
        reasons.map(|(reason, count)| (reason.as_str(), count)).collect::<Vec<_>>()
    };
    for (mime_type, reason) in [
        ("application/xhtml+xml", "xhtml"),
        ("unk", "unknown_media_type"),
        ("", "unknown_media_type"),
        ("text/htmlx", "other_media_type"),
        ("image/png", "other_media_type"),
    ] {
        assert_eq!(left_out(page(mime_type)), [(reason, 1)], "{mime_type:?}");
        assert_eq!(left_out(Row { status: Some(404), ..page(mime_type) }), []);
    }
    let page = || home_page("a.example");
    assert_eq!(left_out(Row { query: Some(""), ..page() }), [("empty_query", 1)]);
    assert_eq!(left_out(Row { query: Some("q"), ..page() }), []);
    assert_eq!(left_out(Row { path: Some(""), ..page() }), [("empty_path", 1)]);
    assert_eq!(left_out(Row { path: Some(""), query: Some(""), ..page() }), [("empty_query", 1)]);
    assert_eq!(left_out(Row { path: Some(""), port: Some(80), ..page() }), []);
}

#[test]
fn interleaved_www_rows_keep_one_best_capture_per_hostname() {
    let at = |hostname: &str, protocol, millis| Row {
        protocol: Some(protocol),
        fetch_time_millis: Some(millis),
        ..home_page(hostname)
    };
    let rows = [
        at("x.example", "http", 900),
        at("www.x.example", "https", 100),
        at("x.example", "https", 200),
        at("www.x.example", "https", 300),
        at("x.example", "https", 100),
        at("y.example", "http", 1),
    ];
    for rows_a_group in [1, 2, 100] {
        let (captures, counts) = read_all(&parquet(&rows, Layout { rows_a_group, ..PLAIN }));
        assert_eq!(hostnames(&captures), ["www.x.example", "x.example", "y.example"]);
        let chosen: Vec<_> =
            captures.iter().map(|c| (c.protocol, c.fetch_time_micros / 1_000)).collect();
        assert_eq!(chosen, [(Protocol::Https, 300), (Protocol::Https, 200), (Protocol::Http, 1)]);
        assert_eq!(counts.duplicates_removed, 3);
    }
}

#[test]
fn ties_are_settled_by_file_name_then_offset_in_any_order() {
    let at = |filename, offset| Row {
        filename: Some(filename),
        offset: Some(offset),
        ..home_page("x.example")
    };
    let mut rows = vec![at("b.warc.gz", 1), at("a.warc.gz", 9), at("a.warc.gz", 5)];
    for _ in 0..3 {
        rows.rotate_left(1);
        let (captures, _) = read_all(&parquet(&rows, PLAIN));
        assert_eq!(captures.len(), 1);
        assert_eq!(captures[0].warc_filename, "a.warc.gz");
        assert_eq!(captures[0].warc_record_offset, 5);
    }
}

#[test]
fn a_missing_column_is_named() {
    for name in ["url_path", "url_host_name", "content_mime_type", "warc_record_length"] {
        let mut columns = columns(&[home_page("a.example")], PLAIN);
        columns.retain(|(column, _)| *column != name);
        let error = read_bytes(&parquet_of(columns, PLAIN), IndexOptions::default()).next();
        assert_eq!(error, Some(Err(IndexError::MissingColumn(name))));
    }
}

#[test]
fn a_column_with_another_type_is_named_and_an_all_null_column_is_null() {
    let replace = |name: &str, array: ArrayRef| {
        let mut columns = columns(&[home_page("a.example")], PLAIN);
        for (column, values) in &mut columns {
            if *column == name {
                *values = Arc::clone(&array);
            }
        }
        parquet_of(columns, PLAIN)
    };
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![1.0]));
    for name in ["fetch_status", "fetch_time", "url_path"] {
        let file = replace(name, Arc::clone(&floats));
        let error = read_bytes(&file, IndexOptions::default()).next();
        let Some(Err(IndexError::ColumnType { name: named, .. })) = error else {
            panic!("{name}: {error:?}");
        };
        assert_eq!(named, name);
    }
    let nulls: ArrayRef = Arc::new(NullArray::new(1));
    assert_eq!(read_all(&replace("url_query", Arc::clone(&nulls))).0.len(), 1);
    assert_eq!(read_all(&replace("url_host_name", Arc::clone(&nulls))).1.malformed, 1);
    assert_eq!(read_all(&replace("url_path", nulls)).1.not_home_pages, 1);
}

/// Group 25 has the longest hostnames.
fn many_groups() -> bytes::Bytes {
    let rows: Vec<Row> = (0..400)
        .map(|n| {
            let padding = if n / 10 == 25 { "long".repeat(12) } else { String::new() };
            home_page(&format!("host{n:03}{padding}.example"))
        })
        .collect();
    parquet(&rows, Layout { rows_a_group: 10, ..PLAIN })
}

#[test]
fn a_limit_reads_few_row_groups_and_gives_the_same_hosts_each_time() {
    let file = many_groups();
    let whole = read_all(&file).1.bytes_read;
    let (captures, counts) = read_limited(&file, 5);
    assert_eq!(captures.len(), 5);
    assert_eq!(counts.row_groups_read, 1);
    assert_eq!(counts.row_groups, 40);
    assert!(counts.bytes_read < whole, "{counts:?}");
    // The first site in group 25 may have better captures in group 24, so its captures are held.
    assert!(captures[0].hostname.starts_with("host251long"), "{captures:?}");
    assert_eq!(read_limited(&file, 5), (captures, counts));
    assert_eq!(read_limited(&file, 0).0, []);
}

#[test]
fn a_limit_that_the_file_cannot_fill_gives_all_of_it_once() {
    let file = many_groups();
    let (mut all, _) = read_all(&file);
    for limit in [400, 1_000] {
        let (mut captures, counts) = read_limited(&file, limit);
        captures.sort_by(|a, b| a.hostname.cmp(&b.hostname));
        all.sort_by(|a, b| a.hostname.cmp(&b.hostname));
        assert_eq!(captures, all);
        assert_eq!(counts.rows, 400);
    }
}

#[test]
fn reading_from_the_middle_finds_the_best_capture_for_the_first_key() {
    let mut rows: Vec<Row> = (0..20).map(|n| home_page(&format!("h{n:02}.example"))).collect();
    rows[9] = Row { fetch_time_millis: Some(9_999_999_999_999), ..home_page("h10.example") };
    rows[15] = home_page(&format!("h15{}.example", "x".repeat(100)));
    let file = parquet(&rows, Layout { rows_a_group: 10, ..PLAIN });
    let (captures, counts) = read_limited(&file, 1_000);
    assert!(captures[0].hostname.starts_with("h11"), "starts in the second group: {captures:?}");
    let best: Vec<_> = captures.iter().filter(|c| c.hostname == "h10.example").collect();
    assert_eq!(best.len(), 1);
    assert_eq!(best[0].fetch_time_micros, 9_999_999_999_999_000);
    assert_eq!(counts.duplicates_removed, 1);
}

#[test]
fn the_reader_requests_one_window_at_a_time_and_announces_the_next() {
    let file = many_groups();
    let options = IndexOptions { first_read_bytes: 64, window_bytes: 1, ..IndexOptions::default() };
    let mut reader = IndexReader::new(file.len() as u64, options);
    let (mut largest, mut asked) = (0, 0);
    let mut upcoming = Vec::new();
    let counts = loop {
        match reader.next().unwrap() {
            Step::Need(ranges) => {
                let bytes: u64 = ranges.iter().map(|range| range.end - range.start).sum();
                asked += 1;
                if asked > 2 {
                    largest = largest.max(bytes);
                    assert!(asked == 3 || upcoming == ranges, "{asked}: {upcoming:?} {ranges:?}");
                }
                assert!(ranges.len() <= 11, "{ranges:?}");
                let data =
                    ranges.iter().map(|r| file.slice(r.start as usize..r.end as usize)).collect();
                reader.supply(ranges, data).unwrap();
                upcoming = reader.upcoming();
            }
            Step::Captures(captures) => {
                assert!(!captures.is_empty());
                assert_eq!(reader.upcoming(), upcoming, "it is kept until it is requested");
            }
            Step::Done(counts) => break counts,
        }
    };
    assert_eq!(asked, 42, "the footer's, and one for each small row group");
    assert_eq!(counts.rows, 400);
    assert!(largest < file.len() as u64 / 10, "{largest} of {}", file.len());
    assert_eq!(reader.next(), Ok(Step::Done(counts)), "the end is final");
    assert_eq!(reader.upcoming(), []);
}

#[test]
fn a_row_group_limit_is_respected_and_their_bytes_counted() {
    let file = many_groups();
    let read_groups = |groups| {
        let options = IndexOptions { max_row_groups: Some(groups), ..IndexOptions::default() };
        crate::support::read(&file, options).unwrap()
    };
    let (_, all) = read_all(&file);
    let (captures, three) = read_groups(3);
    assert_eq!((captures.len(), three.row_groups_read, three.row_groups), (30, 3, 40));
    assert!(three.row_bytes > 0 && three.row_bytes * 10 < all.row_bytes, "{three:?}");
    assert_eq!(read_groups(0).1.row_groups_read, 0);
    assert_eq!(read_groups(1_000).0.len(), 400);
}

#[test]
fn supplying_other_bytes_than_requested_is_an_error() {
    let file = many_groups();
    let mut reader = IndexReader::new(file.len() as u64, IndexOptions::default());
    let Ok(Step::Need(ranges)) = reader.next() else { panic!("the footer is needed") };
    let short = file.slice(1..file.len().min(ranges[0].end as usize - ranges[0].start as usize));
    let error = reader.supply(ranges.clone(), vec![short]).unwrap_err();
    assert!(matches!(error, IndexError::WrongSupply(_)), "{error}");
    let error = reader.supply(ranges, vec![]).unwrap_err();
    assert_eq!(error.to_string(), "wrong bytes supplied: 0 pieces for 1 ranges");
}

#[test]
fn a_row_group_over_the_memory_limit_is_rejected() {
    let options = IndexOptions { max_row_group_bytes: 100, ..IndexOptions::default() };
    let error = read_bytes(&many_groups(), options).next();
    assert!(matches!(error, Some(Err(IndexError::RowGroupTooLarge { row_group: 0, .. }))));
}

fn any_row() -> impl Strategy<Value = Row> {
    let hostname = prop_oneof![Just("x.example"), Just("www.x.example"), Just("y.example")];
    let protocol = prop_oneof![Just("http"), Just("https")];
    let path = prop_oneof![9 => Just("/"), 1 => Just("/a")];
    (hostname, protocol, path, 0..3_i64, 0..3_i64).prop_map(
        |(hostname, protocol, path, millis, offset)| Row {
            protocol: Some(protocol),
            path: Some(path),
            fetch_time_millis: Some(millis),
            offset: Some(offset),
            ..home_page(hostname)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_best_capture_per_host_is_returned_in_any_row_order(
        rows in prop::collection::vec(any_row(), 1..20), rows_a_group in 1..8_usize,
    ) {
        let (captures, _) = read_all(&parquet(&rows, Layout { rows_a_group, ..PLAIN }));
        let best = |captures: &mut dyn Iterator<Item = Capture>| {
            let mut best = BTreeMap::<String, Capture>::new();
            for capture in captures {
                let held = best.entry(capture.hostname.clone()).or_insert(capture.clone());
                if capture.preference(held).is_lt() {
                    *held = capture;
                }
            }
            best
        };
        // Read each row alone in a file to get the filter's result without deduplication.
        let each = rows.iter().flat_map(|row| {
            read_all(&parquet(std::slice::from_ref(row), PLAIN)).0
        });
        let expected = best(&mut each.collect::<Vec<_>>().into_iter());
        prop_assert_eq!(best(&mut captures.clone().into_iter()), expected);

        let (limited, _) = read_limited(&parquet(&rows, Layout { rows_a_group, ..PLAIN }), 2);
        let given: BTreeSet<_> = limited.iter().map(|capture| &capture.hostname).collect();
        prop_assert!(limited.len() <= 2 && !given.is_empty() || captures.is_empty());
    }
}
