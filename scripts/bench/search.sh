#!/usr/bin/env bash
# Builds the search files of NAMES (30,000,000) generated names by the code of the real jobs, and
# looks up PREFIXES (10,000) random prefixes as the page does, beside a plain scan of all names. TOP
# is a JSON list of hosts ([{"rootDomain": ...}]) that are among the names, with the best ranks.
# Needs about 170 bytes of disk a name below TMPDIR; takes about fifteen minutes for 30 million.
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../lib.sh"

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
build_bench --package everytab-worker --example search_files
program="$built/examples/search_files"
top="${TOP:-}"
time "$program" "${NAMES:-30000000}" "$folder" ${top:+"$top"}
node --max-old-space-size=4096 site/tests/search-bench.mjs "$folder" "${PREFIXES:-10000}" "$top"
