//! The corpus and generated index files for tests.

#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "each test program uses a part of it, and tests may fail and read files"
)]

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use arrow_array::{
    ArrayRef, Int16Array, Int32Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray, TimestampMillisecondArray,
};
use bytes::Bytes;
use everytab_commoncrawl::index::{Capture, IndexCounts, IndexError, IndexOptions, read_bytes};
use parquet::{
    arrow::ArrowWriter,
    basic::{Compression, GzipLevel},
    file::properties::WriterProperties,
};

/// Returns the directory with recorded data. `None`, after printing its path, if this directory is
/// missing.
pub fn corpus() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/corpus");
    let folder = std::env::var_os("EVERYTAB_CORPUS").map_or(beside, PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: no corpus at {}", folder.display());
    None
}

pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}

/// A row in an index file. The default is a home page.
#[derive(Debug, Clone)]
pub struct Row {
    pub surtkey: Option<String>,
    pub hostname: Option<String>,
    pub protocol: Option<&'static str>,
    pub path: Option<&'static str>,
    pub query: Option<&'static str>,
    pub port: Option<i32>,
    pub status: Option<i16>,
    pub mime_type: Option<&'static str>,
    pub filename: Option<&'static str>,
    pub offset: Option<i64>,
    pub length: Option<i64>,
    pub fetch_time_millis: Option<i64>,
}

/// The home page of `hostname` over https, with the surtkey that Common Crawl uses.
pub fn home_page(hostname: &str) -> Row {
    let bare = hostname.strip_prefix("www.").unwrap_or(hostname);
    let labels: Vec<&str> = bare.rsplit('.').collect();
    Row {
        surtkey: Some(format!("{})/", labels.join(","))),
        hostname: Some(hostname.to_owned()),
        protocol: Some("https"),
        path: Some("/"),
        query: None,
        port: None,
        status: Some(200),
        mime_type: Some("text/html"),
        filename: Some("crawl-data/CC-MAIN-2026-05/warc/a.warc.gz"),
        offset: Some(1_000),
        length: Some(500),
        fetch_time_millis: Some(1_770_000_000_000),
    }
}

/// Schema variants that parquet's Arrow writer supports.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    pub rows_a_group: usize,
    pub wide_numbers: bool,
    pub millis: bool,
    pub dictionary: bool,
    pub optional_columns: bool,
}

pub const PLAIN: Layout = Layout {
    rows_a_group: 1_000_000,
    wide_numbers: false,
    millis: false,
    dictionary: true,
    optional_columns: true,
};

fn text<'a>(rows: &'a [Row], value: impl Fn(&'a Row) -> Option<&'a str>) -> ArrayRef {
    Arc::new(rows.iter().map(value).collect::<StringArray>())
}

pub fn columns(rows: &[Row], layout: Layout) -> Vec<(&'static str, ArrayRef)> {
    let number = |value: fn(&Row) -> Option<i64>| -> ArrayRef {
        let values = rows.iter().map(value);
        if layout.wide_numbers {
            Arc::new(values.collect::<Int64Array>())
        } else {
            let narrow = values.map(|value| value.map(|value| i32::try_from(value).unwrap()));
            Arc::new(narrow.collect::<Int32Array>())
        }
    };
    let millis = rows.iter().map(|row| row.fetch_time_millis);
    let fetch_time: ArrayRef = if layout.millis {
        Arc::new(millis.collect::<TimestampMillisecondArray>())
    } else {
        Arc::new(millis.map(|t| t.map(|t| t * 1_000)).collect::<TimestampMicrosecondArray>())
    };
    let mut columns = vec![
        ("url_surtkey", text(rows, |row| row.surtkey.as_deref())),
        ("url", text(rows, |_| Some("https://not.projected/"))),
        ("url_host_name", text(rows, |row| row.hostname.as_deref())),
        ("url_protocol", text(rows, |row| row.protocol)),
        ("url_path", text(rows, |row| row.path)),
        ("fetch_time", fetch_time),
        ("fetch_status", Arc::new(rows.iter().map(|row| row.status).collect::<Int16Array>())),
        ("content_mime_type", text(rows, |row| row.mime_type)),
        ("warc_filename", text(rows, |row| row.filename)),
        ("warc_record_offset", number(|row| row.offset)),
        ("warc_record_length", number(|row| row.length)),
    ];
    if layout.optional_columns {
        let ports = rows.iter().map(|row| row.port).collect::<Int32Array>();
        columns.push(("url_port", Arc::new(ports)));
        columns.push(("url_query", text(rows, |row| row.query)));
    }
    columns
}

pub fn parquet_of(columns: Vec<(&'static str, ArrayRef)>, layout: Layout) -> Bytes {
    let properties = WriterProperties::builder()
        .set_compression(Compression::GZIP(GzipLevel::default()))
        .set_dictionary_enabled(layout.dictionary)
        .set_max_row_group_row_count(Some(layout.rows_a_group));
    write(columns, properties.build())
}

pub fn write(columns: Vec<(&'static str, ArrayRef)>, properties: WriterProperties) -> Bytes {
    let with_nullability = columns.into_iter().map(|(name, array)| (name, array, true));
    let batch = RecordBatch::try_from_iter_with_nullable(with_nullability).unwrap();
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    Bytes::from(file)
}

pub fn parquet(rows: &[Row], layout: Layout) -> Bytes {
    parquet_of(columns(rows, layout), layout)
}

pub fn read(
    file: &Bytes,
    options: IndexOptions,
) -> Result<(Vec<Capture>, IndexCounts), IndexError> {
    let mut reader = read_bytes(file, options);
    let captures = reader.by_ref().collect::<Result<Vec<_>, _>>()?;
    let counts = reader.counts().unwrap();
    assert!(counts.add_up(), "{counts:?}");
    assert_eq!(counts.captures, captures.len() as u64);
    Ok((captures, counts))
}

pub fn read_all(file: &Bytes) -> (Vec<Capture>, IndexCounts) {
    read(file, IndexOptions::default()).unwrap()
}

pub fn read_limited(file: &Bytes, max_captures: u64) -> (Vec<Capture>, IndexCounts) {
    let options = IndexOptions { max_captures: Some(max_captures), ..IndexOptions::default() };
    read(file, options).unwrap()
}
