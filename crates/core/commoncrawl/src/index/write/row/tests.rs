//! Tests derived columns, the row order, and invalid rows.

use super::*;

fn row(url: &str) -> CaptureRow<'_> {
    CaptureRow {
        url,
        domains: HostDomains::default(),
        fetch_time_micros: 1_767_225_599_000_000,
        status: 200,
        redirect: None,
        digest: None,
        mime_type: None,
        mime_detected: None,
        charset: None,
        languages: None,
        truncated: None,
        record_id: "urn:uuid:00010203-0405-8607-8809-0a0b0c0d0e0f",
        warc_filename: "crawl-data/a.warc.gz",
        position: Position { offset: 5, length: 7 },
        segment: "4",
    }
}

fn of_host(url: &str) -> Vec<Option<String>> {
    let checked = row(url).checked().unwrap();
    let values = checked.values();
    let of_host = values[2..8].iter().chain(&values[12..13]);
    let text = |value: &Value<'_>| match value {
        Value::Bytes(bytes) => bytes.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap()),
        _ => panic!("a text"),
    };
    of_host.map(text).collect()
}

#[test]
fn labels_of_a_name_have_columns_and_an_address_has_none() {
    let labels = |texts: &[&str]| -> Vec<Option<String>> {
        texts.iter().map(|text| (!text.is_empty()).then(|| (*text).to_owned())).collect()
    };
    let deep = of_host("https://f.cre.mix.Sina.com.cn/");
    let expected =
        ["f.cre.mix.sina.com.cn", "cn", "com", "sina", "mix", "cre", "cn.com.sina.mix.cre.f"];
    assert_eq!(deep, labels(&expected));
    let expected = ["a.example.", "example", "a", "", "", "", "example.a"];
    assert_eq!(of_host("https://a.example./"), labels(&expected));
    for address in ["192.0.2.1", "[2001:db8::1]"] {
        let url = format!("http://{address}:8080/");
        assert_eq!(of_host(&url), labels(&[address, "", "", "", "", "", ""]));
    }
}

#[test]
fn a_row_that_no_reader_understands_is_refused_by_reason() {
    let page = row("https://a.example/");
    let at = |offset, length| CaptureRow { position: Position { offset, length }, ..page };
    let long = "a".repeat(MAX_ROW_BYTES);
    let last = u64::from(i32::MAX.unsigned_abs());
    for (bad, reason) in [
        (row("a"), RowRefusal::Url(CaptureUrlError::Scheme)),
        (CaptureRow { fetch_time_micros: i64::MIN, ..page }, RowRefusal::Time),
        (CaptureRow { status: 1_000, ..page }, RowRefusal::Status),
        (CaptureRow { record_id: "urn:uuid:0", ..page }, RowRefusal::RecordId),
        (CaptureRow { record_id: &page.record_id[9..], ..page }, RowRefusal::RecordId),
        (CaptureRow { warc_filename: "../a", ..page }, RowRefusal::WarcFilename),
        (at(0, 0), RowRefusal::Position),
        (at(last, 1), RowRefusal::Position),
        (at(u64::MAX, 1), RowRefusal::Position),
        (CaptureRow { redirect: Some(&long), ..page }, RowRefusal::TooLarge),
    ] {
        let error = bad.order().unwrap_err();
        assert_eq!((error.reason, error.url.as_str()), (reason, bad.url));
    }
    assert!(at(last - 1, 1).order().is_ok());
    assert_eq!(
        row("ftp://a/").order().unwrap_err().to_string(),
        "the capture of \"ftp://a/\" cannot be in an index: the URL is neither http nor https"
    );
}

#[test]
fn the_order_is_by_key_then_time_then_archive_then_offset() {
    let order = |row: CaptureRow<'_>| row.order().unwrap();
    let page = row("https://b.example/");
    let rows = [
        row("https://a.example/z"),
        page,
        CaptureRow { position: Position { offset: 6, length: 1 }, ..page },
        CaptureRow { warc_filename: "d", position: Position { offset: 0, length: 1 }, ..page },
        CaptureRow { fetch_time_micros: page.fetch_time_micros + 1, ..page },
        row("https://www.b.example/a"),
    ];
    assert!(rows.map(order).is_sorted());
    assert_eq!(order(page).key(), "example,b)/");
}
