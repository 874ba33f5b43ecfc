#!/usr/bin/env bash
# Repeats the tests that kill, freeze, disconnect or lose something, because a race may show only in
# one of many runs. Then runs chaos tests of whole scans: the recorded sample, a large generated
# one, and many orders.
#
#   ROUNDS=10 FAULTS=200 HOSTS=20000 CHAOS_SEED=1 scripts/stress/chaos.sh [test runner's options]
#
# ROUNDS=0 skips the repetition, FAULTS=0 skips the chaos tests. Stops at the first failure.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

words='kill crash frozen lost expired orphan outlived partition swallow'
with_postgres="$target/debug/with-postgres"
rounds="${ROUNDS:-10}"
export FAULTS="${FAULTS:-200}" HOSTS="${HOSTS:-20000}"
export CHAOS_SEED="${CHAOS_SEED:-$((RANDOM * 32768 + RANDOM))}"

for round in $(seq "$rounds"); do
    say "round $round of $rounds"
    if cargo nextest --version >/dev/null 2>&1; then
        "$with_postgres" cargo nextest run --locked --workspace --no-fail-fast \
            -E "test(/${words// /|}/)" "$@"
    else
        # cargo's runner takes any number of words.
        # shellcheck disable=SC2086
        "$with_postgres" cargo test --quiet --locked --workspace --tests -- $words "$@"
    fi
done

[ "$FAULTS" != 0 ] || exit 0
# cargo's own test runner shows the test's output and has no time limit.
chaos_test() {
    say "$1, CHAOS_SEED=$CHAOS_SEED"
    CHAOS_LONG=1 cargo test --quiet --locked --workspace --test scan -- \
        --include-ignored --nocapture --exact "$1"
}
chaos_test execution_order::worker_count_order_and_caches_change_no_outcome_and_no_byte
chaos_test chaos::the_recorded_sample_with_faults_gives_the_bytes_of_an_undisturbed_scan
chaos_test chaos::a_large_scan_with_faults_writes_the_bytes_of_an_undisturbed_one
