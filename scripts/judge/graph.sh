#!/usr/bin/env bash
# Crawls a graph of sites as a program says, and has the crawls judged, in a network namespace of
# its own (scripts/judge/judges.sh calls it).
#
#   scripts/judge/graph.sh two_days.py
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

mkdir -p "$BENCH_FOLDER"
make_network "$BENCH_FOLDER"
PYTHONPATH=scripts/bench exec "$BENCH_PROGRAMS/with-postgres" --dir "$BENCH_FOLDER/postgres" -- \
    "$PYTHON" "scripts/judge/$1"
