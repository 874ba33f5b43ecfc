//! Times reading a columnar index file the way index jobs do: `scripts/bench-index.sh` runs it.
//!
//!     read_index serve FOLDER             the folder's folders as buckets of an S3 endpoint
//!     read_index read STORE FILE [TIMES]  TIMES readers of one file at once, each as a job
//!
//! `serve` prints its address and ends with its standard input. `read` prints rows, captures, wall
//! seconds, bytes read, bytes of the files, and ranges read.
// A measuring program reads files and a clock, and a broken file is to stop it.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::unwrap_used)]

use std::io::Read;
use std::path::Path;
use std::time::Instant;

use everytab_commoncrawl::index::{IndexCounts, IndexOptions};
use everytab_storage::{Store, StoreSettings};
use everytab_testbed::s3::S3Server;
use everytab_worker::index_file::IndexFile;
use futures_util::future::join_all;

/// Neither is secret: they are those of the S3 documentation's examples.
const ACCESS_KEY: &str = "AKIAIOSFODNN7EXAMPLE";
const SECRET_KEY: &str = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";

#[tokio::main]
async fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["serve", folder] => serve(folder).await,
        ["read", store, file] => read(store, file, 1).await,
        ["read", store, file, times] => read(store, file, times.parse().unwrap()).await,
        _ => {
            eprintln!("usage: read_index serve FOLDER | read STORE FILE [TIMES]");
            std::process::exit(2);
        }
    }
}

async fn serve(folder: &str) {
    let server = S3Server::start(Path::new(folder), ACCESS_KEY, SECRET_KEY).await.unwrap();
    println!("{}", server.endpoint);
    tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()))
        .await
        .unwrap()
        .unwrap();
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
