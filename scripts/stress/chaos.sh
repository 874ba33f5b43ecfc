#!/usr/bin/env bash
# Repeats the tests that kill, freeze, cut off or lose something: a race shows in one run of many.
# Then storms over whole scans: the recorded sample, a large generated one, and every order.
#
#   ROUNDS=10 FAULTS=200 HOSTS=20000 CHAOS_SEED=1 scripts/stress/chaos.sh [test runner's options]
#
# ROUNDS=0 leaves the repetition out, FAULTS=0 the storms. The small tests are known by the words in
# their names. Every test ends by itself (a storm after an hour at the latest). Stops at the first
# round or storm that fails.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

words='kill crash frozen lost expired orphan outlived partition swallow'
with_postgres=(cargo run --quiet --locked --package everytab-postgres --bin with-postgres --)
rounds="${ROUNDS:-10}"
export FAULTS="${FAULTS:-200}" HOSTS="${HOSTS:-20000}"
export CHAOS_SEED="${CHAOS_SEED:-$((RANDOM * 32768 + RANDOM))}"

for round in $(seq "$rounds"); do
    say "round $round of $rounds"
    if cargo nextest --version >/dev/null 2>&1; then
        "${with_postgres[@]}" cargo nextest run --locked --workspace --no-fail-fast \
            -E "test(/${words// /|}/)" "$@"
    else
        # cargo's runner takes any number of words.
        # shellcheck disable=SC2086
        "${with_postgres[@]}" cargo test --quiet --locked --workspace --tests -- $words "$@"
    fi
done

[ "$FAULTS" != 0 ] || exit 0
# cargo's own runner: it shows what a storm did, and gives it all the time it needs.
storm() {
    say "$1, CHAOS_SEED=$CHAOS_SEED"
    CHAOS_LONG=1 cargo test --quiet --locked --package everytab-worker --test scan -- \
        --include-ignored --nocapture --exact "$1"
}
storm orders::workers_order_and_memory_change_no_outcome_and_no_byte
storm chaos::the_recorded_sample_under_fire_gives_the_bytes_of_an_undisturbed_scan
storm chaos::a_large_scan_under_fire_writes_the_bytes_of_an_undisturbed_one
