#!/usr/bin/env bash
# Measures a live crawl of hosts that have good pages on one origin and faults on others, and
# another key's single URLs on the same hosts, in a separate network namespace. docs/benchmarks.md
# describes the measurements.
#
#   HOSTS=100 PAGES=40 SINGLES=100 DELAY_MS=1000 scripts/bench/origins.sh
#   HOSTS=10 PAGES=10 SINGLES=10 TARGETS=0 scripts/bench/origins.sh
#   SINGLES=60 scripts/bench/origins.sh worst_page
#
# The second line takes a minute or two, and checks which pages are captured, but not how soon. The
# third line measures single URLs during a crawl whose links and patterns are the most expensive
# ones. BENCH_PROGRAMS is a directory with programs that need not be built.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

if [ -z "${BENCH_FOLDER:-}" ]; then
    export BENCH_FOLDER="$target/$me"
    mkdir -p "$BENCH_FOLDER"
    if [ -z "${BENCH_PROGRAMS:-}" ]; then
        cargo build --release --quiet --locked --package everytab-worker --bin everytab-worker \
            --package everytab-postgres --bin with-postgres
        export BENCH_PROGRAMS="$target/release"
    fi
    in_namespace "$self" "$@"
fi

make_network "$BENCH_FOLDER"
say "$(circumstances)"
rm -rf "$BENCH_FOLDER/store" "$BENCH_FOLDER/postgres"
exec "$BENCH_PROGRAMS/with-postgres" --dir "$BENCH_FOLDER/postgres" -- \
    python3 "scripts/bench/${1:-origins}.py"
