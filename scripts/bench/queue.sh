#!/usr/bin/env bash
# Runs one of the queue's benchmarks in release mode: drain, rows, fleet, whole-scan, locks,
# frontier or crawl-fleet. docs/benchmarks.md describes them and their variables. Only npm uses
# the network: it installs the peer if EVERYTAB_PEERS (../shared/peers) contains one.
#
#   JOBS=200000 ROUNDS=3 scripts/bench/queue.sh drain
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

scripts/install/demo.sh
export EVERYTAB_PEERS="${EVERYTAB_PEERS:-$(realpath -m ../shared/peers)}"
say "$1: $(circumstances)"
if [ -n "${BUILT:-}" ]; then
    exec cargo test --quiet --locked --workspace --bench queue -- "$@"
fi
exec cargo bench --quiet --locked --package everytab-coordinator --bench queue -- "$@"
