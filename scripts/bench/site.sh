#!/usr/bin/env bash
# Measures the page in Chromium, through a throttled connection and while scrolling, beside a plain
# rendering that doubles every row and recycles none.
#
#   scripts/bench/site.sh [everytab|plain]   ROUNDS (3): runs of each, in turn
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"
exec node site/tests/bench.mjs "$@"
