#!/usr/bin/env bash
# Crawls a graph of sites and, on its next day, once more, and has both crawls judged, in a
# network namespace of its own (scripts/judge/judges.sh calls it).
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

mkdir -p "$BENCH_FOLDER"
make_network "$BENCH_FOLDER"
PYTHONPATH=scripts/bench exec "$BENCH_PROGRAMS/with-postgres" --dir "$BENCH_FOLDER/postgres" -- \
    "$PYTHON" scripts/judge/two_days.py
