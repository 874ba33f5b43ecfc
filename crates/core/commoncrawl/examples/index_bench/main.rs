//! Measures how long reading a columnar index file takes on one thread. `scripts/bench/index.sh`
//! compares it with DuckDB.
//!
//!     index_bench generate FILE ROWS [HOSTS.gz]
//!     index_bench read FILE               prints rows, captures, wall seconds, bytes read, bytes
//!                                         of the file, and ranges read
// A benchmark reads files and a clock, and must stop if a file is invalid.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::unwrap_used)]
#![allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::cast_sign_loss)]
#![allow(clippy::cast_possible_wrap)]

mod generate;

use std::{fs::File, os::unix::fs::FileExt, path::Path, time::Instant};

use bytes::Bytes;
use everytab_commoncrawl::index::{IndexCounts, IndexOptions, IndexReader, Step};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["generate", file, rows] => {
            generate::generate(Path::new(file), rows.parse().unwrap(), None);
        }
        ["generate", file, rows, hosts] => {
            generate::generate(Path::new(file), rows.parse().unwrap(), Some(Path::new(hosts)));
        }
        ["read", file] => read(file),
        _ => {
            eprintln!("usage: index_bench generate FILE ROWS [HOSTS.gz] | read FILE");
            std::process::exit(2);
        }
    }
}

fn read(path: &str) {
    let file = File::open(path).unwrap();
    let size = file.metadata().unwrap().len();
    let start = Instant::now();
    let mut reader = IndexReader::new(size, IndexOptions::default());
    let counts = loop {
        match reader.next().unwrap() {
            Step::Need(ranges) => {
                let data = ranges.iter().map(|range| {
                    let mut bytes = vec![0; (range.end - range.start) as usize];
                    file.read_exact_at(&mut bytes, range.start).unwrap();
                    Bytes::from(bytes)
                });
                let data = data.collect();
                reader.supply(ranges, data).unwrap();
            }
            Step::Captures(_) => {}
            Step::Done(counts) => break counts,
        }
    };
    let seconds = start.elapsed().as_secs_f64();
    let IndexCounts { rows, captures, bytes_read, ranges_read, .. } = counts;
    println!("{rows} {captures} {seconds:.3} {bytes_read} {size} {ranges_read}");
}
