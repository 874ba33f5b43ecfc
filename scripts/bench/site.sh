#!/usr/bin/env bash
# Measures the page in Chromium, through a throttled connection and while scrolling, and compares it
# with a plain rendering that doubles every row and reuses none. Also measures the map of a scan
# with 30 million hosts.
#
#   scripts/bench/site.sh [everytab|plain|map]   ROUNDS (3): runs of each, alternately
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"
[ "${1:-}" = map ] || node site/tests/bench.mjs "$@"
[[ "${1:-map}" != map ]] || node site/tests/map-bench.mjs
