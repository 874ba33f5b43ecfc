#!/usr/bin/env bash
# Measures live crawls of a graph of sites on loopback, with a durable Postgres, in a separate
# network namespace. docs/benchmarks.md describes the modes and their variables.
#
#   HOSTS=200 PAGES=40000 REPEATS=3 scripts/bench/crawl.sh throughput
#   HOSTS=600 PAGES=120000 WORKERS="1 2 4" scripts/bench/crawl.sh polite
#   HOSTS=2000 PAGES=200000 WORKERS="1 2 4" SCOPES="any site" scripts/bench/crawl.sh fleet
#   HOSTS=400 PAGES=100000 SINGLES=60 scripts/bench/crawl.sh urgent
#   MINUTES=60 HOSTS=400 PAGES=400000 WORKERS=2 scripts/bench/crawl.sh soak
#   HOSTS=30 PAGES=3000 DELAY_MS=250 scripts/bench/crawl.sh peers
#
# throughput and peers also run GNU wget, Scrapy, Crawlee and spider. pip, npm and cargo install the
# latter three, and nothing else uses the internet. Needs permission to create namespaces.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

mode="${1:-throughput}"
if [ -z "${BENCH_PROGRAMS:-}" ]; then
    folder="$target/$me"
    mkdir -p "$folder"
    # shellcheck source=scripts/bench/peers.sh
    . scripts/bench/peers.sh
    build_bench --package everytab-worker --bin everytab-worker \
        --package everytab-testbed --bin everytab-testbed \
        --package everytab-postgres --bin with-postgres
    if [ "$mode" = throughput ] || [ "$mode" = peers ]; then
        python_with Scrapy==2.19.0 warcio==1.8.1
        node_with crawlee@3.18.1
        [ -z "$node" ] || cp scripts/bench/crawl_{crawlee,polite_crawlee}.mjs "$node"
        # spider's default features, except the queue on disk, which needs OpenSSL.
        crate_with scripts/bench/crawl_spider.rs spider 2.53.9 \
            '"sync", "cookies", "encoding", "string_interner_buffer_backend", "balance", "time",
             "adaptive_concurrency", "priority_frontier", "dns_cache", "rate_limit", "ua_generator",
             "request_coalesce", "auto_throttle", "etag_cache", "reqwest_native_tls_native_roots",
             "tcp_fastopen", "warc", "zero_copy"'
    fi
    export BENCH_PROGRAMS="$built" BENCH_FOLDER="$folder" BENCH_SCRAPY="${python:-}"
    export BENCH_CRAWLEE="${node:-}" BENCH_SPIDER="${crate:-}"
    in_namespace "$self" "$mode"
fi

make_network "$BENCH_FOLDER"
say "$mode: $(circumstances)"
rm -rf "$BENCH_FOLDER/store" "$BENCH_FOLDER/postgres"
script=(crawl.py "$mode")
if [ "$mode" = soak ]; then
    script=(crawl_soak.py)
elif [ "$mode" = peers ]; then
    [ -n "$BENCH_SCRAPY" ] || die "peers needs Scrapy and warcio"
    # Connections to a host that drops packets then fail after 7 s instead of 127 s, because
    # Crawlee has no shorter limit for robots.txt.
    echo 2 >/proc/sys/net/ipv4/tcp_syn_retries
    script=(crawl_peers.py)
fi
exec "$BENCH_PROGRAMS/with-postgres" --dir "$BENCH_FOLDER/postgres" -- \
    python3 "scripts/bench/${script[0]}" "${script[@]:1}"
