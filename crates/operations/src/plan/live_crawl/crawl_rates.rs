//! The rates of a live crawl: the cost of a page, a known URL and a host, with their sources.
//!
//! Invariant: every rate says where it was measured, or that it is assumed. Rates that scans also
//! have are in `plan/rates.rs`.

use crate::plan::rates::rates;

rates! {
    PAGE_CPU 0.000_338 "s" "make bench-crawl: 49 % of 0.69 ms, all but deflate and SHA-256";
    PACKING_CPU 0.000_000_011_7 "s a byte" "make bench-crawl: 51 % of 0.69 ms, for 30 KB";
    READING_CPU 0.000_000_001_5 "s a byte" "make bench-warc: 107 µs a page; pages of 71 KB";
    NETWORK_CPU 0.000_000_002 "s a byte" "assumed: the kernel and TLS, in either direction";
    CONNECTION_CPU 0.000_142 "s" "make bench-icons: HTTPS less HTTP, 0.085 ms for 0.6 connections";
    CONNECTIONS 0.5 "a page" "assumed: half of the pages find a connection to their host open";
    REQUESTS 1.15 "a page" "make bench-crawl, fleet, any: 187,156 requests, 163,075 pages";
    FETCHES 1.14 "a page" "make bench-crawl, fleet, site: 186,006 URLs, 163,070 pages";
    REQUEST_SECONDS 1.83 "s" "make bench-crawl, polite: 600 hosts, 327.9 requests a second";
    PACKED_SHARE 0.186 "" "zlib, level 6: 575 pages of the recorded archives, 40.7 MB";
    SENT_PACKED 0.9 "" "assumed: pages that servers send packed";
    HEAD_BYTES 700.0 "bytes" "assumed: the head of an answer";
    ACKNOWLEDGED 0.018 "" "assumed: 52 bytes for two packets of 1,448";
    RECORD_BYTES 1_300.0 "bytes" "docs/benchmarks.md, a repeated crawl: records without bodies";
    INDEX_BYTES 161.0 "bytes" "make bench-index: 101 of parquet; assumed: 60 of CDXJ";
    DATABASE_CPU 0.000_040 "s" "make bench-crawl, throughput: all that Postgres does for a page";
    KNOWN_CPU 0.000_001_87 "s" "make bench-frontier";
    LOG_BYTES 1_179.0 "bytes" "make bench-crawl, fleet, site: a page with its 1.14 URLs";
    KNOWN_LOG_BYTES 59.3 "bytes" "make bench-frontier";
    FETCH_ROW_BYTES 430.0 "bytes" "make bench-frontier: with indexes";
    KNOWN_ROW_BYTES 24.7 "bytes" "make bench-frontier: with dead rows";
    HOST_ROW_BYTES 1_000.0 "bytes" "assumed: a host's manners, robots.txt and addresses";
    DISK_OPERATIONS 2.0 "a page" "assumed: of 14 pages of a host's turn, 28 for chunks and indexes";
    DATABASE_TRAFFIC_BYTES 2_000.0 "bytes" "assumed: a page's links, rows and answers";
    FRONTIER_MEMORY_BYTES 456_130_560.0 "bytes" "make bench-crawl, known: 435 MiB at 6.8 million";
    HOSTS_A_WORKER 2_000.0 "hosts" "terraform: crawl_hosts_per_worker";
    MACHINES_IN_USE 0.7 "" "assumed: a month's load leaves 30 % to peaks and lost machines";
    DISK_IN_USE 0.8 "" "assumed: a fifth of Postgres's disk stays free";
    DISK_GB_AT_LEAST 100.0 "GB" "terraform: crawl_database_storage_gb";
    FAST_DISK_GB 400.0 "GB" "RDS: a gp3 disk of this size is striped";
    SLOW_DISK_OPERATIONS 3_000.0 "a second" "RDS: a gp3 disk below 400 GB";
    FAST_DISK_OPERATIONS 12_000.0 "a second" "RDS: a gp3 disk from 400 GB on";
    COPY_DAYS 14.0 "days" "terraform: backup_retention_period";
    ARCHIVE_BYTES 67_108_864.0 "bytes" "crates/crawler: an archive is put at 64 MiB";
    ARCHIVE_SECONDS 30.0 "s" "crates/crawler: or 30 s after its first record";
    PART_BYTES 16_777_216.0 "bytes" "crates/storage: larger objects are put in parts of 16 MiB";
    SERVICE_MACHINES 2.0 "" "terraform: a machine of the HTTP service, and the console";
    METRICS 9.0 "" "terraform: counts to CloudWatch";
    LOG_GB_A_MONTH 2.0 "GB" "assumed: what Postgres and the workers log";
    MEDIA_FILE_BYTES 50_000.0 "bytes" "assumed: a media file; it does not get smaller by packing";
}
