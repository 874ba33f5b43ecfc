#!/usr/bin/env bash
# Measures a whole scan of a generated internet in release mode, in a directory that is deleted at
# the end. Does not use the network outside this host.
#
#   HOSTS=20000 WORKERS=2 MIX=issue scripts/bench/scan.sh [worker's options]
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

# shellcheck source=scripts/bench/folder.sh
. scripts/bench/folder.sh
say "${HOSTS:-20000} hosts, ${WORKERS:-2} workers, mix ${MIX:-issue}, $(circumstances)"
time "$built/everytab-worker" \
    local --sample --sample-hosts "${HOSTS:-20000}" --sample-mix "${MIX:-issue}" \
    --workers "${WORKERS:-2}" --dir "$folder/data" --exit-when-done "$@"
expect_tabs "$folder/data" "${HOSTS:-20000}"
