#!/usr/bin/env bash
# Builds the search files for NAMES (30,000,000) generated names with the real jobs' code, looks up
# PREFIXES (10,000) random prefixes as the page does, and compares the results with a plain scan
# over all names. TOP is a JSON list of hosts ([{"rootDomain": ...}]) that are added to the names
# with the best ranks. Needs about 170 bytes of disk per name in TMPDIR, and takes about fifteen
# minutes for 30 million names.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
build_bench --package everytab-worker --example search_files
program="$built/examples/search_files"
top="${TOP:-}"
time "$program" "${NAMES:-30000000}" "$folder" ${top:+"$top"}
node --max-old-space-size=4096 site/tests/search-bench.mjs "$folder" "${PREFIXES:-10000}" "$top"
