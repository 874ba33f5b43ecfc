#!/usr/bin/env bash
# Measures live crawls of hosts that fail for a while, and Scrapy with its default retries on hosts
# of its own, in a separate network namespace. docs/benchmarks.md describes the measurements.
#
#   LENGTHS="8 120 1200" DELAYS="250 1000" KINDS="refused 502" scripts/bench/outages.sh
#   LENGTHS=8 DELAYS=250 KINDS="refused 502 cut-length" CLIENTS=everytab scripts/bench/outages.sh
#
# BENCH_PROGRAMS is a directory with programs that need not be built.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

if [ -z "${BENCH_FOLDER:-}" ]; then
    folder="$target/$me"
    mkdir -p "$folder"
    # shellcheck source=scripts/bench/peers.sh
    . scripts/bench/peers.sh
    export CLIENTS="${CLIENTS:-everytab scrapy}"
    if [[ " $CLIENTS " == *" scrapy "* ]]; then
        python_with Scrapy==2.19.0
        [ -n "$python" ] || CLIENTS=everytab
    fi
    if [ -z "${BENCH_PROGRAMS:-}" ]; then
        cargo build --release --quiet --locked --package everytab-worker --bin everytab-worker \
            --package everytab-postgres --bin with-postgres
        export BENCH_PROGRAMS="$target/release"
    fi
    export BENCH_FOLDER="$folder" BENCH_SCRAPY="${python:-}"
    in_namespace "$self"
fi

make_network "$BENCH_FOLDER"
say "$(circumstances)"
rm -rf "$BENCH_FOLDER/store" "$BENCH_FOLDER/postgres"
exec "$BENCH_PROGRAMS/with-postgres" --dir "$BENCH_FOLDER/postgres" -- \
    python3 scripts/bench/outages.py
