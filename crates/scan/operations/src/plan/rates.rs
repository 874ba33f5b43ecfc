//! The model's rates. Every rate says where it was measured, or that it is assumed.

pub(super) struct Rate {
    pub(super) name: &'static str,
    pub(super) value: f64,
    pub(super) unit: &'static str,
    pub(super) source: &'static str,
}

macro_rules! rates {
    ($($name:ident $value:literal $unit:literal $source:literal;)+) => {
        $(pub(super) const $name: f64 = $value;)+
        pub(super) const RATES: &[Rate] = &[$(Rate {
            name: stringify!($name), value: $value, unit: $unit, source: $source,
        },)+];
    };
}

rates! {
    ICONS_A_HOST 2.53 "URLs" "76 million URLs of 30 million hosts; 2.54 of 184 recorded home pages";
    INDEX_ROWS_A_HOST 110.0 "rows" "assumed: 300 files of 11 million rows for 30 million hosts";
    INDEX_ROWS_A_CPU_SECOND 7_754_357.0 "rows" "make bench-index, as a job, through S3";
    INDEX_RANGES_A_HOST 0.0015 "requests" "assumed: 300 files of 12 row groups with 12 columns";
    INDEX_BYTES_A_HOST 1_800.0 "bytes" "make bench-index: 30 % of 180 GB";
    PAGE_CPU 0.000_160 "s" "make bench-warc, S3 with TLS";
    PAGE_BYTES 20_000.0 "bytes" "assumed: an archived home page, compressed";
    PAGE_LATENCY 0.1 "s" "assumed: a range of S3 in the same region";
    FETCH_CPU 0.000_183 "s" "make bench-icons, the mix over HTTPS with its second pass";
    FETCH_SLOT 0.69 "s" "make bench-icons, the mix: 96,813 s of 200,000 URLs, time-outs twice";
    FETCH_SLOT_AT_MOST 2.28 "s" "the pipeline before: 439 icons a second at 1,000 in flight";
    SLOTS_IN_USE 0.886 "" "make bench-icons, the mix: of 1,500, the list's tail included";
    ROBOTS_A_HOST 1.0 "requests" "robots.txt is asked before an origin's first icon";
    ROBOTS_SLOT 0.3 "s" "assumed: only hosts that live are waited for";
    ICON_BYTES 4_000.0 "bytes" "assumed: over all icon URLs";
    CONNECTIONS_A_HOST 1.5 "" "make bench-icons, HTTPS: 24,000 for 16,000 hosts";
    CONNECTION_BYTES_IN 5_000.0 "bytes" "assumed: a handshake with its certificates";
    CONNECTION_BYTES_OUT 1_700.0 "bytes" "assumed: hello, keys, acknowledgements";
    REQUEST_BYTES_OUT 450.0 "bytes" "assumed: headers, acknowledgements";
    LOOKUP_BYTES_OUT 550.0 "bytes" "assumed: 1.3 look-ups a host by a resolver of one's own";
    TAB_CPU 0.000_196 "s" "make bench-bundle, auto, the mix";
    TAB_BYTES 916.0 "bytes" "make bench-bundle, auto: a tab in a bundle, plain";
    ICON_LINE_BYTES 16.0 "bytes" "the format of the icon lists: a tab with an icon";
    SEARCH_BYTES 30.0 "bytes" "a thousand lines of names are about 30 KB";
    RANKED_HOST_BYTES 250.0 "bytes" "record 0051: 205 of words; rank, title in a line";
    SEARCH_PART_BYTES 70.0 "bytes" "assumed: such a line with a title, half of at most 70";
    MAP_BYTES 38.0 "bytes" "record 0049: a tab in the tiles of all levels";
    MAP_PART_BYTES 131.0 "bytes" "record 0049: a tab's thumbnail in its shard's part";
    MAP_HOSTS_A_SECOND 30_000.0 "hosts" "assumed; record 0049: 14,000, not optimised";
    REQUESTS_BYTES 47.0 "bytes" "record 0048: a host's lines in the table of requests, compressed";
    SEARCH_HOSTS_A_SECOND 500_000.0 "hosts" "assumed: merging sorted lines, one worker";
    ROW_DATABASE_CPU 0.000_032 "s" "make bench-fleet: 0.21 of a core at 6,499 rows a second";
    WORKER_DISK_GB 20.0 "GB" "assumed: the image, spools, archives under way";
    DATABASE_GB 100.0 "GB" "make bench-fleet: 52 GB of rows, 63 GB of log while it is kept";
    SPARE_HOURS 1.0 "h" "assumed: machines and Postgres come up before the first job";
    STOP_HOURS 1.0 "h" "ansible: after a scan or its backup the console stops both";
    RESTART_DAYS 7.0 "days" "AWS: RDS starts a stopped instance again after 7 days";
    CONSOLE_DISK_GB 120.0 "GB" "terraform: console_volume_gb";
    ROW_BYTES_OF_A_PAGE 833.0 "bytes" "make bench-fleet: 25 GB of 30 million pages";
    ROW_BYTES_OF_AN_ICON 213.0 "bytes" "make bench-queue: table and index of a recorded icon";
    DUMP_SHARE 0.25 "" "assumed: a compressed dump of the rows";
    OTHER_ZONES 0.667 "" "workers are in three zones, Postgres is in one";
    LOG_GB 0.5 "GB" "assumed: what Postgres and the workers log in a scan";
    OWN_METRICS 4.0 "" "record 0130: counts to CloudWatch";
    VERSIONS_DAYS 30.0 "days" "terraform: what was replaced or deleted is kept as long";
    BACKUPS_KEPT 6.0 "" "terraform: one a month, backup_retention_days 180";
}
