#!/usr/bin/env bash
# Builds the search files of NAMES (30,000,000) generated names by the code of the real jobs, and
# looks up PREFIXES (10,000) random prefixes as the page does, beside a plain scan of all names.
# Needs about 100 bytes of disk a name below TMPDIR; takes about ten minutes for 30 million.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cargo build --quiet --release --locked --package everytab-worker --example search_files
program="$target/release/examples/search_files"
time "$program" "${NAMES:-30000000}" "$folder"
node --max-old-space-size=4096 site/tests/search-bench.mjs "$folder" "${PREFIXES:-10000}"
