#!/usr/bin/env bash
# A live crawl of hosts that have good pages on one origin and faults on others, and single URLs of
# another key on the same hosts, in a network namespace of their own. docs/benchmarks.md says what
# is measured.
#
#   HOSTS=100 PAGES=40 SINGLES=100 DELAY_MS=1000 scripts/bench/origins.sh
#   HOSTS=10 PAGES=10 SINGLES=10 TARGETS=0 scripts/bench/origins.sh
#   SINGLES=60 scripts/bench/origins.sh worst_page
#
# The second is the smallest form, of a minute or two: it checks what is captured, not how soon. The
# third measures single URLs beside pages whose links and patterns cost the most.
# Needs the right to make namespaces; touches no other network. BENCH_PROGRAMS names a folder of
# programs that need not be built.
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
