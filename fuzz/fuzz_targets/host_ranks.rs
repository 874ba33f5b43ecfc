//! Reads any bytes as a gzip file of host ranks, as the lines of such a file, and as the list of
//! web graphs.
#![no_main]

use std::io::Write as _;

use everytab_commoncrawl::host_ranks::{GRAPHS, graph_ids, host_ranks_path, read_host_ranks};
use flate2::{Compression, write::GzEncoder};
use libfuzzer_sys::fuzz_target;

const HEADER: &[u8] = b"#harmonicc_pos\t#harmonicc_val\t#pr_pos\t#pr_val\t#host_rev\n";

fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    let written = gzip.write_all(&[HEADER, bytes].concat()).and_then(|()| gzip.finish());
    check(&written.expect("writing to memory succeeds"));
    for graph in graph_ids(bytes).unwrap_or_default() {
        let path = host_ranks_path(&graph);
        assert!(path.starts_with(GRAPHS) && !path.contains(".."), "{path}");
    }
});

fn check(gzip: &[u8]) {
    let Ok(hosts) = read_host_ranks(gzip, 100) else { return };
    assert!((1..=100).contains(&hosts.len()));
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    assert!(hosts.iter().all(|host| host.len() <= 253 && host.bytes().all(is_plain)));
}
