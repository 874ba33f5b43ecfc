#!/usr/bin/env bash
# Repeats the tests that kill, freeze, cut off or lose something: a race shows in one run of many.
#
#   ROUNDS=10 scripts/chaos.sh [test runner's options]
#
# They are known by the words in their names. Stops at the first round that fails.
set -euo pipefail
cd "$(dirname "$0")/.."

words='kill crash frozen lost expired orphan outlived partition'
with_postgres=(cargo run --quiet --locked --package everytab-postgres --bin with-postgres --)
rounds="${ROUNDS:-10}"

for round in $(seq "$rounds"); do
    echo "chaos: round $round of $rounds" >&2
    if cargo nextest --version >/dev/null 2>&1; then
        "${with_postgres[@]}" cargo nextest run --locked --workspace --no-fail-fast \
            -E "test(/${words// /|}/)" "$@"
    else
        # cargo's runner takes any number of words.
        # shellcheck disable=SC2086
        "${with_postgres[@]}" cargo test --quiet --locked --workspace --tests -- $words "$@"
    fi
done
