#!/usr/bin/env bash
# Searches for FUZZ_SECONDS (60) for SVGs within the limits that take more than 50 ms. The slowest
# ones are written to target/costly-svgs. Needs no nightly compiler.
#
#   FUZZ_SECONDS=600 SEED=1 scripts/stress/costly-svgs.sh
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

build_bench --package everytab-icon --example costly_svgs
"$built/examples/costly_svgs" "${FUZZ_SECONDS:-60}" "$target/costly-svgs" "${SEED:-1}"
