#!/usr/bin/env bash
# Times a whole scan of a generated internet by the optimised program, in a folder that goes
# afterwards. Nothing leaves the machine.
#
#   HOSTS=20000 WORKERS=2 MIX=issue scripts/bench.sh [worker's options]
set -euo pipefail
cd "$(dirname "$0")/.."

. scripts/bench-folder.sh
echo "bench: ${HOSTS:-20000} hosts, ${WORKERS:-2} workers, mix ${MIX:-issue}, $(nproc) cores," \
    "commit $(git rev-parse --short HEAD)" >&2
time "$target/release/everytab-worker" \
    local --sample --sample-hosts "${HOSTS:-20000}" --sample-mix "${MIX:-issue}" \
    --workers "${WORKERS:-2}" --dir "$folder/data" --exit-when-done "$@"
