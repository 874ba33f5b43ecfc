#!/usr/bin/env bash
# Times a whole scan of a generated internet by the optimised program, in a folder that goes
# afterwards. Nothing leaves the machine.
#
#   HOSTS=20000 WORKERS=2 MIX=issue scripts/bench.sh [worker's options]
set -euo pipefail
cd "$(dirname "$0")/.."

# Beside the target folder, not in /tmp, which may be memory.
mkdir -p "${CARGO_TARGET_DIR:-target}"
folder="$(mktemp -d "$(realpath "${CARGO_TARGET_DIR:-target}")/bench-XXXXXX")"
chmod 755 "$folder"
trap 'rm -rf "$folder"' EXIT

cargo build --release --quiet --locked --package everytab-worker
echo "bench: ${HOSTS:-20000} hosts, ${WORKERS:-2} workers, mix ${MIX:-issue}, $(nproc) cores," \
    "commit $(git rev-parse --short HEAD)" >&2
time cargo run --release --quiet --locked --package everytab-worker --bin everytab-worker -- \
    local --sample --sample-hosts "${HOSTS:-20000}" --sample-mix "${MIX:-issue}" \
    --workers "${WORKERS:-2}" --dir "$folder/data" --exit-when-done "$@"
