#!/usr/bin/env bash
# Crawls a graph of sites as a Python program specifies, and judges the crawls, in a separate
# network namespace (scripts/judge/judges.sh calls this).
#
#   scripts/judge/graph.sh two_days.py
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

mkdir -p "$BENCH_FOLDER"
make_network "$BENCH_FOLDER"
PYTHONPATH=scripts/bench exec "$BENCH_PROGRAMS/with-postgres" --dir "$BENCH_FOLDER/postgres" -- \
    "$PYTHON" "scripts/judge/$1"
