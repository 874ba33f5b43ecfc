#!/usr/bin/env bash
# Runs one of the queue's benches, optimised: drain, rows, fleet or moments. docs/benchmarks.md says
# what they measure and which variables they read. Nothing leaves the machine but npm's install of
# the peer, where EVERYTAB_PEERS (../shared/peers) holds one.
#
#   JOBS=200000 ROUNDS=3 scripts/bench-queue.sh drain
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install.sh --for demo
export EVERYTAB_PEERS="${EVERYTAB_PEERS:-$(realpath -m ../shared/peers)}"
echo "bench-queue $1: $(nproc) cores, commit $(git rev-parse --short HEAD)," \
    "load $(cut -d' ' -f1 /proc/loadavg)" >&2
exec cargo bench --quiet --locked --package everytab-coordinator --bench queue -- "$@"
