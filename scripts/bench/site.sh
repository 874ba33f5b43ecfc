#!/usr/bin/env bash
# Measures the page in Chromium, through a throttled connection and while scrolling, beside a plain
# rendering that doubles every row and recycles none; and the map over a scan of 30 million hosts.
#
#   scripts/bench/site.sh [everytab|plain|map]   ROUNDS (3): runs of each, in turn
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"
[ "${1:-}" = map ] || node site/tests/bench.mjs "$@"
[[ "${1:-map}" != map ]] || node site/tests/map-bench.mjs
