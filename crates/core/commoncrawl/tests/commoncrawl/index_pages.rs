//! All page variants that a writer can create. A second implementation of the filter computes the
//! expected captures.

use bytes::Bytes;
use everytab_commoncrawl::index::{IndexError, IndexOptions, IndexReader, Step};
use parquet::{
    basic::{Compression, Encoding, GzipLevel, ZstdLevel},
    file::properties::{EnabledStatistics, WriterProperties, WriterVersion},
    schema::types::ColumnPath,
};
use proptest::prelude::*;

use crate::support::{Layout, PLAIN, Row, columns, home_page, parquet, read, read_all, write};

fn expected(rows: &[Row]) -> Vec<(String, i64, i64)> {
    let wanted = rows.iter().filter(|row| {
        row.path == Some("/")
            && row.query.is_none()
            && row.port.is_none()
            && row.status == Some(200)
            && row.mime_type == Some("text/html")
            && matches!(row.protocol, Some("http" | "https"))
    });
    let fields = wanted.filter_map(|row| {
        row.filename?;
        Some((row.hostname.clone()?, row.offset?, row.fetch_time_millis? * 1_000))
    });
    fields.collect()
}

fn given(file: &Bytes, window_bytes: u64) -> Vec<(String, i64, i64)> {
    let options = IndexOptions { window_bytes, ..IndexOptions::default() };
    let (captures, _) = read(file, options).unwrap();
    let fields = captures.into_iter().map(|capture| {
        (capture.hostname, capture.warc_record_offset as i64, capture.fetch_time_micros)
    });
    fields.collect()
}

fn mostly<T: Clone + std::fmt::Debug + 'static>(
    usual: T,
    others: &[T],
) -> impl Strategy<Value = T> + use<T> {
    prop_oneof![4 => Just(usual), 1 => prop::sample::select(others.to_vec())]
}

fn any_row() -> impl Strategy<Value = Row> {
    let path = prop_oneof![Just(Some("/")), Just(Some("/a")), Just(Some("")), Just(None)];
    let fields = (
        mostly(Some("https"), &[Some("http"), Some("ftp"), None]),
        path,
        mostly(None, &[Some("q=1"), Some("")]),
        mostly(None, &[Some(8_080)]),
        mostly(Some(200), &[Some(404), None]),
        mostly(Some("text/html"), &[Some("text/plain"), None]),
        mostly(Some("a.warc.gz"), &[Some("b.warc.gz"), None]),
        (prop::option::weighted(0.9, 0..1_000_000_i64), prop::option::weighted(0.9, 0..9_i64)),
    );
    fields.prop_map(|(protocol, path, query, port, status, mime_type, filename, numbers)| Row {
        protocol,
        path,
        query,
        port,
        status,
        mime_type,
        filename,
        offset: numbers.0,
        fetch_time_millis: numbers.1,
        ..home_page("replaced.example")
    })
}

/// Creates runs with equal rows, so that levels and codes are stored both as runs and bit-packed.
fn any_rows() -> impl Strategy<Value = Vec<Row>> {
    let stretches = prop::collection::vec((any_row(), 1..40_usize), 0..30);
    stretches.prop_map(|stretches| {
        let rows = stretches.into_iter().flat_map(|(row, count)| vec![row; count]);
        let named =
            rows.enumerate().map(|(n, row)| Row { hostname: Some(format!("h{n}.example")), ..row });
        named.collect()
    })
}

fn any_codec() -> impl Strategy<Value = Compression> {
    prop::sample::select(vec![
        Compression::UNCOMPRESSED,
        Compression::GZIP(GzipLevel::default()),
        Compression::SNAPPY,
        Compression::ZSTD(ZstdLevel::default()),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn all_page_variants_give_the_captures_in_the_rows(
        rows in any_rows(),
        codec in any_codec(),
        is_version_2: bool,
        has_dictionary: bool,
        dictionary_bytes in 1..3_000_usize,
        rows_a_page in 1..200_usize,
        rows_a_group in 1..600_usize,
        window_bytes in 1..100_000_u64,
        wide_numbers: bool,
    ) {
        let version =
            if is_version_2 { WriterVersion::PARQUET_2_0 } else { WriterVersion::PARQUET_1_0 };
        let properties = WriterProperties::builder()
            .set_compression(codec)
            .set_writer_version(version)
            .set_encoding(Encoding::PLAIN)
            .set_dictionary_enabled(has_dictionary)
            .set_dictionary_page_size_limit(dictionary_bytes)
            .set_data_page_row_count_limit(rows_a_page)
            .set_write_batch_size(rows_a_page.min(16))
            .set_max_row_group_row_count(Some(rows_a_group))
            .set_statistics_enabled(EnabledStatistics::Page)
            .build();
        let layout = Layout { wide_numbers, ..PLAIN };
        let file = write(columns(&rows, layout), properties);
        prop_assert_eq!(given(&file, window_bytes), expected(&rows));
    }

    #[test]
    fn a_file_with_a_wrong_byte_gives_an_error_or_counts_that_add_up(
        rows in any_rows(), at: prop::sample::Index, byte: u8, has_dictionary: bool,
    ) {
        let layout = Layout { dictionary: has_dictionary, rows_a_group: 100, ..PLAIN };
        let mut file = parquet(&rows, layout).to_vec();
        let at = at.index(file.len());
        file[at] ^= byte;
        let _ = read(&Bytes::from(file), IndexOptions::default());
    }
}

#[test]
fn encodings_that_no_index_has_used_give_the_same_captures() {
    let rows: Vec<Row> = (0..600)
        .map(|n| Row {
            query: (n % 7 == 0).then_some("q"),
            path: Some(if n % 3 == 0 { "/" } else { "/a" }),
            ..home_page(&format!("h{n}.example"))
        })
        .collect();
    let text = [Encoding::DELTA_BYTE_ARRAY, Encoding::DELTA_LENGTH_BYTE_ARRAY];
    let numbers = [Encoding::DELTA_BINARY_PACKED, Encoding::BYTE_STREAM_SPLIT];
    for (text, number) in text.into_iter().zip(numbers) {
        let mut properties = WriterProperties::builder()
            .set_dictionary_enabled(false)
            .set_data_page_row_count_limit(100);
        for name in ["url_host_name", "url_protocol", "url_path", "url_query", "warc_filename"] {
            properties = properties.set_column_encoding(ColumnPath::from(name), text);
        }
        for name in ["warc_record_offset", "warc_record_length"] {
            properties = properties.set_column_encoding(ColumnPath::from(name), number);
        }
        let file = write(columns(&rows, PLAIN), properties.build());
        assert_eq!(given(&file, 1), expected(&rows), "{text} {number}");
        let mut reader = IndexReader::new(file.len() as u64, IndexOptions::default());
        let Step::Need(ranges) = reader.next().unwrap() else { panic!("no footer") };
        let tail = ranges.iter().map(|r| file.slice(r.start as usize..r.end as usize));
        reader.supply(ranges.clone(), tail.collect()).unwrap();
        reader.next().unwrap();
        let formats = reader.formats().unwrap();
        assert!(formats.slow.contains(&format!("url_path in {text}")), "{formats}");
        assert!(formats.slow.contains(&format!("warc_record_offset in {number}")), "{formats}");
        damage_each_byte_of_a_part(&file);
    }
}

/// Reading must fail, or return counts that add up.
fn damage_each_byte_of_a_part(file: &Bytes) {
    for at in (4..file.len().saturating_sub(1_000)).step_by(23) {
        let mut damaged = file.to_vec();
        damaged[at] ^= 0xff;
        let _ = read(&Bytes::from(damaged), IndexOptions::default());
    }
}

/// The parquet crate allocates memory for as many lengths as a page declares. If this allocation
/// failed, the process would end (docs/decisions/0143-index-reader.md).
#[test]
fn more_lengths_than_a_page_has_values_are_an_error() {
    let rows: Vec<Row> = (0..600).map(|n| home_page(&format!("h{n}.example"))).collect();
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_column_encoding(ColumnPath::from("url_path"), Encoding::DELTA_LENGTH_BYTE_ARRAY);
    let mut file = write(columns(&rows, PLAIN), properties.build()).to_vec();
    // Blocks with 128 numbers in 4 runs, 600 numbers in total.
    let numbers = [0x80, 1, 4, 0xd8, 4];
    let at = file.windows(numbers.len()).position(|bytes| bytes == numbers).unwrap();
    // 2^38 numbers.
    file[at + 3..at + 9].copy_from_slice(&[0x80, 0x80, 0x80, 0x80, 0x80, 8]);
    let error = read(&Bytes::from(file), IndexOptions::default()).unwrap_err().to_string();
    assert!(error.contains("more deltas than the page has values"), "{error}");
}

#[test]
fn an_unsupported_codec_is_named() {
    let error = IndexError::Unsupported { name: "url_path", what: "compressed by LZO".into() };
    assert_eq!(error.to_string(), "column url_path is compressed by LZO, which is not supported");
}

#[test]
fn a_page_that_spans_many_windows_is_assembled() {
    let rows: Vec<Row> = (0..30_000)
        .map(|n| Row { query: (n % 7 == 0).then_some("q"), ..home_page(&format!("h{n}.example")) })
        .collect();
    let properties = WriterProperties::builder()
        .set_data_page_row_count_limit(1_000_000)
        .set_data_page_size_limit(1 << 30)
        .set_dictionary_enabled(false);
    let file = write(columns(&rows, PLAIN), properties.build());
    assert!(file.len() > 2_000_000, "{}", file.len());
    assert_eq!(given(&file, 1), expected(&rows));
}

#[test]
fn row_groups_without_rows_are_skipped() {
    let (captures, counts) = read_all(&parquet(&[], PLAIN));
    assert_eq!((captures.len(), counts.rows), (0, 0));
}
