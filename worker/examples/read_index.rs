//! Reads a columnar index file like index jobs, for `scripts/bench/index.sh`.
//!
//!     read_index STORE FILE [TIMES]    TIMES concurrent readers of one file
//!
//! Prints rows, captures, wall seconds, bytes read, bytes of the files, and ranges read.
// A benchmark reads files and a clock, and must stop at a broken file.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::unwrap_used)]

use std::time::Instant;

use everytab_commoncrawl::index::{IndexCounts, IndexOptions};
use everytab_jobs::index_file::IndexFile;
use everytab_storage::{Store, StoreSettings};
use futures_util::future::join_all;

#[tokio::main]
async fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        [store, file] => read(store, file, 1).await,
        [store, file, times] => read(store, file, times.parse().unwrap()).await,
        _ => {
            eprintln!("usage: read_index STORE FILE [TIMES]");
            std::process::exit(2);
        }
    }
}

async fn read(store: &str, file: &str, times: usize) {
    let store = everytab_storage::open(store, &StoreSettings::default()).await.unwrap();
    let size = store.head(file).await.unwrap().unwrap().size;
    let start = Instant::now();
    let all = join_all((0..times).map(|_| read_one(&*store, file, size))).await;
    let seconds = start.elapsed().as_secs_f64();
    let sum = |of: fn(&IndexCounts) -> u64| all.iter().map(of).sum::<u64>();
    let (rows, captures) = (sum(|counts| counts.rows), sum(|counts| counts.captures));
    let (bytes, ranges) = (sum(|counts| counts.bytes_read), sum(|counts| counts.ranges_read));
    println!("{rows} {captures} {seconds:.3} {bytes} {} {ranges}", size * times as u64);
}

async fn read_one(store: &dyn Store, file: &str, size: u64) -> IndexCounts {
    let mut index = IndexFile::new(store, file, size, IndexOptions::default());
    while !index.next().await.unwrap().is_empty() {}
    index.counts()
}
