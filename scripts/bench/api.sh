#!/usr/bin/env bash
# Measures the HTTP service under load, with a durable Postgres, in a separate network
# namespace. docs/benchmarks.md describes the modes and their variables.
#
#   RATES="1157 2300" SECONDS_A_RATE=300 scripts/bench/api.sh submit
#   WAITERS=1000 scripts/bench/api.sh waiters
#   WAITERS=2000 KEYS=64 scripts/bench/api.sh waiters
#   SECONDS_A_FLOOD=15 scripts/bench/api.sh flood
#   HOSTS=400 PAGES=1000000 SINGLES=60 scripts/bench/api.sh urgent
#   HOSTS=400 PAGES=200000 scripts/bench/api.sh fair
#   SECONDS_A_LOAD=20 scripts/bench/api.sh load
#
# submit, load and flood run wrk.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

mode="${1:-submit}"
if [ -z "${BENCH_FOLDER:-}" ]; then
    case "$mode" in
        submit | load | flood) have wrk || die "no wrk (scripts/install/bench.sh)" ;;
    esac
    export BENCH_FOLDER="$target/$me"
    mkdir -p "$BENCH_FOLDER"
    build_bench --package everytab-worker --bin everytab-worker \
        --package everytab-testbed --bin everytab-testbed \
        --package everytab-postgres --bin with-postgres
    export BENCH_PROGRAMS="$built"
    in_namespace "$self" "$mode"
fi

script=api
[ "$mode" != flood ] || script=api_flood
make_network "$BENCH_FOLDER"
say "$mode: $(circumstances)"
rm -rf "$BENCH_FOLDER/store" "$BENCH_FOLDER/postgres"
exec "$BENCH_PROGRAMS/with-postgres" --dir "$BENCH_FOLDER/postgres" -- \
    python3 "scripts/bench/$script.py" "$mode"
